"""Rows of the other kernels: arguments, and the plain form that they are compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from minichainer.kernels._windows import Geometry
from minichainer.kernels.attention import Weighting
from minichainer.kernels.roi import Picked
from tests.kernels.kernels import kernel, threshold

Arguments = tuple[Any, ...]


@dataclass
class Row:
    """A kernel's arguments, and a plain function of the same arguments."""

    cases: Callable[[str], Iterator[Arguments]]
    plain: Callable[..., Any]
    dtypes: str = 'fd'
    #: In units of the dtype's precision, relative to the largest number.
    tolerance: float = 16
    #: Whether arrays may lie in memory in any way.
    any_layout: bool = True
    #: What of the kernel's result is compared.
    part: Callable[[Any], Any] = lambda y: y
    #: The result's dtype, where it is not that of the first array.
    dtype: str | None = None


def drawn(dtype: str, *shapes: tuple[int, ...], seed: int = 0) -> list[Any]:
    random = np.random.RandomState(seed)
    return [np.asarray(random.uniform(-1, 1, shape)).astype(dtype) for shape in shapes]


# --- windows over images --------------------------------------------------------------------------------------
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
SPREAD = [_geometry((7, 6), (3, 2), (1, 2), (2, 1), (2, 1)), _geometry((), (), (), ())]
COUNTS = [(0, 2), (2, 1), (2, 3), (3, 4)]


def _windows(
    of: Callable[..., Arguments], geometries: Any = PLANES, counts: Any = COUNTS
) -> Callable[[str], Iterator[Arguments]]:
    """Arguments by geometry, number of images and number of channels."""

    def cases(dtype: str) -> Iterator[Arguments]:
        for geometry in geometries:
            for n, c in counts:
                yield of(dtype, geometry, n, c)

    return cases


def _filters(dtype: str, g: Geometry, n: int, c: int) -> list[Any]:
    """Images, filters, upstream gradients, biases of both sides."""
    o = 2 * g.groups
    return drawn(dtype, (n, c * g.groups, *g.in_size), (o, c, *g.ksize), (n, o, *g.out_size), (o,), (c * g.groups,))


def _depthwise(dtype: str, g: Geometry, n: int, c: int) -> tuple[list[Any], Geometry]:
    """Images and upstream gradients with their channels last, filters between them."""
    c = c + 1
    x, W, gy = drawn(dtype, (n, *g.in_size, c), (2 * c, 1, *g.ksize), (n, *g.out_size, 2 * c))
    return [x, W, gy], g._replace(groups=c)


def _last(x: Any) -> Any:
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


def _second(x: Any) -> Any:
    return np.moveaxis(x, -1, 1)


def _taken(x: Any, g: Geometry, value: float = 0) -> Any:
    """All windows, (N, C, places, elements)."""
    windows = kernel('pooling.windows_reference')(x, g, value)
    return windows.reshape(*x.shape[:2], int(np.prod(g.out_size)), int(np.prod(g.ksize)))


def _patches(x: Any, g: Geometry) -> Any:
    return _taken(x, g).swapaxes(2, 3).reshape(*x.shape[:2], *g.ksize, *g.out_size)


def transposed(f: Callable[[Any], Any], shape: tuple[int, ...], y: Any) -> Any:
    """What the transpose of a linear map of arrays of that shape makes of ``y``: unit by unit."""
    size = int(np.prod(shape))
    found = np.zeros(size)
    for i, unit in enumerate(np.eye(size)):
        found[i] = (f(unit.reshape(shape)) * y).sum()
    return found.reshape(shape)


def _image_shape(y: Any, g: Geometry) -> tuple[int, ...]:
    return (*y.shape[:2], *g.in_size)


def _own_filters(dtype: str, g: Geometry, n: int, c: int) -> list[Any]:
    return drawn(dtype, (n, c, *g.in_size), (2, *g.out_size, c, *g.ksize), (n, 2, *g.out_size))


