"""What an exception at any line leaves behind: nothing. It reaches the user as itself, and everything works after it.

``KeyboardInterrupt`` and ``MemoryError`` are raised at the lines of the package that an update, a backward pass,
``cleargrads`` and the loading of a snapshot come to, one after another, in the same model and optimizer. Afterwards
the snapshot is loaded; a step must then equal that of objects that nothing has disturbed.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import signal
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import GradientMethod, _grad_fn, _inplace, _locks, backprop, optimizers
from minichainer._lifetimes import removing
from minichainer._locks import lock_of
from minichainer._tape import native
from minichainer.serializers import DictionarySerializer, NpzDeserializer

PACKAGE = str(Path(minichainer.__file__).parent)
ERRORS = [KeyboardInterrupt, MemoryError]
#: Every so many lines an exception is raised; a prime, so that loops are met at different lines.
STRIDE = 23 if native is not None else 41  # without compiled parts there are more


@pytest.fixture(autouse=True)
def settings_of_numpy() -> Iterator[None]:
    """Those that an exception at the line where ``numpy.errstate`` ends has left are not for other tests."""
    with np.errstate():
        yield


class RaiseAt:
    """Raises an exception at the n-th line of the package that runs in the block."""

    def __init__(self, error: type[BaseException], n: int) -> None:
        self.error, self.left = error(f'at line {n}'), n

    def __enter__(self) -> RaiseAt:
        self._before = sys.gettrace()
        sys.settrace(self._called)
        return self

    def __exit__(self, *exception: Any) -> None:
        sys.settrace(self._before)

    def _called(self, frame: Any, event: str, arg: Any) -> Any:
        code = frame.f_code
        # Python 3.11 may crash where a trace function raises inside of a generator.
        left_out = code.co_flags & inspect.CO_GENERATOR
        return self._line if code.co_filename.startswith(PACKAGE) and not left_out else None

    def _line(self, frame: Any, event: str, arg: Any) -> Any:
        if event == 'line':
            self.left -= 1
            if self.left == 0:
                raise self.error
        return self._line


class Training:
    """Two layers, an optimizer, and the snapshot of both after two steps."""

    x = np.random.RandomState(0).normal(size=(4, 3)).astype('f')

    def __init__(self, name: str, several: bool) -> None:
        self.model = minichainer.Sequential(L.Linear(3, 5), F.tanh, L.Linear(5, 2))
        for k, p in enumerate(self.model.params()):
            p.array[...] = np.random.RandomState(k).normal(size=p.shape)
        self.optimizer = getattr(optimizers, name)().setup(self.model)
        for p in self.model.params() if several else ():
            name, value = next(iter(self.optimizer.hyperparam.get_dict().items()))
            setattr(p.update_rule.hyperparam, name, value)

    def loss(self) -> Any:
        return F.sum(self.model(self.x) ** 2)

    def step(self) -> None:
        self.model.cleargrads()
        self.loss().backward()
        self.optimizer.update()

    def saved(self) -> dict[str, Any]:
        serializer = DictionarySerializer()
        serializer['model'].save(self.model)
        serializer['optimizer'].save(self.optimizer)
        return {name: np.array(value) for name, value in serializer.target.items()}

    def load(self, snapshot: dict[str, Any]) -> None:
        deserializer = NpzDeserializer(snapshot)
        deserializer['model'].load(self.model)
        deserializer['optimizer'].load(self.optimizer)


ACTIONS: dict[str, Callable[[Training, dict[str, Any]], None]] = {
    'update': lambda t, saved: t.optimizer.update(),
    'update with a loss': lambda t, saved: t.optimizer.update(t.loss),
    'backward': lambda t, saved: t.loss().backward(),
    'cleargrads': lambda t, saved: t.model.cleargrads(),
    'load': lambda t, saved: t.load(saved),
}
NAMES = [
    name
    for name in dir(optimizers)
    if isinstance(getattr(optimizers, name), type) and issubclass(getattr(optimizers, name), GradientMethod)
]


def raised_by(action: Callable[[], None], at: RaiseAt) -> BaseException | None:
    """What reaches the caller of an action that is disturbed."""
    try:
        with at:
            action()
    except BaseException as found:
        return found
    return None


def disturbed(action: Callable[[], None], error: type[BaseException], stride: int) -> Iterator[int]:
    """Runs an action with an exception at one line after another, until it comes to an end; yields the lines."""
    for n in itertools.count(1, stride):
        at = RaiseAt(error, n)
        found = raised_by(action, at)
        if at.left > 0:
            assert found is None
            return
        assert found is at.error, f'{found!r} in place of {at.error!r}'
        yield n


def compare(name: str, several: bool, action: str, error: type[BaseException], stride: int) -> int:
    """Disturbs a training, and compares its next step each time; returns how often."""
    training, other = Training(name, several), Training(name, several)
    for t in (training, other):
        t.step()
        t.step()
    saved = training.saved()
    other.load(saved)
    other.step()
    expected, count = other.saved(), 0
    for n in disturbed(lambda: ACTIONS[action](training, saved), error, stride):
        training.load(saved)
        training.step()
        found = training.saved()
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            assert np.array_equal(found[key], value), f'{key} after {error.__name__} at line {n}'
        count += 1
    return count


@pytest.mark.parametrize(
    ('name', 'several'),
    [
        pytest.param(
            name, several, id=f'{name}-{"several" if several else "one group"}',
            marks=[pytest.mark.slow] * (several and name not in ('SGD', 'MomentumSGD', 'Adam')),
        )
        for name in NAMES
        for several in (False, True)
    ],
)  # fmt: skip
def test_the_next_step_is_that_of_a_fresh_process(name: str, several: bool) -> None:
    for action, error in itertools.product(ACTIONS, ERRORS):
        assert compare(name, several, action, error, STRIDE)


# --- signals ---


def train_until_interrupted(training: Training, saved: dict[str, Any], seconds: float) -> None:
    """Sends signals whose handler is that of Ctrl-C, until one reaches the program."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, 0.05)
        while True:
            training.load(saved)
            training.step()
            training.optimizer.update(training.loss)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(signal, 'setitimer'), reason='this platform has no timers that send signals')
