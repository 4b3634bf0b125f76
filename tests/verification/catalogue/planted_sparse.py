"""Wrong gradients at the stored entries of sparse matrices."""

from __future__ import annotations

import numpy as np

import minichainer.functions as F
from minichainer.differentiate import grad
from minichainer.utils.sparse import CooMatrix
from minichainer.variable import Variable
from tests.verification.catalogue.entry import Case, Correct, Plan, Planted, generator


def matrix(shape, dtype, rng, absent=False, duplicated=False):
    """Entries in random order; about half of all."""
    rows, columns = np.nonzero(rng.uniform(size=shape) < 0.5)
    order = rng.permutation(len(rows))
    row, col = (a[order].astype(np.int32) for a in (rows, columns))
    if duplicated:
        row, col = np.append(row, row[:2]), np.append(col, col[:2])
    if absent:
        row[0] = col[0] = -1
    return CooMatrix(rng.normal(size=row.shape).astype(dtype), row, col, shape)


def product(a, dense, rule):
    """``a @ dense`` with the gradient ``rule(g, gy, data, dense, row, col)`` of the entries, g the right one."""
    row, col, there = a.row, a.col, a.row >= 0

    def forward(data, dense):
        y = np.zeros((a.shape[0], dense.shape[1]), data.dtype)
        np.add.at(y, row[there], data[there, None] * dense[col[there]])
        return y

    def backward(xs, gys):
        (data, dense), gy = [x.array for x in xs], gys[0].array
        g = (gy[row] * dense[col]).sum(-1) * there
        gd = np.zeros_like(dense)
        np.add.at(gd, col[there], data[there, None] * gy[row[there]])
        return Variable(np.asarray(rule(g, gy, data, dense, row, col), data.dtype)), Variable(gd)

    return Plan(forward, backward).apply((a.data, dense))[0]


def right(g, gy, data, dense, row, col):
    return g


def _case(name, rule, kind):
    def build(shape, dtype, seed):
        rng = generator(name, seed)
        sparse = matrix(shape, dtype, rng, **dict.fromkeys(kind, True))
        dense = rng.normal(size=(shape[1], 3)).astype(dtype)
        return Case(lambda a, dense: product(a, dense, rule), (sparse, dense), options={'masked': True})

    return build


def _differs(case):
    sparse, dense = case.inputs
    found = []
    for func in (case.func, F.sparse_matmul):
        copy = CooMatrix(sparse.data.array, sparse.row, sparse.col, sparse.shape, requires_grad=True)
        y = func(copy, Variable(dense))
        gy = np.random.RandomState(0).normal(size=y.shape).astype(y.dtype)
        found.append(grad([y], [copy.data], [Variable(gy)])[0].array)
    return not np.allclose(*found, 1e-5, 1e-6)


def wrong(name, rule, *kind):
    name = f'sparse: {name}'
    return Planted(name, 'sparse', _case(name, rule, kind), 0, where='any', proof=_differs, alone=True)


def _sorted(g, gy, data, dense, row, col):
    """As if entries were stored row by row."""
    return g[np.lexsort((col, row))]


def _wrapped(g, gy, data, dense, row, col):
    """-1 as the last row."""
    return (gy[row] * dense[col]).sum(-1)


def _once(g, gy, data, dense, row, col):
    """Duplicates as one entry, whose gradient is shared."""
    pairs = np.stack([row, col])
    count = (pairs[:, :, None] == pairs[:, None]).all(0).sum(1)
    return g / count


def _last(g, gy, data, dense, row, col):
    """Only the last of duplicates gets a gradient."""
    pairs = np.stack([row, col])
    later = np.triu((pairs[:, :, None] == pairs[:, None]).all(0), 1).any(1)
    return g * ~later


ENTRIES = [
    wrong('negated', lambda g, *rest: -g),
    wrong('entries sorted by rows', _sorted),
    wrong('an absent entry as the last', _wrapped, 'absent'),
    wrong('the gradient of duplicates shared', _once, 'duplicated'),
    wrong('the last of duplicates', _last, 'duplicated'),
    wrong('times the values', lambda g, gy, data, *rest: g * data),
    wrong('rows for columns', lambda g, gy, data, dense, row, col: (gy[row] * dense[row % len(dense)]).sum(-1)),
    wrong('the mean over columns', lambda g, *rest: g / 3),
    wrong('an entry times 1.1', lambda g, *rest: g * (1 + 0.1 * (np.arange(len(g)) == 2))),
]


def _right(name, func, *kind, order=2):
    def build(shape, dtype, seed):
        case = _case(name, right, kind)(shape, dtype, seed)
        return Case(func or case.func, case.inputs, options=case.options)

    return Correct(f'sparse: {name}', 'a sparse matrix', build, order=order, alone=True)


RIGHT = [
    _right('planted', None, order=1),
    _right('planted, absent entries', None, 'absent', order=1),
    _right('planted, duplicates', None, 'duplicated', order=1),
    _right('product', F.sparse_matmul),
    _right('product, absent entries', F.sparse_matmul, 'absent'),
    _right('product, duplicates', F.sparse_matmul, 'duplicated'),
    _right('a dense matrix first', lambda a, x: F.sparse_matmul(F.transpose(x), a, transb=True)),
]
