"""Losses with a margin: samples far enough on the right side have loss 0."""

from __future__ import annotations

from typing import Any

from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.functions._arguments import Arguments, described
from minichainer.functions._define import primitive
from minichainer.functions._precision import in_float32 as wide
from minichainer.functions.loss._common import reduced_array, spread, without_axis_1
from minichainer.kernels import losses as kernels
from minichainer.kernels.precision import in_float32
from minichainer.kernels.sample_normalization import lengths
from minichainer.kernels.selection import masked
from minichainer.variable import Variable, as_variable

_contrastive = Arguments('Contrastive', 'contrastive')
_triplet = Arguments('Triplet', 'triplet')
_hinge = Arguments('Hinge', 'hinge')

_REDUCES = ('mean', 'no')


# --- contrastive ---------------------------------------------------------------------------------------------------
def _contrastive_rule(m: Any, gy: Any, x0: Any, x1: Any, same: Any, margin: float, reduce: str) -> Any:
    difference, same, gy = wide(m, x0) - wide(m, x1), wide(m, same), wide(m, gy)
    distance = m.lengths(difference, (1,))
    touching = m.equal(distance, 0)  # avoids 0 / 0 where both points are equal: the gradient is 0
    direction = m.masked(m.unit_vectors(difference + touching, 0.0, (1,)), ~touching)
    push = m.relu(margin - distance) * (1 - same)
    slope = difference * same - direction * push
    return m.masked(spread(m, gy, distance.shape, reduce) * slope, ~(m.equal(same, 0) & m.equal(push, 0)))


def _contrastive_gradient(xp: Any, gy: Any, x0: Any, x1: Any, same: Any, margin: float, reduce: str) -> Any:
    """The same on arrays, with one pass for the distances."""
    difference, same = in_float32(x0) - in_float32(x1), in_float32(same)
    distance = lengths(xp, difference, (1,))
    push = xp.maximum(margin - distance, 0) * (1 - same)
    slope = difference * same - difference / (distance + (distance == 0)) * push
    g = gy.reshape(distance.shape) if reduce == 'no' else gy * (1.0 / max(distance.size, 1))
    return masked(xp, g * slope, (same != 0) | (push != 0)).astype(x0.dtype, copy=False)


@primitive(
    rule=(_contrastive_rule,
    lambda m, gy, x0, x1, same, margin, reduce: -_contrastive_rule(m, gy, x0, x1, same, margin, reduce)),
    fast=(_contrastive_gradient,
    lambda xp, gy, x0, x1, same, margin, reduce: -_contrastive_gradient(xp, gy, x0, x1, same, margin, reduce)),
    kinds='f', name='Contrastive',
)  # fmt: skip
def contrastive_loss(xp: Any, x0: Any, x1: Any, same: Any, margin: float, reduce: str) -> Any:
    difference = in_float32(x0) - in_float32(x1)
    distance = lengths(xp, difference, (1,))
    squares = masked(xp, xp.square(distance), same != 0)
    losses = (same * squares + (1 - same) * xp.square(xp.maximum(margin - distance, 0))) * 0.5
    return reduced_array(xp, losses[:, 0], reduce, x0.dtype)


@on_device_of_arguments
def contrastive(x0: Any, x1: Any, y: Any, margin: float = 1, reduce: str = 'mean') -> Variable:
    r"""Contrastive loss of pairs of points at distance :math:`d_i`.

    .. math:: L_i = \frac12 \left(y_i d_i^2 + (1 - y_i) \max(m - d_i, 0)^2\right)

    R. Hadsell, S. Chopra and Y. LeCun, Dimensionality Reduction by Learning an Invariant Mapping (2006).

    Args:
        x0: points, Variable or float array ``(B, N)``.
        x1: points, Variable or array of the same shape and dtype.
        y: int array ``(B,)``: 1 for pairs that belong together, 0 for others.
        margin: the distance :math:`m` beyond which others cost nothing; positive.
        reduce: ``'mean'`` or ``'no'``.

    Returns:
        Variable of shape ``()`` or ``(B,)``.

    Raises:
        InvalidType: shapes or dtypes do not fit, or the batch is empty.
        ValueError: ``margin`` is not positive, or ``reduce`` is unknown.

    >>> import numpy as np, minichainer.functions as F
    >>> x0, x1 = np.zeros((2, 2)), np.array([[3., 4.], [0., .5]])
    >>> F.contrastive(x0, x1, np.array([1, 0]), reduce='no')
    variable([12.5  ,  0.125])
    """
    _contrastive.choice(reduce, 'reduce', _REDUCES)
    _check_margin(_contrastive, margin)
    x0, x1, labels = as_variable(x0), as_variable(x1), _contrastive.array(y, 'y')
    fits = x0.ndim == 2 and x0.shape == x1.shape and len(x0) > 0 and labels.shape == x0.shape[:1]
    if not fits or x0.dtype != x1.dtype or x0.dtype.kind != 'f' or labels.dtype.kind != 'i':
        expected = 'float x0 and x1 of one dtype and shape (B, N) with B > 0, and int y of shape (B,)'
        raise _contrastive.misfit(expected, described(x0, x1, labels))
    return contrastive_loss(x0, x1, labels.astype(x0.dtype)[:, None], margin, reduce)


