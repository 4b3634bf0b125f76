"""Maxima and means of windows, over any number of axes.

Each kernel loops over the elements of a window and processes all windows at once, by slices: as many passes over the
result as a window has elements, without a copy of the windows. Maxima of large windows are taken along one axis after
another, which needs fewer passes. Results have the memory layout of their input.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy

from minichainer._native.library import kernels as native
from minichainer.backends.number_arrays import NumberArray
from minichainer.kernels._dispatch import DECLINED, kernel
from minichainer.kernels._windows import Geometry, empty_like_layout, fit, fits, numbers_of, unfit
from minichainer.kernels.cuda import pooling as cuda

_EVERY: Any = (slice(None), slice(None))
#: Up to this many elements, the maximum of a window is taken at once: for 2x2 the number of passes is the same.
_FEW_TAPS = 4


#: Places of windows with this many elements or more do not fit a byte.
_MANY_TAPS = 256


def _compiled(kernel: Any, geometry: Geometry, result: str, dtype: Any = None, **arrays: Any) -> Any:
    """The result of a compiled kernel, in the memory layout of its arrays.

    Args:
        kernel: called with the arrays, the result and sizes.
        geometry: the windows.
        result: 'images' or 'windows': which spatial size the result has.
        dtype: that of the result; by default that of the first array.
        arrays: by name; those that are named ``images`` have the size of images, others one element per window.
    """
    sizes, first = numbers_of(geometry), next(iter(arrays.values()))
    found = {'images': geometry.in_size}
    for name, x in arrays.items():
        if x.shape != (*first.shape[:2], *found.get(name, geometry.out_size)):
            return DECLINED
    if sizes is None or math.prod(geometry.ksize) >= _MANY_TAPS:
        return DECLINED
    (batch, channels), size = first.shape[:2], found.get(result, geometry.out_size)
    if all([x.flags.c_contiguous for x in arrays.values()]):
        y = numpy.empty((batch, channels, *size), first.dtype if dtype is None else dtype)
        return y if kernel(*arrays.values(), y, batch * channels, 1, *sizes) else DECLINED
    y = numpy.empty((batch, *size, channels), first.dtype if dtype is None else dtype)
    last = [x.transpose(0, *range(2, x.ndim), 1) for x in arrays.values()]
    return (
        y.transpose(0, y.ndim - 1, *range(1, y.ndim - 1)) if kernel(*last, y, batch, channels, *sizes) else DECLINED
    )


@kernel
def maxima(xp: Any, x: Any, geometry: Geometry) -> Any:
    """The largest element of each window; NaN if it contains NaN, minus infinity if there is only padding.

    Args:
        xp: numpy or cupy.
        x: float array (N, C, *in_size).
        geometry: the windows.

    Returns:
        Array (N, C, *out_size).
    """
    padded = fit(xp, x, geometry, -math.inf)
    if math.prod(geometry.ksize) <= _FEW_TAPS:
        return _largest(xp, [padded[_EVERY + slices] for _, slices in geometry.taps()])
    axes = zip(geometry.ksize, geometry.stride, geometry.dilate, geometry.out_size, strict=True)
    for axis, (size, stride, dilate, count) in enumerate(axes, 2):
        lead = (slice(None),) * axis
        slices = [slice(i * dilate, i * dilate + (count - 1) * stride + 1, stride) for i in range(size)]
        padded = _largest(xp, [padded[lead + (part,)] for part in slices])
    return padded


@maxima.on_native
def _maxima_native(xp: Any, x: Any, geometry: Geometry) -> Any:
    return _compiled(native.pool_maxima, geometry, 'windows', images=x)


@maxima.on('cuda', declines=True)
def _maxima_cuda(xp: Any, x: Any, geometry: Geometry) -> Any:
    numbers = cuda.numbers(geometry[:6])
    if numbers is None:
        return DECLINED
    return cuda.maxima(x, *numbers, empty_like_layout(xp, x, (*x.shape[:2], *geometry.out_size)))


def _largest(xp: Any, taps: list[Any]) -> Any:
    """The elementwise maximum of arrays, as a new array."""
    if len(taps) == 1:
        return taps[0].copy()
    y = xp.maximum(taps[0], taps[1])
    for tap in taps[2:]:
        xp.maximum(y, tap, out=y)
    return y


@kernel
def places_of_maxima(xp: Any, x: Any, y: Any, geometry: Geometry) -> Any:
    """The index of each maximum in its window: the first one in C order.

    It is never in the padding, even if all elements are minus infinity; 0 if there is only padding.

    Args:
        xp: numpy or cupy.
        x: as in :func:`maxima`.
        y: the maxima.
        geometry: the windows.

    Returns:
        Unsigned int array (N, C, *out_size).
    """
    padded = fit(xp, x, geometry, -math.inf)
    small = math.prod(geometry.ksize) < _MANY_TAPS
    places = empty_like_layout(xp, y, y.shape, 'B' if small else 'I')
    places[...] = 0
    before = xp.ones_like(places, dtype='?')  # before the maximum
    least = y.min() if y.size else 0.0
    has_nan = bool(least != least)
    for _, slices in itertools.islice(geometry.taps(), math.prod(geometry.ksize) - 1):
        tap = padded[_EVERY + slices]
        before &= tap != y
        if has_nan:
            before &= tap == tap
        places += before.view('B')
    if not (fits(geometry) or abs(least) < math.inf):  # a maximum of -inf could be in the padding
        xp.copyto(places, xp.asarray(_first_inside(geometry), places.dtype), where=y == -math.inf)
    return places


@places_of_maxima.on_native
def _places_of_maxima_native(xp: Any, x: Any, y: Any, geometry: Geometry) -> Any:
    return _compiled(native.pool_places, geometry, 'windows', 'B', images=x, maxima=y)


@places_of_maxima.on('cuda', declines=True)
def _places_of_maxima_cuda(xp: Any, x: Any, y: Any, geometry: Geometry) -> Any:
    numbers, small = cuda.numbers(geometry[:6]), math.prod(geometry.ksize) < _MANY_TAPS
    if numbers is None:
        return DECLINED
    return cuda.places(x, *numbers, empty_like_layout(xp, y, y.shape, 'B' if small else 'I'))


def _first_inside(geometry: Geometry) -> Any:
    """The index of the first element of each window on the array, NumPy array (*out_size); 0 if there is none."""
    places, some = numpy.zeros((), int), numpy.ones((), bool)
    for k, inside in zip(geometry.ksize, _inside(geometry), strict=True):
        places = places[..., None] * k + inside.argmax(axis=1)
        some = some[..., None] & inside.any(axis=1)
    return places * some


def _inside(geometry: Geometry) -> Iterator[Any]:
    """For each axis, which elements of each window are on the array: NumPy arrays (windows, elements)."""
    for size, k, s, p, d, o in zip(*geometry[:6], strict=True):
        at = numpy.arange(o)[:, None] * s + numpy.arange(k) * d - p
        yield (at >= 0) & (at < size)


@kernel(widens=True)
def spread(xp: Any, gy: Any, places: Any, geometry: Geometry) -> Any:
    """Adds the value of each window to one of its elements, given by index; zeros elsewhere.

    Args:
        xp: numpy or cupy.
        gy: array (N, C, *out_size).
        places: the result of :func:`places_of_maxima`.
        geometry: the windows.

    Returns:
        Array (N, C, *in_size).
    """
    gy = _laid_out_like(xp, gy, places)
    span = empty_like_layout(xp, gy, (*gy.shape[:2], *geometry.span))
    axes = zip(geometry.stride, geometry.ksize, geometry.dilate, strict=True)
    apart = all(s > (k - 1) * d for s, k, d in axes)
    if not apart or geometry.stride != geometry.ksize:
        span[...] = 0
    bits, of_span = _bits(gy), _bits(span)
    for place, (_, slices) in enumerate(geometry.taps()):
        if apart:  # no element is in two windows
            xp.multiply(bits, places == place, out=of_span[_EVERY + slices])
        else:
            span[_EVERY + slices] += xp.multiply(bits, places == place).view(gy.dtype)
    return unfit(xp, span, geometry)


def _laid_out_like(xp: Any, x: Any, other: Any) -> Any:
    """The array, or a copy with the axis order in memory of ``other``, which has its shape.

    Arrays with different layouts cost several times as much to combine, and the gradient would keep a layout that the
    previous layers do not have.
    """
    if [step * other.itemsize for step in x.strides] == [step * x.itemsize for step in other.strides]:
        return x
    found = empty_like_layout(xp, other, x.shape, x.dtype)
    found[...] = x
    return found


def _bits(x: Any) -> Any:
    """Floats viewed as ints: times a mask these are 0 where the mask is false, even for infinities."""
    return x if isinstance(x, NumberArray) else x.view(f'i{x.dtype.itemsize}')


@spread.on_native
def _spread_native(xp: Any, gy: Any, places: Any, geometry: Geometry) -> Any:
    return _compiled(native.pool_spread, geometry, 'images', gy=_laid_out_like(xp, gy, places), places=places)


@spread.on('cuda', declines=True)
def _spread_cuda(xp: Any, gy: Any, places: Any, geometry: Geometry) -> Any:
    numbers = cuda.numbers(geometry[:6])
    if numbers is None or places.dtype.char not in 'BI':
        return DECLINED
    gx = empty_like_layout(xp, places, (*gy.shape[:2], *geometry.in_size), gy.dtype)
    return cuda.spread(gy, places, *numbers, gx)


@kernel
def maxima_gradient(xp: Any, gy: Any, x: Any, y: Any, geometry: Geometry) -> Any:
    """The gradient of :func:`maxima`, which goes to the first maximum of each window.

    Args:
        xp: numpy or cupy.
        gy: array (N, C, *out_size).
        x: as in :func:`maxima`.
        y: the maxima.
        geometry: the windows.

    Returns:
        Array (N, C, *in_size).
    """
    return spread(xp, gy, places_of_maxima(xp, x, y, geometry), geometry)


@maxima_gradient.on_native
def _maxima_gradient_native(xp: Any, gy: Any, x: Any, y: Any, geometry: Geometry) -> Any:
    if gy.dtype != x.dtype:
        return DECLINED
    return _compiled(
        native.pool_maxima_gradient, geometry, 'images', gy=_laid_out_like(xp, gy, y), images=x, maxima=y
    )


@kernel
def pick(xp: Any, x: Any, places: Any, geometry: Geometry) -> Any:
    """The element of each window with the given index, 0 in the padding; the transpose of :func:`spread`.

    Args:
        xp: numpy or cupy.
        x: array (N, C, *in_size).
        places: the result of :func:`places_of_maxima`.
        geometry: the windows.

    Returns:
        Array (N, C, *out_size).
    """
    padded = fit(xp, x, geometry, 0)
    y = empty_like_layout(xp, x, places.shape)
    y[...] = 0
    for place, (_, slices) in enumerate(geometry.taps()):
        xp.copyto(y, padded[_EVERY + slices], where=places == place)
    return y


@pick.on_native
def _pick_native(xp: Any, x: Any, places: Any, geometry: Geometry) -> Any:
    return _compiled(native.pool_pick, geometry, 'windows', images=x, places=places)


@pick.on('cuda', declines=True)
def _pick_cuda(xp: Any, x: Any, places: Any, geometry: Geometry) -> Any:
    numbers = cuda.numbers(geometry[:6])
    if numbers is None or places.dtype.char not in 'BI':
        return DECLINED
    return cuda.pick(x, places, *numbers, empty_like_layout(xp, x, places.shape))


@kernel(widens=True)
def means(xp: Any, x: Any, geometry: Geometry, count_padding: bool) -> Any:
    """The mean of each window.

    Args:
        xp: numpy or cupy.
        x: float array (N, C, *in_size).
        geometry: the windows.
        count_padding: padding counts as zeros; then a window with only padding has the mean 0 too.

    Returns:
        Array (N, C, *out_size).
    """
    y = sums.generic(xp, x, geometry)
    y *= _weights(xp, geometry, y.dtype, count_padding)
    return y


@means.on_native
def _means_native(xp: Any, x: Any, geometry: Geometry, count_padding: bool) -> Any:
    y = _compiled(native.pool_sums, geometry, 'windows', images=x)
    if y is not DECLINED:
        y *= _weights(xp, geometry, y.dtype, count_padding)
    return y


@kernel(widens=True)
def spread_means(xp: Any, gy: Any, geometry: Geometry, count_padding: bool) -> Any:
    """Adds the value of each window, divided by its number of elements, to them; the transpose of :func:`means`.

    Args:
        xp: numpy or cupy.
        gy: array (N, C, *out_size).
        geometry: the windows.
        count_padding: as in :func:`means`.

    Returns:
        Array (N, C, *in_size).
    """
    return spread_sums.generic(xp, gy * _weights(xp, geometry, gy.dtype, count_padding), geometry)


@spread_means.on_native
def _spread_means_native(xp: Any, gy: Any, geometry: Geometry, count_padding: bool) -> Any:
    weighted = gy * _weights(xp, geometry, gy.dtype, count_padding)
    return _compiled(native.pool_spread_sums, geometry, 'images', gy=weighted)


@kernel(widens=True)
def sums(xp: Any, x: Any, geometry: Geometry) -> Any:
    """The sum of each window.

    Args:
        xp: numpy or cupy.
        x: float array (N, C, *in_size).
        geometry: the windows.

    Returns:
        Array (N, C, *out_size).
    """
    padded = fit(xp, x, geometry, 0)
    taps = [padded[_EVERY + slices] for _, slices in geometry.taps()]
    y = taps[0].copy() if len(taps) == 1 else taps[0] + taps[1]
    for tap in taps[2:]:
        y += tap
    return y


@sums.on_native
def _sums_native(xp: Any, x: Any, geometry: Geometry) -> Any:
    return _compiled(native.pool_sums, geometry, 'windows', images=x)


@kernel(widens=True)
def spread_sums(xp: Any, gy: Any, geometry: Geometry) -> Any:
    """Adds the value of each window to all of its elements; the transpose of :func:`sums`.

    Args:
        xp: numpy or cupy.
        gy: float array (N, C, *out_size).
        geometry: the windows.

    Returns:
        Array (N, C, *in_size).
    """
    span = empty_like_layout(xp, gy, (*gy.shape[:2], *geometry.span))
    span[...] = 0
    for _, slices in geometry.taps():
        span[_EVERY + slices] += gy
    return unfit(xp, span, geometry)


@spread_sums.on_native
def _spread_sums_native(xp: Any, gy: Any, geometry: Geometry) -> Any:
    return _compiled(native.pool_spread_sums, geometry, 'images', gy=gy)


def _weights(xp: Any, geometry: Geometry, dtype: Any, count_padding: bool) -> Any:
    """One over the number of elements of each window, array (*out_size) or ()."""
    if count_padding or fits(geometry):
        return xp.asarray(1.0 / math.prod(geometry.ksize), dtype)
    counts = numpy.ones(())
    for inside in _inside(geometry):
        counts = counts[..., None] * inside.sum(axis=1)
    return xp.asarray(1.0 / numpy.maximum(counts, 1), dtype)


# --- the plain forms ---------------------------------------------------------------------------------------------
def windows_reference(x: Any, geometry: Geometry, value: float) -> Any:
    """All windows as a NumPy array (N, C, *out_size, elements), ``value`` in the padding: slow."""
    count = math.prod(geometry.ksize)
    windows = numpy.full((*x.shape[:2], *geometry.out_size, count), value, x.dtype)
    for out in itertools.product(*map(range, geometry.out_size)):
        for place, tap in enumerate(itertools.product(*map(range, geometry.ksize))):
            axes = zip(out, geometry.stride, tap, geometry.dilate, geometry.pad, strict=True)
            at = tuple([o * s + t * d - p for o, s, t, d, p in axes])
            if all(0 <= i < size for i, size in zip(at, geometry.in_size, strict=True)):
                windows[_EVERY + out + (place,)] = x[_EVERY + at]
    return windows


def maxima_reference(x: Any, geometry: Geometry) -> Any:
    """The definition of :func:`maxima`."""
    return windows_reference(x, geometry, -math.inf).max(axis=-1)


def places_of_maxima_reference(x: Any, geometry: Geometry) -> Any:
    """The definition of :func:`places_of_maxima`."""
    windows = windows_reference(x, geometry, -math.inf)
    inside = windows_reference(numpy.ones_like(x), geometry, 0) == 1
    largest = (windows == windows.max(axis=-1, keepdims=True)) | numpy.isnan(windows)
    return (largest & inside).argmax(axis=-1)


def pick_reference(x: Any, places: Any, geometry: Geometry) -> Any:
    """The definition of :func:`pick`."""
    windows = windows_reference(x, geometry, 0)
    return numpy.take_along_axis(windows, places[..., None].astype('l'), axis=-1)[..., 0]


def means_reference(x: Any, geometry: Geometry, count_padding: bool) -> Any:
    """The definition of :func:`means`."""
    total = windows_reference(x, geometry, 0).sum(axis=-1)
    inside = windows_reference(numpy.ones_like(x), geometry, 0).sum(axis=-1)
    return total / (math.prod(geometry.ksize) if count_padding else numpy.maximum(inside, 1))
