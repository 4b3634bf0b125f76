"""Where the tables of kernels find them: the one place that knows modules and names, and counts what bodies do."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import minichainer.kernels
from minichainer.backends.cuda import get_array_module
from minichainer.kernels._dispatch import DECLINED, Kernel, kernels

PACKAGE = 'minichainer.kernels'
FOLDER = Path(minichainer.kernels.__file__).parent


def kernel(name: str) -> Callable[..., Any]:
    """The function of a name like ``module.function``, on the array module of its arguments."""
    return _on_arrays(named(name))


def threshold(module: str, name: str) -> int:
    """A size from which on kernels of a module change their method."""
    return getattr(importlib.import_module(f'{PACKAGE}.{module}'), name)


def named(name: str) -> Any:
    """What stands in the package under a name like ``module.function``."""
    module, _, function = name.rpartition('.')
    return getattr(importlib.import_module(f'{PACKAGE}.{module}'), function)


def leaves(value: Any) -> list[Any]:
    """What tuples and lists, of any depth, hold."""
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, (tuple, list)) else [value]


def _on_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    takes_module = next(iter(inspect.signature(function).parameters), '') == 'xp'

    def on_arrays(*args: Any, **kwargs: Any) -> Any:
        return function(get_array_module(*leaves(args)), *args, **kwargs)

    return on_arrays if takes_module else function


def public() -> list[str]:
    """All functions at the top of all modules whose names do not begin with an underscore."""
    found = []
    for path in sorted(FOLDER.rglob('*.py')):
        module = '.'.join(path.relative_to(FOLDER).with_suffix('').parts)
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith('_'):
                found.append(f'{module}.{node.name}')
    return found


def dispatched() -> dict[str, Kernel]:
    """The kernels of the package by name, private ones too."""
    ours = [k for k in kernels() if k.generic.__module__.startswith(PACKAGE)]
    return {f'{k.generic.__module__.removeprefix(PACKAGE + ".")}.{k.__name__}': k for k in ours}


def bodies() -> list[tuple[str, str]]:
    """Kernels with the places that they have a body for, of those on the CPU."""
    return [(name, where) for name, k in dispatched().items() for where in k.bodies if where in ('native', 'numpy')]


def declines(name: str, where: str) -> bool:
    """Whether a body may leave the work to the next one."""
    return where in dispatched()[name]._declining


@contextmanager
def counted() -> Iterator[Counter[tuple[str, str, str]]]:
    """Counts, while it lasts, how often each body ``'computed'`` and ``'declined'``."""
    counts: Counter[tuple[str, str, str]] = Counter()
    old = {(name, where): dispatched()[name].bodies[where] for name, where in bodies()}
    for (name, where), body in old.items():
        dispatched()[name].on(where, declines(name, where))(_counting(counts, name, where, body))
    try:
        yield counts
    finally:
        for (name, where), body in old.items():
            dispatched()[name].on(where, declines(name, where))(body)


@contextmanager
def generic_only() -> Iterator[None]:
    """While it lasts, kernels are computed by their generic bodies, as on an array module that nobody knows."""
    old = {k: dict(k.bodies) for k in dispatched().values()}
    for k in old:
        k.bodies.clear()
        k._chosen.clear()
    try:
        yield
    finally:
        for k, found in old.items():
            k.bodies.update(found)
            k._chosen.clear()


@contextmanager
def on_device_code(monkeypatch: Any) -> Iterator[None]:
    """While it lasts, kernels compute NumPy arrays by their bodies for a device, in C++ that the host compiles."""
    from tests.kernels import cpp

    monkeypatch.setattr('minichainer.backends.cuda.elementwise', cpp.elementwise)
    monkeypatch.setattr('minichainer.backends.cuda.reduce', cpp.reduce)
    old = {k: dict(k.bodies) for k in dispatched().values()}
    declining = {k: set(k._declining) for k in old}
    for k, found in old.items():
        k.bodies.clear()
        k.bodies.update(
            {new: found[where] for where, new in (('cupy', 'numpy'), ('cuda', 'native')) if where in found}
        )
        k._declining = {'native'} if 'cuda' in declining[k] else set()
        k._chosen.clear()
    try:
        yield
    finally:
        for k, found in old.items():
            k.bodies.clear()
            k.bodies.update(found)
            k._declining = declining[k]
            k._chosen.clear()


def device_bodies() -> list[str]:
    """Public kernels with a body for a device."""
    named = set(public())
    return [name for name, k in dispatched().items() if 'cuda' in k.bodies and name in named]


def _counting(counts: Counter[tuple[str, str, str]], name: str, where: str, body: Any) -> Any:
    @functools.wraps(body)
    def counting(*args: Any, **kwargs: Any) -> Any:
        result = body(*args, **kwargs)
        counts[name, where, 'declined' if result is DECLINED else 'computed'] += 1
        return result

    return counting
