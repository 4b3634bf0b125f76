"""Rows of kernels of windows over images: convolutions, pooling, patches."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from minichainer.kernels import convolution, pooling
from minichainer.kernels._windows import Geometry
from tests.kernels.comparing import ANY, IMAGES
from tests.kernels.drawing import (
    Arguments,
    Row,
    drawn,
    each,
    same,
    transposed,
    transposed_of_samples,
    wanted,
    without_wanted,
)
from tests.kernels.kernels import threshold


def _geometry(size: Any, k: Any, s: Any, p: Any, d: Any = None, groups: int = 1) -> Geometry:
    d = d or (1,) * len(size)
    axes = zip(size, k, s, p, d, strict=True)
    out = tuple([(n + 2 * p - (k - 1) * d - 1) // s + 1 for n, k, s, p, d in axes])
    return Geometry(size, k, s, p, d, out, groups)


PLANES = [
    _geometry((5, 6), (3, 2), (1, 1), (1, 0)),
    _geometry((5, 6), (2, 3), (2, 1), (0, 2)),
    _geometry((4, 4), (2, 2), (2, 2), (0, 0)),
    _geometry((7, 4), (1, 1), (3, 1), (0, 0)),
    _geometry((6,), (3,), (2,), (1,)),
    _geometry((3, 4, 3), (2, 2, 3), (1, 2, 1), (1, 0, 1)),
]
#: Dilated, without axes, of step 1 on an image that is large beside the filters.
SPREAD = [_geometry((7, 6), (3, 2), (1, 2), (2, 1), (2, 1)), _geometry((), (), (), ()),
          _geometry((8, 8), (2, 2), (1, 1), (0, 0))]  # fmt: skip
#: More axes than compiled kernels know.
_FOUR = _geometry((2, 3, 2, 3), (1, 2, 1, 2), (1, 1, 2, 1), (0, 1, 0, 0))
NO_WINDOW = _geometry((2, 3), (3, 2), (1, 1), (0, 0))
GROUPED = [*PLANES, *SPREAD, NO_WINDOW, PLANES[0]._replace(groups=2), PLANES[1]._replace(groups=3)]
#: On both sides of the number of channels whose patches are laid out otherwise.
COUNTS = [(0, 2), (2, 1), (2, 3), (3, 4)]
# For plain forms that go through each unit.
SMALL, FEW = PLANES[:3], [(0, 2), (2, 1), (1, 2)]
THREES = [_geometry((5, 6), (3, 3), (1, 1), (1, 0)), _geometry((4, 4), (3, 3), (1, 1), (1, 1))]
#: Two parts of an image are treated one after the other.
_PARTS = _geometry((16, 4), (3, 3), (1, 1), (1, 1))
#: Images that Winograd's way is for, and those that are just too small.
_WIDE = [_geometry((n, 32), (3, 3), (1, 1), (1, 1)) for n in (31, 32)]
#: Many channels: a block of patches is a part of an image, or some images.
_BLOCKS = [(_geometry((10, 6), (3, 3), (1, 1), (0, 0)), 1, 2000), (_geometry((4, 5), (3, 3), (1, 1), (1, 1)), 5, 800),
           (_geometry((9, 9), (3, 3), (2, 2), (1, 1)), 3, 1040)]  # fmt: skip


def _windows(
    of: Callable[..., Arguments], geometries: Any = PLANES, counts: Any = COUNTS
) -> Callable[[str], Iterator[Arguments]]:
    """Arguments by geometry, number of images and number of channels."""

    def cases(dtype: str) -> Iterator[Arguments]:
        for geometry in geometries:
            for n, c in counts:
                yield of(dtype, geometry, n, c)

    return cases


def _in_parts(of: Callable[..., Arguments]) -> Callable[[str], Iterator[Arguments]]:
    """Arguments of Winograd's way, the last of which has more than one part."""
    few = _windows(of, THREES)
    return lambda dtype: itertools.chain(few(dtype), [of(dtype, _PARTS, 2, 1024)])


