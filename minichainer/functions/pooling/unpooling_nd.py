"""Unpooling over one to any number of axes: fills windows with a value, or puts it at one of their elements."""

from __future__ import annotations

from typing import Any

from minichainer.backend import on_device_of_arguments
from minichainer.functions._define import linear_map
from minichainer.functions.pooling._geometry import PoolingArguments, unpooling_geometry
from minichainer.kernels import pooling as kernels
from minichainer.kernels._windows import Geometry
from minichainer.variable import Variable, as_variable

_upsampling = PoolingArguments('Upsampling2D')


@linear_map(
    lambda m, gy, geometry, name: m.window_sums(gy, geometry, name),
    label=lambda geometry, name: name,
    kinds='f',
)
def spread_sums(xp: Any, x: Any, geometry: Geometry, name: str) -> Any:
    """Adds the value of each window to all of its elements."""
    return kernels.spread_sums(xp, x, geometry)


@linear_map(
    lambda m, g, geometry, name: m.spread_sums(g, geometry, name),
    label=lambda geometry, name: f'{name}Grad',
    kinds='f',
)
def window_sums(xp: Any, gy: Any, geometry: Geometry, name: str) -> Any:
    """The sum of each window, the transpose of :func:`spread_sums`."""
    return kernels.sums(xp, gy, geometry)


@linear_map(lambda m, gy, indexes, geometry: m.pick(gy, indexes, geometry), name=_upsampling.label, kinds='f')
def upsampled(xp: Any, x: Any, indexes: Any, geometry: Geometry) -> Any:
    """Adds the value of each window to one of its elements."""
    return kernels.spread(xp, x, indexes, geometry)


def unpooling_nd(
    x: Any, ksize: Any, stride: Any = None, pad: Any = 0, outsize: Any = None, cover_all: bool = True
) -> Variable:
    r"""Fills windows with the values of ``x``, over any number of axes: the transpose of sums over windows.

    Overlapping windows are added; elements outside all windows are 0.

    Args:
        x: Variable or float array :math:`(N, C, d_1, \dots, d_n)`.
        ksize: size of the windows, an int or one per axis.
        stride: step of the windows, an int or one per axis; ``ksize`` by default.
        pad: number of elements removed before and after each axis, an int or one per axis.
        outsize: size of the result, a tuple of one int per axis; by default the smallest that a pooling with these
            arguments makes ``x`` of.
        cover_all: whether that pooling uses an incomplete window at the end.

    Returns:
        Variable :math:`(N, C, l_1, \dots, l_n)`; :math:`l = \mathrm{stride}\,(d - 1) + \mathrm{ksize} - 2\,
        \mathrm{pad}`, less :math:`\mathrm{stride} - 1` where ``cover_all``.

    Raises:
        InvalidType: ``x`` is not a float array, or pooling an array of size ``outsize`` does not give that of ``x``.
        ValueError: ``x`` has fewer than three axes, or ``ksize``, ``stride`` or ``pad`` do not fit.
        TypeError: one of the arguments is not an int, nor a sequence of ints.
        AssertionError: more than the result would be cut off; a result of size 0 is one.

    >>> import numpy as np, minichainer.functions as F
    >>> F.unpooling_nd(np.array([[[1., 2., 3.]]]), 2, cover_all=False).array
    array([[[1., 1., 2., 2., 3., 3.]]])
    """
    return _unpooling('UnpoolingND', x, ksize, stride, pad, outsize, cover_all)


def unpooling_1d(
    x: Any, ksize: Any, stride: Any = None, pad: Any = 0, outsize: Any = None, cover_all: bool = True
) -> Variable:
    """Fills windows over one axis with the values of ``x``; see :func:`unpooling_nd`.

    Args:
        x: Variable or float array (N, C, d).
        ksize: size of the windows.
        stride: step of the windows; ``ksize`` by default.
        pad: number of elements removed at each end.
        outsize: tuple with the size of the result.
        cover_all: whether the pooling that this reverses uses an incomplete window at the end.

    Raises:
        ValueError: ``x`` does not have three axes.

    >>> import numpy as np, minichainer.functions as F
    >>> F.unpooling_1d(np.array([[[1., 2., 3.]]]), 3, stride=2, pad=1, cover_all=False).array
    array([[[1., 3., 2., 5., 3.]]])
    """
    PoolingArguments('unpooling_1d').axes_of(x, 1)
    return _unpooling('UnpoolingND', x, ksize, stride, pad, outsize, cover_all)


