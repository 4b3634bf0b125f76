"""Windows that slide over an array: their geometry, and cropping or padding an array to their span."""

from __future__ import annotations

import functools
import itertools
from typing import Any, NamedTuple

#: Products of two numbers of this size fit 64 bits; of larger ones they may not.
_HUGE = 1 << 31


class Geometry(NamedTuple):
    """The position of windows on an array, one number per spatial axis.

    Both sizes are given, so that one geometry serves an operation and its gradients, however the output size was
    computed (``cover_all``, ``outsize``).
    """

    #: Size of the array that the windows slide over.
    in_size: tuple[int, ...]
    #: Number of elements of a window.
    ksize: tuple[int, ...]
    stride: tuple[int, ...]
    #: Padding before the array: the first window begins this many elements before it.
    pad: tuple[int, ...]
    dilate: tuple[int, ...]
    #: Number of windows.
    out_size: tuple[int, ...]
    groups: int = 1
    #: Whether the output size includes an incomplete window at the end; for those who look at the graph.
    cover_all: bool = False

    @property
    def span(self) -> tuple[int, ...]:
        """The extent from the first element of the first window to the last element of the last one."""
        axes = zip(self.out_size, self.stride, self.ksize, self.dilate, strict=True)
        return tuple([max((o - 1) * s + (k - 1) * d + 1, 0) for o, s, k, d in axes])

    def taps(self) -> tuple[tuple[tuple[int, ...], tuple[slice, ...]], ...]:
        """For each element of a window, its index and the slices of the span that it covers over all windows."""
        return _taps(self.ksize, self.stride, self.dilate, self.out_size)


@functools.lru_cache(maxsize=64)
def _taps(
    ksize: tuple[int, ...], stride: tuple[int, ...], dilate: tuple[int, ...], out_size: tuple[int, ...]
) -> tuple[tuple[tuple[int, ...], tuple[slice, ...]], ...]:
    """Cached, because a layer needs the same ones for each block of each step."""
    found = []
    for place in itertools.product(*map(range, ksize)):
        axes = zip(place, dilate, stride, out_size, strict=True)
        found.append((place, tuple([slice(i * d, i * d + max((o - 1) * s + 1, 0), s) for i, d, s, o in axes])))
    return tuple(found)


def numbers_of(geometry: Geometry) -> tuple[int, ...] | None:
    """The windows as compiled kernels take them, with three axes; None if there are more or none, or huge numbers."""
    size, ksize, stride, pad, dilate, out = geometry[:6]
    lacking = 3 - len(ksize)
    if not 0 <= lacking <= 2 or 0 in ksize or max(*stride, *map(abs, pad), *dilate) >= _HUGE:
        return None
    ones, zeros = (1,) * lacking, (0,) * lacking
    return (*ones, *size, *ones, *out, *ones, *ksize, *ones, *stride, *zeros, *pad, *ones, *dilate)


def overlap(geometry: Geometry) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """The overlap of array and span: slices of the array, and slices of the span."""
    of_array, of_span = [], []
    for size, pad, span in zip(geometry.in_size, geometry.pad, geometry.span, strict=True):
        begin, end = max(0, -pad), min(size, span - pad)
        end = max(begin, end)
        of_array.append(slice(begin, end))
        of_span.append(slice(begin + pad, end + pad))
    return tuple(of_array), tuple(of_span)


def flipped_geometry(geometry: Geometry) -> Geometry:
    """The geometry of flipped filters on the result, for stride 1: the data gradient as a convolution."""
    axes = zip(geometry.ksize, geometry.dilate, geometry.pad, strict=True)
    pad = tuple([(k - 1) * d - p for k, d, p in axes])
    return geometry._replace(in_size=geometry.out_size, out_size=geometry.in_size, pad=pad)


def fits(geometry: Geometry) -> bool:
    """Whether all windows lie inside the array."""
    axes = zip(geometry.in_size, geometry.pad, geometry.span, strict=True)
    return all(pad <= 0 and span - pad <= size for size, pad, span in axes)


def empty_like_layout(xp: Any, x: Any, shape: tuple[int, ...], dtype: Any = None) -> Any:
    """An empty array whose axes have the same order in memory as those of ``x``."""
    order = sorted(range(x.ndim), key=lambda axis: (-abs(x.strides[axis]), axis))
    array = xp.empty([shape[axis] for axis in order], x.dtype if dtype is None else dtype)
    inverse = sorted(range(x.ndim), key=order.__getitem__)
    return array.transpose(inverse)


def fit(xp: Any, x: Any, geometry: Geometry, value: float, first: int = 2) -> Any:
    """The array cropped or padded to the span of the windows; a view if no padding is needed.

    Args:
        xp: numpy or cupy.
        x: the array.
        geometry: the windows.
        value: the value of the padding.
        first: the first spatial axis.
    """
    of_array, of_span = overlap(geometry)
    lead: Any = (slice(None),) * first
    if fits(geometry):
        return x[lead + of_array]
    end = first + len(geometry.span)
    padded = empty_like_layout(xp, x, (*x.shape[:first], *geometry.span, *x.shape[end:]))
    padded[...] = value
    padded[lead + of_span] = x[lead + of_array]
    return padded


def unfit(xp: Any, padded: Any, geometry: Geometry, first: int = 2) -> Any:
    """The transpose of :func:`fit`: the part on the array, with zeros where no window was."""
    of_array, of_span = overlap(geometry)
    lead: Any = (slice(None),) * first
    inner = padded[lead + of_span]
    end = first + len(geometry.span)
    if inner.shape[first:end] == geometry.in_size:
        return inner
    x = empty_like_layout(xp, padded, (*padded.shape[:first], *geometry.in_size, *padded.shape[end:]))
    x[...] = 0
    x[lead + of_array] = inner
    return x
