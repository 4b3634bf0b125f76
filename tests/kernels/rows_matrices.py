"""Rows of kernels of products of matrices; and of what goes along with them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.kernels.drawing import Arguments, Row, drawn, each, transposed
from tests.kernels.kernels import threshold

# --- products ---
_ROWS, _COLUMNS, _ELEMENTS = (threshold('affine', name) for name in ('_ROWS', '_COLUMNS', '_ELEMENTS'))
_FIRST, _LAST, _DEPTH = _ROWS[0], _ROWS[-1], _ELEMENTS // _COLUMNS
#: On both sides of the numbers of rows, of columns, of elements, and of how long the rows must be.
_AFFINE = [(0, 3, 2), (1, 1, 1), (3, 0, 2), (3, 4, 0), (_FIRST - 1, 600, 130), (_FIRST, 600, 130), (_LAST, 512, 128),
           (_LAST + 1, 520, 128), (20, 600, _COLUMNS - 1), (20, 600, _COLUMNS), (8, _DEPTH - 1, _COLUMNS),
           (8, _DEPTH, _COLUMNS), (60, 239, 150), (60, 240, 150)]  # fmt: skip
_CONTRACTED = [('ij,jk->ik', (3, 4), (4, 5)), ('ij->ji', (3, 4)), ('ii->i', (4, 4)),
               ('ij,ij,k->k', (3, 2), (3, 2), (4,)), ('bij,bjk->bik', (2, 3, 4), (2, 4, 1)), ('ij->', (0, 4)),
               ('i,j->ij', (3,), (0,)), ('ii->', (3, 3))]  # fmt: skip


def _labels(text: str) -> tuple[list[list[int]], list[int]]:
    sources, target = text.split('->')
    return [[ord(c) for c in source] for source in sources.split(',')], [ord(c) for c in target]


def _einsum(k: Any, text: str, *xs: Any) -> Any:
    sources, target = _labels(text)
    return k(*xs, sources=[[label - 97 for label in s] for s in sources], target=[label - 97 for label in target])


def _summed(text: str, *xs: Any) -> Any:
    """Einstein summation, number by number."""
    sources, target = _labels(text)
    sizes = {label: n for s, x in zip(sources, xs, strict=True) for label, n in zip(s, x.shape, strict=True)}
    found = np.zeros([sizes[label] for label in target])
    for place in itertools.product(*map(range, sizes.values())):
        at = dict(zip(sizes, place, strict=True))
        found[tuple([at[label] for label in target])] += np.prod([
            x[tuple([at[label] for label in s])] for s, x in zip(sources, xs, strict=True)
        ])  # fmt: skip
    return found


def _sparse(dtype: str, batch: tuple[int, ...]) -> Arguments:
    """Entries of a matrix (4, 5), some twice, some not there; and a dense matrix (5, 3)."""
    random = np.random.RandomState(0)
    row, col = random.randint(-1, 4, (*batch, 9)), random.randint(-1, 5, (*batch, 9))
    return *drawn(dtype, (*batch, 9), (*batch, 5, 3)), row, col, 4


def _products_at(dtype: str, batch: tuple[int, ...]) -> Arguments:
    _, _, row, col, _ = _sparse(dtype, batch)
    return *drawn(dtype, (*batch, 4, 3), (*batch, 5, 3)), row, col


def _dense(data: Any, row: Any, col: Any, rows: int, columns: int) -> Any:
    found = np.zeros((*data.shape[:-1], rows, columns))
    for place in np.ndindex(data.shape):
        if row[place] >= 0 and col[place] >= 0:
            found[(*place[:-1], row[place], col[place])] += data[place]
    return found


def _picked_products(left: Any, right: Any, row: Any, col: Any) -> Any:
    whole, found = left @ right.swapaxes(-1, -2), np.zeros(row.shape)
    for place in np.ndindex(row.shape):
        if row[place] >= 0 and col[place] >= 0:
            found[place] = whole[(*place[:-1], row[place], col[place])]
    return found


_PRODUCTS = {
    'affine.affine': Row(
        each(lambda t, r, d, c: tuple(drawn(t, (r, d), (c, d), (c,))), *_AFFINE),
        plain=lambda x, W, b: np.einsum('rd,cd->rc', x, W) + b,
        dtypes='fd',
        contiguous=True,
    ),
    'affine.affine, no bias': Row(
        each(lambda t, r, d, c: tuple(drawn(t, (r, d), (c, d))), *_AFFINE),
        plain=lambda x, W: np.einsum('rd,cd->rc', x, W),
        dtypes='fd',
        contiguous=True,
        layouts=('C', 'F'),
    ),
    'affine.affine, float16': Row(
        each(lambda t, r, d, c: tuple(drawn(t, (r, d), (c, d))), *_AFFINE),
        plain=lambda x, W: np.einsum('rd,cd->rc', x, W),
        dtypes='e',
        contiguous=True,
        layouts=('C', 'F'),
        numpy_only=True,
    ),
    # cuBLAS may round partial sums to float16.
    'affine.affine, float16 on a device': Row(
        each(lambda t, r, d, c: tuple(drawn(t, (r, d), (c, d))), *_AFFINE),
        plain=lambda x, W: np.einsum('rd,cd->rc', x, W),
        dtypes='e',
        contiguous=True,
        layouts=('C', 'F'),
        roundings=2,
        relative_to='largest',
    ),
    'affine.sum_of_rows': Row(
        each(lambda t, *s: (drawn(t, s)[0],), (3, 4), (0, 3), (3, 0), (1000, 5), *[(n, 2) for n in range(1, 70)]),
        plain=lambda x: x.sum(axis=0),
    ),
    'products.einsum': Row(
        each(lambda t, text, *shapes: (text, *drawn(t, *shapes)), *_CONTRACTED), call=_einsum, plain=_summed
    ),
    'products.tensordot': Row(
        each(
            lambda t, a, b, axes: (*drawn(t, a, b), axes),
            ((3, 4, 5), (5, 3, 2), ((0, 2), (1, 0))), ((3,), (4,), ((), ())), ((0, 3), (3, 2), ((1,), (0,))),
        ),
        plain=lambda a, b, axes: np.einsum({2: 'ijk,kil->jl', 0: 'i,j->ij', 1: 'ij,jk->ik'}[len(axes[0])], a, b),
    ),
    'products.along_axes': Row(
        each(lambda t, *s: (drawn(t, s)[0], tuple(drawn('d', *[(n + 1, n) for n in s]))), (3, 4, 2), (5,), (0, 2)),
        plain=lambda x, matrices: _along_axes(x, matrices),
        host=(1,),
    ),
    'sparse.sparse_product': Row(
        each(_sparse, ((),), ((3,),)),
        plain=lambda data, dense, row, col, rows: _dense(data, row, col, rows, dense.shape[-2]) @ dense,
    ),
    'sparse.products_at': Row(each(_products_at, ((),), ((3,),)), plain=_picked_products),
}  # fmt: skip


def _along_axes(x: Any, matrices: Any) -> Any:
    return np.einsum({1: 'ia,a->i', 2: 'ia,jb,ab->ij', 3: 'ia,jb,kc,abc->ijk'}[x.ndim], *matrices, x)


# --- interpolation ---
def _taps(size: int, count: int) -> tuple[tuple[Any, Any], ...]:
    random = np.random.RandomState(size)
    return tuple([(random.randint(0, size, count), random.uniform(-1, 1, count)) for _ in range(2)])


def _matrix(taps: Any, size: int) -> Any:
    found = np.zeros((len(taps[0][0]), size))
    for indices, weights in taps:
        for row, (index, weight) in enumerate(zip(indices, weights, strict=True)):
            found[row, index] += weight
    return found


def _interpolated(x: Any, rows: Any, columns: Any) -> Any:
    return np.einsum('ph,bchw,qw->bcpq', _matrix(rows, x.shape[2]), x, _matrix(columns, x.shape[3]))


def _grid(theta: Any, size: tuple[int, int]) -> Any:
    found = np.empty((len(theta), 2, *size))
    for i, j in np.ndindex(*size):
        x, y = (-1 if n == 1 else 2 * at / (n - 1) - 1 for at, n in ((j, size[1]), (i, size[0])))
        found[:, :, i, j] = theta @ [x, y, 1]
    return found


_IMAGES = [(2, 3, 4, 5), (0, 2, 1, 3), (1, 0, 2, 2)]
_INTERPOLATION = {
    'interpolation.interpolated': Row(
        each(lambda t, *s: (drawn(t, s)[0], _taps(s[2], 6), _taps(s[3], 2)), *_IMAGES),
        plain=_interpolated,
        host=(1, 2),
    ),
    'interpolation.uninterpolated': Row(
        each(lambda t, *s: (drawn(t, (*s[:2], 6, 2))[0], s, _taps(s[2], 6), _taps(s[3], 2)), *_IMAGES),
        plain=lambda y, s, rows, columns: transposed(lambda x: _interpolated(x, rows, columns), s, y),
        host=(2, 3),
    ),
    'interpolation.affine_grid': Row(
        each(lambda t, n, *size: (drawn(t, (n, 2, 3))[0], size), (2, 3, 4), (0, 2, 2), (1, 1, 5), (1, 0, 2)),
        plain=_grid,
    ),
    'interpolation.theta_gradient': Row(
        each(lambda t, n, *size: (drawn(t, (n, 2, *size))[0], size), (2, 3, 4), (0, 2, 2), (1, 1, 5), (1, 0, 2)),
        plain=lambda y, size: transposed(lambda theta: _grid(theta, size), (len(y), 2, 3), y),
    ),
}


# --- an array repeated along leading axes ---
_REPEATED = [((3, 4), (4,)), ((200, 100), (100,)), ((20, 30, 40), (30, 40)), ((200, 100), ()), ((200, 100), (200, 1)),
             ((200, 100), (200, 100)), ((0, 4), (4,)), ((4,), (3, 4))]  # fmt: skip
_LEADING = {
    'repeated.plus': Row(each(lambda t, *shapes: tuple(drawn(t, *shapes)), *_REPEATED), plain=lambda x, y: x + y),
    'repeated.times': Row(each(lambda t, *shapes: tuple(drawn(t, *shapes)), *_REPEATED), plain=lambda x, y: x * y),
}


# --- images sampled at points ---
_SAMPLED = [(2, 3, 3, 5, 2, 4), (1, 1, 1, 1, 1, 2), (2, 2, 5, 3, 20, 30), (0, 1, 3, 5, 2, 2), (1, 2, 3, 5, 0, 2)]


def _points(batch: int, size: tuple[int, ...], dtype: str) -> Any:
    """Sixteenths from -1.5 to 1.5, some outside; exact in float16, and so is what is computed of them."""
    return np.asarray(np.random.RandomState(3).randint(-12, 12, (batch, 2, *size)) / 8 + 1 / 16).astype(dtype)


def _at_points(x: Any, grid: Any) -> Any:
    """Pixel by pixel: its weight falls to 0 at the distance of the next one."""
    found = np.zeros((*x.shape[:2], *grid.shape[2:]))
    columns, rows = ((grid[:, i] + 1) * (n - 1) / 2 for i, n in enumerate(x.shape[:1:-1]))
    for i, j in np.ndindex(*x.shape[2:]):
        weights = np.maximum(1 - abs(rows - i), 0) * np.maximum(1 - abs(columns - j), 0)
        found += x[:, :, i, j, None, None] * weights[:, None]
    return found


def _slopes_at_points(gy: Any, x: Any, grid: Any) -> Any:
    """Between pixels the result is linear along each axis, so that differences are exact."""
    step, found = 1 / 32, np.zeros(grid.shape)
    for i in range(2):
        shift = np.zeros((1, 2, 1, 1))
        shift[:, i] = step
        found[:, i] = (gy * (_at_points(x, grid + shift) - _at_points(x, grid - shift))).sum(1) / (2 * step)
    return found


_IMAGES = [((2, 3, 4, 5),), ((1, 1, 1, 1),), ((0, 2, 3, 3),)]


def _plain_pixels(x: Any) -> Any:
    return np.concatenate([*np.moveaxis(x, 1, 3).reshape(-1, 1, x.shape[1]), np.zeros((1, x.shape[1]))])


def _numbers_of(rows: Any, columns: Any, shape: tuple[int, ...]) -> Any:
    n, _, height, width = shape
    found = np.full(rows.shape, n * height * width)
    for k, b, p in np.ndindex(*rows.shape):
        i, j = rows[k, b, p], columns[k, b, p]
        if 0 <= i < height and 0 <= j < width:
            found[k, b, p] = (b * height + i) * width + j
    return found.reshape(len(rows), -1)


def _whole(dtype: str, *shape: int) -> Any:
    """Rows and columns, some outside, some NaN."""
    rng = np.random.RandomState(4)
    rows, columns = rng.randint(-1, 5, (2, *shape)).astype(dtype)
    rows[..., :1] = np.nan
    return rows, columns


_SAMPLING = {
    'sampling.pixel_rows': Row(each(lambda t, shape: drawn(t, shape), *_IMAGES), plain=_plain_pixels, tolerance=0),
    'sampling.images_of_rows': Row(
        each(lambda t, s: (drawn(t, (s[0] * s[2] * s[3] + 1, s[1]))[0], s), *_IMAGES),
        plain=lambda rows, s: np.moveaxis(rows[:-1].reshape(s[0], s[2], s[3], s[1]), 3, 1),
        tolerance=0,
        shares=True,
    ),
    'sampling.weighted_rows': Row(
        each(lambda t, k, n, c: drawn(t, (k, n, c), (k, n, 1)), (4, 6, 3), (1, 2, 2), (2, 0, 3)),
        plain=lambda values, weights: (values * weights).sum(0),
        dtypes='fd',  # the functions compute half precision in float32
    ),
    'sampling.row_numbers': Row(
        each(
            lambda t, k, shape, n: (*_whole(t, k, shape[0], n), shape),
            (4, (2, 3, 4, 5), 6),
            (1, (1, 1, 4, 3), 2),
            (2, (0, 1, 3, 3), 2),
        ),
        plain=_numbers_of,
        tolerance=0,
        dtypes_of_result=('int64',),
    ),
    'sampling.sampled': Row(
        each(lambda t, n, c, h, w, *size: (drawn(t, (n, c, h, w))[0], _points(n, size, t)), *_SAMPLED),
        plain=_at_points,
        roundings=8,
    ),
    'sampling.images_gradient': Row(
        each(lambda t, n, c, h, w, *size: (drawn(t, (n, c, *size))[0], _points(n, size, t), (n, c, h, w)), *_SAMPLED),
        plain=lambda gy, grid, shape: transposed(lambda x: _at_points(x, grid), shape, gy),
        tolerance=64,
        roundings=64,
    ),
    'sampling.points_gradient': Row(
        each(lambda t, n, c, h, w, *size: (*drawn(t, (n, c, *size), (n, c, h, w)), _points(n, size, t)), *_SAMPLED),
        plain=_slopes_at_points,
        tolerance=64,
        roundings=16,
    ),
}


# --- neighbouring channels, constants ---
def _neighbours(x: Any, n: int) -> Any:
    found = np.zeros(x.shape)
    for i, j in itertools.product(range(x.shape[1]), repeat=2):
        found[:, i] += x[:, j] * (abs(i - j) <= n // 2)
    return found


def _by_dtype(make: Callable[[np.dtype], Any]) -> Callable[[str], Iterator[Arguments]]:
    return lambda dtype: iter([(make(np.dtype(dtype)),)])


_CHANNELS = [((2, 6, 3), 3), ((2, 6), 4), ((1, 5, 2, 2), 1), ((2, 3, 2), 9), ((0, 3, 2), 3), ((2, 1, 2), 5)]
_OTHERS = {
    'neighbours.sums': Row(
        each(lambda t, s, n: (drawn(t, s)[0], n), *_CHANNELS), plain=_neighbours, relative_to='one', roundings=4
    ),
    'neighbours.normalize': Row(
        each(lambda t, s, n: (drawn(t, s)[0], n, 1.5, 0.3, 0.75), *_CHANNELS),
        plain=lambda x, n, k, alpha, beta: x / (k + alpha * _neighbours(x * x, n)) ** beta,
    ),
    'constants.zero': Row(
        _by_dtype(lambda dtype: dtype), plain=lambda dtype: np.zeros((), dtype), tolerance=0, dtypes='efdi'
    ),
    'precision.accumulator': Row(
        _by_dtype(lambda dtype: dtype), plain=lambda dtype: np.dtype('f') if dtype == 'e' else dtype,
        dtypes='efdi',
    ),
    'precision.in_float32': Row(
        each(lambda t, s: (drawn(t, s)[0],), ((3, 4),), ((),), ((0,),)),
        plain=lambda x: x, dtypes_of_result=('computed',), shares=True,
    ),
}  # fmt: skip
ROWS = {**_PRODUCTS, **_INTERPOLATION, **_LEADING, **_SAMPLING, **_OTHERS}
