"""A block that an interrupt ends while it is entered or left: its setting, hook or level is gone; counts are right.

Python looks for signals where a function begins, after calls and where loops go back. An exception is raised at each
of these points, one after another, and then by real signals.
"""

from __future__ import annotations

import dis
import inspect
import itertools
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer import _tangents, _trace, autograd, configuration, link_hook, links, recorder, reporter
from minichainer.autograd import forward_ad
from minichainer.autograd.profiler import profile
from minichainer.configuration import _COUNTED_FOR_ALL, _NONE_COUNTED, _own_values, _UsingConfig, _weight
from minichainer.functions.util._first_pass import _passes

PACKAGE = str(Path(chainer.__file__).parent)


class RaiseAtPoint:
    """Raises KeyboardInterrupt at the n-th point of the package where Python would look for signals.

    Points inside of generators are left out (Python 3.11 may crash there).

    Args:
        n: which point.
        left_out: says of a frame, and of whether it begins there, that a point does not count.
    """

    def __init__(self, n: int, left_out: Callable[[Any, bool], bool]) -> None:
        self.error, self.left, self.left_out = KeyboardInterrupt(f'at point {n}'), n, left_out
        self._after_call: dict[Any, bool] = {}

    def __enter__(self) -> RaiseAtPoint:
        sys.settrace(self._called)
        return self

    def __exit__(self, *exception: Any) -> None:
        sys.settrace(None)

    def _called(self, frame: Any, event: str, arg: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE) or code.co_flags & inspect.CO_GENERATOR:
            return None
        if code.co_name == '__del__':
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        self._point(frame, True)
        return self._opcode

    def _opcode(self, frame: Any, event: str, arg: Any) -> Any:
        if event == 'opcode':
            name = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            if name not in ('PRECALL', 'CACHE', 'EXTENDED_ARG'):
                if self._after_call.get(frame) or name.startswith(('JUMP_BACKWARD', 'JUMP_ABSOLUTE')):
                    self._after_call[frame] = False
                    self._point(frame, False)
                self._after_call[frame] = name.startswith('CALL')
        return self._opcode

    def _point(self, frame: Any, begins: bool) -> None:
        if self.left_out(frame, begins):
            return
        self.left -= 1
        if self.left == 0:
            raise self.error


class Hook(chainer.FunctionHook):
    name = 'hook'


class HookOfLinks(chainer.LinkHook):
    name = 'hook of links'


BLOCKS: dict[str, Callable[[], Any]] = {
    'no_backprop_mode': chainer.no_backprop_mode,
    'force_backprop_mode': chainer.force_backprop_mode,
    'using_config of train': lambda: chainer.using_config('train', False),
    'using_config of debug': lambda: chainer.using_config('debug', True),
    'using_config of check_inplace': lambda: chainer.using_config('check_inplace', 'error'),
    'using_config for all threads': lambda: chainer.using_config('debug', True, chainer.global_config),
    'DebugMode': lambda: chainer.DebugMode(True),
    'no_grad': autograd.no_grad,
    'enable_grad': autograd.enable_grad,
    'inference_mode': autograd.inference_mode,
    'detect_anomaly': autograd.detect_anomaly,
    'saved_tensors_hooks': lambda: autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x),
    'save_on_cpu': autograd.graph.save_on_cpu,
    'dual_level': forward_ad.dual_level,
    'FunctionHook': Hook,
    'LinkHook': HookOfLinks,
    'TimerHook': chainer.function_hooks.TimerHook,
    'profile': profile,
    'Reporter': chainer.Reporter,
}


def state() -> dict[str, Any]:
    """Everything that a block may leave behind."""
    return {
        'settings': dict(_own_values(chainer.config)),
        'settings of all threads': dict(chainer.global_config.__dict__),
        'hooks': dict(chainer.get_function_hooks()),
        'hooks of links': (dict(link_hook.get_link_hooks()), link_hook.active),
        'packing': recorder.packing_depth(),
        'level': (_tangents.current(), _tangents._thread.computing_for, _tangents.passes_silently()),
        'recordings': len(_trace._thread.running),
        'reporters': len(reporter._thread.stack),
        'count': configuration.nondefault,
    }


def counted() -> int:
    """What ``nondefault`` ought to be."""
    settings = (_own_values(chainer.config), _NONE_COUNTED), (chainer.global_config.__dict__, _COUNTED_FOR_ALL)
    weights = [_weight(name, entries[name]) for entries, names in settings for name in names if name in entries]
    level = _tangents.current() is not None or _tangents._thread.computing_for is not None
    parts = len(chainer.get_function_hooks()), recorder.packing_depth(), len(_trace._thread.running), level
    return sum(weights) + sum(parts)


def none(frame: Any, begins: bool) -> bool:
    """Leaves no point out."""
    return False


