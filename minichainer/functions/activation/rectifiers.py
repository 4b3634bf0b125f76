"""Piecewise linear activations."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer import ops
from minichainer.functions._checks import check_number
from minichainer.functions._constants import zero
from minichainer.functions._define import elementwise
from minichainer.kernels import rectifier


def _positive(xp: Any, x: Any) -> Any:
    return xp.greater(x, zero(xp, x.dtype))


def _step(xp: Any, y: Any) -> Any:
    return rectifier.step(y) if xp is numpy else y > 0


ops.register_constant('positive', _positive)
ops.register_constant('step', _step)


@elementwise(lambda m, gy, y: gy * m.step(y), name='ReLU', on_numpy=rectifier.relu)
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
    return xp.maximum(x, zero(xp, x.dtype))


def _leaky_factor(xp: Any, x: Any, slope: float) -> Any:
    if xp is numpy and 0 <= slope <= 1:
        return rectifier.leaky_factor(x, slope)
    return xp.where(x >= 0, xp.ones((), x.dtype), xp.asarray(slope, x.dtype))


def _leaky_gradient(xp: Any, gy: Any, x: Any, slope: float) -> Any:
    factor = _leaky_factor(xp, x, slope)
    return xp.multiply(gy, factor, out=factor) if gy.dtype == factor.dtype and factor.ndim else gy * factor


ops.register_constant('leaky_factor', _leaky_factor)
ops.register('leaky_gradient', lambda gy, x, slope: gy * ops.leaky_factor(x, slope), _leaky_gradient)


@elementwise(lambda m, gy, x, slope: m.leaky_gradient(gy, x, slope), name='LeakyReLU')
def leaky_relu(xp: Any, x: Any, slope: float = 0.2) -> Any:
    r"""Leaky rectified linear unit, :math:`y = x` where :math:`x \ge 0`, else :math:`ax`.

    Args:
        x: Variable or float array of any shape.
        slope: the factor :math:`a` of negative values.

    Returns:
        Variable of the same shape and dtype.

    Raises:
        TypeError: ``slope`` is no number.

    >>> import numpy as np, minichainer.functions as F
    >>> F.leaky_relu(np.array([-1., 2.]), slope=0.5)
    variable([-0.5,  2. ])
    """
    check_number(slope, 'leaky_relu', 'slope')
    if xp is numpy and 0 <= slope <= 1:
        return rectifier.leaky_relu(x, slope)
    return x * _leaky_factor(xp, x, slope)
