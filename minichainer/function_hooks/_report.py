"""Tables of what a hook measured."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any


def name_of(function: Any) -> str:
    """The name of a function's class, under which hooks sum."""
    creator = function._as_creator()
    return getattr(creator, '_impl_name', type(creator).__name__)


def choose_unit(amounts: Mapping[str, float]) -> str:
    """The first unit in which an amount is at least one; the last unit if there is none.

    Args:
        amounts: the amount in each unit, from the largest unit to the smallest.
    """
    return next((unit for unit, amount in amounts.items() if amount >= 1), list(amounts)[-1])


def check_unit(hook: str, unit: str, units: Sequence[str]) -> None:
    """Raises ValueError unless ``unit`` is one for a report."""
    if unit not in (*units, 'auto', 'auto_foreach'):
        raise ValueError(f"{hook}: unit must be 'auto', 'auto_foreach' or one of {', '.join(units)}, got {unit!r}")


def print_table(columns: Mapping[str, Sequence[str]], file: Any) -> None:
    """Prints columns, aligned to the right, below their headings.

    Args:
        columns: the cells of each column by heading.
        file: a text file; None for standard output.
    """
    cells = [[heading, *column] for heading, column in columns.items()]
    widths = [max(map(len, column)) for column in cells]
    for row in zip(*cells, strict=True):
        padded = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        print('  '.join(padded), file=sys.stdout if file is None else file)
