"""Cross entropy of softmax with integer labels, and its gradient.

The probabilities are not saved: the gradient recomputes them, in the array that it returns, from the largest score
and the sum of exponentials of each sample.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from minichainer.kernels.precision import in_float32
from minichainer.kernels.softmax import total


class Samples(NamedTuple):
    """What is known about the samples besides their scores.

    Args:
        labels: int array (B, ...), 0 for ignored samples.
        weights: float array of that shape, 0 for ignored samples; None where all are 1.
        scale: factor of the sum over samples; None for one loss per sample.
    """

    labels: Any
    weights: Any
    scale: float | None


class Residual(NamedTuple):
    """What the gradient needs from the forward pass: largest score and sum of exponentials, (B, 1, ...) each."""

    top: Any
    normalizer: Any


def cross_entropy(xp: Any, x: Any, samples: Samples) -> tuple[Any, Residual]:
    """Losses (B, ...) of scores (B, C, ...), or their scaled sum; computed at least in float32."""
    scores = in_float32(x)
    top = scores.max(axis=1, keepdims=True) if x.size else xp.zeros((), scores.dtype)
    scores = scores - top
    picked = scores[_place(xp, samples.labels)]
    xp.exp(scores, out=scores)
    normalizer = total(xp, scores, 1)
    losses = xp.log(normalizer[:, 0]) - picked
    if samples.weights is not None:
        losses = xp.where(samples.weights == 0, xp.zeros((), losses.dtype), losses * samples.weights)  # 0 * inf is 0
    if samples.scale is not None:
        losses = losses.sum() * samples.scale
    return xp.asarray(losses, x.dtype), Residual(top, normalizer)


def cross_entropy_gradient(xp: Any, gy: Any, x: Any, samples: Samples, residual: Residual) -> Any:
    """The gradient ``c_n (p - e)`` of the scores, where ``c_n`` is the upstream gradient times weight and scale."""
    scores = in_float32(x)
    coefficients = coefficients_of(gy.astype(scores.dtype, copy=False), samples)
    place = _place(xp, samples.labels)
    gx = scores - residual.top
    xp.exp(gx, out=gx)
    at_labels = (gx[place] / residual.normalizer[:, 0] - 1) * coefficients
    gx *= (xp.expand_dims(coefficients, 1) if coefficients.ndim else coefficients) / residual.normalizer
    gx[place] = at_labels
    weights = samples.weights
    if weights is not None and not weights.all():  # 0 * NaN of an ignored sample must be 0
        gx = xp.where(xp.expand_dims(weights == 0, 1), xp.zeros((), gx.dtype), gx)
    return gx.astype(x.dtype, copy=False)


def coefficients_of(gy: Any, samples: Samples) -> Any:
    """Upstream gradient times weight and scale of each sample, for an array or a Variable."""
    scale = 1.0 if samples.scale is None else samples.scale
    if samples.weights is None:
        return gy * scale
    weights = samples.weights.astype(gy.dtype, copy=False)
    return gy * (weights * weights.dtype.type(scale))


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
