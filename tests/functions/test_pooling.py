"""What the table cannot say of unpooling, pooling of regions, and convolutions of other kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F

OUTSIDE = np.array([[20, 20, 24, 22], [0, 0, 2, 3]], 'f')
IMAGES = np.array([0, 1], 'i')


def random(*shape: int, dtype: str = 'f') -> np.ndarray:
    return np.random.RandomState(sum(shape)).uniform(-1, 1, shape).astype(dtype)


def gradient_of(y: chainer.Variable, x: chainer.Variable, gy: Any = None) -> np.ndarray:
    y.grad = np.ones_like(y.array) if gy is None else gy
    y.backward()
    return x.grad


# --- maxima --------------------------------------------------------------------------------------------------------
BEYOND = np.array([[-2.5, -2.5, 5.5, 5.5], [0, 0, 2, 3], [2, 2, 9, 9]], 'f')  # the first point is outside
MAXIMA: dict[str, Callable[..., Any]] = {
    'max_pooling_1d': lambda x: F.max_pooling_1d(x.reshape(2, 3, 16), 3, 2, 2),
    'max_pooling_2d': lambda x: F.max_pooling_2d(x, 2, 2, 1),
    'max_pooling_2d, large windows': lambda x: F.max_pooling_2d(x, (3, 4), 1, 2, cover_all=False),
    'max_pooling_2d, windows of padding alone': lambda x: F.max_pooling_2d(x, 2, 1, 3),
    'max_pooling_3d': lambda x: F.max_pooling_3d(x.reshape(2, 3, 4, 2, 2), 2, 2, 1),
    'spatial_pyramid_pooling_2d': lambda x: F.spatial_pyramid_pooling_2d(x[:, :, :3, :], 3, 'max'),
    'roi_pooling_2d': lambda x: F.roi_pooling_2d(x, np.pad(BEYOND, ((0, 0), (1, 0))), 2, 2, 1.0),
    'roi_max_pooling_2d': lambda x: F.roi_max_pooling_2d(x, BEYOND, np.array([0, 1, 1]), 2, 1.0),
    'roi_max_align_2d': lambda x: F.roi_max_align_2d(x, BEYOND, np.array([0, 1, 1]), 1, 1.0, 4),
}


@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('value', [-np.inf, np.inf, np.nan, 'lowest'])
@pytest.mark.parametrize('name', MAXIMA)
def test_of_equal_elements_the_same_gets_the_gradient_whatever_they_are(name: str, value: Any, dtype: str) -> None:
    """The padding is minus infinity too, and never gets what belongs to an element."""

    def gradient(filling: float) -> np.ndarray:
        x = chainer.Variable(np.full((2, 3, 4, 4), filling, dtype))
        y = MAXIMA[name](x)
        return gradient_of(y, x, np.arange(y.size, dtype=dtype).reshape(y.shape))

    value = -np.ldexp(1.0, np.finfo(dtype).maxexp - 1) if value == 'lowest' else value
    np.testing.assert_array_equal(gradient(value), gradient(0))


def test_indices_of_maxima_are_never_those_of_the_padding() -> None:
    y, indices = F.max_pooling_1d(np.array([[[-np.inf, 0]]]), 2, 2, 1, return_indices=True)
    np.testing.assert_array_equal(y.array, [[[-np.inf, 0]]])
    np.testing.assert_array_equal(indices, [[[1, 0]]])


# --- sizes ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ('size', 'arguments'),
    [
        ((3,), {'ksize': 2, 'stride': 1, 'pad': 2, 'cover_all': False}),
        ((2,), {'ksize': 2, 'stride': 2, 'pad': 2, 'cover_all': False}),
        ((1,), {'ksize': 2, 'stride': 2, 'pad': 1, 'outsize': (0,)}),
        ((1,), {'ksize': 6, 'stride': 2, 'pad': 3, 'cover_all': False}),
        ((4, 3), {'ksize': 1, 'pad': (2, 0), 'cover_all': False}),
        ((0,), {'ksize': 2, 'cover_all': False}),
        ((0,), {'ksize': 2, 'outsize': (0,)}),
        ((0, 2), {'ksize': 3, 'stride': 4, 'outsize': (0, 7), 'cover_all': False}),
        ((0,), {'ksize': 6, 'stride': 2, 'outsize': (4,), 'cover_all': False}),
    ],
)
def test_unpooling_to_or_from_nothing_has_gradients_of_zeros(size: Any, arguments: dict[str, Any]) -> None:
    x = chainer.Variable(random(2, 3, *size))
    y = F.unpooling_nd(x, **arguments)
    assert y.shape[:2] == (2, 3) and 0 in (x.size, y.size)
    np.testing.assert_array_equal(y.array, np.zeros_like(y.array))
    (gx,) = chainer.grad([y], [x], [chainer.Variable(np.zeros_like(y.array))], enable_double_backprop=True)
    np.testing.assert_array_equal(gx.array, np.zeros((2, 3, *size)))
    np.testing.assert_array_equal(gradient_of(F.unpooling_nd(x, **arguments), x), np.zeros((2, 3, *size)))


def test_unpooling_does_not_cut_off_more_than_there_is() -> None:
    with pytest.raises(AssertionError, match='must not be negative'):
        F.unpooling_nd(random(1, 1, 2), 2, pad=3, cover_all=False)


HUGE: dict[str, Callable[[int], Any]] = {
    'convolution, pad': lambda n: F.convolution_2d(random(1, 1, 4, 4), random(1, 1, 3, 3), pad=n),
    'convolution, stride': lambda n: F.convolution_2d(random(1, 1, 4, 4), random(1, 1, 3, 3), stride=n),
    'convolution, dilate': lambda n: F.convolution_2d(random(1, 1, 4, 4), random(1, 1, 3, 3), pad=n, dilate=n),
    'deconvolution, stride': lambda n: F.deconvolution_nd(random(1, 1, 4), random(1, 1, 3), stride=n),
    'deconvolution, outsize': lambda n: F.deconvolution_2d(random(1, 1, 4, 4), random(1, 1, 3, 3), outsize=(n, n)),
    'max pooling, ksize': lambda n: F.max_pooling_2d(random(1, 1, 4, 4), n, 1, n),
    'average pooling, pad': lambda n: F.average_pooling_1d(random(1, 1, 4), 3, 1, n),
    'unpooling, ksize': lambda n: F.unpooling_2d(random(1, 1, 4, 4), n),
    'unpooling, stride': lambda n: F.unpooling_1d(random(1, 1, 4), 2, n),
    'upsampling': lambda n: F.upsampling_2d(random(1, 1, 4, 4), np.zeros((1, 1, 4, 4), 'i'), n),
    'im2col': lambda n: F.im2col(random(1, 1, 4, 4), n, 1, n),
    'adaptive': lambda n: F.adaptive_average_pooling_2d(random(1, 1, 4, 4), n),
    'region': lambda n: F.roi_max_pooling_2d(random(1, 1, 4, 4), OUTSIDE[:1], IMAGES[:1], n, 1.0),
    'points': lambda n: F.roi_average_align_2d(random(1, 1, 4, 4), OUTSIDE[:1], IMAGES[:1], 2, 1.0, n),
}


@pytest.mark.parametrize('exponent', [31, 32, 33, 61, 62, 63, 64, 65, 128])
@pytest.mark.parametrize('name', HUGE)
def test_sizes_beyond_those_of_arrays_are_refused(name: str, exponent: int) -> None:
    with pytest.raises((ValueError, TypeError), match='expected'):
        HUGE[name](2**exponent)


# --- regions -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('function', [F.roi_max_pooling_2d, F.roi_max_align_2d])
def test_a_bin_outside_of_the_image_is_minus_infinity_and_has_no_gradient(function: Callable[..., Any]) -> None:
    x = chainer.Variable(random(2, 2, 4, 4))
    y = function(x, OUTSIDE, IMAGES, 2, 1.0)
    np.testing.assert_array_equal(y.array[0], np.full((2, 2, 2), -np.inf))
    assert np.isfinite(y.array[1]).all()
    gx = gradient_of(y, x, np.full_like(y.array, np.inf))
    assert not np.isnan(gx).any()
    np.testing.assert_array_equal(gx[0], np.zeros((2, 4, 4)))


@pytest.mark.parametrize('function', [F.roi_average_pooling_2d, F.roi_average_align_2d])
def test_a_mean_outside_of_the_image_is_zero(function: Callable[..., Any]) -> None:
    y = function(random(2, 2, 4, 4), OUTSIDE, IMAGES, 2, 1.0).array
    assert (y[0] == 0).all() and (y[1] != 0).all()


def test_a_maximum_of_a_region_beyond_its_image_has_the_gradient_of_its_pixel() -> None:
    x = chainer.Variable(np.arange(16.0).reshape(1, 1, 4, 4))
    y = F.roi_pooling_2d(x, np.array([[0.0, -3, -3, 1, 1], [0, 7, 7, 9, 9]]), 1, 1, 1.0)
    np.testing.assert_array_equal(y.array.ravel(), [5, 0])
    expected = np.zeros((1, 1, 4, 4))
    expected[0, 0, 1, 1] = 1
    np.testing.assert_array_equal(gradient_of(y, x), expected)


@pytest.mark.parametrize('name', ['roi_pooling_2d', 'roi_max_pooling_2d', 'roi_max_align_2d'])
def test_the_first_of_equal_maxima_gets_the_gradient_and_nan_wins(name: str) -> None:
    def maxima(x: Any) -> chainer.Variable:
        rois = np.array([[0, 0, 4, 4]], 'f')
        if name == 'roi_pooling_2d':
            return F.roi_pooling_2d(x, np.array([[0, 0, 0, 3, 3]], 'f'), 1, 1, 1.0)
        return getattr(F, name)(x, rois, IMAGES[:1], 1, 1.0)

    x = chainer.Variable(np.zeros((1, 1, 4, 4), 'f'))
    gx = gradient_of(maxima(x), x)
    top_left = gx[0, 0, :2, :2] if name == 'roi_max_align_2d' else gx[0, 0, :1, :1]
    assert top_left.sum() == gx.sum() == 1
    x.array[0, 0, 1, 2] = np.nan
    assert np.isnan(maxima(x).array).all()


@pytest.mark.parametrize('name', ['roi_max_pooling_2d', 'roi_average_pooling_2d', 'roi_max_align_2d'])
def test_negative_numbers_of_images_count_from_the_end(name: str) -> None:
    x, function = random(3, 1, 5, 5), getattr(F, name)
    rois = np.array([[0, 1, 3, 5], [1, 1, 4, 4]], 'f')
    expected = function(x, rois, np.array([2, 1], 'i'), 2, 1.0).array
    np.testing.assert_array_equal(function(x, rois, np.array([-1, -2]), 2, 1.0).array, expected)


def test_many_regions_are_pooled_without_a_loop_over_them() -> None:
    """Two thousand regions; a loop in Python over bins or elements would take minutes."""
    rng = np.random.RandomState(0)
    x = chainer.Variable(random(2, 3, 20, 24))
    begin = rng.uniform(0, 12, (2000, 2))
    rois = np.concatenate([begin, begin + rng.uniform(1, 8, (2000, 2))], axis=1).astype('f')
    images = rng.randint(0, 2, 2000).astype('i')
    whole = [f(x, rois, images, 3, 1.0) for f in (F.roi_max_pooling_2d, F.roi_average_align_2d, F.roi_max_align_2d)]
    for function, y in zip((F.roi_max_pooling_2d, F.roi_average_align_2d, F.roi_max_align_2d), whole, strict=True):
        some = function(x, rois[7:9], images[7:9], 3, 1.0)
        np.testing.assert_allclose(y.array[7:9], some.array, rtol=1e-5, atol=1e-6)
        # Weights of a region sum up to one: a gradient of ones is handed on as it is.
        gx = gradient_of(y, x)
        np.testing.assert_allclose(gx.sum(), y.size, rtol=1e-5)
        x.cleargrad()


# --- against each other --------------------------------------------------------------------------------------------
def test_upsampling_undoes_max_pooling() -> None:
    x = random(2, 3, 7, 5)
    y, indexes = F.max_pooling_2d(x, 3, 2, 1, return_indices=True)
    back = F.upsampling_2d(y, indexes, 3, 2, 1, outsize=x.shape[2:]).array
    at = back != 0
    counts = np.rint(back[at] / x[at])  # a pixel that is the maximum of several windows comes back several times
    np.testing.assert_allclose(back[at], x[at] * counts, rtol=1e-6)
    assert counts.sum() == y.size


@pytest.mark.parametrize(('size', 'outsize'), [((6, 8), (3, 2)), ((5, 5), (1, 5)), ((4, 6), (4, 1))])
def test_adaptive_pooling_into_equal_windows_is_average_pooling(size: tuple[int, int], outsize: Any) -> None:
    x = random(2, 3, *size, dtype='d')
    ksize = tuple([n // o for n, o in zip(size, outsize, strict=True)])
    expected = F.average_pooling_2d(x, ksize).array
    np.testing.assert_allclose(F.adaptive_average_pooling_2d(x, outsize).array, expected, rtol=1e-12, atol=1e-14)


def test_adaptive_pooling_is_that_of_torch() -> None:
    torch = pytest.importorskip('torch', reason='torch is an independent implementation to compare with')
    x = random(2, 3, 7, 10, dtype='d')
    for outsize in ((3, 4), (1, 1), (9, 3), (7, 10)):
        expected = torch.nn.functional.adaptive_avg_pool2d(torch.tensor(x), outsize).numpy()
        np.testing.assert_allclose(F.adaptive_average_pooling_2d(x, outsize).array, expected, rtol=1e-12, atol=1e-14)


def test_columns_times_filters_are_a_convolution() -> None:
    x, W = random(2, 3, 6, 5, dtype='d'), random(4, 3, 3, 2, dtype='d')
    columns = F.im2col(x, (3, 2), (2, 1), (1, 0), dilate=(1, 2))
    y = F.tensordot(W.reshape(4, -1), columns, axes=((1,), (1,)))
    expected = F.convolution_2d(x, W, stride=(2, 1), pad=(1, 0), dilate=(1, 2))
    np.testing.assert_allclose(F.moveaxis(y, 0, 1).array, expected.array, rtol=1e-12, atol=1e-13)


def test_deformable_convolution_without_offsets_is_a_convolution() -> None:
    arrays = random(2, 3, 6, 5, dtype='d'), random(4, 3, 3, 2, dtype='d'), random(4, dtype='d')
    results = []
    for f in (
        lambda x, W, b: F.convolution_2d(x, W, b, stride=(2, 1), pad=1),
        lambda x, W, b: F.deformable_convolution_2d_sampler(x, np.zeros((2, 12, 3, 6)), W, b, (2, 1), 1),
    ):
        variables = [chainer.Variable(a) for a in arrays]
        y = f(*variables)
        y.grad = random(*y.shape, dtype='d')
        y.backward()
        results.append([y.array, *[v.grad for v in variables]])
    for expected, actual in zip(*results, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-11, atol=1e-12)


def test_local_convolution_with_the_same_filters_everywhere_is_a_convolution() -> None:
    x, W = random(2, 3, 6, 5, dtype='d'), random(4, 3, 2, 2, dtype='d')
    everywhere = np.broadcast_to(W[:, None, None], (4, 3, 2, 3, 2, 2))
    y = F.local_convolution_2d(x, everywhere, stride=2)
    np.testing.assert_allclose(y.array, F.convolution_2d(x, W, stride=2).array, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(('of_x', 'of_W'), [('e', 'f'), ('f', 'd'), ('d', 'f')])
def test_local_convolution_of_two_dtypes_is_computed_in_the_wider_one(of_x: str, of_W: str) -> None:
    variables = [
        chainer.Variable(random(*shape, dtype=dtype))
        for shape, dtype in (((1, 2, 3, 3), of_x), ((2, 2, 2, 2, 2, 2), of_W), ((2, 2, 2), of_x))
    ]
    y = F.local_convolution_2d(*variables)
    assert y.dtype == of_x
    expected = F.local_convolution_2d(*[v.array.astype('d') for v in variables]).array
    # Eight products of numbers up to 1 and the rounding of the result to its own dtype.
    np.testing.assert_allclose(y.array, expected, rtol=2 * np.finfo(of_x).eps, atol=16 * np.finfo('f').eps)
    gradient_of(y, variables[0])
    assert [v.grad.dtype for v in variables] == [v.dtype for v in variables]


@pytest.mark.parametrize(
    ('function', 'size'),
    [
        (lambda x: F.unpooling_2d(x, (1, 3), stride=1, cover_all=False), 3),
        (lambda x: F.im2col(x, (1, 3)), 5),
        (lambda x: F.local_convolution_2d(x, np.ones((1, 1, 3, 1, 1, 3), 'e')), 5),
    ],
    ids=['unpooling', 'im2col', 'local convolution'],
)
def test_float16_sums_do_not_overflow_on_the_way(function: Callable[..., Any], size: int) -> None:
    """The middle of the gradient is -4e4 + 4e4 + 4e4 in some order: a part does not fit float16, the sum does."""
    x = chainer.Variable(np.ones((1, 1, 1, size), 'e'))
    y = function(x)
    gy = np.zeros(y.shape, 'e')
    gy[..., :3] = -4e4, 4e4, 4e4
    gy[..., 3:] = 0
    if y.shape[1] == 3:
        gy = np.broadcast_to(gy[:, :1], y.shape).copy()
    with np.errstate(over='ignore'):  # the pixel beside it gets 8e4, which is infinite
        gx = gradient_of(y, x, gy)
    assert gx.dtype == x.dtype
    assert gx[0, 0, 0, 0 if size == 3 else 2] == np.float16(4e4)
