"""Pooling of regions of images: means as products with two matrices, maxima as weighted picked elements.

The mean over bins of a region is separable: ``rows`` (R, output height, H) and ``columns`` (R, output width, W)
contain the weight of each row and column of the image in each bin of each region. A maximum is a weighted sum of few
elements at constant indices, with constant weights. Both are linear maps of the images, and so are their transposes.
All regions are processed at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy

from minichainer.kernels.conditions import somewhere
from minichainer.kernels.gathering import sums_at
from minichainer.kernels.weighing import weighed

_BLOCK_ELEMENTS = 1 << 22


class Bins(NamedTuple):
    """Where the bins of each region begin and end (exclusive) along one axis, int arrays (R, bins)."""

    begin: Any
    end: Any


class Picked(NamedTuple):
    """Elements of images with weights: arrays (k, R, C, height, width); indices into the flattened images."""

    places: Any
    weights: Any


def project(xp: Any, x: Any, rows: Any, columns: Any, images: Any) -> Any:
    """Weighted sums over the rows and columns of images, ``rows @ x[images] @ columns.T`` of each channel.

    Args:
        xp: numpy or cupy.
        x: images (N, C, H, W).
        rows: weights (R, h, H).
        columns: weights (R, w, W).
        images: the image of each region, int array (R,) on the CPU.

    Returns:
        Array (R, C, h, w).
    """
    return weighed(xp, lambda x, left, right: _project(xp, x, left, right, images), x, rows, columns)


def _project(xp: Any, x: Any, rows: Any, columns: Any, images: Any) -> Any:
    wide = numpy.promote_types(x.dtype, 'f')
    channels, width = x.shape[1], x.shape[3]
    h, w = rows.shape[1], columns.shape[1]
    y = xp.empty((len(rows), channels, h, w), wide)
    left, right = rows.astype(wide, copy=False), columns.astype(wide, copy=False).transpose(0, 2, 1)
    for image, chosen in _by_image(xp, images, h * channels * width):
        flat = xp.ascontiguousarray(x[image].transpose(1, 0, 2)).astype(wide, copy=False)
        lines = left[chosen].reshape(-1, len(flat)).dot(flat.reshape(len(flat), channels * width))
        parts = xp.matmul(lines.reshape(len(chosen), h * channels, width), right[chosen])
        y[chosen] = parts.reshape(len(chosen), h, channels, w).transpose(0, 2, 1, 3)
    return y.astype(x.dtype, copy=False)


def back_project(xp: Any, gy: Any, rows: Any, columns: Any, images: Any, count: int) -> Any:
    """The transpose of :func:`project`: array (count, C, H, W) from (R, C, h, w)."""
    return weighed(xp, lambda gy, left, right: _back_project(xp, gy, left, right, images, count), gy, rows, columns)


def _back_project(xp: Any, gy: Any, rows: Any, columns: Any, images: Any, count: int) -> Any:
    wide = numpy.promote_types(gy.dtype, 'f')
    channels, (h, height), width = gy.shape[1], rows.shape[1:], columns.shape[2]
    x = xp.zeros((count, channels, height, width), wide)
    left, right = rows.astype(wide, copy=False), columns.astype(wide, copy=False)
    for image, chosen in _by_image(xp, images, h * channels * width):
        parts = gy[chosen].astype(wide, copy=False).transpose(0, 2, 1, 3)
        lines = xp.matmul(parts.reshape(len(chosen), h * channels, gy.shape[3]), right[chosen])
        total = left[chosen].reshape(-1, height).T.dot(lines.reshape(len(chosen) * h, channels * width))
        x[image] += total.reshape(height, channels, width).transpose(1, 0, 2)
    return x.astype(gy.dtype, copy=False)


def _by_image(xp: Any, images: Any, elements: int) -> Iterator[tuple[int, Any]]:
    """Images with their regions, as many at a time as fill about a block of elements."""
    step = max(1, _BLOCK_ELEMENTS // max(1, elements))
    for image in sorted(set(images.tolist())):
        regions = numpy.flatnonzero(images == image)
        for start in range(0, len(regions), step):
            yield image, xp.asarray(regions[start : start + step])


def pick(xp: Any, x: Any, picked: Picked) -> Any:
    """Weighted sums of few elements of images; elements of weight 0 are ignored, even if they are infinite.

    Args:
        xp: numpy or cupy.
        x: images (N, C, H, W).
        picked: the elements and their weights.

    Returns:
        Array (R, C, h, w).
    """
    if not x.size:
        return xp.zeros(picked.places.shape[1:], x.dtype)
    values = xp.where(picked.weights != 0, x.reshape(-1)[picked.places], 0) * picked.weights
    return values.sum(axis=0).astype(x.dtype, copy=False)


def put(xp: Any, gy: Any, picked: Picked, shape: tuple[int, ...]) -> Any:
    """Adds values to the elements from which they were computed; the transpose of :func:`pick`.

    Args:
        xp: numpy or cupy.
        gy: array (R, C, h, w).
        picked: the elements and their weights.
        shape: shape of the images.

    Returns:
        Array of that shape.
    """
    values = xp.where(picked.weights != 0, gy, 0) * picked.weights
    return sums_at(xp, values.astype('d'), picked.places, shape).astype(gy.dtype, copy=False)


# --- bins of whole pixels -----------------------------------------------------------------------------------------
def pixel_bins(begin: Any, length: Any, bins: int, size: int) -> Bins:
    """Divides regions into bins of whole pixels, which may overlap by one pixel.

    Args:
        begin: where each region begins, int array (R,).
        length: length of each region, int array (R,).
        bins: number of bins.
        size: size of the image; bins are clipped to it.
    """
    number, stride = numpy.arange(bins), numpy.asarray(length)[:, None] / bins
    first, last = numpy.floor(number * stride), numpy.ceil((number + 1) * stride)
    borders = [numpy.clip(edge + numpy.asarray(begin)[:, None], 0, size).astype(int) for edge in (first, last)]
    return Bins(*borders)


def bin_means(bins: Bins, size: int) -> Any:
    """Matrices (R, bins, size) that compute the mean of each bin, 0 if it is empty."""
    pixel = numpy.arange(size)
    inside = (pixel >= bins.begin[..., None]) & (pixel < bins.end[..., None])
    return inside / numpy.maximum(inside.sum(axis=2, keepdims=True), 1)


def places_of_bin_maxima(xp: Any, x: Any, rows: Bins, columns: Bins, images: Any) -> Picked:
    """The largest pixel of each bin: the first if there are several, weight 0 if the bin is empty.

    Args:
        xp: numpy or cupy.
        x: images (N, C, H, W).
        rows: the bins along the rows.
        columns: the bins along the columns.
        images: the image of each region, int array (R,).
    """
    tops, bottoms = (xp.asarray(edge)[:, :, None] for edge in rows)
    lefts, rights = (xp.asarray(edge)[:, None, :] for edge in columns)
    samples = []
    for i in range(_longest(rows)):
        for j in range(_longest(columns)):
            inside = (tops + i < bottoms) & (lefts + j < rights)
            place = xp.where(inside, (tops + i) * x.shape[3] + lefts + j, 0)
            samples.append(Sample(inside, (place,), (inside,)))
    return _best_samples(xp, x, samples, images, (tops.shape[1], lefts.shape[2]))


def _longest(bins: Bins) -> int:
    return int(max((bins.end - bins.begin).max(initial=0), 0))


class Sample(NamedTuple):
    """One candidate for each bin, arrays (R, h, w): whether it counts, and its pixels with their weights.

    Pixels are indices into a flat channel, arbitrary where the candidate does not count.
    """

    inside: Any
    places: tuple[Any, ...]
    weights: tuple[Any, ...]


def _best_samples(xp: Any, x: Any, samples: list[Sample], images: Any, size: tuple[int, int]) -> Picked:
    """The largest sample of each bin, the first if there are several; channels come last internally."""
    channels, dtype = x.shape[1], numpy.promote_types(x.dtype, 'f')
    if not x.size or not samples:
        shape = 1, len(images), channels, *size
        return Picked(xp.zeros(shape, int), xp.zeros(shape, dtype))
    pixels = xp.ascontiguousarray(x.transpose(0, 2, 3, 1)).reshape(-1, channels).astype(dtype, copy=False)
    first = (xp.asarray(images) * (x.shape[2] * x.shape[3]))[:, None, None]
    finite = not somewhere(xp, ~xp.isfinite(pixels))
    best = xp.full((len(images), *size, channels), -numpy.inf, dtype)
    number, counted = xp.zeros(best.shape, 'i'), xp.zeros(best.shape[:3], '?')
    for index, sample in enumerate(samples):
        value = _value(xp, pixels, first, sample, finite)
        value[~sample.inside] = -numpy.inf
        better = value > best
        if not finite:
            better |= xp.isnan(value) & ~xp.isnan(best)
            better |= (sample.inside & ~counted)[..., None]  # the first that counts, even if it is minus infinity
            counted |= sample.inside
        xp.maximum(best, value, out=best)
        xp.copyto(number, index, where=better)
    return _picked(xp, x, samples, images, number)


def _value(xp: Any, pixels: Any, first: Any, sample: Sample, finite: bool) -> Any:
    """The interpolated values of samples; ``finite`` tells that no pixel is infinite or NaN."""
    if len(sample.places) == 1:
        return pixels[first + sample.places[0]]
    value: Any = 0
    for place, weight in zip(sample.places, sample.weights, strict=True):
        weight = weight.astype(pixels.dtype)[..., None]
        part = pixels[first + place]
        value = value + (part if finite else xp.where(weight != 0, part, 0)) * weight
    return value


def _picked(xp: Any, x: Any, samples: list[Sample], images: Any, number: Any) -> Picked:
    """Indices and weights of the samples with these numbers (R, h, w, C); weight 0 where no sample counts."""
    count, height, width, channels = number.shape
    chosen = (
        number,
        xp.arange(count)[:, None, None, None],
        xp.arange(height)[:, None, None],
        xp.arange(width)[:, None],
    )
    some = xp.stack([sample.inside for sample in samples]).any(axis=0)[..., None]
    first = xp.asarray(images)[:, None] * channels + xp.arange(channels)
    first = (first * (x.shape[2] * x.shape[3]))[:, None, None]
    places, weights = [], []
    for part in range(len(samples[0].places)):
        place = xp.stack([sample.places[part] for sample in samples])[chosen]
        weight = xp.stack([sample.weights[part] for sample in samples])[chosen]
        places.append(xp.where(some, first + place, 0).transpose(0, 3, 1, 2))
        weights.append((weight * some).transpose(0, 3, 1, 2))
    return Picked(xp.stack(places), xp.stack(weights).astype(numpy.promote_types(x.dtype, 'f'), copy=False))


# --- sampled points -----------------------------------------------------------------------------------------------
class Points(NamedTuple):
    """Sampled points of each bin of each region along one axis, arrays (R, bins, points).

    Attributes:
        place: position of the point in pixels, clipped to the image.
        counts: false where the bin has fewer points than the array, or the point is far outside.
        number: number of points of each bin, array (R, 1, 1).
    """

    place: Any
    counts: Any
    number: Any


def sampled_points(begin: Any, length: Any, bins: int, size: int, ratio: int | None) -> Points:
    """The equidistant sampling points of each bin.

    Args:
        begin: where each region begins, float array (R,).
        length: length of each region, float array (R,).
        bins: number of bins.
        size: size of the image.
        ratio: number of points of each bin; if None, the bin's size in pixels.
    """
    width = (numpy.asarray(length) / bins)[:, None, None]
    number = numpy.ceil(width) if ratio is None else numpy.full_like(width, ratio)
    point = numpy.arange(int(number.max(initial=1)))
    places = (
        numpy.asarray(begin)[:, None, None] + numpy.arange(bins)[:, None] * width + (point + 0.5) * width / number
    )
    counts = (point < number) & (places >= -1) & (places <= size)
    return Points(numpy.clip(places, 0, size - 1), counts, number)


def point_means(points: Points, size: int) -> Any:
    """Matrices (R, bins, size) that compute the mean of interpolated points of each bin; 0 outside of the image."""
    distance = abs(points.place[..., None] - numpy.arange(size))
    weights = numpy.maximum(1 - distance, 0) * points.counts[..., None]
    return weights.sum(axis=2) / points.number


def places_of_point_maxima(xp: Any, x: Any, rows: Points, columns: Points, images: Any) -> Picked:
    """The four pixels around the largest interpolated point of each bin, with their weights.

    Args:
        xp: numpy or cupy.
        x: images (N, C, H, W).
        rows: the points along the rows.
        columns: the points along the columns.
        images: the image of each region, int array (R,).
    """
    height, width = x.shape[2:]
    rows_first, columns_last = (slice(None), slice(None), None), (slice(None), None, slice(None))
    down = [_neighbours(xp, rows, i, height, rows_first) for i in _range(rows)]
    across = [_neighbours(xp, columns, j, width, columns_last) for j in _range(columns)]
    samples = []
    for inside_rows, lines in down:
        for inside_columns, beside in across:
            pairs = [(line * width + pixel, v * u) for line, v in lines for pixel, u in beside]
            places, weights = zip(*pairs, strict=True)
            samples.append(Sample(inside_rows & inside_columns, places, weights))
    return _best_samples(xp, x, samples, images, (rows.place.shape[1], columns.place.shape[1]))


def _range(points: Points) -> range:
    return range(points.place.shape[2])


def _neighbours(xp: Any, points: Points, index: int, size: int, axes: Any) -> tuple[Any, list[tuple[Any, Any]]]:
    """Whether one point of each bin counts, and its neighbouring pixels with their weights."""
    place = points.place[..., index]
    lower = numpy.floor(place).astype(int)
    upper, fraction = numpy.minimum(lower + 1, size - 1), place - lower
    pairs = [(lower, 1 - fraction), (upper, fraction)]
    counts = xp.asarray(points.counts[..., index][axes])
    return counts, [(xp.asarray(at[axes]), xp.asarray(weight[axes])) for at, weight in pairs]


# --- the plain forms ---------------------------------------------------------------------------------------------
def pooled_reference(x: Any, corners: Any, images: Any, size: tuple[int, int], summary: Any) -> Any:
    """A summary of the pixels of each bin, by definition, on NumPy arrays: slow.

    Args:
        x: images (N, C, H, W).
        corners: int regions (R, 4): top, left, and bottom and right, which are exclusive.
        images: the image of each region.
        size: bins along both axes.
        summary: maps an array (C, pixels) to an array (C,).
    """
    y = numpy.empty((len(corners), x.shape[1], *size))
    for region, (corner, image) in enumerate(zip(corners, images, strict=True)):
        rows, columns = (_bins_reference(corner[a], corner[a + 2], size[a], x.shape[2 + a]) for a in range(2))
        for i, j in numpy.ndindex(*size):
            pixels = x[image][:, rows[i]][:, :, columns[j]]
            y[region, :, i, j] = summary(pixels.reshape(x.shape[1], len(rows[i]) * len(columns[j])))
    return y


def _bins_reference(begin: int, end: int, bins: int, size: int) -> list[range]:
    length = max(end - begin, 1)
    borders = [(math.floor(i * length / bins), math.ceil((i + 1) * length / bins)) for i in range(bins)]
    return [range(max(begin + first, 0), min(begin + last, size)) for first, last in borders]


def aligned_reference(
    x: Any, corners: Any, images: Any, size: tuple[int, int], ratio: tuple[int | None, int | None], summary: Any
) -> Any:
    """A summary of the points of each bin, by definition, on NumPy arrays: slow.

    Args:
        x: images (N, C, H, W).
        corners: float regions (R, 4), top, left, bottom, right.
        images: the image of each region.
        size: bins along both axes.
        ratio: number of points of a bin along both axes.
        summary: maps a list of arrays (C,), None for points outside, to an array (C,).
    """
    y = numpy.empty((len(corners), x.shape[1], *size))
    for region, (corner, image) in enumerate(zip(corners, images, strict=True)):
        steps = [max(corner[a + 2] - corner[a], 1) / size[a] for a in range(2)]
        counts = [math.ceil(step) if n is None else n for step, n in zip(steps, ratio, strict=True)]
        for i, j in numpy.ndindex(*size):
            points = []
            for at in numpy.ndindex(*counts):
                place = [corner[a] + ((i, j)[a] + (at[a] + 0.5) / counts[a]) * steps[a] for a in range(2)]
                points.append(_point_reference(x[image], place[0], place[1]))
            y[region, :, i, j] = summary(points)
    return y


def _point_reference(image: Any, y: float, x: float) -> Any:
    """The value of an image (C, H, W) at a point; None if it is more than a pixel outside."""
    (height, width), value = image.shape[1:], 0
    if not (-1 <= y <= height and -1 <= x <= width):
        return None
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    for i, j in numpy.ndindex(height, width):
        value = value + image[:, i, j] * max(1 - abs(i - y), 0) * max(1 - abs(j - x), 0)
    return value