def _matrices(W: Any, g: Geometry) -> Any:
    """Filters of each place, (O, places, C, elements)."""
    n = len(g.ksize)
    return W.reshape(len(W), int(np.prod(g.out_size)), W.shape[n + 1], int(np.prod(g.ksize)))


def _flat(y: Any) -> Any:
    return y.reshape(*y.shape[:2], int(np.prod(y.shape[2:])))


def _local_data_gradient(gy: Any, W: Any, g: Geometry) -> Any:
    columns = np.einsum('nop,opce->ncep', _flat(gy), _matrices(W, g))
    shape = (len(gy), columns.shape[1], *g.in_size)
    return transposed(lambda x: _patches(x, g), shape, columns.reshape(*shape[:2], *g.ksize, *g.out_size))


def _local_filter_gradient(x: Any, gy: Any, g: Geometry) -> Any:
    found = np.einsum('nop,ncpe->opce', _flat(gy), _taken(x, g))
    return found.reshape(gy.shape[1], *g.out_size, x.shape[1], *g.ksize)


def _pooled(dtype: str, g: Geometry, n: int, c: int) -> tuple[Any, Any, Any]:
    """Images with ties, NaN and infinities, their maxima, and the maxima's places."""
    (x,) = drawn(dtype, (n, c, *g.in_size))
    x = (4 * x).round()
    x.reshape(-1)[: min(3, x.size) * (c > 2)] = [np.nan, np.inf, -np.inf][: min(3, x.size) * (c > 2)]
    return x, kernel('pooling.maxima_reference')(x, g), kernel('pooling.places_of_maxima_reference')(x, g)


def _outputs(dtype: str, g: Geometry, n: int, c: int) -> Any:
    return drawn(dtype, (n, c, *g.out_size))[0]


# For plain forms that go through each unit.
SMALL, FEW = PLANES[:3], [(0, 2), (2, 1), (1, 2)]
GROUPED = [*PLANES, *SPREAD, PLANES[0]._replace(groups=2), PLANES[1]._replace(groups=3)]
THREES = [_geometry((5, 6), (3, 3), (1, 1), (1, 0)), _geometry((4, 4), (3, 3), (1, 1), (1, 1))]

