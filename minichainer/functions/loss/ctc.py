"""Connectionist temporal classification."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.configuration import using_config
from minichainer.differentiate import grad
from minichainer.functions._arguments import Arguments, are_readable, as_integer
from minichainer.functions._define import primitive
from minichainer.functions.activation.softmax import log_softmax
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.array.joining import are_alike, concat, stack, stacked
from minichainer.functions.array.selection import masked, where
from minichainer.functions.loss._common import reduced, reduced_array
from minichainer.functions.math.reductions import logsumexp
from minichainer.kernels import ctc as kernels
from minichainer.kernels import softmax
from minichainer.kernels.precision import in_float32
from minichainer.variable import Variable, as_array, as_variable

_ctc = Arguments('ConnectionistTemporalClassification', 'connectionist_temporal_classification')
#: Stands for the logarithm of 0 in the plain composition.
_NO_WAY = -1e10


def _rule(m: Any, gy: Any, x: Any, ways: kernels.Alignments, reduce: str) -> Any:
    """Higher derivatives come from the plain composition."""
    with using_config('enable_backprop', True):
        return grad([_reference(x, ways, reduce)], [x], [gy], enable_double_backprop=True)[0]


def _fast(xp: Any, gy: Any, ways: kernels.Alignments, reduce: str, residual: Any) -> Any:
    gx = kernels.gradient(xp, residual[0], ways, *residual[1:])
    scale = 1.0 / gx.shape[1] if reduce == 'mean' and gx.shape[1] else 1.0
    scaled = gx * (gy.astype(gx.dtype, copy=False)[..., None] * gx.dtype.type(scale))
    return xp.where(gx == 0, gx, scaled).astype(gy.dtype, copy=False)


@primitive(rule=(_rule,), fast=(_fast,), name='ConnectionistTemporalClassification')
def ctc(xp: Any, x: Any, ways: kernels.Alignments, reduce: str) -> Any:
    """The loss of scores (steps, B, V) for given alignments."""
    log_p = softmax.log_softmax(xp, in_float32(x), 2)
    likelihoods, sums = kernels.forward(xp, log_p, ways)
    return reduced_array(xp, 0 - likelihoods, reduce, x.dtype), (log_p, likelihoods, sums)


def _reference(x: Variable, ways: kernels.Alignments, reduce: str) -> Variable:
    """The plain composition: reference for the tests, and the source of higher derivatives.

    A sequence without a possible alignment has loss 0 here, so that its derivatives are 0.
    """
    xp = get_array_module(x._data)
    log_p = log_softmax(as_dtype(x, numpy.promote_types(x.dtype, 'f')), axis=2)
    rows, no_way = xp.arange(len(ways.path))[:, None], log_p.dtype.type(_NO_WAY)
    barred = [Variable(xp.full((len(ways.path), width), no_way)) for width in (1, 2)]
    state = where(xp.arange(ways.path.shape[1]) < 2, log_p[0][rows, ways.path], no_way)
    width = state.shape[1]
    for t in range(1, len(log_p)):
        near, far = (concat([bar, state], axis=1)[:, :width] for bar in barred)
        arrived = logsumexp(stack([state, near, where(ways.may_skip, far, no_way)]), 0)
        state = where((t < ways.lengths)[:, None], arrived + log_p[t][rows, ways.path], state)
    losses = -logsumexp(where(ways.is_last, state, no_way), 1)
    fits = (losses._data < -0.5 * _NO_WAY) & (ways.lengths > 0)
    return as_dtype(reduced(masked(losses, fits), reduce), x.dtype)


@on_device_of_arguments
def connectionist_temporal_classification(
    x: Sequence[Any],
    t: Any,
    blank_symbol: int,
    input_length: Any = None,
    label_length: Any = None,
    reduce: str = 'mean',
) -> Variable:
    r"""Negative log-likelihood of label sequences whose alignment with the inputs is unknown.

    The likelihood of labels :math:`t` is :math:`\sum_\pi \prod_s \mathrm{softmax}(x_s)_{\pi_s}`, over all sequences
    :math:`\pi` of labels and blanks, one for each time step, that become :math:`t` when repetitions are merged and
    blanks removed. The loss of labels that cannot be aligned, because there are too few time steps, is infinite, and
    its gradient 0.

    A. Graves, S. Fernandez, F. Gomez and J. Schmidhuber, Connectionist Temporal Classification (2006).

    Args:
        x: for each time step, scores of the labels: Variable or float array ``(B, V)``.
        t: labels, int array ``(B, M)`` in ``[0, V)``; elements beyond a sequence's length are ignored.
        blank_symbol: the label that means none, in ``[0, V)``.
        input_length: number of time steps of each sequence, int array ``(B,)``; all of them where None.
        label_length: number of labels of each sequence, int array ``(B,)``; all of them where None.
        reduce: ``'mean'`` (over the batch) or ``'no'``.

    Returns:
        Variable of shape ``()`` or ``(B,)``.

    Raises:
        TypeError: ``x`` is not a list or tuple, or ``blank_symbol`` not an int.
        AssertionError: ``blank_symbol`` is not a label.
        InvalidType: shapes or dtypes do not fit.
        ValueError: ``reduce`` is unknown, or a length is out of range.
        IndexError: a label is out of range.

    >>> import numpy as np, minichainer.functions as F
    >>> x = [np.zeros((1, 2)), np.zeros((1, 2))]
    >>> y = F.connectionist_temporal_classification(x, np.array([[1]]), 0)
    >>> bool(np.isclose(y.array, -np.log(3 / 4)))
    True
    """
    _ctc.choice(reduce, 'reduce', ('mean', 'no'))
    steps = _checked_steps(x, blank_symbol)
    xp, (batch, classes) = get_array_module(steps[0]._data), steps[0].shape
    labels = _ctc.array(t, 't')
    if labels.dtype.kind not in 'iu' or labels.ndim != 2 or len(labels) != batch:
        raise _ctc.misfit(f'int t of shape ({batch}, M)', f'{labels.dtype} {labels.shape}')
    input_lengths = _lengths(xp, 'input_length', input_length, batch, len(steps))
    label_lengths = _lengths(xp, 'label_length', label_length, batch, labels.shape[1])
    _check_labels(xp, labels, None if label_length is None else label_lengths, classes)
    ways = kernels.alignments(xp, labels, label_lengths, input_lengths, int(blank_symbol))
    return ctc(stacked(*steps, axis=0), ways, reduce)


def _checked_steps(x: Any, blank: Any) -> list[Variable]:
    """The time steps as Variables, after checking shapes, dtypes and the blank symbol."""
    if not isinstance(x, (list, tuple)):
        raise TypeError(
            f'{_ctc.name}: x must be a list or tuple with one array per time step, got {type(x).__name__}'
        )
    if as_integer(blank) is None:
        raise _ctc.wrong_type('int', 'blank_symbol', blank)
    if not x:
        raise ValueError(f'{_ctc.name}: x must have at least one time step, got none')
    steps = [as_variable(step) for step in x]
    first = steps[0]
    if first.dtype.kind != 'f' or first.ndim != 2 or not first.shape[1]:
        raise _ctc.misfit('x[i] of kind float and shape (B, V)', f'x[0]: {first.dtype} {first.shape}')
    for i, step in enumerate(() if are_alike(steps) else steps):
        if step.shape != first.shape or step.dtype != first.dtype:
            got = f'x[0]: {first.dtype} {first.shape} and x[{i}]: {step.dtype} {step.shape}'
            raise _ctc.misfit('x[i] of one shape and dtype', got)
    if not 0 <= blank < first.shape[1]:
        raise AssertionError(f'{_ctc.name}: 0 <= blank_symbol < {first.shape[1]} expected, got {blank}')
    return steps


def _lengths(xp: Any, name: str, lengths: Any, batch: int, most: int) -> Any:
    """The given lengths as an int array; by default the largest possible."""
    if lengths is None:
        return xp.full((batch,), most, 'q')
    lengths = as_array(lengths)
    if getattr(lengths, 'dtype', xp.dtype('O')).kind not in 'iu' or lengths.shape != (batch,):
        got = f'{lengths.dtype} {lengths.shape}' if hasattr(lengths, 'dtype') else type(lengths).__name__
        raise _ctc.misfit(f'int {name} of shape ({batch},)', got)
    if batch and are_readable(lengths) and not (lengths.min() >= 0 and lengths.max() <= most):
        raise ValueError(
            f'connectionist_temporal_classification: 0 <= {name} <= {most} expected, got {name}s from '
            f'{lengths.min()} to {lengths.max()}'
        )
    return lengths.astype('q')


def _check_labels(xp: Any, labels: Any, lengths: Any, classes: int) -> None:
    """Raises IndexError if a label is out of range; those beyond given lengths are not read."""
    if lengths is not None:
        is_read = xp.arange(labels.shape[1]) < lengths[:, None]
        labels = xp.where(is_read, labels, xp.zeros((), labels.dtype))
    _ctc.in_range('labels', labels, 0, classes)
