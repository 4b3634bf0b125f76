"""Trigonometric functions."""

from __future__ import annotations

from typing import Any

from minichainer import ops
from minichainer.functions._define import elementwise
from minichainer.functions._precision import in_float32
from minichainer.kernels import transcendental as kernels
from minichainer.kernels.angles import angle_gradient


@elementwise(lambda m, gy, x: gy * m.cos(x), label='sin', kinds='fc', on_numpy='sin')
def sin(xp: Any, x: Any) -> Any:
    r"""Elementwise sine, :math:`y = \sin x`, of angles in radians.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype.

    >>> import numpy as np, minichainer.functions as F
    >>> F.sin(np.array([0., np.pi / 2]))
    variable([0., 1.])
    """
    return xp.sin(x)


@elementwise(lambda m, gy, x: -gy * m.sin(x), label='cos', kinds='fc', on_numpy='cos')
def cos(xp: Any, x: Any) -> Any:
    r"""Elementwise cosine, :math:`y = \cos x`, of angles in radians.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype.

    >>> import numpy as np, minichainer.functions as F
    >>> F.cos(np.array([0., np.pi]))
    variable([ 1., -1.])
    """
    return xp.cos(x)


@elementwise(lambda m, gy, y: gy + gy * y * y, label='tan', on_numpy=kernels.tan)
def tan(xp: Any, x: Any) -> Any:
    r"""Elementwise tangent, :math:`y = \tan x`, of angles in radians.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype.

    >>> import numpy as np, minichainer.functions as F
    >>> F.tan(np.array([0., np.pi / 4])).array.round(4)
    array([0., 1.])
    """
    return kernels.tan(xp, x)


@elementwise(lambda m, gy, x: gy / m.sqrt(1 - x * x), label='arcsin', on_numpy=kernels.arcsin)
def arcsin(xp: Any, x: Any) -> Any:
    r"""Elementwise inverse sine, :math:`y = \arcsin x`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype, in radians from -pi/2 to pi/2; NaN outside of [-1, 1].

    >>> import numpy as np, minichainer.functions as F
    >>> F.arcsin(np.array([0., 1.])).array.round(4)
    array([0.    , 1.5708])
    """
    return kernels.arcsin(xp, x)


@elementwise(lambda m, gy, x: -gy / m.sqrt(1 - x * x), label='arccos', on_numpy=kernels.arccos)
def arccos(xp: Any, x: Any) -> Any:
    r"""Elementwise inverse cosine, :math:`y = \arccos x`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype, in radians from 0 to pi; NaN outside of [-1, 1].

    >>> import numpy as np, minichainer.functions as F
    >>> F.arccos(np.array([1., 0.])).array.round(4)
    array([0.    , 1.5708])
    """
    return kernels.arccos(xp, x)


def _arctan_rule(m: Any, gy: Any, x: Any) -> Any:
    x = in_float32(m, x)
    return in_float32(m, gy) / (1 + x * x)


@elementwise(_arctan_rule, label='arctan', on_numpy=kernels.arctan)
def arctan(xp: Any, x: Any) -> Any:
    r"""Elementwise inverse tangent, :math:`y = \arctan x`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype, in radians from -pi/2 to pi/2.

    >>> import numpy as np, minichainer.functions as F
    >>> F.arctan(np.array([0., 1.])).array.round(4)
    array([0.    , 0.7854])
    """
    return kernels.arctan(xp, x)


def _larger(xp: Any, x1: Any, x2: Any) -> Any:
    return xp.asarray(xp.maximum(xp.absolute(x1), xp.absolute(x2)))


def _are_finite(xp: Any, x: Any) -> Any:
    """Where ``x`` is not infinite; true for NaN."""
    return xp.asarray(~xp.isinf(x))


ops.register_constant('larger', _larger)
ops.register_constant('not_infinite', _are_finite)


def _angle_rule(m: Any, gy: Any, x: Any, other: Any) -> Any:
    """The gradient of ``x``. Both arguments are scaled to avoid overflow of their squares; the scale cancels out.

    Where an argument is infinite, the angle is constant.
    """
    scale = m.larger(x, other)
    x, other = x / scale, other / scale
    return m.masked(gy * (other / (x * x + other * other)) / scale, m.not_infinite(scale))


@elementwise(
    lambda m, gy, x1, x2: _angle_rule(m, gy, x1, x2),
    lambda m, gy, x1, x2: _angle_rule(m, -gy, x2, x1),
    fast=(
        lambda xp, gy, x1, x2: angle_gradient(xp, gy, x1, x2),
        lambda xp, gy, x1, x2: angle_gradient(xp, -gy, x2, x1),
    ),
    label='arctan2',
    on_numpy=kernels.arctan2,
)
def arctan2(xp: Any, x1: Any, x2: Any) -> Any:
    r"""Elementwise angle of the point :math:`(x_2, x_1)`, :math:`y = \arctan(x_1 / x_2)` in the right quadrant.

    Args:
        x1: ordinate, Variable or float array.
        x2: abscissa, Variable or float array of the same dtype; the shapes are broadcast.

    Returns:
        Variable, in radians from -pi to pi.

    Raises:
        InvalidType: dtypes differ or are not floats, or the shapes cannot be broadcast together.

    >>> import numpy as np, minichainer.functions as F
    >>> F.arctan2(np.array([0., 1.]), np.array([1., -1.])).array.round(4)
    array([0.    , 2.3562])
    """
    return kernels.arctan2(xp, x1, x2)