WINDOWS = {
    'convolution.convolve': Row(
        _windows(lambda *a: (np, *_filters(*a)[:2], _filters(*a)[3], a[1]), GROUPED),
        lambda xp, *args: kernel('convolution.convolve_reference')(*args),
    ),
    'convolution.convolve, no bias': Row(
        _windows(lambda *a: (np, *_filters(*a)[:2], None, a[1]), GROUPED),
        lambda xp, *args: kernel('convolution.convolve_reference')(*args),
        dtypes='e',
        tolerance=2,
    ),
    'convolution.data_gradient': Row(
        _windows(lambda *a: (np, *_filters(*a)[2:0:-1], _filters(*a)[4], a[1]), GROUPED),
        lambda xp, *args: kernel('convolution.data_gradient_reference')(*args),
    ),
    'convolution.filter_gradient': Row(
        _windows(lambda *a: (np, *_filters(*a)[:3:2], a[1]), GROUPED),
        lambda xp, *args: kernel('convolution.filter_gradient_reference')(*args),
    ),
    'convolution.sum_of_channels': Row(
        _windows(lambda *a: (np, _filters(*a)[0])), lambda xp, x: x.sum(axis=(0, *range(2, x.ndim)))
    ),
    'depthwise.convolve': Row(
        _windows(lambda *a: (*_depthwise(*a)[0][:2], _depthwise(*a)[1]), [*PLANES, SPREAD[0]]),
        lambda x, W, g: _last(kernel('convolution.convolve_reference')(_second(x), W, None, g)),
        any_layout=False,
    ),
    'depthwise.data_gradient': Row(
        _windows(lambda *a: (*_depthwise(*a)[0][2:0:-1], _depthwise(*a)[1]), [*PLANES, SPREAD[0]]),
        lambda gy, W, g: _last(kernel('convolution.data_gradient_reference')(_second(gy), W, None, g)),
        any_layout=False,
    ),
    'depthwise.filter_gradient': Row(
        _windows(lambda *a: (*_depthwise(*a)[0][:3:2], _depthwise(*a)[1]), [*PLANES, SPREAD[0]]),
        lambda x, gy, g: kernel('convolution.filter_gradient_reference')(_second(x), _second(gy), g),
        any_layout=False,
    ),
    'winograd.convolve': Row(
        _windows(lambda *a: (_last(_filters(*a)[0]), _filters(*a)[1], a[1]), THREES),
        lambda x, W, g: _last(kernel('convolution.convolve_reference')(_second(x), W, None, g)),
        any_layout=False,
    ),
    'winograd.filter_gradient': Row(
        _windows(lambda *a: (*map(_last, _filters(*a)[:3:2]), a[1]), THREES),
        lambda x, gy, g: kernel('convolution.filter_gradient_reference')(_second(x), _second(gy), g),
        any_layout=False,
    ),
    'patches.patches': Row(
        _windows(lambda *a: (np, _filters(*a)[0], a[1]), [*PLANES, SPREAD[0]]), lambda xp, x, g: _patches(x, g)
    ),
    'patches.add_patches': Row(
        _windows(lambda *a: (np, _patches(_filters(*a)[0], a[1]), a[1]), SMALL, FEW),
        lambda xp, y, g: transposed(lambda x: _patches(x, g), _image_shape(y, g), y),
    ),
    'patches.local_convolve': Row(
        _windows(lambda *a: (np, *_own_filters(*a)[:2], a[1])),
        lambda xp, x, W, g: np.einsum('ncpe,opce->nop', _taken(x, g), _matrices(W, g)).reshape(
            len(x), len(W), *g.out_size
        ),
    ),
    # Its own plain form is for images without padding.
    'patches.local_convolve, unpadded': Row(
        _windows(lambda *a: (np, *_own_filters(*a)[:2], a[1]), [PLANES[2], PLANES[3]]),
        lambda xp, *args: kernel('patches.local_convolve_reference')(*args),
    ),
    'patches.local_data_gradient': Row(
        _windows(lambda *a: (np, *_own_filters(*a)[2:0:-1], a[1]), SMALL, FEW),
        lambda xp, gy, W, g: _local_data_gradient(gy, W, g),
    ),
    'patches.local_filter_gradient': Row(
        _windows(lambda *a: (np, *_own_filters(*a)[:3:2], a[1])), lambda xp, *args: _local_filter_gradient(*args)
    ),
    'pooling.maxima': Row(
        _windows(lambda *a: (np, _pooled(*a)[0], a[1])),
        lambda xp, *args: kernel('pooling.maxima_reference')(*args),
        dtypes='efd',
        tolerance=0,
    ),
    'pooling.places_of_maxima': Row(
        _windows(lambda *a: (np, *_pooled(*a)[:2], a[1])),
        lambda xp, x, y, g: kernel('pooling.places_of_maxima_reference')(x, g),
        dtype='B',
    ),
    'pooling.pick': Row(
        _windows(lambda *a: (np, _pooled(*a)[0], _pooled(*a)[2].astype('B'), a[1])),
        lambda xp, *args: kernel('pooling.pick_reference')(*args),
        tolerance=0,
    ),
    'pooling.spread': Row(
        _windows(lambda *a: (np, _outputs(*a), _pooled(*a)[2].astype('B'), a[1]), SMALL, FEW),
        lambda xp, gy, places, g: transposed(
            lambda x: kernel('pooling.pick_reference')(x, places, g), _image_shape(gy, g), gy
        ),
    ),
    **{
        f'pooling.means, {counted}': Row(
            _windows(lambda *a, counted=counted: (np, _filters(*a)[0], a[1], counted)),
            lambda xp, *args: kernel('pooling.means_reference')(*args),
        )
        for counted in (False, True)
    },
    **{
        f'pooling.spread_means, {counted}': Row(
            _windows(lambda *a, counted=counted: (np, _outputs(*a), a[1], counted), SMALL, FEW),
            lambda xp, gy, g, counted: transposed(
                lambda x: kernel('pooling.means_reference')(x, g, counted), _image_shape(gy, g), gy
            ),
        )
        for counted in (False, True)
    },
    'pooling.sums': Row(
        _windows(lambda *a: (np, _filters(*a)[0], a[1])),
        lambda xp, x, g: _taken(x, g).sum(axis=3).reshape(*x.shape[:2], *g.out_size),
    ),
    'pooling.spread_sums': Row(
        _windows(lambda *a: (np, _outputs(*a), a[1]), SMALL, FEW),
        lambda xp, gy, g: transposed(lambda x: _taken(x, g).sum(axis=3).reshape(gy.shape), _image_shape(gy, g), gy),
    ),
}


