"""Dropconnect: a fully connected layer with random connections dropped."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.functions._arguments import Arguments
from minichainer.functions._define import primitive
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.array.shape import reshape
from minichainer.kernels.precision import in_float32
from minichainer.variable import Variable, as_variable

_simplified_dropconnect = Arguments('SimplifiedDropconnect', 'simplified_dropconnect')


def _connections(W: Any, mask: Any, scale: float) -> Any:
    """The weights of the connections that are kept, for each row of the batch if the mask has one for each."""
    weights = in_float32(W)
    return weights * weights.dtype.type(scale) * mask


def _product(xp: Any, x: Any, W: Any, mask: Any, scale: float) -> Any:
    """The sum of x[n, d] * W[m, d] * mask[n, m, d] over d; the mask may be of shape (m, d) for all n."""
    rows, weights = in_float32(x), _connections(W, mask, scale)
    if mask.ndim == 2:
        return rows @ weights.T
    return xp.matmul(weights, rows[:, :, None])[:, :, 0]


def _swapped(mask: Any) -> Any:
    return mask.swapaxes(-1, -2)


def _gradient_of_x(m: Any, gy: Any, W: Any, mask: Any, scale: float) -> Any:
    return m.dropconnect_rows(gy, m.transpose(W), _swapped(mask), scale)


def _gradient_of_W(m: Any, gy: Any, x: Any, mask: Any, scale: float) -> Any:
    return m.dropconnect_weights(gy, x, mask, scale)


@primitive(rule=(_gradient_of_x, _gradient_of_W), kinds='f', name='SimplifiedDropconnect', linear_in=('x', 'W'))
def dropconnect_rows(xp: Any, x: Any, W: Any, mask: Any, scale: float) -> Any:
    return _product(xp, x, W, mask, scale).astype(x.dtype, copy=False)


@primitive(
    rule=(_gradient_of_x, _gradient_of_W, lambda m, gy: m.sum(gy, 0)),
    kinds='f',
    name='SimplifiedDropconnect',
    linear_in=('x b', 'W b'),
)
def dropconnect_affine(xp: Any, x: Any, W: Any, b: Any, mask: Any, scale: float) -> Any:
    return (_product(xp, x, W, mask, scale) + b).astype(x.dtype, copy=False)


@primitive(
    rule=(lambda m, gy, x, mask, scale: m.dropconnect_rows(x, gy, mask, scale),
    lambda m, gy, u, mask, scale: m.dropconnect_rows(u, m.transpose(gy), _swapped(mask), scale)), kinds='f',
    name='SimplifiedDropconnectGradW', linear_in=('u', 'x'),
)  # fmt: skip
def dropconnect_weights(xp: Any, u: Any, x: Any, mask: Any, scale: float) -> Any:
    """The sum of u[n, m] * x[n, d] * mask[n, m, d] over n: the gradient of the weights."""
    columns, rows = in_float32(u), in_float32(x)
    in_batch = columns.T @ rows if mask.ndim == 2 else columns[:, :, None] * rows[:, None, :]
    total = in_batch * mask
    if mask.ndim == 3:
        total = total.sum(axis=0)
    return (total * total.dtype.type(scale)).astype(x.dtype, copy=False)


@on_device_of_arguments
def simplified_dropconnect(
    x: Any,
    W: Any,
    b: Any = None,
    ratio: float = 0.5,
    train: bool = True,
    mask: Any = None,
    use_batchwise_mask: bool = True,
) -> Variable:
    r"""Fully connected layer with random connections dropped, :math:`Y = x (M \odot W)^\top / (1 - ratio) + b`.

    From Wan et al., *Regularization of neural networks using DropConnect*, 2013, without their approximation by a
    normal distribution for inference.

    Args:
        x: Variable or float array :math:`(B, \dots)`; the axes after the first are taken together as one of size
            :math:`N`.
        W: weights :math:`(M, N)`; another float dtype is converted to that of ``x``.
        b: bias :math:`(M,)`, or None.
        ratio: share of the connections that are dropped, in ``[0, 1)``.
        train: if false, ``ratio`` is treated as 0; ``config.train`` is ignored.
        mask: bool or float array with 1 for each connection to keep, instead of a drawn one: :math:`(B, M, N)`, or
            :math:`(M, N)` if ``use_batchwise_mask`` is false.
        use_batchwise_mask: draw other connections for each row of the batch.

    Returns:
        Variable :math:`(B, M)`.

    Raises:
        ValueError: ``ratio`` is out of range.
        InvalidType: shapes or dtypes do not fit.

    >>> import numpy as np, minichainer.functions as F
    >>> F.simplified_dropconnect(np.ones((1, 2)), np.array([[1., 10.]]), mask=np.array([[[True, False]]]))
    variable([[2.]])
    """
    _simplified_dropconnect.number(ratio, 'ratio')
    _simplified_dropconnect.flag(train, 'train')
    _simplified_dropconnect.flag(use_batchwise_mask, 'use_batchwise_mask')
    if not 0.0 <= ratio < 1.0:
        raise ValueError(f'simplified_dropconnect: ratio must be in the range [0, 1), got {ratio}')
    x, W = as_variable(x), as_variable(W)
    if x.dtype.kind == W.dtype.kind == 'f':
        W = as_dtype(W, x.dtype)
    x = _rows(x, W)
    shape = (len(x), *W.shape) if use_batchwise_mask else W.shape
    ratio = ratio if train else 0
    mask = _draw(get_array_module(x._data), shape, ratio) if mask is None else _fitting(mask, shape, W.dtype)
    scale = 1.0 / (1 - ratio)
    if b is None:
        return dropconnect_rows(x, W, mask, scale)
    b = as_variable(b)
    if b.dtype.kind == 'f':
        b = as_dtype(b, x.dtype)
    if b.shape != W.shape[:1]:
        raise _simplified_dropconnect.misfit(f'b of shape {W.shape[:1]}', f'{b.shape}')
    return dropconnect_affine(x, W, b, mask, scale)


def _draw(xp: Any, shape: tuple[int, ...], ratio: float) -> Any:
    return xp.random.rand(*shape) >= ratio


def _rows(x: Variable, W: Variable) -> Variable:
    """x with one axis after the batch axis."""
    size = int(numpy.prod(x.shape[1:], dtype=int))
    if x.ndim < 2 or W.ndim != 2 or W.shape[1] != size:
        raise _simplified_dropconnect.misfit(
            'x of shape (batch, ...) with N elements in each row and W of shape (M, N)', f'{x.shape} and {W.shape}'
        )
    return x if x.ndim == 2 else reshape(x, (x.shape[0], size))


def _fitting(mask: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """A mask that was given: as it is if it is bool, so that the node has the same array."""
    mask = _simplified_dropconnect.array(mask, 'mask')
    if mask.shape != shape:
        raise _simplified_dropconnect.misfit(f'mask of shape {shape}', f'{mask.shape}')
    return mask if mask.dtype.kind == 'b' else mask.astype(dtype, copy=False)
