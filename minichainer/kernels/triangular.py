"""Triangular matrices by LAPACK's trtri and trtrs, in a fraction of the time of routines for any matrix."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.kernels import _lapack, linalg
from minichainer.kernels._dispatch import DECLINED, kernel

#: From this size on, the routine is faster than NumPy's general inverse, which has less overhead.
_LARGE = 24
#: From this size on, the routine is faster for any number of matrices.
_SOLVED = 8


@kernel(widens=True)
def lower_inverse(xp: Any, a: Any) -> Any:
    """The inverse of one lower triangular matrix (n, n) that is not singular and has zeros above the diagonal."""
    return xp.linalg.inv(a)


@lower_inverse.on('numpy', declines=True)
def _lower_inverse_numpy(xp: Any, a: Any) -> Any:
    if len(a) < _LARGE or a.dtype.char not in 'fd':
        return DECLINED
    invert = _lapack.routine({'f': 'strtri', 'd': 'dtrtri'}[a.dtype.char])
    upper, failed = invert(a.T, lower=0)  # the transposed matrix is in Fortran order
    return DECLINED if failed else upper.T


@kernel(widens=True)
def solve_upper(xp: Any, r: Any, b: Any) -> Any:
    """The solution X of RX = B for upper triangular matrices R with zeros below the diagonal; equal leading axes."""
    return linalg.solve(xp, r, b)


@solve_upper.on('numpy', declines=True)
def _solve_upper_numpy(xp: Any, r: Any, b: Any) -> Any:
    if b.size == 0 or not _lapack.suits(r, _SOLVED):
        return DECLINED
    solve, size, y = _lapack.routine('dtrtrs'), r.shape[-1], numpy.empty_like(b, order='C')
    lower = numpy.asarray(r, 'd', order='C').reshape(-1, size, size).swapaxes(-1, -2)  # in Fortran order
    places = y.reshape(-1, *b.shape[-2:])
    for a, x, place in zip(lower, _lapack.in_fortran_order(b), places, strict=True):
        _, failed = solve(a, x, lower=1, trans=1, overwrite_b=1)  # in x
        if failed:  # singular: NumPy raises the error
            return DECLINED
        place[...] = x
    return y
