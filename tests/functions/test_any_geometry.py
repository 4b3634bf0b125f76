"""Convolutions and poolings of any geometry: results, gradients and second order are what the definitions say."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import minichainer as chainer
import minichainer.functions as F
from minichainer.kernels import convolution, pooling
from minichainer.kernels._windows import Geometry
from minichainer.utils.conv import get_conv_outsize
from tests.kernels.windows import (
    LAYOUTS,
    LEAST,
    WAYS,
    close,
    draw_array,
    examples,
    groups_and_channels,
    kinds,
    laid_out,
    profiles,
    thresholds,
    values,
)


@st.composite
def geometries(draw: Any, kind: str = 'any', dilated: bool = True) -> tuple[Geometry, bool]:
    """Windows as arguments of functions say them, with padding up to well over their size; and ``cover_all``."""
    n = 2 if kind == 'squares' else draw(st.integers(1, 3))
    most = 3 if n == 3 else 5
    numbers = [(3, 3), (1, 1), (1, 1)] if kind == 'squares' else [(1, most), (1, 4), (1, 3 if dilated else 1)]
    k, s, d = (draw(st.tuples(*[st.integers(*limits)] * n)) for limits in numbers)
    p = draw(st.tuples(*[st.integers(0, 2 if n == 3 else 8)] * n))
    least = [max(1, (k - 1) * d + 1 - 2 * p) for k, d, p in zip(k, d, p, strict=True)]
    size = tuple([m + draw(st.integers(0, 2 if n == 3 else 7)) for m in least])
    cover_all = draw(st.booleans())
    axes = zip(size, k, s, p, d, strict=True)
    out = tuple([get_conv_outsize(i, k, s, p, cover_all, d) for i, k, s, p, d in axes])
    return Geometry(size, k, s, p, d, out), cover_all


def second_order(y: Any, inputs: list[Any], gy: Any, ggs: list[Any]) -> tuple[list[Any], list[Any]]:
    """The gradients of ``inputs``; and those of their products with ``ggs``, of gy and of ``inputs``."""
    gy = chainer.Variable(gy)
    found = chainer.grad([y], inputs, [gy], enable_double_backprop=True)
    again = chainer.grad(found, [gy, *inputs], [chainer.Variable(gg) for gg in ggs])
    return [g.array for g in found], [None if g is None else g.array for g in again]


# --- convolution ---------------------------------------------------------------------------------------------------
@st.composite
def convolutions(draw: Any, kind: str) -> tuple[Any, ...]:
    groups, c, o = draw(groups_and_channels(kind))
    geometry, cover_all = draw(geometries(kind))
    ways = LEAST if kind == 'squares' else WAYS
    rest = st.tuples(st.integers(1, 2), st.booleans(), st.sampled_from('df'), LAYOUTS, LAYOUTS, ways)
    return geometry._replace(groups=groups), cover_all, c, o, *draw(rest)


def check_convolution(drawing: tuple[Any, ...]) -> None:
    geometry, cover_all, c, o, n, transposed, dtype, of_x, of_gy, ways = drawing
    rng, groups = np.random.RandomState(0), geometry.groups
    shapes = [(n, c * groups, *geometry.in_size), (n, o * groups, *geometry.out_size)]
    from_, to = shapes[::-1] if transposed else shapes
    x, ggx = (draw_array(rng, from_, layout, dtype) for layout in (of_x, of_gy))
    gy = draw_array(rng, to, of_gy, dtype)
    W, ggW = (draw_array(rng, (o * groups, c, *geometry.ksize), 'C', dtype) for _ in range(2))
    xs = [chainer.Variable(a) for a in (x, W)]
    arguments = {'stride': geometry.stride, 'pad': geometry.pad, 'dilate': geometry.dilate, 'groups': groups}
    extra = {'outsize': geometry.in_size} if transposed else {'cover_all': cover_all}
    with thresholds(ways):
        y = (F.deconvolution_nd if transposed else F.convolution_nd)(*xs, **arguments, **extra)
        first, second = second_order(y, xs, gy, [ggx, ggW])
    x, W, gy, ggx, ggW = (a.astype('d') for a in (x, W, gy, ggx, ggW))

    def forth(x: Any, W: Any) -> Any:
        way = convolution.data_gradient_reference if transposed else convolution.convolve_reference
        return way(x, W, None, geometry)

    def back(gy: Any, W: Any) -> Any:
        way = convolution.convolve_reference if transposed else convolution.data_gradient_reference
        return way(gy, W, None, geometry)

    def filters(x: Any, gy: Any) -> Any:
        return convolution.filter_gradient_reference(*((gy, x) if transposed else (x, gy)), geometry)

    terms = int(np.prod(geometry.ksize)) * max(c, o) + n * int(np.prod(geometry.out_size))
    expected = [forth(x, W), back(gy, W), filters(x, gy), forth(ggx, W) + forth(x, ggW), back(gy, ggW)]
    for actual, e in zip([y.array, *first, *second], [*expected, filters(ggx, gy)], strict=True):
        close(actual, e, dtype, terms)


@profiles
@kinds
def test_convolutions(kind: str, profile: str) -> None:
    examples(profile, convolutions(kind), check_convolution)


# --- pooling -------------------------------------------------------------------------------------------------------
@st.composite
def poolings(draw: Any) -> tuple[Any, ...]:
    kind = draw(st.sampled_from(['plain', 'ties', 'special', 'lowest']))
    rest = st.tuples(st.integers(1, 2), st.integers(1, 3), st.sampled_from('efd'), LAYOUTS, LAYOUTS, WAYS)
    return *draw(geometries(dilated=False)), kind, *draw(rest)


def check_max_pooling(drawing: tuple[Any, ...]) -> None:
    geometry, cover_all, kind, n, c, dtype, of_x, of_gy, ways = drawing
    rng = np.random.RandomState(0)
    array = laid_out(values(rng, (n, c, *geometry.in_size), kind, dtype), of_x)
    x, arguments = chainer.Variable(array), (geometry.ksize, geometry.stride, geometry.pad, cover_all)
    gy, ggx = (rng.randint(-3, 4, (n, c, *size)).astype(dtype) for size in (geometry.out_size, geometry.in_size))
    with thresholds(ways):
        y, indices = F.max_pooling_nd(x, *arguments, return_indices=True)
        (gx,), (ggy, none) = second_order(y, [x], laid_out(gy, of_gy), [laid_out(ggx, of_gy)])
    ggx, gy = laid_out(ggx, of_gy), laid_out(gy, of_gy)
    np.testing.assert_array_equal(y.array, pooling.maxima_reference(array, geometry))
    places = pooling.places_of_maxima_reference(array, geometry)
    np.testing.assert_array_equal(indices, places)
    np.testing.assert_array_equal(ggy, pooling.pick_reference(ggx, places, geometry))
    expected = np.zeros(array.shape)
    for at in np.ndindex(*y.shape):
        tap = np.unravel_index(places[at], geometry.ksize)
        axes = zip(at[2:], geometry.stride, tap, geometry.pad, geometry.in_size, strict=True)
        place = [(o * s + t - p, size) for o, s, t, p, size in axes]
        if all(0 <= i < size for i, size in place):
            expected[(*at[:2], *[i for i, _ in place])] += gy[at]
    np.testing.assert_array_equal(gx, expected)
    assert none is None


@profiles
def test_max_pooling(profile: str) -> None:
    examples(profile, poolings(), check_max_pooling)


def check_linear_poolings(drawing: tuple[Any, ...]) -> None:
    """Averages and unpooling are linear: gradients are transposes, and the second order is the map again."""
    geometry, cover_all, _, n, c, dtype, of_x, of_gy, _ = drawing
    rng = np.random.RandomState(0)
    windows, shape = (geometry.ksize, geometry.stride, geometry.pad), (n, c, *geometry.in_size)
    x, ggx = (laid_out(rng.randint(-2, 3, shape).astype(dtype), of_x) for _ in range(2))
    gy = laid_out(rng.randint(-2, 3, (n, c, *geometry.out_size)).astype(dtype), of_gy)
    whole = [get_conv_outsize(*axis) for axis in zip(geometry.in_size, *windows, strict=True)]
    uncovered = geometry._replace(out_size=tuple(whole))
    for pad_value in (0, None):
        v = chainer.Variable(x)
        y = F.average_pooling_nd(v, *windows, pad_value=pad_value)
        (gx,), (ggy, _) = second_order(y, [v], np.ascontiguousarray(y.array), [ggx])
        expected = pooling.means_reference(x.astype('d'), uncovered, pad_value == 0)
        close(y.array, expected, dtype)
        close(ggy, pooling.means_reference(ggx.astype('d'), uncovered, pad_value == 0), dtype)
        pairing = float(np.vdot(gx.astype('d'), ggx)) - float(np.vdot(y.array.astype('d'), ggy))
        assert abs(pairing) <= (1 + np.abs(gx.astype('d') * ggx).sum()) * (5e-3 if dtype == 'e' else 1e-5)
    v = chainer.Variable(gy)
    y = F.unpooling_nd(v, *windows, outsize=geometry.in_size, cover_all=cover_all)
    (g,), (again, _) = second_order(y, [v], x, [gy])
    np.testing.assert_array_equal(g, pooling.windows_reference(x, geometry, 0).sum(axis=-1))
    np.testing.assert_array_equal(again, y.array)
    assert np.vdot(y.array, x) == np.vdot(gy, g)


@profiles
def test_average_pooling_and_unpooling(profile: str) -> None:
    examples(profile, poolings(), check_linear_poolings)
