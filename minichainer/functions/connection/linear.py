"""The fully connected layer."""
from __future__ import annotations

from typing import Any

import numpy

from minichainer.functions._checks import invalid
from minichainer.functions._define import bilinear
from minichainer.functions.array.shape import reshape
from minichainer.utils.type_check import InvalidType
from minichainer.variable import Variable, as_variable


@bilinear(
    lambda m, gy, W: m.matrix_product(gy, W), lambda m, gy, x: m.matrix_product(gy, x, True, False),
    name='LinearFunction',
)  # fmt: skip
def linear_without_bias(xp: Any, x: Any, W: Any) -> Any:
    return x.dot(W.T)


@bilinear(
    lambda m, gy, W: m.matrix_product(gy, W),
    lambda m, gy, x: m.matrix_product(gy, x, True, False),
    lambda m, gy: m.sum(gy, (0,)),
    name='LinearFunction',
)  # fmt: skip
def linear_with_bias(xp: Any, x: Any, W: Any, b: Any) -> Any:
    y = x.dot(W.T)
    y += b
    return y


def linear(x: Any, W: Any, b: Any = None, n_batch_axes: int = 1) -> Variable:
    r"""Affine map of each row, :math:`Y = X W^\top + b`.

    Args:
        x: Variable or float array :math:`(s_1, \dots, s_n, \dots)`; the axes after the first ``n_batch_axes`` are
            taken together as one of size :math:`N`.
        W: weights :math:`(M, N)`, same dtype.
        b: bias :math:`(M,)`, or None.
        n_batch_axes: number of batch axes, at least 1.

    Returns:
        Variable :math:`(s_1, \dots, s_n, M)`.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        ValueError: ``n_batch_axes`` is less than 1.

    >>> import numpy as np, minichainer.functions as F
    >>> F.linear(np.ones((2, 3)), np.ones((4, 3)), np.zeros(4)).shape
    (2, 4)
    """
    if type(x) is not Variable:
        x = as_variable(x)
    W = as_variable(W)
    batch: Any = None
    if n_batch_axes > 1:
        _check_batch_axes(x, n_batch_axes)
        batch = x.shape[:n_batch_axes]
        x = reshape(x, (_product(batch), -1) if x.size else (_product(batch), _product(x.shape[n_batch_axes:])))
    elif x.ndim != 2:
        x = _as_matrix(x, n_batch_axes)
    if b is not None:
        b = as_variable(b)
    _check(x, W, b)
    y = linear_without_bias(x, W) if b is None else linear_with_bias(x, W, b)
    return y if batch is None else reshape(y, (*batch, y.shape[1]))


def _as_matrix(x: Variable, n_batch_axes: int) -> Variable:
    _check_batch_axes(x, n_batch_axes)
    return reshape(x, (x.shape[0], _product(x.shape[1:])))


def _check_batch_axes(x: Variable, n_batch_axes: int) -> None:
    if n_batch_axes < 1:
        raise ValueError(f'linear: n_batch_axes must be at least 1, came {n_batch_axes}')
    if x.ndim <= n_batch_axes:
        raise ValueError(f'linear: x.ndim > n_batch_axes = {n_batch_axes} expected, came x.shape = {x.shape}')


def _product(shape: tuple[int, ...]) -> int:
    return int(numpy.prod(shape, dtype=int))


def _check(x: Variable, W: Variable, b: Variable | None) -> None:
    array, weights = x.array, W.array
    if weights is None:
        W.shape  # noqa: B018  (raises the error of an uninitialized Parameter)
    if weights.ndim != 2 or array.shape[1] != weights.shape[1]:
        raise _misfit('x of shape (batch, N) and W of shape (M, N)', f'{array.shape} and {weights.shape}')
    if array.dtype != weights.dtype or array.dtype.kind != 'f':
        raise _misfit('float x and W of the same dtype', f'{array.dtype} and {weights.dtype}')
    if b is not None and (b.array.shape != weights.shape[:1] or b.array.dtype != array.dtype):
        raise _misfit(f'b of shape {weights.shape[:1]} and dtype {array.dtype}', f'{b.array.shape} and {b.array.dtype}')


def _misfit(expected: str, actual: str) -> InvalidType:
    return invalid(expected, actual, 'Invalid operation is performed in: LinearFunction (Forward)')
