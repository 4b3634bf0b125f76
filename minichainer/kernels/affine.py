"""The product of rows with transposed weights, plus a bias, on matrices.

For few rows of float32 OpenBLAS takes up to twice as long to lay out the transposed weights for this product as
it does for the product of the weights with the transposed rows, where the factors stand the other way round. The bias
is then added on the way back to rows.
"""

from __future__ import annotations

from typing import Any

import numpy

_ndarray, _empty, _add = numpy.ndarray, numpy.empty, numpy.add
_float32 = numpy.dtype('f')
#: Numbers of rows, of columns, and of elements of the weights for which the other order is faster.
_ROWS, _COLUMNS, _ELEMENTS = range(4, 129), 128, 1 << 15
#: How many times as long as their number the rows must be.
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
