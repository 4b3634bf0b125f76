"""Convolution over any number of axes: three kernels that are each other's gradients.

``convolve`` maps images and filters to images; ``data_gradient`` and ``filter_gradient`` are its transposes. All take
the same :class:`~minichainer.kernels._windows.Geometry`. Images have the shape (batch, channels, *size) but are
channels-last in memory, so that a block of patches is a matrix of long contiguous rows; two megabytes of patches
are multiplied at a time. Images of up to three channels have short rows; their patches are stored transposed.

float16 is computed in float32. Each kernel has a plain form, which documents it and is the reference of its test.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from minichainer._native.library import kernels as native
from minichainer._native.library import level
from minichainer.kernels import depthwise, planes, tiles, winograd
from minichainer.kernels._dispatch import DECLINED, kernel
from minichainer.kernels._windows import Geometry, fit, flipped_geometry, numbers_of, unfit

#: A convolution of 50 filters of 5x5x20 takes 0.94 of the time of 1 << 20, of 64x5x5x64 0.90 (and 0.95 with AVX2).
_BLOCK_BYTES = 1 << 21
_BLOCK_BYTES_ON_GPU = 1 << 28
_FEW_CHANNELS = 3
#: Up to this ratio of sizes, the data gradient is computed as a convolution with flipped filters.
_FLIP_UP_TO = 1.5


@kernel(widens=True)
def convolve(xp: Any, x: Any, W: Any, b: Any, geometry: Geometry) -> Any:
    """Convolution (cross-correlation, as usual in neural networks).

    Args:
        xp: numpy or cupy.
        x: images (N, C, *in_size).
        W: filters (O, C / groups, *ksize).
        b: (O,) or None.
        geometry: how the filters slide over the images.

    Returns:
        Array (N, O, *out_size) of ``x``'s dtype; its layout in memory is unspecified.
    """
    return _with_bias(xp, _products(xp, x, W, geometry), b)


@convolve.on('numpy', declines=True)
def _convolve_channels(xp: Any, x: Any, W: Any, b: Any, geometry: Geometry) -> Any:
    if not depthwise.applies(geometry, x.shape[1]):
        return DECLINED
    return _with_bias(xp, depthwise.convolve(_rows(xp, x), W, geometry), b)


def _convolve_planes(xp: Any, x: Any, W: Any, b: Any, geometry: Geometry) -> Any:
    if not planes.applies(geometry, x.shape[1], len(W)):
        return DECLINED
    y = planes.convolve(x, W, b, geometry)
    return y if y is DECLINED else _channels_second(y)


if level != 'baseline':  # with vectors of 128 bits it takes 1.3 to 1.6 times as long as products of patches
    convolve.on_native(_convolve_planes)


@kernel
def _products(xp: Any, x: Any, W: Any, geometry: Geometry) -> Any:
    """The convolution as products of patches with filters, (N, *out_size, O)."""
    images = _spread_out(xp, x, geometry)
    matrix = _as_matrices(W, geometry, images.dtype)
    y = xp.empty((len(x), *geometry.out_size, len(W)), images.dtype)
    patches = _Patches(xp, images, geometry)
    for place in patches.blocks():
        _write_product(xp, patches.columns(place), matrix, _grouped(y[place], geometry.groups))
    return y


@_products.on('numpy', declines=True)
def _products_of_tiles(xp: Any, x: Any, W: Any, geometry: Geometry) -> Any:
    if not winograd.applies(geometry, x.shape[1], len(W)):
        return DECLINED
    return winograd.convolve(_rows(xp, x), W, geometry)


@_products.on_native
def _products_of_compiled_tiles(xp: Any, x: Any, W: Any, geometry: Geometry) -> Any:
    if not winograd.applies(geometry, x.shape[1], len(W)):
        return DECLINED
    return tiles.convolve(_rows(xp, x), W, geometry, tiles.size_wanted())


@kernel
def _write_product(xp: Any, left: Any, right: Any, out: Any) -> None:
    """Writes a product of matrices (groups, ...)."""
    out[...] = xp.matmul(left, right)


@_write_product.on('numpy')
def _write_product_numpy(xp: Any, left: Any, right: Any, out: Any) -> None:
    if len(left) == 1:  # contiguous
        numpy.matmul(left, right, out=out)
    else:
        out[...] = numpy.matmul(left, right)


@kernel(widens=True)
def data_gradient(xp: Any, gy: Any, W: Any, b: Any, geometry: Geometry) -> Any:
    """The transpose of :func:`convolve` with respect to the images: data gradient and transposed convolution.

    Args:
        xp: numpy or cupy.
        gy: images (N, O, *out_size).
        W: filters (O, C / groups, *ksize).
        b: (C,), added to the result, or None.
        geometry: as in :func:`convolve`.

    Returns:
        Array (N, C, *in_size) of ``gy``'s dtype; its layout in memory is unspecified.
    """
    if _flipping_pays(geometry):
        gx = _products(xp, gy, _flipped(W, geometry), flipped_geometry(geometry))
    else:
        gx = _added_products(xp, gy, W, geometry)
    return _with_bias(xp, gx, b)


@data_gradient.on('numpy', declines=True)
def _data_gradient_of_channels(xp: Any, gy: Any, W: Any, b: Any, geometry: Geometry) -> Any:
    if not depthwise.applies(geometry, geometry.groups * W.shape[1]):
        return DECLINED
    return _with_bias(xp, depthwise.data_gradient(_rows(xp, gy), W, geometry), b)


@kernel
def _added_products(xp: Any, gy: Any, W: Any, geometry: Geometry) -> Any:
    """The data gradient as a sum of patches, which are products of the output gradient with the filters."""
    rows = _rows(xp, gy)
    groups, channels = geometry.groups, W.shape[1]
    span = xp.zeros((len(gy), *geometry.span, groups * channels), rows.dtype)
    if groups * channels <= _FEW_CHANNELS:
        span = _channels_last(xp.ascontiguousarray(_channels_second(span)))
    patches = _Patches(xp, span, geometry)
    taps = patches.taps_of(_as_matrices(W, geometry, rows.dtype))
    for place in patches.blocks():
        patches.add(place, _grouped(rows[place], groups), taps)
    return unfit(xp, span, geometry, first=1)


@_added_products.on_native
def _added_products_native(xp: Any, gy: Any, W: Any, geometry: Geometry) -> Any:
    """One product for all elements of patches, which are added while they are in the cache."""
    channels, rows = W.shape[1], _rows(xp, gy)
    if geometry.groups != 1 or channels <= _FEW_CHANNELS or numbers_of(geometry) is None:
        return DECLINED
    matrix = _as_matrices(W, geometry, rows.dtype)[0].T
    span = numpy.zeros((len(gy), *geometry.span, channels), rows.dtype)
    patches = _Patches(xp, span, geometry)
    for place in patches.blocks():
        if not patches.add_compiled(place, rows[place], matrix):
            return DECLINED
    return unfit(xp, span, geometry, first=1)


@kernel(widens=True)
def filter_gradient(xp: Any, x: Any, gy: Any, geometry: Geometry) -> Any:
    """The transpose of :func:`convolve` with respect to the filters.

    Args:
        xp: numpy or cupy.
        x: images (N, C, *in_size).
        gy: images (N, O, *out_size).
        geometry: as in :func:`convolve`.

    Returns:
        C-contiguous array (O, C / groups, *ksize) of ``x``'s dtype.
    """
    images, rows = _spread_out(xp, x, geometry), _rows(xp, gy)
    groups, channels, o = geometry.groups, x.shape[1], gy.shape[1]
    count = math.prod(geometry.ksize) * (channels // groups)
    total = xp.zeros((groups, count, o // groups), images.dtype)
    patches = _Patches(xp, images, geometry)
    for place in patches.blocks():
        total += xp.matmul(patches.columns(place).transpose(0, 2, 1), _grouped(rows[place], groups))
    taps = total.reshape(groups, *geometry.ksize, channels // groups, o // groups)
    filters = taps.transpose(0, -1, -2, *range(1, 1 + len(geometry.ksize)))
    return xp.ascontiguousarray(filters.reshape(o, channels // groups, *geometry.ksize))


@filter_gradient.on('numpy', declines=True)
def _filter_gradient_numpy(xp: Any, x: Any, gy: Any, geometry: Geometry) -> Any:
    if depthwise.applies(geometry, x.shape[1]):
        return numpy.ascontiguousarray(depthwise.filter_gradient(_rows(xp, x), _rows(xp, gy), geometry))
    if winograd.applies(geometry, x.shape[1], gy.shape[1]):
        return winograd.filter_gradient(_rows(xp, x), _rows(xp, gy), geometry)
    return DECLINED


@filter_gradient.on_native
def _filter_gradient_native(xp: Any, x: Any, gy: Any, geometry: Geometry) -> Any:
    if not winograd.applies(geometry, x.shape[1], gy.shape[1]):
        return DECLINED
    return tiles.filter_gradient(_rows(xp, x), _rows(xp, gy), geometry, tiles.size_wanted())


@kernel(widens=True)
def sum_of_channels(xp: Any, x: Any) -> Any:
    """The sum over all axes but the second; in NumPy a product with ones, which is faster than ``sum``.

    The plain form is ``x.sum(axis=(0, 2, ...))``.
    """
    rows = _rows(xp, x).reshape(-1, x.shape[1]) if x.size else xp.zeros((1, x.shape[1]), x.dtype)
    return xp.ones(len(rows), rows.dtype).dot(rows)


@kernel
def _block_bytes(xp: Any) -> int:
    return _BLOCK_BYTES_ON_GPU


@_block_bytes.on('numpy')
def _block_bytes_numpy(xp: Any) -> int:
    return _BLOCK_BYTES


@kernel
def _product(xp: Any, left: Any, right: Any, buffer: Callable[[], Any]) -> Any:
    """A product of matrices; ``buffer`` returns memory for the result."""
    return xp.matmul(left, right)


@_product.on('numpy')
def _product_in_buffer(xp: Any, left: Any, right: Any, buffer: Callable[[], Any]) -> Any:
    """Allocating new memory would take longer than the product."""
    return numpy.matmul(left, right, out=buffer())


@kernel
def _copy_patches(xp: Any, ordered: Any, columns: Any, images: Any, geometry: Geometry, windows_last: bool) -> None:
    """Copies patches, a view of images, to contiguous columns."""
    columns[...] = ordered


@_copy_patches.on_native
def _copy_patches_native(
    xp: Any, ordered: Any, columns: Any, images: Any, geometry: Geometry, windows_last: bool
) -> Any:
    numbers, (batch, *size, channels) = numbers_of(geometry), images.shape
    if numbers is None or geometry.groups != 1 or tuple(size) != geometry.in_size:
        return DECLINED
    sizes = (batch, channels, *numbers)
    if not windows_last:
        return None if native.patches_as_rows(images, columns, *sizes) else DECLINED
    plane = batch * math.prod(geometry.out_size)
    apart = (channels * plane, plane, plane // batch if batch else 0)
    return None if native.patches_as_planes(_channels_second(images), columns, *sizes, *apart) else DECLINED


class _Patches:
    """The patches of images (N, *span, C) as matrices (groups, windows, elements), block by block."""

    def __init__(self, xp: Any, images: Any, geometry: Geometry) -> None:
        self.xp = xp
        self.images = images
        self.geometry = geometry
        self.channels = images.shape[-1] // geometry.groups
        self.elements = math.prod(geometry.ksize) * self.channels
        #: Whether the windows, rather than the elements, follow each other in memory.
        self.windows_last = images.shape[-1] <= _FEW_CHANNELS
        self.scratch: Any = None

    def blocks(self) -> Iterator[tuple[slice, ...]]:
        """Ranges of images, and of the first axis of windows, whose patches fill about one block."""
        size, n = self.geometry.out_size, len(self.images)
        bytes_each = max(1, self.elements * self.geometry.groups * self.images.dtype.itemsize)
        windows = max(1, _block_bytes(self.xp) // bytes_each)
        per_image, per_line = math.prod(size), math.prod(size[1:])
        if windows >= per_image or not size:
            step = max(1, windows // max(1, per_image))
            yield from ((slice(i, min(i + step, n)),) for i in range(0, n, step))
        else:
            step = max(1, windows // per_line)
            lines = [slice(i, min(i + step, size[0])) for i in range(0, size[0], step)]
            yield from itertools.product([slice(i, i + 1) for i in range(n)], lines)

    def columns(self, place: tuple[slice, ...]) -> Any:
        """The patches of a block; valid until the next call."""
        windows = self._windows(place)
        shape = windows.shape
        groups, count = self.geometry.groups, math.prod(shape[: -len(self.geometry.ksize) - 2])
        if groups == 1 and self.elements == self.channels and not self.windows_last:
            return windows.reshape(1, count, self.elements)
        buffer = self._buffer(windows.size)
        axes = self._memory_order(windows.ndim)
        ordered = windows.transpose(axes)
        columns = buffer.reshape(ordered.shape)
        _copy_patches(self.xp, ordered, columns, self._lines(place), self._part(shape), self.windows_last)
        if self.windows_last:
            return columns.reshape(groups, self.elements, count).transpose(0, 2, 1)
        return columns.reshape(groups, count, self.elements)

    def add(self, place: tuple[slice, ...], rows: Any, taps: Any) -> None:
        """Adds patches to the images: the products of ``rows`` with the transposed filters.

        In the product, the values for one filter element are contiguous, as they are in the images, so that NumPy's
        inner loops are long.

        Args:
            place: the block.
            rows: matrices (groups, windows, O / groups).
            taps: the result of :meth:`taps_of`.
        """
        shape = self._shape(place)
        n, (groups, windows, _) = len(self.geometry.ksize), rows.shape
        if self.windows_last:
            product = self._product(taps, rows[:, None].swapaxes(2, 3), (*taps.shape[:3], windows)).swapaxes(2, 3)
        else:
            product = self._product(rows[:, None], taps, (*taps.shape[:2], windows, self.channels))
        patches = product.reshape(groups, *self.geometry.ksize, *shape[: n + 1], self.channels)
        patches = patches.transpose(*range(1, patches.ndim - 1), 0, patches.ndim - 1)
        images = self._lines(place)
        images = images.reshape(*images.shape[:-1], groups, self.channels)
        part = self.geometry._replace(out_size=shape[1 : n + 1])
        for tap, slices in part.taps():
            place_of_tap = images[(slice(None),) + slices]
            self.xp.add(place_of_tap, patches[tap], out=place_of_tap)

    def add_compiled(self, place: tuple[slice, ...], rows: Any, matrix: Any) -> bool:
        """The same by a compiled kernel, for ``rows`` (n, *out, O), filters (O, elements) and one group."""
        count, elements = math.prod(rows.shape[:-1]), matrix.shape[1]
        product = self._product(rows.reshape(count, len(matrix)), matrix, (count, elements))
        images, numbers = self._lines(place), numbers_of(self._part(self._shape(place)))
        added: bool = native.add_rows_of_patches(product, images, len(images), self.channels, *(numbers or ()))
        return added

    def taps_of(self, matrix: Any) -> Any:
        """Filters as matrices for :meth:`add`, (groups, elements of a filter, O, C), or with O last."""
        groups, _, o = matrix.shape
        taps = matrix.reshape(groups, math.prod(self.geometry.ksize), self.channels, o)
        return taps if self.windows_last else self.xp.ascontiguousarray(taps.swapaxes(2, 3))

    def _product(self, left: Any, right: Any, shape: tuple[int, ...]) -> Any:
        return _product(self.xp, left, right, lambda: self._buffer(math.prod(shape)).reshape(shape))

    def _memory_order(self, ndim: int) -> list[int]:
        """The axes of a window view (n, *out, *k, groups, channels) in the memory order of the columns."""
        kernel = len(self.geometry.ksize)
        outer = list(range(ndim - kernel - 2))
        taps = list(range(ndim - kernel - 2, ndim - 2))
        if self.windows_last:
            return [ndim - 2, *taps, ndim - 1, *outer]
        return [ndim - 2, *outer, *taps, ndim - 1]

    def _buffer(self, size: int) -> Any:
        if self.scratch is None or self.scratch.size < size:
            self.scratch = self.xp.empty(size, self.images.dtype)
        return self.scratch[:size]

    def _part(self, shape: tuple[int, ...]) -> Geometry:
        """The windows of a block, by the shape of :meth:`_shape`, on its part of the images."""
        part = self.geometry._replace(out_size=shape[1 : len(self.geometry.ksize) + 1])
        return part._replace(in_size=part.span, pad=(0,) * len(part.ksize))

    def _shape(self, place: tuple[slice, ...]) -> tuple[int, ...]:
        geometry = self.geometry
        size = [geometry.out_size, (place[-1].stop - place[-1].start, *geometry.out_size[1:])][len(place) - 1]
        images = place[0].stop - place[0].start
        return (images, *size, *geometry.ksize, geometry.groups, self.channels)

    def _lines(self, place: tuple[slice, ...]) -> Any:
        """The part of the images under the windows of a block."""
        if len(place) == 1:
            return self.images[place]
        s, k, d = self.geometry.stride[0], self.geometry.ksize[0], self.geometry.dilate[0]
        return self.images[place[0], place[1].start * s : (place[1].stop - 1) * s + (k - 1) * d + 1]

    def _windows(self, place: tuple[slice, ...]) -> Any:
        """All patches of a block as a view (n, *out, *k, groups, channels)."""
        part, geometry = self._lines(place), self.geometry
        batch, *space, channel = part.strides
        stride = [step * s for step, s in zip(space, geometry.stride, strict=True)]
        dilate = [step * d for step, d in zip(space, geometry.dilate, strict=True)]
        strides = (batch, *stride, *dilate, channel * self.channels, channel)
        return self.xp.lib.stride_tricks.as_strided(part, self._shape(place), strides)


def _add_to_channels(xp: Any, y: Any, b: Any) -> None:
    """Adds a bias to each channel of images (N, *size, C), a row at a time: short inner loops are slow."""
    b = b.astype(y.dtype, copy=False)
    if y.flags.c_contiguous and y.ndim > 2:
        width = y.shape[-2]
        y.reshape(*y.shape[:-2], width * len(b))[...] += xp.tile(b, width)
    else:
        y += b


def _with_bias(xp: Any, y: Any, b: Any) -> Any:
    """Images (N, *size, C) as (N, C, *size), with the bias added if ``b`` is not None."""
    if b is not None:
        _add_to_channels(xp, y, b)
    return _channels_second(y)


def _channels_last(x: Any) -> Any:
    return x.transpose(0, *range(2, x.ndim), 1)


def _channels_second(x: Any) -> Any:
    return x.transpose(0, x.ndim - 1, *range(1, x.ndim - 1))


def _spread_out(xp: Any, x: Any, geometry: Geometry) -> Any:
    """Images (N, *span, C) with their padding, in the memory layout of their patches."""
    images = _channels_last(x)
    if images.shape[-1] <= _FEW_CHANNELS:
        return fit(xp, images, geometry, 0, first=1)
    return fit(xp, xp.ascontiguousarray(images), geometry, 0, first=1)


def _rows(xp: Any, gy: Any) -> Any:
    """Images (N, *size, O), contiguous."""
    return xp.ascontiguousarray(_channels_last(gy))


def _grouped(rows: Any, groups: int) -> Any:
    """Rows of a block as matrices (groups, windows, channels)."""
    count = math.prod(rows.shape[:-1])
    return rows.reshape(count, groups, rows.shape[-1] // groups).transpose(1, 0, 2)


def _as_matrices(W: Any, geometry: Geometry, dtype: Any) -> Any:
    """Filters as matrices (groups, elements of a patch, filters)."""
    groups = geometry.groups
    o, channels, *ksize = W.shape
    filters = W.astype(dtype, copy=False).reshape(groups, o // groups, channels, *ksize)
    elements = math.prod(ksize) * channels
    return filters.transpose(0, *range(3, filters.ndim), 2, 1).reshape(groups, elements, o // groups)


def _flipping_pays(geometry: Geometry) -> bool:
    axes = zip(geometry.out_size, geometry.ksize, geometry.dilate, strict=True)
    work = math.prod(o + (k - 1) * d for o, k, d in axes)
    return all(s == 1 for s in geometry.stride) and work <= _FLIP_UP_TO * math.prod(geometry.out_size)


def _flipped(W: Any, geometry: Geometry) -> Any:
    """The filters reversed along each axis, with input and output channels exchanged."""
    groups = geometry.groups
    o, channels, *ksize = W.shape
    turned = W[(slice(None), slice(None)) + (slice(None, None, -1),) * len(ksize)]
    grouped = turned.reshape(groups, o // groups, channels, *ksize).swapaxes(1, 2)
    return grouped.reshape(groups * channels, o // groups, *ksize)


# --- the plain forms ---------------------------------------------------------------------------------------------
def _meetings(geometry: Geometry) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """Pairs of each window with each of its elements on the array: indices of output, filter and input."""
    for out in itertools.product(*map(range, geometry.out_size)):
        for tap in itertools.product(*map(range, geometry.ksize)):
            axes = zip(out, geometry.stride, tap, geometry.dilate, geometry.pad, strict=True)
            at = tuple([o * s + t * d - p for o, s, t, d, p in axes])
            if all(0 <= i < size for i, size in zip(at, geometry.in_size, strict=True)):
                yield out, tap, at


_EVERY: Any = (slice(None), slice(None), slice(None))


def _by_group(x: Any, axis: int, groups: int) -> Any:
    return x.reshape(*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1 :])


def convolve_reference(x: Any, W: Any, b: Any, geometry: Geometry) -> Any:
    """The definition of :func:`convolve` in NumPy: slow."""
    groups = geometry.groups
    y = numpy.zeros((len(x), groups, len(W) // groups, *geometry.out_size), x.dtype)
    x, W = _by_group(x, 1, groups), _by_group(W, 0, groups)
    for out, tap, at in _meetings(geometry):
        seen, filters = x[_EVERY + at], W[_EVERY + tap]
        y[_EVERY + out] += numpy.einsum('ngc,goc->ngo', seen, filters)
    y = y.reshape(len(x), groups * W.shape[1], *geometry.out_size)
    return y if b is None else y + b.reshape(-1, *[1] * len(geometry.ksize))


def data_gradient_reference(gy: Any, W: Any, b: Any, geometry: Geometry) -> Any:
    """The definition of :func:`data_gradient` in NumPy: slow."""
    groups, channels = geometry.groups, W.shape[1]
    gx = numpy.zeros((len(gy), groups, channels, *geometry.in_size), gy.dtype)
    gy, W = _by_group(gy, 1, groups), _by_group(W, 0, groups)
    for out, tap, at in _meetings(geometry):
        gradient, filters = gy[_EVERY + out], W[_EVERY + tap]
        gx[_EVERY + at] += numpy.einsum('ngo,goc->ngc', gradient, filters)
    gx = gx.reshape(len(gy), groups * channels, *geometry.in_size)
    return gx if b is None else gx + b.reshape(-1, *[1] * len(geometry.ksize))


def filter_gradient_reference(x: Any, gy: Any, geometry: Geometry) -> Any:
    """The definition of :func:`filter_gradient` in NumPy: slow."""
    groups, channels, o = geometry.groups, x.shape[1], gy.shape[1]
    gW = numpy.zeros((groups, o // groups, channels // groups, *geometry.ksize), x.dtype)
    x, gy = _by_group(x, 1, groups), _by_group(gy, 1, groups)
    for out, tap, at in _meetings(geometry):
        seen, gradient = x[_EVERY + at], gy[_EVERY + out]
        gW[_EVERY + tap] += numpy.einsum('ngc,ngo->goc', seen, gradient)
    return gW.reshape(o, channels // groups, *geometry.ksize)
