"""Rows of linear equations, factors of matrices and norms."""

from __future__ import annotations

from typing import Any

import numpy as np

import minichainer.functions as F
from minichainer.backends.cuda import to_cpu
from minichainer.utils.type_check import InvalidType
from tests.functions.row import ANY, AWAY_FROM_0, DISTINCT, Bad, Domain, Row, Special, beside, case
from tests.functions.rows_elementwise import INF, INTEGERS
from tests.functions.rows_linear_algebra import NO_SPECIAL, SMALL, X
from tests.functions.rows_network import bad

MATRIX = {'zero-d': 'a matrix has two axes', **NO_SPECIAL}
ONE_SIGN = {'label': 'the row gives the results one sign', **MATRIX}
LIKE_FIRST = {'zero-size': 'the first row of the name has it', 'wrong kind': 'the first row of the name has it'}


def regular(x: Any) -> Any:
    """Matrices far from singular."""
    return x + beside(x, np.eye(x.shape[-1], dtype=x.dtype))


def _spread(x: Any) -> Any:
    """Matrices with singular values, and eigenvalues, far from each other."""
    return x + beside(x, np.eye(*x.shape[-2:], dtype=x.dtype) * np.arange(1, x.shape[-1] + 1).astype(x.dtype))


def _symmetric(x: Any) -> Any:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        return x  # for the function to refuse
    x = _spread(x)
    swapped = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
    return x + (np if isinstance(x, np.ndarray) else F).transpose(x, swapped)


def _half_read(x: Any, UPLO: str) -> Any:
    """A symmetric matrix, but for what is not read of it."""
    matrices = _symmetric(x)
    unread = np.triu(np.ones(matrices.shape[-2:], x.dtype), 1)
    return matrices + beside(x, unread if UPLO == 'L' else unread.T)


def _sign_of_first_row(v: Any) -> Any:
    return beside(v, np.sign(to_cpu(getattr(v, 'array', v))[..., :1, :]) + 0)


def _eigh(f: Any) -> Any:
    """Eigenvalues, and eigenvectors with a positive first element."""

    def call(x: Any, **params: Any) -> Any:
        w, v = f(_symmetric(x), **params)
        return w, v * _sign_of_first_row(v)

    return call


def _svd(f: Any, **how: Any) -> Any:
    """U with a positive first row, the singular values, and what belongs to that U."""

    def call(x: Any) -> Any:
        u, s, vh = f(_spread(x), **how)
        sign = _sign_of_first_row(u)
        return u * sign, s, vh * sign.swapaxes(-1, -2)

    return call


def _qr(f: Any) -> Any:
    """The factors with a positive first row of Q."""

    def call(x: Any) -> Any:
        q, r = f(_spread(x))
        sign = _sign_of_first_row(q)
        return q * sign, r * sign.swapaxes(-1, -2)

    return call


def _batched(f: Any) -> Any:
    """A function of NumPy's on the matrices one by one, as not all take batches in all versions."""

    def call(x: Any) -> Any:
        flat = x.reshape(-1, *x.shape[-2:])
        factors = [f(m) for m in flat] or [f(np.eye(*x.shape[-2:]))]
        return tuple(
            np.stack(part)[: len(flat)].reshape(*x.shape[:-2], *part[0].shape) for part in zip(*factors, strict=True)
        )

    return call


def _refusals(name: str, square: bool = True) -> tuple[Bad, ...]:
    call = getattr(F, name)
    label = f'{name} (Forward)'
    return (
        bad('wrong kind', lambda: call(INTEGERS[:, :2]), InvalidType, label, 'float', 'int32'),
        bad('a vector', lambda: call(X[0]), InvalidType, label, 'a.ndim >= 2', '(3,)'),
        *([bad('not square', lambda: call(X), InvalidType, label, 'a.shape[-1]', '(2, 3)')] if square else []),
    )


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    return np.asarray(np.linalg.norm(x, ord, axis, keepdims))


def norm(variant: str, domain: Domain, *cases: Any, **changes: Any) -> Row:
    """Norms of one kind."""
    excuses = {'zero-d': 'it has axes', 'label': 'a composition of other functions', **LIKE_FIRST}
    if 'special' not in changes:
        excuses['special values'] = 'the first row of the name has them'
    if any(0 in shape for c in cases for shape in c.shapes):
        del excuses['zero-size']
    return Row('norm', F.norm, _norm, (domain,), cases, variant=variant, except_from=excuses, **changes)


SYMMETRIC_CASES = (case((3, 3)), case((1, 1)), case((2, 3, 3)), case((0, 0)), case((0, 2, 2)))


