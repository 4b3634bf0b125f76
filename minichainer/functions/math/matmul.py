"""Matrix products."""

from __future__ import annotations

import warnings
from typing import Any

import numpy

from minichainer import ops
from minichainer.functions._arguments import Arguments
from minichainer.functions._define import primitive
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.array.shape import reshape
from minichainer.variable import Variable, as_variable

_matmul, _batch_matmul = Arguments('MatMul', 'matmul'), Arguments('BatchMatMul', 'batch_matmul')


def _a_gradient(m: Any, gy: Any, b: Any, transa: bool, transb: bool) -> Any:
    return m.matrix_product(b, gy, transb, True) if transa else m.matrix_product(gy, b, False, not transb)


def _b_gradient(m: Any, gy: Any, a: Any, transa: bool, transb: bool) -> Any:
    return m.matrix_product(gy, a, True, transa) if transb else m.matrix_product(a, gy, not transa, False)


@primitive(rule=(_a_gradient, _b_gradient), kinds='f', name='MatMul', linear_in=('a', 'b'))
def matrix_product(xp: Any, a: Any, b: Any, transa: bool = False, transb: bool = False) -> Any:
    """Products of the matrices in the last two axes, leading axes broadcast."""
    left = a.swapaxes(-1, -2) if transa else a
    right = b.swapaxes(-1, -2) if transb else b
    return left.dot(right) if left.ndim == right.ndim == 2 else xp.matmul(left, right)


def matmul(a: Any, b: Any, transa: bool = False, transb: bool = False) -> Variable:
    r"""Matrix product :math:`C = A B` of arrays with any number of axes.

    Matrices are in the last two axes; the leading axes broadcast. A vector on the left is a row, on the right a
    column, whose axis of size 1 is dropped from the result.

    Args:
        a: Variable or float array.
        b: Variable or float array; the result has the wider dtype of the two.
        transa: transpose the matrices of ``a`` (has no effect on a vector).
        transb: transpose the matrices of ``b``.

    Returns:
        Variable.

    Raises:
        InvalidType: the shapes do not fit, or an operand is 0-dimensional.

    >>> import numpy as np, minichainer.functions as F
    >>> F.matmul(np.ones((2, 3)), np.ones((3, 4))).shape
    (2, 4)
    """
    a, b = _operands(a, b)
    row, column = a.ndim == 1, b.ndim == 1
    if row:
        a, transa = reshape(a, (1, a.size)), False
    if column:
        b, transb = reshape(b, (b.size, 1)), False
    _check(_matmul, a, b, transa, transb)
    y = matrix_product(a, b, bool(transa), bool(transb))
    if row or column:
        shape = y.shape[:-2] + (() if row else y.shape[-2:-1]) + (() if column else y.shape[-1:])
        y = reshape(y, shape)
    return y


def _operands(a: Any, b: Any) -> tuple[Variable, Variable]:
    """Both operands as Variables of a common dtype."""
    a, b = as_variable(a), as_variable(b)
    if a.ndim == 0 or b.ndim == 0:
        raise _matmul.misfit('operands with at least one axis', f'shapes {a.shape} and {b.shape}')
    if a.dtype == b.dtype:
        return a, b
    if a.dtype.kind != 'f' or b.dtype.kind != 'f':
        raise _matmul.misfit('float a and b', f'{a.dtype} and {b.dtype}')
    dtype = numpy.promote_types(a.dtype, b.dtype)
    return as_dtype(a, dtype), as_dtype(b, dtype)


def _check(arguments: Arguments, a: Variable, b: Variable, transa: bool, transb: bool) -> None:
    if transa is not False or transb is not False:
        arguments.flag(transa, 'transa')
        arguments.flag(transb, 'transb')
    (shape_a, shape_b) = a.shape, b.shape
    inner_a, inner_b = shape_a[-2 if transa else -1], shape_b[-1 if transb else -2]
    if inner_a != inner_b:
        raise arguments.misfit(
            'equal numbers of columns of a and rows of b',
            f'{inner_a} != {inner_b} (shapes {a.shape} and {b.shape}, transa={bool(transa)}, transb={bool(transb)})',
        )
    if len(shape_a) == 2 or len(shape_b) == 2:
        return
    lead_a, lead_b = shape_a[:-2][::-1], shape_b[:-2][::-1]
    if any(m != n and m != 1 and n != 1 for m, n in zip(lead_a, lead_b, strict=False)):
        raise arguments.misfit('leading axes that broadcast', f'shapes {a.shape} and {b.shape}')


@primitive(rule=(_a_gradient, _b_gradient), kinds='f', name='BatchMatMul', linear_in=('a', 'b'))
def batch_matrix_product(xp: Any, a: Any, b: Any, transa: bool, transb: bool) -> Any:
    return xp.matmul(a.swapaxes(-1, -2) if transa else a, b.swapaxes(-1, -2) if transb else b)


def batch_matmul(a: Any, b: Any, transa: bool = False, transb: bool = False) -> Variable:
    r"""Matrix products of two batches of matrices, :math:`C_i = A_i B_i`. Deprecated: :func:`matmul` does more.

    Args:
        a: Variable or float array :math:`(B, m, k)`; :math:`(B, m)` means :math:`(B, m, 1)`.
        b: Variable or float array :math:`(B, k, n)` of the same dtype; :math:`(B, k)` means :math:`(B, k, 1)`.
        transa: transpose the matrices of ``a``.
        transb: transpose the matrices of ``b``.

    Returns:
        Variable :math:`(B, m, n)`.

    Raises:
        InvalidType: dtypes or shapes do not fit.

    >>> import warnings, numpy as np, minichainer.functions as F
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter('ignore', DeprecationWarning)
    ...     F.batch_matmul(np.ones((5, 2, 3)), np.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    warnings.warn('batch_matmul is deprecated: use matmul', DeprecationWarning, stacklevel=2)
    a, b = as_variable(a), as_variable(b)
    for name, x in (('a', a), ('b', b)):
        if not 2 <= x.ndim <= 3:
            raise _batch_matmul.misfit(f'2 <= {name}.ndim <= 3', f'{x.ndim}, shape {x.shape}')
    a, b = (reshape(x, (*x.shape, 1)) if x.ndim == 2 else x for x in (a, b))
    _check(_batch_matmul, a, b, transa, transb)
    return batch_matrix_product(a, b, bool(transa), bool(transb))


def _matmul_operator(a: Any, b: Any) -> Variable:
    """``a @ b``: an array takes the dtype of the Variable, as for the other operators."""
    if isinstance(a, Variable) and not isinstance(b, Variable):
        b = _array(b).astype(a.dtype, copy=False)
    elif isinstance(b, Variable) and not isinstance(a, Variable):
        a = _array(a).astype(b.dtype, copy=False)
    return matmul(a, b)


def _array(operand: Any) -> Any:
    if not hasattr(operand, 'astype'):
        raise TypeError(f'_ @ _: an array or a Variable expected as operand, got {type(operand).__name__}')
    return operand


def _matmul_of_arrays(xp: Any, a: Any, b: Any, transa: bool = False, transb: bool = False) -> Any:
    a = a.swapaxes(-1, -2) if transa and a.ndim > 1 else a
    return xp.matmul(a, b.swapaxes(-1, -2) if transb and b.ndim > 1 else b)


ops.register('matmul', matmul, _matmul_of_arrays)
ops.register('matmul_operator', _matmul_operator, lambda xp, a, b: xp.matmul(a, b))
