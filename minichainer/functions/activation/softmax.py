"""Softmax and its logarithm."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer import ops
from minichainer.functions._checks import check_int, invalid
from minichainer.functions._define import primitive
from minichainer.kernels import softmax as kernels
from minichainer.variable import Variable


def _in_float32(xp: Any, x: Any) -> Any:
    return x.astype('f') if x.dtype.char == 'e' else x


def _softmax_gradient(gy: Variable, y: Variable, axis: int) -> Variable:
    return y * (gy - ops.sum(gy * y, (axis % gy.ndim,), True))


def _softmax_gradient_of_arrays(xp: Any, gy: Any, y: Any, axis: int) -> Any:
    if xp is numpy and y.dtype.char in 'fd':
        return kernels.softmax_gradient(gy, y, axis)
    return y * (gy - _sum(gy * y, axis))


def _log_softmax_gradient(gy: Variable, y: Variable, axis: int) -> Variable:
    return gy - ops.exp(y) * ops.sum(gy, (axis % gy.ndim,), True)


def _log_softmax_gradient_of_arrays(xp: Any, gy: Any, y: Any, axis: int) -> Any:
    if xp is numpy and y.dtype.char in 'fd':
        return kernels.log_softmax_gradient(gy, y, axis)
    return gy - xp.exp(y) * _sum(gy, axis)


def _sum(x: Any, axis: int) -> Any:
    return x.sum(axis=axis, keepdims=True, dtype='f' if x.dtype.char == 'e' else None).astype(x.dtype, copy=False)


ops.register('softmax_gradient', _softmax_gradient, _softmax_gradient_of_arrays)
ops.register('log_softmax_gradient', _log_softmax_gradient, _log_softmax_gradient_of_arrays)


@primitive(
    rule=(lambda m, gy, y, axis: m.softmax_gradient(gy, y, axis),), name='Softmax', kinds='f'
)  # fmt: skip
def softmax(xp: Any, x: Any, axis: int = 1) -> Any:
    r"""Softmax along an axis, :math:`y_i = e^{x_i} / \sum_j e^{x_j}`.

    Args:
        x: Variable or float array with at least ``axis + 1`` axes.
        axis: the axis that sums up to 1.

    Returns:
        Variable of the same shape and dtype.

    Raises:
        InvalidType: ``x`` is no float array, or has too few axes.

    >>> import numpy as np, minichainer.functions as F
    >>> F.softmax(np.log(np.array([[1., 3.]])))
    variable([[0.25, 0.75]])
    """
    _check_axis('softmax', x, axis)
    if not x.size:
        return x.copy()
    wide = _in_float32(xp, x)
    if xp is numpy:
        return kernels.softmax(wide, axis).astype(x.dtype, copy=False)
    y = xp.exp(wide - wide.max(axis=axis, keepdims=True))
    y /= y.sum(axis=axis, keepdims=True)
    return y.astype(x.dtype, copy=False)


@primitive(
    rule=(lambda m, gy, y, axis: m.log_softmax_gradient(gy, y, axis),), name='LogSoftmax', kinds='f'
)  # fmt: skip
def log_softmax(xp: Any, x: Any, axis: int = 1) -> Any:
    r"""Logarithm of softmax along an axis, :math:`y_i = x_i - \log \sum_j e^{x_j}`, without overflow.

    Args:
        x: Variable or float array with at least ``axis + 1`` axes.
        axis: the axis of the sum.

    Returns:
        Variable of the same shape and dtype.

    Raises:
        InvalidType: ``x`` is no float array, or has too few axes.

    >>> import numpy as np, minichainer.functions as F
    >>> F.log_softmax(np.array([[0., 0.]])).array.round(4)
    array([[-0.6931, -0.6931]])
    """
    _check_axis('log_softmax', x, axis)
    if not x.size:
        return x.copy()
    wide = _in_float32(xp, x)
    if xp is numpy:
        return kernels.log_softmax(wide, axis).astype(x.dtype, copy=False)
    shifted = wide - wide.max(axis=axis, keepdims=True)
    shifted -= xp.log(xp.exp(shifted).sum(axis=axis, keepdims=True))
    return shifted.astype(x.dtype, copy=False)


def _check_axis(op: str, x: Any, axis: int) -> None:
    check_int(axis, op, 'axis')
    if not -x.ndim <= axis < x.ndim:
        raise invalid(
            f'x.ndim > {axis}', f'x.ndim = {x.ndim} (shape {x.shape})', f'Invalid operation is performed in: {op}'
        )
