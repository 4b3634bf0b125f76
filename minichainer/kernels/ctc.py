"""Connectionist temporal classification: sums over all alignments in the log domain.

An alignment is a path through the states of a sequence: its labels, with a blank before, between and after them. At
each time step it stays in its state, moves to the next one, or skips a blank between two different labels.
"""

from __future__ import annotations

import math
from collections.abc import Container
from typing import Any, NamedTuple

import numpy

from minichainer._native.library import by_width
from minichainer._native.library import kernels as native
from minichainer.kernels._dispatch import DECLINED, kernel

#: Used in place of minus infinity, because infinities cannot be subtracted.
_SMALL = -1e30


class Alignments(NamedTuple):
    """Which alignments are allowed.

    Args:
        path: the label of each state, int64 array (B, S) with S = 2M + 1.
        may_skip: whether a state can be reached from two states before it, bool array (B, S).
        is_last: whether an alignment may end in a state, bool array (B, S).
        lengths: number of time steps of each sequence, int64 array (B,).
    """

    path: Any
    may_skip: Any
    is_last: Any
    lengths: Any


@kernel
def alignments(xp: Any, labels: Any, label_lengths: Any, input_lengths: Any, blank: int) -> Alignments:
    """The states of label sequences, and the transitions between them.

    Args:
        xp: numpy or cupy.
        labels: int array (B, M); elements beyond a sequence's length are treated as blanks.
        label_lengths: int64 array (B,).
        input_lengths: int64 array (B,).
        blank: the label that means none.
    """
    batch, count = labels.shape
    valid = xp.arange(count) < label_lengths[:, None]
    path = xp.full((batch, 2 * count + 1), blank, 'q')
    path[:, 1::2] = xp.where(valid, labels, blank)
    may_skip = xp.zeros(path.shape, '?')
    may_skip[:, 2:] = path[:, 2:] != path[:, :-2]
    # The label or blank of each state is the last one of a sequence of so many labels.
    is_last = xp.arange(1, path.shape[1] + 1) // 2 == label_lengths[:, None]
    return Alignments(path, may_skip, is_last, input_lengths)


@alignments.on_native
def _alignments_native(xp: Any, labels: Any, label_lengths: Any, input_lengths: Any, blank: int) -> Any:
    batch, count = labels.shape
    shape = batch, 2 * count + 1
    path, may_skip, is_last = numpy.empty(shape, 'q'), numpy.empty(shape, '?'), numpy.empty(shape, '?')
    done = native.ctc_alignments(*by_width(labels), label_lengths, path, may_skip, is_last, batch, count, blank)
    return Alignments(path, may_skip, is_last, input_lengths) if done else DECLINED


class _States:
    """The states of all sequences at one time step, padded with minus infinity."""

    def __init__(self, xp: Any, ways: Alignments, dtype: Any, forth: bool) -> None:
        batch, count = ways.path.shape
        self.xp = xp
        self._all = xp.full((batch, count + 2), -math.inf, dtype)
        here = slice(2, None) if forth else slice(None, -2)
        far = slice(None, -2) if forth else slice(2, None)
        self.here, self._near, self._far = self._all[:, here], self._all[:, 1:-1], self._all[:, far]
        self._bars = xp.full((batch, count), -math.inf, dtype)
        skips = self._bars if forth else self._bars[:, :-2]
        skips[ways.may_skip if forth else ways.may_skip[:, 2:]] = 0

    def log_sums(self) -> Any:
        """For each state, the log of the sum over its predecessors, or over its successors going backward."""
        near = self.xp.logaddexp(self.here, self._near)
        return self.xp.logaddexp(near, self._far + self._bars, out=near)


@kernel
def forward(xp: Any, log_p: Any, ways: Alignments) -> tuple[Any, Any]:
    """Log-likelihoods, and the sums over all prefixes of alignments.

    Args:
        xp: numpy or cupy.
        log_p: log-probabilities, array (T, B, V) of float32 or float64.
        ways: the alignments.

    Returns:
        The log-likelihoods (B,), minus infinity where no alignment fits; and, for each time step and state, the
            logarithm of the sum over prefixes that end there (T, B, S), minus the largest of the time step: only
            differences matter, and this way they keep their digits in long sequences.
    """
    sums = _emissions(xp, log_p, ways)
    states = _States(xp, ways, log_p.dtype, forth=True)
    states.here[:, :2] = sums[0, :, :2]
    offsets = xp.zeros((log_p.shape[1], 1))
    shortest = _shortest(xp, ways.lengths)
    for t in range(len(log_p)):
        if t:
            totals = states.log_sums() + sums[t]
            states.here[...] = totals if t < shortest else xp.where((t < ways.lengths)[:, None], totals, states.here)
        top = _largest(xp, states.here)
        offsets += top
        states.here[...] -= top
        sums[t] = states.here
    state, no_way = states.here, xp.asarray(-math.inf, log_p.dtype)
    ends = _log_of_sums(xp, xp.where(ways.is_last, state, no_way))
    likelihoods = (ends + offsets[:, 0]).astype(log_p.dtype)
    without_labels = ways.is_last[:, 0]
    nothing = xp.where(without_labels, xp.zeros((), log_p.dtype), no_way)
    return xp.where(ways.lengths == 0, nothing, likelihoods), sums


