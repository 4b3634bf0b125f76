"""Softplus, and lines with limits."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer._native.library import kernels as native
from minichainer.kernels import bounds, gates
from minichainer.kernels._dispatch import DECLINED, kernel
from minichainer.kernels.constants import zero
from minichainer.kernels.precision import in_float32


@kernel
def limited_line(xp: Any, x: Any, a: float, b: float, low: float, high: float) -> Any:
    """``min(max(a * x + b, low), high)``; NaN stays NaN."""
    y = xp.asarray(x * a)
    y += b
    return bounds.between(xp, y, xp.asarray(low, x.dtype), xp.asarray(high, x.dtype))


@limited_line.on_native
def _limited_line_native(xp: Any, x: Any, a: float, b: float, low: float, high: float) -> Any:
    y = numpy.empty_like(x)
    return y if native.limited_line(x, y, a, b, low, high) else DECLINED


@kernel
def softplus(xp: Any, x: Any, beta: float) -> Any:
    """``log(1 + exp(beta * x)) / beta``, without overflow."""
    x = in_float32(x)
    linear = bounds.above(xp, x if beta > 0 else -x, zero(xp, x.dtype))
    curved = xp.log1p(xp.exp(-xp.absolute(x) * abs(beta))) * (1.0 / beta)
    return linear + curved if beta > 0 else curved - linear


@softplus.on_native
def _softplus_native(xp: Any, x: Any, beta: float) -> Any:
    y = numpy.empty_like(x)
    return y if native.softplus(x, y, beta) else DECLINED


@kernel
def softplus_gradient(xp: Any, gy: Any, x: Any, beta: float) -> Any:
    """The upstream gradient times the derivative of :func:`softplus`, the sigmoid of ``beta * x``."""
    return gy * gates.sigmoid(xp, x * beta)


@softplus_gradient.on_native
def _softplus_gradient_native(xp: Any, gy: Any, x: Any, beta: float) -> Any:
    gx = numpy.empty_like(x)
    return gx if native.softplus_gradient(gy, x, gx, beta) else DECLINED
