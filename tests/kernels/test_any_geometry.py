"""Kernels of windows against their plain forms, wherever the windows lie and whichever way is taken.

Windows may begin long before the array or inside it, and end anywhere; there may be none. Thresholds between ways are
drawn too, so that small arrays reach each of them on both sides.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minichainer.kernels import convolution, depthwise, patches, pooling, winograd
from minichainer.kernels._windows import Geometry

EXAMPLES = {'few': 60, 'many': 3000}
PRECISION = {'e': 4e-3, 'f': 5e-6, 'd': 1e-12}
#: Values that thresholds between ways are given: those that exclude a way, those that always take it, and their own.
THRESHOLDS: dict[tuple[Any, str], list[float]] = {
    (convolution, '_BLOCK_BYTES'): [1, 3000, convolution._BLOCK_BYTES],
    (convolution, '_FEW_CHANNELS'): [0, convolution._FEW_CHANNELS, 99],
    (convolution, '_FLIP_UP_TO'): [0, convolution._FLIP_UP_TO, 1e9],
    (winograd, '_BLOCK_BYTES'): [1, 1 << 12, winograd._BLOCK_BYTES],
    (winograd, '_LEAST_CHANNELS'): [1, winograd._LEAST_CHANNELS],
    (winograd, '_LEAST_ELEMENTS'): [1, winograd._LEAST_ELEMENTS],
    (depthwise, '_IMAGES'): [1, 2, depthwise._IMAGES],
    (pooling, '_FEW_TAPS'): [0, pooling._FEW_TAPS, 99],
}
SPECIAL = [-np.inf, np.inf, np.nan, 0.0, 1.0, -1.0]


def profiles(test: Callable[..., None]) -> Callable[..., None]:
    """Runs a test with few examples, and with many where slow tests are asked for."""
    return pytest.mark.parametrize('profile', ['few', pytest.param('many', marks=pytest.mark.slow)])(test)


def examples(profile: str, strategy: Any, check: Callable[[Any], None]) -> None:
    """Gives ``check`` as many draws as the profile has."""
    run = given(strategy)(check)
    settings(
        max_examples=EXAMPLES[profile], deadline=None, database=None, derandomize=profile == 'few',
        suppress_health_check=list(HealthCheck),
    )(run)()  # fmt: skip


@contextmanager
def thresholds(values: tuple[float, ...]) -> Iterator[None]:
    """Sets all thresholds for a while."""
    with pytest.MonkeyPatch.context() as patch:
        for (module, name), value in zip(THRESHOLDS, values, strict=True):
            patch.setattr(module, name, value)
        yield


WAYS = st.tuples(*[st.sampled_from(values) for values in THRESHOLDS.values()])


def laid_out(x: np.ndarray, layout: str) -> np.ndarray:
    """The same array, otherwise in memory; ``broadcast`` makes all images the first one."""
    if layout == 'channels last':
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
    if layout == 'Fortran':
        return np.asfortranarray(x)
    if layout == 'reversed':
        return np.flip(np.flip(x).copy())
    if layout == 'strided':
        return np.repeat(np.repeat(x, 2, axis=-1), 3, axis=0)[tuple([slice(1, None, 3), ...])][..., ::2]
    if layout == 'broadcast':
        return np.broadcast_to(x[:1], x.shape)
    return np.ascontiguousarray(x)


LAYOUTS = st.sampled_from(['C', 'channels last', 'Fortran', 'reversed', 'strided', 'broadcast'])


@st.composite
def geometries(draw: Any, dilated: bool = True, axes: tuple[int, int] = (1, 3)) -> Geometry:
    """Any windows; often the square ones of step 1 that Winograd's way is for."""
    if dilated and draw(st.booleans()):
        n, k, s, d = 2, (3, 3), (1, 1), (1, 1)
    else:
        n = draw(st.integers(*axes))
        k, s, d = (draw(st.tuples(*[st.integers(1, most)] * n)) for most in (4, 4, 3 if dilated else 1))
    most = 12 if n < 3 else 5
    size = draw(st.tuples(*[st.integers(0, most)] * n))
    out = draw(st.tuples(*[st.integers(0, most)] * n))
    pad = draw(st.tuples(*[st.integers(-4, 9)] * n))
    return Geometry(size, k, s, pad, d, out)


CHANNELS = st.sampled_from([1, 2, 3, 4, 5, 31, 32, 33])
BATCHES = st.integers(0, 3)


