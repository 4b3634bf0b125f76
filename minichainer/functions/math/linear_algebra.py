"""Inverse, determinant and factors of matrices."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer import ops
from minichainer.backend import on_device_of_arguments
from minichainer.functions._arguments import Arguments
from minichainer.functions._define import primitive
from minichainer.functions.array.shape import expand_dims, reshape
from minichainer.functions.math.solving import checked_matrices, checked_square
from minichainer.kernels import cofactors as cofactor_kernels
from minichainer.kernels import linalg, triangular
from minichainer.variable import Variable

_inv, _batch_inv = Arguments('Inv', 'inv'), Arguments('BatchInv', 'batch_inv')
_det, _cholesky = Arguments('det'), Arguments('cholesky')


def _half_triangle(xp: Any, x: Any) -> Any:
    """Ones below the diagonal, halves on it, zeros above."""
    size = x.shape[-1]
    return (xp.tril(xp.ones((size, size))) - 0.5 * xp.eye(size)).astype(x.dtype)


ops.register_constant('half_triangle', _half_triangle)


def _inverted(xp: Any, a: Any) -> Any:
    try:
        return linalg.inverse(xp, a)
    except numpy.linalg.LinAlgError:
        raise ValueError(f'inv: Input has singular matrices. The shape is {a.shape}') from None


def _inverse_rule(m: Any, gy: Any, y: Any) -> Any:
    return -m.matrix_product(m.matrix_product(y, gy, True, False), y, False, True)


@primitive(rule=(_inverse_rule,), name='Inv', kinds='f')
def inverse(xp: Any, a: Any) -> Any:
    return _inverted(xp, a)


@primitive(rule=(_inverse_rule,), name='BatchInv', kinds='f')
def inverses(xp: Any, a: Any) -> Any:
    return _inverted(xp, a)


def _third_derivative(m: Any, gy: Any, a: Any, step: Any) -> Any:
    """The third derivative of the determinant along ``step`` and ``gy``; only this one needs the inverse."""
    inverted = m.inverse(a)
    x, y = (m.matrix_product(inverted, direction, False, False) for direction in (step, gy))
    trace_x, trace_y = _trace(m, x), _trace(m, y)
    xy = m.matrix_product(x, y, False, False)
    inner = xy + m.matrix_product(y, x, False, False) - trace_x * y - trace_y * x
    total = m.matrix_product(inner, inverted, False, False) + (trace_x * trace_y - _trace(m, xy)) * inverted
    return m.matrix_transpose(_expanded(m, m.determinants(a)) * total)


def _expanded(m: Any, x: Any) -> Any:
    return m.reshape(x, (*x.shape, 1, 1))


def _swapped(ndim: int) -> tuple[int, ...]:
    return (*range(ndim - 2), ndim - 1, ndim - 2)


ops.register('matrix_transpose', lambda x: ops.transpose(x, _swapped(x.ndim)), lambda xp, x: x.swapaxes(-1, -2))


def _trace(m: Any, x: Any) -> Any:
    return m.sum(x * m.identity(x), (x.ndim - 2, x.ndim - 1), True)


def _identity(xp: Any, x: Any) -> Any:
    return xp.eye(x.shape[-1], dtype=x.dtype)


ops.register_constant('identity', _identity)


@primitive(
    rule=(_third_derivative, lambda m, gy, a: m.change_of_cofactors(a, gy)),
    kinds='f',
    name='BatchDetGradGrad',
    label='det',
    linear_in=('step',),
)
def change_of_cofactors(xp: Any, a: Any, step: Any) -> Any:
    return cofactor_kernels.change_of_cofactors(xp, a, step)


@primitive(rule=(lambda m, gy, a: m.change_of_cofactors(a, gy), None), kinds='f', name='BatchDetGrad', label='det')
def cofactors(xp: Any, a: Any, determinant: Any) -> Any:
    return cofactor_kernels.cofactors(xp, a, determinant)


@primitive(rule=(lambda m, gy, a, y: _expanded(m, gy) * m.cofactors(a, y),), name='BatchDet', label='det', kinds='f')
def determinants(xp: Any, a: Any) -> Any:
    return linalg.determinant(xp, a)


@primitive(rule=(_inverse_rule,), name='LowerInverse', kinds='f')
def lower_inverse(xp: Any, a: Any) -> Any:
    """The inverse of a lower triangular matrix."""
    return triangular.lower_inverse(xp, a)


def _cholesky_rule(m: Any, gy: Any, y: Any) -> Any:
    r""":math:`L^{-T} P(L^T G) L^{-1}`, symmetric; P halves the diagonal and drops the elements above it."""
    inner = m.matrix_product(y, gy, True, False) * m.half_triangle(y)
    inverted = m.lower_inverse(y)
    gx = m.matrix_product(m.matrix_product(inverted, inner, True, False), inverted, False, False)
    return (gx + m.matrix_transpose(gx)) * 0.5


@primitive(rule=(_cholesky_rule,), name='Cholesky', label='cholesky', kinds='f')
def cholesky_factor(xp: Any, a: Any) -> Any:
    try:
        return linalg.cholesky(xp, a)
    except numpy.linalg.LinAlgError as error:
        raise numpy.linalg.LinAlgError(f'cholesky: {error}; a has shape {a.shape}') from None


def cholesky(a: Any) -> Variable:
    r"""Cholesky factor of a symmetric positive definite matrix: the lower triangular L with :math:`A = L L^T`.

    The gradient is symmetric, like the matrix.

    Args:
        a: Variable or float array :math:`(n, n)`; only its lower triangle is read.

    Returns:
        Variable of the same shape and dtype.

    Raises:
        InvalidType: ``a`` is not a float array of two axes.
        numpy.linalg.LinAlgError: ``a`` is not square, or not positive definite.

    >>> import numpy as np, minichainer.functions as F
    >>> F.cholesky(np.array([[4., 2.], [2., 5.]]))
    variable([[2., 0.],
              [1., 2.]])
    """
    return cholesky_factor(checked_matrices(_cholesky, a, 2))


@on_device_of_arguments
def inv(a: Any) -> Variable:
    r"""Inverse of a square matrix, :math:`Y = A^{-1}`.

    Args:
        a: Variable or float array :math:`(n, n)`.

    Returns:
        Variable of the same shape and dtype.

    Raises:
        InvalidType: ``a`` is not a float array of that shape.
        ValueError: the matrix is singular.

    >>> import numpy as np, minichainer.functions as F
    >>> F.inv(np.array([[2., 0.], [0., 4.]]))
    variable([[0.5 , 0.  ],
              [0.  , 0.25]])
    """
    return inverse(checked_square(_inv, a, 2))


@on_device_of_arguments
def batch_inv(a: Any) -> Variable:
    r"""Inverse of each of a batch of square matrices, :math:`Y_i = A_i^{-1}`.

    Args:
        a: Variable or float array :math:`(B, n, n)`.

    Returns:
        Variable of the same shape and dtype.

    Raises:
        InvalidType: ``a`` is not a float array of that shape.
        ValueError: a matrix is singular.

    >>> import numpy as np, minichainer.functions as F
    >>> F.batch_inv(np.array([[[2.]], [[4.]]]))
    variable([[[0.5 ]],
    <BLANKLINE>
              [[0.25]]])
    """
    return inverses(checked_square(_batch_inv, a, 3))


@on_device_of_arguments
def det(a: Any) -> Variable:
    r"""Determinant of a square matrix, :math:`y = |A|`.

    Args:
        a: Variable or float array :math:`(n, n)`.

    Returns:
        Variable of shape ``()``. Its first two derivatives are finite for singular matrices too; a third one is a
        ValueError there.

    Raises:
        InvalidType: ``a`` is not a float array of that shape.

    >>> import numpy as np, minichainer.functions as F
    >>> F.det(np.array([[2., 1.], [0., 4.]]))
    variable(8.)
    """
    return reshape(determinants(expand_dims(checked_square(_det, a, 2), 0)), ())


@on_device_of_arguments
def batch_det(a: Any) -> Variable:
    r"""Determinant of each of a batch of square matrices, :math:`y_i = |A_i|`.

    Args:
        a: Variable or float array :math:`(B, n, n)`.

    Returns:
        Variable of shape :math:`(B,)`; see :func:`det` for singular matrices.

    Raises:
        InvalidType: ``a`` is not a float array of that shape.

    >>> import numpy as np, minichainer.functions as F
    >>> F.batch_det(np.array([[[2.]], [[4.]]]))
    variable([2., 4.])
    """
    return determinants(checked_square(_det, a, 3))