def _check_margin(arguments: Arguments, margin: float) -> None:
    arguments.number(margin, 'margin')
    if margin <= 0:
        raise ValueError(f'{arguments.name}: margin must be positive, got {margin}')


# --- triplet -------------------------------------------------------------------------------------------------------
def _gap(near: Any, far: Any, between: Any) -> Any:
    """The difference of the squares of ``near`` and ``far``, which may both be infinite."""
    return between * (near + far)


def _violated(m: Any, gy: Any, anchor: Any, positive: Any, negative: Any, margin: float, reduce: str) -> Any:
    """Twice the gradient of each distance; 0 where the loss is 0."""
    anchor, positive, negative, gy = wide(m, anchor), wide(m, positive), wide(m, negative), wide(m, gy)
    gap = _gap(anchor - positive, anchor - negative, negative - positive)
    excess = m.sum(gap, 1, True) + margin
    shape = without_axis_1(anchor.shape)
    g = m.reshape(gy, shape) if reduce == 'no' else m.broadcast_to(gy * (1.0 / len(anchor)), shape)
    return m.masked(g * 2, m.above_zero(excess))


def _anchor_rule(m: Any, gy: Any, anchor: Any, positive: Any, negative: Any, margin: float, reduce: str) -> Any:
    return _violated(m, gy, anchor, positive, negative, margin, reduce) * (wide(m, negative) - wide(m, positive))


def _positive_rule(m: Any, gy: Any, anchor: Any, positive: Any, negative: Any, margin: float, reduce: str) -> Any:
    return _violated(m, gy, anchor, positive, negative, margin, reduce) * (wide(m, positive) - wide(m, anchor))


def _negative_rule(m: Any, gy: Any, anchor: Any, positive: Any, negative: Any, margin: float, reduce: str) -> Any:
    return _violated(m, gy, anchor, positive, negative, margin, reduce) * (wide(m, anchor) - wide(m, negative))


def _triplet_gradients(
    xp: Any, gy: Any, anchor: Any, positive: Any, negative: Any, margin: float, reduce: str, wanted: tuple[bool, ...]
) -> Any:
    """The gradients from the two differences, which are computed once."""
    dtype, gy = anchor.dtype, in_float32(gy)
    anchor, positive, negative = in_float32(anchor), in_float32(positive), in_float32(negative)
    near, far, between = anchor - positive, anchor - negative, negative - positive
    losses = _gap(near, far, between).sum(axis=1, keepdims=True) + margin
    share = gy.reshape(losses.shape) if reduce == 'no' else gy * anchor.dtype.type(1.0 / len(anchor))
    g = xp.where(losses <= 0, xp.zeros((), anchor.dtype), share * 2).astype(anchor.dtype, copy=False)
    of_anchor = (g * between).astype(dtype, copy=False) if wanted[0] else None
    near *= -g
    far *= g
    return of_anchor, near.astype(dtype, copy=False), far.astype(dtype, copy=False)


@primitive(rule=(_anchor_rule, _positive_rule, _negative_rule), fast=_triplet_gradients, kinds='f', name='Triplet')
def triplet_loss(xp: Any, anchor: Any, positive: Any, negative: Any, margin: float, reduce: str) -> Any:
    dtype = anchor.dtype
    anchor, positive, negative = in_float32(anchor), in_float32(positive), in_float32(negative)
    gap = _gap(anchor - positive, anchor - negative, negative - positive)
    losses = xp.maximum(gap.sum(axis=1) + margin, 0)
    return xp.asarray(losses if reduce == 'no' else losses.sum() / len(anchor), dtype)