@pytest.mark.parametrize('several', [False, True], ids=['one group', 'several'])
@pytest.mark.parametrize('name', ['SGD', 'MomentumSGD', 'Adam'])
def test_real_signals_leave_nothing_behind(name: str, several: bool, monkeypatch: Any) -> None:
    dropped: list[str] = []
    monkeypatch.setattr(sys, 'unraisablehook', lambda found: dropped.append(str(found.object)))
    training, other = Training(name, several), Training(name, several)
    saved = training.saved()
    other.step()
    expected = other.saved()
    for seconds in np.random.RandomState(0).uniform(0.001, 0.006, 100):
        with pytest.raises(KeyboardInterrupt):
            train_until_interrupted(training, saved, seconds)
        training.load(saved)
        training.step()
        found = training.saved()
        assert [key for key in expected if not np.array_equal(found[key], expected[key])] == []
    assert dropped == []


# --- what Python calls when an object is freed: it drops exceptions, so no line of Python runs then ---


def use_arrays() -> None:
    """Arrays of leaves and results that a user reads, and views of them."""
    x = minichainer.Variable(np.ones(3))
    y = F.exp(x)
    kept = [x.array, y.array, y[1:].array]
    F.sum(y).backward()
    del kept


def use_functions_of_results() -> None:
    y = F.exp(minichainer.Variable(np.ones(3)))
    assert y.grad_fn is y.grad_fn
    assert y.grad_fn.next_functions


def use_hooks() -> None:
    x = minichainer.Variable(np.ones(3))
    y = F.exp(x)
    y.register_hook(lambda gradient: gradient * 2)
    y.retain_grad()
    F.sum(y).backward()


def use_locks() -> None:
    class Owner:
        pass

    owner = Owner()
    lock_of(owner, 'lock')


USES: dict[str, Callable[[], None]] = {
    'arrays': use_arrays,
    'functions of results': use_functions_of_results,
    'hooks': use_hooks,
    'locks': use_locks,
    'training': lambda: Training('Adam', True).step(),
}


