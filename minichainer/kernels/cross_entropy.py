"""Cross entropy of softmax with integer labels, and its gradient.

The probabilities are not saved: the gradient recomputes them, in the array that it returns, from the largest score
and the sum of exponentials of each sample.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy

from minichainer._native.library import by_width
from minichainer._native.library import kernels as native
from minichainer.kernels._dispatch import DECLINED, kernel
from minichainer.kernels.cuda import cross_entropy as cuda
from minichainer.kernels.precision import accumulator, in_float32
from minichainer.kernels.softmax import total_of_others

#: The compiled kernels, of the loss and of its gradient, for the compiled tape; or None.
COMPILED = (native.cross_entropy, native.cross_entropy_gradient) if native else None


class Samples(NamedTuple):
    """What is known about the samples besides their scores.

    Args:
        labels: int array (B, ...), 0 for ignored samples.
        weights: float array of that shape, 0 for ignored samples; None where all are 1.
        scale: factor of the sum over samples, a number or an array without axes; None for one loss per sample.
    """

    labels: Any
    weights: Any
    scale: Any


class Residual(NamedTuple):
    """What the gradient needs from the forward pass, (B, 1, ...) each.

    The largest score, and the sum of exponentials without one of the largest, which keeps its digits where a model is
    certain.
    """

    top: Any
    others: Any


@kernel
def valid_samples(xp: Any, t: Any, class_weight: Any, ignore_label: int | None, dtype: Any) -> tuple[Any, Any]:
    """Labels, with 0 for ignored samples, and weights of samples; weights are None where all are 1.

    Args:
        xp: numpy or cupy.
        t: int array (B, ...).
        class_weight: float array (C,), or None.
        ignore_label: the label of samples that do not count, or None.
        dtype: dtype of the weights.
    """
    labels, weights = t, None
    if ignore_label is not None:
        valid = t != ignore_label
        labels, weights = xp.where(valid, t, 0), valid.astype(dtype)
    if class_weight is not None:
        of_samples = class_weight[labels].astype(dtype)
        weights = of_samples if weights is None else weights * of_samples
    return labels, weights


@valid_samples.on('cuda')
def _valid_samples_cuda(xp: Any, t: Any, class_weight: Any, ignore_label: int | None, dtype: Any) -> Any:
    if ignore_label is None and class_weight is None:
        return t, None
    out = xp.empty_like(t), xp.empty(t.shape, dtype)
    if class_weight is None:
        return cuda.valid_samples(t, ignore_label, *out)
    return cuda.weighted_samples(t, class_weight, ignore_label is not None, ignore_label or 0, *out)


@kernel
def scale_of_valid(xp: Any, t: Any, ignore_label: int, dtype: Any) -> Any:
    """One over the number of labels that are not ``ignore_label``, at least 1: a number, or an array without axes."""
    return 1.0 / max(int((t != ignore_label).sum()), 1)


@scale_of_valid.on('cuda')
def _scale_of_valid_cuda(xp: Any, t: Any, ignore_label: int, dtype: Any) -> Any:
    return cuda.scale_of_valid(t, ignore_label, xp.empty((), dtype))


@kernel
def cross_entropy(xp: Any, x: Any, samples: Samples) -> tuple[Any, Residual]:
    """Losses (B, ...) of scores (B, C, ...), or their scaled sum; computed at least in float32."""
    scores = in_float32(x)
    top = scores.max(axis=1, keepdims=True) if x.size else xp.zeros((), scores.dtype)
    scores = scores - top
    picked = scores[_place(xp, samples.labels)]
    xp.exp(scores, out=scores)
    others, logarithms = total_of_others(xp, scores, 1)
    losses = logarithms[:, 0] - picked
    if samples.weights is not None:
        losses = xp.where(samples.weights == 0, xp.zeros((), losses.dtype), losses * samples.weights)  # 0 * inf is 0
    if samples.scale is not None:
        losses = losses.sum() * samples.scale
    return xp.asarray(losses, x.dtype), Residual(top, others)


@cross_entropy.on_native
def _cross_entropy_native(xp: Any, x: Any, samples: Samples) -> Any:
    labels, weights, scale = samples
    if not x.size or x.size != labels.size * x.shape[1] or (weights is not None and weights.size != labels.size):
        return DECLINED
    top, others = (numpy.empty((len(x), 1, *x.shape[2:]), x.dtype) for _ in range(2))
    losses = numpy.empty(labels.shape if scale is None else (), x.dtype)
    arrays = *by_width(labels), weights, losses, top, others
    sizes = labels.size, x.shape[1], scale is not None
    done = native.cross_entropy(_classes_last(x), *arrays, *sizes, 1 if scale is None else scale)
    return (losses, Residual(top, others)) if done else DECLINED


def _classes_last(x: Any) -> Any:
    """Scores (B, C, ...) as (B, ..., C), without a copy."""
    return x if x.ndim == 2 else x.transpose(0, *range(2, x.ndim), 1)


@cross_entropy.on('cuda')
def _cross_entropy_cuda(xp: Any, x: Any, samples: Samples) -> tuple[Any, Residual]:
    dtype = accumulator(x.dtype)
    top = in_float32(x).max(axis=1, keepdims=True) if x.size else xp.zeros((len(x), 1, *x.shape[2:]), dtype)
    others = cuda.normalizers(x, top, axis=1, keepdims=True)
    weights = 1.0 if samples.weights is None else samples.weights.astype(dtype, copy=False)
    sizes = x.shape[1], math.prod(x.shape[2:])
    losses = cuda.losses(x, samples.labels, weights, top[:, 0], others[:, 0], *sizes)
    if samples.scale is None:
        return losses.astype(x.dtype, copy=False), Residual(top, others)
    return cuda.scaled_sum(losses, samples.scale, xp.empty((), x.dtype)), Residual(top, others)


@kernel
def cross_entropy_gradient(xp: Any, gy: Any, x: Any, samples: Samples, residual: Residual) -> Any:
    """The gradient ``c_n (p - e)`` of the scores, where ``c_n`` is the upstream gradient times weight and scale."""
    scores = in_float32(x)
    coefficients = coefficients_of(gy.astype(scores.dtype, copy=False), samples)
    place = _place(xp, samples.labels)
    gx = scores - residual.top
    xp.exp(gx, out=gx)
    factors = (xp.expand_dims(coefficients, 1) if coefficients.ndim else coefficients) / (1 + residual.others)
    at_labels = -(residual.others[:, 0] + (1 - gx[place])) * factors[:, 0]  # p - 1, from what is not at the label
    gx *= factors
    gx[place] = at_labels
    weights = samples.weights
    if weights is not None and not weights.all():  # 0 * NaN of an ignored sample must be 0
        gx = xp.where(xp.expand_dims(weights == 0, 1), xp.zeros((), gx.dtype), gx)
    return gx.astype(x.dtype, copy=False)


@cross_entropy_gradient.on_native
def _cross_entropy_gradient_native(xp: Any, gy: Any, x: Any, samples: Samples, residual: Residual) -> Any:
    labels, weights, scale = samples
    of_samples = [v for v in (*residual, weights) if v is not None]
    if not x.size or x.size != labels.size * x.shape[1] or any([v.size != labels.size for v in of_samples]):
        return DECLINED
    if gy.size not in (1, labels.size):
        return DECLINED
    gx = numpy.empty_like(x)
    gy = gy if gy.flags.c_contiguous else gy.copy()  # the gradient of a sum is one number, repeated
    arrays = gy, _classes_last(x), *residual, *by_width(labels), weights, _classes_last(gx)
    sizes = labels.size, x.shape[1], gy.size
    return gx if native.cross_entropy_gradient(*arrays, *sizes, 1 if scale is None else scale) else DECLINED


@cross_entropy_gradient.on('cuda')
def _cross_entropy_gradient_cuda(xp: Any, gy: Any, x: Any, samples: Samples, residual: Residual) -> Any:
    labels, weights, scale = samples
    gy = xp.expand_dims(gy, 1) if gy.ndim else gy
    weights = 1.0 if weights is None else xp.expand_dims(weights.astype(residual.top.dtype, copy=False), 1)
    sizes = x.shape[1], math.prod(x.shape[2:])
    scale = 1.0 if scale is None else scale
    return cuda.gradient(gy, x, xp.expand_dims(labels, 1), weights, scale, *residual, *sizes)


def coefficients_of(gy: Any, samples: Samples) -> Any:
    """Upstream gradient times weight and scale of each sample, for an array or a Variable."""
    scale = 1.0 if samples.scale is None else samples.scale
    if samples.weights is None:
        return gy * scale
    weights = samples.weights.astype(gy.dtype, copy=False)
    return gy * (weights * (scale if hasattr(scale, 'dtype') else weights.dtype.type(scale)))


def one_hot(xp: Any, samples: Samples, shape: tuple[int, ...], dtype: Any) -> Any:
    """1 at the label of each sample, 0 elsewhere."""
    target = xp.zeros(shape, dtype)
    target[_place(xp, samples.labels)] = 1
    return target


def _place(xp: Any, labels: Any) -> tuple[Any, ...]:
    """The index of the score of each sample's label, in scores of shape (B, C, ...)."""
    if labels.ndim == 1:
        return xp.arange(len(labels)), labels
    batch, *rest = [xp.arange(n).reshape(n, *[1] * (labels.ndim - 1 - axis)) for axis, n in enumerate(labels.shape)]
    return (batch, labels, *rest)
