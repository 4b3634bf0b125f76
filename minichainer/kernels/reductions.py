"""Sums, extrema and norms over axes.

NumPy starts anew for each group of a short last axis: the maxima of a million float32 in groups of four take 9 ms.
Comparing whole slices takes 0.4.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy

from minichainer._native.library import kernels as native
from minichainer.kernels._dispatch import DECLINED, kernel
from minichainer.kernels.conditions import somewhere
from minichainer.kernels.precision import accumulator

_MANY, _SHORT = 4096, 16
_BLOCK = 1 << 16
#: Sums of powers between these have lost no digits.
_RANGES = {'f': (1e-31, 3e38), 'd': (1e-292, 1e308)}
Rows: TypeAlias = tuple[int, int, tuple[int, ...]]


def _rows(x: Any, axis: Any, keepdims: bool) -> Rows | None:
    """The number and length of the rows that a reduction sees, and the shape of its result; None without rows."""
    if axis is None or len(axis) == x.ndim:
        return (1, x.size, (1,) * x.ndim if keepdims else ()) if x.size else None
    if axis != (x.ndim - 1,) or not x.size:
        return None
    lead, columns = x.shape[:-1], x.shape[-1]
    return x.size // columns, columns, (*lead, 1) if keepdims else lead


def _native_result(function: Any, x: Any, axis: Any, keepdims: bool, *numbers: float, least: int = 1) -> Any:
    """What a compiled kernel of rows computes; many rows of less than ``least`` elements are left to other bodies."""
    found = _rows(x, axis, keepdims)
    if found is None or (found[1] < least and x.size >= _MANY):
        return DECLINED
    y = numpy.empty(found[2], x.dtype)
    return y if function(x, y, found[0], found[1], *numbers) else DECLINED


@kernel
def sums(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """The sum as an array or scalar of x's dtype; float16 is accumulated in float32."""
    return x.sum(axis=axis, keepdims=keepdims, dtype=accumulator(x.dtype)).astype(x.dtype, copy=False)


