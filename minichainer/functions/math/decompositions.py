"""Eigenvalues, singular values and orthogonal factors; over the last two axes, as in numpy.linalg.

Each derivative is written in terms of the results, with differentiable functions, so that it can be differentiated
as often as one likes.
"""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.backend import get_array_module
from minichainer.function_node import FunctionNode
from minichainer.functions.array.joining import concat
from minichainer.functions.array.selection import masked, where
from minichainer.functions.array.shape import broadcast_to, expand_dims, transpose
from minichainer.functions.math.linear_algebra import in_float32
from minichainer.functions.math.matmul import matmul
from minichainer.functions.math.solving import check_matrices, check_square, solution
from minichainer.variable import Variable


def _transposed(x: Variable) -> Variable:
    return transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def _diagonal(size: int, like: Variable) -> Any:
    return get_array_module(like.array).eye(size, dtype='?')


def _as_diagonal(values: Variable) -> Variable:
    """Diagonal matrices with the given values."""
    rows = broadcast_to(expand_dims(values, values.ndim), (*values.shape, values.shape[-1]))
    return masked(rows, _diagonal(values.shape[-1], values))


def _over_differences(x: Variable, values: Variable) -> Variable:
    """Elements ij over value j less value i; 0 on the diagonal."""
    diagonal = _diagonal(values.shape[-1], values)
    differences = expand_dims(values, values.ndim - 1) - expand_dims(values, values.ndim)
    return masked(x, ~diagonal) / where(diagonal, values.dtype.type(1), differences)


def _sum(terms: list[Variable | None]) -> Variable | None:
    present = [term for term in terms if term is not None]
    return sum(present[1:], present[0]) if present else None


def _results(factors: Any, dtype: Any) -> tuple[Any, ...]:
    return tuple([factor.astype(dtype, copy=False) for factor in factors])


class Eigh(FunctionNode):
    """See :func:`eigh`."""

    def __init__(self, uplo: str) -> None:
        self.uplo = uplo

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.retain_outputs((0, 1))
        (a,) = inputs
        try:
            return _results(get_array_module(a).linalg.eigh(in_float32(a), self.uplo), a.dtype)
        except numpy.linalg.LinAlgError as error:
            raise numpy.linalg.LinAlgError(f'eigh: {error}; a has shape {a.shape}') from None

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        w, v = self.get_retained_outputs()
        gw, gv = grad_outputs
        inner = _sum([
            None if gw is None else _as_diagonal(gw),
            None if gv is None else _over_differences(matmul(_transposed(v), gv), w),
        ])  # fmt: skip
        if inner is None:
            return (None,)
        ga = matmul(matmul(v, inner), _transposed(v))
        return ((ga + _transposed(ga)) * 0.5,)


def eigh(a: Any, UPLO: str = 'L') -> tuple[Variable, Variable]:
    r"""Eigenvalues and eigenvectors of symmetric matrices, :math:`A = V \mathrm{diag}(w) V^T`.

    The gradient is that of symmetric matrices: it is symmetric itself. That of the eigenvectors is not finite where
    two eigenvalues are equal, as these vectors are not unique; that of the eigenvalues alone is always right.

    Args:
        a: Variable or float array :math:`(\dots, n, n)`.
        UPLO: ``'L'`` or ``'U'``: the triangle that is read.

    Returns:
        Two Variables: w :math:`(\dots, n)` in ascending order, V :math:`(\dots, n, n)` with the eigenvectors in its
        columns, each of an arbitrary sign.

    Raises:
        InvalidType: ``a`` is no float array of that shape.
        ValueError: ``UPLO`` is something else.
        numpy.linalg.LinAlgError: the computation does not converge.

    >>> import numpy as np, minichainer.functions as F
    >>> w, v = F.eigh(np.array([[2., 0.], [0., 1.]]))
    >>> w
    variable([1., 2.])
    """
    if UPLO not in ('L', 'U'):
        raise ValueError(f"eigh: UPLO must be 'L' or 'U', came {UPLO!r}")
    w, v = Eigh(UPLO).apply((check_square('eigh', a),))
    return w, v


