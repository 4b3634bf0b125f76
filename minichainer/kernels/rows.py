"""Rows of a matrix by number: arrays in, arrays out."""

from __future__ import annotations

from typing import Any

from minichainer.kernels import scattering
from minichainer.kernels._dispatch import kernel


@kernel(widens=True)
def sums_of_rows(xp: Any, rows: Any, ids: Any, count: int) -> Any:
    """The matrix of ``count`` rows, to each of which all rows with its number are added."""
    matrix = xp.zeros((count, rows.shape[1]), rows.dtype)
    xp.add.at(matrix, ids, rows)
    return matrix


@sums_of_rows.on('numpy')
def _sums_of_rows_numpy(xp: Any, rows: Any, ids: Any, count: int) -> Any:
    return scattering.sums_of_rows(rows, ids, count)


@kernel
def range_of(xp: Any, ids: Any) -> tuple[int, int]:
    """The least and the largest number; 0 on a GPU, which would have to be waited for, and where there is none."""
    return 0, 0


@range_of.on('numpy')
def _range_of_numpy(xp: Any, ids: Any) -> tuple[int, int]:
    return (int(ids.min()), int(ids.max())) if ids.size else (0, 0)
