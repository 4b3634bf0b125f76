"""Weighted sums of the four pixels around points in images."""

from __future__ import annotations

from typing import Any

from minichainer.functions._define import linear_map, primitive
from minichainer.functions.array.joining import stack
from minichainer.functions.array.selection import take
from minichainer.functions.array.shape import reshape
from minichainer.variable import Variable


@linear_map(lambda m, gy, x_shape: m.images_of_rows(gy, x_shape))
def pixel_rows(xp: Any, x: Any) -> Any:
    """The channels of each pixel of images (B, C, H, W) as a row, (BHW + 1, C); the last row is 0."""
    batch, channels, height, width = x.shape
    rows = xp.empty((batch * height * width + 1, channels), x.dtype)
    rows[:-1].reshape(batch, height, width, channels)[...] = x.transpose(0, 2, 3, 1)
    rows[-1] = 0
    return rows


@linear_map(lambda m, gy: m.pixel_rows(gy))
def images_of_rows(xp: Any, rows: Any, shape: tuple[int, ...]) -> Any:
    """The inverse of :func:`pixel_rows`."""
    batch, channels, height, width = shape
    return rows[:-1].reshape(batch, height, width, channels).transpose(0, 3, 1, 2)


def _weights_gradient(xp: Any, gy: Any, values: Any) -> Any:
    return xp.einsum('nc,knc->kn', gy, values)[:, :, None]


@primitive(
    rule=(lambda m, gy, weights: gy * weights, lambda m, gy, values: m.sum(gy * values, (2,), True)),
    fast=(None, _weights_gradient),
    kinds='f',
    name='WeightedRows',
    linear_in=('values', 'weights'),
)
def weighted_rows(xp: Any, values: Any, weights: Any) -> Any:
    """Sums rows (K, N, C) with weights (K, N, 1) over the first axis."""
    total = values[0] * weights[0]
    for rows, factors in zip(values[1:], weights[1:], strict=True):
        total += rows * factors
    return total


def weighted_pixels(x: Variable, corners: list[tuple[Any, Any]], weights: list[Variable]) -> Variable:
    """For each point, the weighted sum of some pixels; pixels outside the image are 0.

    Args:
        x: images (B, C, H, W).
        corners: the row and column of each pixel of a point, float arrays (B, ...).
        weights: the weights of each of them, Variables (B, ...).

    Returns:
        Variable (B, ..., C).
    """
    xp, (batch, channels, height, width) = x.xp, x.shape
    rows, columns = (xp.stack([corner[i] for corner in corners]) for i in range(2))
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)  # false where they are NaN
    images = xp.arange(batch).reshape(batch, *[1] * (rows.ndim - 2)) * (height * width)
    numbers = xp.where(inside, rows, 0).astype(int) * width + xp.where(inside, columns, 0).astype(int)
    numbers = xp.where(inside, numbers + images, batch * height * width).reshape(len(corners), -1)
    values = take(pixel_rows(x), (numbers,))
    factors = reshape(stack(weights, 0), (*numbers.shape, 1))
    return reshape(weighted_rows(values, factors), (*weights[0].shape, channels))
