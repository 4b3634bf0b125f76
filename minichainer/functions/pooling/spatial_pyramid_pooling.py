"""Poolings with a given number of windows, for images of any size."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.functions._arguments import MOST, Arguments, as_integer, entries_of
from minichainer.functions._define import linear_map
from minichainer.functions.array.joining import concat
from minichainer.functions.array.shape import reshape
from minichainer.functions.pooling.max_pooling_nd import max_pooling_2d
from minichainer.kernels.precision import accumulator, in_float32
from minichainer.kernels.weighing import weighed
from minichainer.variable import Variable, as_variable

_pyramid = Arguments('spatial_pyramid_pooling_2d')
_adaptive = Arguments('AdaptiveAveragePooling2D', 'adaptive_average_pooling_2d')


def spatial_pyramid_pooling_2d(x: Any, pyramid_height: int, pooling: str | None = None) -> Variable:
    r"""Maxima of images divided into :math:`1, 2 \times 2, 4 \times 4, \dots` windows, for any size.

    Args:
        x: images, Variable or float array (N, C, H, W).
        pyramid_height: number of levels; level :math:`l` has :math:`2^l \times 2^l` windows.
        pooling: ``'max'``, which must be said.

    Returns:
        Variable :math:`(N, C (4^{\mathrm{height}} - 1) / 3, 1, 1)`.

    Raises:
        ValueError: ``pooling`` is not ``'max'``, or there is no level.
        InvalidType: ``x`` is not a float array with four axes and elements.

    Source: `Spatial Pyramid Pooling in Deep Convolutional Networks <https://arxiv.org/abs/1406.4729>`_.

    >>> import numpy as np, minichainer.functions as F
    >>> F.spatial_pyramid_pooling_2d(np.arange(16.).reshape(1, 1, 4, 4), 2, 'max').array.ravel()
    array([15.,  5.,  7., 13., 15.])
    """
    _pyramid.choice(pooling, 'pooling', ('max',))
    pyramid_height = _pyramid.integer(pyramid_height, 'pyramid_height', least=1)
    x = as_variable(x)
    if x.ndim != 4 or not x.size:
        raise _pyramid.misfit('x with 4 axes and x.size > 0', f'x.shape = {x.shape}')
    return concat([_level(x, 2**level) for level in range(pyramid_height)], axis=1)


def _level(x: Variable, bins: int) -> Variable:
    """The maxima of ``bins * bins`` windows, centred on the images."""
    ksize = tuple([-(-size // bins) for size in x.shape[2:]])
    pad = tuple([(k * bins - size) // 2 for k, size in zip(ksize, x.shape[2:], strict=True)])
    return reshape(max_pooling_2d(x, ksize, pad=pad, cover_all=True), (len(x), -1, 1, 1))


@linear_map(lambda m, gy, rows, columns: m.weigh_axes(gy, rows.T, columns.T), name=_adaptive.label, kinds='f')
def weigh_axes(xp: Any, x: Any, rows: Any, columns: Any) -> Any:
    """Weighted sums over the last two axes, ``rows @ x @ columns.T``."""
    images = in_float32(x)
    left, right = xp.asarray(rows, images.dtype), xp.asarray(columns, images.dtype)
    sums = weighed(xp, lambda x, rows, columns: xp.matmul(rows, xp.matmul(x, columns.T)), images, left, right)
    return sums.astype(x.dtype, copy=False)


def adaptive_average_pooling_2d(x: Any, outsize: Any) -> Variable:
    r"""The means of images divided into a given number of windows.

    Window :math:`i` of :math:`n` covers the pixels from :math:`\lfloor i H / n \rfloor` up to, not including,
    :math:`\lceil (i + 1) H / n \rceil`: windows have equal size if :math:`n` divides :math:`H`, and overlap
    otherwise.

    Args:
        x: images, Variable or float array (N, C, H, W).
        outsize: height and width of the result, an int or a pair; None is that of ``x``.

    Returns:
        Variable (N, C, *outsize).

    Raises:
        InvalidType: ``x`` is not a float array with four axes, or has no pixels.
        TypeError: ``outsize`` is neither int, None nor a pair of these.
        ValueError: ``outsize`` is less than 1, or too large for any array.

    Source: PyTorch's documentation of ``adaptive_avg_pool2d``.

    >>> import numpy as np, minichainer.functions as F
    >>> F.adaptive_average_pooling_2d(np.array([[[[0., 2., 4.], [6., 8., 10.]]]]), (1, 2)).array
    array([[[[4., 6.]]]])
    """
    x = as_variable(x)
    if x.dtype.kind != 'f':
        raise _adaptive.misfit('x of a float dtype', f'{x.dtype}')
    if x.ndim != 4 or 0 in x.shape[2:]:
        raise _adaptive.misfit('x with 4 axes, the last two of at least one pixel', f'x.shape = {x.shape}')
    sizes = zip(_sizes(outsize, x.shape[2:]), x.shape[2:], strict=True)
    rows, columns = (_means(n, size).astype(accumulator(x.dtype), copy=False) for n, size in sizes)
    y: Variable = weigh_axes(x, rows, columns)
    return y


def _sizes(outsize: Any, size: tuple[int, ...]) -> tuple[int, ...]:
    """Height and width of the result; None keeps the size of the image."""
    pair = entries_of(outsize, 2)
    integers = [old if n is None else as_integer(n) for n, old in zip(pair, size, strict=False)]
    sizes = tuple([n for n in integers if n is not None])
    if not len(pair) == len(sizes) == 2:
        raise _adaptive.wrong_type('int, None, or a pair', 'outsize', outsize)
    if not all(1 <= n <= MOST for n in sizes):
        raise _adaptive.wrong_value(f'1 to {MOST}', 'outsize', outsize)
    _adaptive.addressable(sizes)
    return sizes


def _means(count: int, size: int) -> Any:
    """Matrix (count, size) that computes the mean of each window."""
    window, pixel = numpy.arange(count)[:, None], numpy.arange(size)
    begin, end = window * size // count, -(-(window + 1) * size // count)
    return ((pixel >= begin) & (pixel < end)) / (end - begin)