def unpooling_2d(
    x: Any, ksize: Any, stride: Any = None, pad: Any = 0, outsize: Any = None, cover_all: bool = True
) -> Variable:
    """Fills windows of images with the values of ``x``; see :func:`unpooling_nd`.

    Args:
        x: Variable or float array (N, C, h, w).
        ksize: size of the windows, an int or a pair.
        stride: step of the windows, an int or a pair; ``ksize`` by default.
        pad: rows and columns that are cut off on each side, an int or a pair.
        outsize: pair with the size of the result.
        cover_all: whether the pooling that this reverses uses incomplete windows at the right and at the bottom.

    Raises:
        InvalidType: ``x`` does not have four axes.

    >>> import numpy as np, minichainer.functions as F
    >>> F.unpooling_2d(np.array([[[[1., 2.]]]]), 2, outsize=(2, 4)).array
    array([[[[1., 1., 2., 2.],
             [1., 1., 2., 2.]]]])
    """
    name = 'Unpooling2D'
    PoolingArguments(name).images(x)
    return _unpooling(name, x, ksize, stride, pad, outsize, cover_all)


def unpooling_3d(
    x: Any, ksize: Any, stride: Any = None, pad: Any = 0, outsize: Any = None, cover_all: bool = True
) -> Variable:
    """Fills windows over three axes with the values of ``x``; see :func:`unpooling_nd`.

    Args:
        x: Variable or float array (N, C, d1, d2, d3).
        ksize: size of the windows, an int or three.
        stride: step of the windows, an int or three; ``ksize`` by default.
        pad: number of elements removed before and after each axis, an int or three.
        outsize: three ints, the size of the result.
        cover_all: whether the pooling that this reverses uses an incomplete window at the end of each axis.

    Raises:
        ValueError: ``x`` does not have five axes.

    >>> import numpy as np, minichainer.functions as F
    >>> F.unpooling_3d(np.ones((1, 1, 2, 2, 2)), 2, cover_all=False).shape
    (1, 1, 4, 4, 4)
    """
    PoolingArguments('unpooling_3d').axes_of(x, 3)
    return _unpooling('UnpoolingND', x, ksize, stride, pad, outsize, cover_all)


@on_device_of_arguments
def upsampling_2d(
    x: Any, indexes: Any, ksize: Any, stride: Any = None, pad: Any = 0, outsize: Any = None, cover_all: bool = True
) -> Variable:
    """Puts values at the indices that a max pooling has returned; zeros elsewhere.

    Values at the same index are added.

    Args:
        x: Variable or float array (N, C, h, w).
        indexes: which element of its window each value goes to, counted along the window in C order, int array of
            the shape of ``x``: what :func:`max_pooling_2d` returns with ``return_indices=True``.
        ksize: size of the windows, an int or a pair.
        stride: step of the windows, an int or a pair; ``ksize`` by default.
        pad: rows and columns that are cut off on each side, an int or a pair.
        outsize: pair with the size of the result; see :func:`unpooling_nd`.
        cover_all: whether the pooling has used incomplete windows at the right and at the bottom.

    Returns:
        Variable (N, C, *outsize).

    Raises:
        InvalidType: ``x`` is not a float array with four axes, ``indexes`` is not an int array of its shape, or
            pooling an array of size ``outsize`` does not give that of ``x``.
        IndexError: a window has no such element.
        ValueError: ``ksize``, ``stride`` or ``pad`` do not fit.

    Source: `Fully Convolutional Networks for Semantic Segmentation <https://arxiv.org/abs/1411.4038>`_.

    >>> import numpy as np, minichainer.functions as F
    >>> x = np.array([[[[1., 4., 2., 3.], [0., 2., 7., 1.]]]])
    >>> y, indexes = F.max_pooling_2d(x, 2, return_indices=True)
    >>> F.upsampling_2d(y, indexes, 2, outsize=(2, 4)).array
    array([[[[0., 4., 0., 0.],
             [0., 0., 7., 0.]]]])
    """
    _upsampling.images(x)
    x, places = as_variable(x), _upsampling.array(indexes, 'indexes')
    geometry = unpooling_geometry(_upsampling, x, ksize, stride, pad, outsize, cover_all)
    _check_indexes(x, places, geometry.ksize)
    y: Variable = upsampled(x, places, geometry)
    return y


def _check_indexes(x: Variable, indexes: Any, ksize: tuple[int, ...]) -> None:
    if indexes.dtype.kind not in 'iu' or indexes.shape != x.shape:
        expected = f'indexes of an int dtype and of shape {x.shape}'
        raise _upsampling.misfit(expected, f'{indexes.dtype} {indexes.shape}')
    count = ksize[0] * ksize[1]
    _upsampling.in_range('indexes', indexes, 0, count, f' for windows of {ksize}')


def _unpooling(name: str, x: Any, ksize: Any, stride: Any, pad: Any, outsize: Any, cover_all: bool) -> Variable:
    x = as_variable(x)
    geometry = unpooling_geometry(PoolingArguments(name), x, ksize, stride, pad, outsize, cover_all)
    y: Variable = spread_sums(x, geometry, name)
    return y
