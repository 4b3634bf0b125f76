"""Products of sparse and dense matrices."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer import ops
from minichainer.functions._checks import invalid
from minichainer.functions._define import primitive
from minichainer.functions.array.conversion import cast
from minichainer.utils.sparse import CooMatrix
from minichainer.variable import Variable, as_variable


@primitive(
    rule=(
        lambda m, gy, dense, row, col: m.products_at(gy, dense, row, col),
        lambda m, gy, data, row, col, dense_shape: m.sparse_product(data, gy, col, row, dense_shape[-2]),
    ),
    kinds='f',
    name='CooMatMul',
)
def sparse_product(xp: Any, data: Any, dense: Any, row: Any, col: Any, rows: int) -> Any:
    """``S @ dense`` with ``S[row[e], col[e]] = data[e]``; a batch is a block diagonal matrix."""
    batch, (inner, columns) = dense.shape[:-2], dense.shape[-2:]
    count = len(dense) if batch else 1
    there = (row >= 0) & (col >= 0)
    numbers = xp.arange(count).reshape(count, 1) if batch else xp.arange(1)
    blocks = xp.broadcast_to(numbers, row.shape)[there]
    i, j = blocks * rows + row[there], blocks * inner + col[there]
    wide = xp.promote_types(dense.dtype, 'f')
    flat = dense.reshape(count * inner, columns).astype(wide, copy=False)
    y = _product(xp, data[there].astype(wide, copy=False), i, j, flat, count * rows)
    return y.reshape(*batch, rows, columns).astype(dense.dtype, copy=False)


def _product(xp: Any, values: Any, i: Any, j: Any, dense: Any, rows: int) -> Any:
    if xp is numpy:
        from scipy.sparse import coo_matrix

        return coo_matrix((values, (i, j)), (rows, len(dense))).tocsr() @ dense
    y = xp.zeros((rows, dense.shape[1]), dense.dtype)
    xp.add.at(y, i, values[:, None] * dense[j])
    return y


@primitive(
    rule=(
        lambda m, gy, right, row, col, left_shape: m.sparse_product(gy, right, row, col, left_shape[-2]),
        lambda m, gy, left, row, col, right_shape: m.sparse_product(gy, left, col, row, right_shape[-2]),
    ),
    kinds='f',
    name='CooMatMulGradSP',
)
def products_at(xp: Any, left: Any, right: Any, row: Any, col: Any) -> Any:
    """``(left @ right.T)[row[e], col[e]]`` for each entry e, 0 for those that are not there."""
    there = (row >= 0) & (col >= 0)
    lead = (xp.arange(len(left))[:, None],) if left.ndim == 3 else ()
    wide = 'f' if left.dtype.char == 'e' else None
    at_row, at_column = (*lead, xp.where(there, row, 0)), (*lead, xp.where(there, col, 0))
    found = (left[at_row] * right[at_column]).sum(axis=-1, dtype=wide)
    return xp.where(there, found, xp.zeros((), found.dtype)).astype(left.dtype, copy=False)


def sparse_matmul(a: Any, b: Any, transa: bool = False, transb: bool = False) -> Variable:
    r"""Product of a sparse and a dense matrix, or of batches of them; gradients reach the entries that are there.

    Args:
        a: matrix :math:`(m, k)`, or batch :math:`(B, m, k)`: a :class:`~minichainer.utils.CooMatrix`, or a
            Variable or float array.
        b: matrix :math:`(k, n)` or batch; one of ``a`` and ``b`` is a CooMatrix, the other is none.
        transa: transpose the matrices of ``a``.
        transb: transpose the matrices of ``b``.

    Returns:
        Variable :math:`(m, n)` or :math:`(B, m, n)`, of the wider dtype; float16 is accumulated in float32.

    Raises:
        ValueError: both are sparse, or both dense, or a row or column number is out of range.
        InvalidType: the shapes do not fit, or are not of floats.

    >>> import numpy as np, minichainer as chainer, minichainer.functions as F
    >>> a = chainer.utils.to_coo(np.array([[0., 2.], [1., 0.]]))
    >>> F.sparse_matmul(a, np.array([[1.], [3.]]))
    variable([[6.],
              [1.]])
    """
    if isinstance(a, CooMatrix) == isinstance(b, CooMatrix):
        raise ValueError(
            'sparse_matmul: one CooMatrix and one dense matrix are expected; this combination of types is not '
            f'supported: a: {type(a).__name__}, b: {type(b).__name__}'
        )
    if isinstance(a, CooMatrix):
        return _sparse_dense(a, bool(transa), _turned(as_variable(b), transb))
    return _turned(_sparse_dense(b, not transb, _turned(as_variable(a), not transa)), True)


def _turned(x: Variable, turn: bool) -> Variable:
    if not turn or x.ndim < 2:
        return x
    return ops.transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def _sparse_dense(sparse: CooMatrix, transposed: bool, dense: Variable) -> Variable:
    row, col, (rows, columns) = sparse.row, sparse.col, sparse.shape
    if transposed:
        row, col, rows, columns = col, row, columns, rows
    data = sparse.data
    where = 'Invalid operation is performed in: CooMatMul (Forward)'
    if data.dtype.kind != 'f' or dense.dtype.kind != 'f':
        raise invalid('float matrices', f'{data.dtype} (sparse) and {dense.dtype} (dense)', where)
    if dense.ndim != data.ndim + 1 or dense.shape[-2] != columns or dense.shape[:-2] != data.shape[:-1]:
        expected = (*data.shape[:-1], columns, 'n')
        actual = f'{dense.shape}, beside a sparse matrix {sparse.shape}'
        raise invalid(f'a dense matrix of shape {expected}', actual, where)
    for name, numbers, size in (('row', row, rows), ('column', col, columns)):
        if numbers.dtype.kind not in 'iu':
            raise invalid(f'int {name} numbers', f'{numbers.dtype}', where)
        if numbers.size and numbers.max() >= size:
            raise ValueError(f'sparse_matmul: {name} numbers below {size} expected, came {numbers.max()}')
    dtype = numpy.promote_types(data.dtype, dense.dtype)
    return sparse_product(cast(data, dtype), cast(dense, dtype), row, col, rows)
