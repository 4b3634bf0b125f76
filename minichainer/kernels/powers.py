"""The reciprocal of the square root."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer._native.library import kernels as native
from minichainer.kernels._dispatch import DECLINED, kernel


@kernel
def rsqrt(xp: Any, x: Any) -> Any:
    """``1 / sqrt(x)``."""
    return 1 / xp.sqrt(x)


@rsqrt.on_native
def _rsqrt_native(xp: Any, x: Any) -> Any:
    y = numpy.empty_like(x)
    return y if native.rsqrt(x, y) else DECLINED


@kernel
def rsqrt_gradient(xp: Any, gy: Any, y: Any) -> Any:
    """The gradient of :func:`rsqrt` by its result, whose third power alone may overflow."""
    return gy * y * y * y * -0.5


@rsqrt_gradient.on_native
def _rsqrt_gradient_native(xp: Any, gy: Any, y: Any) -> Any:
    gx = numpy.empty_like(y)
    return gx if native.rsqrt_gradient(gy, y, gx) else DECLINED
