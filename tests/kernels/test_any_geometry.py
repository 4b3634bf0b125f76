"""Kernels of windows against their plain forms, wherever the windows lie and whichever way is taken.

Windows may begin long before the array or inside it, and end anywhere; there may be none. Thresholds between ways are
drawn too, so that small arrays reach each of them on both sides.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import strategies as st

from minichainer.kernels import convolution, patches, pooling, winograd
from tests.kernels.windows import (
    BATCHES,
    LAYOUTS,
    LEAST,
    PRECISION,
    SPECIAL,
    WAYS,
    close,
    draw_array,
    examples,
    geometries,
    groups_and_channels,
    kinds,
    laid_out,
    profiles,
    thresholds,
    values,
)


# --- convolution ---------------------------------------------------------------------------------------------------
@st.composite
def convolutions(draw: Any, kind: str) -> tuple[Any, ...]:
    groups, c, o = draw(groups_and_channels(kind))
    geometry = draw(geometries(kind))._replace(groups=groups)
    rest = st.tuples(BATCHES, st.sampled_from('dfe'), LAYOUTS, LAYOUTS, LEAST if kind == 'squares' else WAYS)
    return geometry, c, o, *draw(rest)


def check_convolutions(drawing: tuple[Any, ...]) -> None:
    geometry, c, o, n, dtype, of_x, of_gy, ways = drawing
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
@kinds
def test_convolutions(kind: str, profile: str) -> None:
    examples(profile, convolutions(kind), check_convolutions)


def check_special_values(drawing: tuple[Any, ...]) -> None:
    """What is not finite stays in the windows that meet it, and by Winograd's way in their neighbours."""
    geometry, c, o, n, _, of_x, _, ways = drawing
    n, groups, rng = max(n, 1), geometry.groups, np.random.RandomState(0)
    x = rng.uniform(-1, 1, (n, c * groups, *geometry.in_size))
    if not x.size or 0 in geometry.out_size:
        return
    x.flat[rng.randint(x.size)] = SPECIAL[rng.randint(3)]
    W = rng.uniform(0.5, 1, (o * groups, c, *geometry.ksize))
    x = laid_out(x, of_x)
    with thresholds(ways), np.errstate(all='ignore'):
        y = convolution.convolve(np, x, W, None, geometry)
        winograds = winograd.applies(geometry, c, o)
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
@kinds
def test_convolutions_of_what_is_not_finite(kind: str, profile: str) -> None:
    examples(profile, convolutions(kind), check_special_values)


# --- pooling -------------------------------------------------------------------------------------------------------
@st.composite
def poolings(draw: Any) -> tuple[Any, ...]:
    kind = draw(st.sampled_from(['plain', 'ties', 'special', 'lowest']))
    arguments = st.tuples(BATCHES, st.integers(0, 3), st.sampled_from('efd'), LAYOUTS, LAYOUTS, WAYS)
    return draw(geometries(dilated=draw(st.booleans()))), kind, *draw(arguments)


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
