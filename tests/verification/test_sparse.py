"""Sparse matrices as inputs: their stored entries are a leaf."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import minichainer.functions as F
from minichainer.gradient_check import check_gradients, gradcheck, gradgradcheck
from minichainer.utils.sparse import CooMatrix, to_coo
from minichainer.variable import Variable
from tests.verification.planting import node, uniform


def integers(*values):
    return np.array(values, np.int32)


MATRICES = {
    'sorted': to_coo(np.where(uniform(3, 4) > 0, uniform(3, 4), 0)),
    'unsorted': CooMatrix(uniform(4), integers(2, 0, 1, 0), integers(3, 1, 0, 0), (3, 4)),
    'duplicated': CooMatrix(uniform(4), integers(0, 0, 2, 2), integers(1, 1, 3, 3), (3, 4)),
    'absent entries': CooMatrix(uniform(4), integers(0, -1, 2, -1), integers(1, -1, 3, -1), (3, 4)),
    'empty': CooMatrix(np.zeros(0), integers(), integers(), (3, 4)),
    'one entry': CooMatrix(uniform(1), integers(1), integers(2), (3, 4)),
    'requires grad': CooMatrix(uniform(2), integers(1, 2), integers(2, 0), (3, 4), requires_grad=True),
    'batch': to_coo(uniform(2, 3, 4)),
    'float32': to_coo(uniform(3, 4).astype('f')),
}
FLAGS = list(itertools.product([False, True], repeat=2))


def operands(name, transa, transb, left):
    """A sparse matrix and a dense one that fits, as the left or the right factor."""
    sparse = MATRICES[name]
    rows, columns = sparse.shape
    if left:
        inner = rows if transa else columns
        shape = (5, inner) if transb else (inner, 5)
    else:
        inner = columns if transb else rows
        shape = (inner, 5) if transa else (5, inner)
    dense = uniform(*sparse.data.shape[:-1], *shape, dtype=sparse.data.dtype, seed=4)
    return (sparse, dense) if left else (dense, sparse)


def products():
    """Each matrix with all flags; in the short run with two of them, and one with all."""
    for number, name in enumerate(MATRICES):
        for flag, flags in enumerate(FLAGS):
            slow = name != 'unsorted' and flag % 2 != number % 2
            yield pytest.param(name, *flags, marks=[pytest.mark.slow] * slow)


@pytest.mark.parametrize('left', [True, False], ids=['sparse first', 'sparse second'])
@pytest.mark.parametrize(('name', 'transa', 'transb'), list(products()))
def test_products_pass(name, transa, transb, left):
    inputs = operands(name, transa, transb, left)
    func = lambda a, b: F.sparse_matmul(a, b, transa, transb)  # noqa: E731
    for masked in (True, False, None):
        report = check_gradients(func, inputs, order=2, masked=masked, seed=1)
        assert report, report.message
    assert gradcheck(func, inputs, masked=True, check_forward_ad=True, check_batched_grad=True)


def test_the_deprecated_name():
    inputs = operands('sorted', False, False, True)
    with pytest.warns(DeprecationWarning, match='check_sparse_nnz is deprecated, use masked'):
        assert gradcheck(F.sparse_matmul, inputs, check_sparse_nnz=True)
    assert gradgradcheck(F.sparse_matmul, inputs, masked=True)


def test_nothing_of_the_matrix_changes():
    sparse, dense = operands('unsorted', False, False, True)
    before = sparse.data, sparse.data.array.copy()
    assert check_gradients(F.sparse_matmul, (sparse, dense), seed=1)
    assert sparse.data is before[0] and (sparse.data.array == before[1]).all() and not sparse.data.requires_grad


def weighted(rule):
    """The values of a sparse matrix times 2, with any rule, as a dense function of them."""
    return lambda matrix: node(lambda x: 2 * x, lambda xs, gy: rule(2 * gy))(matrix.data)


def test_a_wrong_entry_is_found_by_its_position_among_the_stored_ones():
    def rule(gx):
        gx = gx.copy()
        gx[2] *= 1.5
        return gx

    sparse = MATRICES['unsorted']
    assert check_gradients(weighted(lambda gx: gx), sparse, seed=1)
    report = check_gradients(weighted(rule), sparse, seed=1, masked=True)
    (failure,) = report.failures
    assert failure.input == 0 and failure.index == (2,)
    assert 'inputs[0] (4,) float64' in report.message


def test_a_matrix_inside_containers():
    sparse, dense = operands('sorted', False, False, True)
    report = check_gradients(lambda d: F.sparse_matmul(d['a'], d['b'][0]), {'a': sparse, 'b': [dense]}, seed=1)
    assert report, report.message


def test_a_matrix_without_gradient():
    sparse, dense = operands('sorted', False, False, True)
    func = lambda a, b: F.sparse_matmul(CooMatrix(a.data.array, a.row, a.col, a.shape), b)  # noqa: E731
    assert check_gradients(func, (sparse, dense), no_grads=[True, False], seed=1)
    report = check_gradients(func, (sparse, dense), seed=1)
    assert report.failures[0].cause.startswith('missing')


def test_the_gradient_at_the_stored_entries_is_that_of_the_dense_function():
    sparse, dense = operands('duplicated', False, False, True)
    data = Variable(sparse.data.array)
    matrix = CooMatrix(data.array, sparse.row, sparse.col, sparse.shape)
    matrix.data = data
    F.sum(F.sparse_matmul(matrix, dense) ** 2).backward()
    full = Variable(sparse.to_dense())
    F.sum(F.matmul(full, Variable(dense)) ** 2).backward()
    np.testing.assert_allclose(data.grad, full.grad[sparse.row, sparse.col])
