"""Eigenvalues, singular values and QR factors of the last two axes, as in numpy.linalg.

Each derivative is written in terms of the results with differentiable functions, so that it can be differentiated any
number of times.
"""

from __future__ import annotations

from typing import Any

import numpy

from minichainer import ops
from minichainer.functions._arguments import Arguments
from minichainer.functions._define import primitive
from minichainer.functions.array.joining import concat
from minichainer.functions.math.matmul import matmul
from minichainer.functions.math.solving import checked_matrices, checked_square, singular, solution
from minichainer.kernels import linalg, triangular
from minichainer.variable import Variable

_eigh, _svd, _qr = Arguments('eigh'), Arguments('svd'), Arguments('qr')


def _row(m: Any, values: Any) -> Any:
    return m.reshape(values, (*values.shape[:-1], 1, values.shape[-1]))


def _column(m: Any, values: Any) -> Any:
    return m.reshape(values, (*values.shape, 1))


def _diagonal_places(xp: Any, x: Any) -> Any:
    """A square mask with the size of the last axis, true on the diagonal."""
    return xp.eye(x.shape[-1], dtype='?')


def _lower_places(xp: Any, x: Any) -> Any:
    """A square mask with the size of the last axis, true in the lower triangle."""
    return xp.tril(xp.ones((x.shape[-1], x.shape[-1]), '?'))


ops.register_constant('diagonal_places', _diagonal_places)
ops.register_constant('lower_places', _lower_places)


def _as_diagonal(m: Any, values: Any) -> Any:
    """Diagonal matrices with the given values."""
    rows = m.broadcast_to(_column(m, values), (*values.shape, values.shape[-1]))
    return m.masked(rows, m.diagonal_places(values))


def _over_differences(m: Any, x: Any, values: Any) -> Any:
    """Elements ij divided by value j minus value i; 0 on the diagonal."""
    diagonal = m.diagonal_places(values)
    differences = _row(m, values) - _column(m, values)
    return m.masked(x, ~diagonal) / m.where(diagonal, values.dtype.type(1), differences)


def _eigh_rule(m: Any, gy: Any, y: Any, given: tuple[bool, ...]) -> Any:
    (gw, gv), (w, v) = gy, y
    inner = _as_diagonal(m, gw)
    if given[1]:
        inner = inner + _over_differences(m, m.matmul(v, gv, True), w)
    ga = m.matmul(m.matmul(v, inner), v, False, True)
    return (ga + m.matrix_transpose(ga)) * 0.5


@primitive(rule=(_eigh_rule,), name='Eigh', several_outputs=True)
def eigenvalues_and_vectors(xp: Any, a: Any, uplo: str) -> tuple[Any, Any]:
    try:
        w, v = linalg.eigh(xp, a, uplo)
    except numpy.linalg.LinAlgError as error:
        raise numpy.linalg.LinAlgError(f'eigh: {error}; a has shape {a.shape}') from None
    return w, v


def eigh(a: Any, UPLO: str = 'L') -> tuple[Variable, Variable]:
    r"""Eigenvalues and eigenvectors of symmetric matrices, :math:`A = V \mathrm{diag}(w) V^T`.

    The gradient is symmetric, like the matrices. The gradient through the eigenvectors is not finite if two
    eigenvalues are equal, because the eigenvectors are not unique then; through the eigenvalues alone it is always
    right.

    Args:
        a: Variable or float array :math:`(\dots, n, n)`.
        UPLO: ``'L'`` or ``'U'``: the triangle that is read.

    Returns:
        Two Variables: w :math:`(\dots, n)` in ascending order, V :math:`(\dots, n, n)` with the eigenvectors in its
        columns, each of an arbitrary sign.

    Raises:
        InvalidType: ``a`` is not a float array of that shape.
        ValueError: ``UPLO`` is something else.
        numpy.linalg.LinAlgError: the computation does not converge.

    >>> import numpy as np, minichainer.functions as F
    >>> w, v = F.eigh(np.array([[2., 0.], [0., 1.]]))
    >>> w
    variable([1., 2.])
    """
    _eigh.choice(UPLO, 'UPLO', ('L', 'U'))
    w, v = eigenvalues_and_vectors(checked_square(_eigh, a), UPLO)
    return w, v


def _svd_rule(m: Any, gy: Any, y: Any, given: tuple[bool, ...]) -> Any:
    (gu, gs, gvh), (u, s, vh) = gy, y
    v, gv = m.matrix_transpose(vh), m.matrix_transpose(gvh)
    inner = _as_diagonal(m, gs)
    if given[0]:
        inner = inner + _rotation(m, u, gu, s) * _row(m, s)
    if given[2]:
        inner = inner + _column(m, s) * _rotation(m, v, gv, s)
    ga = m.matmul(m.matmul(u, inner), vh)
    if given[0] and u.shape[-2] > u.shape[-1]:
        ga = ga + m.matmul(_outside(m, u, gu) / _row(m, s), vh)
    if given[2] and v.shape[-2] > v.shape[-1]:
        ga = ga + m.matmul(u, _outside(m, v, gv) / _row(m, s), False, True)
    return ga


