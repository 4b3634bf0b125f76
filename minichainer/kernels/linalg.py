"""Inverses, factorizations and determinants of matrices in the last two axes, as in numpy.linalg.

LAPACK has no float16; it is computed in float32. cuSOLVER's errors are raised in debug mode only.
"""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.backends.cuda import errors_of_matrices
from minichainer.kernels import _lapack
from minichainer.kernels._dispatch import DECLINED, kernel

#: From this size on, LAPACK called for each matrix is faster than NumPy's loop, for any number of them.
_LARGE = 32


@kernel(widens=True)
def inverse(xp: Any, a: Any) -> Any:
    """The inverses of square matrices."""
    with errors_of_matrices():
        return xp.linalg.inv(a)


@inverse.on('numpy', declines=True)
def _inverse_numpy(xp: Any, a: Any) -> Any:
    """The steps of NumPy, with fewer copies."""
    if not _lapack.suits(a, _LARGE):
        return DECLINED
    solve, size, y = _lapack.routine('dgesv'), a.shape[-1], numpy.empty(a.shape, a.dtype)
    identity = numpy.eye(size, order='F')
    for x, place in zip(_lapack.in_fortran_order(a), y.reshape(-1, size, size), strict=True):
        _, _, place[...], failed = solve(x, identity, overwrite_a=1)
        if failed:  # singular: NumPy raises the error
            return DECLINED
    return y


@kernel(widens=True)
def solve(xp: Any, a: Any, b: Any) -> Any:
    """The solution X of AX = B for matrices; leading axes broadcast."""
    ndim = max(a.ndim, b.ndim)  # NumPy before 2 treats a b with fewer axes than a as vectors
    a, b = (x.reshape((1,) * (ndim - x.ndim) + x.shape) for x in (a, b))
    with errors_of_matrices():
        return xp.linalg.solve(a, b)


@solve.on('cupy')
def _solve_cupy(xp: Any, a: Any, b: Any) -> Any:
    """CuPy takes only arrays whose leading axes are equal."""
    lead = numpy.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return solve.generic(xp, *(xp.broadcast_to(x, lead + x.shape[-2:]) for x in (a, b)))


@kernel(widens=True)
def determinant(xp: Any, a: Any) -> Any:
    """The determinants of square matrices."""
    return xp.linalg.det(a)


@kernel(widens=True)
def log_determinant(xp: Any, a: Any) -> tuple[Any, Any]:
    """Signs of the determinants and logarithms of their absolute values."""
    sign, log = xp.linalg.slogdet(a)
    return xp.asarray(sign), xp.asarray(log)


@kernel(widens=True)
def cholesky(xp: Any, a: Any) -> Any:
    """The lower triangular L of A = L L^T."""
    with errors_of_matrices():
        return xp.linalg.cholesky(a)


@cholesky.on('numpy', declines=True)
def _cholesky_numpy(xp: Any, a: Any) -> Any:
    """One matrix, in half of NumPy's time: no copy to Fortran order, where L is the upper factor, transposed."""
    if a.ndim != 2 or not _lapack.suits(a, 1):
        return DECLINED
    upper, failed = _lapack.routine('dpotrf')(a.astype('d', order='C').T, lower=0, overwrite_a=1)
    return DECLINED if failed else upper.T.astype(a.dtype, copy=False)  # NumPy raises the error


@kernel(widens=True)
def eigh(xp: Any, a: Any, uplo: str) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of symmetric matrices, from one triangle."""
    with errors_of_matrices():
        w, v = xp.linalg.eigh(a, uplo)
    return w, v


@kernel(widens=True)
def svd(xp: Any, a: Any) -> tuple[Any, Any, Any]:
    """The thin singular value decomposition."""
    return _thin_svd(xp, a)


def _thin_svd(xp: Any, a: Any) -> tuple[Any, Any, Any]:
    with errors_of_matrices():
        u, s, vh = xp.linalg.svd(a, full_matrices=False)
    return u, s, vh


@svd.on('numpy')
def _svd_numpy(xp: Any, a: Any) -> tuple[Any, Any, Any]:
    if not numpy.isfinite(a).all():  # LAPACK may never return
        raise numpy.linalg.LinAlgError('a matrix with an infinity or NaN has no singular values')
    return _thin_svd(numpy, a)


@kernel(widens=True)
def qr(xp: Any, a: Any) -> tuple[Any, Any]:
    """Orthonormal columns and an upper triangular matrix."""
    with errors_of_matrices():
        q, r = xp.linalg.qr(a)
    return q, r
