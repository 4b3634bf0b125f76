"""Rows of kernels of normalization: of channels, of rows and groups, of vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minichainer.kernels.normalization import Moments, channels_of
from minichainer.kernels.sample_normalization import Groups
from tests.kernels.comparing import IMAGES
from tests.kernels.drawing import Arguments, Row, drawn, each, same, wanted, without_wanted
from tests.kernels.kernels import kernel, threshold

EPS, PIECE, FAR = 1e-3, threshold('normalization', 'PIECE'), threshold('normalization', 'FAR')


def _with_mean(x: Any, mean: float, deviation: float = 1.0) -> Any:
    """The array's numbers with a mean, in deviations."""
    return (mean * deviation + x * (deviation * math.sqrt(3))).astype(x.dtype)


# --- channels ---
#: Shapes, axes of the statistics, and the mean in deviations: on both sides of what is shifted, and of one piece.
_SHAPES = [((4, 3, 5), (0, 2), 0), ((6, 4), (0,), 50), ((2, 3, 4, 4), (0, 2, 3), 0), ((3, 4), (), 0), ((5,), (0,), 0),
           ((2, 3, 4), (1,), 50), ((2, 3, 4), (0,), 0), ((0, 3, 2), (0, 2), 0), ((2, 0, 2), (0, 2), 0),
           ((1, 1, 1), (0, 2), 0), ((500, 3), (0,), FAR - 0.3), ((500, 3), (0,), FAR + 0.3),
           ((2, 5, 40), (0, 2), -30),
           ((40, 300, 2), (0, 2), 0), ((30, 600), (0,), 9), ((3, 37, 7), (0, 2), 0)]  # fmt: skip
