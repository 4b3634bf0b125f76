"""The rounding errors of the function itself, measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.verification.arrays import largest
from minichainer.verification.arrays import silent_norm as norm
from minichainer.verification.directional_derivatives import Along, Derivatives
from minichainer.verification.directions import moved
from minichainer.verification.extrapolation import is_staircase, measured_noise

_QUANTUM_LEVELS = 22
#: Larger changes of values, relative to inputs and outputs, are jumps and not rounding errors.
_LARGEST_QUANTUM = 1e-6
#: By how much more they may be if they show that values are rounded.
_LARGEST_STAIR = 1e4
#: How much farther an element is looked at that has changed, and the part of its change that shows it to be smooth.
_BEYOND, _SMOOTH = (2.0**-6, 2.0**-14), 0.125


def measure_noise(derivatives: Derivatives, i: int, measured: Sequence[Along], nearby: bool = False) -> None:
    """Replaces the estimated rounding errors of leaf ``i`` inside the function by measured ones.

    Args:
        derivatives: The numeric side.
        i: Position of the leaf.
        measured: Slopes, with the steps that count.
        nearby: Whether these steps are much smaller than usual, so that the usual ones are irrelevant.
    """
    if i not in derivatives.noise:
        derivatives.noise[i] = np.max([_noise_along(derivatives, i, along, nearby) for along in measured], axis=0)


def _noise_along(derivatives: Derivatives, i: int, along: Along, nearby: bool) -> Any:
    """Measured rounding errors of the outputs while a leaf moves along a direction."""
    curve = derivatives.path(i, along.direction)
    best = along.found.best[np.isfinite(along.found.best) & along.found.credible]
    scales = {float(best.min()), 4 * float(best.max())} if best.size else set()
    usual = 8 * derivatives.precision * derivatives.base(i)
    plateau = np.where(along.found.noise > usual, along.found.noise, 0.0)
    measured = _least([measured_noise(curve, s) for s in scales])
    quantum = np.zeros_like(plateau) if nearby else _quantum(derivatives, i, along.direction)
    return np.maximum(np.maximum(plateau, quantum), measured)


def _least(measured: Sequence[Any]) -> Any:
    """The least noise that some width shows, 0 for none: rounding is the same at all, what a kink leaves is not."""
    least = np.min([np.where(noise > 0, noise, np.inf) for noise in measured], axis=0) if measured else np.inf
    return np.where(np.isfinite(least), least, 0.0)


def _quantum(derivatives: Derivatives, i: int, direction: Any) -> Any:
    """Rounding errors from the smallest possible change of each output element.

    Differences of larger numbers are multiples of the rounding of those numbers. The step grows until an element
    changes for the first time; jumps of the function itself are much larger. What moves on with the step by less than
    its first change has no quanta of that size: it has come to another piece of the function, such as beyond a kink.
    """
    limit = _LARGEST_QUANTUM * max(1.0, largest(derivatives.arrays[i]))
    flat = [_flat(y) for y in derivatives.values]
    quanta, first = [get_array_module(y).zeros_like(y) for y in flat], 0.0
    smooth = [y != y for y in flat]
    for level in reversed(range(_QUANTUM_LEVELS)):
        step = 1e-2 / 4**level
        moved_to = _outputs_at(derivatives, i, direction, step)
        changes = [abs(z - y) * (q == 0) for z, y, q in zip(moved_to, flat, quanta, strict=True)]
        if any([bool(change.any()) for change in changes]):
            first = first or step
            for part in _BEYOND:
                beyond = _outputs_at(derivatives, i, direction, step * (1 + part))
                for k, change in enumerate(changes):
                    by = abs(beyond[k] - moved_to[k])
                    smooth[k] |= (by > 0) & (by < _SMOOTH * change)
        for k, change in enumerate(changes):
            quanta[k] += change
    share = 3.0
    if first and is_staircase(derivatives.path(i, direction), first).any():
        limit, share = limit * _LARGEST_STAIR, 0.5  # what rounding to the nearest changes at most
    quanta = [q * (~s & (q <= limit + limit * abs(y))) for q, s, y in zip(quanta, smooth, flat, strict=True)]
    return share * np.array([norm(_flat(derivatives.upstream[d][k]) * quanta[k]) for d, k in derivatives.pairs])


def _outputs_at(derivatives: Derivatives, i: int, direction: Any, step: float) -> list[Any]:
    """The outputs as vectors, with a leaf moved."""
    arrays = list(derivatives.arrays)
    arrays[i] = moved(derivatives.line(i, direction), step)
    outputs = derivatives.order_check.function.outputs(arrays)
    return [_flat(outputs[o]) for o in derivatives.outputs]


def _flat(array: Any) -> Any:
    return array.astype(np.float64, copy=False).ravel()


def doubt(along: Along, which: Any = slice(None)) -> float:
    """The largest relative error of slopes, all or some."""
    with np.errstate(all='ignore'):
        ratio = (along.found.error / np.maximum(along.size, abs(along.found.value)))[which]
    return float(np.nan_to_num(ratio).max())
