"""Whether small steps give the slope that backward gives, where larger ones have given another one.

A slope from large steps may belong to another piece of a function, such as beyond a kink, or leave out what is finer
than the steps. Before it is called the right one, a function that needs floats is asked at small steps: three
neighbouring ones that agree with backward contradict it. Rounded values also stop moving at small steps. So where
backward gives 0, the function has to move by steps of that size a little farther away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minichainer.verification.directional_derivatives import Along, Derivatives
from minichainer.verification.extrapolation import Curve
from minichainer.verification.measured import Measured
from minichainer.verification.verdict import FAIL, NONDIFFERENTIABLE, NOT_FINITE, PASS

#: So many elements are asked first, and at a time as long as some are confirmed.
_SOME, _MANY = 8, 64

#: The steps; and two among them at which nearly all wrong gradients are still wrong.
_STEPS, _FIRST = tuple(1e-3 / 5.0**k for k in range(14)), (8, 12)
#: The part of the distance between two slopes at which a third one is close to one of them.
_CLOSE = 0.25
#: So many neighbouring steps agree.
_RUN = 3
#: Larger steps, none of which moves a function that is constant there: rounding is finer.
_LARGE = (5e-3, 2.5e-2, 0.125, 0.5, 0.9)
#: Where, in steps, a function that is constant at the point is asked whether it moves, and by which part of the least
#: step of a run.
_AWAY, _BY = (6.0, 40.0, 260.0), 0.25
#: The rounding of values is that of the point up to this distance.
_NEAR = 0.1


def all_confirmed(derivatives: Derivatives, k: int, measured: Sequence[Along], verdicts: Any) -> bool:
    """Whether small steps confirm the slopes of output ``k`` along all directions where backward looks wrong."""
    mine = slice(k, None, len(derivatives.outputs))
    if derivatives.is_local or np.isin(verdicts, (NONDIFFERENTIABLE, NOT_FINITE)).any():
        return False
    for along, row in zip(measured, verdicts, strict=True):
        path, wrong = derivatives.path(along.leaf, along.direction), row != PASS
        if not wrong.any():
            continue
        agree = agree_at_small_steps(path, along.analytic, along.found.value, derivatives.precision)
        if not agree[mine][wrong].all():
            return False
    return True


def confirm_elements(derivatives: Derivatives, i: int, k: int, draw: int, found: Measured, own: Any) -> None:
    """Takes elements for right whose gradients small steps confirm; of many, some tell whether to ask for more.

    Args:
        derivatives: The numeric side.
        i: Position of the leaf.
        k: Which of the checked outputs.
        draw: The draw of upstream gradients.
        found: Measured elements; verdicts are changed.
        own: The size of each of them.
    """
    if derivatives.is_local:
        return
    wrong = np.flatnonzero(found.verdict == FAIL)
    for again in np.split(wrong, range(_SOME, len(wrong), _MANY)):
        right = _confirmed(derivatives, i, draw * len(derivatives.outputs) + k, found, own, again)
        if not right.any():
            return
        found.verdict[again[right]] = PASS


def _confirmed(derivatives: Derivatives, i: int, column: int, found: Measured, own: Any, again: Any) -> Any:
    """Which of some elements small steps confirm, each moved alone."""
    if not again.size:
        return np.zeros(0, bool)
    curve = derivatives.element_curve(i, found.elements[again], own[again])

    def of_this_draw(t: float) -> tuple[Any, Any]:
        values, sizes = (a.reshape(len(again), -1)[:, column] for a in curve(t))
        return values, sizes

    analytic, numeric = (field[again] * own[again] for field in (found.analytic, found.numeric))
    return agree_at_small_steps(of_this_draw, analytic, numeric, derivatives.precision)


def agree_at_small_steps(curve: Curve, analytic: Any, claimed: Any, precision: float) -> Any:
    """Where small steps give the slopes of backward and not those that were claimed.

    Args:
        curve: As in :func:`.slopes`.
        analytic: The slopes from backward, of shape (m,).
        claimed: Those that larger steps have given.
        precision: Machine epsilon; a step at which rounding hides what was claimed shows nothing.
    """
    with np.errstate(all='ignore'):
        allowed = _CLOSE * abs(np.asarray(claimed) - analytic)
        differences = {k: difference(curve, _STEPS[k], precision) for k in _FIRST}
        if all((abs(d - claimed) <= allowed).all() for d, _, _ in differences.values()):
            return np.zeros(np.shape(analytic), bool)
        for k in set(range(len(_STEPS))).difference(_FIRST):
            differences[k] = difference(curve, _STEPS[k], precision)
        rows = [differences[k] for k in range(len(_STEPS))]
        near = [(abs(d - analytic) <= allowed) & (abs(bend) <= 2 * allowed) for d, bend, _ in rows]
        close = np.stack([right & (lost <= allowed) for right, (_, _, lost) in zip(near, rows, strict=True)])
    runs = np.stack([close[k : k + _RUN].all(axis=0) for k in range(len(_STEPS) - _RUN + 1)])
    found = runs.any(axis=0) & (allowed > 0)
    still = found & np.stack([d == 0 for d, _, _ in rows])[-_RUN:].all(axis=0)
    return found & ~still | still & (_is_flat(curve) | _moves_away(curve, runs)) if still.any() else found


def difference(curve: Curve, t: float, precision: float) -> tuple[Any, Any, Any]:
    """The central difference, by how much the one-sided ones differ, and what rounding may hide of it."""
    (above, size), (below, _) = ([np.asarray(a, float) for a in curve(sign * t)] for sign in (1, -1))
    return (above - below) / (2 * t), (above + below) / t, 4 * precision * size / t


def _is_flat(curve: Curve) -> Any:
    """Where no large step moves the function."""
    rows = [np.asarray(curve(sign * t)[0], float) == 0 for t in _LARGE for sign in (1, -1)]
    return np.all(rows, axis=0)


def _moves_away(curve: Curve, runs: Any) -> Any:
    """Where a function that the first step of a run does not move is moved by a part of it somewhere near."""
    moves, first = np.zeros(runs.shape[1:], bool), np.argmax(runs, axis=0)
    for k in np.unique(first).tolist():
        step, least = _STEPS[k], _BY * _STEPS[k + _RUN - 1]
        for z in (sign * away * step for away in _AWAY if away * step <= _NEAR for sign in (1, -1)):
            here = np.asarray(curve(z)[0], float)
            beside = [np.asarray(curve(z + by)[0], float) for by in (least, -least)]
            moves |= np.all([b != here for b in beside], axis=0) & (first == k)
    return moves
