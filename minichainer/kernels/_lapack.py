"""LAPACK's routines for single matrices, imported at the first call.

They take matrices in Fortran order: the transpose of an array in C order. NumPy computes float32 in float64, so that
results are precise to the last digit; the kernels that call LAPACK in its place do the same.
"""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def routine(name: str) -> Any:
    """The routine of a name like ``'dpotrf'``."""
    from scipy.linalg import lapack

    return getattr(lapack, name)


def suits(a: Any, least: int) -> bool:
    """Whether an array is of square matrices of float32 or float64, at least so large and at least one."""
    return a.ndim > 1 and a.size > 0 and a.shape[-1] == a.shape[-2] >= least and a.dtype.char in 'fd'


def in_fortran_order(a: Any) -> list[Any]:
    """Copies in float64 of all matrices of an array, for routines to write to."""
    transposed = a.swapaxes(-1, -2).astype('d', order='C')
    return [x.T for x in transposed.reshape(-1, *transposed.shape[-2:])]
