"""Sums, extrema and norms over axes.

NumPy starts anew for each group of a short last axis: the maxima of a million float32 in groups of four take 9 ms.
Comparing whole slices takes 0.4.
"""

from __future__ import annotations

from typing import Any

import numpy

from minichainer._native.library import kernels as native
from minichainer.kernels._dispatch import DECLINED, kernel
from minichainer.kernels.conditions import somewhere

_MANY, _SHORT = 4096, 16


@kernel
def maximum(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """The maximum over axes, None or a tuple of ints that are not negative."""
    return x.max(axis=axis, keepdims=keepdims)


@maximum.on('numpy', declines=True)
def _maximum_numpy(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return _by_slices(numpy.maximum, x, axis, keepdims)


@kernel
def minimum(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """The minimum, with the arguments of :func:`maximum`."""
    return x.min(axis=axis, keepdims=keepdims)


@minimum.on('numpy', declines=True)
def _minimum_numpy(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return _by_slices(numpy.minimum, x, axis, keepdims)


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
    if not x.size or (axis is not None and axis != (x.ndim - 1,)):
        return DECLINED
    rows, columns = (1, x.size) if axis is None else (x.size // x.shape[-1], x.shape[-1])
    kept = [1] * x.ndim if axis is None else [*x.shape[:-1], 1]
    y = numpy.empty(kept if keepdims else kept[: x.ndim - 1] if axis else (), x.dtype)
    return y if native.log_sum_exp(x, y, rows, columns) else DECLINED


def _log_of_sum(xp: Any, x: Any, top: Any, axis: Any) -> Any:
    return xp.log(xp.exp(x - top).sum(axis=axis, keepdims=True)) + top


@kernel(widens=True)
def norm(xp: Any, x: Any, order: float, axis: Any, keepdims: bool) -> Any:
    """The p-norm, p finite and not 0."""
    powers = x * x if order == 2 else xp.abs(x) ** order
    y = powers.sum(axis=axis, keepdims=keepdims)
    return xp.asarray(xp.sqrt(y) if order == 2 else y ** (1 / order), x.dtype)


@kernel(widens=True)
def sum_of_squares(xp: Any, x: Any, axis: Any) -> Any:
    """The sum of squares."""
    return xp.square(x).sum(axis=axis)


@kernel(widens=True)
def product(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """The product."""
    return x.prod(axis=axis, keepdims=keepdims)