def triplet(anchor: Any, positive: Any, negative: Any, margin: float = 0.2, reduce: str = 'mean') -> Variable:
    r"""Triplet loss, :math:`\max(|a - p|^2 - |a - n|^2 + m, 0)`, distances along the second axis.

    F. Schroff, D. Kalenichenko and J. Philbin, FaceNet (2015).

    Args:
        anchor: points :math:`a`, Variable or float array ``(B, N, ...)``.
        positive: points :math:`p` of the same kind as the anchors; same shape and dtype.
        negative: points :math:`n` of another kind; same shape and dtype.
        margin: by how much the squared distances should differ; positive.
        reduce: ``'mean'``, the sum divided by B, or ``'no'``.

    Returns:
        Variable of shape ``()`` or ``(B, ...)``.

    Raises:
        InvalidType: shapes or dtypes do not fit, or the batch is empty.
        ValueError: ``margin`` is not positive, or ``reduce`` is unknown.

    >>> import numpy as np, minichainer.functions as F
    >>> F.triplet(np.zeros((1, 2)), np.ones((1, 2)), np.zeros((1, 2)), margin=1)
    variable(3.)
    """
    _triplet.choice(reduce, 'reduce', _REDUCES)
    _check_margin(_triplet, margin)
    points = [as_variable(x) for x in (anchor, positive, negative)]
    first = points[0]
    same = all(x.shape == first.shape and x.dtype == first.dtype for x in points)
    if not same or first.ndim < 2 or not len(first) or first.dtype.kind != 'f':
        raise _triplet.misfit('three float arrays of one dtype and shape (B, N, ...) with B > 0', described(*points))
    return triplet_loss(first, points[1], points[2], margin, reduce)


# --- hinge ---------------------------------------------------------------------------------------------------------
def _hinge_rule(m: Any, gy: Any, x: Any, signs: Any, norm: str, reduce: str) -> Any:
    excess = x * signs + 1
    g = gy if reduce == 'no' else m.broadcast_to(gy * (1.0 / max(len(signs), 1)), signs.shape)
    slope = signs * m.sign(excess) if norm == 'L1' else signs * excess * 2
    return m.masked(g * slope, m.above_zero(excess))


@primitive(rule=(_hinge_rule,), name='Hinge', kinds='f')
def hinge_loss(xp: Any, x: Any, signs: Any, norm: str, reduce: str) -> Any:
    losses = kernels.mean_hinge if reduce == 'mean' else kernels.hinge
    return xp.asarray(losses(xp, x, signs, norm == 'L2'), x.dtype)


@on_device_of_arguments
def hinge(x: Any, t: Any, norm: str = 'L1', reduce: str = 'mean') -> Variable:
    r"""Hinge loss of one-vs-rest scores.

    With :math:`s_{nk}` 1 where k is the label of sample n, and -1 elsewhere, it is
    :math:`\max(0, 1 - s_{nk} x_{nk})^p`; ``'mean'`` divides the sum of all elements by the batch size.

    Args:
        x: scores, Variable or float array ``(N, K)``.
        t: labels, int array ``(N,)``.
        norm: ``'L1'`` (:math:`p = 1`) or ``'L2'`` (:math:`p = 2`).
        reduce: ``'mean'`` or ``'no'``.

    Returns:
        Variable of shape ``()`` or ``(N, K)``.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        NotImplementedError: ``norm`` is unknown.
        ValueError: ``reduce`` is unknown.
        IndexError: a label is out of range.

    >>> import numpy as np, minichainer.functions as F
    >>> F.hinge(np.array([[2., -3., 0.]]), np.array([0]), reduce='no')
    variable([[0., 0., 1.]])
    """
    _hinge.choice(reduce, 'reduce', _REDUCES)
    if not isinstance(norm, str) or norm not in ('L1', 'L2'):
        raise NotImplementedError(f"hinge: norm must be 'L1' or 'L2', got {norm!r}")
    x, labels = as_variable(x), _hinge.array(t, 't')
    if x.ndim != 2 or labels.shape != x.shape[:1] or x.dtype.kind != 'f' or labels.dtype.kind != 'i':
        raise _hinge.wrong_labels('float x of shape (N, K) and int t of shape (N,)', x, labels)
    classes = x.shape[1]
    _hinge.in_range('labels', labels, -classes, classes)
    signs = kernels.label_signs(get_array_module(x._data), labels, classes, x.dtype)
    return hinge_loss(x, signs, norm, reduce)
