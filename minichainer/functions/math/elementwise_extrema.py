"""Elementwise extrema, and clipping."""

from __future__ import annotations

from typing import Any

from minichainer import ops
from minichainer.functions._arguments import Arguments
from minichainer.functions._define import elementwise
from minichainer.kernels import bounds
from minichainer.variable import Variable

_clip = Arguments('Clip', 'clip')


def _greater_equal(xp: Any, x: Any, y: Any) -> Any:
    return xp.greater_equal(x, y)


def _less(xp: Any, x: Any, y: Any) -> Any:
    return xp.less(x, y)


for _name, _body in (('greater_equal', _greater_equal), ('less', _less)):
    ops.register_constant(_name, _body)


@elementwise(
    lambda m, gy, x1, x2: m.masked(gy, ~m.less(x1, x2)),
    lambda m, gy, x1, x2: m.masked(gy, ~m.greater_equal(x1, x2)),
    on_numpy='maximum',
)
def maximum(xp: Any, x1: Any, x2: Any) -> Any:
    r"""Elementwise maximum of two arrays, with broadcasting; the first gets the gradient where they are equal.

    Where one of them is NaN, the result is NaN and both get the gradient.

    Args:
        x1: Variable or float array.
        x2: Variable or array of the same dtype.

    Returns:
        Variable.

    Raises:
        InvalidType: dtypes differ, or the shapes cannot be broadcast together.

    >>> import numpy as np, minichainer.functions as F
    >>> F.maximum(np.array([1., 5.]), np.array([3., 2.]))
    variable([3., 5.])
    """
    return xp.maximum(x1, x2)


@elementwise(
    lambda m, gy, x1, x2: m.masked(gy, ~m.less(x2, x1)),
    lambda m, gy, x1, x2: m.masked(gy, ~m.greater_equal(x2, x1)),
    on_numpy='minimum',
)
def minimum(xp: Any, x1: Any, x2: Any) -> Any:
    r"""Elementwise minimum of two arrays, with broadcasting; the first gets the gradient where they are equal.

    Where one of them is NaN, the result is NaN and both get the gradient.

    Args:
        x1: Variable or float array.
        x2: Variable or array of the same dtype.

    Returns:
        Variable.

    Raises:
        InvalidType: dtypes differ, or the shapes cannot be broadcast together.

    >>> import numpy as np, minichainer.functions as F
    >>> F.minimum(np.array([1., 5.]), np.array([3., 2.]))
    variable([1., 2.])
    """
    return xp.minimum(x1, x2)


@elementwise(lambda m, gy, x, y: m.masked(gy, m.attains(x, y)), name='Clip')
def clip_between(xp: Any, x: Any, x_min: Any, x_max: Any) -> Any:
    return bounds.between(xp, x, xp.asarray(x_min, x.dtype), xp.asarray(x_max, x.dtype))


def clip(x: Any, x_min: Any, x_max: Any) -> Variable:
    r"""Elementwise limits, :math:`y = \min(\max(x, x_{min}), x_{max})`; the gradient is 0 where x lies outside.

    NaN stays NaN, and its gradient is that of the result.

    Args:
        x: Variable or float array.
        x_min: smallest value, a number or None for no limit.
        x_max: largest value, a number or None for no limit.

    Returns:
        Variable of the same shape and dtype.

    Raises:
        ValueError: ``x_min`` is not less than ``x_max``, or both are None.
        TypeError: one of them is not a number.

    >>> import numpy as np, minichainer.functions as F
    >>> F.clip(np.array([-2., 0.5, 9.]), -1., 1.)
    variable([-1. ,  0.5,  1. ])
    """
    for name, value in (('x_min', x_min), ('x_max', x_max)):
        if value is not None:
            _clip.number(value, name)
    if x_min is None and x_max is None:
        raise ValueError('clip: at least one of x_min and x_max must be given')
    low = -float('inf') if x_min is None else x_min
    high = float('inf') if x_max is None else x_max
    if not low < high:
        raise ValueError(f'clip: x_min < x_max expected, got x_min={x_min}, x_max={x_max}')
    return clip_between(x, low, high)