_LARGE = [((300, PIECE // 300 - 1), (0,), 0), ((300, PIECE // 150), (0,), 20), ((4, 3, PIECE // 8), (0, 2), 0)]
_FEW = _SHAPES[:3]


def _spread(values: Any, x: Any, axes: Any) -> Any:
    """One number per channel, in the shape that broadcasts against the array."""
    return values.reshape([1 if i in axes else n for i, n in enumerate(x.shape)])


def _numbers(x: Any, axes: Any, count: int) -> list[Any]:
    size = int(np.prod([n for i, n in enumerate(x.shape) if i not in axes]))
    return drawn(x.dtype.char, *[(size,)] * count, seed=2)


def _arrays(dtype: str, shape: Any, axes: Any, mean: float) -> tuple[Any, Any, Any]:
    """x, the upstream gradient, the axes."""
    x, gy = drawn(dtype, shape, shape)
    return _with_mean(x, 0 if dtype == 'e' else mean), gy, axes


def _mean(x: Any, axes: Any) -> Any:
    return x.mean(axes, keepdims=True) if x.size else np.zeros([1 if i in axes else n for i, n in enumerate(x.shape)])


def _moments_plain(x: Any, axes: Any) -> Any:
    mean = _mean(x, axes)
    return mean.reshape(-1), _mean((x - mean) ** 2, axes).reshape(-1)


def _on_laid(count: int) -> Callable[..., Any]:
    """Calls a kernel of laid arrays, the first ones, with how their channels lie; and lays the first result back."""

    def call(k: Any, axes: Any, *args: Any) -> Any:
        channels = channels_of(args[count - 1], axes)
        found = k(*[channels.lay(a) for a in args[:count]], channels, *args[count:])
        return channels.unlay(found) if hasattr(found, 'dtype') else found

    return call


def _moments(k: Any, x: Any, axes: Any) -> Any:
    channels = channels_of(x, axes)
    found = k(channels.lay(x), channels)
    return found.true_mean, found.var


def _statistics(k: Any, x: Any, axes: Any) -> Any:
    found = k(x, axes).moments
    return found.true_mean, found.var


def _scaled(axes: Any, x: Any, shift: Any, scale: Any, bias: Any) -> Any:
    shift, scale, bias = (0 if v is None else _spread(v, x, axes) for v in (shift, scale, bias))
    return (x - shift) * scale + bias


def _combined(axes: Any, g: Any, x: Any, shift: Any, a: Any, b: Any, c: Any) -> Any:
    shift, a, b, c = (0 if v is None else _spread(v, x, axes) for v in (shift, a, b, c))
    return a * (g + b * (x - shift)) + c


def _sums_with(axes: Any, g: Any, x: Any, shift: Any) -> Any:
    shift = 0 if shift is None else _spread(shift, x, axes)
    return g.sum(axes).reshape(-1), (g * (x - shift)).sum(axes).reshape(-1)


def _of_channels(arrays: int, numbers: int) -> Callable[..., Arguments]:
    """Axes, arrays, a shift or none, and numbers of each channel."""

    def make(dtype: str, shape: Any, axes: Any, mean: float) -> Arguments:
        x, gy, _ = _arrays(dtype, shape, axes, mean)
        shift, *others = _numbers(x, axes, 1 + numbers)
        return axes, *[gy, x][2 - arrays :], None if mean == 0 else shift + np.asarray(mean, dtype), *others

    return make


def _gradient(axes: Any, gy: Any, x: Any, gamma: Any) -> Any:
    """The gradients of batch normalization."""
    std = np.sqrt(_mean((x - _mean(x, axes)) ** 2, axes) + EPS)
    z = (x - _mean(x, axes)) / std
    gx = _spread(gamma, x, axes) / std * (gy - _mean(gy, axes) - z * _mean(gy * z, axes))
    return gx, (gy * z).sum(axes).reshape(-1), gy.sum(axes).reshape(-1)


def _of_normalization(dtype: str, *case: Any) -> Arguments:
    x, gy, axes = _arrays(dtype, *case)
    return axes, gy, x, *_numbers(x, axes, 1)


def _laid_gradient(k: Any, axes: Any, gy: Any, x: Any, gamma: Any) -> Any:
    channels = channels_of(x, axes)
    moments = kernel('normalization.moments')(channels.lay(x), channels)
    gx, *sums = k(channels.lay(gy), channels.lay(x), channels, moments, (moments.var + EPS) ** -0.5, gamma)
    return channels.unlay(gx), *sums


def _normalized(axes: Any, x: Any, gamma: Any, beta: Any) -> Any:
    mean, var = (_spread(v, x, axes) for v in _moments_plain(x, axes))
    return _spread(gamma, x, axes) * (x - mean) / np.sqrt(var + EPS) + _spread(beta, x, axes)


def _normalized_by(x: Any, gamma: Any, beta: Any, mean: Any, var: Any, axes: Any) -> Any:
    gamma, beta, mean, var = (_spread(v, x, axes) for v in (gamma, beta, mean, var))
    return gamma * (x - mean) / np.sqrt(var + EPS) + beta


def _by_gradients(gy: Any, x: Any, gamma: Any, mean: Any, var: Any, axes: Any, wanted: Any) -> Any:
    gamma, mean, var = (_spread(v, x, axes) for v in (gamma, mean, var))
    z, std = (x - mean) / np.sqrt(var + EPS), np.sqrt(var + EPS)
    sums = (gy * z, gy, -gy * gamma / std, -0.5 * gy * z * gamma / std**2)
    gx = gy * gamma / std if wanted[0] else None
    return gx, *[s.sum(axes).reshape(-1) if any(wanted[1:]) else None for s in sums]


def _by_numbers(dtype: str, *case: Any) -> Arguments:
    x, _, axes = _arrays(dtype, *case)
    gamma, beta, mean, var = _numbers(x, axes, 4)
    return x, gamma, beta, mean + np.asarray(0 if dtype == 'e' else case[2], dtype), var * var, axes


def _by_numbers_and_gradient(dtype: str, *case: Any) -> Arguments:
    *case, wanted = case
    x, gamma, _, mean, var, axes = _by_numbers(dtype, *case)
    return _arrays(dtype, *case)[1], x, gamma, mean, var, axes, wanted


def _far_numbers(dtype: str, mean: float) -> Arguments:
    x, (gamma, beta, offset, var) = drawn(dtype, (50, 3))[0], drawn('d', *[(3,)] * 4)
    return (x + np.asarray(mean, dtype)).astype(dtype), gamma, beta, offset + mean, var * var, (0,)


def _renormalized(mean: Any, var: Any, running_mean: Any, running_var: Any) -> Any:
    std = np.sqrt(running_var + EPS)
    return np.clip(np.sqrt(var + EPS) / std, 1 / 1.5, 1.5), np.clip((mean - running_mean) / std, -0.7, 0.7)


def _of_statistics(dtype: str, channels: int) -> Arguments:
    """Two arrays of parameters, and three of statistics, of which the second is positive."""
    mean, var, others = drawn('d', *[(channels,)] * 3)
    return *drawn(dtype, *[(channels,)] * 2), mean, var * var, others


def _coefficients(gbeta: Any, product: Any, mean: Any, inv_std: Any, gamma: Any, size: int) -> Any:
    ggamma = (product - mean * gbeta) * inv_std
    of_mean = gamma * inv_std**2 * ggamma * mean / size
    return ggamma, gamma * inv_std, -inv_std * ggamma / size, of_mean - gamma * inv_std * gbeta / size


_CHANNELS = {
    'normalization.affine_of_channels': Row(
        each(lambda t, n: _of_statistics(t, n)[:4], 5, 0), call=lambda k, *args: k(*args, EPS),
        plain=lambda gamma, beta, mean, var: (gamma / np.sqrt(var + EPS), beta - mean * gamma / np.sqrt(var + EPS)),
        dtypes_of_result=('d', 'd'),
    ),
    'normalization.gradient_coefficients': Row(
        each(lambda t, n: (*_of_statistics(t, n)[2:], *drawn('d', (n,), seed=1), _of_statistics(t, n)[0], 6), 5, 0),
        plain=_coefficients, dtypes_of_result=('d',) * 4,
    ),
    'normalization.rows_at_a_time': Row(
        same(*[(np.broadcast_to(np.zeros(()), s), wanted) for s, wanted in (
            ((3, 5), PIECE // 5), ((0, 5), PIECE), ((5, 0), 5 * PIECE), ((2, PIECE - 1), 1), ((2, PIECE + 1), 1),
            ((300, 1000), PIECE // 1000), ((300, 2, 500), PIECE // 1000),
        )]),
        call=without_wanted, plain=wanted, dtypes='d', layouts=('C',), numpy_only=True,
    ),
    'normalization.pieces': Row(
        same((np.zeros((3, 5)), [slice(0, 3)]), (np.zeros((0, 5)), []),
             (np.broadcast_to(np.zeros(()), (5, PIECE // 2)), [slice(0, 2), slice(2, 4), slice(4, 5)])),
        call=lambda k, x, _: list(k(x)), plain=wanted, dtypes='d', layouts=('C',), numpy_only=True,
    ),
    'normalization.fold_of': Row(
        same((1, 4, 1), (6, 4, 6), (512, 2, 512), (1024, 2, 512), (7, 1024, 1), (1021, 1, 1021), (2048, 1, 1024),
             (6, 0, 6), (6, 300, 3)),
        call=without_wanted, plain=wanted, dtypes='d',
    ),
    'normalization.moments': Row(
        each(lambda *case: _arrays(*case)[::2], *_SHAPES), call=_moments, plain=_moments_plain, dtypes='fd',
        dtypes_of_result=('d', 'd'), relative_to='one', tolerance=32, layouts=IMAGES,
    ),
    'normalization.moments, large': Row(
        each(lambda *case: _arrays(*case)[::2], *_LARGE), call=_moments, plain=_moments_plain, dtypes='fd',
        dtypes_of_result=('d', 'd'), relative_to='one', layouts=('C', 'F'),
    ),
    'normalization.statistics': Row(
        each(lambda *case: _arrays(*case)[::2], *_SHAPES), call=_statistics, plain=_moments_plain,
        dtypes_of_result=('d', 'd'), relative_to='one', tolerance=32,
    ),
    'normalization.scale_channels': Row(
        each(_of_channels(1, 2), *_SHAPES), call=_on_laid(1), plain=_scaled, dtypes='fd', layouts=IMAGES
    ),
    'normalization.scale_channels, large': Row(
        each(_of_channels(1, 2), *_LARGE), call=_on_laid(1), plain=_scaled, dtypes='fd', layouts=('C',)
    ),
    'normalization.sums_with': Row(
        each(_of_channels(2, 0), *_SHAPES), call=_on_laid(2), plain=_sums_with, dtypes='fd', layouts=IMAGES,
        dtypes_of_result=('d', 'd'), relative_to='one', tolerance=64,
    ),
    'normalization.sums_with, large': Row(
        each(_of_channels(2, 0), *_LARGE), call=_on_laid(2), plain=_sums_with, dtypes='fd', layouts=('C',),
        dtypes_of_result=('d', 'd'), tolerance=64,
    ),
    'normalization.combine_channels': Row(
        each(_of_channels(2, 3), *_SHAPES), call=_on_laid(2), plain=_combined, dtypes='fd', layouts=IMAGES
    ),
    'normalization.combine_channels, large': Row(
        each(_of_channels(2, 3), *_LARGE), call=_on_laid(2), plain=_combined, dtypes='fd', layouts=('C',)
    ),
    'normalization.batch_norm_gradient': Row(
        each(_of_normalization, *_SHAPES), call=_laid_gradient, plain=_gradient, dtypes='fd', layouts=IMAGES,
        dtypes_of_result=('case', 'd', 'd'), relative_to='one', tolerance=256,
    ),
    'normalization.normalize': Row(
        each(lambda *case: _of_channels(1, 2)(*case)[:2] + _numbers_of(*case, 2), *_SHAPES),
        call=lambda k, axes, x, gamma, beta: k(x, gamma, beta, kernel('normalization.statistics')(x, axes), EPS),
        plain=_normalized, tolerance=64, layouts=IMAGES,
    ),
    'normalization.normalize_gradients': Row(
        each(lambda dtype, *case: (*_of_normalization(dtype, *case[:3]), case[3]), *[(*s, True) for s in _SHAPES],
             *[(*s, False) for s in _FEW]),
        call=lambda k, axes, gy, x, gamma, of_x: k(
            gy, x, gamma, kernel('normalization.statistics')(x, axes), EPS, of_x
        ),
        plain=lambda axes, gy, x, gamma, of_x: (_gradient(axes, gy, x, gamma)[0] if of_x else None,
                                                *_gradient(axes, gy, x, gamma)[1:]),
        dtypes_of_result=('case', 'd', 'd'), relative_to='one', tolerance=256, layouts=IMAGES,
    ),
    'normalization.normalize_by': Row(
        each(_by_numbers, *_SHAPES), call=lambda k, *args: k(*args, EPS), plain=_normalized_by, layouts=IMAGES
    ),
    # The mean is not a number of x's dtype.
    'normalization.normalize_by, far': Row(
        each(_far_numbers, 1e4), call=lambda k, *args: k(*args, EPS), plain=_normalized_by, dtypes='f'
    ),
    'normalization.normalize_by_gradients, far': Row(
        each(lambda t, far: (*drawn(t, (50, 3), seed=1), *_far_numbers(t, far), (True, True)), 1e4),
        call=lambda k, gy, x, gamma, _, mean, var, axes, wanted: k(gy, x, gamma, mean, var, axes, EPS, wanted),
        plain=lambda gy, x, gamma, _, *args: _by_gradients(gy, x, gamma, *args),
        dtypes='f', dtypes_of_result=('case', 'd', 'd', 'd', 'd'), tolerance=64,
    ),
    'normalization.normalize_by_gradients': Row(
        each(_by_numbers_and_gradient, *[(*s, (True, True)) for s in _SHAPES], (*_SHAPES[0], (False, True)),
             (*_SHAPES[0], (True, False))),
        call=lambda k, *args: k(*args[:-1], EPS, args[-1]), plain=_by_gradients,
        dtypes_of_result=('case', 'd', 'd', 'd', 'd'), tolerance=64, layouts=IMAGES,
    ),
    'normalization.renormalization': Row(
        lambda t: iter([(*drawn('d', (40,)), drawn('d', (40,), seed=1)[0] ** 2, *drawn(t, (40,), seed=2),
                         drawn(t, (40,), seed=3)[0] ** 2)]),
        call=lambda k, mean, var, *running: k(Moments(None, mean, var), *running, 1.5, 0.7, EPS),
        plain=_renormalized, dtypes_of_result=('d', 'd'), tolerance=64,
    ),
    'normalization.renormalization, shifted': Row(
        lambda t: iter([(*drawn('d', (40,)), drawn('d', (40,), seed=1)[0] ** 2, *drawn(t, (40,), seed=2),
                         drawn(t, (40,), seed=3)[0] ** 2)]),
        call=lambda k, mean, var, *running: k(Moments(mean * 0 + 8, mean - 8, var), *running, 1.5, 0.7, EPS),
        plain=_renormalized, dtypes_of_result=('d', 'd'), tolerance=64,
    ),
}  # fmt: skip


def _numbers_of(dtype: str, shape: Any, axes: Any, mean: float, count: int) -> Arguments:
    return tuple(_numbers(_arrays(dtype, shape, axes, mean)[0], axes, count))


# --- rows, groups, images ---
def _forth(make: Callable[..., Arguments]) -> Callable[..., Arguments]:
    """Arguments without the upstream gradient, which stands second."""

    def arguments(*case: Any) -> Arguments:
        x, _, *others = make(*case)
        return x, *others

    return arguments


def _back(make: Callable[..., Arguments]) -> Callable[..., Arguments]:
    """Arguments with the upstream gradient first."""

    def arguments(*case: Any) -> Arguments:
        x, gy, *others = make(*case)
        return gy, x, *others

    return arguments


def _rows(dtype: str, n: int, size: int, mean: float, centred: bool) -> Arguments:
    x, gy, gamma, beta = drawn(dtype, (n, size), (n, size), (size,), (size,))
    return _with_mean(x, 0 if dtype == 'e' else mean), gy, gamma, beta if centred else None


_ROWS = [(3, 4, 0, True), (3, 4, 0, False), (5, 7, 50, True), (0, 3, 0, True), (3, 0, 0, True), (2, 1, 0, True),
         (PIECE // 1000 + 5, 1000, 0, True), (PIECE // 1000 - 5, 1000, 30, True),
         (40, 33, 1, True), (33, 64, 2, False)]  # fmt: skip


def _z(x: Any, groups: int, centred: bool = True) -> tuple[Any, Any]:
    """An array (N, C, S), each group normalized; and one over each deviation."""
    rows = x.reshape(len(x), groups, x.shape[1] // groups, x.shape[2])
    mean = rows.mean((2, 3), keepdims=True) if centred and rows.size else 0
    square = ((rows - mean) ** 2).mean((2, 3), keepdims=True) if rows.size else np.zeros((len(x), groups, 1, 1))
    inverse = 1 / np.sqrt(square + EPS)
    return ((rows - mean) * inverse).reshape(x.shape), np.broadcast_to(inverse, rows.shape).reshape(x.shape)


def _group_mean(x: Any, groups: int) -> Any:
    rows = x.reshape(len(x), groups, x.shape[1] // groups, x.shape[2])
    mean = rows.mean((2, 3), keepdims=True) if rows.size else np.zeros((len(x), groups, 1, 1))
    return np.broadcast_to(mean, rows.shape).reshape(x.shape)


def _grouped_gradient(gy: Any, x: Any, gamma: Any, groups: int, centred: bool = True) -> Any:
    (z, inverse), scaled = _z(x, groups, centred), gy * gamma[:, None]
    mean = _group_mean(scaled, groups) if centred else 0
    gx = inverse * (scaled - mean - z * _group_mean(scaled * z, groups))
    return gx, (gy * z).sum((0, 2)), gy.sum((0, 2))


def _row_gradient(gy: Any, x: Any, gamma: Any, beta: Any) -> Any:
    of_columns = gamma[None, :] * gy  # each row is a group of one element per channel
    (z, inverse), g = _z(x[:, :, None], 1, beta is not None), of_columns[:, :, None]
    mean = _group_mean(g, 1) if beta is not None else 0
    gx = inverse * (g - mean - z * _group_mean(g * z, 1))
    return gx[:, :, 0], (gy * z[:, :, 0]).sum(0), gy.sum(0)


def _normalized_rows(x: Any, gamma: Any, beta: Any) -> Any:
    z, inverse = _z(x[:, :, None], 1, beta is not None)
    inverse = inverse[:, 0, 0] if x.shape[1] else np.full(len(x), EPS**-0.5)
    return gamma * z[:, :, 0] + (0 if beta is None else beta), inverse


def _normalize_rows(k: Any, x: Any, gamma: Any, beta: Any) -> Any:
    y, moments = k(x, gamma, beta, EPS)
    return y, moments.inv_std


def _rows_backward(k: Any, gy: Any, x: Any, gamma: Any, beta: Any) -> Any:
    return k(gy, x, gamma, kernel('sample_normalization.normalize_rows')(x, gamma, beta, EPS)[1])


def _groups(dtype: str, n: int, channels: int, size: int, groups: int, mean: float) -> Arguments:
    x, gy = drawn(dtype, (n, channels, size), (n, channels, size))
    gamma, beta = drawn('d' if mean else dtype, (channels,), (channels,))
    return _with_mean(x, mean), gy, gamma, beta, groups


_GROUPS = [(2, 6, 5, 3, 0), (2, 4, 3, 1, 50), (0, 4, 3, 2, 0), (2, 3, 0, 3, 0), (3, 2, 4, 2, FAR - 0.3),
           (3, 2, 40, 2, FAR + 0.3), (9, 8, PIECE // 50, 4, 0),
           (2, 300, 7, 2, 0), (3, 6, 1, 2, 0)]  # fmt: skip
_IMAGE_SHAPES = [((2, 6, 2, 3), 3, 0), ((2, 4, 3), 1, 50), ((3, 4), 2, 0), ((0, 4, 3, 1), 2, 0), ((2, 3, 0, 2), 3, 0),
                 ((2, 2, 3, 2, 2), 1, 0)]  # fmt: skip


def _of_groups(laid: Callable[[Any], Any], last: bool) -> Any:
    def forward(k: Any, x: Any, gamma: Any, beta: Any, groups: int) -> Any:
        return laid(k(laid(x), Groups(groups, last), gamma, beta, EPS)[0])

    return forward


def _backward_of_groups(laid: Callable[[Any], Any], last: bool) -> Any:
    def backward(k: Any, gy: Any, x: Any, gamma: Any, beta: Any, groups: int) -> Any:
        how, x = Groups(groups, last), laid(x)
        moments = kernel('sample_normalization.normalize_groups')(x, how, gamma, beta, EPS)[1]
        gx, *sums = k(laid(gy), x, how, gamma, moments)
        return laid(gx), *sums

    return backward


def _swapped(x: Any) -> Any:
    return x.swapaxes(1, 2).copy()


def _of_images(dtype: str, shape: Any, groups: int, mean: float) -> Arguments:
    x, gy, gamma, beta = drawn(dtype, shape, shape, (shape[1],), (shape[1],))
    return _with_mean(x, 0 if dtype == 'e' else mean), gy, gamma, beta, groups


def _flat(x: Any) -> Any:
    return x.reshape(*x.shape[:2], math.prod(x.shape[2:]))


def _lengths(x: Any, axis: Any) -> Any:
    return np.sqrt((x * x).sum(axis, keepdims=True))


_VECTORS = [((3, 4), (1,)), ((2, 3, 4), (0, 2)), ((0, 3), (1,)), ((3, 0), (1,)), ((5,), (0,))]
_SAMPLES = {
    'sample_normalization.normalize_rows': Row(
        each(_forth(_rows), *_ROWS),
        call=_normalize_rows, plain=_normalized_rows, dtypes_of_result=('case', 'computed'), tolerance=64,
    ),
    # In float32 what is left of the mean by rounding counts.
    'sample_normalization.normalize_rows, far': Row(
        each(_forth(_rows), (5, 7, 1000, True), (4, 300, -500, True)),
        call=lambda k, *args: k(*args, EPS)[0], plain=lambda *args: _normalized_rows(*args)[0], dtypes='f',
    ),
    'sample_normalization.rows_gradient, far': Row(
        each(_back(_rows), (5, 7, 1000, True), (4, 300, -500, True)),
        call=_rows_backward, plain=_row_gradient, dtypes='f', tolerance=64,
    ),
    'sample_normalization.rows_gradient': Row(
        each(_back(_rows), *_ROWS),
        call=_rows_backward,
        plain=_row_gradient, dtypes_of_result=('computed',) * 3, tolerance=1024, relative_to='one',
    ),
    **{
        f'sample_normalization.normalize_groups, {name}': Row(
            each(_forth(_groups), *_GROUPS), call=_of_groups(lay, name == 'last'),
            plain=lambda x, gamma, beta, groups: gamma[:, None] * _z(x, groups)[0] + beta[:, None],
            dtypes='fd', layouts=('C',), tolerance=64,
        )
        for name, lay in (('first', np.copy), ('last', _swapped))
    },
    **{
        f'sample_normalization.groups_gradient, {name}': Row(
            each(_back(_groups), *_GROUPS), call=_backward_of_groups(lay, name == 'last'),
            plain=lambda gy, x, gamma, beta, groups: _grouped_gradient(gy, x, gamma, groups),
            dtypes='fd', layouts=('C',), tolerance=64, dtypes_of_result=('case', 'd', 'd'),
        )
        for name, lay in (('first', np.copy), ('last', _swapped))
    },
    'sample_normalization.normalize_images': Row(
        each(_forth(_of_images), *_IMAGE_SHAPES),
        call=lambda k, x, gamma, beta, groups: k(x, gamma, beta, groups, EPS)[0],
        plain=lambda x, gamma, beta, groups: (
            gamma[:, None] * _z(_flat(x), groups)[0] + beta[:, None]
        ).reshape(x.shape),
        layouts=IMAGES, tolerance=64,
    ),
    'sample_normalization.images_gradient': Row(
        each(_back(_of_images), *_IMAGE_SHAPES),
        call=lambda k, gy, x, gamma, beta, groups: k(
            gy, x, gamma, groups, kernel('sample_normalization.normalize_images')(x, gamma, beta, groups, EPS)[1]
        ),
        plain=lambda gy, x, gamma, beta, groups: tuple([
            v.reshape(x.shape) if v.ndim == 3 else v for v in _grouped_gradient(_flat(gy), _flat(x), gamma, groups)
        ]),
        layouts=IMAGES, dtypes_of_result=('case', 'd', 'd'), tolerance=64,
    ),
    'sample_normalization.lengths': Row(each(lambda t, s, axis: (drawn(t, s)[0], axis), *_VECTORS), plain=_lengths),
    # Squares would be infinite, or zero.
    'sample_normalization.lengths, far': Row(
        each(lambda t, far: (drawn(t, (3, 4))[0] * np.asarray(far, t), (1,)), 1e25, 1e-25, 0),
        plain=_lengths, dtypes='fd',
    ),
    'sample_normalization.unit_vectors': Row(
        each(lambda t, s, axis: (drawn(t, s)[0], 0.1, axis), *_VECTORS),
        plain=lambda x, eps, axis: x / (_lengths(x, axis) + eps),
    ),
}  # fmt: skip
ROWS = {**_CHANNELS, **_SAMPLES}