def at_each_point(
    action: Callable[[], None], left_out: Callable[[Any, bool], bool] = none, stride: int = 1
) -> Iterator[int]:
    """Runs an action with an interrupt at one point after another; yields the points."""
    for n in itertools.count(1, stride):
        found = None
        point = RaiseAtPoint(n, left_out)
        try:
            with point:
                action()
        except KeyboardInterrupt as error:
            found = error
        if point.left > 0:
            assert found is None
            return
        assert found is point.error, f'{found!r} at point {n}'
        yield n


def enter_and_leave(block: Callable[[], Any]) -> None:
    with block():
        pass


def begins_exit(frame: Any, begins: bool) -> bool:
    """Whether a frame is that of the ``__exit__`` which the block calls, before its first line."""
    return bool(begins and frame.f_code.co_name == '__exit__' and frame.f_back.f_code is enter_and_leave.__code__)


@pytest.mark.parametrize('name', BLOCKS)
def test_an_interrupt_leaves_no_block_open(name: str) -> None:
    enter_and_leave(BLOCKS[name])  # imports
    before = state()
    points = 0
    for points in at_each_point(lambda: enter_and_leave(BLOCKS[name]), begins_exit):
        check(before, points)
    assert points


def check(before: dict[str, Any], point: int) -> None:
    assert state() == before, f'after an interrupt at point {point}'


@pytest.mark.parametrize('name', ['no_backprop_mode', 'using_config of debug', 'no_grad', 'FunctionHook', 'profile'])
def test_what_was_on_around_a_block_stays_on(name: str) -> None:
    with chainer.no_backprop_mode(), Hook() as hook:
        hook.name = 'outer'
        chainer.get_function_hooks()['outer'] = chainer.get_function_hooks().pop('hook')
        before = state()
        for n in at_each_point(lambda: enter_and_leave(BLOCKS[name]), begins_exit):
            check(before, n)


MODES: list[Callable[[], Any]] = [lambda: autograd.set_grad_enabled(False), lambda: autograd.set_detect_anomaly(True)]


@pytest.mark.parametrize('mode', MODES, ids=['set_grad_enabled', 'set_detect_anomaly'])
def test_a_call_that_sets_a_mode_sets_all_of_it_or_nothing(mode: Callable[[], Any]) -> None:
    before = state()
    for n in at_each_point(lambda: leave(mode()), outside_of_init):
        check(before, n)


def outside_of_init(frame: Any, begins: bool) -> bool:
    while frame is not None and frame.f_code.co_name != '__init__':
        frame = frame.f_back
    return frame is None


def leave(block: Any) -> None:
    with block:
        pass


# --- settings and their number ---
def setting_and_resetting() -> None:
    for value in (False, True, False):
        chainer.config.enable_backprop = value
    del chainer.config.enable_backprop
    chainer.global_config.debug = True
    chainer.global_config.debug = False


def test_settings_and_their_number_are_never_parted() -> None:
    for n in at_each_point(setting_and_resetting):
        assert configuration.nondefault == counted(), f'after an interrupt at point {n}'
        chainer.global_config.debug = False
        reset()
        assert configuration.nondefault == 0


def test_the_next_change_of_a_setting_corrects_the_number() -> None:
    x = chainer.Variable(np.ones(2, 'f'))
    _own_values(chainer.config)['enable_backprop'] = False  # as if the count had been left out
    with chainer.no_backprop_mode():
        assert (x * 2).creator is None and configuration.nondefault == 1
    chainer.config.enable_backprop = True
    assert configuration.nondefault == 0
    del chainer.config.enable_backprop


def interrupted_count(monkeypatch: Any) -> None:
    def interrupted(change: int) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(configuration, 'count_nondefault', interrupted)


def test_an_interrupt_where_the_number_changes(monkeypatch: Any) -> None:
    interrupted_count(monkeypatch)
    try:
        with chainer.no_backprop_mode():
            pass
    except KeyboardInterrupt:
        pass
    chainer.config.enable_backprop = True
    assert configuration.nondefault == 0
    with chainer.no_backprop_mode():
        assert (chainer.Variable(np.ones(2, 'f')) * 2).creator is None
    del chainer.config.enable_backprop


# --- real signals ---
def signals_during(action: Callable[[], None], seconds: float) -> Iterator[None]:
    """Repeats an action, with signals at random moments; yields after each."""
    handler = signal.signal(signal.SIGALRM, signal.default_int_handler)
    rng, end = np.random.RandomState(0), time.perf_counter() + seconds
    try:
        while time.perf_counter() < end:
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(2e-5, 4e-4))
                while True:
                    action()
            except KeyboardInterrupt:
                yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


