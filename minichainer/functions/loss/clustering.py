"""The discriminative loss of embeddings of pixels."""

from __future__ import annotations

from typing import Any

from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.functions._arguments import Arguments, described
from minichainer.functions.activation.rectifiers import relu
from minichainer.functions.arithmetic import absolute
from minichainer.functions.array.selection import masked
from minichainer.functions.array.shape import reshape
from minichainer.functions.math.matmul import matmul
from minichainer.functions.math.norms import norm as norm_of
from minichainer.functions.math.reductions import average
from minichainer.functions.math.reductions import sum as sum_
from minichainer.variable import Variable, as_variable

_arguments = Arguments('discriminative_margin_based_clustering_loss')


@on_device_of_arguments
def discriminative_margin_based_clustering_loss(
    embeddings: Any,
    labels: Any,
    delta_v: float,
    delta_d: float,
    max_embedding_dim: int,
    norm: int = 1,
    alpha: float = 1.0,
    beta: float = 1.0,
    gamma: float = 0.001,
) -> tuple[Variable, Variable, Variable]:
    r"""Loss that pulls the embeddings of an instance's pixels together, and pushes different instances apart.

    With :math:`\mu_c` the mean embedding of the pixels with label c (0 if there are none), the first part is the mean
    over c of :math:`\max(|\mu_c - x_i| - \delta_v, 0)^2` of its pixels, the second the mean over pairs of
    :math:`\max(2 \delta_d - |\mu_a - \mu_b|, 0)^2`, the third the mean of :math:`|\mu_c|`, where norm 2 is taken over
    the batch as well, and divided by the batch size. Label 0 is the background, which is ignored.
    B. De Brabandere, D. Neven and L. Van Gool, Semantic Instance Segmentation with a Discriminative Loss Function
    (2017).

    Args:
        embeddings: Variable or float array ``(B, D, H, W)``.
        labels: int array ``(B, H, W)``: 0, or the number of an instance.
        delta_v: how far pixels may be from their mean.
        delta_d: half of how far means should be apart.
        max_embedding_dim: the number of instances: labels 1 up to it count.
        norm: 1 or 2, the norm of distances.
        alpha: factor of the first part.
        beta: factor of the second part.
        gamma: factor of the third part.

    Returns:
        Three Variables of shape ``()``: the parts, with their factors.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        ValueError: ``norm`` or ``max_embedding_dim`` is out of range.

    >>> import numpy as np, minichainer.functions as F
    >>> x, labels = np.array([[[[0., 2., 9.]]]]), np.array([[[1, 1, 2]]])
    >>> F.discriminative_margin_based_clustering_loss(x, labels, .5, 5., 2, gamma=1.)
    (variable(0.125), variable(4.), variable(5.))
    """
    _arguments.integer(max_embedding_dim, 'max_embedding_dim')
    for name, value in (
        ('delta_v', delta_v), ('delta_d', delta_d), ('alpha', alpha), ('beta', beta), ('gamma', gamma)
    ):  # fmt: skip
        _arguments.number(value, name)
    _arguments.number(norm, 'norm')
    if norm not in (1, 2):
        raise ValueError(f'{_arguments.name}: norm must be 1 or 2, got {norm}')
    if max_embedding_dim <= 0:
        raise ValueError(f'{_arguments.name}: max_embedding_dim must be positive, got {max_embedding_dim}')
    x, t = as_variable(embeddings), _arguments.array(labels, 'labels')
    if x.ndim != 4 or x.dtype.kind != 'f' or t.dtype.kind not in 'iuf' or t.shape != (x.shape[0], *x.shape[2:]):
        expected = 'float embeddings of shape (B, D, H, W) and int labels of shape (B, H, W)'
        raise _arguments.misfit(expected, described(x, t))
    batch, dim, height, width = x.shape
    masks = _masks(t.reshape(batch, height * width), max_embedding_dim, x.dtype)
    x = reshape(x, (batch, dim, height * width))
    means = _means(x, masks)
    gathering = _pull(x, means, masks, delta_v, norm)
    # Chainer's norm of the means includes the batch axis, which matters only for norm 2.
    size = sum_(_norm(means, norm, (0, 2))) * (1.0 / max(batch * max_embedding_dim, 1))
    return gathering * alpha, _push(means, delta_d, norm) * beta, size * gamma


def _masks(labels: Any, count: int, dtype: Any) -> Any:
    """1 where a pixel has a label, of shape ``(B, count, pixels)``."""
    numbers = get_array_module(labels).arange(1, count + 1)
    return (labels[:, None, :] == numbers[None, :, None]).astype(dtype)


def _means(x: Variable, masks: Any) -> Variable:
    """Mean embeddings ``(B, count, D)``."""
    sums = matmul(as_variable(masks), x, transb=True)
    means: Variable = sums * (1 / _at_least_1(masks.sum(axis=2, keepdims=True)))
    return means


def _at_least_1(counts: Any) -> Any:
    return get_array_module(counts).maximum(counts, 1)


def _norm(x: Variable, norm: int, axis: Any) -> Variable:
    """The norm along axes; at 0 its gradient is 0."""
    lengths: Variable = sum_(absolute(x), axis) if norm == 1 else norm_of(x, axis=axis)
    return lengths


def _pull(x: Variable, means: Variable, masks: Any, delta: float, norm: int) -> Variable:
    batch, dim, pixels = x.shape
    apart = reshape(x, (batch, 1, dim, pixels)) - reshape(means, (*means.shape, 1))
    losses = masked(relu(_norm(apart, norm, 2) - delta) ** 2, masks != 0)
    per_label = sum_(losses, (0, 2)) * (1 / _at_least_1(masks.sum(axis=(0, 2))))
    return average(per_label)


def _push(means: Variable, delta: float, norm: int) -> Variable:
    batch, count, dim = means.shape
    apart = reshape(means, (batch, count, 1, dim)) - reshape(means, (batch, 1, count, dim))
    others = ~get_array_module(means._data).eye(count, dtype='?')
    losses = masked(relu(2 * delta - _norm(apart, norm, 3)) ** 2, others[None])
    return sum_(losses) * (1.0 / max(batch * count * (count - 1), 1))
