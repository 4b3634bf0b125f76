"""Kinds of indices, as in Chainer: values, gradients of both orders, and the same on Variables and in scatter_add.

What each kind picks was recorded from Chainer 7.8.1: ``picked`` is the index in the form that has one meaning.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F

ONE, TWO, THREE = (np.arange(1.0, 1 + np.prod(s)).reshape(s) for s in ((4,), (3, 4), (2, 3, 4)))
a = np.array
V = chainer.Variable
MASK = [True, False, True, True]

#: name: array, index, what it means.
KINDS: dict[str, tuple[Any, Any, Any]] = {
    'int': (TWO, 1, (1,)),
    'negative': (TWO, -1, (-1,)),
    'int of NumPy': (TWO, np.int32(1), (1,)),
    '0-d array': (TWO, a(1), (1,)),
    'bool': (TWO, True, (a(True),)),
    'bool of NumPy': (TWO, np.bool_(True), (a(True),)),
    '0-d mask': (TWO, a(True), (a(True),)),
    'slice': (TWO, slice(None, None, -2), (slice(None, None, -2),)),
    'Ellipsis': (THREE, Ellipsis, (Ellipsis,)),
    'None': (TWO, None, (None,)),
    'empty tuple': (TWO, (), ()),
    'list of ints': (ONE, [1, 1, 3], (a([1, 1, 3]),)),
    'list of negative ints': (ONE, [-1, -1, 0], (a([3, 3, 0]),)),
    'empty list': (TWO, [], (a([], int),)),
    'list of bools': (ONE, MASK, (a([0, 2, 3]),)),
    'list of ints of NumPy': (TWO, [np.int64(1), np.int64(2)], (1, 2)),
    'list of lists': (TWO, [[1, 1], [3, 3]], (a([1, 1]), a([3, 3]))),
    'list of one list': (TWO, [[1, 1]], (a([1, 1]),)),
    'list of arrays': (TWO, [a([1, 1]), a([0, 0])], (a([1, 1]), a([0, 0]))),
    'list of one array': (TWO, [a([1, 1])], (a([1, 1]),)),
    'list of tuples': (TWO, [(1, 1), (0, 0)], (a([1, 1]), a([0, 0]))),
    'list of a list of bools': (ONE, [MASK], (a([0, 2, 3]),)),
    'list with None': (TWO, [None, 1], (None, 1)),
    'list with a slice': (TWO, [slice(0, 2), 1], (slice(0, 2), 1)),
    'list with Ellipsis': (THREE, [Ellipsis, 1], (Ellipsis, 1)),
    'list with a list': (TWO, [0, [1, 1]], (a([0, 0]), a([1, 1]))),
    'tuple of ints': (TWO, (1, 2), (1, 2)),
    'tuple of a tuple': (ONE, ((1, 1, 3),), (a([1, 1, 3]),)),
    'tuple of tuples': (TWO, ((1, 1), (0, 0)), (a([1, 1]), a([0, 0]))),
    'tuple of lists': (TWO, ([1, 1], [0, 0]), (a([1, 1]), a([0, 0]))),
    'tuple of a tuple of tuples': (TWO, (((1, 1), (0, 2)),), (a([[1, 1], [0, 2]]),)),
    'tuple of a list of lists': (TWO, ([[1, 1], [0, 2]],), (a([[1, 1], [0, 2]]),)),
    'tuple of an empty tuple': (TWO, ((),), (a([], int),)),
    'tuple of a list of an empty list': (TWO, ([[]],), (a([[]], int),)),
    'tuple of a list of empty lists': (TWO, ([[], []],), (a([[], []], int),)),
    'empty lists': (TWO, ([], []), (a([], int), a([], int))),
    'tuple with a list of an empty tuple': (TWO, (slice(None), [()]), (slice(None), a([[]], int))),
    'tuple with a tuple': (TWO, ((1, 1), slice(1, 3)), (a([1, 1]), slice(1, 3))),
    'tuple with a list': (TWO, (slice(None), [1, 1]), (slice(None), a([1, 1]))),
    'tuple with a range': (TWO, (range(2), 1), (a([0, 1]), a([1, 1]))),
    'tuple with a tuple of bools': (TWO, (0, tuple(MASK)), (0, a([0, 2, 3]))),
    'tuple with 0-d array': (TWO, (slice(None), a(1)), (slice(None), 1)),
    'array': (ONE, a([1, 1, 3]), (a([1, 1, 3]),)),
    'array of uint8': (ONE, a([1, 1], 'u1'), (a([1, 1]),)),
    'array with two axes': (TWO, a([[1, 1], [0, 2]]), (a([[1, 1], [0, 2]]),)),
    'mask': (TWO, TWO > 3, np.nonzero(TWO > 3)),
    'mask of an axis': (TWO, (slice(None), a(MASK)), (slice(None), a([0, 2, 3]))),
    'array and None': (TWO, (a([1, 1]), None), (a([1, 1]), None)),
}


def expected_gradient(x: Any, picked: Any, gy: Any) -> Any:
    result = np.zeros_like(x)
    np.add.at(result, picked, gy)
    return result


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('by_brackets', [False, True], ids=['get_item', 'brackets'])
def test_picking(kind: str, by_brackets: bool) -> None:
    x, index, picked = KINDS[kind]
    gy = np.random.RandomState(0).uniform(-1, 1, x[picked].shape)
    v = chainer.Variable(x)
    square = v * v
    y = square[index] if by_brackets else F.get_item(square, index)
    np.testing.assert_array_equal(y.array, x[picked] ** 2)
    (g,) = chainer.grad([y], [v], [chainer.Variable(gy)], enable_double_backprop=True)
    assert g is not None
    total = expected_gradient(x, picked, gy)
    np.testing.assert_allclose(g.array, 2 * x * total)
    (second,) = chainer.grad([g], [v], [chainer.Variable(np.ones_like(x))])
    assert second is not None
    np.testing.assert_allclose(second.array, 2 * total)
    y.grad = gy
    y.backward()
    np.testing.assert_allclose(v.grad, 2 * x * total)


@pytest.mark.parametrize('kind', KINDS)
def test_adding_at_places(kind: str) -> None:
    x, index, picked = KINDS[kind]
    b = np.random.RandomState(0).uniform(-1, 1, x[picked].shape)
    va, vb = chainer.Variable(x), chainer.Variable(b)
    y = F.scatter_add(va, index, vb)
    np.testing.assert_allclose(y.array, x + expected_gradient(x, picked, b))
    gy = np.random.RandomState(1).uniform(-1, 1, x.shape)
    y.grad = gy
    y.backward()
    np.testing.assert_array_equal(va.grad, gy)
    np.testing.assert_array_equal(vb.grad, gy[picked])


@pytest.mark.parametrize('index', [a([]), a([1.0]), 1.0, 'a', [1.0], ('a',), a(1.0)], ids=repr)
def test_what_is_no_index_is_refused(index: Any) -> None:
    for call in (
        lambda: F.get_item(ONE, index),
        lambda: F.scatter_add(ONE, index, ONE),
        lambda: chainer.Variable(ONE)[index],
    ):
        with pytest.raises(IndexError):
            call()


@pytest.mark.parametrize('debug', [False, True])
@pytest.mark.parametrize('kind', [IndexError, ValueError])
def test_two_ellipses_are_the_errors_of_both_modes(kind: type[Exception], debug: bool) -> None:
    index = (Ellipsis, Ellipsis)
    for call in (lambda: F.get_item(TWO, index), lambda: F.scatter_add(TWO, index, TWO), lambda: V(TWO)[index]):
        with chainer.using_config('debug', debug), pytest.raises(kind, match='single ellipsis'):
            call()
