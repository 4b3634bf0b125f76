"""Depthwise convolution for NumPy: each channel has its own filters.

Matrix products would be many and tiny here. Instead, rows of images (channels last) are multiplied with filters that
are repeated along a row, and summed, in one pass of ``einsum``. Its inner loop is as long as a row of the result if
the stride along the row is 1. The plain forms are those of :mod:`~minichainer.kernels.convolution`.

Images are contiguous arrays (N, *size, C) of a dtype in which sums may be computed. ``W`` is (C * D, 1, *ksize): D
filters per channel, whose results are adjacent.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.lib.stride_tricks import as_strided

from minichainer._native.library import kernels as native
from minichainer.kernels._dispatch import DECLINED, kernel
from minichainer.kernels._windows import Geometry, fit, flipped_geometry, numbers_of, unfit

#: The number of images that are summed at a time: sums of fewer numbers are more accurate.
_IMAGES = 32


def applies(geometry: Geometry, channels: int) -> bool:
    """Whether to use these kernels for a convolution with this many channels."""
    return geometry.groups == channels > 1 and len(geometry.ksize) > 0 and 0 not in geometry.ksize


def convolve(images: Any, W: Any, geometry: Geometry) -> Any:
    """Convolution of images (N, *in_size, C): (N, *out_size, C * D)."""
    images = _repeated(images, len(W) // geometry.groups)
    return _convolved(numpy, images, _taps(W), geometry)


@kernel
def _convolved(xp: Any, images: Any, taps: Any, geometry: Geometry) -> Any:
    """The convolution of images (N, *in_size, F) with one filter for each of F channels, (*ksize, F)."""
    filters = taps.shape[-1]
    lines = _Lines(fit(numpy, images, geometry, 0, first=1), geometry)
    y = numpy.empty((len(images), *geometry.out_size, filters), images.dtype)
    numpy.einsum(lines.view, lines.axes, lines.along_row(taps), lines.tap_axes, lines.out_axes, out=lines.row(y))
    return y


@_convolved.on_native
def _convolved_native(xp: Any, images: Any, taps: Any, geometry: Geometry) -> Any:
    if not numpy.isfinite(taps).all():  # padding times infinity is NaN; the compiled kernel leaves padding out
        return DECLINED
    return _compiled(
        native.depthwise_convolve, images, taps, geometry, (len(images), *geometry.out_size, taps.shape[-1])
    )


def _compiled(kernel: Any, x: Any, other: Any, geometry: Geometry, shape: tuple[int, ...]) -> Any:
    """The result of a compiled kernel; x is (N, *size, F)."""
    numbers, y = numbers_of(geometry), numpy.empty(shape, x.dtype)
    return y if numbers and kernel(x, other, y, len(x), x.shape[-1], *numbers) else DECLINED


def data_gradient(rows: Any, W: Any, geometry: Geometry) -> Any:
    """The transpose of :func:`convolve` with respect to the images: (N, *in_size, C) from (N, *out_size, C * D)."""
    groups = geometry.groups
    gx = _data_gradient(numpy, rows, W, geometry)
    if len(W) == groups:
        return gx
    return gx.reshape(*gx.shape[:-1], groups, len(W) // groups).sum(axis=-1)


@kernel
def _data_gradient(xp: Any, rows: Any, W: Any, geometry: Geometry) -> Any:
    """The data gradient before results of one channel are added, (N, *in_size, C * D)."""
    if all(s == 1 for s in geometry.stride) and len(W) > 1:
        flipped = W[(slice(None), slice(None)) + (slice(None, None, -1),) * len(geometry.ksize)]
        return convolve(rows, flipped, flipped_geometry(geometry._replace(groups=len(W))))
    return _added_up(rows, W, geometry)


@_data_gradient.on_native
def _data_gradient_native(xp: Any, rows: Any, W: Any, geometry: Geometry) -> Any:
    shape = (len(rows), *geometry.in_size, len(W))
    if not numpy.isfinite(W).all():
        return DECLINED
    return _compiled(native.depthwise_data_gradient, rows, _taps(W).astype(rows.dtype, copy=False), geometry, shape)


def filter_gradient(images: Any, rows: Any, geometry: Geometry) -> Any:
    """The transpose of :func:`convolve` with respect to the filters: (C * D, 1, *ksize)."""
    total = _filter_gradient(numpy, _repeated(images, rows.shape[-1] // geometry.groups), rows, geometry)
    return numpy.moveaxis(total, -1, 0)[:, None]


@kernel
def _filter_gradient(xp: Any, images: Any, rows: Any, geometry: Geometry) -> Any:
    """The filter gradient (*ksize, F) from images and gradients of F channels."""
    filters = rows.shape[-1]
    images = fit(numpy, images, geometry, 0, first=1)
    total = numpy.zeros((*geometry.ksize, filters), images.dtype)
    for start in range(0, len(images), _IMAGES):
        block = slice(start, start + _IMAGES)
        lines = _Lines(images[block], geometry)
        products = numpy.einsum(lines.view, lines.axes, lines.row(rows[block]), lines.out_axes, lines.tap_axes)
        width = geometry.out_size[-1] if lines.together else 1
        total += products.reshape(*geometry.ksize, width, filters).sum(axis=-2)
    return total


@_filter_gradient.on_native
def _filter_gradient_native(xp: Any, images: Any, rows: Any, geometry: Geometry) -> Any:
    shape = (*geometry.ksize, rows.shape[-1])
    total = _compiled(native.depthwise_filter_gradient, images, rows, geometry, shape)
    # Each gradient is a part of some sum, so the few sums say whether all gradients are finite.
    return total if total is DECLINED or numpy.isfinite(total).all() else DECLINED


class _Lines:
    """A view of all windows of images (n, *out, *k, C), and the labels of its axes for ``einsum``.

    The last spatial axis and the channels are merged where they are contiguous in memory.
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
        """A contiguous array (n, *out, C) with the axes of the view."""
        return y.reshape(*y.shape[:-2], y.shape[-2] * y.shape[-1]) if self.together else y

    def along_row(self, taps: Any) -> Any:
        """Filters (*k, C), repeated along a row."""
        return numpy.tile(taps, self.geometry.out_size[-1]) if self.together else taps


def _repeated(images: Any, filters: int) -> Any:
    """Images with each channel repeated once per filter."""
    return images if filters == 1 else numpy.repeat(images, filters, axis=-1)


def _taps(W: Any) -> Any:
    """The filters as (*ksize, C * D)."""
    return numpy.ascontiguousarray(numpy.moveaxis(W[:, 0], 0, -1))


def _added_up(rows: Any, W: Any, geometry: Geometry) -> Any:
    """The data gradient of a strided convolution, one image at a time."""
    taps = _taps(W).astype(rows.dtype, copy=False)
    span = numpy.zeros((len(rows), *geometry.span, len(W)), rows.dtype)
    for image, row in zip(span, rows, strict=True):
        for tap, slices in geometry.taps():
            image[slices] += row * taps[tap]
    return unfit(numpy, span, geometry, first=1)
