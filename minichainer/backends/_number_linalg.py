"""Factorizations of matrices of numbers, where NumPy would call LAPACK: plain elimination, one matrix at a time.

The functions take and return plain object arrays; the matrices are in the last two axes, leading axes broadcast.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy

#: Ten sweeps make matrices of 50 digits diagonal.
_SWEEPS = 100


class SignAndLog(NamedTuple):
    """The result of ``slogdet``."""

    sign: Any
    logabsdet: Any


class Factors(NamedTuple):
    """The result of ``qr``."""

    Q: Any
    R: Any


class Eigen(NamedTuple):
    """The result of ``eigh``."""

    eigenvalues: Any
    eigenvectors: Any


class Singular(NamedTuple):
    """The result of ``svd``."""

    U: Any
    S: Any
    Vh: Any


def solve(a: Any, b: Any) -> Any:
    """The solution X of AX = B; b is one vector, or has matrices as NumPy 2 takes it."""
    if b.ndim == 1:
        return solve(a, b[:, None])[..., 0]
    lead = numpy.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a = numpy.broadcast_to(a, lead + a.shape[-2:])
    b = numpy.broadcast_to(b, lead + b.shape[-2:])
    x = numpy.empty(b.shape, object)
    for i in numpy.ndindex(lead):
        upper, right, _ = _eliminated(a[i], b[i])
        if not all(numpy.diagonal(upper)):
            raise numpy.linalg.LinAlgError('Singular matrix')
        x[i] = _substituted(upper, right)
    return x


def inv(a: Any) -> Any:
    """The inverses."""
    return solve(a, _identity_like(a))


def det(a: Any) -> Any:
    """The determinants."""
    return _each(_determinant, a)


def slogdet(a: Any) -> SignAndLog:
    """The signs of the determinants, and the logarithms of their absolute values."""
    if not a.shape[-1]:
        return SignAndLog(numpy.ones(a.shape[:-2], object), numpy.zeros(a.shape[:-2], object))
    determinants = det(a)
    parts = [_each_number(name, determinants) for name in ('sign', '__abs__')]
    return SignAndLog(parts[0], _each_number('log', parts[1]))


def cholesky(a: Any) -> Any:
    """The lower triangular L of A = L L^T."""
    factors = numpy.empty(a.shape, object)
    for i in numpy.ndindex(a.shape[:-2]):
        factors[i] = _cholesky(a[i])
    return factors


def qr(a: Any) -> Factors:
    """Orthonormal columns and an upper triangular matrix, with LAPACK's signs, by reflections."""
    rows, columns = a.shape[-2:]
    inner = min(rows, columns)
    q = numpy.empty((*a.shape[:-1], inner), object)
    r = numpy.empty((*a.shape[:-2], inner, columns), object)
    for i in numpy.ndindex(a.shape[:-2]):
        q[i], r[i] = _reflected(a[i], inner)
    return Factors(q, r)


def eigh(a: Any, UPLO: str = 'L') -> Eigen:
    """Eigenvalues in ascending order, and eigenvectors with LAPACK's signs, of symmetric matrices."""
    w, v = numpy.empty(a.shape[:-1], object), numpy.empty(a.shape, object)
    lower = numpy.tril(numpy.ones(a.shape[-2:], bool))
    triangle = lower if UPLO.upper() == 'L' else lower.T
    a = numpy.where(triangle, a, a.swapaxes(-1, -2))
    for i in numpy.ndindex(a.shape[:-2]):
        w[i], v[i] = _diagonalized(a[i])
    return Eigen(w, v * _signs_of(v, numpy.linalg.eigh(_floats(a))[1]))


def svd(a: Any, full_matrices: bool = True) -> Singular:
    """Singular values in descending order, and singular vectors with LAPACK's signs.

    Raises:
        TypeError: a singular value is 0, or a wide or tall matrix has more singular vectors than values.
    """
    rows, columns = a.shape[-2:]
    if full_matrices and rows != columns:
        raise TypeError('svd: not defined for arrays of numbers with full_matrices, unless the matrices are square')
    u, s, v = _svd(a) if rows >= columns else _svd(a.swapaxes(-1, -2))[::-1]
    signs = _signs_of(u, numpy.linalg.svd(_floats(a), full_matrices=False)[0])
    return Singular(u * signs, s, (v * signs).swapaxes(-1, -2))


def _svd(a: Any) -> tuple[Any, Any, Any]:
    lead, columns = a.shape[:-2], a.shape[-1]
    u, s, v = (numpy.empty(shape, object) for shape in (a.shape, (*lead, columns), (*lead, columns, columns)))
    for i in numpy.ndindex(lead):
        u[i], s[i], v[i] = _orthogonalized(a[i])
    return u, s, v


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f for f in (solve, inv, det, slogdet, cholesky, qr, eigh, svd)
}


# --- one matrix --------------------------------------------------------------------------------------------------
def _eliminated(a: Any, b: Any) -> tuple[Any, Any, int]:
    """A made upper triangular by exchanges and sums of rows, B changed alike, and the sign of the exchanges."""
    a, b, sign = a.copy(), b.copy(), 1
    for k in range(len(a)):
        pivot = k + int(abs(a[k:, k]).argmax())
        if pivot != k:
            a[[k, pivot]], b[[k, pivot]], sign = a[[pivot, k]], b[[pivot, k]], -sign
        if not a[k, k]:
            continue
        factors = a[k + 1 :, k] / a[k, k]
        a[k + 1 :] = a[k + 1 :] - factors[:, None] * a[k]
        b[k + 1 :] = b[k + 1 :] - factors[:, None] * b[k]
    return a, b, sign