def _filters(dtype: str, g: Geometry, n: int, c: int, o: int = 2) -> list[Any]:
    """Images, filters, upstream gradients, biases of both sides."""
    o = o * g.groups
    return drawn(dtype, (n, c * g.groups, *g.in_size), (o, c, *g.ksize), (n, o, *g.out_size), (o,), (c * g.groups,))


def _each_channel(dtype: str, g: Geometry, n: int, c: int) -> list[Any]:
    """The same with as many groups as channels."""
    return _filters(dtype, g._replace(groups=c), n, 1)


def _convolutions(pick: Callable[[list[Any]], list[Any]]) -> Callable[[str], Iterator[Arguments]]:
    """Arguments of all ways that convolutions go."""

    def cases(dtype: str) -> Iterator[Arguments]:
        for geometry in GROUPED:
            for n, c in COUNTS:
                yield (*pick(_filters(dtype, geometry, n, c)), geometry)
        for geometry in (PLANES[0], PLANES[1], PLANES[4], SPREAD[0]):
            yield (*pick(_each_channel(dtype, geometry, 2, 3)), geometry._replace(groups=3))

    return cases


def _large(pick: Callable[[list[Any]], list[Any]]) -> Callable[[str], Iterator[Arguments]]:
    """Large ones: images on both sides of what Winograd's way is for, and of the size of a block."""

    def cases(dtype: str) -> Iterator[Arguments]:
        for geometry, channels, outputs in ((_WIDE[0], 32, 32), (_WIDE[1], 32, 33), (_WIDE[1], 31, 32)):
            yield (*pick(_filters(dtype, geometry, 1, channels, outputs)), geometry)
        for geometry, n, channels in _BLOCKS:
            yield (*pick(_filters(dtype, geometry, n, channels)), geometry)

    return cases


def _few_channels(pick: Callable[[list[Any]], list[Any]]) -> Callable[[str], Iterator[Arguments]]:
    """Images of few channels: on both sides of what a compiled kernel is for, and rows of windows of all lengths."""
    padded, line = Geometry((5, 7), (3, 2), (2, 1), (2, 3), (1, 2), (4, 11)), _geometry((19,), (3,), (2,), (0,))
    cases = [
        (padded, 2, 2, 12), (padded, 0, 2, 12), (padded, 2, 2, 11), (padded, 1, 3, 33), (padded, 1, 4, 16),
        (padded, 2, 1, 12), (padded._replace(out_size=(4, 7)), 2, 2, 24),
        (padded._replace(out_size=(1, 16)), 1, 2, 65),
        (line, 3, 3, 16), (_geometry((2, 3, 9), (1, 2, 2), (1, 1, 1), (0, 0, 0)), 2, 3, 50),
    ]  # fmt: skip
    return lambda dtype: ((*pick(_filters(dtype, g, n, c, o)), g) for g, n, c, o in cases)


def _pick(*places: int | None) -> Callable[[list[Any]], list[Any]]:
    return lambda arrays: [None if i is None else arrays[i] for i in places]


def _last(x: Any) -> Any:
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


def _second(x: Any) -> Any:
    return np.moveaxis(x, -1, 1)


def _depthwise(dtype: str, g: Geometry, n: int, c: int) -> tuple[list[Any], Geometry]:
    """Images and upstream gradients with their channels last, filters between them."""
    c = c + 1
    x, W, gy = drawn(dtype, (n, *g.in_size, c), (2 * c, 1, *g.ksize), (n, *g.out_size, 2 * c))
    return [x, W, gy], g._replace(groups=c)


def _taken(x: Any, g: Geometry, value: float = 0) -> Any:
    """All windows, (N, C, places, elements)."""
    windows = pooling.windows_reference(x, g, value)
    return windows.reshape(*x.shape[:2], int(np.prod(g.out_size)), int(np.prod(g.ksize)))


def _patches(x: Any, g: Geometry) -> Any:
    return _taken(x, g).swapaxes(2, 3).reshape(*x.shape[:2], *g.ksize, *g.out_size)


