"""Winograd's minimal filtering with compiled transforms: the tiles of all images, as many at a time as fit a cache.

``size`` is the number of results along the sides of a tile. With 2 the arithmetic is that of
:mod:`~minichainer.kernels.winograd`, its NumPy form. With 4 there are 36 products in the place of 144, and the
transforms have coefficients up to 8: the error is 6e-6 of the largest result in float32, so
``chainer.config.winograd = 'fast'`` has to ask for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from minichainer import configuration
from minichainer._native.library import kernels as native
from minichainer.kernels._dispatch import DECLINED
from minichainer.kernels._windows import Geometry

#: Of the inputs of a block of tiles: they, their products and the filters stay in the cache.
_BLOCK_BYTES = 1 << 19
_FILTERS = {
    2: numpy.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]]),
    4: numpy.array(
        [[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]],
    )
    / 24,
}


def size_wanted() -> int:
    """The size of tiles that the settings ask for."""
    return 4 if configuration.config.winograd == 'fast' else 2


def _blocks(geometry: Geometry, images: int, channels: int, outputs: int, itemsize: int, size: int) -> Iterator[Any]:
    """For each block the sizes for transforms of inputs and of outputs, and the number of tiles."""
    lines, columns = ((n + size - 1) // size for n in geometry.out_size)
    tiles, bytes_each = images * lines * columns, (size + 2) ** 2 * max(channels, outputs) * itemsize
    # Odd, because planes at distances of a power of two share few places of the cache: transforms take twice as long.
    step = (max(1, _BLOCK_BYTES // bytes_each) - 1) | 1
    for first in range(0, tiles, step):
        count = min(step, tiles - first)
        places = (lines, columns, first, count, size)
        of_inputs = (*geometry.in_size, channels, -geometry.pad[0], -geometry.pad[1], *places)
        yield of_inputs, (*geometry.out_size, outputs, 0, 0, *places), count


class _Planes:
    """Memory for the transformed tiles of a block, which all blocks share."""

    def __init__(self, size: int, dtype: Any) -> None:
        self.elements = (size + 2) ** 2
        self.memory = numpy.empty(0, dtype)

    def of(self, count: int, channels: int) -> Any:
        wanted = self.elements * count * channels
        if self.memory.size < wanted:
            self.memory = numpy.empty(wanted, self.memory.dtype)
        return self.memory[:wanted].reshape(self.elements, count, channels)


def convolve(images: Any, W: Any, geometry: Geometry, size: int) -> Any:
    """The convolution of images (N, h, w, C) with filters (O, C, 3, 3): (N, *out_size, O), or DECLINED."""
    outputs, channels = W.shape[:2]
    filters = _transformed(W.astype(images.dtype, copy=False), size)
    y = numpy.empty((len(images), *geometry.out_size, outputs), images.dtype)
    before, behind = _Planes(size, images.dtype), _Planes(size, images.dtype)
    for of_inputs, of_outputs, count in _blocks(geometry, len(images), channels, outputs, images.itemsize, size):
        inputs = before.of(count, channels)
        if not native.winograd_inputs(images, inputs, *of_inputs):
            return DECLINED
        products = numpy.matmul(inputs, filters, out=behind.of(count, outputs))
        native.winograd_outputs(products, y, *of_outputs)
    return y


def filter_gradient(images: Any, rows: Any, geometry: Geometry, size: int) -> Any:
    """The filter gradient (O, C, 3, 3) from images (N, h, w, C) and gradients (N, *out_size, O), or DECLINED."""
    channels, outputs = images.shape[-1], rows.shape[-1]
    total = numpy.zeros(((size + 2) ** 2, channels, outputs), images.dtype)
    product = numpy.empty_like(total)
    before, behind = _Planes(size, images.dtype), _Planes(size, images.dtype)
    for of_inputs, of_outputs, count in _blocks(geometry, len(images), channels, outputs, images.itemsize, size):
        inputs, unfolded = before.of(count, channels), behind.of(count, outputs)
        if not native.winograd_inputs(images, inputs, *of_inputs):
            return DECLINED
        if not native.winograd_unfolded(rows, unfolded, *of_outputs):
            return DECLINED
        total += numpy.matmul(inputs.transpose(0, 2, 1), unfolded, out=product)
    return _transformed_back(total, size)


def _transformed(W: Any, size: int) -> Any:
    """Filters (O, C, 3, 3) as (elements of a tile, C, O)."""
    G = _FILTERS[size].astype(W.dtype)
    both = numpy.tensordot(numpy.tensordot(G, W, (1, 2)), G, (3, 1))  # (a, O, C, a)
    return numpy.ascontiguousarray(both.transpose(0, 3, 2, 1)).reshape(-1, W.shape[1], len(W))


def _transformed_back(total: Any, size: int) -> Any:
    """The transpose of :func:`_transformed`."""
    G = _FILTERS[size].astype(total.dtype)
    both = numpy.tensordot(G, total.reshape(len(G), len(G), *total.shape[1:]), (0, 0))  # (3, a, C, O)
    return numpy.ascontiguousarray(numpy.tensordot(both, G, (1, 0)).transpose(2, 1, 0, 3))