# --- products, sums along axes --------------------------------------------------------------------------------
def _each(*arguments: Callable[[str], Arguments]) -> Callable[[str], Iterator[Arguments]]:
    return lambda dtype: (make(dtype) for make in arguments)


_LEAST = threshold('softmax', '_MANY')
_SOFTMAX = [((3, 4), 1), ((3, 4), 0), ((0, 3), 1), ((2, _LEAST // 2 - 1), 1), ((2, _LEAST // 2), 1), ((2, 3, 900), 2),
            ((3000, 3), 0), ((2, threshold('softmax', '_LONG') + 1), 1)]  # fmt: skip
_AFFINE = [(0, 3, 2), (1, 1, 1), (3, 0, 2), (3, 4, 0), (3, 600, 130), (4, 600, 130), (128, 512, 128), (129, 520, 128)]
_REDUCED = [((3, 4), (1,)), ((0, 4), (1,)), ((1023, 4), (1,)), ((1024, 4), (1,)), ((64, 8, 16), (2,)),
            ((64, 8, 17), (2,)), ((2000, 4), (0,)), ((2000, 4), None), ((9000, 1), (1,))]  # fmt: skip
_LINES = [((3, 4), 1), ((0, 3), 0), ((63, 260), 0), ((64, 256), 0), ((256, 64), 1), ((20, 30, 40), 1), ((2, 9000), 1)]
_SCATTERED = [((30, 7), ([3, 3, -1],)), ((30, 700), ([3, 3, -1] * 10,)), ((700, 30), (slice(None), [3, 3, -1] * 10)),
              ((20, 30, 40), (slice(None), [[0, 29], [3, 3]])), ((30, 700), ([2, 2], [3, 3])),
              ((300, 70), (None, [2, 2] * 30))]  # fmt: skip
_LINES_BY_ROWS = _LINES[3:6]


def _recurrence(g: Any, a: Any, axis: int, flip: bool) -> Any:
    g, a = (np.moveaxis(np.flip(v, axis) if flip else v, axis, 0) for v in (g, a))
    found = g.copy()
    for i in range(1, len(g)):
        found[i] += a[i] * found[i - 1]
    found = np.moveaxis(found, 0, axis)
    return np.flip(found, axis) if flip else found


def _cofactors(a: Any) -> Any:
    found = np.empty(a.shape)
    for *at, i, j in np.ndindex(*a.shape):
        minor = np.delete(np.delete(a[tuple(at)], i, 0), j, 1)
        found[(*at, i, j)] = (-1) ** (i + j) * np.linalg.det(minor)
    return found


def _lower(dtype: str, n: int) -> Any:
    return np.tril(drawn(dtype, (n, n))[0] * np.asarray(0.1, dtype) + 2 * np.eye(n, dtype=dtype))


def _indices(slices: Any) -> tuple[Any, ...]:
    return tuple(np.asarray(s) if isinstance(s, list) else s for s in slices)


def _scatter(dtype: str, shape: Any, slices: Any) -> Arguments:
    slices = _indices(slices)
    return drawn(dtype, np.zeros(shape)[slices].shape)[0], slices, shape


def _scores(reference: str) -> Row:
    cases = _each(*[lambda t, s=s, axis=axis: (8 * drawn(t, s)[0], axis) for s, axis in _SOFTMAX])
    return Row(cases, kernel(reference), tolerance=1024)  # NumPy adds up along a strided axis one by one


def _gradients(reference: str) -> Row:
    cases = _each(*[lambda t, s=s, axis=axis: (*drawn(t, s, s), axis) for s, axis in _SOFTMAX[:-1]])
    return Row(cases, kernel(reference), tolerance=1024)


SUMS = {
    'affine.affine': Row(
        _each(*[lambda t, r=r, d=d, c=c: tuple(drawn(t, (r, d), (c, d), (c,))) for r, d, c in _AFFINE]),
        kernel('affine.affine_reference'),
        tolerance=600,
    ),
    'softmax.softmax': _scores('softmax.softmax_reference'),
    'softmax.log_softmax': _scores('softmax.log_softmax_reference'),
    'softmax.softmax_gradient': _gradients('softmax.softmax_gradient_reference'),
    'softmax.log_softmax_gradient': _gradients('softmax.log_softmax_gradient_reference'),
    'softmax.total': Row(
        _each(*[lambda t, s=s, axis=axis: (drawn(t, s)[0], axis) for s, axis in _SOFTMAX]),
        lambda x, axis: x.sum(axis, keepdims=True),
        tolerance=1024,
    ),
    'ctc.log_softmax': Row(
        _each(*[lambda t, s=s: (np, 8 * drawn(t, s)[0]) for s in ((4, 3, 5), (0, 3, 5), (1, 1, 1))]),
        lambda xp, x: kernel('softmax.log_softmax_reference')(x, 2),
    ),
    **{
        f'reductions.reduced, {ufunc.__name__}': Row(
            _each(
                *[
                    lambda t, s=s, axis=axis, keep=keep, ufunc=ufunc: (ufunc, drawn(t, s)[0], axis, keep)
                    for s, axis in _REDUCED
                    for keep in (False, True)
                ]
            ),
            kernel('reductions.reduced_reference'),
            tolerance=1024,
        )
        for ufunc in (np.add, np.maximum, np.minimum)
    },
    **{
        f'running.accumulated, {ufunc.__name__}': Row(
            _each(
                *[
                    lambda t, s=s, axis=axis, flip=flip, ufunc=ufunc: (ufunc, drawn(t, s)[0], axis, flip)
                    for s, axis in _LINES
                    for flip in (False, True)
                ]
            ),
            kernel('running.accumulated_reference'),
            tolerance=1024,
        )
        for ufunc in (np.add, np.multiply)
    },
    'running.recurrence': Row(
        _each(
            *[
                lambda t, s=s, axis=axis, flip=flip: (*drawn(t, s, s), axis, flip)
                for s, axis in _LINES_BY_ROWS
                for flip in (False, True)
            ]
        ),
        _recurrence,
    ),
    'scattering.scattered': Row(
        _each(*[lambda t, s=s, slices=slices: _scatter(t, s, slices) for s, slices in _SCATTERED]),
        kernel('scattering.scattered_reference'),
    ),
    'scattering.sums_of_rows': Row(
        _each(
            *[
                lambda t, n=n, d=d, count=count: (drawn(t, (n, d))[0], np.arange(n) % (2 * count) - count, count)
                for n, d, count in ((7, 3, 5), (31, 33, 5), (32, 32, 5), (170, 200, 50), (0, 3, 5), (3, 0, 2))
            ]
        ),
        kernel('scattering.sums_of_rows_reference'),
        tolerance=64,
    ),
    'triangular.lower_inverse': Row(
        _each(*[lambda t, n=n: (_lower(t, n),) for n in (1, 5, 23, 24, 60)]),
        kernel('triangular.lower_inverse_reference'),
        tolerance=64,
    ),
    'cofactors.cofactors': Row(
        _each(*[lambda t, s=s: (np, drawn(t, s)[0]) for s in ((2, 2), (5, 3, 3), (2, 2, 4, 4), (0, 3, 3))]),
        lambda xp, a: _cofactors(a),
        tolerance=64,
    ),
    'cofactors.change_of_cofactors': Row(
        _each(*[lambda t, s=s: (np, *drawn(t, s, s)) for s in ((2, 2), (5, 3, 3), (2, 4, 4))]),
        lambda xp, a, step: (_cofactors(a + 1e-5 * step) - _cofactors(a - 1e-5 * step)) / 2e-5,
        dtypes='d',
        tolerance=1e6,  # of the difference quotient
    ),
}


# --- regions of images, attention -----------------------------------------------------------------------------
_IMAGES = np.array([1, 0, 1, 2])


def _regions(dtype: str, channels: int) -> list[Any]:
    """Images, weights of rows and columns, gradients."""
    return drawn(dtype, (3, channels, 4, 5), (4, 2, 4), (4, 3, 5), (4, channels, 2, 3))


def _picked(channels: int, dtype: str) -> Picked:
    random = np.random.RandomState(0)
    shape = (2, 4, channels, 2, 3)
    weights = (random.uniform(0, 1, shape) * (random.rand(*shape) < 0.7)).astype(dtype)
    return Picked(random.randint(0, 3 * channels * 20, shape), weights)


def _put(xp: Any, gy: Any, picked: Picked, shape: Any) -> Any:
    found = np.zeros(int(np.prod(shape)))
    np.add.at(found, picked.places, gy * picked.weights)
    return found.reshape(shape)


def _attend(xp: Any, q: Any, k: Any, v: Any, weighting: Weighting) -> Any:
    scores = np.einsum('bhle,bhse->bhls', q, k) * weighting.scale
    if weighting.causal:
        scores = np.where(np.tri(*scores.shape[2:], dtype='?'), scores, -np.inf)
    if weighting.mask is not None:
        scores = np.where(weighting.mask, scores, -np.inf) if weighting.mask.dtype == '?' else scores + weighting.mask
    with np.errstate(invalid='ignore'):
        weights = np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf))
        weights = np.nan_to_num(weights / weights.sum(-1, keepdims=True))
    return (weights if weighting.drop is None else weights * weighting.drop) @ v


