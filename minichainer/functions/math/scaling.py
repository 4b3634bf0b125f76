"""Shifting, scaling, interpolating and comparing arrays."""

from __future__ import annotations

from typing import Any

from minichainer.functions._arguments import Arguments
from minichainer.functions._define import elementwise, primitive
from minichainer.functions.array.shape import reshape
from minichainer.kernels import blending, reductions
from minichainer.utils.type_check import InvalidType
from minichainer.variable import Variable, as_variable

_arguments = {name: Arguments(name) for name in ('bias', 'scale')}


class RepeatedShapeError(InvalidType, AssertionError):
    """The second array does not fit the first: InvalidType in Chainer, and AssertionError in its debug mode."""


def bias(x: Any, y: Any, axis: int = 1) -> Variable:
    r"""Sum with an array that is repeated along the axes it does not have, such as one bias per channel.

    Args:
        x: Variable or float array.
        y: Variable or float array of the same dtype, whose shape is that of ``x`` from ``axis`` on.
        axis: the axis of ``x`` that is the first of ``y``.

    Returns:
        Variable of ``x``'s shape.

    Raises:
        InvalidType: the shape of ``y`` is not found there in the shape of ``x``, or dtypes differ.

    >>> import numpy as np, minichainer.functions as F
    >>> F.bias(np.zeros((1, 2, 2)), np.array([1., 2.]))
    variable([[[1., 1.],
               [2., 2.]]])
    """
    shifted = as_variable(x)
    return shifted + _repeated(shifted, y, axis, 'bias')


def scale(x: Any, y: Any, axis: int = 1) -> Variable:
    r"""Product with an array that is repeated along the axes it does not have, such as one factor per channel.

    Args:
        x: Variable or float array.
        y: Variable or float array of the same dtype, whose shape is that of ``x`` from ``axis`` on.
        axis: the axis of ``x`` that is the first of ``y``.

    Returns:
        Variable of ``x``'s shape.

    Raises:
        InvalidType: the shape of ``y`` is not found there in the shape of ``x``, or dtypes differ.

    >>> import numpy as np, minichainer.functions as F
    >>> F.scale(np.ones((1, 2, 2)), np.array([2., 3.]))
    variable([[[2., 2.],
               [3., 3.]]])
    """
    scaled = as_variable(x)
    return scaled * _repeated(scaled, y, axis, 'scale')


def _repeated(x: Variable, y: Any, axis: int, name: str) -> Variable:
    """The second array, broadcast to the shape of ``x`` from ``axis`` on."""
    given = as_variable(y)
    if type(axis) is int and axis == 1 and x.shape[1:] == given.shape:
        return given
    arguments = _arguments[name]
    axis = arguments.integer(axis, 'axis')
    if given.ndim and (axis < 0 or x.shape[axis : axis + given.ndim] != given.shape):
        expected = f'x.shape[{axis}:{axis + given.ndim}] == y.shape and axis >= 0'
        raise arguments.misfit(expected, f'shapes {x.shape} and {given.shape}, axis = {axis}', RepeatedShapeError)
    after = x.ndim - axis - given.ndim if given.ndim else 0
    return reshape(given, (*given.shape, *[1] * after)) if after else given


def _of_one_shape(name: str, **xs: Variable) -> None:
    """Raises InvalidType if shapes differ: accidental broadcasting would go unnoticed."""
    shapes = {key: x.shape for key, x in xs.items()}
    if len(set(shapes.values())) > 1:
        actual = ', '.join(f'{key}.shape = {shape}' for key, shape in shapes.items())
        raise Arguments(name).misfit('arrays of one shape', actual)


@elementwise(
    lambda m, gy, x0, x1: gy * (x0 - x1),
    lambda m, gy, p: gy * p,
    lambda m, gy, p: gy - gy * p,
    name='LinearInterpolate',
)
def interpolate(xp: Any, p: Any, x0: Any, x1: Any) -> Any:
    return blending.blended(xp, p, x0, x1)


def linear_interpolate(p: Any, x: Any, y: Any) -> Variable:
    r"""Elementwise linear interpolation, :math:`f = p x + (1 - p) y`.

    Args:
        p: the part of ``x``, Variable or float array, usually between 0 and 1.
        x: Variable or float array of the same shape and dtype.
        y: Variable or float array of the same shape and dtype.

    Returns:
        Variable of the same shape and dtype.

    Raises:
        InvalidType: shapes or dtypes differ.

    >>> import numpy as np, minichainer.functions as F
    >>> F.linear_interpolate(np.array([0., 0.25]), np.array([4., 4.]), np.array([8., 8.]))
    variable([8., 7.])
    """
    p, x, y = as_variable(p), as_variable(x), as_variable(y)
    _of_one_shape('LinearInterpolate', p=p, x=x, y=y)
    return interpolate(p, x, y)


@elementwise(
    lambda m, gy, x1, x2: gy * (2 * (x1 - x2)), lambda m, gy, x1, x2: gy * (2 * (x2 - x1)), name='SquaredError'
)
def square_of_difference(xp: Any, x1: Any, x2: Any) -> Any:
    return xp.square(x1 - x2)


def squared_difference(x1: Any, x2: Any) -> Variable:
    r"""Elementwise squared difference, :math:`y = (x_1 - x_2)^2`.

    Args:
        x1: Variable or float array.
        x2: Variable or float array of the same shape and dtype.

    Returns:
        Variable of the same shape and dtype.

    Raises:
        InvalidType: shapes or dtypes differ.

    >>> import numpy as np, minichainer.functions as F
    >>> F.squared_difference(np.array([1., 5.]), np.array([3., 4.]))
    variable([4., 1.])
    """
    x1, x2 = as_variable(x1), as_variable(x2)
    _of_one_shape('SquaredError', x1=x1, x2=x2)
    return square_of_difference(x1, x2)


@primitive(
    rule=(lambda m, gy, x: m.reshape(gy, (*gy.shape, *[1] * (x.ndim - 1))) * (x + x),),
    name='BatchL2NormSquared',
    kinds='f',
)
def sums_of_squares(xp: Any, x: Any) -> Any:
    return reductions.sum_of_squares(xp, x, tuple(range(1, x.ndim)))


def batch_l2_norm_squared(x: Any) -> Variable:
    r"""Squared Euclidean norm of each sample, :math:`y_i = \sum_j x_{ij}^2`; float16 is accumulated in float32.

    Args:
        x: Variable or float array :math:`(B, d_1, \dots)` of two axes or more.

    Returns:
        Variable :math:`(B,)`.

    Raises:
        InvalidType: ``x`` is not a float array, or has fewer axes.

    >>> import numpy as np, minichainer.functions as F
    >>> F.batch_l2_norm_squared(np.array([[3., 4.], [1., 0.]]))
    variable([25.,  1.])
    """
    x = as_variable(x)
    if x.ndim < 2:
        raise Arguments('BatchL2NormSquared').misfit('x.ndim >= 2', f'{x.ndim}, shape {x.shape}')
    return sums_of_squares(x)
