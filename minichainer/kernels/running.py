"""Cumulative sums and products along an axis, from the end if ``flip``; linear recurrences.

NumPy processes each line by itself, and each addition waits for the previous one: 3.3 ms for a thousand lines of a
thousand float32, 4.3 backwards. Here the axis comes first in memory, and whole rows are added to each other, 1.3 ms.
The sums are identical.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy

from minichainer._native.library import kernels as native
from minichainer.kernels._dispatch import DECLINED, kernel

#: From how many elements per row, and in total, whole rows are faster.
_ROW = 256
_MANY = 1 << 14


@kernel(widens=True)
def running_sum(xp: Any, x: Any, axis: int, flip: bool) -> Any:
    """The cumulative sum."""
    return _flipped(xp.cumsum(_flipped(x, axis, flip), axis=axis), axis, flip)


@running_sum.on_native
def _running_sum_native(xp: Any, x: Any, axis: int, flip: bool) -> Any:
    y = numpy.empty_like(x)
    return y if x.size and native.running_sum(x, y, *_sizes(x, axis), flip) else DECLINED


@running_sum.on('numpy', declines=True)
def _running_sum_numpy(xp: Any, x: Any, axis: int, flip: bool) -> Any:
    return _by_rows(numpy.add, x, axis, flip)


@kernel(widens=True)
def running_product(xp: Any, x: Any, axis: int, flip: bool) -> Any:
    """The cumulative product."""
    return _flipped(xp.cumprod(_flipped(x, axis, flip), axis=axis), axis, flip)


@running_product.on_native
def _running_product_native(xp: Any, x: Any, axis: int, flip: bool) -> Any:
    y = numpy.empty_like(x)
    return y if x.size and native.running_product(x, y, *_sizes(x, axis), flip) else DECLINED


@running_product.on('numpy', declines=True)
def _running_product_numpy(xp: Any, x: Any, axis: int, flip: bool) -> Any:
    return _by_rows(numpy.multiply, x, axis, flip)


@kernel(widens=True)
def recurrence(xp: Any, g: Any, a: Any, axis: int, flip: bool) -> Any:
    r"""The solution of :math:`s_k = g_k + a_k s_{k-1}`.

    Joins spans of 1, 2, 4, ... elements: log n steps on whole arrays.
    """
    s, factor = (_flipped(x, axis, flip).copy() for x in (g, a))
    step = 1
    while step < s.shape[axis]:
        late, early = along(axis, slice(step, None)), along(axis, slice(None, -step))
        s[late] += factor[late] * s[early]
        factor[late] = factor[late] * factor[early]
        step *= 2
    return _flipped(s, axis, flip)


@recurrence.on_native
def _recurrence_native(xp: Any, g: Any, a: Any, axis: int, flip: bool) -> Any:
    s = numpy.empty_like(g)
    done = g.size and a.shape == g.shape and native.recurrence(g, a, s, *_sizes(g, axis), flip)
    return s if done else DECLINED


@recurrence.on('numpy', declines=True)
def _recurrence_numpy(xp: Any, g: Any, a: Any, axis: int, flip: bool) -> Any:
    if not has_long_rows(g, axis):
        return DECLINED
    rows, factors = _rows(g, axis), _rows(a, axis)
    order = rows[::-1] if flip else rows
    factors = factors[::-1] if flip else factors
    product = numpy.empty_like(rows[0])
    for before, row, factor in zip(order[:-1], order[1:], factors[1:], strict=True):
        numpy.multiply(before, factor, out=product)
        row += product
    return numpy.moveaxis(rows, 0, axis)


# --- where products overflow, a factor of 0 still makes 0 -----------------------------------------------------------
@kernel
def all_finite(xp: Any, x: Any) -> bool:
    """Whether an infinite product of ``x`` can only be an overflow. False on a GPU: no synchronization."""
    return False


@all_finite.on('numpy')
def _all_finite_numpy(xp: Any, x: Any) -> bool:
    return bool(numpy.isfinite(x).all())


def absorbing_product(xp: Any, x: Any, y: Any) -> Any:
    """``x * y``, with 0 times infinity as 0; NaN stays NaN."""
    with numpy.errstate(invalid='ignore'):
        product = xp.asarray(x * y)
    lost = xp.isnan(product)
    if lost.any():
        product[lost & ~(xp.isnan(x) | xp.isnan(y))] = 0
    return product


def absorbing_running_product(xp: Any, x: Any, axis: int, flip: bool) -> Any:
    """:func:`running_product` of finite numbers, 0 from the first 0 on, also behind an overflow."""
    with numpy.errstate(invalid='ignore'):
        product = running_product(xp, x, axis, flip)
    lost = xp.isnan(product)
    return xp.where(lost, xp.zeros((), x.dtype), product) if lost.any() else product


def absorbing_recurrence(xp: Any, g: Any, a: Any, axis: int, flip: bool) -> Any:
    """:func:`recurrence` with :func:`absorbing_product`."""
    with numpy.errstate(invalid='ignore'):
        s = recurrence(xp, g, a, axis, flip)
    if not xp.isnan(s).any():
        return s
    s = g.copy()
    rows, factors = (xp.moveaxis(_flipped(x, axis, flip), axis, 0) for x in (s, a))
    for k in range(1, len(rows)):
        rows[k] += absorbing_product(xp, factors[k], rows[k - 1])
    return s


@kernel
def quotient_is_precise(xp: Any, x: Any, y: Any) -> bool:
    """Whether the product ``y`` of elements of ``x`` may be divided by each. False on a GPU: no synchronization."""
    return False


@quotient_is_precise.on('numpy')
def _quotient_is_precise_numpy(xp: Any, x: Any, y: Any) -> bool:
    if y.dtype.char not in 'fd' or not x.size:
        return False
    size, limits = numpy.absolute(y), numpy.finfo(y.dtype)
    return bool(limits.tiny / limits.eps <= size.min() and size.max() <= limits.max and x.all())


def along(axis: int, part: slice) -> tuple[Any, ...]:
    """The index that selects a part of an axis."""
    return (*[slice(None)] * axis, part)


def _sizes(x: Any, axis: int) -> tuple[int, int, int]:
    """The product of the sizes before an axis, its size, and the product of those behind it."""
    shape: tuple[int, ...] = x.shape
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis:]) // shape[axis]


def _flipped(x: Any, axis: int, flip: bool) -> Any:
    return x[along(axis, slice(None, None, -1))] if flip else x


def has_long_rows(x: Any, axis: int) -> bool:
    """Whether processing whole rows is faster for an array."""
    return bool(x.size >= _MANY and x.size >= _ROW * x.shape[axis])


def _by_rows(ufunc: Any, x: Any, axis: int, flip: bool) -> Any:
    """Accumulates whole rows, with the axis first in memory."""
    if not has_long_rows(x, axis):
        return DECLINED
    rows = _rows(x, axis)
    order = rows[::-1] if flip else rows
    for before, row in pairwise(order):
        ufunc(before, row, out=row)
    return numpy.moveaxis(rows, 0, axis)


def _rows(x: Any, axis: int) -> Any:
    """A copy with the axis first in memory."""
    return numpy.array(numpy.moveaxis(x, axis, 0), order='C')