def _solved(a: Any, b: Any) -> Any:
    """NumPy 1 takes matrices with fewer axes than ``a`` for vectors."""
    if b.ndim == 1:
        return np.linalg.solve(regular(a), np.broadcast_to(b[:, None], (*a.shape[:-2], len(b), 1)))[..., 0]
    return np.linalg.solve(regular(a), b.reshape((1,) * (a.ndim - b.ndim) + b.shape))


ROWS = [
    Row(
        'solve', lambda a, b: F.solve(regular(a), b), _solved, (SMALL, ANY),
        (
            case((3, 3), (3,)), case((3, 3), (3, 2)), case((2, 3, 3), (2, 3, 2)), case((2, 1, 2, 2), (3, 2, 1)),
            case((2, 2), (2, 2, 2)), case((2, 3, 3), (3,)), case((1, 1), (1,)), case((0, 0), (0, 2)),
            case((0, 2, 2), (0, 2, 3)), case((2, 2), (2, 0)),
        ),
        order=3,
        errors=(
            Bad('wrong kind', lambda: F.solve(INTEGERS[:, :2], X), InvalidType, ('solve', 'float', 'int32')),
            Bad('wrong dtype', lambda: F.solve(np.eye(2), X.astype('f')), InvalidType, ('float64', 'float32')),
            Bad('not square', lambda: F.solve(X, X), InvalidType, ('solve', 'a.shape[-1]', '(2, 3)')),
            Bad('a vector', lambda: F.solve(X[0], X[0]), InvalidType, ('solve', 'a.ndim >= 2', '(3,)')),
            Bad('rows', lambda: F.solve(np.eye(3), X), InvalidType, ('solve', '(3,)', '(2, 3)')),
            Bad('length', lambda: F.solve(np.eye(3), X[:, 0]), InvalidType, ('solve', '(3,)', '(2,)')),
            bad('batch', lambda: F.solve(np.ones((3, 2, 2)), np.ones((2, 2, 2))), InvalidType, 'solve', 'broadcast'),
            Bad('singular', lambda: F.solve(np.zeros((2, 2)), X), ValueError, ('solve', 'singular', '(2, 2)')),
        ),
        except_from={**MATRIX, 'label': 'vectors are reshaped'},
    ),
    Row(
        'logdet', lambda x: F.logdet(regular(x)), lambda x: np.asarray(np.linalg.slogdet(regular(x))[1]), (SMALL,),
        (case((3, 3)), case((1, 1)), case((2, 3, 3)), case((2, 0, 3, 3))), order=3, errors=_refusals('logdet'),
        label='Where',
        special=(
            Special((-np.eye(3) - np.eye(3),), expected=np.nan), Special((-np.eye(2),), expected=-INF),
            Special((np.eye(2) * 1e30 - np.eye(2),), expected=2 * np.log(1e30), dtypes='d'),
        ),
        except_from={'zero-d': 'a matrix has two axes'},
    ),
    Row(
        'slogdet', lambda x: F.slogdet(regular(x) * -1)[1], lambda x: np.asarray(np.linalg.slogdet(-regular(x))[1]),
        (SMALL,), (case((3, 3)), case((1, 1)), case((2, 3, 3)), case((0, 0))), order=3, label='slogdet',
        errors=_refusals('slogdet'), except_from=MATRIX,
    ),
    Row(
        'slogdet', lambda x: F.slogdet(regular(x) * -1)[0], lambda x: np.asarray(np.linalg.slogdet(-regular(x))[0]),
        (SMALL,), (case((3, 3)), case((2, 2)), case((0, 0))), variant='sign', order=0,
        except_from={'wrong kind': 'the other row has it', 'label': 'no node makes it', **MATRIX},
    ),
    Row(
        'eigh', _eigh(F.eigh), _eigh(lambda x: np.linalg.eigh(x)), (SMALL,), SYMMETRIC_CASES, order=3,
        errors=(
            *_refusals('eigh'),
            Bad('UPLO', lambda: F.eigh(np.eye(2), 'x'), ValueError, ('eigh', "'L', 'U'", "'x'")),
        ),
        except_from=ONE_SIGN,
    ),
    Row(
        'eigh', lambda x, UPLO: F.eigh(_half_read(x, UPLO), UPLO)[0],
        lambda x, UPLO: np.linalg.eigvalsh(_symmetric(x)), (SMALL,),
        (case((3, 3), UPLO='L'), case((3, 3), UPLO='U')), variant='UPLO', label='Eigh',
        except_from={**MATRIX, **LIKE_FIRST},
    ),
    Row(
        'svd', _svd(F.svd), _svd(np.linalg.svd, full_matrices=False), (SMALL,),
        (case((3, 3)), case((1, 1)), case((4, 2)), case((2, 4)), case((2, 3, 2)), case((0, 2, 2)), case((3, 0))),
        order=3, errors=_refusals('svd', square=False), except_from=ONE_SIGN,
    ),
    Row(
        'svd', lambda x: F.svd(x)[1], lambda x: np.linalg.svd(x)[1], (ANY,), (case((3, 3)), case((2, 4, 3))),
        variant='values', label='SVD', except_from={**MATRIX, **LIKE_FIRST},
    ),
    Row(
        'qr', _qr(F.qr), _qr(_batched(np.linalg.qr)), (SMALL,),
        (case((3, 3)), case((1, 1)), case((4, 2)), case((2, 3, 2)), case((0, 2, 2))), order=3,
        errors=_refusals('qr', square=False), except_from=ONE_SIGN,
    ),
    Row(
        'qr', _qr(F.qr), _qr(_batched(np.linalg.qr)), (SMALL,), (case((2, 4)), case((2, 2, 3))), variant='wide',
        except_from={**ONE_SIGN, **LIKE_FIRST},
    ),
    Row(
        'qr', lambda x: _qr(F.qr)(x)[1], lambda x: _qr(np.linalg.qr)(x)[1], (SMALL,), (case((3, 3)), case((9, 9))),
        variant='R', except_from={**ONE_SIGN, **LIKE_FIRST},
    ),
    Row(
        'norm', F.norm, _norm, (AWAY_FROM_0,),
        (
            case((3,)), case((2, 3)), case((2, 3, 2)), case(()), case((2, 3), axis=1), case((2, 3), axis=-2, ord=2),
            case((2, 3), axis=0, keepdims=True), case((3, 2, 2), ord='fro', axis=(0, -1)),
            case((2, 3), keepdims=True), case((3,), ord=3),
            case((2, 3), ord=3.5, axis=0), case((2, 3), ord=0.5, axis=1), case((3,), ord=-2),
            case((2, 3), ord='fro'), case((0,)), case((0, 3), axis=1), case((2, 0), axis=1, ord=3),
        ),
        order=3, label='norm',
        special=(
            Special((np.zeros(3),), expected=0.0, gradients=(np.zeros(3),)),
            Special((np.array([0.0, 3.0]),), {'ord': 3}, expected=3.0, gradients=(np.array([0.0, 1.0]),)),
            Special((np.array([INF, 1.0]),), expected=INF),
        ),
        errors=(
            Bad('wrong kind', lambda: F.norm(INTEGERS), InvalidType, ('norm', 'float', 'int32')),
            Bad('axis', lambda: F.norm(X, axis=2), InvalidType, ('norm', 'axis = 2')),
            Bad('axis type', lambda: F.norm(X, axis=1.0), TypeError, ('norm', 'int', '1.0')),
            Bad('axis twice', lambda: F.norm(X, axis=(1, -1)), ValueError, ('norm', 'duplicate')),
            Bad('axes', lambda: F.norm(np.ones((1, 2, 3)), ord=1), ValueError, ('norm', 'two', '(1, 2, 3)')),
            Bad('of vectors', lambda: F.norm(X[0], 'fro'), ValueError, ('norm', 'vectors', "'fro'")),
            Bad('of matrices', lambda: F.norm(X, 3), ValueError, ('norm', 'matrices', "'nuc'", '3')),
        ),
    ),
    norm(
        'extreme', DISTINCT, case((2, 3), ord=INF, axis=1), case((3,), ord=-INF), case((2, 3), ord=INF, axis=0,
        keepdims=True),
    ),
    norm('sum', AWAY_FROM_0, case((2, 3), ord=1, axis=1), case((3,), ord=1), case((0,), ord=1)),
    norm('count', Domain(low=0.5), case((2, 3), ord=0, axis=1), case((3,), ord=0, keepdims=True), order=0),
    norm(
        'matrices', AWAY_FROM_0, case((2, 3), ord=1), case((2, 3), ord=-1), case((2, 3), ord=INF),
        case((2, 3, 2), ord=-INF, axis=(2, 0)), case((3, 2), ord='nuc'), case((2, 3, 3), ord=2, axis=(1, 2)),
        case((2, 3, 2), ord=-2, axis=(0, 1), keepdims=True), case((2, 3, 2), ord=1, axis=(0, 1), keepdims=True),
    ),
]  # fmt: skip
