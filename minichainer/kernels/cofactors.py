"""Cofactors of matrices and their change: the first two derivatives of the determinant, at any rank.

Computed from singular values: the cofactors of a diagonal matrix are products of the other elements, and those of an
orthogonal matrix are its elements times its determinant. Nothing is divided, so singular matrices need no special
case.
"""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.kernels._dispatch import kernel


@kernel(widens=True)
def cofactors(xp: Any, a: Any, determinant: Any) -> Any:
    """For each element, the signed determinant of the matrix without its row and column.

    They equal the determinant times the transposed inverse, or its limit where there is no inverse.

    Args:
        xp: numpy or cupy.
        a: float array ``(..., n, n)``.
        determinant: the determinants ``(...)``.
    """
    return singular_cofactors(xp, a)


@cofactors.on('numpy')
def _cofactors_numpy(xp: Any, a: Any, determinant: Any) -> Any:
    """By the inverse, which takes less time; whether there is one must be read, for which a device would wait."""
    try:
        with numpy.errstate(over='ignore', invalid='ignore'):  # where there is almost no inverse
            y = determinant[..., None, None] * xp.linalg.inv(a).swapaxes(-1, -2)
    except numpy.linalg.LinAlgError:
        return singular_cofactors(xp, a)
    return y if xp.isfinite(y).all() or not xp.isfinite(a).all() else singular_cofactors(xp, a)


def singular_cofactors(xp: Any, a: Any) -> Any:
    """The cofactors of matrices of any rank with finite elements."""
    u, s, v, sign = _factors(xp, a)
    return (u * (_products_of_others(xp, s) * sign)[..., None, :]) @ v


@kernel(widens=True)
def change_of_cofactors(xp: Any, a: Any, step: Any) -> Any:
    """The derivative of the cofactors in the direction ``step``, one or several matrices like ``a``."""
    u, s, v, sign = _factors(xp, a)
    inner = u.swapaxes(-1, -2) @ step @ v.swapaxes(-1, -2)
    products = _products_of_all_but_two(xp, s) * sign[..., None]
    change = -products * inner.swapaxes(-1, -2)
    diagonal = xp.arange(a.shape[-1])
    change[..., diagonal, diagonal] = (products @ inner[..., diagonal, diagonal, None])[..., 0]
    return u @ change @ v


def _factors(xp: Any, a: Any) -> tuple[Any, Any, Any, Any]:
    """The singular value decomposition, and the sign of the determinant of both orthogonal factors.

    All are NaN for a matrix that is not finite, of which LAPACK may never return.
    """
    finite = xp.isfinite(a).all(axis=(-2, -1))[..., None]
    u, s, v = xp.linalg.svd(xp.where(finite[..., None], a, xp.zeros((), a.dtype)))
    sign = xp.sign(xp.linalg.det(u) * xp.linalg.det(v))[..., None].astype(a.dtype)
    undefined = xp.where(finite, xp.zeros((), a.dtype), xp.asarray(numpy.nan, a.dtype))
    return u + undefined[..., None], s + undefined, v + undefined[..., None], sign


def _products_of_others(xp: Any, s: Any) -> Any:
    """For each element of the last axis, the product of all others."""
    first = xp.ones((*s.shape[:-1], 1), s.dtype)
    before = xp.cumprod(xp.concatenate((first, s[..., :-1]), axis=-1), axis=-1)
    after = xp.cumprod(xp.concatenate((first, s[..., :0:-1]), axis=-1), axis=-1)
    return before * after[..., ::-1]


def _products_of_all_but_two(xp: Any, s: Any) -> Any:
    """Element ij is the product of all elements of the last axis except i and j; 0 on the diagonal."""
    size = s.shape[-1]
    products = xp.empty((*s.shape, size), s.dtype)
    for k in range(size):
        without = s.copy()
        without[..., k] = 1
        products[..., k, :] = _products_of_others(xp, without)
        products[..., k, k] = 0
    return products
