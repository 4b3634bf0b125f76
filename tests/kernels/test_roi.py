"""The kernels of regions and patches against their plain forms, and against their transposes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minichainer.kernels import patches, roi
from minichainer.kernels._windows import Geometry

LAYOUTS = ['C', 'channels last', 'reversed']
SIZES = st.tuples(st.integers(1, 6), st.integers(1, 6))
REGIONS = st.lists(st.tuples(*[st.integers(-4, 16)] * 4), max_size=4)


def laid_out(x: np.ndarray, layout: str) -> np.ndarray:
    """The same array, otherwise in memory."""
    if layout == 'channels last':
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
    return np.flip(np.flip(x).copy()) if layout == 'reversed' else np.ascontiguousarray(x)


def images_and_numbers(
    size: tuple[int, int], count: int, layout: str, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.RandomState(seed)
    return laid_out(rng.permutation(3 * 2 * size[0] * size[1]).reshape(3, 2, *size) / 7.0, layout), rng.randint(
        0, 3, count
    )


def maximum(pixels: Any) -> Any:
    return pixels.max(axis=1, initial=-np.inf)


def mean(pixels: Any) -> Any:
    return pixels.mean(axis=1) if pixels.size else 0


def summary_of_points(points: list[Any], of: str) -> Any:
    inside = [p for p in points if p is not None]
    if of == 'mean':
        return sum(inside) / len(points)
    return np.max(inside, axis=0) if inside else -np.inf


@settings(max_examples=60, deadline=None)
@given(SIZES, REGIONS, st.integers(1, 3), st.integers(1, 3), st.sampled_from(LAYOUTS))
def test_bins_of_pixels(size: Any, regions: list[Any], h: int, w: int, layout: str) -> None:
    x, images = images_and_numbers(size, len(regions), layout)
    corners = np.array(regions, int).reshape(-1, 4)
    lengths = np.maximum(corners[:, 2:] - corners[:, :2], 1)
    rows, columns = (roi.pixel_bins(corners[:, a], lengths[:, a], (h, w)[a], size[a]) for a in range(2))
    weights = roi.bin_means(rows, size[0]), roi.bin_means(columns, size[1])
    means = roi.project(np, x, *weights, images)
    expected = roi.pooled_reference(x, corners.tolist(), images, (h, w), mean)
    np.testing.assert_allclose(means, expected, rtol=1e-12, atol=1e-12)
    picked = roi.places_of_bin_maxima(np, x, rows, columns, images)
    expected = roi.pooled_reference(x, corners.tolist(), images, (h, w), maximum)
    np.testing.assert_array_equal(roi.pick(np, x, picked), np.where(np.isfinite(expected), expected, 0))
    np.testing.assert_array_equal((picked.weights != 0).any(axis=0), np.isfinite(expected))
    check_transposes(x, weights, images, picked)


@settings(max_examples=60, deadline=None)
@given(
    SIZES,
    st.lists(st.tuples(*[st.floats(-3, 9)] * 4), max_size=3),
    st.integers(1, 2),
    st.integers(1, 3),
    st.tuples(*[st.sampled_from([None, 1, 2])] * 2),
    st.sampled_from(LAYOUTS),
)
def test_interpolated_points(size: Any, regions: list[Any], h: int, w: int, ratio: Any, layout: str) -> None:
    x, images = images_and_numbers(size, len(regions), layout)
    corners = np.array(regions, 'd').reshape(-1, 4)
    lengths = np.maximum(corners[:, 2:] - corners[:, :2], 1)
    rows, columns = (roi.sampled_points(corners[:, a], lengths[:, a], (h, w)[a], size[a], ratio[a]) for a in range(2))
    weights = roi.point_means(rows, size[0]), roi.point_means(columns, size[1])
    picked = roi.places_of_point_maxima(np, x, rows, columns, images)
    results = {'mean': roi.project(np, x, *weights, images), 'max': roi.pick(np, x, picked)}
    for of, actual in results.items():
        expected = roi.aligned_reference(
            x, corners, images, (h, w), ratio, lambda points, of=of: summary_of_points(points, of)
        )
        expected = np.where(np.isfinite(expected), expected, 0)
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)
    check_transposes(x, weights, images, picked)


def check_transposes(x: np.ndarray, weights: Any, images: Any, picked: roi.Picked) -> None:
    gy = np.random.RandomState(1).randn(len(images), x.shape[1], weights[0].shape[1], weights[1].shape[1])
    back = roi.back_project(np, gy, *weights, images, len(x))
    spread = roi.put(np, gy, picked, x.shape)
    assert back.shape == spread.shape == x.shape
    np.testing.assert_allclose(np.vdot(back, x), np.vdot(gy, roi.project(np, x, *weights, images)), atol=1e-8)
    np.testing.assert_allclose(np.vdot(spread, x), np.vdot(gy, roi.pick(np, x, picked)), atol=1e-8)


def test_blocks_of_regions_of_any_size_give_the_same(monkeypatch: Any) -> None:
    x, images = images_and_numbers((4, 5), 9, 'C')
    rng = np.random.RandomState(0)
    rows, columns, gy = rng.rand(9, 2, 4), rng.rand(9, 3, 5), rng.rand(9, 2, 2, 3)
    expected = roi.project(np, x, rows, columns, images), roi.back_project(np, gy, rows, columns, images, 3)
    np.testing.assert_allclose(expected[0], np.einsum('rhi,rcij,rwj->rchw', rows, x[images], columns), rtol=1e-12)
    monkeypatch.setattr(roi, '_BLOCK_ELEMENTS', 25)
    np.testing.assert_allclose(roi.project(np, x, rows, columns, images), expected[0], rtol=1e-12)
    np.testing.assert_allclose(roi.back_project(np, gy, rows, columns, images, 3), expected[1], rtol=1e-12)


def test_a_pixel_that_is_not_finite_stays_where_it_is() -> None:
    x = np.arange(16.0).reshape(1, 1, 4, 4)
    x[0, 0, 0, 0], x[0, 0, 3, 3] = np.inf, np.nan
    points = roi.sampled_points(np.array([0.0]), np.array([4.0]), 4, 4, 1)
    whole = roi.sampled_points(np.array([-0.5]), np.array([4.0]), 4, 4, 1)  # the points are the pixels themselves
    picked = roi.places_of_point_maxima(np, x, whole, whole, np.array([0]))
    np.testing.assert_array_equal(roi.pick(np, x, picked), x)
    halves = roi.pick(np, x, roi.places_of_point_maxima(np, x, points, points, np.array([0])))
    assert np.isinf(halves[0, 0, 0, 0]) and np.isnan(halves[0, 0, 2, 2]) and np.isfinite(halves[0, 0, 0, 1:]).all()


@settings(max_examples=40, deadline=None)
@given(SIZES, SIZES, st.tuples(*[st.integers(1, 3)] * 2), st.tuples(*[st.integers(0, 2)] * 2), st.integers(0, 3))
def test_patches_and_their_transpose(size: Any, ksize: Any, stride: Any, pad: Any, n: int) -> None:
    ksize = tuple([min(k, s + 2 * p) for k, s, p in zip(ksize, size, pad, strict=True)])
    axes = zip(size, ksize, stride, pad, strict=True)
    geometry = Geometry(size, ksize, stride, pad, (1, 1), tuple([(i + 2 * p - k) // s + 1 for i, k, s, p in axes]))
    rng = np.random.RandomState(0)
    x, W = rng.randn(n, 2, *size), rng.randn(3, *geometry.out_size, 2, *ksize)
    found = patches.patches(np, x, geometry)
    assert found.shape == (n, 2, *ksize, *geometry.out_size)
    padded = np.pad(x, ((0, 0), (0, 0), *[(p, p) for p in pad]))
    for i, j in np.ndindex(*geometry.out_size):
        window = padded[:, :, i * stride[0] : i * stride[0] + ksize[0], j * stride[1] : j * stride[1] + ksize[1]]
        np.testing.assert_array_equal(found[..., i, j], window)
    other = rng.randn(*found.shape)
    np.testing.assert_allclose(np.vdot(patches.add_patches(np, other, geometry), x), np.vdot(other, found), atol=1e-9)
    y, gy = patches.local_convolve(np, x, W, geometry), rng.randn(n, 3, *geometry.out_size)
    plain = geometry._replace(in_size=padded.shape[2:], pad=(0, 0))
    np.testing.assert_allclose(y, patches.local_convolve_reference(padded, W, plain), rtol=1e-9, atol=1e-10)
    whole = np.vdot(y, gy)
    np.testing.assert_allclose(np.vdot(patches.local_data_gradient(np, gy, W, geometry), x), whole, atol=1e-9)
    np.testing.assert_allclose(np.vdot(patches.local_filter_gradient(np, x, gy, geometry), W), whole, atol=1e-9)


@pytest.mark.parametrize('dtype', 'efd')
def test_dtypes_are_kept(dtype: str) -> None:
    x, images = images_and_numbers((4, 4), 1, 'C')
    x = x.astype(dtype)
    points = roi.sampled_points(np.array([0.0]), np.array([3.0]), 2, 4, 2)
    picked = roi.places_of_point_maxima(np, x, points, points, images)
    weights = roi.point_means(points, 4)
    y = roi.pick(np, x, picked)
    results = [
        y,
        roi.put(np, y, picked, x.shape),
        roi.project(np, x, weights, weights, images),
        roi.back_project(np, y, weights, weights, images, 3),
    ]
    assert {r.dtype for r in results} == {x.dtype}