def _substituted(upper: Any, b: Any) -> Any:
    """The solution for an upper triangular matrix."""
    x = b.copy()
    for k in reversed(range(len(upper))):
        x[k] = (x[k] - (upper[k, k + 1 :, None] * x[k + 1 :]).sum(axis=0)) / upper[k, k]
    return x


def _determinant(a: Any) -> Any:
    upper, _, sign = _eliminated(a, a)
    return numpy.diagonal(upper).prod() * sign


def _cholesky(a: Any) -> Any:
    factor = a * 0
    for k in range(len(a)):
        rest = a[k:, k] - (factor[k:, :k] * factor[k, :k]).sum(axis=1)
        if not rest[0] > 0:
            raise numpy.linalg.LinAlgError('Matrix is not positive definite')
        factor[k:, k] = rest / rest[0].sqrt()
    return factor


def _reflected(a: Any, inner: int) -> tuple[Any, Any]:
    r, q = a.copy(), _identity(len(a), a)
    for k in range(min(inner, len(a) - 1)):
        v = r[k:, k].copy()
        length = (v * v).sum().sqrt()
        if not (v[1:] * v[1:]).sum():
            continue
        v[0] = v[0] + (length if v[0] >= 0 else -length)
        scaled = 2 * v / (v * v).sum()
        r[k:] = r[k:] - scaled[:, None] * (v[:, None] * r[k:]).sum(axis=0)
        q[:, k:] = q[:, k:] - (q[:, k:] * v).sum(axis=1)[:, None] * scaled
    return q[:, :inner], numpy.triu(r[:inner])


def _diagonalized(a: Any) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors by Jacobi's rotations, until they change nothing."""
    a, v = a.copy(), _identity(len(a), a)
    for _ in _sweeps():
        turned = False
        for p, q in itertools.combinations(range(len(a)), 2):
            size = abs(a[p, p]) + abs(a[q, q])
            if abs(a[p, q]) + size == size:
                continue
            c, s = _rotation(a[p, p], a[p, q], a[q, q])
            a[[p, q]] = c * a[p] - s * a[q], s * a[p] + c * a[q]
            for m in (a, v):
                m[:, p], m[:, q] = c * m[:, p] - s * m[:, q], s * m[:, p] + c * m[:, q]
            turned = True
        if not turned:
            break
    w = numpy.diagonal(a)
    order = w.argsort()
    return w[order], v[:, order]


def _orthogonalized(a: Any) -> tuple[Any, Any, Any]:
    """Singular vectors and values by rotations of pairs of columns, until all are orthogonal."""
    a, v = a.copy(), _identity(a.shape[1], a)
    for _ in _sweeps():
        turned = False
        for p, q in itertools.combinations(range(a.shape[1]), 2):
            product, squares = (a[:, p] * a[:, q]).sum(), ((a[:, p] ** 2).sum(), (a[:, q] ** 2).sum())
            size = (squares[0] * squares[1]).sqrt()
            if abs(product) / 16 + size == size:  # the rounding of the sums is more than that of one number
                continue
            c, s = _rotation(squares[0], product, squares[1])
            for m in (a, v):
                m[:, p], m[:, q] = c * m[:, p] - s * m[:, q], s * m[:, p] + c * m[:, q]
            turned = True
        if not turned:
            break
    values = _each_number('sqrt', (a * a).sum(axis=0))
    if not all(values):
        raise TypeError('svd: not defined for arrays of numbers where a singular value is 0')
    order = (-values).argsort()
    return a[:, order] / values[order], values[order], v[:, order]


def _sweeps() -> Iterator[int]:
    """As many sweeps of rotations as could be needed; of NaN there is no end."""
    yield from range(_SWEEPS)
    raise numpy.linalg.LinAlgError('The rotations did not converge')


def _rotation(a: Any, b: Any, d: Any) -> tuple[Any, Any]:
    """Cosine and sine of the rotation that makes the symmetric matrix ((a, b), (b, d)) diagonal."""
    tau = (d - a) / (2 * b)
    t = 1 / (abs(tau) + (1 + tau * tau).sqrt())
    t = t if tau >= 0 else -t
    c = 1 / (1 + t * t).sqrt()
    return c, t * c


# --- helpers -----------------------------------------------------------------------------------------------------
def _identity(size: int, a: Any) -> Any:
    """The identity as numbers of the class of the elements of ``a``."""
    number = type(a.flat[0]) if a.size else int
    return numpy.array([[number(int(i == k)) for k in range(size)] for i in range(size)], object).reshape(size, size)


def _identity_like(a: Any) -> Any:
    return numpy.broadcast_to(_identity(a.shape[-1], a), a.shape)


def _each(function: Callable[[Any], Any], a: Any) -> Any:
    """A function of one matrix that returns a number, of each."""
    y = numpy.empty(a.shape[:-2], object)
    for i in numpy.ndindex(a.shape[:-2]):
        y[i] = function(a[i])
    return y


def _each_number(name: str, a: Any) -> Any:
    y = numpy.empty(a.shape, object)
    for i in numpy.ndindex(a.shape):
        y[i] = getattr(a[i], name)()
    return y


def _floats(a: Any) -> Any:
    return numpy.array([x.rounded() for x in a.flat], float).reshape(a.shape)


def _signs_of(v: Any, reference: Any) -> Any:
    """1 or -1 for each column: the sign that makes it point where the reference does."""
    return numpy.where((v * reference).sum(axis=-2, keepdims=True) < 0, -1, 1)