def _image_shape(y: Any, g: Geometry) -> tuple[int, ...]:
    return (*y.shape[:2], *g.in_size)


# --- filters of each place's own ---
def _own_filters(dtype: str, g: Geometry, n: int, c: int) -> list[Any]:
    return drawn(dtype, (n, c, *g.in_size), (2, *g.out_size, c, *g.ksize), (n, 2, *g.out_size))


def _matrices(W: Any, g: Geometry) -> Any:
    """Filters of each place, (O, places, C, elements)."""
    n = len(g.ksize)
    return W.reshape(len(W), int(np.prod(g.out_size)), W.shape[n + 1], int(np.prod(g.ksize)))


def _flat(y: Any) -> Any:
    return y.reshape(*y.shape[:2], int(np.prod(y.shape[2:])))


def _local(x: Any, W: Any, g: Geometry) -> Any:
    return np.einsum('ncpe,opce->nop', _taken(x, g), _matrices(W, g)).reshape(len(x), len(W), *g.out_size)


def _local_data_gradient(gy: Any, W: Any, g: Geometry) -> Any:
    columns = np.einsum('nop,opce->ncep', _flat(gy), _matrices(W, g))
    shape = (len(gy), columns.shape[1], *g.in_size)
    return transposed_of_samples(lambda x: _patches(x, g), shape, columns.reshape(*shape[:2], *g.ksize, *g.out_size))


def _local_filter_gradient(x: Any, gy: Any, g: Geometry) -> Any:
    found = np.einsum('nop,ncpe->opce', _flat(gy), _taken(x, g))
    return found.reshape(gy.shape[1], *g.out_size, x.shape[1], *g.ksize)


