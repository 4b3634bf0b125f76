"""A quick test for the common case: backward agrees with the first few differences to ten digits.

Such close agreement is proof, whatever the error of the difference is. A disagreement proves nothing: the ladder,
with its error estimate, continues from the same samples. Plain Python numbers are used because there are only a few,
and NumPy would spend more on each than on the function itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

_RATIO = 4.0
_RUNGS = 3
#: A second difference shrinks by 4 per step where the function is smooth, and does not at a kink.
_SHRINKS = 0.4
#: How close to 4 the ratio must be, so that not even a kink that is small against the curvature can hide.
_EXACTLY = 1e-3
_SHARP = 1e-4


def agrees(
    curve: Callable[[float], Any],
    analytic: Sequence[float],
    noise: Sequence[float],
    slack: Sequence[float],
    size: Sequence[float],
    precision: float,
    start: float,
    strict: bool = False,
) -> bool:
    """Whether ``analytic`` are the slopes at 0 of m functions that vanish there.

    Args:
        curve: Maps ``t`` to the m values.
        analytic: The slopes from backward.
        noise: Rounding errors of single values.
        slack: Differences of slopes that count as agreement.
        size: The size of a large slope; agreement proves nothing if rounding errors are nearly as large.
        precision: Machine epsilon, for the rounding errors of large changes.
        start: The largest step.
        strict: Only ``size`` decides which slopes are large, and second differences must shrink exactly as
            those of smooth functions do. Then a small part of the slope and curvature is not hidden by the rest.

    >>> import numpy as np
    >>> sine = lambda t: np.array([np.sin(1 + t) - np.sin(1)])
    >>> agrees(sine, [np.cos(1)], [1e-16], [1e-10], [1.0], 2.0 ** -52, 1e-2)
    True
    >>> agrees(sine, [np.cos(1) + 1e-7], [1e-16], [1e-10], [1.0], 2.0 ** -52, 1e-2)
    False
    """
    rows: list[list[float]] = [[] for _ in analytic]
    bends = [float('inf')] * len(analytic)
    for rung in range(_RUNGS):
        t = start / _RATIO**rung
        above, below = curve(t).tolist(), curve(-t).tolist()
        good = 0
        for m, (a, b) in enumerate(zip(above, below, strict=True)):
            rounding = 8 * (noise[m] + 4 * precision * (abs(a) + abs(b))) / t
            rows[m] = _extrapolated(rows[m], (a - b) / (2 * t))
            bend, before, bends[m] = abs(a + b) / t, bends[m], abs(a + b) / t
            smooth = bend <= rounding or (rung > 0 and _shrinks(bend, before, rounding, strict))
            sharp = rounding <= _SHARP * (size[m] if strict else max(size[m], abs(rows[m][-1])))
            good += sharp and smooth and abs(rows[m][-1] - analytic[m]) <= rounding + slack[m]
        if good == len(rows):
            return True
    return False


def _shrinks(bend: float, before: float, rounding: float, strict: bool) -> bool:
    if strict:
        return abs(bend - before / _RATIO) <= _EXACTLY * before + rounding
    return bend <= _SHRINKS * before


def _extrapolated(coarser: list[float], difference: float) -> list[float]:
    """The next row of Neville's table in powers of the squared step."""
    row = [difference]
    for order, value in enumerate(coarser, start=1):
        row.append(row[-1] + (row[-1] - value) / (_RATIO ** (2 * order) - 1))
    return row
