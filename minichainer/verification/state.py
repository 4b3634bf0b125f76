"""Saves and restores everything that a check may change: parameters, running statistics, hooks, random states."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minichainer.configuration import config, count_nondefault, using_config
from minichainer.function_hook import get_function_hooks
from minichainer.variable import Variable


class preserved:
    """Restores, after the block, everything that the function under test may have changed.

    Restores arrays, values and gradients of parameters, persistent values of links, function hooks of the thread, and
    the random states of NumPy and Python. Enables backprop, also inside ``no_backprop_mode``.

    Returns a function that restores the persistent values, to be called before each call of ``func``.
    """

    def __init__(self, func: Any, params: Sequence[Variable]) -> None:
        self._func, self._params = func, params

    def __enter__(self) -> Callable[[], None]:
        self._links = _Persistents(self._func)
        self._numpy, self._python = np.random.get_state(), random.getstate()
        self._hooks = dict(get_function_hooks())
        unique = {id(p): p for p in self._params}.values()
        self._saved = [(p, p.array, p.array.copy(), p.grad_var) for p in unique]
        for p in unique:
            p.cleargrad()
        self._contexts: list[Any] = [np.errstate(all='ignore')]  # steps and upstream gradients are ours
        if not config.enable_backprop:
            self._contexts.append(using_config('enable_backprop', True))
        for context in self._contexts:
            context.__enter__()
        return self._links.restore

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
        self._saved = [
            (link, name, link.__dict__[name], copy.deepcopy(link.__dict__[name]))
            for link in links.values()
            for name in link._persistent
            if name in link.__dict__
        ]

    def restore(self) -> None:
        """Writes the saved values back."""
        for link, name, value, saved in self._saved:
            if hasattr(value, 'shape'):
                value[...] = saved
                link.__dict__[name] = value
            else:
                link.__dict__[name] = copy.deepcopy(saved)


def parameters_of(func: Any) -> list[Variable]:
    """The initialized parameters, and other leaves of graphs, that a function can reach."""
    reached = _reached(func)
    found = [x for x in reached if isinstance(x, Variable) and x.creator is None]
    found += [p for link in _links_among(reached) for p in link.params()]
    return [p for p in {id(p): p for p in found}.values() if p.array is not None]


def _links_of(func: Any) -> list[Any]:
    """The links that ``func`` is, is bound to, closes over, or uses as globals."""
    return _links_among(_reached(func))


def _links_among(reached: Sequence[Any]) -> list[Any]:
    return [x for x in reached if hasattr(x, 'namedlinks') and not isinstance(x, type)]


def _reached(func: Any, seen: tuple[Any, ...] = ()) -> list[Any]:
    """What a function is bound to, closes over, or uses as defaults and globals, recursively."""
    if hasattr(func, 'namedlinks'):
        return [func]
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
