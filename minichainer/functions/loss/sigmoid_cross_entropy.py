"""Cross entropy of sigmoid: one fused node."""

from __future__ import annotations

from typing import Any

from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.functions._arguments import Arguments
from minichainer.functions._define import primitive
from minichainer.functions.loss._common import logistic_slope
from minichainer.kernels import losses as kernels
from minichainer.kernels.precision import in_float32
from minichainer.variable import Variable, as_variable

_sigmoid_cross_entropy = Arguments('SigmoidCrossEntropy', 'sigmoid_cross_entropy')


def _rule(m: Any, gy: Any, x: Any, labels: Any, weights: Any) -> Any:
    return m.masked(m.broadcast_to(gy, x.shape) * weights * logistic_slope(m, x, labels), weights != 0)


@primitive(rule=(_rule,), fast=(kernels.weighted_logistic_gradient,), name='SigmoidCrossEntropy', kinds='f')
def weighted_logistic_loss(xp: Any, x: Any, labels: Any, weights: Any, reduce: str) -> Any:
    """``log(1 + e^x) - t x`` times the weight of each element, or the sum."""
    losses = kernels.weighted_logistic_losses(xp, x, labels, weights)
    return xp.asarray(losses if reduce == 'no' else losses.sum(), x.dtype)


@on_device_of_arguments
def sigmoid_cross_entropy(x: Any, t: Any, normalize: bool = True, reduce: str = 'mean') -> Variable:
    r"""Cross entropy of the sigmoid of scores, :math:`-t \log \sigma(x) - (1 - t) \log(1 - \sigma(x))`.

    Elements whose label is -1 are ignored: their loss is 0.

    Args:
        x: scores, Variable or float array of any shape.
        t: labels 0, 1 or -1, int Variable or array of the same shape.
        normalize: ``'mean'`` divides by the number of elements that are not ignored; if false, by the batch size.
        reduce: ``'mean'`` or ``'no'``.

    Returns:
        Variable of shape ``()``, or of ``x``'s shape.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        ValueError: ``reduce`` is unknown.

    >>> import numpy as np, minichainer.functions as F
    >>> round(float(F.sigmoid_cross_entropy(np.array([[0., -9.]]), np.array([[1, -1]])).array), 4)
    0.6931
    """
    _sigmoid_cross_entropy.choice(reduce, 'reduce', ('mean', 'no'))
    _sigmoid_cross_entropy.flag(normalize, 'normalize')
    x, t = as_variable(x), _sigmoid_cross_entropy.array(t, 't')
    if x.dtype.kind != 'f' or t.dtype.kind != 'i' or x.shape != t.shape:
        raise _sigmoid_cross_entropy.wrong_labels('float x and int t of one shape', x, t)
    weights = (t != -1).astype(in_float32(x._data).dtype)
    if reduce == 'mean':
        xp = get_array_module(weights)
        count = weights.sum(dtype='d') if normalize else xp.asarray(len(t) if t.ndim else 1, 'd')
        weights *= (1.0 / xp.maximum(count, 1)).astype(weights.dtype)
    return weighted_logistic_loss(x, t.astype(x.dtype), weights, reduce)
