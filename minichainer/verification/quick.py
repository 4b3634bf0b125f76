"""The common case at little cost: backward agrees with the first few differences to ten digits.

An agreement so close is its own proof, whatever the error of the difference may be; a disagreement proves
nothing, and the ladder with its error estimate goes on from the same samples. Plain Python numbers, for
there are only a few, and NumPy would spend more on each than the function that is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

_RATIO = 4.0
_RUNGS = 3
#: A second difference shrinks by 4 from rung to rung where the function is smooth, and stays at a kink.
_SHRINKS = 0.4
_SHARP = 1e-4


def agrees(
    curve: Callable[[float], tuple[Any, Any]],
    analytic: Sequence[float],
    noise: Sequence[float],
    slack: Sequence[float],
    size: Sequence[float],
    precision: float,
    start: float,
) -> bool:
    """Whether the slopes at 0 of m functions that vanish there are ``analytic``.

    Args:
        curve: Takes ``t`` to the m values, and something else.
        analytic: The slopes that backward gives.
        noise: Rounding errors of single values.
        slack: Differences of slopes that count as agreement.
        size: What slopes are large; where rounding errors are not far below it, agreement proves nothing.
        precision: Machine epsilon, for the rounding errors of large changes.
        start: The largest step.

    >>> import numpy as np
    >>> sine = lambda t: (np.array([np.sin(1 + t) - np.sin(1)]), None)
    >>> agrees(sine, [np.cos(1)], [1e-16], [1e-10], [1.0], 2.0 ** -52, 1e-2)
    True
    >>> agrees(sine, [np.cos(1) + 1e-7], [1e-16], [1e-10], [1.0], 2.0 ** -52, 1e-2)
    False
    """
    rows: list[list[float]] = [[] for _ in analytic]
    bends = [float('inf')] * len(analytic)
    for rung in range(_RUNGS):
        t = start / _RATIO**rung
        above, below = curve(t)[0].tolist(), curve(-t)[0].tolist()
        good = 0
        for m, (a, b) in enumerate(zip(above, below, strict=True)):
            rounding = 8 * (noise[m] + 4 * precision * (abs(a) + abs(b))) / t
            rows[m] = _extrapolated(rows[m], (a - b) / (2 * t))
            bend, before, bends[m] = abs(a + b) / t, bends[m], abs(a + b) / t
            smooth = bend <= rounding or (rung > 0 and bend <= _SHRINKS * before)
            sharp = rounding <= _SHARP * max(size[m], abs(rows[m][-1]))
            good += sharp and smooth and abs(rows[m][-1] - analytic[m]) <= rounding + slack[m]
        if good == len(rows):
            return True
    return False


def _extrapolated(coarser: list[float], difference: float) -> list[float]:
    """The next row of Neville's table in powers of the squared step."""
    row = [difference]
    for order, value in enumerate(coarser, start=1):
        row.append(row[-1] + (row[-1] - value) / (_RATIO ** (2 * order) - 1))
    return row
