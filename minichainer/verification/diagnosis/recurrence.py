"""Whether the gradient of a recurrence is cut off: it does not go back as many steps as the function does."""

from __future__ import annotations

from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.verification.diagnosis.evidence import Cause
from minichainer.verification.diagnosis.experiments import CLOSE, Experiments, Unmeasurable, dot


def truncated_cause(e: Experiments) -> Cause | None:
    """The cause if the gradient is right except for what earlier steps contribute.

    A weight or an initial state has no axis of steps of its own: for these, another input must be cut off, or the
    steps of the output tell.
    """
    if not e.possible:
        return None
    others = [e.of(j) for j in e.derivatives.order_check.function.moving if j != e.i]
    causes = (_cut(one) for one in (e, *others) if one.possible)
    found = next((cause for cause in causes if cause is not None), None)
    return found or next((cause for other in others if (cause := _cut_for_later_outputs(e, other))), None)


def _cut(e: Experiments) -> Cause | None:
    """The cause for a leaf with an axis of steps."""
    try:
        for q in e.axes(of_output=False):
            for p in e.axes(of_output=True):
                if e.y.shape[p] == e.x.shape[q] > 2:
                    text = _cut_between(*_between(e, p, q))
                    if text:
                        return Cause('truncated', f'{text} of axis {q}')
        return _cut_before(e)
    except Unmeasurable:
        return None


def _cut_for_later_outputs(e: Experiments, other: Experiments) -> Cause | None:
    """The cause where the first outputs of a recurrence over another leaf are right, and no later one."""
    try:
        for q in other.axes(of_output=False):
            for p in other.axes(of_output=True):
                if e.y.shape[p] != other.x.shape[q] or not _is_recurrence(*_between(other, p, q)):
                    continue
                gys, found = e.across(p)
                right = np.array([[dot(gy, jd) for jd in e.tangents] for gy in gys])
                given = np.array([[dot(g, d) for d in e.directions] for g in found])
                wrong = (abs(right - given) > CLOSE * abs(right).max(initial=0)).any(axis=1)
                first = int(np.argmax(wrong))
                if first > 1 and wrong[first:].all():
                    text = f'the gradient is right for outputs before index {first} of axis {p}, and for no later one'
                    return Cause('truncated', f'{text}: it goes back too few steps')
    except Unmeasurable:
        pass
    return None


def _is_recurrence(right: Any, given: Any) -> bool:
    """Whether outputs depend on all inputs before them, and on none after; and whether backward agrees."""
    scale = CLOSE * abs(right).max(initial=0)
    causal = not np.triu(abs(right) > scale, 1).any() and bool(
        (abs(right) > scale)[np.tril_indices(len(right))].all()
    )
    return len(right) > 2 and causal and bool((abs(right - given) <= scale).all())


def _between(e: Experiments, p: int, q: int) -> tuple[Any, Any]:
    """For each step of the output and of the leaf the contribution to the gradient: the right one, and backward's."""
    directions, tangents = e.along(q)
    gys, found = e.across(p)
    right = np.array([[dot(gy, jd) for jd in tangents] for gy in gys])
    return right, np.array([[dot(g, d) for d in directions] for g in found])


def _cut_between(right: Any, given: Any) -> str:
    """Between which steps no gradient gets through; empty if something else is wrong.

    >>> right = np.tril(np.ones((4, 4)))
    >>> _cut_between(right, np.eye(4))
    'the gradient does not go back from any step to the one before'
    >>> _cut_between(right, np.tril(np.triu(right, -2)))
    'the gradient goes back 2 steps only, in backward, from each index'
    """
    scale = CLOSE * abs(right).max(initial=0)
    needed = abs(right) > scale
    if not np.triu(needed, 1).any():
        lost = abs(given) <= scale
    elif not np.tril(needed, -1).any():
        right, given, needed = right[::-1, ::-1], given[::-1, ::-1], needed[::-1, ::-1]
        lost = abs(given) <= scale
    else:
        return ''
    wrong = abs(right - given) > scale
    lost &= needed
    if not wrong.any() or (wrong != lost).any() or wrong.diagonal().any() or not _for_good(lost, needed):
        return ''
    return _words(lost, needed)


def _for_good(lost: Any, needed: Any) -> bool:
    """Whether what is lost on the way from one step to an earlier one does not get to still earlier ones either."""
    return all(not (needed & ~lost)[t:, : s + 1].any() for t, s in np.argwhere(lost))


def _words(lost: Any, needed: Any) -> str:
    n = len(lost)
    ages = np.subtract.outer(np.arange(n), np.arange(n))
    cuts = [t for t in range(1, n) if lost[t, t - 1]]
    if len(cuts) == n - 1:
        return 'the gradient does not go back from any step to the one before'
    oldest = int(ages[lost].min())
    if (lost == (needed & (ages >= oldest))).all():
        return f'the gradient goes back {oldest - 1} steps only, in backward, from each index'
    if cuts:
        places = ' and '.join(f'from index {t} to {t - 1}' for t in cuts[:4]) + (', ...' if len(cuts) > 4 else '')
        return f'the gradient does not go back {places}'
    return 'the gradient does not go back far enough, in backward, from some indices'


def _cut_before(e: Experiments) -> Cause | None:
    """The cause where only the last state is an output: the gradient is zero before a step, and then right."""
    for axis in e.axes(of_output=False):
        directions, tangents = e.along(axis)
        given = np.array([[dot(g, d) for g in e.given] for d in directions])
        right = np.array([[dot(gy, jd) for gy in e.upstream] for jd in tangents])
        scale = CLOSE * abs(right).max(initial=0)
        wrong = (abs(given - right) > scale).any(axis=1)
        zero = (abs(given) <= scale).all(axis=1)
        first = int(np.argmin(zero))
        if (wrong == zero).all() and 1 < first < len(zero) and zero.sum() == first and _takes_turns(e, axis):
            return Cause('truncated', f'there is no gradient before index {first} of axis {axis}')
    return None


def _takes_turns(e: Experiments, axis: int) -> bool:
    """Whether the function works through an axis of any length, and its result depends on the order."""
    xp = get_array_module(e.derivatives.arrays[e.i])
    arrays = list(e.derivatives.arrays)
    arrays[e.i] = xp.flip(arrays[e.i], axis).copy()
    other = e.accepts(arrays)
    if other is None or other.shape != e.y.shape or bool((abs(other - e.y) <= CLOSE * abs(e.y).max()).all()):
        return False
    arrays[e.i] = xp.take(e.derivatives.arrays[e.i], xp.arange(1, e.x.shape[axis]), axis)
    shorter = e.accepts(arrays)
    return shorter is not None and shorter.shape == e.y.shape
