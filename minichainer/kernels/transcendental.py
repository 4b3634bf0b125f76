"""Exponential, logarithms, trigonometric and hyperbolic functions, which NumPy computes slowly in float32.

On processors without AVX-512 it leaves most of them to the C library, element by element; compiled, they take a fifth
to a tenth of the time. NumPy computes other dtypes and layouts, and arrays with an element for which it may warn, as
there is no result or an infinite one, or for which the compiled form is not precise: tangents beyond 1e6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec

import numpy

from minichainer._native.library import kernels as native
from minichainer._native.library import level
from minichainer.kernels._dispatch import DECLINED, Kernel, kernel

P = ParamSpec('P')
#: From this many elements on, the compiled tape leaves ops to their kernels: see ``functions/_compiled.py``.
_MANY = 4097


def _compiled(
    levels: tuple[str, ...] = ('baseline', 'avx2'), least: int = 0
) -> Callable[[Callable[Concatenate[Any, P], Any]], Kernel[P, Any]]:
    """Decorator that makes a kernel of an elementwise function; the compiled one has its name.

    Args:
        levels: where it is faster than NumPy.
        least: arrays with fewer elements are left to NumPy.
    """

    def define(generic: Callable[Concatenate[Any, P], Any]) -> Kernel[P, Any]:
        function = kernel(generic)
        compute: Any = getattr(native, generic.__name__, None)

        def compiled(xp: Any, x: Any, *others: Any) -> Any:
            if x.size < least:
                return DECLINED
            y = numpy.empty_like(x)
            return y if compute(x, *others, y) else DECLINED

        if level in levels:
            function.on_native(compiled)
        return function

    return define


@_compiled(('avx2',), _MANY)
def exp(xp: Any, x: Any) -> Any:
    """The exponential."""
    return xp.exp(x)


@_compiled(('avx2',), _MANY)
def log(xp: Any, x: Any) -> Any:
    """The natural logarithm."""
    return xp.log(x)


@_compiled()
def arcsin(xp: Any, x: Any) -> Any:
    """The inverse sine."""
    return xp.arcsin(x)


@_compiled()
def arccos(xp: Any, x: Any) -> Any:
    """The inverse cosine."""
    return xp.arccos(x)


@_compiled()
def arctan(xp: Any, x: Any) -> Any:
    """The inverse tangent."""
    return xp.arctan(x)


@_compiled()
def arctan2(xp: Any, y: Any, x: Any) -> Any:
    """The angle of the point (x, y)."""
    return xp.arctan2(y, x)


@_compiled()
def tan(xp: Any, x: Any) -> Any:
    """The tangent."""
    return xp.tan(x)


@_compiled()
def sinh(xp: Any, x: Any) -> Any:
    """The hyperbolic sine."""
    return xp.sinh(x)


@_compiled()
def cosh(xp: Any, x: Any) -> Any:
    """The hyperbolic cosine."""
    return xp.cosh(x)


@_compiled()
def arctanh(xp: Any, x: Any) -> Any:
    """The inverse hyperbolic tangent."""
    return xp.arctanh(x)


@_compiled()
def expm1(xp: Any, x: Any) -> Any:
    """``exp(x) - 1``, precise near 0."""
    return xp.expm1(x)


@_compiled()
def log1p(xp: Any, x: Any) -> Any:
    """``log(1 + x)``, precise near 0."""
    return xp.log1p(x)


@_compiled()
def log2(xp: Any, x: Any) -> Any:
    """The logarithm to base 2."""
    return xp.log2(x)


@_compiled()
def log10(xp: Any, x: Any) -> Any:
    """The logarithm to base 10."""
    return xp.log10(x)
