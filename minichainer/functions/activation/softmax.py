"""Softmax and its logarithm."""

from __future__ import annotations

from typing import Any

from minichainer.functions._checks import invalid
from minichainer.functions._define import linear


def _in_float32(xp: Any, x: Any) -> Any:
    return x.astype('f') if x.dtype.char == 'e' else x


@linear(
    lambda m, gy, y, axis: y * (gy - m.sum(gy * y, (axis % gy.ndim,), True)), name='Softmax', kinds='f'
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
    y = xp.exp(wide - wide.max(axis=axis, keepdims=True))
    y /= y.sum(axis=axis, keepdims=True)
    return y.astype(x.dtype, copy=False)


@linear(
    lambda m, gy, y, axis: gy - m.exp(y) * m.sum(gy, (axis % gy.ndim,), True), name='LogSoftmax', kinds='f'
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
    shifted = wide - wide.max(axis=axis, keepdims=True)
    shifted -= xp.log(xp.exp(shifted).sum(axis=axis, keepdims=True))
    return shifted.astype(x.dtype, copy=False)


def _check_axis(op: str, x: Any, axis: int) -> None:
    if not hasattr(axis, '__index__'):
        raise TypeError(f'{op}: axis must be an int, came {axis!r}')
    if not -x.ndim <= axis < x.ndim:
        raise invalid(
            f'x.ndim > {axis}', f'x.ndim = {x.ndim} (shape {x.shape})', f'Invalid operation is performed in: {op}'
        )
