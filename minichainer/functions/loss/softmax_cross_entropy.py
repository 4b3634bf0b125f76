"""Cross entropy of softmax: one fused op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from minichainer import _checks, ops
from minichainer._tape import native
from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.backends import cuda
from minichainer.configuration import config
from minichainer.errors import LabelError
from minichainer.functions._arguments import Arguments, described
from minichainer.functions._define import primitive
from minichainer.functions.activation.softmax import log_softmax, softmax
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.array.shape import broadcast_to, expand_dims
from minichainer.functions.math.reductions import sum as sum_
from minichainer.kernels import cross_entropy as kernels
from minichainer.kernels.cross_entropy import Residual, Samples
from minichainer.variable import Variable, as_array, as_variable

_arguments = Arguments('SoftmaxCrossEntropy', 'softmax_cross_entropy')
#: What the compiled tape knows. Options are compared by identity, because they may be anything, arrays too; what is
#: equal but another object is left to the twin.
_IGNORED, _MEAN, _PLAIN = -1, 'mean', 'cross-entropy'


def _rule(m: Any, gy: Any, x: Any, samples: Samples, residual: Residual) -> Any:
    """``p - e``, times upstream gradient and weight of each sample."""
    xp = get_array_module(x._data)
    if samples.scale is not None:
        gy = broadcast_to(gy, samples.labels.shape)
    coefficients = kernels.coefficients_of(as_dtype(gy, residual.others.dtype), samples)
    coefficients = broadcast_to(expand_dims(as_dtype(coefficients, x.dtype), 1), x.shape)
    is_label = kernels.one_hot(xp, samples, x.shape, bool)
    log_p = log_softmax(x)
    return m.where(is_label, m.expm1(log_p), m.exp(log_p)) * coefficients


def _fast(xp: Any, gy: Any, x: Any, samples: Samples, residual: Residual) -> Any:
    return kernels.cross_entropy_gradient(xp, gy, x, samples, residual)


def _probabilities(node: Any) -> Any:
    return softmax(node.saved[0])._data if getattr(node, 'cache_score', True) else None


@primitive(rule=(_rule, None), fast=(_fast, None), name='SoftmaxCrossEntropy', attributes={'y': _probabilities})
def cross_entropy(xp: Any, x: Any, t: Any, samples: Samples) -> Any:
    """Cross entropy with integer labels: per sample, or summed and scaled."""
    return kernels.cross_entropy(xp, x, samples)


_compiled: Callable[[Any, Any], Variable | None] | None = None
if native is not None and kernels.COMPILED:
    _compiled = native.cross_entropy_op(cross_entropy.node_class, Samples, Residual, *kernels.COMPILED)


def _reference(x: Any, t: Any, ignore_label: int = -1) -> Variable:
    """The plain composition for ``reduce='no'`` without class weights: documentation, and reference for the tests."""
    log_p = log_softmax(as_variable(x))
    one_hot = numpy.zeros_like(log_p._data)
    numpy.put_along_axis(one_hot, numpy.expand_dims(numpy.where(t == ignore_label, 0, t), 1), 1, axis=1)
    one_hot *= numpy.expand_dims(t != ignore_label, 1)
    return -sum_(log_p * one_hot, 1)


@on_device_of_arguments
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
        cache_score: whether ``loss.creator.y`` gives the probabilities, which are computed when they are read; None
            if not.
        class_weight: None or a float array :math:`(C,)` of factors, one per class.
        ignore_label: samples with this label count nothing; None for no such label.
        reduce: ``'mean'``, or ``'no'`` for a loss per sample.
        enable_double_backprop: gives soft targets a gradient, too; otherwise they are constants, as in Chainer, so
            that a loss does not train the model which made them. The gradient of ``x`` is always differentiable.
        soft_target_loss: ``'cross-entropy'`` or ``'kl-divergence'``, for soft targets.

    Returns:
        Variable of shape ``()``, or of ``t``'s shape (``(B, d_1, ...)``) where ``reduce='no'``.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        ValueError: ``reduce`` or ``soft_target_loss`` is unknown, ``class_weight`` does not fit, or a label is out
            of range. Labels on a device are checked in debug mode only; otherwise the loss of such a label is NaN.

    >>> import numpy as np, minichainer.functions as F
    >>> loss = F.softmax_cross_entropy(np.zeros((2, 4)), np.array([1, 3]))
    >>> bool(np.isclose(loss.array, np.log(4)))
    True
    """
    counts_all = normalize is True and class_weight is None and ignore_label is _IGNORED
    is_plain = counts_all and reduce is _MEAN and soft_target_loss is _PLAIN and cache_score is True
    if _compiled is not None and is_plain and type(t) is numpy.ndarray:
        result = _compiled(x, as_variable(t))
        if result is not None:
            return result
    _arguments.choice(reduce, 'reduce', ('mean', 'no'))
    if normalize is not True and normalize is not False:
        _arguments.flag(normalize, 'normalize')
    _arguments.choice(soft_target_loss, 'soft_target_loss', ('cross-entropy', 'kl-divergence'))
    x, labels = as_variable(x), as_array(t)
    if type(labels) is not numpy.ndarray:
        _arguments.arrays(t=labels)
        labels = _checks.native(labels)
    elif not labels.dtype.isnative:
        labels = _checks.native(labels)
    scores = x._data
    _check_class_weight(class_weight, scores)
    if labels.dtype.kind == 'f':
        targets = as_variable(t if enable_double_backprop else labels)
        return _soft_target_loss(x, targets, class_weight, reduce, soft_target_loss)
    samples = _samples(scores, labels, class_weight, ignore_label, normalize, reduce)
    loss = cross_entropy(x, t, samples)
    if not cache_score and loss.creator_node is not None:
        loss.creator_node.cache_score = False
    return loss


