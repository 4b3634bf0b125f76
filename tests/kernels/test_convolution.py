"""The convolution kernels against their plain forms, over many geometries, layouts and block sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minichainer._native import library
from minichainer.kernels import convolution as kernels
from minichainer.kernels import depthwise, planes
from minichainer.kernels._windows import Geometry
from minichainer.utils.conv import get_conv_outsize

LAYOUTS = ['C', 'channels last', 'reversed']


def laid_out(x: np.ndarray, layout: str) -> np.ndarray:
    """The same array, otherwise in memory."""
    if layout == 'channels last':
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
    return np.flip(np.flip(x).copy()) if layout == 'reversed' else np.ascontiguousarray(x)


@st.composite
def geometries(draw: Any) -> Geometry:
    n, few = draw(st.integers(0, 3)), st.integers(1, 3)

    def each(numbers: Any) -> tuple[int, ...]:
        return tuple(draw(st.lists(numbers, min_size=n, max_size=n)))

    k, s, d, p = each(few), each(few), each(st.integers(1, 2)), each(st.integers(0, 4))
    size = tuple([max(1, (k - 1) * d + 1 - 2 * p) + draw(st.integers(0, 3)) for k, d, p in zip(k, d, p, strict=True)])
    cover_all = draw(st.booleans())
    axes = zip(size, k, s, p, d, strict=True)
    out = tuple([get_conv_outsize(i, k, s, p, cover_all, d) for i, k, s, p, d in axes])
    return Geometry(size, k, s, p, d, out, draw(st.sampled_from([1, 1, 2, 3])))


def arrays(geometry: Geometry, n: int, c: int, o: int, layout: str, dtype: str = 'd') -> list[np.ndarray]:
    """Images, filters, biases for both sides, images of the other side."""
    rng, groups = np.random.RandomState(0), geometry.groups
    shapes = [
        (n, c * groups, *geometry.in_size), (o * groups, c, *geometry.ksize), (o * groups,), (c * groups,),
        (n, o * groups, *geometry.out_size),
    ]  # fmt: skip
    made = [rng.uniform(-1, 1, shape).astype(dtype) for shape in shapes]
    return [laid_out(a, layout) if a.ndim > 1 else a for a in made]


def check(geometry: Geometry, x: Any, W: Any, b: Any, bx: Any, gy: Any, rtol: float = 1e-12) -> None:
    wide = [a.astype('d') for a in (x, W, b, bx, gy)]
    pairs = [
        (kernels.convolve(np, x, W, b, geometry), kernels.convolve_reference(*wide[:3], geometry)),
        (kernels.convolve(np, x, W, None, geometry), kernels.convolve_reference(*wide[:2], None, geometry)),
        (
            kernels.data_gradient(np, gy, W, bx, geometry),
            kernels.data_gradient_reference(wide[4], wide[1], wide[3], geometry),
        ),
        (
            kernels.data_gradient(np, gy, W, None, geometry),
            kernels.data_gradient_reference(wide[4], wide[1], None, geometry),
        ),
        (kernels.filter_gradient(np, x, gy, geometry), kernels.filter_gradient_reference(wide[0], wide[4], geometry)),
    ]
    for actual, expected in pairs:
        assert actual.shape == expected.shape and actual.dtype == x.dtype
        np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol * max(abs(expected).max(initial=0), 1))


@settings(max_examples=80, deadline=None)
@given(geometries(), st.integers(0, 3), st.integers(1, 5), st.integers(1, 3), st.sampled_from(LAYOUTS))
def test_kernels_are_what_their_plain_forms_say(geometry: Geometry, n: int, c: int, o: int, layout: str) -> None:
    check(geometry, *arrays(geometry, n, c, o, layout))


@settings(max_examples=60, deadline=None)
@given(geometries(), st.integers(0, 3), st.integers(2, 4), st.integers(1, 2), st.sampled_from(LAYOUTS))
def test_filters_of_each_channel_alone(geometry: Geometry, n: int, c: int, o: int, layout: str) -> None:
    geometry = geometry._replace(groups=c)
    assert depthwise.applies(geometry, c) == (geometry.ksize != ())
    check(geometry, *arrays(geometry, n, 1, o, layout))


@pytest.mark.parametrize('stride', [1, 2])
def test_filters_of_each_channel_alone_are_exact_over_many_images(monkeypatch: Any, stride: int) -> None:
    monkeypatch.setattr(depthwise, '_IMAGES', 2)
    geometry = Geometry((6, 5), (3, 2), (stride, stride), (1, 0), (1, 1), (6 // stride, (5 - 2) // stride + 1), 3)
    check(geometry, *arrays(geometry, 5, 1, 2, 'channels last', 'f'), rtol=1e-5)


@pytest.mark.parametrize('block', [1, 1000, 5000])
@pytest.mark.parametrize('channels', [1, 4])
@pytest.mark.parametrize('stride', [1, 2])
def test_blocks_of_any_size_give_the_same(monkeypatch: Any, block: int, channels: int, stride: int) -> None:
    monkeypatch.setattr(kernels, '_BLOCK_BYTES', block)
    for groups in (1, 2):
        out = (7 // stride + 1, 5 // stride + 1)
        geometry = Geometry((8, 6), (3, 2), (stride, stride), (1, 1), (1, 1), out, groups)
        check(geometry, *arrays(geometry, 3, channels, 2, 'C'))


@pytest.mark.parametrize(('dtype', 'rtol'), [('e', 1e-3), ('f', 1e-5), ('d', 1e-13)])
def test_each_dtype_is_kept_and_sums_are_accurate(dtype: str, rtol: float) -> None:
    geometry = Geometry((6, 6), (3, 3), (1, 1), (1, 1), (1, 1), (6, 6))
    check(geometry, *arrays(geometry, 2, 8, 4, 'C', dtype), rtol=rtol)


def test_float16_sums_do_not_overflow_on_the_way() -> None:
    geometry = Geometry((2,), (2,), (1,), (0,), (1,), (1,))
    x = np.array([[[6e4, 6e4]]], 'e')
    W = np.array([[[3.0, -3.0]]], 'e')  # 3 * 6e4 is infinite in float16
    y = kernels.convolve(np, x, W, None, geometry)
    assert y.item() == 0


@pytest.mark.parametrize('kernel', ['convolve', 'data_gradient', 'filter_gradient'])
def test_a_transpose_is_a_transpose(kernel: str) -> None:
    """The three kernels are three ways to write one sum of products."""
    geometry = Geometry((7, 6), (3, 2), (2, 1), (1, 0), (1, 2), (4, 4), 2)
    x, W, _, _, gy = arrays(geometry, 2, 3, 2, 'channels last')
    whole = np.vdot(kernels.convolve(np, x, W, None, geometry), gy)
    parts = {
        'convolve': whole,
        'data_gradient': np.vdot(kernels.data_gradient(np, gy, W, None, geometry), x),
        'filter_gradient': np.vdot(kernels.filter_gradient(np, x, gy, geometry), W),
    }
    np.testing.assert_allclose(parts[kernel], whole, rtol=1e-12)
    assert abs(whole) > 1e-3


def test_inputs_are_left_alone_and_the_filter_gradient_is_contiguous() -> None:
    geometry = Geometry((5, 5), (3, 3), (1, 1), (0, 0), (1, 1), (3, 3))
    given_ = arrays(geometry, 2, 4, 3, 'channels last')
    for a in given_:
        a.flags.writeable = False
    check(geometry, *given_)
    assert kernels.filter_gradient(np, given_[0], given_[4], geometry).flags.c_contiguous


def test_sum_of_channels_of_an_empty_batch_is_zero() -> None:
    x = np.zeros((0, 3, 2), 'e')
    total = kernels.sum_of_channels(np, x)
    assert total.dtype == x.dtype
    np.testing.assert_array_equal(total, np.zeros(3))


def test_span_and_taps_of_a_geometry() -> None:
    geometry = Geometry((9,), (3,), (2,), (1,), (2,), (4,))
    assert geometry.span == (11,)
    seen = [np.arange(11)[slices].tolist() for _, slices in geometry.taps()]
    assert seen == [[0, 2, 4, 6], [2, 4, 6, 8], [4, 6, 8, 10]]


@pytest.mark.skipif(library.kernels is None, reason='compiled kernels were not built')
@pytest.mark.parametrize('dtype', ['f', 'd'])
@pytest.mark.parametrize('o', [12, 16, 33, 64])
@pytest.mark.parametrize('width', [8, 9, 15, 16, 24])
def test_images_with_few_channels(width: int, o: int, dtype: str) -> None:
    """Rows of all lengths, numbers of filters that are no multiples of a vector, padding that is read as zeros."""
    out = (3, width)
    geometry = Geometry((5, 2 * width), (2, 3), (1, 2), (1, 2), (2, 1), out)
    x, W, b, _, _ = arrays(geometry, 2, 3, o, 'C', dtype)
    assert planes.applies(geometry, 3, o) and not planes.applies(geometry, 4, o)
    assert not planes.applies(geometry, 3, 11) and not planes.applies(geometry._replace(out_size=(3, 7)), 3, o)
    assert not planes.applies(geometry._replace(ksize=(1, 2)), 3, o)
    assert not planes.applies(geometry._replace(ksize=(9, 10)), 3, o)
    for bias in (b, None):
        y = np.moveaxis(planes.convolve(x, W, bias, geometry), -1, 1)
        expected = kernels.convolve_reference(*[a if a is None else a.astype('d') for a in (x, W, bias)], geometry)
        assert y.dtype == x.dtype
        np.testing.assert_allclose(y, expected, rtol=0, atol=abs(expected).max() * 8 * np.finfo(dtype).eps)
