"""Rows of products and factors of matrices, and of Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

import minichainer as chainer
import minichainer.functions as F
from minichainer.utils.type_check import InvalidType
from tests.functions.row import ANY, Bad, Domain, Row, beside, case
from tests.functions.rows_elementwise import INTEGERS

X = np.ones((2, 3))
SMALL = Domain(low=-0.3, high=0.3)
NO_SPECIAL = {'special values': 'sums of products of everything with everything'}


def _regular(x: Any) -> Any:
    """A matrix that is far from singular."""
    return x + beside(x, np.eye(x.shape[-1], dtype=x.dtype))


def _positive(x: Any) -> Any:
    transposed = x.swapaxes(-1, -2) if isinstance(x, np.ndarray) else F.transpose(x)
    return (F.matmul if isinstance(x, chainer.Variable) else np.matmul)(x, transposed) + beside(
        x, np.eye(len(x), dtype=x.dtype)
    )


def matrix(name: str, reference: Any, label: str, ndim: int, cases: Any) -> Row:
    """A function of square matrices."""
    call = getattr(F, name)
    tall, flat = np.ones((2, 3, 2)[3 - ndim :]), np.ones((2, 2, 2, 2)[: 5 - ndim])
    return Row(
        name, lambda x: call(_regular(x)), lambda x: reference(_regular(x)), (SMALL,), cases, order=3, label=label,
        errors=(
            Bad('wrong kind', lambda: call(INTEGERS[:, :2]), InvalidType, ('float', 'int32')),
            Bad('not square', lambda: call(tall), InvalidType, ('a.shape[-1]', str(tall.shape))),
            Bad('wrong ndim', lambda: call(flat), InvalidType, (f'a.ndim == {ndim}', str(flat.shape))),
        ),
        except_from={'zero-d': 'a matrix has two axes', **NO_SPECIAL},
    )  # fmt: skip


SINGULAR = Bad('singular', lambda: F.inv(np.zeros((2, 2))), ValueError, ('inv', 'singular', '(2, 2)'))


def _batch_matmul(a: Any, b: Any, transa: bool = False, transb: bool = False) -> Any:
    a, b = (x[:, :, None] if x.ndim == 2 else x for x in (a, b))
    return (a.swapaxes(1, 2) if transa else a) @ (b.swapaxes(1, 2) if transb else b)


def _einsum(subscripts: str) -> Any:
    return lambda *xs: F.einsum(subscripts, *xs)


def einsum(subscripts: str, *cases: Any, order: int = 2) -> Row:
    """One use of einsum."""
    domains = (ANY,) * len(cases[0].shapes)
    shapes = [shape for c in cases for shape in c.shapes]
    excuses = {'wrong kind': 'the row of ij,jk has it', **NO_SPECIAL}
    if len(domains) > 1:
        excuses['wrong dtype'] = 'the wider dtype is taken'
    if () not in shapes:
        excuses['zero-d'] = 'the subscripts name axes'
    if not any(0 in shape for shape in shapes):
        excuses['zero-size'] = 'the row of ij,jk has it'
    return Row(
        'einsum', _einsum(subscripts), lambda *xs: np.asarray(np.einsum(subscripts, *xs)), domains, cases,
        variant=subscripts, order=order, label='EinSum', except_from=excuses,
    )  # fmt: skip


EINSUM_ERRORS = (
    Bad('wrong kind', lambda: F.einsum('ij->i', INTEGERS), InvalidType, ('EinSum', 'float', 'int32')),
    Bad('sizes', lambda: F.einsum('ij,jk->ik', X, X), InvalidType, ('EinSum', 'one size', '(2, 3), (2, 3)')),
    Bad('diagonal', lambda: F.einsum('ii->i', X), InvalidType, ('EinSum', 'one size', '(2, 3)')),
    Bad('ndim', lambda: F.einsum('ijk', X), InvalidType, ('EinSum', 'ndim', '3', '(2, 3)')),
    Bad('ndim below', lambda: F.einsum('i', X), InvalidType, ('EinSum', 'ndim', '1', '(2, 3)')),
    Bad('symbol', lambda: F.einsum('i$->i', X), ValueError, ('einsum', '$', 'valid symbol')),
    Bad('count', lambda: F.einsum('ij,jk->ik', X), ValueError, ('Number of einsum subscripts', '2 and 1')),
    Bad('nothing', lambda: F.einsum(), ValueError, ('No input operands',)),
    Bad('unknown', lambda: F.einsum('ij->jk', X), ValueError, ("'k'", 'did not appear')),
    Bad('twice', lambda: F.einsum('ij->ii', X), ValueError, ("'i'", 'more than once')),
    Bad('broadcast', lambda: F.einsum('...i,...i->...i', X, X[:, :1]), InvalidType, ('EinSum', 'one size (3)', '1')),
    Bad('unlike', lambda: F.einsum('...,...->...', X, X[:, :2]), InvalidType, ('EinSum', 'one size (3)', '2')),
    Bad('lost', lambda: F.einsum('...i->i', X), ValueError, ('Ellipsis', 'not supported')),
    Bad('dots', lambda: F.einsum('i.j->i', X), ValueError, ("'.'", 'valid symbol')),
    Bad('two of them', lambda: F.einsum('...i...->...i', X), ValueError, ('at most one Ellipsis',)),
    Bad('no list', lambda: F.einsum(X, 3), ValueError, ('list of ints', '3')),
    Bad('high', lambda: F.einsum(X, [0, 60]), ValueError, ('0 to 51', '60')),
)


def _tensordot_errors() -> tuple[Bad, ...]:
    call = F.tensordot
    return (
        Bad('wrong kind', lambda: call(INTEGERS, INTEGERS, 1), InvalidType, ('TensorDot', 'float', 'int32')),
        Bad('sizes', lambda: call(X, X, axes=1), ValueError, ('tensordot', 'sizes', '(2, 3) and (2, 3)')),
        Bad('float', lambda: call(X, X, axes=1.5), TypeError, ('tensordot', 'axes', '1.5')),
        Bad('triple', lambda: call(X, X, axes=((0,), (0,), (1,))), ValueError, ('tensordot', 'pair', '3')),
        Bad('counts', lambda: call(X, X, axes=([0, 1], [0])), ValueError, ('tensordot', 'as many axes', '(2, 3)')),
        Bad('many', lambda: call(X, X, axes=3), ValueError, ('tensordot', 'at least 3', '(2, 3)')),
        Bad('not there', lambda: call(X, X, axes=([2], [0])), ValueError, ('tensordot', 'different axes', '2')),
        Bad('twice', lambda: call(X, X, axes=([0, -2], [0, 1])), ValueError, ('tensordot', 'different axes', '-2')),
    )


ROW_NUMBERS, COLUMN_NUMBERS = np.array([0, 2, 2, -1, 0, 0]), np.array([1, 0, 3, -1, 1, 2])


def _sparse(data: Any) -> Any:
    """A sparse matrix of 3 rows and 4 columns, or two of them; one entry is not there, two are at one place."""
    rows, columns = (beside(data, np.broadcast_to(n, data.shape)) for n in (ROW_NUMBERS, COLUMN_NUMBERS))
    coo = chainer.utils.CooMatrix(getattr(data, 'array', data), rows, columns, (3, 4), 'other')
    coo.data = data
    return coo


def _dense(data: Any) -> Any:
    dense = np.zeros((*data.shape[:-1], 3, 4))
    for entry in np.ndindex(data.shape):
        if ROW_NUMBERS[entry[-1]] >= 0:
            dense[(*entry[:-1], ROW_NUMBERS[entry[-1]], COLUMN_NUMBERS[entry[-1]])] += data[entry]
    return dense


def _turned(x: Any, turn: bool) -> Any:
    return x.swapaxes(-1, -2) if turn else x


def _sparse_first(data: Any, b: Any, **params: Any) -> Any:
    return F.sparse_matmul(_sparse(data), b, **params)


def _sparse_last(data: Any, a: Any, **params: Any) -> Any:
    return F.sparse_matmul(a, _sparse(data), **params)


def _sparse_first_reference(data: Any, b: Any, transa: bool = False, transb: bool = False) -> Any:
    return _turned(_dense(data), transa) @ _turned(b, transb)


def _sparse_last_reference(data: Any, a: Any, transa: bool = False, transb: bool = False) -> Any:
    return _turned(a, transa) @ _turned(_dense(data), transb)


COO = chainer.utils.to_coo(X)
SPARSE_EXCUSES = {'zero-d': 'a matrix has two axes', 'wrong dtype': 'the wider dtype is taken', **NO_SPECIAL}


def transform(name: str, reference: Any) -> Row:
    """A Fourier transform."""
    call = getattr(F, name)

    def pair(real: Any, imag: Any) -> Any:
        return call((real, imag))

    def expected(real: Any, imag: Any) -> Any:
        y = reference(real + 1j * imag)
        return y.real, y.imag

    where = 'FFT (Forward)'
    return Row(
        name, pair, expected, (ANY, ANY), (case((4,), (4,)), case((2, 3), (2, 3)), case((0, 3), (0, 3))), order=3,
        label='FFT',
        errors=(
            Bad('wrong kind', lambda: pair(INTEGERS, INTEGERS), InvalidType, (where, 'float', 'int32')),
            Bad('wrong dtype', lambda: pair(X, X.astype('f')), InvalidType, (where, 'float64', 'float32')),
            Bad('shapes', lambda: pair(X, X[0]), InvalidType, (where, '(2, 3)', '(3,)')),
            Bad('no axis', lambda: pair(np.array(1.0), np.array(1.0)), InvalidType, (where, 'axis', '()')),
            Bad('no pair', lambda: call((X,)), ValueError, (name, 'pair', '1')),
            Bad('an array', lambda: call(X), ValueError, (name, 'pair', 'ndarray')),
        ),
        except_from={'zero-d': 'there must be an axis', **NO_SPECIAL},
    )  # fmt: skip


ROWS = [
    matrix('inv', np.linalg.inv, 'Inv', 2, (case((3, 3)), case((1, 1)), case((0, 0)))),
    matrix('batch_inv', np.linalg.inv, 'BatchInv', 3, (case((2, 3, 3)), case((0, 2, 2)))),
    matrix('det', np.linalg.det, 'Reshape', 2, (case((3, 3)), case((1, 1)), case((0, 0)))),
    matrix('batch_det', np.linalg.det, 'det', 3, (case((2, 3, 3)), case((0, 2, 2)))),
    Row(
        'inv', lambda x: F.inv(x), lambda x: np.linalg.inv(x), (Domain(low=1.0, high=2.0),), (case((1, 1)),),
        variant='errors', errors=(SINGULAR,),
        except_from={
            'zero-d': 'a matrix has two axes', 'zero-size': 'the row of inv has it',
            'wrong kind': 'the row of inv has it', 'label': 'the row of inv has it', **NO_SPECIAL,
        },
    ),
    Row(
        'cholesky', lambda x: F.cholesky(_positive(x)), lambda x: np.linalg.cholesky(_positive(x)), (ANY,),
        (case((3, 3)), case((1, 1))), order=3, label='cholesky',
        errors=(
            Bad('wrong kind', lambda: F.cholesky(INTEGERS), InvalidType, ('cholesky', 'float', 'int32')),
            Bad('wrong ndim', lambda: F.cholesky(np.ones((2, 2, 2))), InvalidType, ('cholesky', 'ndim', '(2, 2, 2)')),
            Bad('not square', lambda: F.cholesky(X), np.linalg.LinAlgError, ('cholesky', 'square', '(2, 3)')),
            Bad('negative', lambda: F.cholesky(-np.eye(2)), np.linalg.LinAlgError, ('cholesky', 'positive definite')),
        ),
        except_from={'zero-d': 'a matrix has two axes', 'zero-size': 'NumPy refuses such a matrix', **NO_SPECIAL},
    ),
    Row(
        'batch_matmul', F.batch_matmul, _batch_matmul, (ANY, ANY),
        (
            case((2, 3, 4), (2, 4, 2)), case((2, 4, 3), (2, 4, 2), transa=True),
            case((2, 3, 4), (2, 2, 4), transb=True),
            case((3, 4), (3, 4), transa=True), case((3, 4), (3, 4), transb=True), case((0, 2, 3), (0, 3, 2)),
            case((1, 2, 3), (2, 3, 3)),
        ),
        order=3, label='BatchMatMul',
        errors=(
            Bad('wrong kind', lambda: F.batch_matmul(INTEGERS, INTEGERS, True), InvalidType, ('BatchMatMul', 'int')),
            Bad('misfit', lambda: F.batch_matmul(X, X), InvalidType, ('BatchMatMul', 'columns', '(2, 3, 1)')),
            Bad('a vector', lambda: F.batch_matmul(X[0], X), InvalidType, ('BatchMatMul', 'a.ndim', '(3,)')),
            Bad(
                'wrong dtype', lambda: F.batch_matmul(X, X.astype('f'), True), InvalidType,
                ('BatchMatMul', 'float64', 'float32'),
            ),
        ),
        except_from={'zero-d': 'a batch of matrices has an axis', **NO_SPECIAL},
    ),
    Row(
        'tensordot', F.tensordot, lambda a, b, axes=2: np.asarray(np.tensordot(a, b, axes)), (ANY, ANY),
        (
            case((2, 3, 2), (3, 2, 2)), case((2, 3), (3, 2), axes=1), case((2,), (3,), axes=0),
            case((), (3,), axes=0),
            case((2, 3, 4), (4, 2, 3), axes=([2, 0], [0, 1])),
            case((2, 3, 4), (3, 4, 2), axes=([-1, 0, 1], [1, 2, 0])),
            case((3, 2), (3, 4), axes=(0, 0)), case((0, 2), (2, 3), axes=1), case((2, 0), (0, 3), axes=1),
            case((2, 3), (4, 3, 2, 5), axes=([1], [1])),
        ),
        order=3, label='TensorDot', errors=_tensordot_errors(),
        except_from={'wrong dtype': 'the wider dtype is taken', **NO_SPECIAL},
    ),
    Row(
        'einsum', _einsum('ij,jk->ik'), lambda a, b: np.einsum('ij,jk->ik', a, b), (ANY, ANY),
        (case((2, 3), (3, 4)), case((0, 3), (3, 2)), case((2, 0), (0, 2))), order=3, label='EinSum',
        errors=EINSUM_ERRORS,
        except_from={'zero-d': 'the subscripts name axes', 'wrong dtype': 'the wider dtype is taken', **NO_SPECIAL},
    ),
    einsum('ij,jk', case((2, 3), (3, 4))),
    einsum('ii', case((3, 3))),
    einsum('ii->i', case((3, 3)), order=3),
    einsum('iij,ikk->ij', case((2, 2, 3), (2, 3, 3))),
    einsum('iii->i', case((2, 2, 2))),
    einsum('ijk->ki', case((2, 3, 2))),
    einsum('ij->', case((2, 3))),
    einsum('i,j->ij', case((2,), (3,))),
    einsum('Ab,bc,cd->Ad', case((2, 3), (3, 2), (2, 2))),
    einsum('i...,...->i...', case((2, 3), (3,)), case((2, 3, 2), (3, 2)), case((2,), ())),
    einsum('...ij,...jk->...ik', case((4, 2, 3), (4, 3, 2)), case((0, 2, 3), (0, 3, 2))),
    einsum('...i,...i->...', case((2, 1, 3), (2, 4, 3)), case((2, 4, 3), (3,)), case((1, 3), (0, 3))),
    einsum('...,i...->i...', case((3, 1), (2, 3)), case((1, 1), (2, 1))),
    einsum('...i', case((2, 3))),
    einsum('i...,i->i', case((2,), (2,))),
    einsum(',', case((), ())),
    Row(
        'einsum', lambda a, b: F.einsum(a, [0, ..., 1], b, [1, 2], [2, ..., 0]),
        lambda a, b: np.einsum(a, [0, ..., 1], b, [1, 2], [2, ..., 0]), (ANY, ANY),
        (case((2, 3), (3, 2)), case((2, 4, 3), (3, 2))), variant='lists', label='EinSum',
        except_from={
            'zero-d': 'the subscripts name axes', 'wrong dtype': 'the wider dtype is taken',
            'zero-size': 'the row of ij,jk has it', 'wrong kind': 'the row of ij,jk has it', **NO_SPECIAL,
        },
    ),
    Row(
        'sparse_matmul', _sparse_first, _sparse_first_reference, (ANY, ANY),
        (
            case((6,), (4, 2)), case((6,), (3, 2), transa=True), case((6,), (2, 4), transb=True),
            case((2, 6), (2, 4, 3)),
            case((2, 6), (2, 2, 3), transa=True, transb=True), case((6,), (4, 0)), case((0, 6), (0, 4, 3)),
        ),
        order=3, label='CooMatMul',
        errors=(
            Bad('both dense', lambda: F.sparse_matmul(X, X), ValueError, ('sparse_matmul', 'a: ndarray, b: ndarray')),
            Bad('both sparse', lambda: F.sparse_matmul(COO, COO), ValueError, ('sparse_matmul', 'CooMatrix')),
            Bad('wrong kind', lambda: F.sparse_matmul(COO, INTEGERS), InvalidType, ('CooMatMul', 'float', 'int32')),
            Bad('misfit', lambda: F.sparse_matmul(COO, X), InvalidType, ('CooMatMul', "(3, 'n')", '(2, 3)')),
            Bad('ndim', lambda: F.sparse_matmul(COO, X[0]), InvalidType, ('CooMatMul', "(3, 'n')", '(3,)')),
        ),
        except_from=SPARSE_EXCUSES,
    ),
    Row(
        'sparse_matmul', _sparse_last, _sparse_last_reference, (ANY, ANY),
        (
            case((6,), (2, 3)), case((6,), (3, 2), transa=True), case((6,), (2, 4), transb=True),
            case((2, 6), (2, 2, 3)),
            case((2, 6), (2, 4, 2), transa=True, transb=True), case((6,), (0, 3)),
        ),
        variant='dense first', label='Transpose',
        except_from={'wrong kind': 'the other row has it', **SPARSE_EXCUSES},
    ),
    transform('fft', np.fft.fft),
    transform('ifft', np.fft.ifft),
]  # fmt: skip
