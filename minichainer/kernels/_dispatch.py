"""Chooses the body that computes a kernel: one table per kernel, indexed by array module.

A kernel is a function ``kernel(xp, *arrays, *static)``. Its generic body works with any array module; further bodies
are for specific modules. The best available one is chosen once per array module:

    NumPy arrays    ``native`` (compiled: ``on_native``), else ``numpy``, else the generic body
    CuPy arrays     ``cuda`` (own CUDA code, cuDNN), else ``cupy``, else the generic body

A body registered with ``declines=True`` may return :data:`DECLINED` for arguments it does not support (sizes,
layouts, settings); then the next body computes. Nothing outside this folder tests which array module it has.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

import numpy

from minichainer import configuration
from minichainer._native import library
from minichainer.backends.number_arrays import NumberModule

P = ParamSpec('P')
T = TypeVar('T')
B = TypeVar('B', bound=Callable[..., Any])
Body = Callable[..., Any]

#: Returned by a body to pass the call on to the next one.
DECLINED: Any = object()

_ORDER = {True: ('native', 'numpy'), False: ('cuda', 'cupy')}
#: Classes that are quickly known to have no dtype.
_WITHOUT_DTYPE = frozenset((int, float, bool, str, tuple, type(None)))
_kernels: list[Kernel[..., Any]] = []


class Kernel(Generic[P, T]):
    """A function of arrays with several bodies.

    Args:
        generic: the body for any array module; the kernel has its signature and docstring.
        widens: compute float16 arrays in float32, and return float32 results as float16.

    >>> import numpy as np
    >>> from minichainer.kernels._dispatch import kernel
    >>> @kernel
    ... def halves(xp, x):
    ...     return x / 2
    >>> @halves.on('numpy')
    ... def halves_numpy(xp, x):
    ...     return np.multiply(x, 0.5)
    >>> halves(np, np.ones(2))
    array([0.5, 0.5])
    """

    __name__: str

    def __init__(self, generic: Callable[Concatenate[Any, P], T], widens: bool = False) -> None:
        self.generic = generic
        self.widens = widens
        self.bodies: dict[str, Body] = {}
        self._declining: set[str] = set()
        self._chosen: dict[Any, Body] = {}
        functools.update_wrapper(self, generic)
        _kernels.append(self)

    def __call__(self, xp: Any, *args: P.args, **kwargs: P.kwargs) -> T:
        body = self._chosen.get(xp)
        return (self.body_for(xp) if body is None else body)(xp, *args, **kwargs)

    def on(self, where: str, declines: bool = False) -> Callable[[B], B]:
        """Registers a body.

        Args:
            where: ``'numpy'``, ``'native'``, ``'cupy'`` or ``'cuda'``.
            declines: the body may return :data:`DECLINED`.
        """
        if where not in (*_ORDER[True], *_ORDER[False]):
            raise ValueError(f"{self.__name__}: expected 'numpy', 'native', 'cupy' or 'cuda', got {where!r}")

        def register(body: B) -> B:
            self.bodies[where] = body
            if declines:
                self._declining.add(where)
            self._chosen.clear()
            return body

        return register

    def on_native(self, body: B) -> B:
        """Registers a body that calls compiled kernels, if they were built; it may return :data:`DECLINED`."""
        if library.kernels is not None:
            self.on('native', declines=True)(body)
        return body

    def body_for(self, xp: Any) -> Callable[Concatenate[Any, P], T]:
        """The body that computes on arrays of a module; callers on a hot path may store it."""
        found = self._chosen.get(xp)
        if found is None:
            found = self.generic
            for where in () if isinstance(xp, NumberModule) else reversed(_ORDER[xp is numpy]):
                if where in self.bodies:
                    body = self.bodies[where]
                    or_else = _compiled_or_else if where == 'native' else _or_else
                    found = or_else(body, found) if where in self._declining else body
            found = self._chosen[xp] = _widened(found) if self.widens else found
        return found


@overload
def kernel(generic: Callable[Concatenate[Any, P], T], *, widens: bool = False) -> Kernel[P, T]: ...


@overload
def kernel(*, widens: bool = False) -> Callable[[Callable[Concatenate[Any, P], T]], Kernel[P, T]]: ...


def kernel(generic: Body | None = None, *, widens: bool = False) -> Any:
    """Decorator that makes a :class:`Kernel` of its generic body, with or without arguments."""
    return Kernel(generic, widens) if generic is not None else functools.partial(Kernel, widens=widens)


def kernels() -> tuple[Kernel[..., Any], ...]:
    """All kernels, for the tests that compare the bodies of each."""
    return tuple(_kernels)


def _compiled_or_else(body: Body, other: Body) -> Body:
    @functools.wraps(body)
    def first_unless_switched_off(*args: Any, **kwargs: Any) -> Any:
        if configuration.nondefault and not configuration.config.use_native_kernels:
            return other(*args, **kwargs)
        result = body(*args, **kwargs)
        return other(*args, **kwargs) if result is DECLINED else result

    return first_unless_switched_off


def _or_else(body: Body, other: Body) -> Body:
    @functools.wraps(body)
    def first_that_accepts(*args: Any, **kwargs: Any) -> Any:
        result = body(*args, **kwargs)
        return other(*args, **kwargs) if result is DECLINED else result

    return first_that_accepts


def _widened(body: Body) -> Body:
    """A body that computes float16 arrays in float32, and returns float16."""

    @functools.wraps(body)
    def in_float32(xp: Any, *args: Any, **kwargs: Any) -> Any:
        for x in args:
            if x.__class__ not in _WITHOUT_DTYPE and _is_half(x):
                break
        else:
            return body(xp, *args, **kwargs)
        result = body(xp, *[x.astype('f') if _is_half(x) else x for x in args], **kwargs)
        return tuple(map(_narrow, result)) if isinstance(result, tuple) else _narrow(result)

    return in_float32


def _is_half(x: Any) -> bool:
    return getattr(getattr(x, 'dtype', None), 'char', '') == 'e'


def _narrow(result: Any) -> Any:
    return result.astype('e') if getattr(getattr(result, 'dtype', None), 'char', '') == 'f' else result