def draw_array(rng: Any, shape: tuple[int, ...], layout: str, dtype: str) -> np.ndarray:
    return laid_out(rng.uniform(-1, 1, shape).astype(dtype), layout)


def close(actual: Any, expected: Any, dtype: str, terms: int = 1) -> None:
    assert actual.shape == expected.shape and actual.dtype == dtype
    tolerance = PRECISION[dtype]
    size = max(np.abs(expected[np.isfinite(expected)]).max(initial=0), terms**0.5)
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * size)


# --- convolution ---------------------------------------------------------------------------------------------------
@st.composite
def convolutions(draw: Any) -> tuple[Any, ...]:
    geometry = draw(geometries())
    groups = draw(st.sampled_from([1, 1, 1, 2, 3, 5]))
    c, o = (1, draw(st.integers(1, 2))) if groups > 1 and draw(st.booleans()) else (draw(CHANNELS), draw(CHANNELS))
    if groups > 1:
        c, o = min(c, 4), min(o, 4)
    n, dtype = draw(BATCHES), draw(st.sampled_from('ddffe'))
    return geometry._replace(groups=groups), n, c, o, dtype, draw(LAYOUTS), draw(LAYOUTS), draw(WAYS)


def check_convolutions(drawing: tuple[Any, ...]) -> None:
    geometry, n, c, o, dtype, of_x, of_gy, ways = drawing
    rng, groups = np.random.RandomState(0), geometry.groups
    x = draw_array(rng, (n, c * groups, *geometry.in_size), of_x, dtype)
    gy = draw_array(rng, (n, o * groups, *geometry.out_size), of_gy, dtype)
    W = draw_array(rng, (o * groups, c, *geometry.ksize), of_x if of_x != 'broadcast' else 'C', dtype)
    b, bx = (rng.uniform(-1, 1, m * groups).astype(dtype) for m in (o, c))
    with thresholds(ways):
        y = convolution.convolve(np, x, W, b, geometry)
        gx = convolution.data_gradient(np, gy, W, bx, geometry)
        gW = convolution.filter_gradient(np, x, gy, geometry)
    wide = [a.astype('d') for a in (x, W, b, gy, bx)]
    taps = int(np.prod(geometry.ksize))
    close(y, convolution.convolve_reference(*wide[:3], geometry), dtype, c * taps)
    close(gx, convolution.data_gradient_reference(wide[3], wide[1], wide[4], geometry), dtype, o * taps)
    windows = int(np.prod(geometry.out_size)) * max(n, 1)
    close(gW, convolution.filter_gradient_reference(wide[0], wide[3], geometry), dtype, max(windows, 1))
    assert gW.flags.c_contiguous


@profiles
def test_convolutions(profile: str) -> None:
    examples(profile, convolutions(), check_convolutions)


def check_special_values(drawing: tuple[Any, ...]) -> None:
    """What is not finite stays in the windows that meet it, and by Winograd's way in their neighbours."""
    geometry, n, c, o, _, of_x, _, ways = drawing
    geometry, n = geometry._replace(groups=1), max(n, 1)
    rng = np.random.RandomState(0)
    x = rng.uniform(-1, 1, (n, c, *geometry.in_size))
    if not x.size or 0 in geometry.out_size:
        return
    x.flat[rng.randint(x.size)] = SPECIAL[rng.randint(3)]
    W = rng.uniform(0.5, 1, (o, c, *geometry.ksize))
    x = laid_out(x, of_x)
    with thresholds(ways), np.errstate(all='ignore'):
        y = convolution.convolve(np, x, W, None, geometry)
        winograds = winograd.applies(np, geometry, c, o)
    expected = convolution.convolve_reference(x, W, None, geometry)
    if winograds:
        near = ~np.isfinite(expected)
        for axis, step in itertools.product((2, 3), (-1, 1)):
            beside = np.roll(near, step, axis)
            edge = [slice(None)] * 4
            edge[axis] = slice(0, 1) if step == 1 else slice(-1, None)
            beside[tuple(edge)] = False
            near = near | beside
        assert not np.isfinite(y[~np.isfinite(expected)]).any()
        y, expected = np.where(near, 0, y), np.where(near, 0, expected)
    close(y, expected, 'd', c * int(np.prod(geometry.ksize)))


@profiles
def test_convolutions_of_what_is_not_finite(profile: str) -> None:
    examples(profile, convolutions(), check_special_values)


