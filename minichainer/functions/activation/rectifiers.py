"""Piecewise linear activations."""

from __future__ import annotations

from typing import Any

from minichainer import ops
from minichainer.functions._arguments import Arguments
from minichainer.functions._define import elementwise
from minichainer.kernels import bounds, rectifier
from minichainer.kernels.constants import zero


def _positive(xp: Any, x: Any) -> Any:
    return xp.greater(x, zero(xp, x.dtype))


ops.register_constant('positive', _positive)
ops.register_constant('above_zero', bounds.above_zero)
ops.register_constant('step', rectifier.step)
ops.register_constant('leaky_factor', rectifier.leaky_factor)

_leaky_relu = Arguments('LeakyReLU', 'leaky_relu')


@elementwise(lambda m, gy, y: gy * m.step(y), fast=(rectifier.relu_gradient,), name='ReLU', on_numpy=rectifier.relu)
def relu(xp: Any, x: Any) -> Any:
    r"""Rectified linear unit, :math:`y = \max(0, x)`; its derivative at 0 is taken as 0.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype.

    >>> import numpy as np, minichainer.functions as F
    >>> F.relu(np.array([-1., 2.]))
    variable([0., 2.])
    """
    return rectifier.relu(xp, x)


@elementwise(
    lambda m, gy, x, slope: gy * m.leaky_factor(x, slope), fast=(rectifier.leaky_gradient,), name='LeakyReLU'
)
def leaky_relu(xp: Any, x: Any, slope: float = 0.2) -> Any:
    r"""Leaky rectified linear unit, :math:`y = x` where :math:`x > 0`, else :math:`ax`; its derivative at 0 is a.

    Args:
        x: Variable or float array of any shape.
        slope: the factor :math:`a` of negative values.

    Returns:
        Variable of the same shape and dtype.

    Raises:
        TypeError: ``slope`` is not a number.

    >>> import numpy as np, minichainer.functions as F
    >>> F.leaky_relu(np.array([-1., 2.]), slope=0.5)
    variable([-0.5,  2. ])
    """
    _leaky_relu.number(slope, 'slope')
    return rectifier.leaky_relu(xp, x, slope)
