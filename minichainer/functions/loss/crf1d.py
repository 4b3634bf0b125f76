"""Linear-chain conditional random fields."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy

from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.functions._arguments import Arguments
from minichainer.functions.array.joining import concat
from minichainer.functions.array.shape import expand_dims
from minichainer.functions.loss._common import reduced
from minichainer.functions.math.reductions import logsumexp
from minichainer.functions.math.reductions import max as max_
from minichainer.variable import Variable, as_variable

_crf1d, _argmax_crf1d = Arguments('crf1d'), Arguments('argmax_crf1d')


@on_device_of_arguments
def crf1d(cost: Any, xs: Sequence[Any], ys: Sequence[Any], reduce: str = 'mean') -> Variable:
    r"""Negative log-likelihood of label sequences under a linear-chain conditional random field.

    The score of a sequence is :math:`\sum_t x_t(y_t) + \sum_t c(y_{t-1}, y_t)`; its likelihood is the exponential of
    the score, divided by the sum over all label sequences. Sequences are sorted by length, the longest first, and
    given by time step: ``xs[t]`` has one row for each sequence longer than t.

    J. Lafferty, A. McCallum and F. Pereira, Conditional Random Fields (2001).

    Args:
        cost: transition scores :math:`c`, Variable or float array ``(K, K)``, from row to column.
        xs: for each time step, Variable or float array ``(B_t, K)``, with :math:`B_t` not increasing.
        ys: for each time step, the labels: int array ``(B_t,)``.
        reduce: ``'mean'`` or ``'no'``.

    Returns:
        Variable of shape ``()`` or ``(B_0,)``.

    Raises:
        InvalidType: shapes do not fit.
        ValueError: ``reduce`` is unknown.
        IndexError: a label is out of range.

    >>> import numpy as np, minichainer.functions as F
    >>> xs = [np.zeros((2, 3)), np.zeros((1, 3))]
    >>> y = F.crf1d(np.zeros((3, 3)), xs, [np.array([0, 2]), np.array([1])], reduce='no')
    >>> bool(np.allclose(y.array, [np.log(9), np.log(3)]))
    True
    """
    _crf1d.choice(reduce, 'reduce', ('mean', 'no'))
    cost, steps = _checked(_crf1d, cost, xs)
    labels = [_crf1d.array(y, 'an element of ys') for y in ys]
    if [y.shape for y in labels] != [x.shape[:1] for x in steps]:
        got = f'{[y.shape for y in labels]} with xs of shapes {[x.shape for x in steps]}'
        raise _crf1d.misfit('ys[t].shape == xs[t].shape[:1] for each time step', got)
    _check_labels(labels, len(cost))
    return reduced(_log_partition(cost, steps) - _scores(cost, steps, labels), reduce)


def _log_partition(cost: Variable, steps: Sequence[Variable]) -> Variable:
    """The logarithm of the sum over all label sequences.

    The largest score of the step before is taken out at each step, as a constant: scores of long sequences would have
    no digits left for the differences that make the marginals.
    """
    xp = get_array_module(cost._data)
    taken = xp.zeros(len(steps[0]), 'd')

    def step(last: Variable, x: Variable) -> Variable:
        top = last._data.max(axis=1, keepdims=True) if last.size else last._data[:, :1]
        top = xp.where(xp.isfinite(top), top, xp.zeros((), top.dtype))
        taken[: len(top)] += top[:, 0] if top.size else 0
        following: Variable = logsumexp(_transitions(last, cost), 1) + (x - top)
        return following

    rest: Variable = logsumexp(_by_sequence(steps, step), 1)
    whole: Variable = rest + taken.astype(rest.dtype)
    return whole


def _checked(arguments: Arguments, cost: Any, xs: Sequence[Any]) -> tuple[Variable, list[Variable]]:
    """Cost and time steps as Variables, after checking their shapes."""
    cost, steps = as_variable(cost), [as_variable(x) for x in xs]
    got = f'{cost.shape} and {[x.shape for x in steps]}'
    if cost.ndim != 2 or cost.shape[0] != cost.shape[1] or not steps:
        raise arguments.misfit('cost of shape (K, K), and at least one time step', got)
    if any(x.ndim != 2 or x.shape[1] != len(cost) for x in steps):
        raise arguments.misfit(f'xs of shapes (B_t, {len(cost)})', got)
    if any(len(x) < len(following) for x, following in pairwise(steps)):
        raise arguments.misfit('sequences sorted by length, the longest first: len(xs[t]) not increasing', got)
    return cost, steps


def _check_labels(labels: Sequence[Any], count: int) -> None:
    for t, y in enumerate(labels):
        if y.dtype.kind not in 'iu':
            raise _crf1d.misfit('ys of kind int', f'{y.dtype} at time step {t}')
        _crf1d.in_range(f'labels at time step {t}', y, 0, count)


def _transitions(last: Variable, cost: Variable) -> Variable:
    """Scores of sequences that end with labels i, j, of shape ``(B, K, K)``."""
    return expand_dims(last, 2) + expand_dims(cost, 0)


def _by_sequence(steps: Sequence[Variable], step: Any) -> Variable:
    """Iterates over time steps; the last state of each sequence, of shape ``(B, ...)``."""
    state = steps[0]
    ended = []
    for x in steps[1:]:
        if len(x) < len(state):
            ended.append(state[len(x) :])
            state = state[: len(x)]
        state = step(state, x)
    return concat([state, *reversed(ended)], axis=0) if ended else state


def _scores(cost: Variable, steps: Sequence[Variable], labels: Sequence[Any]) -> Variable:
    """The score of each sequence."""
    picked = [_pick(x, y) for x, y in zip(steps, labels, strict=True)]
    before = labels[0]
    for t, y in enumerate(labels[1:], 1):
        picked[t] = picked[t] + cost[before[: len(y)], y]
        before = y
    return _by_sequence(picked, lambda total, score: total + score)


def _pick(x: Variable, labels: Any) -> Variable:
    return x[get_array_module(x._data).arange(len(labels)), labels]


@on_device_of_arguments
def argmax_crf1d(cost: Any, xs: Sequence[Any]) -> tuple[Variable, list[Any]]:
    r"""The best label sequences of a linear-chain conditional random field, and their scores.

    See :func:`crf1d`.

    Args:
        cost: transition scores, Variable or float array ``(K, K)``.
        xs: for each time step, Variable or float array ``(B_t, K)``, with :math:`B_t` not increasing.

    Returns:
        Variable ``(B_0,)``, the scores; and for each time step the labels, an int array ``(B_t,)``.

    Raises:
        InvalidType: shapes do not fit, or there are no labels.

    >>> import numpy as np, minichainer.functions as F
    >>> score, path = F.argmax_crf1d(np.eye(2), [np.array([[1., 0.]]), np.array([[0., .5]])])
    >>> score, [labels.tolist() for labels in path]
    (variable([2.]), [[0], [0]])
    """
    cost, steps = _checked(_argmax_crf1d, cost, xs)
    if not len(cost):
        raise _argmax_crf1d.misfit('at least one label', f'cost of shape {cost.shape}')
    origins: list[Any] = []

    def step(last: Variable, x: Variable) -> Variable:
        ways = _transitions(last, cost)
        origins.append(ways._data.argmax(axis=1))
        return max_(ways, 1) + x

    last = _by_sequence(steps, step)
    return max_(last, 1), _paths(last._data.argmax(axis=1), origins)


def _paths(ends: Any, origins: Sequence[Any]) -> list[Any]:
    """The labels at each time step, by backtracking from the last ones."""
    xp = get_array_module(ends)
    labels = ends[: len(origins[-1])] if origins else ends
    path = [labels]
    for t in range(len(origins) - 1, -1, -1):
        before = xp.take_along_axis(origins[t], labels[:, None], axis=1)[:, 0]
        width = len(origins[t - 1]) if t else len(ends)
        labels = xp.concatenate((before, ends[len(before) : width]))
        path.append(labels)
    return [labels.astype(numpy.int32) for labels in reversed(path)]
