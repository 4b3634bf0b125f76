"""What the table cannot say of the functions that rearrange arrays: it runs every case in debug mode too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F


@pytest.mark.parametrize('indices', [[2, 0, 2], [1], [-1, 0, 1], []])
def test_permutate_takes_any_indices(indices: list[int]) -> None:
    x = chainer.Variable(np.array([1.0, 2.0, 4.0]))
    index = np.array(indices, 'i')
    y = F.permutate(x, index)
    np.testing.assert_array_equal(y.array, x.array[index])
    gy = np.arange(1.0, 1 + len(indices))
    y.grad = gy
    y.backward()
    expected = np.zeros(3)
    np.add.at(expected, index, gy)
    np.testing.assert_array_equal(x.grad, expected)


def test_select_item_counts_from_the_end() -> None:
    x = chainer.Variable(np.arange(6.0).reshape(2, 3))
    y = F.select_item(x, np.array([-1, 1]))
    np.testing.assert_array_equal(y.array, [2, 4])
    y.grad = np.array([10.0, 20.0])
    y.backward()
    np.testing.assert_array_equal(x.grad, [[0, 0, 10], [0, 20, 0]])


@pytest.mark.parametrize(('mode', 'first'), [('maximum', 1), ('minimum', 0)])
def test_pad_gives_the_first_extremum_the_gradient(mode: str, first: int) -> None:
    arrays = {'maximum': [1.0, 3.0, 3.0], 'minimum': [1.0, 3.0, 1.0]}
    x = chainer.Variable(np.array(arrays[mode]))
    y = F.pad(x, (1, 2), mode)
    y.grad = np.array([10.0, 1.0, 1.0, 1.0, 20.0, 30.0])
    y.backward()
    expected = np.ones(3)
    expected[first] += 60
    np.testing.assert_array_equal(x.grad, expected)


def test_of_nothing_comes_nothing() -> None:
    assert F.separate(np.zeros((0, 2))) == ()
    assert F.transpose_sequence([]) == ()
    assert F.transpose_sequence([np.zeros((0, 2)), np.zeros((0, 2))]) == ()


def test_sampler_keeps_nan_and_infinity_where_they_are() -> None:
    image = np.array([[[[np.inf, 2.0, 3.0]]]])
    points = np.array([[0.5, 5.0, np.nan], [0.0, 0.0, 0.0]]).reshape(1, 2, 1, 3)
    with np.errstate(invalid='raise'):
        y = F.spatial_transformer_sampler(image, points)
    np.testing.assert_array_equal(y.array.ravel(), [2.5, 0, np.nan])


def test_resizing_keeps_nan_where_it_is() -> None:
    image = np.ones((1, 1, 1, 5))
    image[..., 0] = np.nan
    y = F.resize_images(image, (2, 9))
    np.testing.assert_array_equal(np.isnan(y.array[0, 0]), [[True, True] + [False] * 7] * 2)


def test_as_strided_numbers_elements_in_c_order_whatever_the_layout() -> None:
    x = np.arange(6.0).reshape(2, 3).T
    np.testing.assert_array_equal(F.as_strided(x, (3,), (1,)).array, [0, 3, 1])
    np.testing.assert_array_equal(F.as_strided(x[1:], (3,), (1,)).array, [1, 4, 2])


@pytest.mark.parametrize(
    ('shape', 'strides', 'offset'),
    [((2, 2), (2, 1), None), ([2, 2], (2, 1), 0), ((2, np.int64(2)), (2, np.int8(1)), np.int32(0))],
)
def test_as_strided_takes_any_ints(shape: Any, strides: Any, offset: Any) -> None:
    x = chainer.Variable(np.arange(6.0))
    y = F.as_strided(x, shape, strides, offset)
    np.testing.assert_array_equal(y.array, [[0, 1], [2, 3]])
    assert not y.array.flags.writeable
    y.grad = np.ones((2, 2))
    y.backward()
    np.testing.assert_array_equal(x.grad, [1, 1, 1, 1, 0, 0])


@pytest.mark.parametrize(
    ('args', 'error', 'message'),
    [
        (((2.0,), (1,)), TypeError, 'tuple of ints expected as shape'),
        (((2,), (1.0,)), TypeError, 'tuple of ints expected as strides'),
        (((2,), (1,), True), TypeError, 'int expected as storage_offset'),
        (((-1,), (1,)), ValueError, 'without negative numbers'),
        (((2, 2), (1,)), ValueError, 'as many strides as axes'),
        (((2, 3), (-1, 2)), ValueError, 'from -1 to 4'),
        (((1,), (1,), 6), ValueError, 'from 6 to 6'),
        (((1,), (1,), -1), ValueError, 'from -1 to -1'),
    ],
)
def test_as_strided_checks_what_is_unusual(args: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        F.as_strided(np.arange(6.0), *args)


def test_float16_sampler_computes_in_float32() -> None:
    x, points = np.ones((1, 1, 2, 2), 'e'), np.zeros((1, 2, 1, 1), 'e')
    variables = [chainer.Variable(x), chainer.Variable(points)]
    y = F.spatial_transformer_sampler(*variables)
    y.grad = np.ones((1, 1, 1, 1), 'e')
    y.backward()
    assert y.dtype == 'e' and all(v.grad.dtype == 'e' for v in variables)
    np.testing.assert_array_equal(variables[0].grad, np.full((1, 1, 2, 2), 0.25))
