"""Rows of kernels of inverses, factors and determinants of matrices."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tests.kernels.drawing import Row, drawn, each
from tests.kernels.kernels import kernel, threshold

_SQUARES = [(1, 1), (3, 3), (2, 4, 4), (0, 2, 2)]


def _well(dtype: str, *shape: int) -> Any:
    """Matrices whose inverses are small."""
    return (drawn('d', shape)[0] * 0.4 + 2 * np.eye(*shape[-2:])).astype(dtype)


def _determinant(a: Any) -> Any:
    """By the definition: the sum over permutations."""
    n, found = a.shape[-1], 0.0
    for order in itertools.permutations(range(n)):
        sign = round(np.linalg.det(np.eye(n)[list(order)]))
        found = found + sign * np.prod([a[..., i, j] for i, j in enumerate(order)], axis=0)
    return np.asarray(found)


def _cofactors(a: Any) -> Any:
    found = np.empty(a.shape)
    for *at, i, j in np.ndindex(*a.shape):
        minor = np.delete(np.delete(a[tuple(at)], i, 0), j, 1)
        found[(*at, i, j)] = (-1) ** (i + j) * _determinant(minor)
    return found


def _inverse(a: Any) -> Any:
    return _cofactors(a).swapaxes(-1, -2) / _determinant(a)[..., None, None]


def _change_of_cofactors(a: Any, step: Any) -> Any:
    """The derivative along a line, on which they are polynomials of a degree below 4: this quotient is exact."""
    at = {k: _cofactors(a + k * step) for k in (-2, -1, 1, 2)}
    return (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / 12


def _singular(dtype: str, n: int, rank: int) -> Any:
    left, right = drawn('d', (3, n, rank), (3, rank, n))
    return (left @ right).astype(dtype)


def _with_determinant(k: Any, a: Any) -> Any:
    return k(a, kernel('linalg.determinant')(a))


def _symmetric(dtype: str, *shape: int) -> Any:
    a = _well('d', *shape)
    return (a @ a.swapaxes(-1, -2)).astype(dtype)


def _joined(left: Any, middle: Any, right: Any) -> Any:
    """The product of three matrices, in float64, as an array of their dtype."""
    left, middle, right = (a.astype('d') for a in (left, middle, right))
    return left @ middle @ right


def _t(a: Any) -> Any:
    return a.swapaxes(-1, -2)


def _diagonal(values: Any) -> Any:
    return values[..., None] * np.eye(values.shape[-1])


def _of_dtype(dtype: Any, *arrays: Any) -> tuple[Any, ...]:
    return tuple([a.astype(dtype) for a in arrays])


def _eigh(k: Any, a: Any, uplo: str) -> Any:
    """What does not depend on the signs of the vectors."""
    w, v = k(a, uplo)
    one = np.eye(a.shape[-1])
    return w, *_of_dtype(v.dtype, _joined(v, _diagonal(w), _t(v)), _joined(_t(v), one, v))


def _eigh_plain(a: Any, uplo: str) -> Any:
    half = np.tril(a, -1) if uplo == 'L' else _t(np.triu(a, 1))
    whole = half + _t(half) + _diagonal(np.diagonal(a, axis1=-2, axis2=-1))
    return np.linalg.eigvalsh(whole), whole, np.broadcast_to(np.eye(a.shape[-1]), a.shape)


def _svd(k: Any, a: Any) -> Any:
    u, s, v = k(a)
    one = np.eye(s.shape[-1])
    m, n = (np.eye(size) for size in a.shape[-2:])
    return s, *_of_dtype(s.dtype, _joined(u, _diagonal(s), v), _joined(_t(u), m, u), _joined(v, n, _t(v)), one)


def _svd_plain(a: Any) -> Any:
    less = min(a.shape[-2:])
    one = np.eye(less)
    squares = np.linalg.eigvalsh(a @ _t(a) if a.shape[-2] == less else _t(a) @ a)
    ones = np.broadcast_to(one, (*a.shape[:-2], less, less))
    return np.sqrt(squares[..., ::-1]), a, ones, ones, one


def _qr(k: Any, a: Any) -> Any:
    q, r = k(a)
    m, n = np.eye(a.shape[-2]), np.eye(a.shape[-1])
    return *_of_dtype(q.dtype, _joined(q, r, n), _joined(_t(q), m, q)), r * np.tri(*r.shape[-2:], -1, dtype=r.dtype)


def _qr_plain(a: Any) -> Any:
    m, n = a.shape[-2:]
    less = min(m, n)
    return a, np.broadcast_to(np.eye(less), (*a.shape[:-2], less, less)), np.zeros((*a.shape[:-2], less, n))


def _cholesky(a: Any) -> Any:
    found = np.zeros(a.shape)
    for i, j in zip(*np.tril_indices(a.shape[-1]), strict=True):
        rest = a[..., i, j] - (found[..., i, :j] * found[..., j, :j]).sum(-1)
        found[..., i, j] = np.sqrt(rest) if i == j else rest / found[..., j, j]
    return found


def _lower(dtype: str, n: int) -> Any:
    return np.tril(drawn(dtype, (n, n))[0] * np.asarray(0.1, dtype) + 2 * np.eye(n, dtype=dtype))


def _solved_lower(a: Any) -> Any:
    found = np.zeros(a.shape)
    for i in range(len(a)):
        found[i] = (np.eye(len(a))[i] - a[i, :i] @ found[:i]) / a[i, i]
    return found


def _solved_upper(r: Any, b: Any) -> Any:
    found = np.zeros(b.shape)
    for i in reversed(range(r.shape[-1])):
        rest = b[..., i, :] - (r[..., i, :, None] * found).sum(-2)
        found[..., i, :] = rest / r[..., i, i, None]
    return found


def _dominant(dtype: str, *shape: int) -> Any:
    """Matrices that are eliminated without exchanges."""
    return (drawn('d', shape)[0] * 0.1 + 2 * np.eye(*shape[-2:])).astype(dtype)


def _eliminated(a: Any) -> Any:
    n = a.shape[-1]
    both = np.concatenate((a, np.broadcast_to(np.eye(n), a.shape)), -1)
    for i in range(n):
        both[..., i, :] /= both[..., i, i, None]
        column = np.where(np.arange(n) == i, 0, both[..., i])
        both -= column[..., None] * both[..., i, None, :]
    return both[..., n:]


_SIZE, _SOLVED = threshold('triangular', '_LARGE'), threshold('triangular', '_SOLVED')
_LARGE = threshold('linalg', '_LARGE')
ROWS = {
    'linalg.inverse': Row(each(lambda t, *s: (_well(t, *s),), *_SQUARES), plain=_inverse),
    'linalg.inverse, of more rows': Row(
        each(
            lambda t, *s: (_dominant(t, *s),),
            (_LARGE - 1, _LARGE - 1), (_LARGE, _LARGE), (2, 1, _LARGE, _LARGE), (0, _LARGE, _LARGE),
        ),
        plain=_eliminated,
    ),
    'linalg.solve': Row(
        each(
            lambda t, a, b: (_well(t, *a), drawn(t, b)[0]),
            ((3, 3), (3, 2)), ((2, 3, 3), (2, 3, 4)), ((3, 3), (2, 3, 1)), ((2, 3, 3), (3, 2)), ((2, 2), (2, 0)),
        ),
        plain=lambda a, b: _inverse(a) @ b,
    ),
    'linalg.determinant': Row(each(lambda t, *s: (drawn(t, s)[0],), *_SQUARES, (0, 0)), plain=_determinant),
    'linalg.log_determinant': Row(
        each(lambda t, a: (np.asarray(a, t),), [[2.0, 1], [0.5, -3]], [[[1.0, 2], [2, 4]], [[3, 1], [1, 1]]]),
        plain=lambda a: (np.sign(_determinant(a)), np.log(np.abs(_determinant(a)))),
    ),
    'linalg.cholesky': Row(each(lambda t, *s: (_symmetric(t, *s),), *_SQUARES), plain=_cholesky),
    'linalg.eigh': Row(
        each(lambda t, s, uplo: (_well(t, *s), uplo), *itertools.product([(3, 3), (2, 4, 4)], 'UL')),
        call=_eigh, plain=_eigh_plain, numpy_only=True, tolerance=32, roundings=4,
    ),
    'linalg.svd': Row(
        each(lambda t, *s: (drawn(t, s)[0],), (3, 3), (2, 4, 3), (2, 5)),
        call=_svd, plain=_svd_plain, numpy_only=True, tolerance=32, roundings=4,
    ),
    'linalg.qr': Row(
        each(lambda t, *s: (drawn(t, s)[0],), (3, 3), (4, 3), (2, 5)),
        call=_qr, plain=_qr_plain, numpy_only=True, tolerance=32, roundings=4,
    ),
    'triangular.lower_inverse': Row(
        each(lambda t, n: (_lower(t, n),), 1, 5, _SIZE - 1, _SIZE, 60), plain=_solved_lower
    ),
    'triangular.solve_upper': Row(
        each(
            lambda t, n, k, *lead: (np.triu(_dominant(t, *lead, n, n)), drawn(t, (*lead, n, k))[0]),
            (1, 1), (_SOLVED - 1, 4), (_SOLVED, 4), (_SOLVED, 1, 2, 3), (_SOLVED, 0), (_SOLVED, 2, 0), (40, 9),
        ),
        plain=_solved_upper,
    ),
    'cofactors.cofactors': Row(
        each(lambda t, *s: (drawn(t, s)[0],), (1, 1), (2, 2), (5, 3, 3), (2, 2, 4, 4), (0, 3, 3)),
        call=_with_determinant, plain=_cofactors, tolerance=64,
    ),
    # Some are not inverted exactly, some not at all.
    'cofactors.cofactors, singular': Row(
        lambda t: iter([
            (np.zeros((2, 3, 3), t),), (np.asarray([[[1.0, 2], [2, 4]], [[1, 0], [0, 1]]], t),),
            (np.diag(np.asarray([2.0, 0, 3], t)),), (np.diag(np.asarray([2.0, 0, 0], t)),),
            (np.diag(np.asarray([np.finfo(t).tiny / 100, 2.0], t)),),
        ]),
        call=_with_determinant, plain=_cofactors, tolerance=64,
    ),
    'cofactors.singular_cofactors': Row(
        each(lambda t, n, rank: (_singular(t, n, rank),), (1, 1), (3, 3), (3, 2), (4, 3), (4, 2), (2, 0)),
        # cuSOLVER's factors of 3000 small matrices gave 4 (float64) to 20 (float32) times the error of LAPACK's.
        plain=_cofactors, dtypes='fd', relative_to='one', tolerance=64, more_on_a_device=192,
    ),
    'cofactors.change_of_cofactors': Row(
        each(lambda t, *s: tuple(drawn(t, s, s)), (1, 1), (2, 2), (5, 3, 3), (2, 4, 4)),
        plain=_change_of_cofactors, tolerance=256,
    ),
    'cofactors.change_of_cofactors, singular': Row(
        each(lambda t, n, rank: (_singular(t, n, rank), drawn(t, (3, n, n))[0]), (3, 2), (4, 2), (3, 1)),
        plain=_change_of_cofactors, relative_to='one', tolerance=256,
    ),
}  # fmt: skip