def _check_class_weight(class_weight: Any, x: Any) -> None:
    if class_weight is None:
        return
    if isinstance(class_weight, Variable):
        raise _arguments.wrong_value('an array, not a Variable,', 'class_weight', class_weight)
    if not hasattr(class_weight, 'ndim'):
        remedy = '; write numpy.asarray(class_weight, dtype=numpy.float32)'
        raise _arguments.wrong_type('a float array', 'class_weight', class_weight, remedy)
    if class_weight.ndim != 1 or class_weight.dtype.kind != 'f':
        raise ValueError(
            f'softmax_cross_entropy: class_weight must be a float array with one axis, got {described(class_weight)}'
        )
    if x.ndim > 1 and class_weight.shape != (x.shape[1],):
        raise _arguments.misfit(f'class_weight of shape ({x.shape[1]},)', f'{class_weight.shape}')


def _samples(x: Any, t: Any, class_weight: Any, ignore_label: int | None, normalize: bool, reduce: str) -> Samples:
    """Labels, weights and scale of the samples; checks the arguments."""
    if not _check_labels(x, t, ignore_label):
        ignore_label = None
    xp = get_array_module(x)
    dtype = numpy.promote_types(x.dtype, 'f')
    labels, weights = t, None
    if ignore_label is not None or class_weight is not None:
        labels, weights = kernels.valid_samples(xp, t, class_weight, ignore_label, dtype)
    if reduce == 'no':
        return Samples(labels, weights, None)
    if ignore_label is not None and normalize:
        return Samples(labels, weights, kernels.scale_of_valid(xp, t, ignore_label, dtype))
    return Samples(labels, weights, 1.0 / max(t.size if normalize else len(x), 1))


def _check_labels(x: Any, t: Any, ignore_label: int | None) -> bool:
    """Checks arrays and labels; returns whether some label may be ``ignore_label``."""
    if ignore_label is not None:
        _arguments.number(ignore_label, 'ignore_label')
    if x.dtype.kind != 'f' or t.dtype.kind not in 'iu':
        raise _arguments.wrong_labels('float x and integer t', x, t)
    shape = x.shape
    if len(shape) < 2 or t.shape != shape[:1] + shape[2:] or (t.size and not shape[1]):
        raise _arguments.wrong_labels('x of shape (B, C, ...) and t of shape (B, ...)', x, t)
    if not t.size or (isinstance(t, cuda.ndarray) and not config.debug):  # reading labels waits for the device
        return ignore_label is not None
    # As unsigned numbers, negative labels are the largest: one pass checks that all are in range.
    if t.view(t.dtype.str.replace('i', 'u')).max() < shape[1]:
        return ignore_label is not None and bool(0 <= ignore_label < shape[1])
    valid = t if ignore_label is None else t[t != ignore_label]
    if valid.size and not (valid.min() >= 0 and valid.max() < shape[1]):
        note = f' or ignore_label = {ignore_label}'
        raise _arguments.out_of_range('labels', t, 0, shape[1], note, LabelError, ignore_label)
    return True


def _soft_target_loss(x: Variable, t: Variable, class_weight: Any, reduce: str, kind: str) -> Variable:
    r"""Loss :math:`-\sum_c w_c t_c \log p_c`, minus the entropy of t for ``'kl-divergence'``."""
    if x.shape != t.shape or x.dtype.kind != 'f' or x.ndim < 2:
        raise _arguments.wrong_labels('x (B, C, ...) and integer t (B, ...), or float x and t of one shape', x, t)
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
