"""Rows of the kernels that are not elementwise: arguments, and the plain form that they are compared with."""

from __future__ import annotations

from tests.kernels import rows_axes, rows_factors, rows_layers, rows_matrices, rows_normalization, rows_windows

ROWS = {
    **rows_windows.ROWS,
    **rows_axes.ROWS,
    **rows_matrices.ROWS,
    **rows_factors.ROWS,
    **rows_layers.ROWS,
    **rows_normalization.ROWS,
}
