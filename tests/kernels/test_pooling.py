"""The pooling kernels against their plain forms, over many geometries and layouts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minichainer.kernels import pooling as kernels
from minichainer.kernels._windows import Geometry, numbers_of
from minichainer.utils.conv import get_conv_outsize

LAYOUTS = ['C', 'channels last', 'reversed']


def laid_out(x: np.ndarray, layout: str) -> np.ndarray:
    """The same array, otherwise in memory."""
    if layout == 'channels last':
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
    return np.flip(np.flip(x).copy()) if layout == 'reversed' else np.ascontiguousarray(x)


@st.composite
def geometries(draw: Any) -> Geometry:
    n = draw(st.integers(1, 3))

    def each(numbers: Any) -> tuple[int, ...]:
        return tuple(draw(st.lists(numbers, min_size=n, max_size=n)))

    k, s, p = each(st.integers(1, 3)), each(st.integers(1, 4)), each(st.integers(0, 4))
    size = tuple([max(1, k - 2 * p) + draw(st.integers(0, 3)) for k, p in zip(k, p, strict=True)])
    cover_all = draw(st.booleans())
    out = tuple([get_conv_outsize(*a, cover_all) for a in zip(size, k, s, p, strict=True)])
    return Geometry(size, k, s, p, (1,) * n, out)


def drawn(shape: tuple[int, ...], kind: str, layout: str) -> np.ndarray:
    """Numbers of either sign; with ``ties`` few different ones, with ``nan`` some NaN and infinities among them."""
    rng = np.random.RandomState(0)
    x = rng.randn(*shape)
    if kind == 'ties':
        x = x.round()
    if kind == 'nan':
        x = rng.choice([np.nan, np.inf, -np.inf, 0.5, -1.0], shape)
    return laid_out(x, layout)


OVER_ALL = (geometries(), st.integers(0, 3), st.sampled_from(['plain', 'ties', 'nan']), st.sampled_from(LAYOUTS))


@settings(max_examples=60, deadline=None)
@given(*OVER_ALL)
def test_maxima_and_their_places(geometry: Geometry, n: int, kind: str, layout: str) -> None:
    x = drawn((n, 2, *geometry.in_size), kind, layout)
    y = kernels.maxima(np, x, geometry)
    np.testing.assert_array_equal(y, kernels.maxima_reference(x, geometry))
    places = kernels.places_of_maxima(np, x, y, geometry)
    np.testing.assert_array_equal(places, kernels.places_of_maxima_reference(x, geometry))
    picked = kernels.pick(np, x, places, geometry)
    np.testing.assert_array_equal(picked, kernels.pick_reference(x, places, geometry))


@settings(max_examples=60, deadline=None)
@given(geometries(), st.integers(0, 3), st.booleans(), st.sampled_from(LAYOUTS))
def test_means(geometry: Geometry, n: int, count_padding: bool, layout: str) -> None:
    x = drawn((n, 2, *geometry.in_size), 'plain', layout)
    y = kernels.means(np, x, geometry, count_padding)
    np.testing.assert_allclose(y, kernels.means_reference(x, geometry, count_padding), rtol=1e-12, atol=1e-14)


@settings(max_examples=60, deadline=None)
@given(geometries(), st.integers(1, 3), st.booleans(), st.sampled_from(LAYOUTS))
def test_transposes_are_transposes(geometry: Geometry, n: int, count_padding: bool, layout: str) -> None:
    x, gy = (drawn((n, 2, *size), 'plain', layout) for size in (geometry.in_size, geometry.out_size))
    places = kernels.places_of_maxima(np, x, kernels.maxima(np, x, geometry), geometry)
    pairs = [
        (kernels.pick(np, x, places, geometry), kernels.spread(np, gy, places, geometry)),
        (kernels.means(np, x, geometry, count_padding), kernels.spread_means(np, gy, geometry, count_padding)),
    ]
    for forward, back in pairs:
        assert forward.shape == gy.shape and back.shape == x.shape
        np.testing.assert_allclose(np.vdot(forward, gy), np.vdot(x, back), rtol=1e-11, atol=1e-12)


def test_windows_of_more_than_255_elements() -> None:
    geometry = Geometry((300,), (290,), (10,), (0,), (1,), (2,))
    x = np.arange(300.0).reshape(1, 1, 300)
    places = kernels.places_of_maxima(np, x, kernels.maxima(np, x, geometry), geometry)
    np.testing.assert_array_equal(places, [[[289, 289]]])
    expected = np.zeros((1, 1, 300))
    expected[0, 0, [289, 299]] = 1, 2
    np.testing.assert_array_equal(kernels.spread(np, np.array([[[1.0, 2.0]]]), places, geometry), expected)


@pytest.mark.parametrize('layout', ['C', 'channels last'])
def test_results_lie_in_memory_as_their_input_does(layout: str) -> None:
    geometry = Geometry((4, 4), (2, 2), (2, 2), (1, 1), (1, 1), (3, 3))
    x = drawn((2, 5, 4, 4), 'plain', layout)
    y = kernels.maxima(np, x, geometry)
    gx = kernels.spread(np, y, kernels.places_of_maxima(np, x, y, geometry), geometry)
    results = [y, kernels.means(np, x, geometry, True), gx, kernels.spread_means(np, y, geometry, True)]
    for result in results:
        assert (result.strides[1] == result.itemsize) == (layout == 'channels last')


def test_float16_sums_do_not_overflow_on_the_way() -> None:
    geometry = Geometry((4,), (4,), (4,), (0,), (1,), (1,))
    x = np.full((1, 1, 4), 3e4, 'e')
    y = kernels.means(np, x, geometry, True)
    assert y.dtype == x.dtype and y.item() == x[0, 0, 0]


@pytest.mark.parametrize('layout', ['C', 'channels last'])
def test_gradients_of_maxima_lie_in_memory_as_the_input(layout: str) -> None:
    """Whatever layout comes from above, as C order does from a layer on flat features."""
    geometry = Geometry((4, 6), (2, 2), (2, 2), (0, 0), (1, 1), (2, 3))
    x = drawn((2, 3, 4, 6), 'plain', layout)
    places = kernels.places_of_maxima(np, x, kernels.maxima(np, x, geometry), geometry)
    gy = drawn(places.shape, 'plain', 'C')
    gx = kernels.spread(np, gy, places, geometry)
    assert gx.strides == x.strides
    np.testing.assert_array_equal(gx, kernels.spread(np, gy, np.ascontiguousarray(places), geometry))


def test_numbers_for_compiled_kernels() -> None:
    """Axes that are not there have one window of one element; what could overflow has no numbers."""
    one = Geometry((5,), (2,), (3,), (1,), (4,), (2,))
    assert numbers_of(one) == (1, 1, 5, 1, 1, 2, 1, 1, 2, 1, 1, 3, 0, 0, 1, 1, 1, 4)
    three = Geometry((5, 6, 7), (2, 3, 4), (1, 1, 1), (0, 0, 0), (1, 1, 1), (4, 4, 4))
    assert numbers_of(three) == (5, 6, 7, 4, 4, 4, 2, 3, 4, 1, 1, 1, 0, 0, 0, 1, 1, 1)
    for name in ('stride', 'pad', 'dilate'):
        assert numbers_of(one._replace(**{name: (1 << 31,)})) is None
        assert numbers_of(one._replace(**{name: ((1 << 31) - 1,)})) is not None
    assert numbers_of(one._replace(pad=(-(1 << 31),))) is None
    assert numbers_of(one._replace(ksize=(0,))) is None
    assert numbers_of(Geometry((), (), (), (), (), ())) is None
    assert numbers_of(Geometry(*[(1,) * 4] * 6)) is None
