"""Max pooling over one to any number of axes."""

from __future__ import annotations

from typing import Any

from minichainer import ops
from minichainer.backend import get_array_module
from minichainer.functions._define import linear_map, primitive
from minichainer.functions.pooling._geometry import PoolingArguments, window_geometry
from minichainer.kernels import pooling as kernels
from minichainer.kernels._windows import Geometry
from minichainer.variable import as_variable

_arguments = PoolingArguments('MaxPoolingND')

ops.register_constant('places_of_maxima', kernels.places_of_maxima)


@primitive(
    rule=(lambda m, gy, x, y, geometry: m.spread(gy, m.places_of_maxima(x, y, geometry=geometry), geometry),),
    fast=(kernels.maxima_gradient,),
    name=_arguments.label,
    kinds='f',
    attributes={'indexes': lambda node: _places(*node.saved)},
)
def maxima(xp: Any, x: Any, geometry: Geometry) -> Any:
    """The largest element of each window."""
    return kernels.maxima(xp, x, geometry)


@linear_map(lambda m, g, places, geometry: m.pick(g, places, geometry), name='MaxPoolingNDGrad', kinds='f')
def spread(xp: Any, gy: Any, places: Any, geometry: Geometry) -> Any:
    """Adds the value of each window to one of its elements; the indices are constants."""
    return kernels.spread(xp, gy, places, geometry)


@linear_map(lambda m, g, places, geometry: m.spread(g, places, geometry), name='MaxPoolingNDWithIndexes', kinds='f')
def pick(xp: Any, x: Any, places: Any, geometry: Geometry) -> Any:
    """One element of each window; the indices are constants."""
    return kernels.pick(xp, x, places, geometry)


def max_pooling_nd(
    x: Any, ksize: Any, stride: Any = None, pad: Any = 0, cover_all: bool = True, return_indices: bool = False
) -> Any:
    r"""The largest element of each window, over any number of axes.

    The gradient goes to the first maximum of a window. A window that contains only padding gives minus infinity.

    Args:
        x: Variable or float array :math:`(N, C, d_1, \dots, d_n)`.
        ksize: size of the windows, an int or one per axis.
        stride: step of the windows, an int or one per axis; ``ksize`` by default.
        pad: width of the padding before and after each axis, an int or one per axis; it is never a maximum.
        cover_all: also use an incomplete window at the end, so that each element is in some window.
        return_indices: also return which element of its window each maximum is.

    Returns:
        Variable :math:`(N, C, l_1, \dots, l_n)`; where ``return_indices``, a tuple of it and of an int64 array of
        its shape with places in the window, counted in C order.

    Raises:
        InvalidType: ``x`` has no elements, or is not a float array.
        ValueError: ``x`` has fewer than three axes, or ``ksize``, ``stride`` or ``pad`` do not fit.
        AssertionError: the windows are larger than the padded input (with ``cover_all=False``).

    >>> import numpy as np, minichainer.functions as F
    >>> F.max_pooling_nd(np.array([[[1., 4., 2., 3., 5.]]]), 2).array
    array([[[4., 3., 5.]]])
    """
    return _max_pooling(x, ksize, stride, pad, cover_all, return_indices)


def max_pooling_1d(
    x: Any, ksize: Any, stride: Any = None, pad: Any = 0, cover_all: bool = True, return_indices: bool = False
) -> Any:
    """The largest element of each window over one axis; see :func:`max_pooling_nd`.

    Args:
        x: Variable or float array (N, C, d).
        ksize: size of the windows.
        stride: step of the windows; ``ksize`` by default.
        pad: width of the padding at each end.
        cover_all: also use an incomplete window at the end.
        return_indices: also return which element of its window each maximum is.

    Raises:
        ValueError: ``x`` does not have three axes.

    >>> import numpy as np, minichainer.functions as F
    >>> y, indices = F.max_pooling_1d(np.array([[[1., 4., 3., 2.]]]), 2, return_indices=True)
    >>> indices
    array([[[1, 0]]])
    """
    PoolingArguments('max_pooling_1d').axes_of(x, 1)
    return _max_pooling(x, ksize, stride, pad, cover_all, return_indices)


def max_pooling_2d(
    x: Any, ksize: Any, stride: Any = None, pad: Any = 0, cover_all: bool = True, return_indices: bool = False
) -> Any:
    """The largest element of each window of images; see :func:`max_pooling_nd`.

    Args:
        x: Variable or float array (N, C, h, w).
        ksize: size of the windows, an int or a pair.
        stride: step of the windows, an int or a pair; ``ksize`` by default.
        pad: width of the padding on each side, an int or a pair.
        cover_all: also use incomplete windows at the right and at the bottom.
        return_indices: also return which element of its window each maximum is.

    Raises:
        ValueError: ``x`` does not have four axes.

    >>> import numpy as np, minichainer.functions as F
    >>> F.max_pooling_2d(np.arange(16.).reshape(1, 1, 4, 4), 2).array
    array([[[[ 5.,  7.],
             [13., 15.]]]])
    """
    PoolingArguments('max_pooling_2d').axes_of(x, 2)
    return _max_pooling(x, ksize, stride, pad, cover_all, return_indices)


def max_pooling_3d(
    x: Any, ksize: Any, stride: Any = None, pad: Any = 0, cover_all: bool = True, return_indices: bool = False
) -> Any:
    """The largest element of each window over three axes; see :func:`max_pooling_nd`.

    Args:
        x: Variable or float array (N, C, d1, d2, d3).
        ksize: size of the windows, an int or three.
        stride: step of the windows, an int or three; ``ksize`` by default.
        pad: width of the padding before and after each axis, an int or three.
        cover_all: also use an incomplete window at the end of each axis.
        return_indices: also return which element of its window each maximum is.

    Raises:
        ValueError: ``x`` does not have five axes.

    >>> import numpy as np, minichainer.functions as F
    >>> F.max_pooling_3d(np.arange(8.).reshape(1, 1, 2, 2, 2), 2).array
    array([[[[[7.]]]]])
    """
    PoolingArguments('max_pooling_3d').axes_of(x, 3)
    return _max_pooling(x, ksize, stride, pad, cover_all, return_indices)


def _max_pooling(x: Any, ksize: Any, stride: Any, pad: Any, cover_all: bool, return_indices: bool) -> Any:
    x = as_variable(x)
    if return_indices is not False:
        _arguments.flag(return_indices, 'return_indices')
    geometry = window_geometry(_arguments, x, ksize, stride, pad, cover_all)
    y = maxima(x, geometry)
    if not return_indices:
        return y
    return y, _places(x._data, y._data, geometry)


def _places(x: Any, y: Any, geometry: Geometry) -> Any:
    """Which element of its window each maximum is."""
    places = kernels.places_of_maxima(get_array_module(x), x, y, geometry)
    return places.astype('int64', order='C')
