"""The product of rows with transposed weights, plus a bias.

For few rows of float32, OpenBLAS takes up to twice as long to arrange the transposed weights for this product as
for the product of the weights with the transposed rows. The bias is then added while the result is transposed back
to rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minichainer.kernels._dispatch import kernel
from minichainer.kernels.precision import accumulator

_ndarray, _empty, _add = numpy.ndarray, numpy.empty, numpy.add
_float32 = numpy.dtype('f')
#: Numbers of rows, columns and elements of the weights for which the other order is faster.
_ROWS, _COLUMNS, _ELEMENTS = range(4, 129), 128, 1 << 15
#: The minimum ratio of the length of the rows to their number.
_LONGER = 4


def affine(x: Any, W: Any, b: Any = None) -> Any:
    """Rows times transposed weights, plus the bias; the plain form is :func:`affine_reference`.

    Args:
        x: rows (N, D).
        W: weights (M, D) of x's dtype.
        b: array (M,) of x's dtype, or None.

    Returns:
        C-contiguous array (N, M).
    """
    if x.dtype is _float32 and W.size >= _ELEMENTS and len(x) in _ROWS and type(x) is _ndarray:
        columns, depth = W.shape
        if columns >= _COLUMNS and depth >= _LONGER * len(x):
            y = _empty((len(x), columns), _float32)
            if b is None:
                y[...] = W.dot(x.T).T
                return y
            return _add(W.dot(x.T).T, b, out=y)
    y = x.dot(W.T)
    if b is not None:
        y += b
    return y


def affine_reference(x: Any, W: Any, b: Any = None) -> Any:
    """The plain form of :func:`affine`."""
    y = x @ W.T
    return y if b is None else y + b


def add_products(total: Any, lefts: Sequence[Any], rights: Sequence[Any]) -> None:
    """Adds ``left.T @ right`` of all pairs to a NumPy array, as one product of all their rows."""
    if len(lefts) == 1:
        total += lefts[0].T.dot(rights[0])
    else:
        total += numpy.concatenate(lefts).T.dot(numpy.concatenate(rights))


#: Rows of ones by dtype and length.
_ones: dict[Any, dict[int, Any]] = {numpy.dtype('f'): {}, numpy.dtype('d'): {}}


@kernel
def sum_of_rows(xp: Any, matrix: Any) -> Any:
    """The sum over the first axis."""
    return matrix.sum(axis=0, dtype=accumulator(matrix.dtype)).astype(matrix.dtype, copy=False)


@sum_of_rows.on('numpy')
def _sum_of_rows_numpy(xp: Any, matrix: Any) -> Any:
    # As a product with a row of ones, which BLAS does three times faster.
    rows = _ones.get(matrix.dtype)
    if rows is None:
        return sum_of_rows.generic(xp, matrix)
    ones = rows.get(len(matrix))
    if ones is None:
        if len(rows) >= 64:  # there are few batch sizes; other sizes may be many
            rows.clear()
        ones = rows[len(matrix)] = numpy.ones(len(matrix), matrix.dtype)
    return ones.dot(matrix)
