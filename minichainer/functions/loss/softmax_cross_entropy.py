"""Cross entropy of softmax: one fused node."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer import ops
from minichainer.backend import get_array_module
from minichainer.function_node import FunctionNode
from minichainer.functions._checks import check_number, invalid
from minichainer.functions.activation.softmax import log_softmax
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.array.shape import broadcast_to, expand_dims
from minichainer.functions.math.reductions import sum as sum_
from minichainer.kernels.softmax import total
from minichainer.variable import Variable, as_array, as_variable

_NAME = 'SoftmaxCrossEntropy'


class SoftmaxCrossEntropy(FunctionNode):
    r"""Loss :math:`-w_t \log p_t` of each sample, and its mean.

    Backward is :math:`g_n w_{t_n} (p - e_{t_n})`. The probabilities are not kept: :math:`p` is computed again from x,
    in the array that becomes its gradient, with the largest score and the sum of exponentials of each sample.
    """

    def __init__(
        self, t: Any, class_weight: Any, ignore_label: int, normalize: bool, reduce: str, has_ignored: bool = True
    ) -> None:
        self.t = t
        self.class_weight = class_weight
        self.ignore_label = ignore_label
        self.normalize = normalize
        self.reduce = reduce
        self.has_ignored = has_ignored

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.retain_inputs((0,))
        (x,) = inputs
        xp = get_array_module(x)
        wide = x.astype('f') if x.dtype.char == 'e' else x
        valid = self._weigh(xp, wide.dtype)
        self.place = _place(xp, self.labels)
        self.top = wide.max(axis=1, keepdims=True) if x.size else xp.zeros((), wide.dtype)
        scores = wide - self.top
        picked = scores[self.place]
        xp.exp(scores, out=scores)
        self.normalizer = total(xp, scores, 1)
        losses = xp.log(self.normalizer[:, 0]) - picked
        if self.weights is not None:
            losses = xp.where(self.weights == 0, xp.zeros((), wide.dtype), losses * self.weights)  # 0 * inf is 0
        if self.reduce == 'no':
            return (losses.astype(x.dtype, copy=False),)
        count = len(x)
        if self.normalize:
            count = int(valid.sum()) if self.has_ignored else self.t.size
        self.scale = 1.0 / max(count, 1)
        return (xp.asarray(losses.sum() * self.scale, x.dtype),)

    def _weigh(self, xp: Any, dtype: Any) -> Any:
        """Finds labels, and weights or None where all are 1; returns which samples count."""
        self.labels, self.weights, valid = self.t, None, None
        if self.has_ignored:
            valid = self.t != self.ignore_label
            self.labels = xp.where(valid, self.t, 0)
            self.weights = valid.astype(dtype)
        if self.class_weight is not None:
            of_samples = self.class_weight[self.labels].astype(dtype)
            self.weights = of_samples if self.weights is None else self.weights * of_samples
        return valid

    def _coefficients(self, gy: Any) -> Any:
        """Upstream gradient times weight of each sample; works on arrays and Variables."""
        scale = 1.0 if self.reduce == 'no' else self.scale
        if self.weights is None:
            return gy * scale
        weights = self.weights if isinstance(gy, Variable) else self.weights.astype(gy.dtype, copy=False)
        return gy * (weights * weights.dtype.type(scale))

    def backward_arrays(self, indexes: Any, grad_outputs: Any) -> Any:
        (x,) = self._retained_inputs
        xp = get_array_module(x)
        wide = x.astype('f') if x.dtype.char == 'e' else x
        coefficients = self._coefficients(grad_outputs[0].astype(wide.dtype, copy=False))
        gx = wide - self.top
        xp.exp(gx, out=gx)
        at_labels = (gx[self.place] / self.normalizer[:, 0] - 1) * coefficients
        gx *= (xp.expand_dims(coefficients, 1) if coefficients.ndim else coefficients) / self.normalizer
        gx[self.place] = at_labels
        if self.weights is not None and not self.weights.all():  # 0 * NaN of an ignored sample is no NaN
            gx = xp.where(xp.expand_dims(self.weights == 0, 1), xp.zeros((), gx.dtype), gx)
        return [gx.astype(x.dtype, copy=False)]

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        (x,) = self.get_retained_inputs()
        xp = get_array_module(x.array)
        probabilities = ops.exp(log_softmax(x))
        target = xp.zeros_like(x.array)
        target[self.place] = 1
        gy = grad_outputs[0]
        if self.reduce != 'no':
            gy = broadcast_to(gy, self.t.shape)
        coefficients = self._coefficients(as_dtype(gy, self.normalizer.dtype))
        coefficients = broadcast_to(expand_dims(as_dtype(coefficients, x.dtype), 1), x.shape)
        return ((probabilities - target) * coefficients,)


def _place(xp: Any, labels: Any) -> tuple[Any, ...]:
    """The index of each sample's score of its label, in scores of shape (B, C, ...)."""
    if labels.ndim == 1:
        return xp.arange(len(labels)), labels
    batch, *rest = [xp.arange(n).reshape(n, *[1] * (labels.ndim - 1 - axis)) for axis, n in enumerate(labels.shape)]
    return (batch, labels, *rest)


