"""CooMatrix, to_coo and get_order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minichainer import utils
from minichainer.variable import Variable


def ints(*values: Any) -> np.ndarray:
    return np.array(values, 'i')


# row, col -> order; -1 pads
ORDERS = [
    (ints(0, 0, 1), ints(0, 2, 1), 'C'),
    (ints(0, 0, 1), ints(1, 1, 2), 'C'),
    (ints(1), ints(1), 'C'),
    (ints(), ints(), 'C'),
    (ints(0, 1, 0), ints(0, 0, 2), 'F'),
    (ints(0, 1, 0), ints(0, 1, 0), 'other'),
    (ints(0, 1, -1), ints(0, 0, -1), 'C'),
    (ints([0, 0, 1], [0, 1, 1]), ints([0, 2, 1], [0, 0, 1]), 'C'),
    (ints([0, 0, 1], [0, 1, 0]), ints([0, 2, 1], [0, 0, 1]), 'other'),
    (ints([0, 1, -1], [0, 1, 1]), ints([0, 0, -1], [0, 1, 2]), 'C'),
    (ints(1, -1, 0), ints(0, -1, 0), 'other'),
    (ints(0, -1, 1), ints(2, -1, 0), 'C'),
    (ints(-1, 1, -1, 0), ints(-1, 0, -1, 2), 'F'),
]


@pytest.mark.parametrize(('row', 'col'), [(ints(0, -1), ints(0, 1)), (ints([0, 1], [0, 1]), ints([0, -1], [0, 1]))])
def test_an_entry_with_one_number_has_no_order(row: np.ndarray, col: np.ndarray) -> None:
    with pytest.raises(ValueError, match='-1 marks absent entries in both'):
        utils.get_order(row, col)


@pytest.mark.parametrize(('row', 'col', 'order'), ORDERS)
def test_get_order(row: np.ndarray, col: np.ndarray, order: str) -> None:
    assert utils.get_order(row, col) == order
    assert utils.CooMatrix(np.ones(row.shape), row, col, (3, 3)).order == order


def test_fields() -> None:
    row, col = ints(0, 1), ints(1, 2)
    x = utils.CooMatrix(np.ones(2, 'f'), row, col, (2, 3), requires_grad=True)
    assert (type(x.data), x.data.requires_grad, x.row is row, x.col is col) == (Variable, True, True, True)
    assert (x.shape, x.order) == ((2, 3), 'C')
    assert not utils.CooMatrix(np.ones(2, 'f'), row, col, (2, 3)).data.requires_grad
    assert utils.CooMatrix(np.ones(2, 'f'), row, col, (2, 3), order='other').order == 'other'


def test_entries_at_one_place_add_up() -> None:
    x = utils.CooMatrix(np.array([1.0, 2, 4]), ints(0, 0, 1), ints(1, 1, 2), (2, 3))
    np.testing.assert_array_equal(x.to_dense(), [[0, 3, 0], [0, 0, 4]])


def test_an_entry_that_is_not_there_is_passed_over() -> None:
    x = utils.CooMatrix(np.array([1.0, 0]), ints(0, -1), ints(1, -1), (2, 3))
    np.testing.assert_array_equal(x.to_dense(), [[0, 1, 0], [0, 0, 0]])


@pytest.mark.parametrize('shape', [(4, 5), (3, 4, 5), (0, 4, 5), (3, 0, 5), (1, 1)], ids=str)
@pytest.mark.parametrize('ldnz', [None, 2, 30])
@pytest.mark.parametrize('density', [0, 0.3, 1])
def test_to_coo_and_back(shape: tuple[int, ...], ldnz: int | None, density: float) -> None:
    dense = np.random.uniform(1, 2, shape).astype('f') * (np.random.uniform(size=shape) < density)
    x = utils.to_coo(dense, ldnz=ldnz, requires_grad=True)
    assert x.shape == shape[-2:]
    assert x.order == 'C' == utils.get_order(x.row, x.col)
    assert x.data.requires_grad
    assert (x.data.dtype, x.row.dtype) == (dense.dtype, np.dtype('int32'))
    fullest = max((np.count_nonzero(d) for d in (dense if dense.ndim == 3 else [dense])), default=0)
    assert x.row.shape == x.col.shape == x.data.shape == (*shape[:-2], max(fullest, ldnz or 0))
    np.testing.assert_array_equal(x.to_dense(), dense)


def test_to_coo_pads_as_chainer_does() -> None:
    x = utils.to_coo(np.array([[[0, 2, 0], [1, 0, 3]], [[0, 0, 0], [0, 1, 0]]], 'f'))
    np.testing.assert_array_equal(x.data.array, [[2, 1, 3], [1, 0, 0]])
    np.testing.assert_array_equal(x.row, [[0, 1, 1], [1, -1, -1]])
    np.testing.assert_array_equal(x.col, [[1, 0, 2], [1, -1, -1]])


OK = (np.ones(2), ints(0, 1), ints(1, 2), (2, 3))


@pytest.mark.parametrize(
    ('args', 'message'),
    [
        ((OK[0], ints(0, 1, 1), *OK[2:]), r'arrays of one shape.*got \(2,\), \(3,\), \(2,\)'),
        ((np.ones((2, 2)), *OK[1:]), r'got \(2, 2\), \(2,\), \(2,\)'),
        (([1, 2], *OK[1:]), r'expected data, row and col to be arrays.*got None'),
        (
            (np.ones((1, 1, 2)), ints([[0, 1]])[None], ints([[1, 2]])[None], (2, 3)),
            r'\(entries,\) or \(batch',
        ),
        ((*OK[:3], (2, 3, 4)), r'two sizes, got \(2, 3, 4\)'),
        ((*OK[:3], (2,)), r'two sizes, got \(2,\)'),
        ((*OK, 'X'), "order 'C', 'F', 'other' or None, got 'X'"),
    ],
)
def test_coo_matrix_refuses(args: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        utils.CooMatrix(*args)


def test_to_coo_refuses() -> None:
    with pytest.raises(ValueError, match=r'2 or 3 axes, got \(3,\)'):
        utils.to_coo(np.zeros(3))
    with pytest.raises(ValueError, match=r'2 or 3 axes, got \[\[1\]\]'):
        utils.to_coo([[1]])
    with pytest.raises(TypeError, match=r'pass the \.array of a Variable'):
        utils.to_coo(Variable(np.zeros((2, 2))))
