"""Average pooling over one to any number of axes."""

from __future__ import annotations

from typing import Any

from minichainer.functions._define import linear_map
from minichainer.functions.pooling._geometry import PoolingArguments, window_geometry
from minichainer.kernels import pooling as kernels
from minichainer.kernels._windows import Geometry
from minichainer.variable import Variable, as_variable


@linear_map(
    lambda m, gy, geometry, count_padding, name: m.spread_means(gy, geometry, count_padding, name),
    name='AveragePoolingND',
    label=lambda geometry, count_padding, name: name,
    kinds='f',
)
def window_means(xp: Any, x: Any, geometry: Geometry, count_padding: bool, name: str) -> Any:
    """The mean of each window."""
    return kernels.means(xp, x, geometry, count_padding)


@linear_map(
    lambda m, g, geometry, count_padding, name: m.window_means(g, geometry, count_padding, name),
    name='AveragePoolingNDGrad',
    label=lambda geometry, count_padding, name: f'{name}Grad',
    kinds='f',
)
def spread_means(xp: Any, gy: Any, geometry: Geometry, count_padding: bool, name: str) -> Any:
    """The transpose of :func:`window_means`."""
    return kernels.spread_means(xp, gy, geometry, count_padding)


def average_pooling_nd(x: Any, ksize: Any, stride: Any = None, pad: Any = 0, pad_value: Any = 0) -> Variable:
    r"""The mean of each window, over any number of axes.

    Args:
        x: Variable or float array :math:`(N, C, d_1, \dots, d_n)`.
        ksize: size of the windows, an int or one per axis.
        stride: step of the windows, an int or one per axis; ``ksize`` by default.
        pad: width of the padding before and after each axis, an int or one per axis.
        pad_value: 0 for a padding of zeros, None for one that counts as no elements.

    Returns:
        Variable :math:`(N, C, l_1, \dots, l_n)`; an incomplete window at the end is not used.

    Raises:
        InvalidType: ``x`` has no elements, or is not a float array.
        ValueError: ``pad_value`` is neither 0 nor None, ``x`` has fewer than three axes, or ``ksize``, ``stride`` or
            ``pad`` do not fit.
        AssertionError: the windows are larger than the padded input.

    >>> import numpy as np, minichainer.functions as F
    >>> x = np.array([[[2., 4., 6.]]])
    >>> F.average_pooling_nd(x, 2, pad=1).array, F.average_pooling_nd(x, 2, pad=1, pad_value=None).array
    (array([[[1., 5.]]]), array([[[2., 5.]]]))
    """
    return _average_pooling('AveragePoolingND', x, ksize, stride, pad, pad_value)


def average_pooling_1d(x: Any, ksize: Any, stride: Any = None, pad: Any = 0, pad_value: Any = 0) -> Variable:
    """The mean of each window over one axis; see :func:`average_pooling_nd`.

    Args:
        x: Variable or float array (N, C, d).
        ksize: size of the windows.
        stride: step of the windows; ``ksize`` by default.
        pad: width of the padding at each end.
        pad_value: 0 for a padding of zeros, None for one that counts as no elements.

    Raises:
        ValueError: ``x`` does not have three axes.

    >>> import numpy as np, minichainer.functions as F
    >>> F.average_pooling_1d(np.array([[[1., 3., 4., 6.]]]), 2).array
    array([[[2., 5.]]])
    """
    PoolingArguments('average_pooling_1d').axes_of(x, 1)
    return _average_pooling('AveragePoolingND', x, ksize, stride, pad, pad_value)


def average_pooling_2d(x: Any, ksize: Any, stride: Any = None, pad: Any = 0) -> Variable:
    """The mean of each window of images; see :func:`average_pooling_nd`.

    Args:
        x: Variable or float array (N, C, h, w).
        ksize: size of the windows, an int or a pair.
        stride: step of the windows, an int or a pair; ``ksize`` by default.
        pad: width of the padding on each side, which is zeros, an int or a pair.

    Raises:
        InvalidType: ``x`` does not have four axes.

    >>> import numpy as np, minichainer.functions as F
    >>> F.average_pooling_2d(np.arange(16.).reshape(1, 1, 4, 4), 2).array
    array([[[[ 2.5,  4.5],
             [10.5, 12.5]]]])
    """
    name = 'AveragePooling2D'
    PoolingArguments(name).images(x)
    return _average_pooling(name, x, ksize, stride, pad, 0)


def average_pooling_3d(x: Any, ksize: Any, stride: Any = None, pad: Any = 0, pad_value: Any = 0) -> Variable:
    """The mean of each window over three axes; see :func:`average_pooling_nd`.

    Args:
        x: Variable or float array (N, C, d1, d2, d3).
        ksize: size of the windows, an int or three.
        stride: step of the windows, an int or three; ``ksize`` by default.
        pad: width of the padding before and after each axis, an int or three.
        pad_value: 0 for a padding of zeros, None for one that counts as no elements.

    Raises:
        ValueError: ``x`` does not have five axes.

    >>> import numpy as np, minichainer.functions as F
    >>> F.average_pooling_3d(np.arange(8.).reshape(1, 1, 2, 2, 2), 2).array
    array([[[[[3.5]]]]])
    """
    PoolingArguments('average_pooling_3d').axes_of(x, 3)
    return _average_pooling('AveragePoolingND', x, ksize, stride, pad, pad_value)


def _average_pooling(name: str, x: Any, ksize: Any, stride: Any, pad: Any, pad_value: Any) -> Variable:
    arguments = PoolingArguments(name)
    if pad_value is not None:
        arguments.number(pad_value, 'pad_value')
    if pad_value not in (0, None):
        raise arguments.wrong_value('0 or None', 'pad_value', pad_value)
    x = as_variable(x)
    geometry = window_geometry(arguments, x, ksize, stride, pad, False, empty=name == 'AveragePooling2D')
    y: Variable = window_means(x, geometry, pad_value == 0, name)
    return y
