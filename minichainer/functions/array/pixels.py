"""Weighted sums of the four pixels around points in images."""

from __future__ import annotations

from typing import Any

from minichainer.functions._define import linear_map, primitive
from minichainer.functions.array.joining import stack
from minichainer.functions.array.selection import take
from minichainer.functions.array.shape import reshape
from minichainer.kernels import sampling
from minichainer.variable import Variable


@linear_map(lambda m, gy, x_shape: m.images_of_rows(gy, x_shape))
def pixel_rows(xp: Any, x: Any) -> Any:
    """The channels of each pixel of images (B, C, H, W) as a row, (BHW + 1, C); the last row is 0."""
    return sampling.pixel_rows(xp, x)


@linear_map(lambda m, gy: m.pixel_rows(gy))
def images_of_rows(xp: Any, rows: Any, shape: tuple[int, ...]) -> Any:
    """The inverse of :func:`pixel_rows`."""
    return sampling.images_of_rows(xp, rows, shape)


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
    return sampling.weighted_rows(xp, values, weights)


def weighted_pixels(x: Variable, corners: list[tuple[Any, Any]], weights: list[Variable]) -> Variable:
    """For each point, the weighted sum of some pixels; pixels outside the image are 0.

    Args:
        x: images (B, C, H, W).
        corners: the row and column of each pixel of a point, float arrays (B, ...).
        weights: the weights of each of them, Variables (B, ...).

    Returns:
        Variable (B, ..., C).
    """
    rows, columns = (x.xp.stack([corner[i] for corner in corners]) for i in range(2))
    numbers = sampling.row_numbers(x.xp, rows, columns, x.shape)
    values = take(pixel_rows(x), (numbers,))
    factors = reshape(stack(weights, 0), (*numbers.shape, 1))
    return reshape(weighted_rows(values, factors), (*weights[0].shape, x.shape[1]))