def _attention(dtype: str) -> Iterator[Arguments]:
    random = np.random.RandomState(0)
    for b, h, n, s in ((1, 1, 1, 1), (2, 3, 6, 7), (2, 2, 40, 33), (0, 2, 3, 4), (2, 1, 3, 0)):
        q, k, v, drop = drawn(dtype, (b, h, n, 4), (b, h, s, 4), (b, h, s, 5), (b, h, n, s))
        for causal in (False, True):
            for mask in (None, random.rand(b, 1, n, s) < 0.6, drawn(dtype, (1, 1, n, s))[0]):
                yield np, 6 * q, k, v, Weighting(0.5, causal, mask, drop if causal else None)


REGIONS = {
    'roi.project': Row(
        _each(*[lambda t, c=c: (np, *_regions(t, c)[:3], _IMAGES) for c in (1, 3, 0)]),
        lambda xp, x, rows, columns, images: np.einsum('rhi,rcij,rwj->rchw', rows, x[images], columns),
        dtypes='fd',
    ),
    'roi.back_project': Row(
        _each(*[lambda t, c=c: (np, _regions(t, c)[3], *_regions(t, c)[1:3], _IMAGES, 3) for c in (1, 3)]),
        lambda xp, gy, rows, columns, images, n: transposed(
            lambda x: np.einsum('rhi,rcij,rwj->rchw', rows, x[images], columns), (n, gy.shape[1], 4, 5), gy
        ),
    ),
    'roi.pick': Row(
        _each(*[lambda t, c=c: (np, _regions(t, c)[0], _picked(c, t)) for c in (1, 3)]),
        lambda xp, x, picked: (x.reshape(-1)[picked.places] * picked.weights).sum(axis=0),
    ),
    'roi.put': Row(
        _each(*[lambda t, c=c: (np, _regions(t, c)[3], _picked(c, t), (3, c, 4, 5)) for c in (1, 3)]), _put
    ),
    'attention.attend': Row(_attention, _attend, tolerance=64, part=lambda y: y[0]),
}

ROWS = {**WINDOWS, **SUMS, **REGIONS}
