"""Normalization of each sample by itself: rows of a matrix, groups of channels, and vectors.

As in :mod:`~minichainer.kernels.normalization`, arrays are processed in pieces that fit into a cache. Parameters may
have a different float dtype than the array.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy

from minichainer._native.library import kernels as native
from minichainer.kernels import huge_parts, normalization
from minichainer.kernels._dispatch import DECLINED, kernel
from minichainer.kernels.conditions import somewhere
from minichainer.kernels.cuda import normalization as cuda
from minichainer.kernels.normalization import pieces
from minichainer.kernels.precision import in_float32

#: If rounding leaves a mean in a centered row whose square exceeds this part of the variance, it is subtracted too.
_TINY = 1e-12


class RowMoments(NamedTuple):
    """Statistics of rows, arrays (rows,) of x's dtype.

    The mean is ``mean + rest``: the second compensates for the rounding of the first; each may be None. On a device
    the mean is float64. Huge rows, None if there are none, have zeros in the others.
    """

    mean: Any
    rest: Any
    inv_std: Any
    huge: huge_parts.HugeParts | None = None


@kernel
def normalize_rows(xp: Any, x: Any, gamma: Any, beta: Any, eps: float) -> tuple[Any, RowMoments]:
    r"""Each row minus its mean, over :math:`\sqrt{\mathrm{var} + \epsilon}`, times gamma, plus beta.

    Args:
        xp: numpy or cupy.
        x: float array (N, D).
        gamma: float array (D,).
        beta: float array (D,); if None, nothing is added and no mean is subtracted, so that the variance is the
            mean of squares.
        eps: added to the variance.

    Returns:
        Array (N, D) of x's dtype, and the statistics.
    """
    dtype, x = x.dtype, _contiguous(in_float32(x))
    gamma, beta = (None if v is None else v.astype(x.dtype, copy=False) for v in (gamma, beta))
    size = max(x.shape[1], 1)
    over = None if beta is None else xp.full(x.shape[1], 1.0 / size, x.dtype)
    mean = None if over is None else x @ over
    y, rest, inv_std = xp.empty(x.shape, x.dtype), None, xp.empty(len(x), x.dtype)
    for piece in pieces(xp, x):
        out = y[piece]
        centre = x[piece] if mean is None else xp.subtract(x[piece], mean[piece, None], out=out)
        var = _products_of_rows(xp, centre) / size
        if mean is not None:
            left = centre @ over
            square = left * left
            var = xp.maximum(var - square, 0)
            if somewhere(xp, square > _TINY * var):
                rest = xp.zeros_like(mean) if rest is None else rest
                rest[piece] = left
                centre -= left[:, None]
        inv_std[piece] = 1 / xp.sqrt(var + eps)
        xp.multiply(centre, _outer(inv_std[piece], gamma), out=out)
        if beta is not None:
            out += beta
    return y.astype(dtype, copy=False), RowMoments(mean, rest, inv_std)


@normalize_rows.on('numpy')
@huge_parts.as_quiet_as_compiled
def _normalize_rows_numpy(xp: Any, x: Any, gamma: Any, beta: Any, eps: float) -> tuple[Any, RowMoments]:
    y, moments = normalize_rows.generic(xp, x, gamma, beta, eps)
    mean = None if moments.rest is None else moments.mean
    huge = huge_parts.among(x, huge_parts.itself, moments.inv_std, mean, eps, beta is not None)
    if huge is None:
        return y, moments
    zeros = huge_parts.without(x, huge_parts.itself, huge.mask)
    y, moments = normalize_rows(xp, zeros, gamma, beta, eps)
    huge.write(y, gamma, 0 if beta is None else beta)
    moments.inv_std[huge.mask] = 0
    return y, moments._replace(huge=huge)


@normalize_rows.on_native
def _normalize_rows_native(xp: Any, x: Any, gamma: Any, beta: Any, eps: float) -> Any:
    rows, columns = x.shape
    if not x.size or gamma.size != columns or (beta is not None and beta.size != columns):
        return DECLINED
    y, inv_std, mean, rest = numpy.empty(x.shape, x.dtype), numpy.empty(rows, x.dtype), None, None
    if beta is not None:
        mean, rest = numpy.empty((2, rows), x.dtype)
    done = native.normalize_rows(x, gamma, beta, y, mean, rest, inv_std, rows, columns, eps)
    return (y, RowMoments(mean, rest, inv_std)) if done else DECLINED


@normalize_rows.on('cuda')
def _normalize_rows_cuda(xp: Any, x: Any, gamma: Any, beta: Any, eps: float) -> tuple[Any, RowMoments]:
    inv_std = xp.empty((len(x), 1), in_float32(x[:0]).dtype)
    y, mean = _normalize_cuda(x, gamma, beta, (1,), eps, inv_std)
    return y, RowMoments(mean, None, inv_std.reshape(-1))


@kernel
def rows_gradient(xp: Any, g: Any, x: Any, gamma: Any, moments: RowMoments) -> tuple[Any, Any, Any]:
    r"""Gradients of :func:`normalize_rows`: :math:`\frac{1}{\sigma}(\gamma g - \overline{\gamma g} - z\,\overline{
    \gamma g z})`, and sums of g z and g over rows.

    Args:
        xp: numpy or cupy.
        g: gradient of the result (N, D).
        x: as in :func:`normalize_rows`.
        gamma: as in :func:`normalize_rows`.
        moments: returned by :func:`normalize_rows`.

    Returns:
        Gradients of x, gamma and beta.
    """
    x = _contiguous(in_float32(x))
    g, gamma = (v.astype(x.dtype, copy=False) for v in (g, gamma))
    mean, rest, inv_std, _ = moments
    over = gamma / max(x.shape[1], 1)
    gx, ggamma = xp.empty(x.shape, x.dtype), xp.zeros(x.shape[1])
    for piece in pieces(xp, x):
        centre = x[piece].copy() if mean is None else x[piece] - mean[piece, None]
        if rest is not None:
            centre -= rest[piece, None]
        inv = inv_std[piece]
        if somewhere(xp, inv == 0):  # an element is infinite, products with the others could be, too
            centre = xp.where((inv[:, None] == 0) & xp.isfinite(centre), xp.zeros((), x.dtype), centre)
        out = xp.multiply(g[piece], centre, out=gx[piece])
        ggamma += inv @ out
        centre *= ((out @ over) * inv * inv * inv)[:, None]  # this order avoids overflow if eps is tiny
        if mean is not None:
            centre += (inv * (g[piece] @ over))[:, None]
        xp.multiply(g[piece], _outer(inv, gamma), out=out)
        out -= centre
    return gx, ggamma.astype(x.dtype), xp.ones(len(x), x.dtype) @ g


@rows_gradient.on('numpy')
def _rows_gradient_numpy(xp: Any, g: Any, x: Any, gamma: Any, moments: RowMoments) -> tuple[Any, Any, Any]:
    huge = moments.huge
    if huge is None:
        return rows_gradient.generic(xp, g, x, gamma, moments)
    zeros, plain = huge_parts.without(x, huge_parts.itself, huge.mask), moments._replace(huge=None)
    found = rows_gradient(xp, g, zeros, gamma, plain)
    huge.write_gradient(found[0], g, gamma)
    found[1][...] += huge.products(g).sum(axis=0)
    return found


@rows_gradient.on_native
def _rows_gradient_native(xp: Any, g: Any, x: Any, gamma: Any, moments: RowMoments) -> Any:
    rows, columns = x.shape
    if not x.size or g.shape != x.shape or gamma.size != columns or moments.huge is not None:
        return DECLINED
    if any([v is not None and v.size != rows for v in moments[:3]]):
        return DECLINED
    found = numpy.empty(x.shape, x.dtype), *numpy.empty((2, columns), x.dtype)
    done = native.rows_gradient(g, x, gamma, *moments[:3], *found, numpy.empty(2 * columns), rows, columns)
    return found if done else DECLINED


@rows_gradient.on('cuda')
def _rows_gradient_cuda(xp: Any, g: Any, x: Any, gamma: Any, moments: RowMoments) -> tuple[Any, Any, Any]:
    mean, _, inv_std, _ = moments
    found = [xp.empty(shape, inv_std.dtype) for shape in (x.shape, gamma.shape, gamma.shape)]
    _gradients_cuda(g, x, gamma, mean, inv_std[:, None], (1,), (0,), found)
    return found[0], found[1], found[2]


def _normalize_cuda(x: Any, gamma: Any, beta: Any, axes: tuple[int, ...], eps: float, inv_std: Any) -> Any:
    """The result and the means, float64; fills ``inv_std``, which keeps the axes."""
    factor = 1.0 / max(x.size // max(inv_std.size, 1), 1)
    mean = None if beta is None else cuda.means(x, factor, axis=axes, keepdims=True)
    centre = 0.0 if mean is None else mean
    cuda.inverse_deviations(x, centre, factor, eps, inv_std, axis=axes, keepdims=True)
    return cuda.normalize_samples(x, centre, inv_std, gamma, 0.0 if beta is None else beta), mean


def _gradients_cuda(
    g: Any, x: Any, gamma: Any, mean: Any, inv_std: Any, axes: tuple[int, ...], others: tuple[int, ...], found: Any
) -> None:
    """Fills ``found``, the gradients of x, gamma and beta; the last two are sums over ``others``."""
    gx, ggamma, gbeta = found
    factor, centre = 1.0 / max(x.size // max(inv_std.size, 1), 1), 0.0 if mean is None else mean
    mean_g = 0.0 if mean is None else cuda.scaled_means(g, gamma, factor, axis=axes, keepdims=True)
    mean_gz = cuda.scaled_products(g, gamma, x, centre, inv_std, factor, axis=axes, keepdims=True)
    cuda.sample_gradient(g, gamma, x, centre, inv_std, mean_g, mean_gz, gx)
    cuda.scale_gradients(g, x, centre, inv_std, ggamma, axis=others)
    cuda.shift_gradients(g, gbeta, axis=others)


def _products_of_rows(xp: Any, x: Any) -> Any:
    """``(x * x).sum(axis=1)`` as products of rows with themselves."""
    return xp.matmul(x[:, None, :], x[:, :, None])[:, 0, 0]


def _outer(a: Any, b: Any) -> Any:
    """``a[:, None] * b`` as a matrix product: with one more pass it is faster than two with short inner loops."""
    return a[:, None].dot(b[None, :])


class Groups(NamedTuple):
    """The layout of groups of channels in an array (N, C, S), or (N, S, C) if channels are last."""

    groups: int
    last: bool

    def sizes(self, x: Any) -> tuple[int, int, int, int, int]:
        """What compiled kernels get: samples, elements before a channel, channels, elements of one, groups."""
        n, first, second = x.shape
        return (n, first, second, 1, self.groups) if self.last else (n, 1, first, second, self.groups)

    def spread(self, values: Any) -> Any:
        """Values (N, C), to broadcast against the array."""
        return values[:, None, :] if self.last else values[:, :, None]

    def of_channels(self, values: Any) -> Any:
        """Values (C,), to broadcast against an array with an axis of groups before or after which S is."""
        by_group = values.reshape(self.groups, -1) if values.size else values.reshape(self.groups, 0)
        return by_group if self.last else by_group[:, :, None]

    def to_channels(self, xp: Any, values: Any, channels: int) -> Any:
        """Expands values of groups (N, groups) to channels (N, C)."""
        return xp.repeat(values, channels // self.groups, axis=1)

    def parts(self, x: Any) -> Any:
        """A view with the axes of samples and groups before the others."""
        n, first, second = x.shape
        if self.last:
            return x.reshape(n, first, self.groups, second // self.groups).swapaxes(1, 2)
        return x.reshape(n, self.groups, first // self.groups, second)

    def of_parts(self, values: Any) -> Any:
        """Values (C,), to broadcast against :meth:`parts`."""
        return values.reshape((self.groups, 1, -1) if self.last else (self.groups, -1, 1))

    def sum_of_parts(self, values: Any) -> Any:
        """Sums (C,) of values in the form of :meth:`parts`."""
        return values.sum(axis=(0, 2) if self.last else (0, 3)).reshape(-1)

    def total(self, values: Any) -> Any:
        """Sums of values of channels (N, C) over groups, (N, groups)."""
        n, channels = values.shape
        return values.reshape(n, self.groups, channels // self.groups).sum(axis=2)

    def sums(self, xp: Any, x: Any) -> Any:
        """Sums over S: float64 array (N, C)."""
        if self.last:
            rows = self._widened(x)
            return self._narrowed(xp.ones(rows.shape[1], x.dtype) @ rows, x)
        n, channels, size = x.shape
        return (x.reshape(n * channels, size) @ xp.ones(size, x.dtype)).reshape(n, channels).astype('d')

    def products(self, xp: Any, a: Any, b: Any) -> Any:
        """Sums of products over S: float64 array (N, C)."""
        if self.last:
            return self._narrowed(xp.einsum('ijk,ijk->ik', self._widened(a), self._widened(b)), a)
        return xp.einsum('ijk,ijk->ij', a, b).astype('d')

    @staticmethod
    def _widened(x: Any) -> Any:
        """(N, S, C) with rows merged as in :class:`~minichainer.kernels.normalization.Channels`."""
        n, size, channels = x.shape
        fold = normalization.fold_of(size, channels)
        return x.reshape(n, size // fold, fold * channels)

    @staticmethod
    def _narrowed(sums: Any, x: Any) -> Any:
        """Sums over merged rows (N, fold * C) as sums over all rows, float64 (N, C)."""
        n, _, channels = x.shape
        return sums.reshape(n, sums.shape[1] // max(channels, 1), channels).sum(axis=1, dtype='d')


class GroupMoments(NamedTuple):
    """Statistics of groups, arrays (N, groups).

    ``mean`` is the mean of the elements minus ``shift``, which is zero, or near the mean if that is far from zero. On
    a device ``shift`` is None, and the others have all axes of an array with an axis of groups. Huge groups, None if
    there are none, have zeros in these arrays.
    """

    shift: Any
    mean: Any
    inv_std: Any
    huge: huge_parts.HugeParts | None = None


@kernel
def normalize_groups(xp: Any, x: Any, groups: Groups, gamma: Any, beta: Any, eps: float) -> tuple[Any, GroupMoments]:
    r"""Each group minus its mean, over :math:`\sqrt{\mathrm{var} + \epsilon}`, times gamma, plus beta.

    Args:
        xp: numpy or cupy.
        x: float32 or float64 array (N, C, S) or (N, S, C), C-contiguous.
        groups: the layout of the groups.
        gamma: float array (C,).
        beta: float array (C,), of gamma's dtype.
        eps: added to the variance.

    Returns:
        Array like x, and the statistics.
    """
    gamma, beta = gamma.astype('d', copy=False), beta.astype('d', copy=False)
    n, channels = len(x), len(gamma)
    moments = GroupMoments(*[xp.zeros((n, groups.groups), dtype) for dtype in (x.dtype.char, 'd', 'd')])
    y = xp.empty(x.shape, x.dtype)
    for piece in pieces(xp, x):
        part, out = x[piece], y[piece]
        mean, var = _group_moments(xp, part, groups, channels)
        if somewhere(xp, mean * mean > normalization.FAR**2 * var):
            moments.shift[piece] = mean
            part = part - groups.spread(groups.to_channels(xp, moments.shift[piece], channels))
            mean, var = _group_moments(xp, part, groups, channels)
        moments.mean[piece] = mean
        moments.inv_std[piece] = inv_std = 1 / xp.sqrt(var + eps)
        scale = gamma * groups.to_channels(xp, inv_std, channels)
        bias = beta - scale * groups.to_channels(xp, mean, channels)
        xp.multiply(part, groups.spread(scale.astype(x.dtype)), out=out)
        out += groups.spread(bias.astype(x.dtype))
    return y, moments


@normalize_groups.on('numpy')
@huge_parts.as_quiet_as_compiled
def _normalize_groups_numpy(
    xp: Any, x: Any, groups: Groups, gamma: Any, beta: Any, eps: float
) -> tuple[Any, GroupMoments]:
    y, moments = normalize_groups.generic(xp, x, groups, gamma, beta, eps)
    huge = huge_parts.among(x, groups.parts, moments.inv_std, moments.shift, eps)
    if huge is None:
        return y, moments
    zeros = huge_parts.without(x, groups.parts, huge.mask)
    y, moments = normalize_groups(xp, zeros, groups, gamma, beta, eps)
    huge.write(groups.parts(y), groups.of_parts(gamma), groups.of_parts(beta))
    for v in moments[:3]:
        v[huge.mask] = 0
    return y, moments._replace(huge=huge)


@normalize_groups.on_native
def _normalize_groups_native(xp: Any, x: Any, groups: Groups, gamma: Any, beta: Any, eps: float) -> Any:
    sizes = groups.sizes(x)
    if not x.size or sizes[2] % groups.groups or not gamma.shape == beta.shape == (sizes[2],):
        return DECLINED
    y, (mean, inv_std) = numpy.empty(x.shape, x.dtype), numpy.empty((2, len(x), groups.groups))
    shift = numpy.empty(mean.shape, x.dtype)
    scratch = numpy.empty(gamma.size, x.dtype), numpy.empty(2 * gamma.size)
    if not native.normalize_groups(x, gamma, beta, y, shift, mean, inv_std, *scratch, *sizes, eps):
        return DECLINED
    return y, GroupMoments(shift, mean, inv_std)


@normalize_groups.on('cuda')
def _normalize_groups_cuda(
    xp: Any, x: Any, groups: Groups, gamma: Any, beta: Any, eps: float
) -> tuple[Any, GroupMoments]:
    split, axes, _ = _split(x, groups)
    inv_std = xp.empty([1 if k in axes else size for k, size in enumerate(split.shape)])
    y, mean = _normalize_cuda(split, groups.of_channels(gamma), groups.of_channels(beta), axes, eps, inv_std)
    return y.reshape(x.shape), GroupMoments(None, mean, inv_std)


def _split(x: Any, groups: Groups) -> tuple[Any, tuple[int, int], tuple[int, int]]:
    """The array with an axis of groups, its axes within a group, and those over which channels are summed."""
    if groups.last:
        n, size, channels = x.shape
        return x.reshape(n, size, groups.groups, channels // groups.groups), (1, 3), (0, 1)
    n, channels, size = x.shape
    return x.reshape(n, groups.groups, channels // groups.groups, size), (2, 3), (0, 3)


def _group_moments(xp: Any, x: Any, groups: Groups, channels: int) -> tuple[Any, Any]:
    size = max(x.size // max(len(x) * groups.groups, 1), 1)
    mean = groups.total(groups.sums(xp, x)) / size
    var = groups.total(groups.products(xp, x, x)) / size
    return mean, xp.maximum(var - mean * mean, 0)


@kernel
def groups_gradient(
    xp: Any, g: Any, x: Any, groups: Groups, gamma: Any, moments: GroupMoments
) -> tuple[Any, Any, Any]:
    r"""Gradients of :func:`normalize_groups`, by the formula of :func:`rows_gradient` with groups for rows.

    Args:
        xp: numpy or cupy.
        g: gradient of the result, like x.
        x: as in :func:`normalize_groups`.
        groups: as in :func:`normalize_groups`.
        gamma: as in :func:`normalize_groups`.
        moments: returned by :func:`normalize_groups`.

    Returns:
        Gradients of x, of x's dtype, and of gamma and beta, float64 arrays (C,).
    """
    gamma = gamma.astype('d', copy=False)
    channels = len(gamma)
    size = max(x.size // max(len(x) * groups.groups, 1), 1)
    gx, ggamma, gbeta = xp.empty(x.shape, x.dtype), xp.zeros(channels), xp.zeros(channels)
    for piece in pieces(xp, x):
        part, out = x[piece], gx[piece]
        shift, mean, inv = [groups.to_channels(xp, v[piece], channels) for v in moments[:3]]
        if somewhere(xp, shift):
            part = part - groups.spread(shift)
        sums = groups.sums(xp, g[piece])
        with_z = (groups.products(xp, g[piece], part) - mean * sums) * inv
        ggamma += with_z.sum(axis=0)
        gbeta += sums.sum(axis=0)
        mean_g, mean_gz = [groups.to_channels(xp, groups.total(gamma * v) / size, channels) for v in (sums, with_z)]
        b = -inv * inv * mean_gz
        a, b, c = [groups.spread(v.astype(x.dtype)) for v in (gamma * inv, b, -inv * mean_g - b * mean)]
        xp.multiply(part, b, out=out)
        out += c
        out += g[piece] * a
    return gx, ggamma, gbeta


@groups_gradient.on('numpy')
def _groups_gradient_numpy(
    xp: Any, g: Any, x: Any, groups: Groups, gamma: Any, moments: GroupMoments
) -> tuple[Any, Any, Any]:
    huge = moments.huge
    if huge is None:
        return groups_gradient.generic(xp, g, x, groups, gamma, moments)
    zeros, plain = huge_parts.without(x, groups.parts, huge.mask), moments._replace(huge=None)
    found = groups_gradient(xp, g, zeros, groups, gamma, plain)
    huge.write_gradient(groups.parts(found[0]), groups.parts(g), groups.of_parts(gamma))
    found[1][...] += groups.sum_of_parts(huge.products(groups.parts(g)))
    return found


@groups_gradient.on_native
def _groups_gradient_native(xp: Any, g: Any, x: Any, groups: Groups, gamma: Any, moments: GroupMoments) -> Any:
    sizes = groups.sizes(x)
    if not x.size or sizes[2] % groups.groups or g.shape != x.shape or gamma.shape != (sizes[2],):
        return DECLINED
    if moments.huge is not None or any([v.shape != (len(x), groups.groups) for v in moments[:3]]):
        return DECLINED
    found = numpy.empty(x.shape, x.dtype), *numpy.empty((2, gamma.size))
    scratch = numpy.empty(gamma.size, x.dtype), numpy.empty(6 * gamma.size)
    return found if native.groups_gradient(g, x, gamma, *moments[:3], *found, *scratch, *sizes) else DECLINED


@groups_gradient.on('cuda')
def _groups_gradient_cuda(
    xp: Any, g: Any, x: Any, groups: Groups, gamma: Any, moments: GroupMoments
) -> tuple[Any, Any, Any]:
    split, axes, others = _split(x, groups)
    scale = groups.of_channels(gamma)
    sums = [xp.empty((groups.groups, len(gamma) // groups.groups)) for _ in range(2)]
    gx = xp.empty(split.shape, x.dtype)
    of_x = g.reshape(split.shape), split, scale, moments.mean, moments.inv_std
    _gradients_cuda(*of_x, axes, others, [gx, *sums])
    return gx.reshape(x.shape), sums[0].reshape(-1), sums[1].reshape(-1)


# --- images ---------------------------------------------------------------------------------------------------------
def normalize_images(xp: Any, x: Any, gamma: Any, beta: Any, groups: int, eps: float) -> tuple[Any, GroupMoments]:
    """:func:`normalize_groups` of an array (N, C, ...) of any dtype and layout.

    Args:
        xp: numpy or cupy.
        x: float array (N, C, ...).
        gamma: float array (C,).
        beta: float array (C,).
        groups: number of groups.
        eps: added to the variance.

    Returns:
        Array of x's shape and dtype, and the statistics.
    """
    last = _channels_are_last(x)
    laid = _lay(in_float32(x), last)
    y, moments = normalize_groups(xp, laid, Groups(groups, last), gamma, beta, eps)
    return _unlay(y, x.shape, last).astype(x.dtype, copy=False), moments


def images_gradient(xp: Any, g: Any, x: Any, gamma: Any, groups: int, moments: GroupMoments) -> tuple[Any, Any, Any]:
    """Gradients of :func:`normalize_images` with respect to x, gamma and beta.

    Args:
        xp: numpy or cupy.
        g: gradient of the result, like x.
        x: as in :func:`normalize_images`.
        gamma: as in :func:`normalize_images`.
        groups: as in :func:`normalize_images`.
        moments: returned by :func:`normalize_images`.
    """
    last = _channels_are_last(x)
    laid, g = _lay(in_float32(x), last), _lay(in_float32(g), last)
    gx, ggamma, gbeta = groups_gradient(xp, g, laid, Groups(groups, last), gamma, moments)
    return _unlay(gx, x.shape, last).astype(x.dtype, copy=False), ggamma, gbeta


def _contiguous(x: Any) -> Any:
    return x if x.flags.c_contiguous else x.copy(order='C')


def _channels_are_last(x: Any) -> bool:
    """Whether channels should be the last axis in memory; true for (N, C)."""
    if x.ndim == 2:
        return True
    return not x.flags.c_contiguous and x.transpose(0, *range(2, x.ndim), 1).flags.c_contiguous


def _lay(x: Any, last: bool) -> Any:
    """An array (N, C, ...) as (N, C, S), or as (N, S, C) if channels are last; C-contiguous."""
    n, c = x.shape[:2]
    size = math.prod(x.shape[2:])
    if last:
        return _contiguous(x.transpose(0, *range(2, x.ndim), 1).reshape(n, size, c))
    return _contiguous(x.reshape(n, c, size))


def _unlay(y: Any, shape: tuple[int, ...], last: bool) -> Any:
    """The inverse of :func:`_lay`."""
    if not last:
        return y.reshape(shape)
    return y.reshape(shape[0], *shape[2:], shape[1]).transpose(0, len(shape) - 1, *range(1, len(shape) - 1))


# --- vectors --------------------------------------------------------------------------------------------------------
def lengths(xp: Any, x: Any, axis: tuple[int, ...]) -> Any:
    """Euclidean norms along axes, which are kept; scaled so that squares do not overflow."""
    if not x.size:
        return xp.zeros([1 if i in axis else size for i, size in enumerate(x.shape)], x.dtype)
    top = abs(x).max(axis=axis, keepdims=True)
    top = xp.where((top > 0) & xp.isfinite(top), top, xp.ones_like(top))
    scaled = x / top
    return xp.sqrt((scaled * scaled).sum(axis=axis, keepdims=True)) * top


@kernel(widens=True)
def unit_vectors(xp: Any, x: Any, eps: float, axis: tuple[int, ...]) -> Any:
    """Vectors along axes, divided by their lengths plus eps."""
    return x / (lengths(xp, x, axis) + xp.asarray(eps, x.dtype))  # NumPy 1.26: a scalar plus a float is float64


# --- the plain form ------------------------------------------------------------------------------------------------
def normalize_reference(x: Any, groups: int, eps: float, centered: bool = True) -> Any:
    """An array (N, C, S) normalized by the formula, before scaling and shifting; float64."""
    rows = x.astype('d').reshape(len(x) * groups, x.shape[1] // groups * x.shape[2])
    if centered:
        rows = rows - rows.mean(axis=1, keepdims=True)
    return (rows / numpy.sqrt((rows * rows).mean(axis=1, keepdims=True) + eps)).reshape(x.shape)