# --- pooling -------------------------------------------------------------------------------------------------------
@st.composite
def poolings(draw: Any) -> tuple[Any, ...]:
    kind = draw(st.sampled_from(['plain', 'ties', 'special', 'lowest']))
    arguments = st.tuples(BATCHES, st.integers(0, 3), st.sampled_from('efd'), LAYOUTS, LAYOUTS, WAYS)
    return draw(geometries(dilated=draw(st.booleans()))), kind, *draw(arguments)


def values(rng: Any, shape: tuple[int, ...], kind: str, dtype: str) -> np.ndarray:
    if kind == 'special':
        return rng.choice(SPECIAL, shape).astype(dtype)
    if kind == 'lowest':
        return rng.choice([-np.inf, np.finfo(dtype).min], shape).astype(dtype)
    x = rng.uniform(-2, 2, shape)
    return (x.round() if kind == 'ties' else x).astype(dtype)


def check_maxima(drawing: tuple[Any, ...]) -> None:
    geometry, kind, n, c, dtype, of_x, of_gy, ways = drawing
    if 0 in geometry.out_size:
        return
    rng = np.random.RandomState(0)
    x = laid_out(values(rng, (n, c, *geometry.in_size), kind, dtype), of_x)
    with thresholds(ways):
        y = pooling.maxima(np, x, geometry)
    np.testing.assert_array_equal(y, pooling.maxima_reference(x, geometry))
    places = pooling.places_of_maxima(np, x, y, geometry)
    np.testing.assert_array_equal(places, pooling.places_of_maxima_reference(x, geometry))
    with_values = pooling.pick(np, x, places, geometry)
    np.testing.assert_array_equal(with_values, pooling.pick_reference(x, places, geometry))
    assert y.dtype == with_values.dtype == x.dtype
    gy = laid_out(rng.randint(-9, 9, y.shape).astype(dtype), of_gy)
    of_integers = laid_out(rng.randint(-9, 9, x.shape).astype('d'), of_x)
    back = pooling.spread(np, gy, places, geometry)
    assert back.shape == x.shape and back.dtype == dtype
    forth = pooling.pick_reference(of_integers, places, geometry)
    assert np.vdot(back.astype('d'), of_integers) == np.vdot(gy.astype('d'), forth)


@profiles
def test_maxima(profile: str) -> None:
    examples(profile, poolings(), check_maxima)


def check_sums(drawing: tuple[Any, ...]) -> None:
    """Sums and means, their transposes, patches and theirs; integers, so that all sums are exact."""
    geometry, _, n, c, dtype, of_x, of_gy, _ = drawing
    rng = np.random.RandomState(0)
    x = laid_out(rng.randint(-2, 3, (n, c, *geometry.in_size)).astype(dtype), of_x)
    gy = laid_out(rng.randint(-2, 3, (n, c, *geometry.out_size)).astype(dtype), of_gy)
    windows = pooling.windows_reference(x, geometry, 0)
    sums = pooling.sums(np, x, geometry)
    np.testing.assert_array_equal(sums, windows.sum(axis=-1))
    back = pooling.spread_sums(np, gy, geometry)
    assert back.shape == x.shape and sums.dtype == back.dtype == dtype
    assert np.vdot(back, x) == np.vdot(gy, sums)
    for count_padding in (True, False):
        means = pooling.means(np, x, geometry, count_padding)
        expected = pooling.means_reference(x.astype('d'), geometry, count_padding)
        close(means, expected, dtype)
        whole = pooling.spread_means(np, gy, geometry, count_padding).astype('d')
        products = np.abs(gy.astype('d') * expected).sum()
        assert abs(np.vdot(whole, x) - np.vdot(gy.astype('d'), expected)) <= 8 * PRECISION[dtype] * (1 + products)
    columns = patches.patches(np, x, geometry)
    shape = (n, c, *geometry.out_size, *geometry.ksize)
    order = (0, 1, *range(2 + len(geometry.ksize), len(shape)), *range(2, 2 + len(geometry.ksize)))
    np.testing.assert_array_equal(columns.transpose(order), windows.reshape(shape))
    other = rng.randint(-2, 3, columns.shape).astype(dtype)
    added = patches.add_patches(np, other, geometry)
    assert added.shape == x.shape and np.vdot(added.astype('d'), x) == np.vdot(other.astype('d'), columns)


@profiles
def test_sums_means_and_patches(profile: str) -> None:
    examples(profile, poolings(), check_sums)
