"""Products of sparse and dense matrices."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer import ops
from minichainer.backend import on_device_of_arguments
from minichainer.functions._arguments import Arguments, are_readable
from minichainer.functions._define import primitive
from minichainer.functions.array.conversion import as_dtype
from minichainer.kernels import sparse as kernels
from minichainer.utils.sparse import CooMatrix
from minichainer.variable import Variable, as_variable

_arguments = Arguments('CooMatMul', 'sparse_matmul')


@primitive(
    rule=(
        lambda m, gy, dense, row, col: m.products_at(gy, dense, row, col),
        lambda m, gy, data, row, col, dense_shape: m.sparse_product(data, gy, col, row, dense_shape[-2]),
    ),
    kinds='f',
    name='CooMatMul',
    linear_in=('data', 'dense'),
)
def sparse_product(xp: Any, data: Any, dense: Any, row: Any, col: Any, rows: int) -> Any:
    """``S @ dense`` with ``S[row[e], col[e]] = data[e]``; a batch is a block diagonal matrix."""
    return kernels.sparse_product(xp, data, dense, row, col, rows)


@primitive(
    rule=(
        lambda m, gy, right, row, col, left_shape: m.sparse_product(gy, right, row, col, left_shape[-2]),
        lambda m, gy, left, row, col, right_shape: m.sparse_product(gy, left, col, row, right_shape[-2]),
    ),
    kinds='f',
    name='CooMatMulGradSP',
    linear_in=('left', 'right'),
)
def products_at(xp: Any, left: Any, right: Any, row: Any, col: Any) -> Any:
    """``(left @ right.T)[row[e], col[e]]`` for each entry e, 0 for ignored entries."""
    return kernels.products_at(xp, left, right, row, col)


@on_device_of_arguments
def sparse_matmul(a: Any, b: Any, transa: bool = False, transb: bool = False) -> Variable:
    r"""Product of a sparse and a dense matrix, or of batches of them; gradients flow to the stored entries only.

    Args:
        a: matrix :math:`(m, k)`, or batch :math:`(B, m, k)`: a :class:`~minichainer.utils.CooMatrix`, or a
            Variable or float array.
        b: matrix :math:`(k, n)` or batch; one of ``a`` and ``b`` is a CooMatrix, the other is not.
        transa: transpose the matrices of ``a``.
        transb: transpose the matrices of ``b``.

    Returns:
        Variable :math:`(m, n)` or :math:`(B, m, n)`, of the wider dtype; float16 is accumulated in float32.

    Raises:
        ValueError: both are sparse, or both dense, or a row or column number is out of range.
        InvalidType: the shapes do not fit, or arrays are not of floats.

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
    y: Variable = ops.matrix_transpose(x)
    return y


def _sparse_dense(sparse: CooMatrix, transposed: bool, dense: Variable) -> Variable:
    """The product of a sparse and a dense matrix, after checking both."""
    row, col, (rows, columns) = sparse.row, sparse.col, sparse.shape
    if transposed:
        row, col, rows, columns = col, row, columns, rows
    data = sparse.data
    if data.dtype.kind != 'f' or dense.dtype.kind != 'f':
        raise _arguments.misfit('float matrices', f'{data.dtype} (sparse) and {dense.dtype} (dense)')
    if dense.ndim != data.ndim + 1 or dense.shape[-2] != columns or dense.shape[:-2] != data.shape[:-1]:
        expected = (*data.shape[:-1], columns, 'n')
        actual = f'{dense.shape}, beside a sparse matrix {sparse.shape}'
        raise _arguments.misfit(f'a dense matrix of shape {expected}', actual)
    for name, numbers, size in (('row', row, rows), ('column', col, columns)):
        if numbers.dtype.kind not in 'iu':
            raise _arguments.misfit(f'int {name} numbers', f'{numbers.dtype}')
        if numbers.size and are_readable(numbers) and numbers.max() >= size:
            raise ValueError(f'sparse_matmul: {name} numbers below {size} expected, got {numbers.max()}')
    dtype = numpy.promote_types(data.dtype, dense.dtype)
    return sparse_product(as_dtype(data, dtype), as_dtype(dense, dtype), row, col, rows)