@sums.on_native
def _sums_native(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return _native_result(native.row_sums, x, axis, keepdims, 1.0, least=_SHORT)


@kernel
def mean(xp: Any, x: Any, axis: Any, keepdims: bool, share: float) -> Any:
    """The sum times ``share``; the sum of float16 may overflow where the mean does not."""
    wide = accumulator(x.dtype)
    total = x.sum(axis=axis, keepdims=keepdims, dtype=wide)
    return (total * xp.asarray(share, wide)).astype(x.dtype, copy=False)


@mean.on_native
def _mean_native(xp: Any, x: Any, axis: Any, keepdims: bool, share: float) -> Any:
    return _native_result(native.row_sums, x, axis, keepdims, share, least=_SHORT)


@kernel
def maximum(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """The maximum over axes, None or a tuple of ints that are not negative."""
    return x.max(axis=axis, keepdims=keepdims)


@maximum.on('numpy', declines=True)
def _maximum_numpy(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return _by_slices(numpy.maximum, x, axis, keepdims)


@maximum.on_native
def _maximum_native(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return _native_result(native.row_maxima, x, axis, keepdims, least=_SHORT + 1)


@kernel
def minimum(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """The minimum, with the arguments of :func:`maximum`."""
    return x.min(axis=axis, keepdims=keepdims)


@minimum.on('numpy', declines=True)
def _minimum_numpy(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return _by_slices(numpy.minimum, x, axis, keepdims)


@minimum.on_native
def _minimum_native(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return _native_result(native.row_minima, x, axis, keepdims, least=_SHORT + 1)


@kernel(widens=True)
def total(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """The sum, with the arguments of :func:`maximum`; for a long last axis use :func:`.softmax.total`."""
    return x.sum(axis=axis, keepdims=keepdims, dtype=x.dtype)


@total.on('numpy', declines=True)
def _total_numpy(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return _by_slices(numpy.add, x, axis, keepdims)


def _by_slices(ufunc: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """Reduces a short last axis by comparing or adding whole slices."""
    if axis != (x.ndim - 1,) or x.size < _MANY or not 2 <= x.shape[-1] <= _SHORT:
        return DECLINED
    y = ufunc(x[..., 0], x[..., 1])
    for i in range(2, x.shape[-1]):
        ufunc(y, x[..., i], out=y)
    return y[..., None] if keepdims else y


@kernel(widens=True)
def log_sum_exp(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """The logarithm of the sum of exponentials, without overflow."""
    top = x.max(axis=axis, keepdims=True)
    if not somewhere(xp, ~xp.isfinite(top)):
        y = _log_of_sum(xp, x, top, axis)
    else:
        with numpy.errstate(divide='ignore'):  # the logarithm of 0 is intended
            y = _log_of_sum(xp, x, xp.where(xp.isfinite(top), top, xp.zeros((), x.dtype)), axis)
    return y if keepdims else y.squeeze(axis)


@log_sum_exp.on_native
def _log_sum_exp_native(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return _native_result(native.log_sum_exp, x, axis, keepdims)


def _log_of_sum(xp: Any, x: Any, top: Any, axis: Any) -> Any:
    e = xp.exp(x - top)
    ones = e == 1  # the largest: without one of them the sum keeps its digits where the others are small
    others = xp.where(ones, xp.zeros((), x.dtype), e).sum(axis=axis, keepdims=True)
    return xp.log1p(others + (xp.asarray(ones.sum(axis=axis, keepdims=True), x.dtype) - 1)) + top


@kernel(widens=True)
def norm(xp: Any, x: Any, order: float, axis: Any, keepdims: bool) -> Any:
    """The p-norm, p finite and not 0."""
    with numpy.errstate(over='ignore', divide='ignore', invalid='ignore'):
        sums = _sum_of_powers(x, order, axis, keepdims)
        least, most = _RANGES[x.dtype.char]
        if x.size and somewhere(xp, ~((sums >= least) & (sums <= most))):
            return _scaled_norm(xp, x, order, axis, keepdims)
    return xp.asarray(_root(xp, sums, order), x.dtype)


def _sum_of_powers(x: Any, order: float, axis: Any, keepdims: bool) -> Any:
    return (x * x if order == 2 else abs(x) ** order).sum(axis=axis, keepdims=keepdims)


def _root(xp: Any, sums: Any, order: float) -> Any:
    return xp.sqrt(sums) if order == 2 else sums ** (1 / order)


def _scaled_norm(xp: Any, x: Any, order: float, axis: Any, keepdims: bool) -> Any:
    """The norm of elements divided by the one that counts most, so that powers stay in the range of the dtype."""
    size = abs(x)
    top = (size.max if order > 0 else size.min)(axis=axis, keepdims=True)
    top = xp.where((top > 0) & xp.isfinite(top), top, xp.ones((), x.dtype))
    y = _root(xp, _sum_of_powers(size / top, order, axis, True), order) * top
    return xp.asarray(y if keepdims else y.squeeze(axis), x.dtype)


@norm.on_native
def _norm_native(xp: Any, x: Any, order: float, axis: Any, keepdims: bool) -> Any:
    return _native_result(native.row_norms, x, axis, keepdims, least=_SHORT) if order == 2 else DECLINED


@kernel(widens=True)
def sum_of_squares(xp: Any, x: Any, axis: Any) -> Any:
    """The sum of squares."""
    return xp.square(x).sum(axis=axis)


@sum_of_squares.on_native
def _sum_of_squares_native(xp: Any, x: Any, axis: Any) -> Any:
    return _native_result(native.row_squares, x, axis, False, least=_SHORT)


@kernel
def square_of_length(xp: Any, x: Any) -> Any:
    """The sum of squares of a vector, as an array or scalar of its dtype."""
    return x.dot(x)


@square_of_length.on('numpy', declines=True)
def _square_of_length_numpy(xp: Any, x: Any) -> Any:
    """In blocks: BLAS adds all products of float32 in a few numbers, and loses 3e-5 of ten million."""
    if x.size <= _BLOCK:
        return DECLINED
    blocks = (x[begin : begin + _BLOCK] for begin in range(0, x.size, _BLOCK))
    return x.dtype.type(sum([float(block.dot(block)) for block in blocks]))


@kernel(widens=True)
def product(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """The product."""
    return x.prod(axis=axis, keepdims=keepdims)


@product.on_native
def _product_native(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return _native_result(native.row_products, x, axis, keepdims, least=_SHORT)
