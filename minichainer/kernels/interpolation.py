"""Interpolation of images along rows and columns, and sampling grids of affine transformations."""

from __future__ import annotations

import functools
from typing import Any

import numpy

from minichainer.kernels._dispatch import kernel
from minichainer.kernels.weighing import weighed

#: Index arrays along an axis, each with the weights of the elements it selects.
Taps = tuple[tuple[Any, Any], ...]
#: The coordinates of so many pixels are kept.
_MOST_PIXELS = 1 << 16


@kernel(widens=True)
def interpolated(xp: Any, x: Any, rows: Taps, columns: Taps) -> Any:
    """Weighted sums of the rows and columns of images (B, C, H, W)."""
    return _along(xp, _along(xp, x, rows, 2), columns, 3)


def _along(xp: Any, x: Any, taps: Taps, axis: int) -> Any:
    total = None
    for indices, weights in taps:
        part = x.take(xp.asarray(indices), axis)
        part *= xp.asarray(weights if axis == 3 else weights[:, None], x.dtype)
        if total is None:
            total = part
        else:
            total += part
    return total


@kernel(widens=True)
def uninterpolated(xp: Any, y: Any, shape: tuple[int, ...], rows: Taps, columns: Taps) -> Any:
    """The adjoint of :func:`interpolated`: a product with both matrices."""
    left, right = (xp.asarray(_matrix(taps, n), y.dtype) for taps, n in ((rows, shape[2]), (columns, shape[3])))
    return weighed(xp, lambda y, left, right: xp.matmul(left.T, xp.matmul(y, right)), y, left, right)


def _matrix(taps: Taps, size: int) -> Any:
    matrix = numpy.zeros((len(taps[0][0]), size))
    rows, (first, its_weights), *others = numpy.arange(len(matrix)), *taps
    matrix[rows, first] = its_weights
    for indices, weights in others:
        matrix[rows, indices] += weights
    return matrix


@kernel(widens=True)
def affine_grid(xp: Any, theta: Any, output_shape: tuple[int, int]) -> Any:
    """The coordinates of all pixels, transformed by matrices (B, 2, 3): array (B, 2, H, W)."""
    coordinates = _coordinates(xp, output_shape, theta.dtype)
    return xp.matmul(theta, coordinates).reshape(len(theta), 2, *output_shape)


@kernel(widens=True)
def theta_gradient(xp: Any, y: Any, output_shape: tuple[int, int]) -> Any:
    """The adjoint of :func:`affine_grid`."""
    coordinates = _coordinates(xp, output_shape, y.dtype)
    return xp.matmul(y.reshape(len(y), 2, coordinates.shape[1]), coordinates.T)


@kernel
def _coordinates(xp: Any, output_shape: tuple[int, int], dtype: Any) -> Any:
    """Homogeneous coordinates (x, y, 1) of all pixels, in [-1, 1]."""
    height, width = output_shape
    ys, xs = xp.meshgrid(xp.linspace(-1, 1, height), xp.linspace(-1, 1, width), indexing='ij')
    return xp.stack([xs.reshape(-1), ys.reshape(-1), xp.ones(height * width)]).astype(dtype)


@_coordinates.on('numpy')
def _coordinates_numpy(xp: Any, output_shape: tuple[int, int], dtype: Any) -> Any:
    if output_shape[0] * output_shape[1] > _MOST_PIXELS:
        return _coordinates.generic(xp, output_shape, dtype)
    return _known_coordinates(output_shape, dtype)


@functools.lru_cache(maxsize=32)
def _known_coordinates(output_shape: tuple[int, int], dtype: Any) -> Any:
    array = _coordinates.generic(numpy, output_shape, dtype)
    array.flags.writeable = False
    return array
