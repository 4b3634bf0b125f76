"""What the table cannot say of convolutions and poolings: two dtypes, layouts in memory, indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F


def channels_last(x: np.ndarray) -> np.ndarray:
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)


def random(*shape: int, dtype: str = 'd') -> np.ndarray:
    return np.random.RandomState(sum(shape)).uniform(-1, 1, shape).astype(dtype)


@pytest.mark.parametrize('function', [F.convolution_nd, F.deconvolution_nd, F.convolution_2d, F.deconvolution_2d])
@pytest.mark.parametrize(('of_x', 'of_W'), [('e', 'f'), ('f', 'd'), ('d', 'f')])
def test_two_dtypes_are_computed_in_the_wider_one(function: Callable[..., Any], of_x: str, of_W: str) -> None:
    x, W = random(2, 3, 4, 4, dtype=of_x), random(3, 3, 2, 2, dtype=of_W)
    b = random(3, dtype=of_x)
    variables = [chainer.Variable(a) for a in (x, W, b)]
    y = function(*variables)
    assert y.dtype == of_x
    expected = function(x.astype('d'), W.astype('d'), b.astype('d')).array
    np.testing.assert_allclose(
        y.array, expected, rtol=2 * np.finfo(of_x).eps, atol=8 * np.finfo(min(of_x, of_W, key='efd'.index)).eps
    )
    y.grad = np.ones_like(y.array)
    y.backward()
    assert [v.grad.dtype for v in variables] == [v.dtype for v in variables]


def test_images_keep_their_layout_from_layer_to_layer() -> None:
    x = random(2, 3, 8, 8)
    y = F.max_pooling_2d(F.relu(F.convolution_2d(x, random(5, 3, 3, 3))), 2)
    assert y.array.transpose(0, 2, 3, 1).flags.c_contiguous


def test_parameters_and_their_gradients_are_contiguous() -> None:
    W, b = chainer.Parameter(random(6, 4, 3, 3)), chainer.Parameter(random(6))
    y = F.convolution_2d(channels_last(random(2, 4, 5, 5)), W, b, pad=1)
    y.grad = channels_last(random(*y.shape))
    y.backward()
    assert W.grad.flags.c_contiguous and b.grad.flags.c_contiguous


def _network(x: Any, W1: Any, W2: Any) -> Any:
    h = F.max_pooling_2d(F.convolution_2d(x, W1, pad=1), 3, 2, 1)
    h = F.average_pooling_2d(F.deconvolution_2d(F.tanh(h), W2, stride=2), 2)
    return F.reshape(h, (len(x), -1))


@pytest.mark.parametrize('way', [channels_last, np.asfortranarray], ids=['channels last', 'Fortran'])
def test_values_do_not_depend_on_the_layout(way: Callable[..., Any]) -> None:
    arrays = [random(2, 4, 6, 6), random(5, 4, 3, 3), random(5, 4, 2, 2)]
    results = []
    for relay in (np.ascontiguousarray, way):
        variables = [chainer.Variable(relay(a)) for a in arrays]
        y = _network(*variables)
        y.grad = random(*y.shape)
        y.backward()
        results.append([y.array, *[v.grad for v in variables]])
    for plain, other in zip(*results, strict=True):
        np.testing.assert_allclose(other, plain, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize('n', [1, 2, 3])
def test_indices_lead_to_the_maxima(n: int) -> None:
    x = random(2, 3, *[5] * n)
    y, indices = F.max_pooling_nd(x, 2, stride=1, cover_all=False, return_indices=True)
    assert indices.dtype == 'int64' and indices.shape == y.shape and indices.flags.c_contiguous
    windows = np.lib.stride_tricks.sliding_window_view(x, (2,) * n, tuple(range(2, n + 2)))
    np.testing.assert_array_equal(indices, windows.reshape(*y.shape, -1).argmax(axis=-1))


def test_the_gradient_of_equal_maxima_goes_to_the_first() -> None:
    x = chainer.Variable(np.zeros((1, 1, 2, 4)))
    y = F.max_pooling_2d(x, 2)
    y.grad = np.array([[[[3.0, 5.0]]]])
    y.backward()
    np.testing.assert_array_equal(x.grad, [[[[3, 0, 5, 0], [0, 0, 0, 0]]]])


def test_a_window_in_the_padding_alone_is_minus_infinity_at_index_0() -> None:
    y, indices = F.max_pooling_nd(np.ones((1, 1, 1)), 2, pad=3, cover_all=False, return_indices=True)
    np.testing.assert_array_equal(y.array, [[[-np.inf, 1, -np.inf]]])
    np.testing.assert_array_equal(indices, [[[0, 1, 0]]])


def test_the_gradients_of_convolutions_are_named_as_in_chainer() -> None:
    x, W = chainer.Variable(random(1, 1, 3, 3)), chainer.Variable(random(1, 1, 2, 2))
    for function, names in (
        (F.convolution_2d, ('Deconvolution2DFunction', 'Convolution2DGradW')),
        (F.convolution_nd, ('DeconvolutionND', 'ConvolutionNDGradW')),
        (F.deconvolution_2d, ('Convolution2DFunction', 'Convolution2DGradW')),
    ):
        y = function(x, W)
        gy = chainer.Variable(np.ones_like(y.array))
        found = chainer.grad([y], [x, W], [gy], enable_double_backprop=True)
        assert tuple(g.creator.label for g in found) == names
