"""What surrounds a check: state that is saved and restored, and another thread to repeat computations in."""

from __future__ import annotations

import contextlib
import copy
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from minichainer.backends.number_arrays import NumberArray
from minichainer.configuration import config, current_settings, put_counted, take_counted, using_config
from minichainer.function_hook import get_function_hooks
from minichainer.variable import Variable
from minichainer.verification.random_states import FIXED, RandomStates
from minichainer.verification.reachable import links_of


class preserved:
    """Restores, after the block, everything that the function under test may have changed.

    Restores arrays, values and gradients of parameters, persistent values of links, function hooks of the thread, and
    the random states of NumPy and Python. Enables backprop, also inside ``no_backprop_mode``.

    Returns a function that restores the persistent values, to be called before each call of ``func``, or None if
    there are none. With ``random='fixed'`` it also sets the random states, so that each call draws the same numbers.
    """

    def __init__(self, func: Any, params: Sequence[Variable], random: str | None = None) -> None:
        self._func, self._params, self._random = func, params, random

    def __enter__(self) -> Callable[[Sequence[Any]], None] | None:
        self._links = _Persistents(self._func)
        self._states = RandomStates()
        self._hooks = dict(get_function_hooks())
        unique = {id(p): p for p in self._params}.values()
        self._saved = [(p, p._data, p._data.copy(), p.grad_var) for p in unique]
        for p in unique:
            p.cleargrad()
        self._contexts: list[Any] = [np.errstate(all='ignore')]  # steps and upstream gradients are ours
        if not config.enable_backprop:
            self._contexts.append(using_config('enable_backprop', True))
        for context in self._contexts:
            context.__enter__()
        if self._random == FIXED:
            return self._restore_and_replay
        return self._links.restore if self._links.saved else None

    def _restore_and_replay(self, variables: Sequence[Any]) -> None:
        self._links.restore(variables)
        self._states.replay()

    def __exit__(self, *exception: Any) -> None:
        for context in reversed(self._contexts):
            context.__exit__(*exception)
        self._states.restore()
        _restore_hooks(self._hooks)
        for saved in self._saved:
            _restore_parameter(*saved)
        self._links.restore()


def _restore_parameter(p: Variable, array: Any, values: Any, gradient: Any) -> None:
    p.grad = None
    p.array = array
    if getattr(array.flags, 'writeable', True):
        array[...] = values
    p.grad_var = gradient


def _restore_hooks(before: dict[str, Any]) -> None:
    hooks = get_function_hooks()
    for name in [*hooks]:
        take_counted(hooks, name)
    for name, hook in before.items():
        put_counted(hooks, name, hook)


class _Persistents:
    """The persistent values of all links that a function can reach."""

    def __init__(self, func: Any) -> None:
        links = {id(link): link for root in links_of(func) for _, link in root.namedlinks()}
        self.saved = [
            (link, name, link.__dict__[name], copy.deepcopy(link.__dict__[name]))
            for link in links.values()
            for name in link._persistent
            if name in link.__dict__
        ]

    def restore(self, variables: Sequence[Any] = ()) -> None:
        """Writes the saved values back.

        Args:
            variables: With these the function is called next: floating-point values get the dtype of the parameters
                of their link, if that has more digits.
        """
        for link, name, value, saved in self.saved:
            if hasattr(value, 'shape'):
                value[...] = saved
                widest = _widest(link, variables) if variables and value.dtype.kind == 'f' else None
                link.__dict__[name] = value if widest is None else _with_digits_of(widest, value)
            else:
                link.__dict__[name] = copy.deepcopy(saved)


def _widest(link: Any, variables: Sequence[Any]) -> Any:
    """The array with the most digits among the parameters of a link; if it has none, one of numbers of 50 digits.

    Without parameters, values are computed with constants of their own dtype, as they are. In training mode they are
    written only, which takes an array that holds what is written.
    """
    own = [getattr(link, name) for name in link._params]
    arrays = [v._data for v in own or variables if isinstance(v, Variable) and v._data is not None]
    floats = [x for x in arrays if x.dtype.kind == 'f']
    if not own:
        floats = [x for x in floats if isinstance(x, NumberArray) and config.train]
    return max(floats, key=lambda x: (isinstance(x, NumberArray), x.dtype.itemsize), default=None)


def _with_digits_of(array: Any, value: Any) -> Any:
    """A value in the dtype of an array if that has more digits, else the value itself."""
    if isinstance(array, NumberArray):
        return type(array).of(value)
    return value if array.dtype.itemsize <= value.dtype.itemsize else value.astype(array.dtype)


#: Seconds after which to give up: the thread probably waits for a lock that the thread of the check holds.
_PATIENCE = 10.0

Result = TypeVar('Result')


def in_another_thread(call: Callable[[], Result], **settings: Any) -> Result | None:
    """The result of ``call`` in another thread with this thread's settings; None if it does not finish.

    Args:
        call: A function without arguments.
        settings: Settings to change, such as ``train``.

    Raises:
        Exception: What ``call`` raises.
    """
    kept = current_settings() | settings
    found: list[Result] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            with contextlib.ExitStack() as stack:
                stack.enter_context(np.errstate(all='ignore'))
                for name, value in kept.items():
                    if getattr(config, name) is not value:
                        stack.enter_context(using_config(name, value))
                found.append(call())
        except BaseException as error:
            raised.append(error)

    worker = _idle_worker()
    if worker.finishes(run):
        _idle.append(worker)
        if raised:
            raise raised.pop()
    return found[0] if found else None


class _Worker:
    """A thread that runs one call after another, because starting a thread takes as long as a small check."""

    def __init__(self) -> None:
        self._given: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name='gradient check', daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while True:
            self._given.get()()
            self._done.put(True)

    def is_alive(self) -> bool:
        """False in a forked process, where threads do not exist."""
        return self._thread.is_alive()

    def finishes(self, run: Callable[[], None]) -> bool:
        """Runs the call; False if it takes too long, after which this worker must not be used again."""
        self._given.put(run)
        try:
            return self._done.get(timeout=_PATIENCE)
        except queue.Empty:
            return False


_idle: list[_Worker] = []


def _idle_worker() -> _Worker:
    """A running worker that is not in use, or a new one."""
    while True:
        try:
            worker = _idle.pop()
        except IndexError:
            return _Worker()
        if worker.is_alive():
            return worker