class CallsWhileFreeing:
    """Collects what Python calls in the block because an object is freed, if that is Python code."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def __enter__(self) -> CallsWhileFreeing:
        sys.setprofile(self._called)
        return self

    def __exit__(self, *exception: Any) -> None:
        sys.setprofile(None)

    def _called(self, frame: Any, event: str, arg: Any) -> None:
        code = frame.f_code
        is_ours = code.co_filename.startswith(PACKAGE) and code.co_name == '__del__'
        if event == 'call' and (is_ours or code.co_filename == weakref.__file__):
            self.found.append(f'{code.co_name} in {code.co_filename}:{frame.f_lineno}')


@pytest.mark.parametrize('name', USES)
def test_no_python_code_runs_when_objects_are_freed(name: str) -> None:
    USES[name]()  # the first use imports modules
    with CallsWhileFreeing() as calls:
        USES[name]()
    assert calls.found == []


@pytest.mark.parametrize('name', USES)
def test_tables_have_entries_for_living_objects_only(name: str) -> None:
    tables = _inplace.exposed, _inplace._read, _grad_fn._views, backprop.hooked, _locks._renewals
    USES[name]()
    before = [len(table) for table in tables]
    USES[name]()
    assert [len(table) for table in tables] == before


#: Classes whose objects run Python code when they are freed, where a Ctrl-C is lost, and why that stays.
WITH_FINALIZERS = {
    '_CountedValues': 'when a thread ends; Python calls handlers of signals in the main thread only',
    '_CountedHooks': 'when a thread ends',
    '_Running': 'when a thread ends',
    'LocalHooks': 'when a function with hooks of its own is freed, which few programs have',
    'Iterator': "ends processes and closes files, as Chainer's",
    'ReopenedFile': 'closes a file',
}


#: What calls Python code of the module ``weakref``.
WITH_CALLBACKS = {
    f'weakref.{name}' for name in ('finalize', 'WeakMethod', 'WeakValueDictionary', 'WeakKeyDictionary')
}


def trees() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(Path(PACKAGE).rglob('*.py')):
        yield str(path.relative_to(PACKAGE)), ast.parse(path.read_text())


def test_every_class_with_a_finalizer_is_listed() -> None:
    found = set()
    for _, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found |= {node.name for part in node.body if getattr(part, 'name', '') == '__del__'}
    assert found == set(WITH_FINALIZERS)


def test_callbacks_of_weak_references_are_not_python_code() -> None:
    assert not hasattr(removing({}, 0), '__code__')
    found = []
    for file, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func).rpartition('.')[2]
                is_reference = name == 'ref' and len(node.args) > 1
                if is_reference and not ast.unparse(node.args[1]).startswith('removing('):
                    found.append(f'{file}:{node.lineno}')
                if name in ('finalize', 'WeakValueDictionary', 'WeakKeyDictionary') and 'weakref' in ast.unparse(
                    node
                ):
                    found.append(f'{file}:{node.lineno}')
    assert found == []


# --- what C calls ---


class Interrupting:
    """Raises an exception when it is called."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise self.error


@pytest.mark.parametrize(
    'error', [KeyboardInterrupt('here'), MemoryError('here'), SystemExit(3), RecursionError('here')]
)
def test_what_python_raises_inside_of_compiled_calls_reaches_the_user(error: BaseException, monkeypatch: Any) -> None:
    training = Training('Adam', False)
    training.step()
    monkeypatch.setattr(type(training.model[0]), '_named_children', Interrupting(error))
    for call in (training.model.cleargrads, lambda: list(training.model.params())):
        with pytest.raises(type(error)) as found:
            call()
        assert found.value is error


def test_a_link_that_contains_itself_is_a_recursion_error() -> None:
    chain = minichainer.ChainList()
    chain.add_link(L.Linear(2, 2))
    chain._children.append(chain)
    for call in (chain.cleargrads, lambda: list(chain.params())):
        with pytest.raises(RecursionError):
            call()
