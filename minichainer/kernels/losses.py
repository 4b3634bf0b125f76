"""Losses of single elements, and their gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy

from minichainer._native.library import by_width
from minichainer._native.library import kernels as native
from minichainer.kernels import bounds, gates
from minichainer.kernels._dispatch import DECLINED, kernel
from minichainer.kernels.precision import in_float32
from minichainer.kernels.selection import masked


@kernel
def huber(xp: Any, x: Any, t: Any, delta: float) -> Any:
    """Half the squared difference near 0, and linear where its magnitude is above ``delta``."""
    losses = xp.asarray(xp.absolute(in_float32(x) - in_float32(t)))
    near = bounds.below(xp, losses, xp.asarray(delta, losses.dtype))
    losses -= near * 0.5
    losses *= near
    return losses


@huber.on_native
def _huber_native(xp: Any, x: Any, t: Any, delta: float) -> Any:
    y = numpy.empty_like(x)
    return y if native.huber(x, t, y, delta) else DECLINED


@kernel
def logistic_losses(xp: Any, scores: Any, t: Any) -> Any:
    r""":math:`\log(1 + e^s) - t s`, also where a score is infinite."""
    factor = xp.subtract(scores > 0, t)
    linear = masked(xp, scores, factor != 0)  # because infinity times 0 would be NaN
    return linear * factor + xp.log1p(xp.exp(-xp.absolute(scores)))


@logistic_losses.on_native
def _logistic_losses_native(xp: Any, scores: Any, t: Any) -> Any:
    y = numpy.empty_like(scores)
    return y if native.logistic_loss(scores, t, None, y) else DECLINED


@kernel
def weighted_logistic_losses(xp: Any, x: Any, labels: Any, weights: Any) -> Any:
    """:func:`logistic_losses` times weights, 0 where a weight is 0."""
    losses = logistic_losses(xp, in_float32(x), labels)
    return masked(xp, losses, weights != 0) * weights


@weighted_logistic_losses.on_native
def _weighted_logistic_losses_native(xp: Any, x: Any, labels: Any, weights: Any) -> Any:
    y = numpy.empty_like(x)
    return y if native.logistic_loss(x, labels, weights, y) else DECLINED


@kernel
def weighted_logistic_gradient(xp: Any, gy: Any, x: Any, labels: Any, weights: Any) -> Any:
    """The gradient of :func:`weighted_logistic_losses`, accurate where it is tiny; ``gy`` may be of the sum."""
    slope = gates.sigmoid(xp, x) * (1 - labels) - gates.sigmoid(xp, -x) * labels
    return masked(xp, xp.broadcast_to(gy, x.shape) * weights * slope, weights != 0)


@weighted_logistic_gradient.on_native
def _weighted_logistic_gradient_native(xp: Any, gy: Any, x: Any, labels: Any, weights: Any) -> Any:
    if gy.shape:
        return DECLINED
    gx = numpy.empty_like(x)
    return gx if native.logistic_gradient(x, labels, weights, gx, gy) else DECLINED


# --- hinge ---
@kernel
def label_signs(xp: Any, labels: Any, classes: int, dtype: Any) -> Any:
    """-1 at the label of each sample, else 1; labels are in range, negative ones count from the end."""
    signs = xp.ones((len(labels), classes), dtype)
    signs[xp.arange(len(labels)), labels] = -1
    return signs


@label_signs.on_native
def _label_signs_native(xp: Any, labels: Any, classes: int, dtype: Any) -> Any:
    signs = numpy.empty((len(labels), classes), dtype)
    return signs if native.label_signs(*by_width(labels), signs, len(labels), classes) else DECLINED


@kernel
def hinge(xp: Any, x: Any, signs: Any, squared: bool) -> Any:
    """``maximum(x * signs + 1, 0)``, or its square; float32 for float16."""
    excess = xp.maximum(in_float32(x) * signs + 1, 0)
    return excess * excess if squared else excess


@kernel
def mean_hinge(xp: Any, x: Any, signs: Any, squared: bool) -> Any:
    """The sum of :func:`hinge` divided by the number of samples; NaN if there is none."""
    losses = hinge(xp, x, signs, squared)
    return losses.sum() / losses.dtype.type(len(x)) if len(x) else xp.asarray(math.nan, losses.dtype)


@mean_hinge.on_native
def _mean_hinge_native(xp: Any, x: Any, signs: Any, squared: bool) -> Any:
    mean = numpy.empty((), x.dtype)
    return mean if len(x) and native.mean_hinge(x, signs, mean, *x.shape, squared) else DECLINED
