"""Convolution of NumPy images with 3 x 3 filters by Winograd's minimal filtering: 16 products instead of 36.

Tiles of 2 x 2 results are computed from 4 x 4 inputs: inputs and filters are transformed, multiplied element by
element over the tile (a matrix product over the channels for each of its 16 elements), and transformed back. The
filter gradient is the transpose of these maps. Part of an image is processed at a time, so that all of it stays in
the cache; in total this takes 0.65 to 0.7 of the time of products of patches.

Rounding errors are those of the direct method (4e-7 of the largest result in float32). An infinity or NaN makes all
results of its tiles NaN, one pixel further than with the direct method.

Source: A. Lavin and S. Gray, Fast Algorithms for Convolutional Neural Networks, arXiv:1509.09308. The plain form is
``kernels.convolution.convolve_reference``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy

from minichainer.kernels._windows import Geometry

_BLOCK_BYTES = 1 << 19
_LEAST_CHANNELS = 32
_LEAST_ELEMENTS = 1 << 15  # per image; below, the calls per image cost more than they save
_FILTER = numpy.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])


def applies(geometry: Geometry, channels: int, outputs: int) -> bool:
    """Whether this method is faster: 3 x 3 filters with stride 1, many channels, large images."""
    if (geometry.ksize, geometry.stride, geometry.dilate) != ((3, 3), (1, 1), (1, 1)):
        return False
    fewer = min(channels, outputs)
    large = fewer >= _LEAST_CHANNELS and fewer * math.prod(geometry.out_size) >= _LEAST_ELEMENTS
    return large and geometry.groups == 1


class _Tiles:
    """The tiles of a part of an image, with buffers for the transforms, which all parts share.

    Even and odd columns are separate in memory, so that all sums run over long contiguous rows.
    """

    def __init__(self, lines: int, columns: int, channels: int, outputs: int, dtype: Any) -> None:
        self.lines = lines  # of tiles
        self.columns = columns
        self.padded = numpy.zeros((2 * lines + 2, 2, columns + 1, channels), dtype)
        self.half = numpy.empty((4, lines, 2, columns + 1, channels), dtype)
        self.inputs = numpy.empty((4, 4, lines, columns, channels), dtype)
        self.products = numpy.empty((4, 4, lines, columns, outputs), dtype)
        self.folded = numpy.empty((2, 4, lines, columns, outputs), dtype)
        self.spare = numpy.empty((lines, columns, outputs), dtype)

    def transformed(self, image: Any, top: int, left: int) -> Any:
        """The transformed tiles (16, tiles, C) of (h, w, C), which begin ``top`` and ``left`` before it."""
        padded, n, width = self.padded, len(self.padded), 2 * self.columns + 2
        first, last = _meeting(top, len(image), n)
        begin, end = _meeting(left, image.shape[1], width)
        part = image[first - top : last - top, begin - left : end - left]
        padded[:first] = padded[last:] = 0
        for parity in range(2):
            skipped = (parity - begin) % 2
            padded[first:last, parity, (begin + skipped) // 2 : (end - parity + 1) // 2] = part[:, skipped::2]
        a, b, c, d = (padded[k : k + n - 3 : 2] for k in range(4))
        _difference(a, b, c, d, self.half)
        for half, place in zip(self.half, self.inputs, strict=True):
            even, odd = half[:, 0], half[:, 1]
            _difference(even[:, :-1], odd[:, :-1], even[:, 1:], odd[:, 1:], place)
        return self.inputs.reshape(16, -1, self.inputs.shape[-1])

    def folded_into(self, y: Any) -> None:
        """Transforms the products back and writes (h, w, O)."""
        m, s, t = self.products, self.folded, self.spare
        numpy.add(m[1], m[2], out=s[0])
        s[0] += m[0]
        numpy.subtract(m[1], m[2], out=s[1])
        s[1] -= m[3]
        for i in range(2):
            for j in range(2):
                part = y[i::2, j::2]
                numpy.subtract(s[i, 1], s[i, 2], out=t) if j else numpy.add(s[i, 1], s[i, 2], out=t)
                if j:
                    t -= s[i, 3]
                else:
                    t += s[i, 0]
                part[...] = t[: part.shape[0], : part.shape[1]]

    def unfolded(self, gy: Any) -> Any:
        """The transpose of :meth:`folded_into`: (16, tiles, O)."""
        m, s = self.products, self.folded
        for i in range(2):
            for j, place in ((0, 0), (1, 3)):
                part, t = gy[i::2, j::2], s[i, place]
                h, w = part.shape[:2]
                t[:h, :w] = part
                t[h:] = t[:, w:] = 0
            numpy.add(s[i, 0], s[i, 3], out=s[i, 1])
            numpy.subtract(s[i, 0], s[i, 3], out=s[i, 2])
            numpy.negative(s[i, 3], out=s[i, 3])
        m[0] = s[0]
        numpy.add(s[0], s[1], out=m[1])
        numpy.subtract(s[0], s[1], out=m[2])
        numpy.negative(s[1], out=m[3])
        return m.reshape(16, -1, m.shape[-1])


def _meeting(offset: int, size: int, room: int) -> tuple[int, int]:
    """The overlap of a buffer of ``room`` places with a line of ``size`` that begins at ``offset``; may be empty.

    Both ends index the buffer, and the line after subtracting ``offset``.
    """
    first = min(max(0, offset), room)
    return first, max(first, min(room, offset + size))


def _difference(a: Any, b: Any, c: Any, d: Any, out: Any) -> None:
    """The transform of four neighbouring lines of the input."""
    numpy.subtract(a, c, out=out[0])
    numpy.add(b, c, out=out[1])
    numpy.subtract(c, b, out=out[2])
    numpy.subtract(b, d, out=out[3])


def _parts(geometry: Geometry, channels: int, dtype: Any) -> Iterator[tuple[int, int]]:
    """Ranges of lines of tiles that fill about one block."""
    lines, columns = ((n + 1) // 2 for n in geometry.out_size)
    step = max(1, _BLOCK_BYTES // (16 * columns * channels * dtype.itemsize))
    for i in range(0, lines, step):
        yield i, min(step, lines - i)


def _filters(W: Any) -> Any:
    """Filters (O, C, 3, 3), transformed: (16, C, O)."""
    G = _FILTER.astype(W.dtype)
    taps = numpy.tensordot(numpy.tensordot(G, W, (1, 2)), G, (3, 1))  # (4, O, C, 4)
    return numpy.ascontiguousarray(taps.transpose(0, 3, 2, 1)).reshape(16, W.shape[1], len(W))


def _filters_back(total: Any) -> Any:
    """The transpose of :func:`_filters`."""
    G = _FILTER.astype(total.dtype)
    taps = numpy.tensordot(G, total.reshape(4, 4, *total.shape[1:]), (0, 0))  # (3, 4, C, O)
    return numpy.ascontiguousarray(numpy.tensordot(taps, G, (1, 0)).transpose(2, 1, 0, 3))


def convolve(images: Any, W: Any, geometry: Geometry) -> Any:
    """The convolution.

    Args:
        images: NumPy array (N, h, w, C), float32 or float64.
        W: filters (O, C, 3, 3).
        geometry: how the filters slide over the images.

    Returns:
        Array (N, *out_size, O).
    """
    filters, outputs = _filters(W), len(W)
    y = numpy.empty((len(images), *geometry.out_size, outputs), images.dtype)
    for tiles, i in _tiles(geometry, W.shape[1], outputs, images.dtype):
        for image, result in zip(images, y, strict=True):
            inputs = tiles.transformed(image, geometry.pad[0] - 2 * i, geometry.pad[1])
            numpy.matmul(inputs, filters, out=tiles.products.reshape(16, -1, outputs))
            tiles.folded_into(result[2 * i : 2 * (i + tiles.lines)])
    return y


def _tiles(geometry: Geometry, channels: int, outputs: int, dtype: Any) -> Iterator[tuple[Any, int]]:
    columns = (geometry.out_size[1] + 1) // 2
    tiles = None
    for i, lines in _parts(geometry, max(channels, outputs), dtype):
        if tiles is None or tiles.lines != lines:
            tiles = _Tiles(lines, columns, channels, outputs, dtype)
        yield tiles, i


def filter_gradient(images: Any, rows: Any, geometry: Geometry) -> Any:
    """The transpose of :func:`convolve` with respect to the filters.

    Args:
        images: as in :func:`convolve`.
        rows: upstream gradient (N, *out_size, O).
        geometry: as in :func:`convolve`.

    Returns:
        C-contiguous array (O, C, 3, 3).
    """
    channels, outputs = images.shape[-1], rows.shape[-1]
    total = numpy.zeros((16, channels, outputs), images.dtype)
    product = numpy.empty_like(total)
    for tiles, i in _tiles(geometry, channels, outputs, images.dtype):
        for image, row in zip(images, rows, strict=True):
            inputs = tiles.transformed(image, geometry.pad[0] - 2 * i, geometry.pad[1])
            gproducts = tiles.unfolded(row[2 * i : 2 * (i + tiles.lines)])
            total += numpy.matmul(inputs.transpose(0, 2, 1), gproducts, out=product)
    return _filters_back(total)
