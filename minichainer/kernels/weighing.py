"""Products with weights of which many are 0: an infinity or NaN stays out of results in which it has no part.

A product with a whole matrix is fast, but in it 0 times infinity is NaN. So if a result is not finite, what infinite
and undefined elements add is computed on its own, from signs and counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minichainer.kernels._dispatch import kernel

#: Numbers divided by this can be summed without an overflow.
_SMALLER = 2.0**64


@kernel
def _seems_finite(xp: Any, x: Any) -> bool:
    """Whether no element is known to be infinite, NaN or enormous; elements on a device are not looked at."""
    return True


@_seems_finite.on('numpy')
def _seems_finite_numpy(xp: Any, x: Any) -> bool:
    """One pass without a mask, by BLAS."""
    if x.dtype.char not in 'fd':
        return bool(numpy.isfinite(x).all())
    elements = x.ravel('K')
    return math.isfinite(numpy.vdot(elements, elements))


def weighed(xp: Any, weigh: Callable[..., Any], x: Any, *weights: Any) -> Any:
    """The result of ``weigh(x, *weights)``, without what elements of ``x`` that are not finite have no part in.

    Args:
        xp: the array module.
        weigh: a map that is linear in each argument: each element of the result is a sum of elements of ``x``, each
            multiplied by one element of every array of weights, or 0.
        x: float array.
        weights: arrays.
    """
    y = weigh(x, *weights)
    return y if _seems_finite(xp, x if x.size < y.size else y) else _with_parts_apart(weigh, x, weights, y)


def _with_parts_apart(weigh: Callable[..., Any], x: Any, weights: Sequence[Any], y: Any) -> Any:
    """The same, where the sum of the finite elements and what the others add are computed one after the other."""
    if numpy.isfinite(y).all():
        return y
    finite, wide = numpy.isfinite(x), numpy.promote_types(x.dtype, 'f')
    with numpy.errstate(all='ignore'):
        sums = _sums(weigh, numpy.where(finite, x, 0).astype(wide), weights)
        if finite.all():
            return sums.astype(y.dtype, copy=False)  # infinite where it is too large for float16
        signs = [numpy.sign(factors) for factors in weights]
        infinite = numpy.where(numpy.isinf(x), numpy.sign(x), 0).astype(wide)
        count = weigh((~finite).astype(wide), *map(abs, signs))
        balance = weigh(infinite, *signs)
        added = numpy.where(abs(balance) == count, numpy.copysign(numpy.inf, balance), numpy.nan)
        return numpy.where(count == 0, sums, added).astype(y.dtype, copy=False)


def _sums(weigh: Callable[..., Any], x: Any, weights: Sequence[Any]) -> Any:
    """Weighted sums of finite elements; a sum beyond the range on the way does not spoil what has weight 0 in it."""
    sums = weigh(x, *weights)
    found = numpy.isfinite(sums)
    return sums if found.all() else numpy.where(found, sums, weigh(x / _SMALLER, *weights) * _SMALLER)