@forward.on_native
def _forward_native(xp: Any, log_p: Any, ways: Alignments) -> Any:
    sizes = _sizes(log_p, ways)
    if sizes is None:
        return DECLINED
    steps, batch, _, states = sizes
    likelihoods, sums, scratch = [
        numpy.empty(s, log_p.dtype) for s in (batch, (steps, batch, states), 3 * states + 2)
    ]
    done = native.ctc_forward(log_p, *ways, likelihoods, sums, scratch, *sizes)
    return (likelihoods, sums) if done else DECLINED


def _sizes(log_p: Any, ways: Alignments) -> tuple[int, ...] | None:
    """Steps, batch, classes and states; None if there is nothing to compute, or the arrays do not fit."""
    path, (steps, batch, classes) = ways.path, log_p.shape
    return (steps, batch, classes, path.shape[1]) if len(path) == batch and steps and path.size else None


def _log_of_sums(xp: Any, x: Any) -> Any:
    """``logaddexp.reduce(x, axis=1)``, which CuPy does not have."""
    while x.shape[1] > 1:
        half = x.shape[1] // 2
        x = xp.concatenate([xp.logaddexp(x[:, :half], x[:, half : 2 * half]), x[:, 2 * half :]], axis=1)
    return x[:, 0]


@kernel
def _shortest(xp: Any, lengths: Any) -> int:
    """A number of time steps that no sequence is below; 0 on a GPU, to avoid a synchronization."""
    return 0


@_shortest.on('numpy')
def _shortest_numpy(xp: Any, lengths: Any) -> int:
    return int(lengths.min()) if len(lengths) else 0


@kernel
def _ends(xp: Any, lengths: Any, steps: int) -> Container[int]:
    """The time steps at which a sequence may end; all of them on a GPU, to avoid a synchronization."""
    return range(steps)


@_ends.on('numpy')
def _ends_numpy(xp: Any, lengths: Any, steps: int) -> Container[int]:
    return set((lengths - 1).tolist())


def _largest(xp: Any, sums: Any) -> Any:
    """The maximum along the last axis, with keepdims; finite where all elements are minus infinity."""
    return xp.maximum(sums.max(axis=-1, keepdims=True), _SMALL)


def _emissions(xp: Any, log_p: Any, ways: Alignments) -> Any:
    """The log-probability of each state's label at each time step, (T, B, S)."""
    path = xp.broadcast_to(ways.path, (len(log_p), *ways.path.shape))
    return xp.take_along_axis(log_p, path, axis=2)


@kernel
def gradient(xp: Any, log_p: Any, ways: Alignments, likelihoods: Any, sums: Any) -> Any:
    """The gradient of the negative log-likelihoods with respect to the inputs of softmax.

    Args:
        xp: numpy or cupy.
        log_p: as in :func:`forward`.
        ways: as in :func:`forward`.
        likelihoods: returned by :func:`forward`.
        sums: returned by :func:`forward`.

    Returns:
        Array (T, B, V); zeros beyond a sequence's length, and where no alignment fits.
    """
    fits = xp.isfinite(likelihoods)
    occupied = sums + _endings(xp, log_p, ways)
    active = ((xp.arange(len(log_p))[:, None] < ways.lengths) & (fits | xp.isnan(likelihoods)))[:, :, None]
    shares = xp.exp(occupied - _largest(xp, occupied))
    total = shares.sum(axis=2, keepdims=True)
    shares /= xp.where(total == 0, xp.ones((), log_p.dtype), total)
    result = xp.exp(log_p)
    rows = xp.arange(log_p.shape[1])
    result[:, rows, ways.path[:, 0]] -= shares[:, :, ::2].sum(axis=2)
    for state in range(1, shares.shape[2], 2):
        result[:, rows, ways.path[:, state]] -= shares[:, :, state]
    return xp.where(active, result, xp.zeros((), log_p.dtype))


@gradient.on_native
def _gradient_native(xp: Any, log_p: Any, ways: Alignments, likelihoods: Any, sums: Any) -> Any:
    sizes = _sizes(log_p, ways)
    if sizes is None:
        return DECLINED
    result, scratch = numpy.empty_like(log_p), numpy.empty(4 * sizes[3] + 2, log_p.dtype)
    done = native.ctc_gradient(log_p, *ways, likelihoods, sums, result, scratch, *sizes)
    return result if done else DECLINED


def _endings(xp: Any, log_p: Any, ways: Alignments) -> Any:
    """For each time step and state, the log of the sum over suffixes of alignments, (T, B, S)."""
    emissions = _emissions(xp, log_p, ways)
    sums = xp.empty_like(emissions)
    states = _States(xp, ways, log_p.dtype, forth=False)
    ends = xp.where(ways.is_last, xp.zeros((), log_p.dtype), xp.asarray(-math.inf, log_p.dtype))
    rest = xp.full_like(ends, -math.inf)
    last_steps = _ends(xp, ways.lengths, len(log_p))
    for t in range(len(log_p) - 1, -1, -1):
        sums[t] = xp.where((t == ways.lengths - 1)[:, None], ends, rest) if t in last_steps else rest
        states.here[...] = sums[t] + emissions[t]
        rest = states.log_sums()
        rest -= _largest(xp, rest)
    return sums
