"""An infinity or NaN reaches what it has a weight in, and nothing else, in functions that are products with weights.

What an element has a weight in is what changes with it: the result for an array that is 0 elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer.configuration import using_config
from minichainer.kernels import weighing

REGIONS = np.array([[5, 5, 9, 9], [0, 1, 4, 6], [2, 0, 9, 3]], 'f')
IMAGES = np.array([0, 1, 0], 'i')


def _grid(x: Any) -> Any:
    """Points on pixels, between them in one direction or both, and outside."""
    points = np.array([-1.2, -1.0, -0.35, 0.0, 1 / 9, 1.0])
    grid = np.stack(np.meshgrid(points, points, indexing='ij')).astype(x.dtype)
    return np.stack([grid, -grid])


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    'roi_average_align_2d': lambda x: F.roi_average_align_2d(x, REGIONS, IMAGES, 2, 1.0, 2),
    'roi_average_pooling_2d': lambda x: F.roi_average_pooling_2d(x, REGIONS, IMAGES, 2, 1.0),
    'roi_max_align_2d': lambda x: F.roi_max_align_2d(x, REGIONS, IMAGES, 2, 1.0, 1),
    'adaptive_average_pooling_2d': lambda x: F.adaptive_average_pooling_2d(x, (5, 3)),
    'average_pooling_2d': lambda x: F.average_pooling_2d(x, 3, 2, 1),
    'average_pooling_nd': lambda x: F.average_pooling_nd(x, 3, 2, 1, None),
    'unpooling_2d': lambda x: F.unpooling_2d(x, 3, 2, 1),
    'upsampling_2d': lambda x: F.upsampling_2d(x, np.arange(400).reshape(x.shape) % 4, 2),
    'resize_images': lambda x: F.resize_images(x, (19, 19)),
    'resize_images, one line': lambda x: F.resize_images(x[:, :, :1], (3, 28)),
    'resize_images, smaller': lambda x: F.resize_images(x, (4, 1)),
    'resize_images, borders': lambda x: F.resize_images(x, (30, 5), align_corners=False),
    'resize_images, nearest': lambda x: F.resize_images(x, (7, 13), mode='nearest'),
    'spatial_transformer_sampler': lambda x: F.spatial_transformer_sampler(x, _grid(x)),
    'pad, mean': lambda x: F.pad(x, ((0, 0), (0, 0), (1, 2), (2, 0)), 'mean', stat_length=3),
    'pad, odd': lambda x: F.pad(x, ((0, 0), (0, 0), (1, 2), (2, 0)), 'reflect', reflect_type='odd'),
}
VALUES = np.inf, -np.inf, np.nan


def _maps(name: str, dtype: str) -> dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]]:
    """The function and its gradient as maps of arrays, and the shapes of those."""
    function, x = FUNCTIONS[name], chainer.Variable(np.zeros((2, 2, 10, 10), dtype))
    y = function(x)
    forward = lambda a: function(a).array  # noqa: E731
    backward = lambda a: chainer.grad([y], [x], [chainer.Variable(a)])[0].array  # noqa: E731
    return {'backward': (backward, y.shape), **({} if 'max' in name else {'forward': (forward, x.shape)})}


def _places(shape: tuple[int, ...]) -> list[int]:
    """Some elements, among them the corners of an image."""
    size, area = int(np.prod(shape)), int(np.prod(shape[2:]))
    return sorted({0, shape[-1] - 1, area - 1, area // 2, size - 1, *range(3, size, 37)})


@pytest.mark.parametrize('native', [True, False])
@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('name', FUNCTIONS)
def test_an_element_reaches_what_changes_with_it(name: str, dtype: str, native: bool) -> None:
    with using_config('use_native_kernels', native), np.errstate(all='ignore'):
        for direction, (function, shape) in _maps(name, dtype).items():
            ones = np.ones(shape, dtype)
            plain = function(ones)
            for place in _places(shape):
                unit = np.zeros(shape, dtype)
                unit.flat[place] = 1
                weights = function(unit)
                for value in VALUES:
                    expected = np.where(weights == 0, plain, value * weights)
                    found = function(np.where(unit == 1, np.asarray(value, dtype), ones))
                    np.testing.assert_allclose(found, expected, 1e-2, 1e-2, err_msg=f'{direction} {place} {value}')


@pytest.mark.parametrize('name', [n for n in FUNCTIONS if 'max' not in n])
def test_several_elements(name: str) -> None:
    """Infinities of both signs meet in NaN; what none of them has a part in is what it is without them."""
    for function, shape in _maps(name, 'd').values():
        x, spoilt = np.random.RandomState(0).uniform(-1, 1, shape), {}
        for place, value in zip((1, 3, 5, 30), (np.inf, -np.inf, np.nan, np.inf), strict=True):
            x.flat[place % x.size], spoilt[place % x.size] = value, value
        finite = np.where(np.isfinite(x), x, 0)
        expected, parts = function(finite), np.zeros_like(function(finite))
        with np.errstate(all='ignore'):
            for place, value in spoilt.items():
                unit = np.zeros(shape)
                unit.flat[place] = 1
                weights = function(unit)
                parts += np.where(weights == 0, 0, value * weights)
            np.testing.assert_allclose(function(x), expected + parts, 1e-12, 1e-12)


@pytest.mark.parametrize('dtype', 'fd')
def test_sums_beyond_the_range_do_not_spoil_others(dtype: str) -> None:
    backward, shape = _maps('resize_images', dtype)['backward']
    gy, high = np.ones(shape, dtype), np.finfo(dtype).max
    gy[0, 0, :3, :3] = high
    with np.errstate(all='ignore'):
        found = backward(gy)
    assert np.isposinf(found[0, 0, 0, 0]) and not np.isnan(found).any()
    np.testing.assert_allclose(found[0, 0, 4:, 4:], backward(np.ones(shape, dtype))[0, 0, 4:, 4:], 1e-6)
    assert np.isfinite(found[1]).all() and np.isfinite(found[0, 1]).all()


def test_elements_on_a_device_are_not_looked_at() -> None:
    assert weighing._seems_finite.generic(None, None)


def test_finite_results_are_those_of_one_product() -> None:
    """Large numbers, the sum of whose squares is infinite, are not computed in another way."""
    x, calls = np.full((3, 2), 1e30, 'f'), []

    def weigh(x: Any, weights: Any) -> Any:
        calls.append(x)
        return x @ weights

    np.testing.assert_array_equal(weighing.weighed(np, weigh, x, np.ones((2, 4), 'f')), x @ np.ones((2, 4), 'f'))
    assert len(calls) == 1


@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('far', [np.inf, -np.inf, 1e30])
@pytest.mark.parametrize('size', [1, 2, 3])
@pytest.mark.parametrize('dtype', 'fd')
def test_points_infinitely_far_are_outside_of_an_image(far: float, size: int, dtype: str) -> None:
    x = chainer.Variable(np.ones((1, 1, size, 3), dtype))
    grid = chainer.Variable(np.array([[[[far, 0.0]], [[0.0, far if size > 1 else 0.0]]]], dtype))
    y = F.spatial_transformer_sampler(x, grid)
    inside = np.array([0.0, float(size == 1)])
    np.testing.assert_array_equal(y.array.ravel(), inside)
    gradients = chainer.grad([y], [x, grid], [chainer.Variable(np.ones_like(y.array))], enable_double_backprop=True)
    assert gradients[0].array.sum() == inside.sum() and not gradients[1].array.any()
    np.testing.assert_array_equal(
        F.spatial_transformer_sampler(x.array * np.inf, grid.array).array.ravel() > 0, inside
    )


@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('far', [np.inf, -np.inf, 1e30])
def test_offsets_infinitely_far_leave_an_element_out(far: float) -> None:
    x, W = chainer.Variable(np.ones((1, 1, 4, 4), 'f')), np.ones((1, 1, 3, 3), 'f')
    offset = np.zeros((1, 18, 4, 4), 'f')
    whole = F.deformable_convolution_2d_sampler(x, offset, W, None, 1, 1).array
    offset[0, 4, 1, 1] = offset[0, 12, 2, 2] = far
    moved = chainer.Variable(offset)
    y = F.deformable_convolution_2d_sampler(x, moved, W, None, 1, 1)
    np.testing.assert_array_equal(whole - y.array, np.diag([0, 1, 1, 0])[None, None])
    gx, goffset = chainer.grad([y], [x, moved], [chainer.Variable(np.ones_like(y.array))])
    assert np.isfinite(gx.array).all() and np.isfinite(goffset.array).all()
