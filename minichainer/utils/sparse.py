"""Sparse matrices in coordinate format, for :func:`minichainer.functions.sparse_matmul`."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer._checks import native
from minichainer.backend import get_array_module
from minichainer.variable import Variable

_ORDERS = ('C', 'F', 'other', None)


class CooMatrix:
    """A sparse matrix, or a batch of them, as values with row and column numbers.

    Args:
        data: values, of shape (entries,) or (batch, entries).
        row: row numbers, of the same shape; -1 marks an entry that is not there, with value 0.
        col: column numbers, of the same shape.
        shape: shape of one matrix.
        order: ``'C'`` if entries are sorted by row and then by column, ``'F'`` if by column and then by row,
            ``'other'`` if by neither; None to find out.
        requires_grad: whether ``data`` takes part in backpropagation.

    >>> import numpy as np, minichainer as chainer
    >>> x = chainer.utils.CooMatrix(np.array([2.0, 3.0]), np.array([0, 1]), np.array([1, 0]), (2, 2))
    >>> x.to_dense()
    array([[0., 2.],
           [3., 0.]])
    """

    def __init__(
        self, data: Any, row: Any, col: Any, shape: Any, order: str | None = None, requires_grad: bool = False
    ) -> None:
        _check(data, row, col, shape, order)
        row, col = native(row), native(col)
        self.data = Variable(data, requires_grad=requires_grad)
        self.row = row
        self.col = col
        self.shape = shape
        self.order = get_order(row, col) if order is None else order

    def to_dense(self) -> Any:
        """The matrix as a dense array, or the batch; duplicate entries are added."""
        data = self.data.array
        xp = get_array_module(data)
        batch = data.shape[:-1]
        dense = xp.zeros((*batch, *self.shape), data.dtype)
        index = [xp.broadcast_to(xp.arange(n)[:, None], data.shape) for n in batch]
        there = self.row >= 0
        xp.add.at(dense, tuple([i[there] for i in (*index, self.row, self.col)]), data[there])
        return dense


def _check(data: Any, row: Any, col: Any, shape: Any, order: str | None) -> None:
    shapes: list[Any] = [getattr(array, 'shape', None) for array in (data, row, col)]
    if not hasattr(shape, '__len__') or len(shape) != 2 or not all(hasattr(size, '__index__') for size in shape):
        raise ValueError(f'CooMatrix: expected the shape of one matrix, two sizes, got {shape}')
    if None in shapes or len(shapes[0]) not in (1, 2) or len(set(shapes)) > 1:
        raise ValueError(
            'CooMatrix: expected data, row and col to be arrays of one shape, (entries,) or '
            f'(batch, entries), got {", ".join(map(str, shapes))}'
        )
    for name, numbers in (('row', row), ('column', col)):
        if numbers.dtype.kind == 'b':
            raise TypeError(f'CooMatrix: expected int {name} numbers, got bool')
    if order not in _ORDERS:
        raise ValueError(f"CooMatrix: expected order 'C', 'F', 'other' or None, got {order!r}")


def get_order(row: Any, col: Any) -> str:
    """The order of the entries of a sparse matrix.

    Args:
        row: row numbers, of shape (entries,) or (batch, entries); -1 marks an entry that is not there.
        col: column numbers, of the same shape.

    Returns:
        ``'C'`` by row and then by column, ``'F'`` by column and then by row, ``'other'`` by neither.

    Raises:
        ValueError: the shapes differ, or an entry has only one of its numbers.

    >>> import numpy as np
    >>> from minichainer import utils
    >>> utils.get_order(np.array([0, 0, 1]), np.array([0, 2, 1]))
    'C'
    """
    if row.shape != col.shape:
        raise ValueError(f'get_order: shape of row and col must be the same, got {row.shape} and {col.shape}')
    if bool(((row < 0) != (col < 0)).any()):
        raise ValueError('get_order: -1 marks absent entries in both row and col, got entries with one of the two')
    if _is_sorted(row, col):
        return 'C'
    return 'F' if _is_sorted(col, row) else 'other'


def _is_sorted(first: Any, second: Any) -> bool:
    """Whether the entries that are there are sorted by the first, and then by the second."""
    if first.ndim > 1:
        return all(map(_is_sorted, first, second))
    first, second = first[first >= 0], second[first >= 0]
    step, step2 = first[1:] - first[:-1], second[1:] - second[:-1]
    return bool(((step > 0) | ((step == 0) & (step2 >= 0))).all())


def to_coo(x: Any, ldnz: int | None = None, requires_grad: bool = False) -> CooMatrix:
    """The nonzero entries of a matrix or a batch of matrices.

    Args:
        x: array of shape (rows, columns) or (batch, rows, columns).
        ldnz: the least number of entries to make room for.
        requires_grad: whether the values take part in backpropagation.

    >>> import numpy as np, minichainer as chainer
    >>> chainer.utils.to_coo(np.array([[0, 2], [1, 0]], 'f')).row
    array([0, 1], dtype=int32)
    """
    if getattr(x, 'ndim', None) not in (2, 3):
        raise ValueError(f'to_coo: expected an array of 2 or 3 axes, got {getattr(x, "shape", x)}')
    if hasattr(x, 'array'):
        raise TypeError('to_coo takes arrays: pass the .array of a Variable')
    xp = get_array_module(x)
    stack = x[None] if x.ndim == 2 else x
    batch, row, col = xp.nonzero(stack)
    counts = xp.bincount(batch, minlength=len(stack)) if len(stack) else xp.zeros(0, int)
    room = max([ldnz or 0, *map(int, counts)])
    # Entries are sorted by matrix; the position in a matrix is the index minus that of the matrix's first entry.
    place = xp.arange(batch.size) - (xp.cumsum(counts) - counts)[batch]
    data = xp.zeros((len(stack), room), x.dtype)
    rows, cols = (xp.full((len(stack), room), -1, numpy.int32) for _ in range(2))
    data[batch, place], rows[batch, place], cols[batch, place] = stack[batch, row, col], row, col
    shape = (*x.shape[:-2], room)
    return CooMatrix(data.reshape(shape), rows.reshape(shape), cols.reshape(shape), x.shape[-2:], 'C', requires_grad)