def _reference(x: Any, t: Any, ignore_label: int = -1) -> Variable:
    """The plain composition for ``reduce='no'`` without class weights: documentation, and oracle of the tests."""
    log_p = log_softmax(as_variable(x))
    one_hot = numpy.zeros_like(log_p.array)
    numpy.put_along_axis(one_hot, numpy.expand_dims(numpy.where(t == ignore_label, 0, t), 1), 1, axis=1)
    one_hot *= numpy.expand_dims(t != ignore_label, 1)
    return -sum_(log_p * one_hot, 1)


def softmax_cross_entropy(
    x: Any,
    t: Any,
    normalize: bool = True,
    cache_score: bool = True,
    class_weight: Any = None,
    ignore_label: int = -1,
    reduce: str = 'mean',
    enable_double_backprop: bool = False,
    soft_target_loss: str = 'cross-entropy',
) -> Variable:
    r"""Cross entropy of the softmax of scores, :math:`-w_t \log \mathrm{softmax}(x)_t`.

    Args:
        x: scores, Variable or float array :math:`(B, C, d_1, \dots)`.
        t: labels, int array :math:`(B, d_1, \dots)` in ``[0, C)`, or a float array of ``x``'s shape with a
            probability for each class (soft targets).
        normalize: divide the sum by the number of samples that are not ignored; by the batch size B where False.
            The loss of soft targets is the mean over all samples either way.
        cache_score: kept for compatibility; has no effect.
        class_weight: None or a float array :math:`(C,)` of factors, one per class.
        ignore_label: samples with this label count nothing; None for no such label.
        reduce: ``'mean'``, or ``'no'`` for a loss per sample.
        enable_double_backprop: kept for compatibility; the gradient is always differentiable.
        soft_target_loss: ``'cross-entropy'`` or ``'kl-divergence'``, for soft targets.

    Returns:
        Variable of shape ``()``, or of ``t``'s shape (``(B, d_1, ...)``) where ``reduce='no'``.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        ValueError: ``reduce`` or ``soft_target_loss`` is unknown, ``class_weight`` does not fit, or a label is out
            of range.

    >>> import numpy as np, minichainer.functions as F
    >>> loss = F.softmax_cross_entropy(np.zeros((2, 4)), np.array([1, 3]))
    >>> bool(np.isclose(loss.array, np.log(4)))
    True
    """
    if reduce not in ('mean', 'no'):
        raise ValueError(
            f"softmax_cross_entropy: only 'mean' and 'no' are valid for 'reduce', but {reduce!r} is given"
        )
    if soft_target_loss not in ('cross-entropy', 'kl-divergence'):
        raise ValueError(
            "softmax_cross_entropy: soft_target_loss must be 'cross-entropy' or 'kl-divergence', "
            f'but {soft_target_loss!r} is given'
        )
    x, labels = as_variable(x), as_array(t)
    class_weight = _checked_class_weight(class_weight)
    if labels.dtype.kind == 'f':
        return _soft_target_loss(x, as_variable(t), class_weight, reduce, soft_target_loss)
    if ignore_label is not None:
        check_number(ignore_label, 'softmax_cross_entropy', 'ignore_label')
    has_ignored = _check(x, labels, ignore_label)
    _check_weights_fit(class_weight, x)
    return SoftmaxCrossEntropy(labels, class_weight, ignore_label, normalize, reduce, has_ignored).apply((x,))[0]


