"""The gradient of the angle of a point."""

from __future__ import annotations

import math
from typing import Any

import numpy

from minichainer.kernels._dispatch import DECLINED, kernel
from minichainer.kernels.conditions import somewhere
from minichainer.kernels.precision import in_float32
from minichainer.kernels.selection import masked

#: From this many elements on, it pays to test whether plain squares suffice: NumPy's hypot is slow.
_MANY = 1024


@kernel
def angle_gradient(xp: Any, gy: Any, x: Any, other: Any) -> Any:
    """``gy other / (x^2 + other^2)``, also where the squares overflow the dtype."""
    x, other, dtype = in_float32(x), in_float32(other), gy.dtype
    distance = xp.hypot(x, other)
    g = xp.asarray(gy * (other / distance / distance), dtype)
    if somewhere(xp, xp.isnan(g)):  # infinity divided by itself, for example
        g = masked(xp, g, xp.asarray(xp.maximum(abs(x), abs(other)) != math.inf))
    return g


@angle_gradient.on('numpy', declines=True)
def _angle_gradient_numpy(xp: Any, gy: Any, x: Any, other: Any) -> Any:
    if x.size < _MANY:
        return DECLINED
    with numpy.errstate(over='ignore', under='ignore'):
        squares = numpy.asarray(x * x + other * other)
    limits = numpy.finfo(squares.dtype)
    if limits.tiny / limits.eps <= squares.min() and squares.max() <= limits.max:
        return gy * other / squares
    return DECLINED
