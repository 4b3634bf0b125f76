"""Batch normalization: statistics of channels, and scaling and shifting by them.

Channels are the groups of elements that share statistics; they may lie in memory in any order. The array is processed
in pieces that fit into a processor's cache, so that several simple passes read it from memory once.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy

from minichainer._native.library import kernels as native
from minichainer.kernels import huge_parts
from minichainer.kernels._dispatch import DECLINED, kernel
from minichainer.kernels.conditions import somewhere
from minichainer.kernels.cuda import normalization as cuda
from minichainer.kernels.precision import in_float32

#: Elements of a piece, which fits into the cache, and the minimum width of rows of channels: starting one of NumPy's
#: inner loops costs as much as 100 elements, and sums over fewer rows are more accurate.
PIECE = 1 << 17
_WIDTH = 1024
#: If the mean of a channel is more than this many standard deviations from zero, its elements are shifted first: the
#: mean of squares minus the square of the mean loses digits with the square of that number. The error of the variance
#: of float32 rows (128, 512) is 2e-7 where the mean is 0, 2e-6 at 2 deviations, 6e-6 at 4, 2e-5 at 7, and 1e-7 when
#: shifted; errors of results are half of that, torch's are 1e-7 to 6e-7. Shifting adds half of the time of the rest.
FAR = 2.0


class Channels(NamedTuple):
    """The memory layout of channels in an array whose axes are in memory order.

    >>> import numpy
    >>> channels_of(numpy.zeros((2, 3, 4, 4)), (0, 2, 3))
    Channels(order=(0, 1, 2, 3), shape=(2, 3, 4, 4), outer=2, channels=3, inner=16, fold=1)
    """

    #: The array's axes in memory order, and their sizes.
    order: tuple[int, ...]
    shape: tuple[int, ...]
    #: Number of elements of a channel before the channel axis, of channels, and of elements after it.
    outer: int
    channels: int
    inner: int
    #: How many rows of channels are merged into one wide row, if no axis comes after the channel axis.
    fold: int

    @property
    def size(self) -> int:
        """Number of elements of a channel."""
        return self.outer * self.inner

    def lay(self, x: Any) -> Any:
        """The array as (rows, fold * channels) or (outer, channels, inner); a copy if its memory order differs."""
        x = x.transpose(self.order)
        if self.inner == 1:
            return x.reshape(self.outer // self.fold, self.fold * self.channels)
        return x.reshape(self.outer, self.channels, self.inner)

    def unlay(self, laid: Any) -> Any:
        """The inverse of :meth:`lay`."""
        inverse = sorted(range(len(self.order)), key=self.order.__getitem__)
        return laid.reshape(self.shape).transpose(inverse)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """What compiled kernels get."""
        return self.outer, self.channels, self.inner

    def fit(self, laid: Any, *numbers: Any) -> bool:
        """Whether a laid array has elements, and as many as there should be; so do numbers of channels, or None."""
        count = self.outer * self.inner * self.channels
        return laid.size == count != 0 and all([v is None or v.size == self.channels for v in numbers])

    def parts(self, laid: Any) -> Any:
        """A laid array as (channels, outer, inner); a view if it is contiguous."""
        return laid.reshape(self.outer, self.channels, self.inner).swapaxes(0, 1)

    def spread(self, values: Any) -> Any:
        """One value per channel, to broadcast against the result of :meth:`lay`."""
        if self.inner != 1:
            return values[:, None]
        return values if self.fold == 1 else values[None].repeat(self.fold, axis=0).reshape(-1)

    def shifted(self, xp: Any, laid: Any, shift: Any) -> Iterator[tuple[slice, Any]]:
        """The pieces, each minus ``shift`` (one number per channel, or None); valid until the next one."""
        if shift is None:
            yield from ((piece, laid[piece]) for piece in pieces(xp, laid))
            return
        offset = self.spread(shift.astype(laid.dtype, copy=False))
        scratch = xp.empty((min(rows_at_a_time(xp, laid), len(laid)), *laid.shape[1:]), laid.dtype)
        for piece in pieces(xp, laid):
            yield piece, xp.subtract(laid[piece], offset, out=scratch[: piece.stop - piece.start])

    def sums(self, xp: Any, laid: Any) -> Any:
        """Sum of a piece over each channel, float64."""
        if self.inner == 1:
            return self._folded(xp.ones(len(laid), laid.dtype) @ laid)
        rows = laid.reshape(len(laid) * self.channels, self.inner)
        totals = rows @ xp.ones(self.inner, laid.dtype)
        return totals.reshape(len(laid), self.channels).sum(axis=0, dtype='d')

    def products(self, xp: Any, a: Any, b: Any) -> Any:
        """Sum of products of two pieces over each channel, float64."""
        if self.inner == 1:
            return self._folded(xp.einsum('ij,ij->j', a, b))
        return xp.einsum('ijk,ijk->ij', a, b).sum(axis=0, dtype='d')

    def _folded(self, sums: Any) -> Any:
        return sums.reshape(self.fold, self.channels).sum(axis=0, dtype='d')


@kernel
def rows_at_a_time(xp: Any, x: Any) -> int:
    """How many elements along the first axis are processed at a time: all."""
    return max(len(x), 1)


@rows_at_a_time.on('numpy')
def _rows_that_fit(xp: Any, x: Any) -> int:
    """As many as fit into the cache."""
    size: int = x.size
    return max(1, PIECE * max(len(x), 1) // max(size, 1))


def pieces(xp: Any, x: Any) -> Iterator[slice]:
    """Slices of the pieces along the first axis."""
    rows, step = len(x), rows_at_a_time(xp, x)
    return (slice(begin, min(begin + step, rows)) for begin in range(0, rows, step))


class Moments(NamedTuple):
    """Statistics of channels, float64 arrays (channels,).

    ``mean`` is the mean of the elements minus ``shift``, which is None where no shift is needed. ``huge`` is a mask
    of the channels whose elements are too large for their squares, None if there are none; ``var`` may be infinite
    there.
    """

    shift: Any
    mean: Any
    var: Any
    huge: Any = None

    @property
    def true_mean(self) -> Any:
        """The mean of the elements."""
        return self.mean if self.shift is None else self.mean + self.shift


def channels_of(x: Any, axis: tuple[int, ...]) -> Channels:
    """The layout of the channels of an array.

    Args:
        x: the array.
        axis: axes that the statistics reduce, in ascending order; the others index the channels.
    """
    order = tuple(sorted(range(x.ndim), key=lambda i: (-abs(x.strides[i]), i)))
    return _channels(x.shape, order, axis)


@functools.lru_cache(maxsize=256)
def _channels(shape: tuple[int, ...], order: tuple[int, ...], axis: tuple[int, ...]) -> Channels:
    """The layout of channels for a shape, its memory order and the reduced axes; cached."""
    key = [i for i in order if i not in axis and shape[i] != 1]
    places = [order.index(i) for i in key]
    between = order[places[0] : places[-1]] if key else ()
    if key != sorted(key) or any(i in axis and shape[i] != 1 for i in between):
        order = (*axis, *[i for i in range(len(shape)) if i not in axis])  # channels are scattered: merge them
    first, last = _channel_places(order, axis, shape)
    sizes = tuple([shape[i] for i in order])
    outer, count, inner = (math.prod(sizes[part]) for part in (slice(first), slice(first, last), slice(last, None)))
    return Channels(order, sizes, outer, count, inner, fold_of(outer, count) if inner == 1 else 1)


@functools.lru_cache(maxsize=256)
def fold_of(rows: int, width: int) -> int:
    """The number of rows to merge: a divisor of all rows that makes the result wide enough."""
    return max(f for f in range(1, max(2, _WIDTH // max(width, 1) + 1)) if rows % f == 0)


def _channel_places(order: tuple[int, ...], axis: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, int]:
    """Where the channel axes begin and end in an order of axes."""
    places = [place for place, i in enumerate(order) if i not in axis and shape[i] != 1]
    return (places[0], places[-1] + 1) if places else (len(order), len(order))


def _by_channel(channels: Channels, laid: Any) -> Any:
    """A laid array as (outer, channels, inner)."""
    return laid.reshape(channels.outer, channels.channels, channels.inner)


def _no_shift(xp: Any, laid: Any, shift: Any) -> Any:
    """A shift to broadcast against the result of :func:`_by_channel`."""
    return xp.zeros((1, 1), laid.dtype) if shift is None else shift.astype(laid.dtype, copy=False)[:, None]


@kernel
def moments(xp: Any, laid: Any, channels: Channels) -> Moments:
    """Mean and variance of each channel.

    Args:
        xp: numpy or cupy.
        laid: float32 or float64 array, laid by ``channels``.
        channels: their layout.

    Returns:
        Moments; zeros where a channel has no elements.
    """
    mean, var = _plain_moments(xp, laid, channels, None)
    far = mean * mean > FAR * FAR * var
    if not somewhere(xp, far):
        return Moments(None, mean, var)
    shift = mean.astype(laid.dtype)
    mean, var = _plain_moments(xp, laid, channels, shift)
    return Moments(shift, mean, var)


@moments.on('numpy')
@huge_parts.as_quiet_as_compiled
def _moments_numpy(xp: Any, laid: Any, channels: Channels) -> Moments:
    found = moments.generic(xp, laid, channels)
    mean = None if found.shift is None else found.true_mean
    mask = huge_parts.by_variance(laid, channels.parts, found.var, mean)
    if mask is None:
        return found
    shift, mean, var, _ = moments(xp, huge_parts.without(laid, channels.parts, mask), channels)
    mean[mask], var[mask] = huge_parts.moments(channels.parts(laid), mask)
    return Moments(shift, mean, var, mask)


@moments.on_native
def _moments_native(xp: Any, laid: Any, channels: Channels) -> Any:
    shift, mean, var = numpy.empty(channels.channels, laid.dtype), *numpy.empty((2, channels.channels))
    if channels.fit(laid) and native.channel_moments(laid, shift, mean, var, *channels.sizes):
        return Moments(shift, mean, var)
    return DECLINED


@moments.on('cuda')
def _moments_cuda(xp: Any, laid: Any, channels: Channels) -> Moments:
    """Always shifted: whether that is needed would have to be read from the device."""
    x, factor = _by_channel(channels, laid), 1.0 / max(channels.size, 1)
    mean = cuda.means(x, factor, axis=(0, 2), keepdims=True)
    var = cuda.variances(x, mean, factor, axis=(0, 2))
    shift, rest = cuda.parts_of_mean(mean.reshape(-1), xp.empty(channels.channels, laid.dtype), xp.empty_like(var))
    return Moments(shift, rest, var)


def _plain_moments(xp: Any, laid: Any, channels: Channels, shift: Any) -> tuple[Any, Any]:
    """Mean and variance of each channel, after subtracting ``shift``."""
    total, squares = xp.zeros(channels.channels), xp.zeros(channels.channels)
    for _, x in channels.shifted(xp, laid, shift):
        total += channels.sums(xp, x)
        squares += channels.products(xp, x, x)
    size = max(channels.size, 1)
    mean = total / size
    return mean, xp.maximum(squares / size - mean * mean, 0)


class Statistics(NamedTuple):
    """The statistics of an array that batch normalization needs."""

    channels: Channels
    moments: Moments


def statistics(xp: Any, x: Any, axes: tuple[int, ...]) -> Statistics:
    """Mean and variance of each channel, computed at least in float32; ``axes`` as in :func:`channels_of`."""
    channels = channels_of(x, axes)
    return Statistics(channels, moments(xp, in_float32(channels.lay(x)), channels))


def normalize(xp: Any, x: Any, gamma: Any, beta: Any, known: Statistics, eps: float) -> Any:
    """Batch normalization.

    Args:
        xp: numpy or cupy.
        x: float array.
        gamma: one number for each channel.
        beta: one number for each channel.
        known: the result of :func:`statistics`.
        eps: added to the variance.

    Returns:
        Array of x's shape, dtype and layout.
    """
    normalized = _laid_normalized if known.moments.huge is None else _normalized_with_huge
    y = normalized(xp, in_float32(known.channels.lay(x)), gamma.reshape(-1), beta.reshape(-1), known, eps)
    return known.channels.unlay(y).astype(x.dtype, copy=False)


def _laid_normalized(xp: Any, laid: Any, gamma: Any, beta: Any, known: Statistics, eps: float) -> Any:
    channels, (shift, mean, var, _) = known
    scale, bias = affine_of_channels(xp, gamma, beta, mean, var, eps)
    return scale_channels(xp, laid, channels, shift, scale, bias)


def _normalized_with_huge(xp: Any, laid: Any, gamma: Any, beta: Any, known: Statistics, eps: float) -> Any:
    parts, (zeros, ordinary) = known.channels.parts, _without_huge(laid, known)
    y = _laid_normalized(xp, zeros, gamma, beta, ordinary, eps)
    huge = huge_parts.standardized(parts(laid), known.moments.huge, eps)
    huge.write(parts(y), gamma[:, None, None], beta[:, None, None])
    return y


def _without_huge(laid: Any, known: Statistics) -> tuple[Any, Statistics]:
    """A laid array with zeros for huge channels, and statistics that make zeros of these."""
    channels, (shift, mean, var, mask) = known
    ordinary = Moments(shift, numpy.where(mask, 0.0, mean), numpy.where(mask, 1.0, var))
    return huge_parts.without(laid, channels.parts, mask), Statistics(channels, ordinary)


@kernel
def affine_of_channels(xp: Any, gamma: Any, beta: Any, mean: Any, var: Any, eps: float) -> tuple[Any, Any]:
    """Scale and bias that normalize each channel to mean ``beta`` and deviation ``gamma``, arrays (channels,)."""
    scale = gamma * (var + eps) ** -0.5
    return scale, beta - mean * scale


@affine_of_channels.on_native
def _affine_of_channels_native(xp: Any, gamma: Any, beta: Any, mean: Any, var: Any, eps: float) -> Any:
    scale, bias = numpy.empty((2, gamma.size))
    if not gamma.shape == beta.shape == mean.shape == var.shape == scale.shape:
        return DECLINED
    return (
        (scale, bias) if native.affine_of_channels(gamma, beta, mean, var, scale, bias, gamma.size, eps) else DECLINED
    )


@affine_of_channels.on('cuda')
def _affine_of_channels_cuda(xp: Any, gamma: Any, beta: Any, mean: Any, var: Any, eps: float) -> Any:
    return cuda.affine(gamma, beta, mean, var, eps)


@kernel
def move(xp: Any, running: Any, decay: float, value: Any) -> None:
    """Moves a running statistic towards an array of its shape, in place: ``decay`` of it stays."""
    running *= decay
    running += (1 - decay) * value


@move.on('cuda')
def _move_cuda(xp: Any, running: Any, decay: float, value: Any) -> None:
    cuda.move(value.astype('d', copy=False), decay, running)


def normalize_gradients(
    xp: Any, gy: Any, x: Any, gamma: Any, known: Statistics, eps: float, of_x: bool
) -> tuple[Any, Any, Any]:
    """Gradients of :func:`normalize` with respect to x (None if not wanted), gamma and beta.

    Args:
        xp: numpy or cupy.
        gy: upstream gradient.
        x: as in :func:`normalize`.
        gamma: as in :func:`normalize`.
        known: as in :func:`normalize`.
        eps: as in :func:`normalize`.
        of_x: whether the gradient of x is wanted.
    """
    channels, moments = known
    laid, g = in_float32(channels.lay(x)), in_float32(channels.lay(gy))
    gradients = _laid_gradients if moments.huge is None else _gradients_with_huge
    gx, ggamma, gbeta = gradients(xp, g, laid, gamma.reshape(-1).astype('d', copy=False), known, eps, of_x)
    if of_x:
        gx = channels.unlay(gx).astype(x.dtype, copy=False)
    return gx, ggamma.reshape(gamma.shape), gbeta.reshape(gamma.shape)


def _laid_gradients(xp: Any, g: Any, laid: Any, gamma: Any, known: Statistics, eps: float, of_x: bool) -> Any:
    """Those of :func:`normalize_gradients`; the first one is laid."""
    channels, moments = known
    inv_std = (moments.var + eps) ** -0.5
    if of_x:
        return batch_norm_gradient(xp, g, laid, channels, moments, inv_std, gamma)
    gbeta, product = sums_with(xp, g, laid, channels, moments.shift)
    return None, (product - moments.mean * gbeta) * inv_std, gbeta


def _gradients_with_huge(xp: Any, g: Any, laid: Any, gamma: Any, known: Statistics, eps: float, of_x: bool) -> Any:
    """The same where channels are huge."""
    parts, (zeros, ordinary) = known.channels.parts, _without_huge(laid, known)
    gx, ggamma, gbeta = _laid_gradients(xp, g, zeros, gamma, ordinary, eps, of_x)
    huge = huge_parts.standardized(parts(laid), known.moments.huge, eps)
    if of_x:
        huge.write_gradient(parts(gx), parts(g), gamma[:, None, None])
    return gx, ggamma + huge.products(parts(g)).sum(axis=(1, 2)), gbeta


def normalize_by(
    xp: Any, x: Any, gamma: Any, beta: Any, mean: Any, var: Any, axes: tuple[int, ...], eps: float
) -> Any:
    """Batch normalization with given statistics.

    Args:
        xp: numpy or cupy.
        x: float array.
        gamma: one number for each channel.
        beta: one number for each channel.
        mean: one number for each channel.
        var: one number for each channel.
        axes: as in :func:`channels_of`.
        eps: added to the variance.

    Returns:
        Array of x's shape, dtype and layout.
    """
    channels = channels_of(x, axes)
    gamma, beta, mean, var = (v.reshape(-1).astype('d') for v in (gamma, beta, mean, var))
    laid = in_float32(channels.lay(x))
    scale, shift = gamma * (var + eps) ** -0.5, mean.astype(laid.dtype)
    y = scale_channels(xp, laid, channels, shift, scale, beta + _rest_of_shift(xp, shift, mean) * scale)
    return channels.unlay(y).astype(x.dtype, copy=False)


def _rest_of_shift(xp: Any, shift: Any, mean: Any) -> Any:
    """What rounding the mean to another dtype has added; 0 where that is infinite."""
    return xp.where(xp.isinf(shift), 0.0, shift - xp.where(xp.isinf(shift), 0.0, mean))


def normalize_by_gradients(
    xp: Any, gy: Any, x: Any, gamma: Any, mean: Any, var: Any, axes: tuple[int, ...], eps: float, wanted: Any
) -> list[Any]:
    """Gradients of :func:`normalize_by`: for x, gamma, beta, mean and variance; None where not wanted.

    Args:
        xp: numpy or cupy.
        gy: upstream gradient.
        x: as in :func:`normalize_by`.
        gamma: as in :func:`normalize_by`.
        mean: as in :func:`normalize_by`.
        var: as in :func:`normalize_by`.
        axes: as in :func:`normalize_by`.
        eps: as in :func:`normalize_by`.
        wanted: whether the gradient of x is wanted, and whether the others are.
    """
    channels, shape = channels_of(x, axes), gamma.shape
    gamma, mean, var = (v.reshape(-1).astype('d') for v in (gamma, mean, var))
    g, inv_std = in_float32(channels.lay(gy)), (var + eps) ** -0.5
    found: list[Any] = [None] * 5
    if wanted[0]:
        gx = g * channels.spread((gamma * inv_std).astype(g.dtype))
        found[0] = channels.unlay(gx).astype(x.dtype, copy=False)
    if any(wanted[1:]):
        laid = in_float32(channels.lay(x))
        shift = mean.astype(laid.dtype)
        gbeta, product = sums_with(xp, g, laid, channels, shift)
        product = product + _rest_of_shift(xp, shift, mean) * gbeta
        sums = product * inv_std, gbeta, -gamma * inv_std * gbeta, -0.5 * gamma * inv_std**3 * product
        found[1:] = [v.reshape(shape) for v in sums]
    return found


def renormalization(
    xp: Any, moments: Moments, running_mean: Any, running_var: Any, rmax: float, dmax: float, eps: float
) -> tuple[Any, Any]:
    """The corrections r and d of batch renormalization for each channel, float64."""
    mean, var = (v.reshape(-1).astype('d') for v in (running_mean, running_var))
    running_std = xp.sqrt(var + eps)
    r = xp.clip(xp.sqrt(moments.var + eps) / running_std, 1.0 / rmax, rmax)
    return r, xp.clip((moments.true_mean - mean) / running_std, -dmax, dmax)


@kernel
def scale_channels(xp: Any, laid: Any, channels: Channels, shift: Any, scale: Any, bias: Any) -> Any:
    """``(x - shift) * scale + bias`` with one number per channel each; ``shift`` may be None.

    Args:
        xp: numpy or cupy.
        laid: array, laid by ``channels``.
        channels: their layout.
        shift: array (channels,) or None.
        scale: array (channels,).
        bias: array (channels,).

    Returns:
        Array of ``laid``'s shape and dtype.
    """
    y = xp.empty(laid.shape, laid.dtype)
    scale, bias = (channels.spread(v.astype(laid.dtype)) for v in (scale, bias))
    offset = None if shift is None else channels.spread(shift.astype(laid.dtype))
    for piece in pieces(xp, laid):
        out = y[piece]
        x = laid[piece] if offset is None else xp.subtract(laid[piece], offset, out=out)
        xp.multiply(x, scale, out=out)
        out += bias
    return y


@scale_channels.on_native
def _scale_channels_native(xp: Any, laid: Any, channels: Channels, shift: Any, scale: Any, bias: Any) -> Any:
    if not channels.fit(laid, shift, scale, bias):
        return DECLINED
    y = numpy.empty(laid.shape, laid.dtype)
    return y if native.scale_channels(laid, shift, scale, bias, y, *channels.sizes) else DECLINED


@scale_channels.on('cuda')
def _scale_channels_cuda(xp: Any, laid: Any, channels: Channels, shift: Any, scale: Any, bias: Any) -> Any:
    numbers = [v.astype('d', copy=False)[:, None] for v in (scale, bias)]
    return cuda.scale(_by_channel(channels, laid), _no_shift(xp, laid, shift), *numbers).reshape(laid.shape)


@kernel
def sums_with(xp: Any, g: Any, laid: Any, channels: Channels, shift: Any) -> tuple[Any, Any]:
    """``sum(g)`` and ``sum(g * (x - shift))`` of each channel, float64.

    Args:
        xp: numpy or cupy.
        g: array, laid by ``channels``.
        laid: x, laid by ``channels``.
        channels: their layout.
        shift: array (channels,) or None.
    """
    total, product = xp.zeros(channels.channels), xp.zeros(channels.channels)
    for piece, x in channels.shifted(xp, laid, shift):
        total += channels.sums(xp, g[piece])
        product += channels.products(xp, g[piece], x)
    return total, product


@sums_with.on_native
def _sums_with_native(xp: Any, g: Any, laid: Any, channels: Channels, shift: Any) -> Any:
    if g.shape != laid.shape or not channels.fit(laid, shift):
        return DECLINED
    total, product = numpy.empty((2, channels.channels))
    done = native.channel_sums(g, laid, shift, total, product, *channels.sizes)
    return (total, product) if done else DECLINED


@sums_with.on('cuda')
def _sums_with_cuda(xp: Any, g: Any, laid: Any, channels: Channels, shift: Any) -> tuple[Any, Any]:
    g, x = _by_channel(channels, g), _by_channel(channels, laid)
    return cuda.totals(g, axis=(0, 2)), cuda.products(g, x, _no_shift(xp, laid, shift), axis=(0, 2))


@kernel
def combine_channels(xp: Any, g: Any, laid: Any, channels: Channels, shift: Any, a: Any, b: Any, c: Any) -> Any:
    """``a * (g + b * (x - shift)) + c`` with one number per channel each; ``shift`` may be None.

    Args:
        xp: numpy or cupy.
        g: array, laid by ``channels``.
        laid: x, laid by ``channels``.
        channels: their layout.
        shift: array (channels,) or None.
        a: array (channels,).
        b: array (channels,).
        c: array (channels,).

    Returns:
        Array of ``laid``'s shape and dtype.
    """
    y = xp.empty(laid.shape, laid.dtype)
    a, b, c = (channels.spread(v.astype(laid.dtype)) for v in (a, b, c))
    offset = None if shift is None else channels.spread(shift.astype(laid.dtype))
    for piece in pieces(xp, laid):
        out = y[piece]
        x = laid[piece] if offset is None else xp.subtract(laid[piece], offset, out=out)
        xp.multiply(x, b, out=out)
        out += g[piece]
        out *= a
        out += c
    return y


@combine_channels.on_native
def _combine_channels_native(
    xp: Any, g: Any, laid: Any, channels: Channels, shift: Any, a: Any, b: Any, c: Any
) -> Any:
    if g.shape != laid.shape or not channels.fit(laid, shift, a, b, c):
        return DECLINED
    y = numpy.empty(laid.shape, laid.dtype)
    return y if native.combine_channels(g, laid, shift, a, b, c, y, *channels.sizes) else DECLINED


@combine_channels.on('cuda')
def _combine_channels_cuda(xp: Any, g: Any, laid: Any, channels: Channels, shift: Any, a: Any, b: Any, c: Any) -> Any:
    numbers = [v.astype('d', copy=False)[:, None] for v in (a, b, c)]
    g, x = _by_channel(channels, g), _by_channel(channels, laid)
    return cuda.combine(g, x, _no_shift(xp, laid, shift), *numbers).reshape(laid.shape)


@kernel
def gradient_coefficients(
    xp: Any, gbeta: Any, product: Any, mean: Any, inv_std: Any, gamma: Any, size: int
) -> tuple[Any, Any, Any, Any]:
    """The gradient of gamma, and the numbers a, b, c of :func:`combine_channels` for the gradient of x.

    Args:
        xp: numpy or cupy.
        gbeta: sum of the upstream gradient over each channel.
        product: sum of the upstream gradient times shifted elements.
        mean: mean of the shifted elements.
        inv_std: one over the standard deviation.
        gamma: array (channels,).
        size: number of elements of a channel.
    """
    ggamma = (product - mean * gbeta) * inv_std
    a = gamma * inv_std
    b = -inv_std * ggamma / size
    return ggamma, a, b, -a * (gbeta / size + b * mean)


@gradient_coefficients.on_native
def _gradient_coefficients_native(
    xp: Any, gbeta: Any, product: Any, mean: Any, inv_std: Any, gamma: Any, size: int
) -> Any:
    found = tuple(numpy.empty((4, gamma.size)))
    given = gamma, gbeta, product, mean, inv_std
    if any([v.shape != found[0].shape for v in given]):
        return DECLINED
    return found if native.gradient_coefficients(*given, *found, gamma.size, size) else DECLINED


@gradient_coefficients.on('cuda')
def _gradient_coefficients_cuda(
    xp: Any, gbeta: Any, product: Any, mean: Any, inv_std: Any, gamma: Any, size: int
) -> Any:
    return cuda.gradient_coefficients(gbeta, product, mean, inv_std, gamma.astype('d', copy=False), 1.0 / size)


def batch_norm_gradient(
    xp: Any, g: Any, laid: Any, channels: Channels, moments: Moments, inv_std: Any, gamma: Any
) -> tuple[Any, Any, Any]:
    r"""Gradients of batch normalization: :math:`\frac{\gamma}{\sigma}(g - \bar g - z\,\overline{g z})` and two sums.

    Args:
        xp: numpy or cupy.
        g: gradient of the result, laid by ``channels``.
        laid: x, laid by ``channels``.
        channels: their layout.
        moments: those of x.
        inv_std: array (channels,), one over the standard deviation.
        gamma: array (channels,).

    Returns:
        Gradient of x, laid; those of gamma and beta, float64 arrays (channels,).
    """
    gbeta, product = sums_with(xp, g, laid, channels, moments.shift)
    size = max(channels.size, 1)
    ggamma, a, b, c = gradient_coefficients(xp, gbeta, product, moments.mean, inv_std, gamma, size)
    return combine_channels(xp, g, laid, channels, moments.shift, a, b, c), ggamma, gbeta


# --- the plain forms -----------------------------------------------------------------------------------------------
def moments_reference(x: Any, axis: tuple[int, ...]) -> tuple[Any, Any]:
    """The definition of :func:`moments`: mean and variance of an array over axes, float64."""
    return x.mean(axis, dtype='d').reshape(-1), x.astype('d').var(axis).reshape(-1)


def batch_norm_gradient_reference(
    g: Any, x: Any, axis: tuple[int, ...], gamma: Any, eps: float
) -> tuple[Any, Any, Any]:
    """The formula of :func:`batch_norm_gradient` for an array in its own shape; ``gamma`` broadcasts against x."""
    g, x = g.astype('d'), x.astype('d')
    inv_std = 1 / numpy.sqrt(x.var(axis, keepdims=True) + eps)
    z = (x - x.mean(axis, keepdims=True)) * inv_std
    gx = gamma * inv_std * (g - g.mean(axis, keepdims=True) - z * (g * z).mean(axis, keepdims=True))
    return gx, (g * z).sum(axis).reshape(-1), g.sum(axis).reshape(-1)
