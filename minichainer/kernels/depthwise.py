"""Convolution of each channel with filters of its own, for NumPy.

As matrix products these would be many tiny ones. Instead the rows of images, with the channels last, are multiplied
with the filters repeated along a row and added up in one pass, by ``einsum``: its inner loop is as long as a row of
the result where the stride along it is 1. The plain forms are those of :mod:`~minichainer.kernels.convolution`.

Images are (N, *size, C) here, contiguous, of a dtype that sums may be computed in. ``W`` is (C * D, 1, *ksize): D
filters for each channel, whose results stand together.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.lib.stride_tricks import as_strided

from minichainer.kernels._windows import Geometry, fit, flipped_geometry, unfit

#: Images whose products are added up at a time: sums of fewer numbers are more precise.
_IMAGES = 32


def applies(geometry: Geometry, channels: int) -> bool:
    """Whether these kernels are for a convolution of so many channels."""
    return geometry.groups == channels > 1 and len(geometry.ksize) > 0 and 0 not in geometry.ksize


def convolve(images: Any, W: Any, geometry: Geometry) -> Any:
    """Convolution of images (N, *in_size, C): (N, *out_size, C * D)."""
    images = _repeated(images, len(W) // geometry.groups)
    lines = _Lines(fit(numpy, images, geometry, 0, first=1), geometry)
    y = numpy.empty((len(images), *geometry.out_size, len(W)), images.dtype)
    numpy.einsum(lines.view, lines.axes, lines.along_row(_taps(W)), lines.tap_axes, lines.out_axes, out=lines.row(y))
    return y


def data_gradient(rows: Any, W: Any, geometry: Geometry) -> Any:
    """The transpose of :func:`convolve` as a map of images: (N, *in_size, C) from (N, *out_size, C * D)."""
    groups = geometry.groups
    each = geometry._replace(groups=len(W))
    if all(s == 1 for s in geometry.stride) and len(W) > 1:
        flipped = W[(slice(None), slice(None)) + (slice(None, None, -1),) * len(geometry.ksize)]
        gx = convolve(rows, flipped, flipped_geometry(each))
    else:
        gx = _added_up(rows, W, geometry)
    if len(W) == groups:
        return gx
    return gx.reshape(*gx.shape[:-1], groups, len(W) // groups).sum(axis=-1)


def filter_gradient(images: Any, rows: Any, geometry: Geometry) -> Any:
    """The transpose of :func:`convolve` as a map of filters: (C * D, 1, *ksize)."""
    filters = rows.shape[-1]
    images = fit(numpy, _repeated(images, filters // geometry.groups), geometry, 0, first=1)
    total = numpy.zeros((*geometry.ksize, filters), images.dtype)
    for start in range(0, len(images), _IMAGES):
        block = slice(start, start + _IMAGES)
        lines = _Lines(images[block], geometry)
        products = numpy.einsum(lines.view, lines.axes, lines.row(rows[block]), lines.out_axes, lines.tap_axes)
        width = geometry.out_size[-1] if lines.together else 1
        total += products.reshape(*geometry.ksize, width, filters).sum(axis=-2)
    return numpy.moveaxis(total, -1, 0)[:, None]


class _Lines:
    """A view of all windows of images (n, *out, *k, C), and what ``einsum`` calls its axes.

    The last axis of space and the channels are one axis where they lie together in memory.
    """

    def __init__(self, images: Any, geometry: Geometry) -> None:
        self.geometry = geometry
        n = len(geometry.ksize)
        batch, *space, channel = images.strides
        stride = [step * s for step, s in zip(space, geometry.stride, strict=True)]
        dilate = [step * d for step, d in zip(space, geometry.dilate, strict=True)]
        channels, width = images.shape[-1], geometry.out_size[-1]
        out, taps = list(range(1, n)), list(range(n, 2 * n))
        self.together = stride[-1] == channels * channel
        rest = (
            ([width * channels], [channel], [2 * n])
            if self.together
            else ([width, channels], [stride[-1], channel], [2 * n, 2 * n + 1])
        )
        shape = (len(images), *geometry.out_size[:-1], *geometry.ksize, *rest[0])
        self.view = as_strided(images, shape, (batch, *stride[:-1], *dilate, *rest[1]), writeable=False)
        self.axes = [0, *out, *taps, *rest[2]]
        self.out_axes = [0, *out, *rest[2]]
        self.tap_axes = [*taps, *(rest[2] if self.together else rest[2][1:])]

    def row(self, y: Any) -> Any:
        """An array (n, *out, C), contiguous, with the axes of the view."""
        return y.reshape(*y.shape[:-2], y.shape[-2] * y.shape[-1]) if self.together else y

    def along_row(self, taps: Any) -> Any:
        """Filters (*k, C), repeated for each place of a row."""
        return numpy.tile(taps, self.geometry.out_size[-1]) if self.together else taps


def _repeated(images: Any, filters: int) -> Any:
    """Images with each channel as often as it has filters."""
    return images if filters == 1 else numpy.repeat(images, filters, axis=-1)


def _taps(W: Any) -> Any:
    """The filters as (*ksize, C * D)."""
    return numpy.ascontiguousarray(numpy.moveaxis(W[:, 0], 0, -1))


def _added_up(rows: Any, W: Any, geometry: Geometry) -> Any:
    """What the windows of a convolution with strides give back to each image, one image at a time."""
    taps = _taps(W).astype(rows.dtype, copy=False)
    span = numpy.zeros((len(rows), *geometry.span, len(W)), rows.dtype)
    for image, row in zip(span, rows, strict=True):
        for tap, slices in geometry.taps():
            image[slices] += row * taps[tap]
    return unfit(numpy, span, geometry, first=1)