# --- maxima ---
def _pooled(dtype: str, g: Geometry, n: int, c: int) -> tuple[Any, Any, Any]:
    """Images with ties, NaN and infinities, their maxima, and the maxima's places."""
    (x,) = drawn(dtype, (n, c, *g.in_size))
    x = (4 * x).round()
    x.reshape(-1)[: min(3, x.size) * (c > 2)] = [np.nan, np.inf, -np.inf][: min(3, x.size) * (c > 2)]
    x.reshape(-1)[x.size // 2 :] = -np.inf if c == 4 else x.reshape(-1)[x.size // 2 :]
    return x, pooling.maxima_reference(x, g), pooling.places_of_maxima_reference(x, g)


def _outputs(dtype: str, g: Geometry, n: int, c: int) -> Any:
    return drawn(dtype, (n, c, *g.out_size))[0]


def _spread(gy: Any, places: Any, g: Geometry) -> Any:
    return transposed(lambda x: pooling.pick_reference(x, places, g), _image_shape(gy, g), gy)


def _maxima_gradient(gy: Any, x: Any, y: Any, g: Geometry) -> Any:
    return _spread(gy, pooling.places_of_maxima_reference(x, g), g)


def _sums(x: Any, g: Geometry) -> Any:
    return _taken(x, g).sum(axis=3).reshape(*x.shape[:2], *g.out_size)


#: A window of more elements than a byte can number.
_LONG = _geometry((300,), (290,), (10,), (0,))


# --- windows themselves ---
def _fitted(x: Any, g: Geometry, value: float) -> Any:
    y = np.full((*x.shape[:2], *g.span), value, x.dtype)
    for at in np.ndindex(*g.span):
        of_array = [i - p for i, p in zip(at, g.pad, strict=True)]
        if all(0 <= i < n for i, n in zip(of_array, g.in_size, strict=True)):
            y[(slice(None), slice(None), *at)] = x[(slice(None), slice(None), *of_array)]
    return y


#: Windows that begin inside the array, or long before it, and end anywhere.
_ANYWHERE = [Geometry((5, 4), (2, 3), (2, 1), (-1, 4), (1, 2), (2, 6)), Geometry((4,), (2,), (1,), (7,), (1,), (3,)),
             Geometry((6,), (3,), (1,), (0,), (1,), (2,))]  # fmt: skip
_CHANNELS, _ELEMENTS = threshold('winograd', '_LEAST_CHANNELS'), threshold('winograd', '_LEAST_ELEMENTS')
_SQUARE = _geometry((32, _ELEMENTS // 32 // _CHANNELS), (3, 3), (1, 1), (1, 1))

_GEOMETRIES = {
    '_windows.overlap': Row(
        same(
            (_ANYWHERE[0], ((slice(1, 5), slice(0, 4)), (slice(0, 4), slice(4, 8)))),
            (_ANYWHERE[1], ((slice(0, 0),), (slice(7, 7),))),
            (_ANYWHERE[2], ((slice(0, 4),), (slice(0, 4),))),
        ),
        call=without_wanted,
        plain=wanted,
        dtypes='d',
    ),
    '_windows.flipped_geometry': Row(
        same((SPREAD[0], Geometry(SPREAD[0].out_size, (3, 2), (1, 2), (2, 0), (2, 1), (7, 6)))),
        call=without_wanted,
        plain=wanted,
        dtypes='d',
    ),
    '_windows.fits': Row(
        same(*[(g, fits) for g, fits in zip(_ANYWHERE, (False, False, True), strict=True)],
             (Geometry((6,), (3,), (1,), (-3,), (1,), (1,)), True),
             (Geometry((6,), (3,), (1,), (-4,), (1,), (1,)), False)),
        call=without_wanted,
        plain=wanted,
        dtypes='d',
    ),
    '_windows.fit': Row(
        _windows(lambda *a: (_filters(*a)[0], a[1], -1.5), [*PLANES, *_ANYWHERE]),
        plain=_fitted,
        tolerance=0,
        shares=True,
    ),
    '_windows.unfit': Row(
        _windows(lambda t, g, n, c: (drawn(t, (n, c, *g.span))[0], g), [*PLANES, *_ANYWHERE], FEW),
        plain=lambda y, g: transposed_of_samples(lambda x: _fitted(x, g, 0), (*y.shape[:2], *g.in_size), y),
        shares=True,
    ),
    'winograd.applies': Row(
        same(
            (_SQUARE, _CHANNELS, _CHANNELS, True),
            (_SQUARE, _CHANNELS, _CHANNELS - 1, False),
            (_SQUARE, _CHANNELS - 1, _CHANNELS, False),
            (_geometry((31, 32), (3, 3), (1, 1), (1, 1)), _CHANNELS, _CHANNELS, False),
            (_SQUARE._replace(groups=2), _CHANNELS, _CHANNELS, False),
            (_SQUARE._replace(stride=(1, 2)), _CHANNELS, _CHANNELS, False),
        ),
        call=without_wanted,
        plain=wanted,
        dtypes='d',
    ),
    'depthwise.applies': Row(
        same(
            (PLANES[0]._replace(groups=2), 2, True),
            (PLANES[0]._replace(groups=2), 4, False),
            (PLANES[0], 1, False),
            (SPREAD[1]._replace(groups=2), 2, False),
            (PLANES[0]._replace(groups=2, ksize=(0, 2)), 2, False),
        ),
        call=without_wanted,
        plain=wanted,
        dtypes='d',
    ),
}  # fmt: skip

_CONVOLUTIONS = {
    'convolution.convolve': Row(_convolutions(_pick(0, 1, 3)), plain=convolution.convolve_reference),
    'convolution.convolve, no bias': Row(
        _convolutions(_pick(0, 1, None)), plain=convolution.convolve_reference, dtypes='e', tolerance=2
    ),
    'convolution.convolve, large': Row(
        _large(_pick(0, 1, 3)), plain=convolution.convolve_reference, dtypes='fd', layouts=('C',)
    ),
    'convolution.convolve, few channels': Row(
        _few_channels(_pick(0, 1, 3)), plain=convolution.convolve_reference, dtypes='fd', layouts=('C',)
    ),
    'convolution.convolve, few channels, no bias': Row(
        _few_channels(_pick(0, 1, None)), plain=convolution.convolve_reference, dtypes='fd', layouts=('C',)
    ),
    'convolution.convolve, not finite': Row(
        each(lambda t, g, n: (*_not_finite(t, g, n), None, g), (PLANES[0], 3), (PLANES[1], 4), (PLANES[4], 1)),
        plain=convolution.convolve_reference,
    ),
    'convolution.data_gradient': Row(_convolutions(_pick(2, 1, 4)), plain=convolution.data_gradient_reference),
    'convolution.data_gradient, large': Row(
        _large(_pick(2, 1, None)), plain=convolution.data_gradient_reference, dtypes='fd', layouts=('C',)
    ),
    'convolution.filter_gradient': Row(
        _convolutions(_pick(0, 2)), plain=convolution.filter_gradient_reference, contiguous=True
    ),
    'convolution.filter_gradient, large': Row(
        _large(_pick(0, 2)),
        plain=convolution.filter_gradient_reference,
        dtypes='fd',
        layouts=('C',),
        contiguous=True,
        tolerance=32,
    ),
    'convolution.sum_of_channels': Row(
        _windows(lambda *a: (_filters(*a)[0],), [*PLANES, SPREAD[1]]),
        plain=lambda x: x.sum(axis=(0, *range(2, x.ndim))),
    ),
    'depthwise.convolve': Row(
        _windows(lambda *a: (*_depthwise(*a)[0][:2], _depthwise(*a)[1]), [*PLANES, SPREAD[0], _FOUR]),
        plain=lambda x, W, g: _last(convolution.convolve_reference(_second(x), W, None, g)),
        dtypes='fd',
        layouts=('C',),
        numpy_only=True,
    ),
    'depthwise.data_gradient': Row(
        _windows(lambda *a: (*_depthwise(*a)[0][2:0:-1], _depthwise(*a)[1]), [*PLANES, SPREAD[0], _FOUR]),
        plain=lambda gy, W, g: _last(convolution.data_gradient_reference(_second(gy), W, None, g)),
        dtypes='fd',
        layouts=('C',),
        numpy_only=True,
    ),
    'depthwise.filter_gradient': Row(
        _windows(lambda *a: (*_depthwise(*a)[0][:3:2], _depthwise(*a)[1]), [*PLANES, _FOUR], [*COUNTS, (33, 2)]),
        plain=lambda x, gy, g: convolution.filter_gradient_reference(_second(x), _second(gy), g),
        dtypes='fd',
        layouts=('C',),
        numpy_only=True,
    ),
    'winograd.convolve': Row(
        _in_parts(lambda *a: (_last(_filters(*a)[0]), _filters(*a)[1], a[1])),
        plain=lambda x, W, g: _last(convolution.convolve_reference(_second(x), W, None, g)),
        dtypes='fd',
        layouts=('C',),
        numpy_only=True,
    ),
    'winograd.filter_gradient': Row(
        _in_parts(lambda *a: (*map(_last, _filters(*a)[:3:2]), a[1])),
        plain=lambda x, gy, g: convolution.filter_gradient_reference(_second(x), _second(gy), g),
        dtypes='fd',
        layouts=('C',),
        numpy_only=True,
        contiguous=True,
    ),
}


def _not_finite(dtype: str, g: Geometry, c: int) -> list[Any]:
    x, W = _filters(dtype, g, 2, c)[:2]
    x[0, 0, ..., 1], x[1, -1, ..., -1] = np.inf, np.nan
    return [x, W]


_PATCHES = {
    'patches.patches': Row(
        _windows(lambda *a: (_filters(*a)[0], a[1]), [*PLANES, SPREAD[0]]),
        plain=_patches,
        tolerance=0,
        contiguous=True,
    ),
    'patches.add_patches': Row(
        _windows(lambda *a: (_patches(_filters(*a)[0], a[1]), a[1]), SMALL, FEW),
        plain=lambda y, g: transposed_of_samples(lambda x: _patches(x, g), _image_shape(y, g), y),
    ),
    'patches.local_convolve': Row(_windows(lambda *a: (*_own_filters(*a)[:2], a[1])), plain=_local),
    'patches.local_data_gradient': Row(
        _windows(lambda *a: (*_own_filters(*a)[2:0:-1], a[1]), SMALL, FEW), plain=_local_data_gradient
    ),
    'patches.local_filter_gradient': Row(
        _windows(lambda *a: (*_own_filters(*a)[:3:2], a[1])), plain=_local_filter_gradient, contiguous=True
    ),
}
_POOLING = {
    'pooling.maxima': Row(
        _windows(lambda *a: (_pooled(*a)[0], a[1]), [*PLANES, SPREAD[0]]), plain=pooling.maxima_reference, tolerance=0
    ),
    'pooling.places_of_maxima': Row(
        _windows(lambda *a: (*_pooled(*a)[:2], a[1]), [*PLANES, SPREAD[0]]),
        plain=lambda x, y, g: pooling.places_of_maxima_reference(x, g),
        dtypes_of_result=('B',),
    ),
    'pooling.places_of_maxima, many': Row(
        _windows(lambda *a: (*_pooled(*a)[:2], a[1]), [_LONG], [(2, 1)]),
        plain=lambda x, y, g: pooling.places_of_maxima_reference(x, g),
        dtypes_of_result=('I',),
    ),
    'pooling.maxima_gradient': Row(
        _windows(
            lambda *a: (_outputs(*a), *_pooled(*a)[:2], a[1]),
            [*SMALL, PLANES[4], PLANES[3], SPREAD[0]],
            [*FEW, (2, 4)],
        ),
        plain=_maxima_gradient,
    ),
    'pooling.maxima_gradient, many': Row(
        _windows(lambda *a: (_outputs(*a), *_pooled(*a)[:2], a[1]), [_LONG], [(1, 1)]), plain=_maxima_gradient
    ),
    'pooling.spread, many': Row(
        _windows(lambda *a: (_outputs(*a), _pooled(*a)[2].astype('I'), a[1]), [_LONG], [(1, 1)]), plain=_spread
    ),
    'pooling.pick': Row(
        _windows(lambda *a: (_pooled(*a)[0], _pooled(*a)[2].astype('B'), a[1])),
        plain=pooling.pick_reference,
        tolerance=0,
    ),
    'pooling.spread': Row(
        _windows(lambda *a: (_outputs(*a), _pooled(*a)[2].astype('B'), a[1]), [*SMALL, PLANES[4], PLANES[3]], FEW),
        plain=_spread,
    ),
    **{
        f'pooling.means, {counted}': Row(
            _windows(lambda *a, counted=counted: (_filters(*a)[0], a[1], counted), [*PLANES, _LONG]),
            plain=pooling.means_reference,
        )
        for counted in (False, True)
    },
    **{
        f'pooling.spread_means, {counted}': Row(
            _windows(lambda *a, counted=counted: (_outputs(*a), a[1], counted), [*SMALL, _LONG], FEW),
            plain=lambda gy, g, counted: transposed_of_samples(
                lambda x: pooling.means_reference(x, g, counted), _image_shape(gy, g), gy
            ),
        )
        for counted in (False, True)
    },
    'pooling.sums': Row(_windows(lambda *a: (_filters(*a)[0], a[1]), [*PLANES, _LONG]), plain=_sums),
    'pooling.spread_sums': Row(
        _windows(lambda *a: (_outputs(*a), a[1]), [*SMALL, _LONG], FEW),
        plain=lambda gy, g: transposed_of_samples(lambda x: _sums(x, g), _image_shape(gy, g), gy),
    ),
}
_OF_IMAGES = {**_CONVOLUTIONS, **_PATCHES, **_POOLING}
ROWS = {
    **_GEOMETRIES,
    **{name: replace(row, layouts=IMAGES if row.layouts == ANY else row.layouts) for name, row in _OF_IMAGES.items()},
}
