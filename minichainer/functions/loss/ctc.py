"""Connectionist temporal classification."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minichainer.backend import get_array_module
from minichainer.differentiate import grad
from minichainer.function_node import FunctionNode
from minichainer.functions._checks import invalid
from minichainer.functions.activation.softmax import log_softmax
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.array.joining import concat, stack
from minichainer.functions.array.selection import masked, where
from minichainer.functions.loss._common import check_reduce, reduced, reduced_array, wide
from minichainer.functions.math.reductions import logsumexp
from minichainer.kernels import ctc as kernels
from minichainer.variable import Variable, as_array, as_variable

_NAME = 'ConnectionistTemporalClassification'
#: The logarithm of a probability that is as good as 0, in the plain composition.
_NO_WAY = -1e10


class ConnectionistTemporalClassification(FunctionNode):
    """See :func:`connectionist_temporal_classification`; higher derivatives are those of the plain composition."""

    def __init__(self, ways: kernels.Alignments, reduce: str) -> None:
        self.ways = ways
        self.reduce = reduce

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.retain_inputs((0,))
        (x,) = inputs
        xp = get_array_module(x)
        self.log_p = kernels.log_softmax(xp, wide(x))
        self.likelihoods, self.sums = kernels.forward(xp, self.log_p, self.ways)
        return (reduced_array(xp, 0 - self.likelihoods, self.reduce, x.dtype),)

    def backward_arrays(self, indexes: Any, grad_outputs: Any) -> Any:
        gy = grad_outputs[0]
        xp = get_array_module(gy)
        gx = kernels.gradient(xp, self.log_p, self.ways, self.likelihoods, self.sums)
        scale = 1.0 / gx.shape[1] if self.reduce == 'mean' and gx.shape[1] else 1.0
        scaled = gx * (gy.astype(gx.dtype, copy=False)[..., None] * gx.dtype.type(scale))
        return [xp.where(gx == 0, gx, scaled).astype(gy.dtype, copy=False)]

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        (x,) = self.get_retained_inputs()
        return grad([_reference(x, self.ways, self.reduce)], [x], grad_outputs, enable_double_backprop=True)


def _reference(x: Variable, ways: kernels.Alignments, reduce: str) -> Variable:
    """The plain composition: oracle of the tests, and what higher derivatives are taken of.

    A sequence that no alignment fits has loss 0 here, so that its derivatives are 0.
    """
    xp = get_array_module(x.array)
    log_p = log_softmax(as_dtype(x, 'f') if x.dtype.char == 'e' else x, axis=2)
    rows, no_way = xp.arange(len(ways.path))[:, None], log_p.dtype.type(_NO_WAY)
    barred = [Variable(xp.full((len(ways.path), width), no_way)) for width in (1, 2)]
    state = where(xp.arange(ways.path.shape[1]) < 2, log_p[0][rows, ways.path], no_way)
    width = state.shape[1]
    for t in range(1, len(log_p)):
        near, far = (concat([bar, state], axis=1)[:, :width] for bar in barred)
        came = logsumexp(stack([state, near, where(ways.may_skip, far, no_way)]), 0)
        state = where((t < ways.lengths)[:, None], came + log_p[t][rows, ways.path], state)
    losses = -logsumexp(where(ways.is_last, state, no_way), 1)
    fits = (losses.array < -0.5 * _NO_WAY) & (ways.lengths > 0)
    return as_dtype(reduced(masked(losses, fits), reduce), x.dtype)


def connectionist_temporal_classification(
    x: Sequence[Any],
    t: Any,
    blank_symbol: int,
    input_length: Any = None,
    label_length: Any = None,
    reduce: str = 'mean',
) -> Variable:
    r"""Negative log-likelihood of label sequences whose alignment with the inputs is not known.

    The likelihood of labels :math:`t` is :math:`\sum_\pi \prod_s \mathrm{softmax}(x_s)_{\pi_s}`, over all
    sequences :math:`\pi` of labels and blanks, one for each time step, that become :math:`t` when repetitions are
    merged and blanks dropped. The loss of labels that cannot be aligned, as there are more than time steps, is
    infinite, and its gradient 0.

    A. Graves, S. Fernandez, F. Gomez and J. Schmidhuber, Connectionist Temporal Classification (2006).

    Args:
        x: for each time step, scores of the labels: Variable or float array ``(B, V)``.
        t: labels, int array ``(B, M)`` in ``[0, V)``; what is beyond a sequence's length is not read.
        blank_symbol: the label that stands for none, in ``[0, V)``.
        input_length: number of time steps of each sequence, int array ``(B,)``; all of them where None.
        label_length: number of labels of each sequence, int array ``(B,)``; all of them where None.
        reduce: ``'mean'`` (over the batch) or ``'no'``.

    Returns:
        Variable of shape ``()`` or ``(B,)``.

    Raises:
        TypeError: ``x`` is no list or tuple, or ``blank_symbol`` no int.
        AssertionError: ``blank_symbol`` is no label.
        InvalidType: shapes or dtypes do not fit.
        ValueError: ``reduce`` is unknown, or a length is out of range.
        IndexError: a label is out of range.

    >>> import numpy as np, minichainer.functions as F
    >>> x = [np.zeros((1, 2)), np.zeros((1, 2))]
    >>> y = F.connectionist_temporal_classification(x, np.array([[1]]), 0)
    >>> bool(np.isclose(y.array, -np.log(3 / 4)))
    True
    """
    check_reduce('connectionist_temporal_classification', reduce, ('mean', 'no'))
    steps = _checked_steps(x, blank_symbol)
    xp, (batch, classes) = get_array_module(steps[0].array), steps[0].shape
    labels = as_array(t)
    if labels.dtype.kind not in 'iu' or labels.ndim != 2 or len(labels) != batch:
        raise _misfit(f'int t of shape ({batch}, M)', f'{labels.dtype} {labels.shape}')
    input_lengths = _lengths(xp, 'input_length', input_length, batch, len(steps))
    label_lengths = _lengths(xp, 'label_length', label_length, batch, labels.shape[1])
    _check_labels(xp, labels, label_lengths, classes)
    ways = kernels.alignments(xp, labels, label_lengths, input_lengths, int(blank_symbol))
    return ConnectionistTemporalClassification(ways, reduce).apply((stack(steps, axis=0),))[0]


def _misfit(expected: str, came: str) -> Exception:
    return invalid(expected, came, f'Invalid operation is performed in: {_NAME} (Forward)')


def _checked_steps(x: Any, blank: Any) -> list[Variable]:
    name = 'connectionist_temporal_classification'
    if not isinstance(x, (list, tuple)):
        raise TypeError(f'{name}: x must be a list or tuple with one array per time step, came {type(x).__name__}')
    if isinstance(blank, bool) or not hasattr(blank, '__index__'):
        raise TypeError(f'{name}: blank_symbol must be an int, came {blank!r}')
    if not x:
        raise ValueError(f'{name}: x must have at least one time step, came none')
    steps = [as_variable(step) for step in x]
    first = steps[0]
    if first.dtype.kind != 'f' or first.ndim != 2 or not first.shape[1]:
        raise _misfit('x[i] of kind float and shape (B, V)', f'x[0]: {first.dtype} {first.shape}')
    for i, step in enumerate(steps):
        if step.shape != first.shape or step.dtype != first.dtype:
            came = f'x[0]: {first.dtype} {first.shape} and x[{i}]: {step.dtype} {step.shape}'
            raise _misfit('x[i] of one shape and dtype', came)
    if not 0 <= blank < first.shape[1]:
        raise AssertionError(f'{name}: 0 <= blank_symbol < {first.shape[1]} expected, came {blank}')
    return steps


def _lengths(xp: Any, name: str, lengths: Any, batch: int, most: int) -> Any:
    if lengths is None:
        return xp.full((batch,), most, 'l')
    lengths = as_array(lengths)
    if getattr(lengths, 'dtype', xp.dtype('O')).kind not in 'iu' or lengths.shape != (batch,):
        came = f'{lengths.dtype} {lengths.shape}' if hasattr(lengths, 'dtype') else type(lengths).__name__
        raise _misfit(f'int {name} of shape ({batch},)', came)
    if batch and not (lengths.min() >= 0 and lengths.max() <= most):
        raise ValueError(
            f'connectionist_temporal_classification: 0 <= {name} <= {most} expected, came {name}s from '
            f'{lengths.min()} to {lengths.max()}'
        )
    return lengths.astype('l')


def _check_labels(xp: Any, labels: Any, lengths: Any, classes: int) -> None:
    read = labels[xp.arange(labels.shape[1]) < lengths[:, None]]
    if read.size and not (read.min() >= 0 and read.max() < classes):
        raise IndexError(
            f'connectionist_temporal_classification: labels must be in [0, {classes}), came labels from '
            f'{read.min()} to {read.max()}'
        )
