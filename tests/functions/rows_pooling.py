"""Rows of unpooling, pooling of regions, and convolutions of other kinds. The references go window by window."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import minichainer.functions as F
from minichainer.kernels import patches, roi
from minichainer.kernels._windows import Geometry
from minichainer.utils.type_check import InvalidType
from tests.functions.row import ANY, DISTINCT, Bad, Domain, Row, case
from tests.functions.rows_convolution import _geometry, _size, axes_error, bad, z

NO_ZERO_D = 'a batch, channels and space are needed; the errors say so'
SUMS = 'sums of elements, as in sum'
EXCUSES = {'zero-d': NO_ZERO_D, 'special values': SUMS}
PICKED = {'zero-d': NO_ZERO_D, 'special values': 'elements are picked, as in get_item'}


# --- unpooling -----------------------------------------------------------------------------------------------------
def _unpooled_size(size: int, k: int, s: int, p: int, cover_all: bool) -> int:
    """The smallest size whose pooling has so many windows, none of which lacks more than a step of being full."""
    least = k - s + 1 if cover_all else k
    return next(n for n in range(99) if n + 2 * p >= least and _size(n, k, s, p, 1, cover_all) == size)


def _unpooling_geometry(
    x: Any, ksize: Any, stride: Any = None, pad: Any = 0, outsize: Any = None, cover_all: bool = True
) -> Any:
    stride, cover_all = ksize if stride is None else stride, bool(cover_all)
    n = x.ndim - 2
    if outsize is None:
        ks, ss, ps = ([v] * n if np.isscalar(v) else v for v in (ksize, stride, pad))
        outsize = tuple([_unpooled_size(*axis, cover_all) for axis in zip(x.shape[2:], ks, ss, ps, strict=True)])
    geometry = _geometry(outsize, ksize, stride, pad, 1, cover_all)
    assert geometry.out_size == x.shape[2:]
    return geometry


def _spread(x: Any, geometry: Any, chosen: Callable[[Any, int], Any]) -> Any:
    """Adds ``x`` times what ``chosen`` says of each window and tap to what the window meets."""
    y = np.zeros((*x.shape[:2], *geometry.in_size))
    for at in np.ndindex(*geometry.out_size):
        for number, tap in enumerate(np.ndindex(*geometry.ksize)):
            axes = zip(at, geometry.stride, tap, geometry.pad, strict=True)
            place = tuple([a * s + t - p for a, s, t, p in axes])
            if all(0 <= i < n for i, n in zip(place, geometry.in_size, strict=True)):
                y[(slice(None), slice(None), *place)] += x[(..., *at)] * chosen(at, number)
    return y


def _unpooling(x: Any, *args: Any, **kwargs: Any) -> Any:
    return _spread(x, _unpooling_geometry(x, *args, **kwargs), lambda at, number: 1)


def _upsampling(x: Any, indexes: Any, *args: Any, **kwargs: Any) -> Any:
    return _spread(x, _unpooling_geometry(x, *args, **kwargs), lambda at, number: indexes[(..., *at)] == number)


def unpooling_errors(f: Callable[..., Any], n: int, name: str, *extra: Any) -> tuple[Bad, ...]:
    """Arguments that no unpooling takes."""
    x = (1, 1, *[2] * n)
    return (
        bad('wrong kind', lambda: f(z(*x, dtype='i'), *extra, 2), InvalidType, name, 'float', 'int32'),
        bad('ksize', lambda: f(z(*x), *extra, 0), ValueError, name, 'ksize', 'got 0'),
        bad('float ksize', lambda: f(z(*x), *extra, 2.0), TypeError, name, 'ksize', '2.0'),
        bad('ksizes', lambda: f(z(*x), *extra, (2,) * 4), ValueError, name, 'ksize', str((2,) * 4)),
        bad('stride', lambda: f(z(*x), *extra, 2, -1), ValueError, name, 'stride', 'got -1'),
        bad('pad', lambda: f(z(*x), *extra, 2, pad=-1), ValueError, name, 'pad', 'got -1'),
        bad('large pad', lambda: f(z(*x), *extra, 2, pad=2), AssertionError, name, 'pad', 'negative'),
        bad(
            'outsize', lambda: f(z(*x), *extra, 2, outsize=(9,) * n), InvalidType, name, str((5,) * n), str((9,) * n)
        ),
        bad('int outsize', lambda: f(z(*x), *extra, 2, outsize=4), TypeError, name, 'outsize', 'tuple', '4'),
    )


def unpooling_row(name: str, n: int, label: str, axes: Any, *cases: Any) -> Row:
    f = getattr(F, name)
    errors = (*unpooling_errors(f, n, label), axes)
    return Row(name, f, _unpooling, (ANY,), cases, order=3, label=label, errors=errors, except_from=EXCUSES)


# --- regions -------------------------------------------------------------------------------------------------------
#: Regions as y and x where they begin, y and x where they end; the images are those of REGION_IMAGES.
REGIONS = {
    'inside': [(0, 0, 4, 3), (1, 1, 2, 2), (0.4, 1.6, 3.7, 4.9)],
    'beyond': [(-2, -3, 3, 2), (2, 1, 9, 8), (3, 3, 1, 2)],
    'outside': [(20, 20, 24, 22), (-9, -9, -5, -4), (0, 1, 2, 4)],
}
REGION_IMAGES = [1, 0, 1]


def _rois(regions: str, count: int | None = None) -> tuple[Any, Any]:
    return np.array(REGIONS[regions][:count], 'f').reshape(-1, 4), np.array(REGION_IMAGES[:count], 'i')


def _with_image_numbers(regions: str) -> Any:
    rois, images = _rois(regions)
    return np.concatenate([images[:, None], rois[:, [1, 0, 3, 2]]], axis=1).astype('f')


def _binned(x: Any, rois: Any, images: Any, size: Any, scale: float, last: int, summary: Any) -> Any:
    corners = [[round(float(v) * scale) for v in roi] for roi in rois]
    corners = [[top, left, bottom + last, right + last] for top, left, bottom, right in corners]
    return roi.pooled_reference(x, corners, images, size, summary)


def _maximum(values: Any) -> Any:
    return values.max(axis=1) if values.size else 0


def _maximum_or_lowest(values: Any) -> Any:
    return values.max(axis=1) if values.size else -np.inf


def _mean(values: Any) -> Any:
    return values.mean(axis=1) if values.size else 0


def _mean_of_points(points: list[Any]) -> Any:
    return sum(0 if p is None else p for p in points) / len(points)


def _maximum_of_points(points: list[Any]) -> Any:
    return np.max([p for p in points if p is not None], axis=0)


def _pair(value: Any) -> Any:
    return value if isinstance(value, tuple) else (value, value)


def roi_call(name: str) -> Any:
    def call(x: Any, regions: str, outsize: Any, scale: float, count: int | None = None, **params: Any) -> Any:
        rois, images = _rois(regions, count)
        dtype = 'f' if 'align' in name else x.dtype
        return getattr(F, name)(x, rois.astype(dtype), images, outsize, scale, **params)

    return call


def roi_errors(name: str, label: str) -> tuple[Bad, ...]:
    """Arguments that no pooling of regions takes."""
    f = getattr(F, name)
    x, rois, images = z(2, 1, 4, 4), z(1, 4), np.zeros(1, 'i')

    def wrong(what: str, error: type[Exception], *words: str, **changes: Any) -> Bad:
        arguments = {'x': x, 'rois': rois, 'roi_indices': images, 'outsize': 2, 'spatial_scale': 1.0, **changes}
        return bad(what, lambda: f(**arguments), error, label, *words)

    return (
        wrong('wrong kind', InvalidType, 'float', 'int32', x=z(2, 1, 4, 4, dtype='i')),
        wrong('axes', InvalidType, '(N, C, H, W)', '(1, 4, 4)', x=z(1, 4, 4)),
        wrong('rois', InvalidType, '(R, 4)', '(1, 5)', rois=z(1, 5)),
        wrong('images', InvalidType, '(1,)', '(2,)', roi_indices=np.zeros(2, 'i')),
        wrong('float images', InvalidType, 'int', 'float32', roi_indices=np.zeros(1, 'f')),
        wrong('no such image', IndexError, '2 images', '2', roi_indices=np.full(1, 2)),
        wrong('outsize', TypeError, 'outsize', '2.5', outsize=2.5),
        wrong('no outsize', TypeError, 'outsize', '(0, 2)', outsize=(0, 2)),
        wrong('outsizes', TypeError, 'outsize', '(1, 2, 3)', outsize=(1, 2, 3)),
        wrong('scale', TypeError, 'spatial_scale', "'1'", spatial_scale='1'),
        wrong('negative scale', TypeError, 'spatial_scale', '-1', spatial_scale=-1.0),
    )


def roi_row(name: str, label: str, reference: Any, domain: Domain, *cases: Any, errors: Any = ()) -> Row:
    return Row(
        name,
        roi_call(name),
        reference,
        (domain,),
        cases,
        label=label,
        except_from=PICKED,
        errors=(*roi_errors(name, label), *errors),
    )


def binned_reference(summary: Any) -> Any:
    def reference(x: Any, regions: str, outsize: Any, scale: float, count: int | None = None) -> Any:
        return _binned(x, *_rois(regions, count), _pair(outsize), scale, 0, summary)

    return reference


def aligned_reference(summary: Any) -> Any:
    def reference(
        x: Any, regions: str, outsize: Any, scale: float, sampling_ratio: Any = None, count: int | None = None
    ) -> Any:
        rois, images = _rois(regions, count)
        return roi.aligned_reference(
            x, rois.astype('d') * scale, images, _pair(outsize), _pair(sampling_ratio), summary
        )

    return reference


BINNED = (
    case((2, 2, 5, 2), regions='inside', outsize=(3, 2), scale=1.0),
    case((2, 1, 4, 5), regions='inside', outsize=2, scale=0.6),
    case((2, 1, 5, 4), regions='beyond', outsize=(2, 3), scale=1.0),
    case((2, 1, 3, 4), regions='outside', outsize=2, scale=0.5),
    case((2, 2, 3, 3), regions='inside', outsize=2, scale=1.0, count=0),
    case((2, 0, 3, 3), regions='inside', outsize=2, scale=1.0),
)
#: A bin without pixels is minus infinity, which has no differences: see test_pooling.py.
NO_EMPTY_BINS = (
    case((2, 1, 4, 5), regions='inside', outsize=(3, 2), scale=1.0),
    case((2, 1, 4, 5), regions='inside', outsize=2, scale=0.6),
    case((2, 1, 5, 4), regions='beyond', outsize=1, scale=1.0),
    case((2, 2, 3, 3), regions='inside', outsize=2, scale=1.0, count=0),
    case((2, 0, 3, 3), regions='inside', outsize=2, scale=1.0),
)
ALIGNED = (
    case((2, 1, 5, 3), regions='inside', outsize=(3, 2), scale=1.0),
    case((2, 1, 4, 5), regions='beyond', outsize=(1, 2), scale=0.6, sampling_ratio=2),
    case((2, 1, 5, 4), regions='outside', outsize=2, scale=0.7, sampling_ratio=(None, 3)),
    case((2, 1, 3, 3), regions='inside', outsize=2, scale=1.0, count=0),
    case((2, 0, 3, 3), regions='inside', outsize=2, scale=1.0),
)


def ratio_errors(f: Callable[..., Any]) -> tuple[Bad, ...]:
    arguments = z(1, 1, 4, 4), z(1, 4), np.zeros(1, 'i'), 2, 1.0
    return (
        bad('ratio', lambda: f(*arguments, 1.5), TypeError, 'sampling_ratio', '1.5'),
        bad('no points', lambda: f(*arguments, (0, 1)), TypeError, 'sampling_ratio', '(0, 1)'),
    )


# --- patches, local and deformable convolution, shift ---------------------------------------------------------------
def _patches(x: Any, ksize: Any, stride: Any = 1, pad: Any = 0, cover_all: bool = False, dilate: Any = 1) -> Any:
    geometry = _geometry(x.shape[2:], *(_pair(v) for v in (ksize, stride, pad, dilate)), cover_all)
    y = np.zeros((*x.shape[:2], *geometry.ksize, *geometry.out_size))
    for tap in np.ndindex(*geometry.ksize):
        for at in np.ndindex(*geometry.out_size):
            axes = zip(at, geometry.stride, tap, geometry.dilate, geometry.pad, strict=True)
            place = tuple([a * s + t * d - p for a, s, t, d, p in axes])
            if all(0 <= i < n for i, n in zip(place, geometry.in_size, strict=True)):
                y[(slice(None), slice(None), *tap, *at)] = x[(..., *place)]
    return y.reshape(len(x), x.shape[1] * math.prod(geometry.ksize), *geometry.out_size)


def _local(x: Any, W: Any, b: Any = None, stride: Any = 1) -> Any:
    geometry = Geometry(x.shape[2:], W.shape[4:], _pair(stride), (0, 0), (1, 1), W.shape[1:3])
    y = patches.local_convolve_reference(x, W, geometry)
    return y if b is None else y + b


def _bilinear_sample(image: Any, y: float, x: float) -> Any:
    """The value of an image (C, H, W) at a point, zeros outside."""
    value = np.zeros(len(image))
    for i, j in np.ndindex(*image.shape[1:]):
        value = value + image[:, i, j] * max(1 - abs(i - y), 0) * max(1 - abs(j - x), 0)
    return value


def _deformable(x: Any, offset: Any, W: Any, b: Any = None, stride: Any = 1, pad: Any = 0) -> Any:
    (sy, sx), (py, px) = _pair(stride), _pair(pad)
    kh, kw = W.shape[2:]
    y = np.zeros((len(x), len(W), *offset.shape[2:]))
    for n, i, j, k, m in np.ndindex(len(x), *offset.shape[2:], kh, kw):
        right, down = offset[n, k * kw + m, i, j], offset[n, kh * kw + k * kw + m, i, j]
        y[n, :, i, j] += W[:, :, k, m] @ _bilinear_sample(x[n], i * sy + k - py + down, j * sx + m - px + right)
    return y if b is None else y + b[:, None, None]


def _shift(x: Any, ksize: Any = 3, dilate: Any = 1) -> Any:
    (kh, kw), (dy, dx) = _pair(ksize), _pair(dilate)
    places = [(i - kh // 2, j - kw // 2) for i in range(kh) for j in range(kw)]
    middle = places.index((0, 0))
    places[middle], places[-1] = places[-1], places[middle]
    y, size = np.zeros_like(x), x.shape[1] // len(places)
    for c, i, j in np.ndindex(*x.shape[1:]):
        down, right = places[min(c // size, len(places) - 1)]
        if 0 <= i - down * dy < x.shape[2] and 0 <= j - right * dx < x.shape[3]:
            y[:, c, i, j] = x[:, c, i - down * dy, j - right * dx]
    return y


#: Offsets that stay away from whole pixels, where their gradient jumps.
BETWEEN_PIXELS = Domain(low=-1.5, high=1.5, avoid=(-1.0, 0.0, 1.0))


def _pyramid(x: Any, pyramid_height: int) -> Any:
    parts = []
    for bins in (2**level for level in range(pyramid_height)):
        k = [-(-n // bins) for n in x.shape[2:]]
        starts = [[i * s - (s * bins - n) // 2 for i in range(bins)] for s, n in zip(k, x.shape[2:], strict=True)]
        parts.append(
            np.stack(
                [
                    x[:, :, max(i, 0) : i + k[0], max(j, 0) : j + k[1]].max(axis=(2, 3))
                    for i in starts[0]
                    for j in starts[1]
                ],
                -1,
            )
        )
    return np.concatenate([p.reshape(len(x), -1, 1, 1) for p in parts], axis=1)


def _adaptive(x: Any, outsize: Any) -> Any:
    size = [n if o is None else o for o, n in zip(_pair(outsize), x.shape[2:], strict=True)]
    y = np.zeros((*x.shape[:2], *size))
    for i, j in np.ndindex(*size):
        (a, b), (c, d) = (
            (k * n // o, math.ceil((k + 1) * n / o)) for k, n, o in zip((i, j), x.shape[2:], size, strict=True)
        )
        y[:, :, i, j] = x[:, :, a:b, c:d].mean(axis=(2, 3))
    return y


TWO_DTYPES = 'arrays of two dtypes are computed in the wider one, as in Chainer; see test_pooling.py'
ROWS = [
    unpooling_row(
        'unpooling_nd',
        1,
        'UnpoolingND',
        bad('axes', lambda: F.unpooling_nd(z(1, 1), 2), ValueError, 'spatial axis', '(1, 1)'),
        case((2, 2, 3), ksize=2),
        case((1, 1, 3), ksize=3, stride=2, pad=1, cover_all=False),
        case((1, 1, 3), ksize=2, stride=3),
        case((1, 1, 3, 2), ksize=(2, 3), stride=(2, 1), pad=(0, 1), outsize=(6, 2), cover_all=False),
        case((0, 1, 2), ksize=2),
    ),
    unpooling_row(
        'unpooling_1d',
        1,
        'UnpoolingND',
        axes_error(F.unpooling_1d, 1, 2),
        case((2, 1, 3), ksize=2, outsize=(6,)),
        case((0, 1, 2), ksize=2),
    ),
    unpooling_row(
        'unpooling_2d',
        2,
        'Unpooling2D',
        axes_error(F.unpooling_2d, 2, 2, error=InvalidType),
        case((1, 2, 2, 3), ksize=2),
        case((1, 1, 3, 2), ksize=(3, 2), stride=(2, 1), pad=(1, 0), cover_all=False),
        case((0, 1, 2, 2), ksize=2),
    ),
    unpooling_row(
        'unpooling_3d',
        3,
        'UnpoolingND',
        axes_error(F.unpooling_3d, 3, 2),
        case((1, 1, 2, 1, 2), ksize=2, stride=(1, 2, 2), cover_all=False),
        case((0, 1, 1, 1, 1), ksize=2),
    ),
    Row(
        'upsampling_2d',
        F.upsampling_2d,
        _upsampling,
        (ANY, Domain(labels=4)),
        (
            case((1, 2, 2, 3), (1, 2, 2, 3), ksize=2, cover_all=False),
            case((1, 1, 3, 2), (1, 1, 3, 2), ksize=2, stride=1),
            case((1, 1, 2, 2), (1, 1, 2, 2), ksize=(2, 2), stride=(3, 2), pad=1, outsize=(3, 2)),
            case((0, 1, 2, 2), (0, 1, 2, 2), ksize=2),
        ),
        order=3,
        label='Upsampling2D',
        except_from=EXCUSES,
        errors=(
            *unpooling_errors(F.upsampling_2d, 2, 'Upsampling2D', np.zeros((1, 1, 2, 2), 'i')),
            axes_error(F.upsampling_2d, 2, np.zeros((2, 2, 2), 'i'), 2, error=InvalidType),
            bad(
                'shape of indexes',
                lambda: F.upsampling_2d(z(1, 1, 2, 2), np.zeros((1, 1, 2, 3), 'i'), 2),
                InvalidType,
                'Upsampling2D',
                '(1, 1, 2, 2)',
                '(1, 1, 2, 3)',
            ),
            bad(
                'float indexes',
                lambda: F.upsampling_2d(z(1, 1, 2, 2), np.zeros((1, 1, 2, 2), 'f'), 2),
                InvalidType,
                'int',
                'float32',
            ),
            bad(
                'large index',
                lambda: F.upsampling_2d(z(1, 1, 1, 1), np.full((1, 1, 1, 1), 4), 2),
                IndexError,
                'indexes must be in [0, 4)',
                'got 4 at',
            ),
            bad(
                'negative index',
                lambda: F.upsampling_2d(z(1, 1, 1, 1), np.full((1, 1, 1, 1), -1), 2),
                IndexError,
                '[0, 4)',
                'got -1 at',
            ),
        ),
    ),
    Row(
        'spatial_pyramid_pooling_2d',
        lambda x, pyramid_height: F.spatial_pyramid_pooling_2d(x, pyramid_height, 'max'),
        _pyramid,
        (DISTINCT,),
        (
            case((1, 2, 4, 4), pyramid_height=2),
            case((1, 1, 3, 5), pyramid_height=2),
            case((1, 1, 6, 5), pyramid_height=2),
            case((1, 1, 4, 7), pyramid_height=3),
        ),
        label='Concat',
        except_from={
            'zero-d': NO_ZERO_D,
            'zero-size': 'refused by max pooling; the errors say so',
            'special values': 'max_pooling_nd has them',
        },
        errors=(
            bad(
                'wrong kind',
                lambda: F.spatial_pyramid_pooling_2d(z(1, 1, 4, 4, dtype='i'), 2, 'max'),
                InvalidType,
                'float',
                'int32',
            ),
            bad('pooling', lambda: F.spatial_pyramid_pooling_2d(z(1, 1, 4, 4), 2), ValueError, "'max'", 'None'),
            bad('height', lambda: F.spatial_pyramid_pooling_2d(z(1, 1, 4, 4), 0, 'max'), ValueError, 'height', '0'),
            bad(
                'axes', lambda: F.spatial_pyramid_pooling_2d(z(1, 4, 4), 1, 'max'), InvalidType, '4 axes', '(1, 4, 4)'
            ),
            bad(
                'empty', lambda: F.spatial_pyramid_pooling_2d(z(0, 1, 4, 4), 1, 'max'), InvalidType, 'size > 0', '(0,'
            ),
        ),
    ),
    Row(
        'adaptive_average_pooling_2d',
        F.adaptive_average_pooling_2d,
        _adaptive,
        (ANY,),
        (
            case((2, 2, 4, 6), outsize=2),
            case((1, 1, 5, 3), outsize=(3, 2)),
            case((1, 1, 2, 3), outsize=(5, None)),
            case((0, 1, 2, 3), outsize=1),
        ),
        order=3,
        label='AdaptiveAveragePooling2D',
        except_from=EXCUSES,
        errors=(
            bad(
                'wrong kind',
                lambda: F.adaptive_average_pooling_2d(z(1, 1, 2, 2, dtype='i'), 1),
                InvalidType,
                'float',
                'int32',
            ),
            bad('axes', lambda: F.adaptive_average_pooling_2d(z(1, 2, 2), 1), InvalidType, '4 axes', '(1, 2, 2)'),
            bad('no pixels', lambda: F.adaptive_average_pooling_2d(z(1, 2, 0, 2), 1), InvalidType, 'pixel', '0, 2'),
            bad('outsize', lambda: F.adaptive_average_pooling_2d(z(1, 1, 2, 2), 1.5), TypeError, 'outsize', '1.5'),
            bad('outsizes', lambda: F.adaptive_average_pooling_2d(z(1, 1, 2, 2), (1, 1, 1)), TypeError, 'outsize'),
            bad('no outsize', lambda: F.adaptive_average_pooling_2d(z(1, 1, 2, 2), 0), ValueError, 'outsize', '0'),
        ),
    ),
    Row(
        'roi_pooling_2d',
        lambda x, regions, outsize, scale: F.roi_pooling_2d(
            x, _with_image_numbers(regions).astype(x.dtype), *outsize, scale
        ),
        lambda x, regions, outsize, scale: _binned(x, *_rois(regions), outsize, scale, 1, _maximum),
        (DISTINCT,),
        (
            case((2, 1, 5, 4), regions='inside', outsize=(3, 2), scale=1.0),
            case((2, 1, 4, 5), regions='inside', outsize=(2, 2), scale=0.6),
            case((2, 1, 6, 3), regions='beyond', outsize=(2, 3), scale=1.0),
            case((2, 1, 4, 3), regions='outside', outsize=(2, 2), scale=0.5),
            case((2, 0, 4, 3), regions='inside', outsize=(2, 2), scale=1.0),
        ),
        label='ROIPooling2D',
        except_from=PICKED,
        errors=(
            bad(
                'wrong kind',
                lambda: F.roi_pooling_2d(z(1, 1, 4, 4, dtype='i'), z(1, 5), 2, 2, 1.0),
                InvalidType,
                'ROIPooling2D',
                'float',
                'int32',
            ),
            bad('rois', lambda: F.roi_pooling_2d(z(1, 1, 4, 4), z(1, 4), 2, 2, 1.0), InvalidType, '(R, 5)', '(1, 4)'),
            bad('axes', lambda: F.roi_pooling_2d(z(1, 4, 4), z(1, 5), 2, 2, 1.0), InvalidType, '(1, 4, 4)'),
            bad('size', lambda: F.roi_pooling_2d(z(1, 1, 4, 4), z(1, 5), 0, 2, 1.0), TypeError, 'positive', '(0, 2)'),
            bad('scale', lambda: F.roi_pooling_2d(z(1, 1, 4, 4), z(1, 5), 2, 2, '1'), TypeError, 'scale', "'1'"),
            bad(
                'no such image',
                lambda: F.roi_pooling_2d(z(1, 1, 4, 4), np.full((1, 5), 3, 'f'), 2, 2, 1.0),
                IndexError,
                'ROIPooling2D',
                '3',
            ),
        ),
    ),
    roi_row('roi_max_pooling_2d', 'ROIMaxPooling2D', binned_reference(_maximum_or_lowest), DISTINCT, *NO_EMPTY_BINS),
    roi_row('roi_average_pooling_2d', 'ROIAveragePooling2D', binned_reference(_mean), ANY, *BINNED),
    roi_row(
        'roi_max_align_2d',
        'ROIMaxAlign2D',
        aligned_reference(_maximum_of_points),
        DISTINCT,
        case((2, 1, 4, 5), regions='inside', outsize=(3, 2), scale=0.8),
        case((2, 1, 4, 5), regions='beyond', outsize=1, scale=0.6, sampling_ratio=2),
        case((2, 1, 5, 4), regions='beyond', outsize=1, scale=0.7, sampling_ratio=(None, 3)),
        case((2, 1, 3, 3), regions='inside', outsize=2, scale=1.0, count=0),
        case((2, 0, 4, 6), regions='inside', outsize=2, scale=0.8),
        errors=ratio_errors(F.roi_max_align_2d),
    ),
    roi_row(
        'roi_average_align_2d',
        'ROIAverageAlign2D',
        aligned_reference(_mean_of_points),
        ANY,
        *ALIGNED,
        errors=ratio_errors(F.roi_average_align_2d),
    ),
    Row(
        'im2col',
        F.im2col,
        _patches,
        (ANY,),
        (
            case((1, 2, 3, 4), ksize=2),
            case((1, 1, 4, 3), ksize=(3, 2), stride=(2, 1), pad=(1, 0)),
            case((1, 1, 4, 5), ksize=2, stride=2, cover_all=True, dilate=(1, 2)),
            case((0, 2, 3, 3), ksize=2),
        ),
        order=3,
        label='Im2Col',
        except_from=EXCUSES,
        errors=(
            bad('wrong kind', lambda: F.im2col(z(1, 1, 3, 3, dtype='i'), 2), InvalidType, 'Im2Col', 'float', 'int32'),
            bad('axes', lambda: F.im2col(z(1, 3, 3), 2), InvalidType, 'x.ndim == 4', '(1, 3, 3)'),
            bad('large', lambda: F.im2col(z(1, 1, 2, 2), 3), AssertionError, 'im2col', '(3, 3)', '(2, 2)'),
            bad('ksizes', lambda: F.im2col(z(1, 1, 3, 3), (1, 1, 1)), ValueError, 'ksize', '(1, 1, 1)'),
            bad('stride', lambda: F.im2col(z(1, 1, 3, 3), 2, 0), ValueError, 'stride', '0'),
            bad('pad', lambda: F.im2col(z(1, 1, 3, 3), 2, pad=-1), ValueError, 'pad', '-1'),
            bad('float', lambda: F.im2col(z(1, 1, 3, 3), 2.0), TypeError, 'ksize', '2.0'),
        ),
    ),
    Row(
        'local_convolution_2d',
        F.local_convolution_2d,
        _local,
        (ANY, ANY, ANY),
        (
            case((2, 2, 3, 4), (2, 2, 3, 2, 2, 2), (2, 2, 3)),
            case((1, 1, 5, 4), (2, 2, 3, 1, 3, 2), (2, 2, 3), stride=(2, 1)),
            case((1, 1, 4, 4), (1, 1, 2, 1, 2, 2), (1, 1, 2)),
            case((0, 1, 2, 2), (1, 1, 1, 1, 2, 2), (1, 1, 1)),
        ),
        order=3,
        label='LocalConvolution2DFunction',
        except_from={**EXCUSES, 'wrong dtype': TWO_DTYPES},
        errors=(
            bad(
                'wrong kind',
                lambda: F.local_convolution_2d(z(1, 1, 2, 2, dtype='i'), z(1, 1, 1, 1, 2, 2)),
                InvalidType,
                'LocalConvolution2DFunction',
                'float',
                'int32',
            ),
            bad(
                'channels',
                lambda: F.local_convolution_2d(z(1, 2, 4, 4), z(2, 2, 2, 3, 3, 3)),
                InvalidType,
                '(1, 2, 4, 4)',
                '(2, 2, 2, 3, 3, 3)',
            ),
            bad(
                'bias',
                lambda: F.local_convolution_2d(z(1, 1, 2, 2), z(1, 1, 1, 1, 2, 2), z(1)),
                InvalidType,
                'b.shape == (1, 1, 1)',
                '(1,)',
            ),
            bad(
                'size',
                lambda: F.local_convolution_2d(z(1, 1, 2, 2), z(1, 2, 1, 1, 2, 2)),
                InvalidType,
                '(3, 2) at least',
                '(1, 1, 2, 2)',
            ),
            bad(
                'stride',
                lambda: F.local_convolution_2d(z(1, 1, 2, 2), z(1, 1, 1, 1, 2, 2), stride=0),
                ValueError,
                'stride',
                '0',
            ),
        ),
    ),
    Row(
        'local_convolution_2d',
        F.local_convolution_2d,
        _local,
        (ANY, ANY),
        (case((1, 2, 3, 3), (2, 2, 2, 2, 2, 2)), case((0, 1, 2, 2), (1, 1, 1, 1, 2, 2))),
        variant='no bias',
        label='LocalConvolution2DFunction',
        except_from={**EXCUSES, 'wrong dtype': TWO_DTYPES, 'wrong kind': 'the first row of the name has it'},
    ),
    Row(
        'deformable_convolution_2d_sampler',
        F.deformable_convolution_2d_sampler,
        _deformable,
        (ANY, BETWEEN_PIXELS, ANY, ANY),
        (
            case((1, 2, 3, 3), (1, 8, 2, 2), (2, 2, 2, 2), (2,)),
            case((2, 1, 4, 3), (2, 4, 3, 3), (1, 1, 2, 1), (1,), stride=(2, 1), pad=(1, 0)),
            case((1, 1, 1, 2), (1, 4, 1, 1), (2, 1, 1, 2), (2,)),
            case((0, 1, 2, 2), (0, 2, 2, 2), (1, 1, 1, 1), (1,)),
        ),
        label='Transpose',
        except_from=EXCUSES,
        errors=(
            bad(
                'wrong kind',
                lambda: F.deformable_convolution_2d_sampler(z(1, 1, 3, 3, dtype='i'), z(1, 2, 3, 3), z(1, 1, 1, 1)),
                InvalidType,
                'float',
                'int32',
            ),
            bad(
                'wrong dtype',
                lambda: F.deformable_convolution_2d_sampler(z(1, 1, 3, 3), z(1, 2, 3, 3, dtype='d'), z(1, 1, 1, 1)),
                InvalidType,
                'one dtype',
                'float32 and float64',
            ),
            bad(
                'offset',
                lambda: F.deformable_convolution_2d_sampler(z(1, 1, 3, 3), z(1, 6, 2, 2), z(1, 1, 2, 2)),
                ValueError,
                'two channels',
                '(1, 6, 2, 2)',
            ),
            bad(
                'size of offset',
                lambda: F.deformable_convolution_2d_sampler(z(1, 1, 3, 3), z(1, 8, 3, 3), z(1, 1, 2, 2)),
                InvalidType,
                '(1, 8, 2, 2)',
                '(1, 8, 3, 3)',
            ),
            bad(
                'channels',
                lambda: F.deformable_convolution_2d_sampler(z(1, 1, 3, 3), z(1, 8, 2, 2), z(1, 2, 2, 2)),
                InvalidType,
                'W.shape[1] = 2',
                '(1, 1, 3, 3)',
            ),
            bad(
                'axes',
                lambda: F.deformable_convolution_2d_sampler(z(1, 3, 3), z(1, 8, 2, 2), z(1, 1, 2, 2)),
                InvalidType,
                '4 axes',
                '(1, 3, 3)',
            ),
        ),
    ),
    Row(
        'shift',
        F.shift,
        _shift,
        (ANY,),
        (
            case((1, 11, 3, 2)),
            case((2, 7, 2, 3), ksize=(1, 3)),
            case((1, 9, 2, 4), ksize=3, dilate=2),
            case((1, 9, 1, 1), dilate=(1, 3)),
            case((0, 9, 2, 2)),
        ),
        order=3,
        label='Shift',
        except_from=PICKED,
        errors=(
            bad('wrong kind', lambda: F.shift(z(1, 9, 2, 2, dtype='i')), InvalidType, 'Shift', 'float', 'int32'),
            bad('even', lambda: F.shift(z(1, 9, 2, 2), 2), ValueError, 'odd', '2'),
            bad('channels', lambda: F.shift(z(1, 8, 2, 2)), InvalidType, '9 channels', '(1, 8, 2, 2)'),
            bad('axes', lambda: F.shift(z(9, 2, 2)), InvalidType, '4 axes', '(9, 2, 2)'),
            bad('dilate', lambda: F.shift(z(1, 9, 2, 2), 3, 0), ValueError, 'dilate', '0'),
            bad('float', lambda: F.shift(z(1, 9, 2, 2), 3.0), TypeError, 'ksize', '3.0'),
        ),
    ),
]