@pytest.mark.skipif(not hasattr(signal, 'setitimer'), reason='this platform has no timers that send signals')
@pytest.mark.parametrize('name', ['no_backprop_mode', 'no_grad', 'detect_anomaly', 'save_on_cpu', 'FunctionHook'])
def test_after_real_signals_the_number_is_that_of_what_is_on(name: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(sys, 'unraisablehook', lambda dropped: None)
    reset()
    before, times = state(), 0
    for _ in signals_during(lambda: enter_and_leave(BLOCKS[name]), 0.5):
        times += 1
        assert configuration.nondefault == counted()
        reset()
    assert times and state() == before


def reset() -> None:
    """Ends what a signal has left at the beginning of an ``__exit__``."""
    for hook in [*chainer.get_function_hooks().values()]:
        hook.__exit__(None, None, None)
    for setting in [*_own_values(chainer.config)]:
        delattr(chainer.config, setting)
    recorder.end_packing(0)


# --- hooks ---
class Failing:
    """The part of a hook that fails."""

    name = 'failing'
    fails = ''

    def added(self, owner: Any) -> None:
        if self.fails == 'added':
            raise KeyboardInterrupt

    def deleted(self, owner: Any) -> None:
        if self.fails == 'deleted':
            raise KeyboardInterrupt


class FailingFunctionHook(Failing, chainer.FunctionHook):
    pass


class FailingLinkHook(Failing, chainer.LinkHook):
    pass


def of_the_thread(hook: Any) -> Callable[[], None]:
    return lambda: enter_and_leave(lambda: hook)


def of_one(owner: Any, hook: Any) -> Callable[[], None]:
    def add_and_delete() -> None:
        owner.add_hook(hook)
        owner.delete_hook(hook.name)

    return add_and_delete


PLACES: dict[str, Callable[[], tuple[Any, Callable[[], None], Callable[[], Any]]]] = {
    'functions': lambda: (hook := FailingFunctionHook(), of_the_thread(hook), chainer.get_function_hooks),
    'links': lambda: (hook := FailingLinkHook(), of_the_thread(hook), link_hook.get_link_hooks),
    'a function': lambda: of_a_function(FailingFunctionHook()),
    'a link': lambda: of_a_link(FailingLinkHook()),
}


def of_a_function(hook: Any) -> tuple[Any, Callable[[], None], Callable[[], Any]]:
    function = F.exp(chainer.Variable(np.ones(2, 'f'))).creator
    return hook, of_one(function, hook), lambda: function.local_function_hooks


def of_a_link(hook: Any) -> tuple[Any, Callable[[], None], Callable[[], Any]]:
    link = links.Linear(2, 2)
    return hook, of_one(link, hook), lambda: link.local_link_hooks


@pytest.mark.parametrize('place', PLACES)
@pytest.mark.parametrize('fails', ['added', 'deleted'])
def test_a_hook_whose_method_fails_is_not_there(place: str, fails: str) -> None:
    hook, action, hooks = PLACES[place]()
    before = state()
    hook.fails = fails
    for _ in range(2):  # the second time nothing says that the hook exists
        with pytest.raises(KeyboardInterrupt):
            action()
        assert dict(hooks()) == {} and state() == before
    hook.fails = ''
    action()


class Order:
    """Notes whether a hook is registered while its methods run."""

    name = 'order'

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.hooks: Any = None

    def added(self, owner: Any) -> None:
        self.seen.append(('added', self.name in self.hooks()))

    def deleted(self, owner: Any) -> None:
        self.seen.append(('deleted', self.name in self.hooks()))


class OrderOfFunctionHook(Order, chainer.FunctionHook):
    pass


class OrderOfLinkHook(Order, chainer.LinkHook):
    pass


def test_hooks_are_there_while_they_are_added_and_deleted() -> None:
    """As in Chainer."""
    link, function = links.Linear(2, 2), F.exp(chainer.Variable(np.ones(2, 'f'))).creator
    rows: list[tuple[Any, Any, Any]] = [
        (OrderOfFunctionHook(), None, chainer.get_function_hooks),
        (OrderOfLinkHook(), None, link_hook.get_link_hooks),
        (OrderOfFunctionHook(), function, lambda: function.local_function_hooks),
        (OrderOfLinkHook(), link, lambda: link.local_link_hooks),
    ]
    for hook, owner, hooks in rows:
        hook.hooks = hooks
        (of_the_thread(hook) if owner is None else of_one(owner, hook))()
        assert hook.seen == [('added', True), ('deleted', True)]


def begins_exit_of_using_config(frame: Any, begins: bool) -> bool:
    is_exit = begins and frame.f_code.co_name == '__exit__'
    return is_exit and type(frame.f_locals.get('self')) is _UsingConfig


def test_an_interrupted_forget_leaves_nothing() -> None:
    x, link = chainer.Variable(np.ones((1, 2), 'f')), links.Linear(2, 2)

    def forward_and_backward() -> None:
        F.sum(F.forget(lambda v: F.tanh(link(v)), x)).backward()

    forward_and_backward()
    before, points = state(), 0
    for points in at_each_point(forward_and_backward, begins_exit_of_using_config, 7):
        assert state() == before and _passes.written == [], f'after an interrupt at point {points}'
    assert points > 100
