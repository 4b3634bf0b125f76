"""What surrounds a check: state that is saved and restored, and another thread to repeat computations in."""

from __future__ import annotations

import contextlib
import copy
import queue
import random
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from minichainer.configuration import config, count_nondefault, current_settings, using_config
from minichainer.function_hook import get_function_hooks
from minichainer.variable import Variable


class preserved:
    """Restores, after the block, everything that the function under test may have changed.

    Restores arrays, values and gradients of parameters, persistent values of links, function hooks of the thread, and
    the random states of NumPy and Python. Enables backprop, also inside ``no_backprop_mode``.

    Returns a function that restores the persistent values, to be called before each call of ``func``, or None if
    there are none.
    """

    def __init__(self, func: Any, params: Sequence[Variable]) -> None:
        self._func, self._params = func, params

    def __enter__(self) -> Callable[[], None] | None:
        self._links = _Persistents(self._func)
        self._numpy, self._python = np.random.get_state(), random.getstate()
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
        return self._links.restore if self._links.saved else None

    def __exit__(self, *exception: Any) -> None:
        for context in reversed(self._contexts):
            context.__exit__(*exception)
        np.random.set_state(self._numpy)
        random.setstate(self._python)
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
    count_nondefault(len(before) - len(hooks))
    hooks.clear()
    hooks.update(before)


class _Persistents:
    """The persistent values of all links that a function can reach."""

    def __init__(self, func: Any) -> None:
        links = {id(link): link for root in _links_of(func) for _, link in root.namedlinks()}
        self.saved = [
            (link, name, link.__dict__[name], copy.deepcopy(link.__dict__[name]))
            for link in links.values()
            for name in link._persistent
            if name in link.__dict__
        ]

    def restore(self) -> None:
        """Writes the saved values back."""
        for link, name, value, saved in self.saved:
            if hasattr(value, 'shape'):
                value[...] = saved
                link.__dict__[name] = value
            else:
                link.__dict__[name] = copy.deepcopy(saved)


def parameters_of(func: Any) -> list[Variable]:
    """The initialized parameters, and other leaves of graphs, that a function can reach."""
    reached = _reached(func)
    if not reached:
        return []
    found = [x for x in reached if isinstance(x, Variable) and x.creator is None]
    found += [p for link in _links_among(reached) for p in link.params()]
    return [p for p in {id(p): p for p in found}.values() if p._data is not None]


def _links_of(func: Any) -> list[Any]:
    """The links that ``func`` is, is bound to, closes over, or uses as globals."""
    return _links_among(_reached(func))


def _links_among(reached: Sequence[Any]) -> list[Any]:
    return [x for x in reached if hasattr(x, 'namedlinks') and not isinstance(x, type)]


#: Functions of the package, which hold no parameters.
_STATELESS = 'minichainer.functions'


def _reached(func: Any, seen: tuple[Any, ...] = ()) -> list[Any]:
    """What a function is bound to, closes over, or uses as defaults and globals, recursively."""
    if hasattr(func, 'namedlinks'):
        return [func]
    if str(getattr(func, '__module__', '')).startswith(_STATELESS):
        return []
    found = [getattr(func, '__self__', None), getattr(func, 'func', None), *getattr(func, 'args', ())]
    code = getattr(func, '__code__', None)
    if code is not None:
        found += [cell.cell_contents for cell in func.__closure__ or () if _is_filled(cell)]
        found += list(func.__defaults__ or ())
        found += [func.__globals__[name] for name in code.co_names if name in func.__globals__]
    seen = (*seen, func)
    inner = [x for x in found if getattr(x, '__closure__', None) and not any(x is s for s in seen)]
    return found + [y for x in inner for y in _reached(x, seen)]


def _is_filled(cell: Any) -> bool:
    """Whether a closure cell has a value."""
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


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
