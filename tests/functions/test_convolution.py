"""What the table cannot say of convolutions and poolings: two dtypes, layouts in memory, indices."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import minichainer as chainer
import minichainer.functions as F
from minichainer.kernels import convolution as kernels
from minichainer.kernels._windows import Geometry


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


@pytest.mark.parametrize('stride', [1, 2, 3])
def test_an_infinite_upstream_gradient_reaches_the_maximum_alone(stride: int) -> None:
    x = chainer.Variable(np.arange(5.0).reshape(1, 1, 5))
    y = F.max_pooling_1d(x, 2, stride, cover_all=False)
    y.grad = np.full_like(y.array, np.inf)
    y.grad[..., 0] = -np.inf
    y.backward()
    expected = np.zeros((1, 1, 5))
    expected[..., 1::stride][..., : y.shape[2]] = np.inf
    expected[..., 1] = -np.inf
    np.testing.assert_array_equal(x.grad, expected)


# --- arguments that are no ints ------------------------------------------------------------------------------------
NOT_INTS = [
    (F.convolution_2d, ((1, 2, 4, 4), (2, 2, 2, 2)), {'stride': 1.0}, 'stride'),
    (F.convolution_2d, ((1, 2, 4, 4), (2, 2, 2, 2)), {'pad': (0, 0.5)}, 'pad'),
    (F.convolution_2d, ((1, 2, 4, 4), (2, 2, 2, 2)), {'dilate': (1, None)}, 'dilate'),
    (F.convolution_2d, ((1, 2, 4, 4), (2, 1, 2, 2)), {'groups': 2.0}, 'groups'),
    (F.convolution_nd, ((1, 2, 4), (2, 2, 2)), {'stride': None}, 'stride'),
    (F.deconvolution_2d, ((1, 2, 4, 4), (2, 2, 2, 2)), {'stride': 2.0}, 'stride'),
    (F.deconvolution_2d, ((1, 2, 4, 4), (2, 2, 2, 2)), {'outsize': (5.0, 5)}, 'outsize'),
    (F.deconvolution_nd, ((1, 2, 4), (2, 2, 2)), {'groups': '1'}, 'groups'),
    (F.max_pooling_2d, ((1, 2, 4, 4),), {'ksize': 2.0}, 'ksize'),
    (F.average_pooling_nd, ((1, 2, 4),), {'ksize': 2, 'stride': 1.5}, 'stride'),
]


@pytest.mark.parametrize(('function', 'shapes', 'arguments', 'name'), NOT_INTS)
def test_an_argument_that_is_no_int_is_refused(
    function: Callable[..., Any], shapes: Any, arguments: dict[str, Any], name: str
) -> None:
    got = re.escape(repr(arguments[name]))
    with pytest.raises(TypeError, match=rf'ints? expected as {name}, got {got}'):
        function(*[random(*shape) for shape in shapes], **arguments)


def test_numpy_ints_are_ints() -> None:
    x, W, two = random(1, 4, 6, 6), random(4, 2, 2, 2), np.int64(2)
    expected = F.convolution_2d(x, W, stride=2, pad=2, dilate=2, groups=2).array
    y = F.convolution_2d(x, W, stride=np.array([2, 2]), pad=(two, two), dilate=two, groups=two)
    np.testing.assert_array_equal(y.array, expected)


# --- any geometry --------------------------------------------------------------------------------------------------
@st.composite
def convolutions(draw: Any) -> dict[str, Any]:
    """Sizes and arguments of a convolution over one to three axes whose filters fit into the images."""
    n = draw(st.integers(1, 3))

    def each(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.lists(st.integers(low, high), min_size=n, max_size=n)))

    k, stride, pad, dilate = each(1, 3), each(1, 3), each(0, 3), each(1, 2)
    axes = zip(k, pad, dilate, each(0, 3), strict=True)
    size = tuple([max(1, (k - 1) * d + 1 - 2 * p) + more for k, p, d, more in axes])
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    channels = draw(st.integers(0, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    return {'k': k, 'stride': stride, 'pad': pad, 'dilate': dilate, 'size': size, 'groups': groups, 'nco': channels}


def _differentiated(f: Callable[..., Any], arrays: list[np.ndarray]) -> list[np.ndarray]:
    variables = [chainer.Variable(a) for a in arrays]
    y = f(*variables)
    y.grad = np.cos(np.arange(y.size, dtype='d')).reshape(y.shape)
    y.backward()
    return [y.array, *[v.grad for v in variables]]


def _differentiated_by_torch(torch: Any, f: Callable[..., Any], arrays: list[np.ndarray]) -> list[np.ndarray]:
    tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
    y = f(*tensors)
    y.backward(torch.cos(torch.arange(y.numel(), dtype=torch.float64)).reshape(y.shape))
    return [y.detach().numpy(), *[t.grad.numpy() for t in tensors]]


def _agree(ours: list[np.ndarray], theirs: list[np.ndarray]) -> None:
    for actual, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-11)


@settings(max_examples=40, deadline=None)
@given(convolutions())
def test_convolution_is_that_of_torch(chosen: dict[str, Any]) -> None:
    torch = pytest.importorskip('torch', reason='torch is an independent implementation to compare with')
    (batch, c, o), groups, k = chosen['nco'], chosen['groups'], chosen['k']
    arrays = [random(batch, c * groups, *chosen['size']), random(o * groups, c, *k), random(o * groups)]
    theirs = getattr(torch.nn.functional, f'conv{len(k)}d')
    stride, pad, dilate = chosen['stride'], chosen['pad'], chosen['dilate']
    _agree(
        _differentiated(lambda x, W, b: F.convolution_nd(x, W, b, stride, pad, False, dilate, groups), arrays),
        _differentiated_by_torch(torch, lambda x, W, b: theirs(x, W, b, stride, pad, dilate, groups), arrays),
    )


@settings(max_examples=40, deadline=None)
@given(convolutions(), st.lists(st.integers(0, 2), min_size=3, max_size=3))
def test_deconvolution_is_that_of_torch(chosen: dict[str, Any], more: list[int]) -> None:
    torch = pytest.importorskip('torch', reason='torch is an independent implementation to compare with')
    (batch, c, o), groups, k = chosen['nco'], chosen['groups'], chosen['k']
    stride, pad, dilate = chosen['stride'], chosen['pad'], chosen['dilate']
    left_over = tuple([min(m, max(s, d) - 1, s - 1) for m, s, d in zip(more, stride, dilate, strict=False)])
    axes = zip(chosen['size'], k, stride, pad, dilate, left_over, strict=True)
    outsize = tuple([s * (i - 1) + d * (j - 1) + 1 - 2 * p + m for i, j, s, p, d, m in axes])
    assume(min(outsize) > 0)
    arrays = [random(batch, o * groups, *chosen['size']), random(o * groups, c, *k), random(c * groups)]
    theirs = getattr(torch.nn.functional, f'conv_transpose{len(k)}d')
    _agree(
        _differentiated(lambda x, W, b: F.deconvolution_nd(x, W, b, stride, pad, outsize, dilate, groups), arrays),
        _differentiated_by_torch(
            torch, lambda x, W, b: theirs(x, W, b, stride, pad, left_over, groups, dilate), arrays
        ),
    )


@settings(max_examples=40, deadline=None)
@given(convolutions(), st.booleans())
def test_the_public_convolution_is_its_plain_form(chosen: dict[str, Any], cover_all: bool) -> None:
    (batch, c, o), groups, k = chosen['nco'], chosen['groups'], chosen['k']
    x, W, b = random(batch, c * groups, *chosen['size']), random(o * groups, c, *k), random(o * groups)
    stride, pad, dilate = chosen['stride'], chosen['pad'], chosen['dilate']
    y = F.convolution_nd(x, W, b, stride, pad, cover_all, dilate, groups).array
    geometry = Geometry(x.shape[2:], k, stride, pad, dilate, y.shape[2:], groups)
    np.testing.assert_allclose(y, kernels.convolve_reference(x, W, b, geometry), rtol=1e-11, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(convolutions(), st.sampled_from(['max', 'mean', 'mean without padding']))
def test_pooling_is_that_of_torch(chosen: dict[str, Any], kind: str) -> None:
    torch = pytest.importorskip('torch', reason='torch is an independent implementation to compare with')
    k, stride = chosen['k'], chosen['stride']
    pad = tuple([min(p, j // 2) for p, j in zip(chosen['pad'], k, strict=True)])  # torch takes no more
    size = tuple([max(i, j) for i, j in zip(chosen['size'], k, strict=True)])
    x = np.random.RandomState(0).permutation(6 * int(np.prod(size))).reshape(2, 3, *size) / 7.0
    n = len(k)
    pairs: dict[str, Any] = {
        'max': (
            lambda x: F.max_pooling_nd(x, k, stride, pad, cover_all=False),
            lambda x: getattr(torch.nn.functional, f'max_pool{n}d')(x, k, stride, pad),
        ),
        'mean': (
            lambda x: F.average_pooling_nd(x, k, stride, pad),
            lambda x: getattr(torch.nn.functional, f'avg_pool{n}d')(x, k, stride, pad),
        ),
        'mean without padding': (
            lambda x: F.average_pooling_nd(x, k, stride, pad, None),
            lambda x: getattr(torch.nn.functional, f'avg_pool{n}d')(x, k, stride, pad, False, False),
        ),
    }
    ours, theirs = pairs[kind]
    _agree(_differentiated(ours, [x]), _differentiated_by_torch(torch, theirs, [x]))


def test_a_depthwise_deconvolution_from_no_channels_has_gradients_without_elements() -> None:
    variables = [chainer.Variable(np.ones(shape, 'f')) for shape in ((2, 0, 3), (0, 1, 2), (2,))]
    y = F.deconvolution_1d(*variables, stride=3, pad=1, dilate=2, groups=2, outsize=(8,))
    y.grad = np.ones_like(y.array)
    y.backward()
    assert [v.grad.shape for v in variables] == [(2, 0, 3), (0, 1, 2), (2,)]
    np.testing.assert_array_equal(variables[2].grad, [16, 16])