def _rotation(m: Any, u: Any, gu: Any, s: Any) -> Any:
    """The part of a gradient of orthonormal columns that rotates them within their span."""
    inner = m.matmul(u, gu, True)
    return _over_differences(m, inner - m.matrix_transpose(inner), s * s)


def _outside(m: Any, u: Any, gu: Any) -> Any:
    """The part of a gradient of orthonormal columns outside of their span."""
    return gu - m.matmul(u, m.matmul(u, gu, True))


@primitive(rule=(_svd_rule,), name='SVD', several_outputs=True)
def singular_values_and_vectors(xp: Any, a: Any) -> tuple[Any, Any, Any]:
    try:
        u, s, vh = linalg.svd(xp, a)
    except numpy.linalg.LinAlgError as error:
        raise numpy.linalg.LinAlgError(f'svd: {error}; a has shape {a.shape}') from None
    return u, s, vh


def svd(a: Any) -> tuple[Variable, Variable, Variable]:
    r"""Thin singular value decomposition, :math:`A = U \mathrm{diag}(s) V^T`.

    The gradients through U and V are not finite if two singular values are equal, or if one is 0 and the matrix is
    not square, because the vectors are not unique then; through the singular values alone it is always right.

    Args:
        a: Variable or float array :math:`(\dots, m, n)`; k is the smaller of m and n.

    Returns:
        Three Variables: U :math:`(\dots, m, k)`, s :math:`(\dots, k)` in descending order, :math:`V^T`
        :math:`(\dots, k, n)`; as ``numpy.linalg.svd(a, full_matrices=False)``. Each pair of vectors has an arbitrary
        sign.

    Raises:
        InvalidType: ``a`` is not a float array of that shape.
        numpy.linalg.LinAlgError: the computation does not converge, or an element is infinite or NaN.

    >>> import numpy as np, minichainer.functions as F
    >>> u, s, vh = F.svd(np.array([[0., 3.], [2., 0.], [0., 0.]]))
    >>> s
    variable([3., 2.])
    """
    u, s, vh = singular_values_and_vectors(checked_matrices(_svd, a))
    return u, s, vh


def _qr_rule(m: Any, gy: Any, y: Any, given: tuple[bool, ...]) -> Any:
    (gq, gr), (q, r) = gy, y
    inner = m.matmul(r, gr, False, True)
    if given[0]:
        inner = inner - m.matmul(gq, q, True)
    lower, diagonal = m.lower_places(r), m.diagonal_places(r)
    symmetric = m.masked(inner, lower) + m.matrix_transpose(m.masked(inner, lower & ~diagonal))
    left = m.matmul(q, symmetric)
    if given[0]:
        left = left + gq
    return m.matrix_transpose(m.upper_solution(r, m.matrix_transpose(left)))


def _upper_solution(xp: Any, r: Any, b: Any) -> Any:
    """The solution X of RX = B for upper triangular R."""
    try:
        return triangular.solve_upper(xp, r, b)
    except numpy.linalg.LinAlgError:
        raise singular(r) from None


ops.register('upper_solution', lambda r, b: solution(r, b, False), _upper_solution)


@primitive(rule=(_qr_rule,), name='QR', several_outputs=True)
def orthonormal_and_triangular(xp: Any, a: Any) -> tuple[Any, Any]:
    """The factors of matrices with at least as many rows as columns."""
    q, r = linalg.qr(xp, a)
    return q, r


def qr(a: Any) -> tuple[Variable, Variable]:
    r"""Orthonormal columns times an upper triangular matrix, :math:`A = Q R`.

    Args:
        a: Variable or float array :math:`(\dots, m, n)`; k is the smaller of m and n.

    Returns:
        Two Variables, Q :math:`(\dots, m, k)` and R :math:`(\dots, k, n)`, as ``numpy.linalg.qr(a)``. Backward needs
        the inverse of the first k columns of R: a singular matrix is a ValueError there.

    Raises:
        InvalidType: ``a`` is not a float array of that shape.

    >>> import numpy as np, minichainer.functions as F
    >>> q, r = F.qr(np.array([[0., 2.], [3., 0.]]))
    >>> np.abs(r.array)
    array([[3., 0.],
           [0., 2.]])
    """
    a = checked_matrices(_qr, a)
    rows, columns = a.shape[-2:]
    if rows >= columns:
        q, r = orthonormal_and_triangular(a)
        return q, r
    q, r = orthonormal_and_triangular(a[..., :rows])
    return q, concat([r, matmul(q, a[..., rows:], transa=True)], axis=-1)