def _checked_class_weight(class_weight: Any) -> Any:
    if class_weight is None:
        return None
    if isinstance(class_weight, Variable):
        raise ValueError('softmax_cross_entropy: class_weight must be an array, not a Variable')
    if class_weight.ndim != 1 or class_weight.dtype.kind != 'f':
        raise ValueError(
            f'softmax_cross_entropy: class_weight must be a float array with one axis, came {class_weight.dtype} '
            f'{class_weight.shape}'
        )
    return class_weight


def _check_weights_fit(class_weight: Any, x: Variable) -> None:
    if class_weight is not None and class_weight.shape != (x.shape[1],):
        raise invalid(f'class_weight of shape ({x.shape[1]},)', f'{class_weight.shape}', _where())


def _where() -> str:
    return f'Invalid operation is performed in: {_NAME} (Forward)'


def _check(x: Variable, t: Any, ignore_label: int | None) -> bool:
    """Raises for what does not fit; returns whether some label may be ``ignore_label``."""
    if x.dtype.kind != 'f' or t.dtype.kind not in 'iu':
        raise invalid('float x and integer t', f'{x.dtype} and {t.dtype}', _where())
    if x.ndim < 2 or t.shape != x.shape[:1] + x.shape[2:] or (t.size and not x.shape[1]):
        raise invalid('x of shape (B, C, ...) and t of shape (B, ...)', f'{x.shape} and {t.shape}', _where())
    if not t.size:
        return ignore_label is not None
    # As unsigned numbers negative labels are the largest: one pass tells whether all are in range.
    if t.view(t.dtype.str.replace('i', 'u')).max() < x.shape[1]:
        return ignore_label is not None and bool(0 <= ignore_label < x.shape[1])
    valid = t if ignore_label is None else t[t != ignore_label]
    if valid.size and not (valid.min() >= 0 and valid.max() < x.shape[1]):
        raise ValueError(
            f'softmax_cross_entropy: labels must be in [0, {x.shape[1]}) or ignore_label = {ignore_label}, '
            f'came labels from {valid.min()} to {valid.max()}'
        )
    return True


def _soft_target_loss(x: Variable, t: Variable, class_weight: Any, reduce: str, kind: str) -> Variable:
    r"""Loss :math:`-\sum_c w_c t_c \log p_c`, less the entropy of t for ``'kl-divergence'``."""
    if x.shape != t.shape or x.dtype.kind != 'f' or x.ndim < 2:
        came = f'{x.dtype} {x.shape} and {t.dtype} {t.shape}'
        raise invalid('float x and t of one shape (B, C, ...)', came, _where())
    _check_weights_fit(class_weight, x)
    if t.dtype != x.dtype:
        t = as_dtype(t, x.dtype)
    log_p = log_softmax(x)
    if kind == 'kl-divergence':
        log_p = log_p - ops.log(ops.clip_between(t, numpy.finfo(t.dtype).tiny, float('inf')))
    weighted = -log_p * t
    if class_weight is not None:
        shape = [1] * x.ndim
        shape[1] = -1
        weights = as_variable(class_weight.astype(x.dtype, copy=False).reshape(shape))
        weighted = weighted * broadcast_to(weights, x.shape)
    losses = sum_(weighted, 1)
    return losses if reduce == 'no' else sum_(losses) * (1.0 / max(losses.size, 1))
