"""Images sampled at points between their pixels, by bilinear interpolation.

Images are (B, C, H, W), points (B, 2, H', W'): columns, then rows, from -1 to 1, the centres of the pixels at the
corners. Outside of an image is 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from minichainer._native.library import kernels as native
from minichainer.kernels import scattering
from minichainer.kernels._dispatch import DECLINED, kernel

#: From here on, points and all pixels around them are outside of an image; so are infinite ones.
FAR = 4.0


def pixel_rows(xp: Any, x: Any) -> Any:
    """The channels of each pixel of images (B, C, H, W) as a row, (BHW + 1, C); the last row is 0."""
    batch, channels, height, width = x.shape
    rows = xp.empty((batch * height * width + 1, channels), x.dtype)
    rows[:-1].reshape(batch, height, width, channels)[...] = x.transpose(0, 2, 3, 1)
    rows[-1] = 0
    return rows


def images_of_rows(xp: Any, rows: Any, shape: tuple[int, ...]) -> Any:
    """The inverse of :func:`pixel_rows`."""
    batch, channels, height, width = shape
    return rows[:-1].reshape(batch, height, width, channels).transpose(0, 3, 1, 2)


def row_numbers(xp: Any, rows: Any, columns: Any, shape: tuple[int, ...]) -> Any:
    """The numbers of pixels among :func:`pixel_rows`: the last one for those outside.

    Args:
        xp: the array module.
        rows: the rows of K pixels for each point, a float array (K, B, ...).
        columns: their columns.
        shape: of the images.

    Returns:
        Array (K, points).
    """
    batch, _, height, width = shape
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)  # false where they are NaN
    images = xp.arange(batch).reshape(batch, *[1] * (rows.ndim - 2)) * (height * width)
    numbers = xp.where(inside, rows, 0).astype(int) * width + xp.where(inside, columns, 0).astype(int)
    return xp.where(inside, numbers + images, batch * height * width).reshape(len(rows), -1)


def weighted_rows(xp: Any, values: Any, weights: Any) -> Any:
    """Sums rows (K, N, C) with weights (K, N, 1) over the first axis."""
    total = values[0] * weights[0]
    for rows, factors in zip(values[1:], weights[1:], strict=True):
        total += rows * factors
    return total


@kernel
def sampled(xp: Any, x: Any, grid: Any) -> Any:
    """Weighted sums of the four pixels around each point, (B, C, H', W')."""
    weights = _weights(xp, grid, x.shape)
    places = _weighty(xp, _places(xp, grid, x.shape), weights, x.shape)
    total = weighted_rows(xp, pixel_rows(xp, x)[places], weights)
    return total.reshape(len(x), *grid.shape[2:], x.shape[1]).transpose(0, 3, 1, 2)


@sampled.on_native
def _sampled_native(xp: Any, x: Any, grid: Any) -> Any:
    sizes = _sizes(x.shape, grid)
    y = numpy.empty((*x.shape[:2], *grid.shape[2:]), x.dtype)
    return y if sizes and native.sample_images(*_plain(x, grid), y, *sizes) else DECLINED


@kernel
def images_gradient(xp: Any, gy: Any, grid: Any, shape: tuple[int, ...]) -> Any:
    """The gradient of the images, which have the given shape, for that of the result."""
    batch, channels, height, width = shape
    weights = _weights(xp, grid, shape)
    rows, places = weights * _of_points(gy), _weighty(xp, _places(xp, grid, shape), weights, shape).reshape(-1)
    sums = scattering.sums_of_rows(xp, rows.reshape(-1, channels), places, batch * height * width + 1)
    return images_of_rows(xp, sums, shape)


@images_gradient.on_native
def _images_gradient_native(xp: Any, gy: Any, grid: Any, shape: tuple[int, ...]) -> Any:
    sizes = _sizes(shape, grid)
    gx = numpy.zeros(shape, gy.dtype)
    return gx if sizes and native.sample_images_adjoint(*_plain(gy, grid), gx, *sizes) else DECLINED


@kernel
def points_gradient(xp: Any, gy: Any, x: Any, grid: Any) -> Any:
    """The gradient of the points for that of the result."""
    values = pixel_rows(xp, x)[_places(xp, grid, x.shape)]
    shape = len(grid), *grid.shape[2:]
    upper_left, upper, left, here = [s.reshape(shape) for s in xp.einsum('nc,knc->kn', _of_points(gy), values)]
    (_, u), (_, v) = (_neighbours(xp, grid[:, i], size) for i, size in enumerate(x.shape[:1:-1]))
    across = (1 - v) * (upper - upper_left) + v * (here - left)
    down = (1 - u) * (left - upper_left) + u * (here - upper)
    return xp.stack([across * (x.shape[3] - 1) / 2, down * (x.shape[2] - 1) / 2], 1)


@points_gradient.on_native
def _points_gradient_native(xp: Any, gy: Any, x: Any, grid: Any) -> Any:
    sizes = _sizes(x.shape, grid)
    result = numpy.empty(grid.shape, grid.dtype)
    return result if sizes and native.sample_points_gradient(*_plain(gy, x, grid), result, *sizes) else DECLINED


def _sizes(shape: tuple[int, ...], grid: Any) -> tuple[int, ...] | None:
    """The sizes of images and the number of points; None if the pixels of an image cannot be counted in 32 bits."""
    return (*shape, math.prod(grid.shape[2:])) if shape[2] * shape[3] < 1 << 31 else None


def _plain(*arrays: Any) -> list[Any]:
    return [numpy.ascontiguousarray(a) for a in arrays]


def _of_points(gy: Any) -> Any:
    """The channels of each point as a row."""
    return gy.transpose(0, 2, 3, 1).reshape(-1, gy.shape[1])


def _neighbours(xp: Any, coordinate: Any, size: int) -> tuple[Any, Any]:
    """The pixel before each point along an axis, as a float, and how far behind it the point is."""
    coordinate = xp.clip(coordinate, -FAR, FAR)
    place, slack = (coordinate + 1) * (size - 1) / 2, slack_of(coordinate, size)
    lower = xp.floor(place + slack)
    behind = place - lower
    return lower, xp.where(behind <= slack, xp.zeros((), behind.dtype), behind)


def slack_of(coordinate: Any, size: int) -> Any:
    """How far rounding alone may move the place of a point from a pixel: a point so near to a pixel is on it.

    So the identity samples pixels, and where the slope jumps there, it takes the side of the pixels that follow.
    """
    return coordinate.dtype.type((size - 1) * numpy.finfo(coordinate.dtype).eps)


def _places(xp: Any, grid: Any, shape: tuple[int, ...]) -> Any:
    """The numbers of the rows of the pixels around each point, (4, points)."""
    (left, _), (top, _) = (_neighbours(xp, grid[:, i], size) for i, size in enumerate(shape[:1:-1]))
    rows, columns = xp.stack([top, top, top + 1, top + 1]), xp.stack([left, left + 1, left, left + 1])
    return row_numbers(xp, rows, columns, shape)


def _weighty(xp: Any, places: Any, weights: Any, shape: tuple[int, ...]) -> Any:
    """The places, that of 0 where the weight is 0: 0 times another pixel would be NaN, were that infinite."""
    return xp.where(weights[..., 0] == 0, math.prod(shape[:1] + shape[2:]), places)


def _weights(xp: Any, grid: Any, shape: tuple[int, ...]) -> Any:
    """The weights of these pixels, (4, points, 1)."""
    (_, u), (_, v) = (_neighbours(xp, grid[:, i], size) for i, size in enumerate(shape[:1:-1]))
    above = 1 - v
    return xp.stack([above * (1 - u), above * u, v * (1 - u), v * u]).reshape(4, -1, 1)