class SVD(FunctionNode):
    """See :func:`svd`."""

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.retain_outputs((0, 1, 2))
        (a,) = inputs
        try:
            return _results(get_array_module(a).linalg.svd(in_float32(a), full_matrices=False), a.dtype)
        except numpy.linalg.LinAlgError as error:
            raise numpy.linalg.LinAlgError(f'svd: {error}; a has shape {a.shape}') from None

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        u, s, vh = self.get_retained_outputs()
        gu, gs, gvh = grad_outputs
        v = _transposed(vh)
        row = expand_dims(s, s.ndim - 1)
        inner = None if gs is None else _as_diagonal(gs)
        if gu is not None:
            inner = _sum([inner, _turning(u, gu, s) * row])
        if gvh is not None:
            inner = _sum([inner, expand_dims(s, s.ndim) * _turning(v, _transposed(gvh), s)])
        ga = None if inner is None else matmul(matmul(u, inner), vh)
        if gu is not None and u.shape[-2] > u.shape[-1]:
            ga = _sum([ga, matmul(_outside(u, gu) / row, vh)])
        if gvh is not None and v.shape[-2] > v.shape[-1]:
            ga = _sum([ga, matmul(u, _transposed(_outside(v, _transposed(gvh)) / row))])
        return (ga,)


def _turning(u: Variable, gu: Variable, s: Variable) -> Variable:
    """The part of a gradient of orthonormal columns that turns them within the space that they span."""
    inner = matmul(_transposed(u), gu)
    return _over_differences(inner - _transposed(inner), s * s)


def _outside(u: Variable, gu: Variable) -> Variable:
    """The part of a gradient of orthonormal columns that leads out of the space that they span."""
    return gu - matmul(u, matmul(_transposed(u), gu))


def svd(a: Any) -> tuple[Variable, Variable, Variable]:
    r"""Thin singular value decomposition, :math:`A = U \mathrm{diag}(s) V^T`.

    The gradients of U and V are not finite where two singular values are equal, or where one is 0 and the matrix
    not square, as these vectors are not unique; that of the singular values alone is always right.

    Args:
        a: Variable or float array :math:`(\dots, m, n)`; k is the smaller of m and n.

    Returns:
        Three Variables: U :math:`(\dots, m, k)`, s :math:`(\dots, k)` in descending order, :math:`V^T`
        :math:`(\dots, k, n)`; as ``numpy.linalg.svd(a, full_matrices=False)``. Each pair of vectors has an arbitrary
        sign.

    Raises:
        InvalidType: ``a`` is no float array of that shape.
        numpy.linalg.LinAlgError: the computation does not converge.

    >>> import numpy as np, minichainer.functions as F
    >>> u, s, vh = F.svd(np.array([[0., 3.], [2., 0.], [0., 0.]]))
    >>> s
    variable([3., 2.])
    """
    u, s, vh = SVD().apply((check_matrices('svd', a),))
    return u, s, vh


class QR(FunctionNode):
    """See :func:`qr`; for matrices with at least as many rows as columns."""

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.retain_outputs((0, 1))
        (a,) = inputs
        return _results(get_array_module(a).linalg.qr(in_float32(a)), a.dtype)

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        q, r = self.get_retained_outputs()
        gq, gr = grad_outputs
        inner = _sum([
            None if gr is None else matmul(r, _transposed(gr)),
            None if gq is None else -matmul(_transposed(gq), q),
        ])  # fmt: skip
        if inner is None:
            return (None,)
        xp, size = get_array_module(q.array), r.shape[-1]
        lower = xp.tril(xp.ones((size, size), '?'))
        symmetric = masked(inner, lower) + _transposed(masked(inner, lower & ~xp.eye(size, dtype='?')))
        left = matmul(q, symmetric) if gq is None else gq + matmul(q, symmetric)
        return (_transposed(solution(r, _transposed(left), False)),)


def qr(a: Any) -> tuple[Variable, Variable]:
    r"""Orthonormal columns times an upper triangular matrix, :math:`A = Q R`.

    Args:
        a: Variable or float array :math:`(\dots, m, n)`; k is the smaller of m and n.

    Returns:
        Two Variables, Q :math:`(\dots, m, k)` and R :math:`(\dots, k, n)`, as ``numpy.linalg.qr(a)``. Backward needs
        the inverse of the first k columns of R: a singular matrix is a ValueError there.

    Raises:
        InvalidType: ``a`` is no float array of that shape.

    >>> import numpy as np, minichainer.functions as F
    >>> q, r = F.qr(np.array([[0., 2.], [3., 0.]]))
    >>> np.abs(r.array)
    array([[3., 0.],
           [0., 2.]])
    """
    a = check_matrices('qr', a)
    rows, columns = a.shape[-2:]
    if rows >= columns:
        q, r = QR().apply((a,))
        return q, r
    q, r = QR().apply((a[..., :rows],))
    return q, concat([r, matmul(_transposed(q), a[..., rows:])], axis=-1)
