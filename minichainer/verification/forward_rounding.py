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
    measured = [measured_noise(curve, s) for s in sorted(scales)]
    quantum = np.zeros_like(plateau) if nearby else _quantum(derivatives, i, along.direction)
    return np.max([plateau, quantum, *measured], axis=0)


def _quantum(derivatives: Derivatives, i: int, direction: Any) -> Any:
    """Rounding errors from the smallest possible change of each output element.

    Differences of larger numbers are multiples of the rounding of those numbers. The step grows until an element
    changes for the first time; jumps of the function itself are much larger.
    """
    line, limit = derivatives.line(i, direction), _LARGEST_QUANTUM * max(1.0, largest(derivatives.arrays[i]))
    flat = [_flat(y) for y in derivatives.values]
    quanta = [get_array_module(y).zeros_like(y) for y in flat]
    arrays, first = list(derivatives.arrays), 0.0
    for level in reversed(range(_QUANTUM_LEVELS)):
        step = 1e-2 / 4**level
        arrays[i] = moved(line, step)
        outputs = derivatives.order_check.function.outputs(arrays)
        for k, o in enumerate(derivatives.outputs):
            change = abs(_flat(outputs[o]) - flat[k])
            first = first or (step if bool(change.any()) else 0.0)
            quanta[k] += (quanta[k] == 0) * change
    share = 3.0
    if first and is_staircase(derivatives.path(i, direction), first).any():
        limit, share = limit * _LARGEST_STAIR, 0.5  # what rounding to the nearest changes at most
    quanta = [q * (q <= limit + limit * abs(y)) for q, y in zip(quanta, flat, strict=True)]
    return share * np.array([norm(_flat(derivatives.upstream[d][k]) * quanta[k]) for d, k in derivatives.pairs])


def _flat(array: Any) -> Any:
    return array.astype(np.float64, copy=False).ravel()
