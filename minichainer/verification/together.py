"""Moves all leaves at once: the first and cheapest test, which can only confirm that gradients are right.

If backward agrees with the slopes to the tenth digit of the *smallest* part, it is right for every leaf: with
independent random directions the errors of two leaves cannot cancel. Any other result proves nothing, and every leaf
is measured alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minichainer.verification.ladder import first_step
from minichainer.verification.paths import Path
from minichainer.verification.quick import agrees
from minichainer.verification.screen import Screen


def all_agree(screen: Screen, directions: Mapping[int, Sequence[Any]]) -> bool:
    """Whether backward agrees for all leaves at once.

    Args:
        screen: The numeric side.
        directions: The directions of each leaf; the first ones form one direction of all leaves, and so on.
    """
    possible = len(directions) > 1 and not screen.is_local and screen.point.options.eps is None
    if not possible or screen.point.broken:
        return False
    rows = zip(*directions.values(), strict=True)
    return all(_agree(screen, dict(zip(directions, row, strict=True))) for row in rows)


def _agree(screen: Screen, row: Mapping[int, Any]) -> bool:
    """Whether backward agrees along one direction of all leaves."""
    found = [screen.expected(i, direction) for i, direction in row.items()]
    analytic = [sum(slopes) for slopes in zip(*(f[0] for f in found), strict=True)]
    sizes = [min(size) for size in zip(*(f[1] for f in found), strict=True)]
    if not all(sizes):
        return False
    base: Any = sum(screen.base(i) for i in row)
    path = Path(screen, {i: screen.line(i, direction) for i, direction in row.items()}, base)
    noise = (4 * screen.precision * base).tolist()
    slack = [screen.slack * size for size in sizes]
    return agrees(path.values, analytic, noise, slack, sizes, screen.precision, first_step(screen.precision), True)
