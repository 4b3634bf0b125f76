"""Compiled updates of parameters: one pass over memory for a formula of an optimizer.

A formula that a compiled kernel computes too says so: ``@compiled('adam', optional=(4, 5, 6))``. The declaration
belongs to the function and not to its class, so that the formula of a subclass is computed as it is. Results are
equal bit for bit.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy

from minichainer import configuration
from minichainer._native.library import kernels as native

F = TypeVar('F', bound=Callable[..., Any])
Update = tuple[Callable[..., bool], tuple[Any, ...]]

HAS_KERNELS = native is not None
#: Numbers that kernels round as NumPy does; anything else, for example an array, is left to NumPy.
_NUMBERS = frozenset((float, int, bool, numpy.float32, numpy.float64))


class _Compiled(NamedTuple):
    """The kernel of a formula, and how many arrays and coefficients it takes.

    ``absent`` of the arrays may be None, and the coefficients at the positions ``optional``.
    """

    formula: Any
    kernel: Any
    optional: frozenset[int]
    arrays: int
    absent: int
    numbers: int


def compiled(name: str, optional: Sequence[int] = ()) -> Callable[[F], F]:
    """Decorator of a formula that a compiled kernel computes too, if kernels were built.

    Args:
        name: name of the kernel, whose numbers are the coefficients of the formula.
        optional: positions of the coefficients that may be None.
    """

    def declare(formula: F) -> F:
        if native is not None:
            kernel = getattr(native, name)
            counts = map(kernel.signature.count, 'T?s')
            formula._compiled = _Compiled(formula, kernel, frozenset(optional), *counts)  # type: ignore[attr-defined]
        return formula

    return declare


def compiled_update(formula: Any, dtype: Any, coefficients: Sequence[Any], states: int) -> Update | None:
    """Returns a kernel and its last arguments, or None if there is no kernel for this.

    ``kernel(grad, param, *states, *last)`` returns False, and has done nothing, if the NumPy arrays do not fit.

    Args:
        formula: the formula, as it is called.
        dtype: dtype of the computation.
        coefficients: its coefficients.
        states: number of states.
    """
    declared = getattr(formula, '_compiled', None)
    if declared is None or declared.formula is not formula or dtype.char not in 'fd':  # wrappers copy attributes
        return None
    if configuration.nondefault and not configuration.config.use_native_kernels:
        return None
    absent = declared.arrays - 2 - states
    if not 0 <= absent <= declared.absent or declared.numbers != len(coefficients):
        return None
    given = _given(tuple(map(type, coefficients)), declared.optional)
    if given is None:
        return None
    numbers = [0.0 if value is None else value for value in coefficients]
    return declared.kernel, (*[None] * absent, given, *numbers)


@functools.lru_cache(maxsize=256)
def _given(types: tuple[type, ...], optional: frozenset[int]) -> int | None:
    """The coefficients that are not None, as bits; None if a type does not fit, or one is missing that must not."""
    given = 0
    for position, kind in enumerate(types):
        if kind in _NUMBERS:
            given |= 1 << position
        elif kind is not type(None) or position not in optional:
            return None
    return given


def add_scaled(x: Any, factor: float, y: Any) -> bool:
    """Adds ``x * factor`` to ``y`` in place; returns False, and has done nothing, if there is no kernel for this."""
    return _added('add_scaled', x, factor, y)


def add_scaled_sign(x: Any, factor: float, y: Any) -> bool:
    """Adds ``sign(x) * factor`` to ``y`` in place; returns False if there is no kernel for this."""
    return _added('add_scaled_sign', x, factor, y)


def _added(name: str, x: Any, factor: Any, y: Any) -> bool:
    if native is None or type(x) is not numpy.ndarray or type(y) is not numpy.ndarray:
        return False
    if type(factor) not in _NUMBERS or (configuration.nondefault and not configuration.config.use_native_kernels):
        return False
    done: bool = getattr(native, name)(x, y, factor)
    return done
