"""The scaled error function and the logarithm of the normal distribution function, whose tails are not lost.

The compiled bodies are for float32; SciPy computes a million elements in 20 milliseconds, which take these 2.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from minichainer._native.library import kernels as native
from minichainer.kernels._dispatch import DECLINED, kernel
from minichainer.kernels._scipy import replaced, special
from minichainer.kernels.error_functions import tail_ratio

#: From here on the logarithm is a subnormal number of float64.
_SUBNORMAL = 37.4
_ROOT_2, _ROOT_HALF_PI = math.sqrt(2), math.sqrt(math.pi / 2)


@kernel
def erfcx(xp: Any, x: Any) -> Any:
    """``exp(x^2) erfc(x)``."""
    return special(xp).erfcx(x)


@erfcx.on_native
def _erfcx_native(xp: Any, x: Any) -> Any:
    y = numpy.empty_like(x)
    return y if native.erfcx(x, y) else DECLINED


@kernel
def erfcx_gradient(xp: Any, gy: Any, x: Any, y: Any) -> Any:
    """``gy (2 x y - 2 / sqrt(pi))`` without cancellation."""
    return gy * y * tail_ratio(xp, x * -_ROOT_2, 1).astype(x.dtype, copy=False) * -_ROOT_2


@erfcx_gradient.on_native
def _erfcx_gradient_native(xp: Any, gy: Any, x: Any, y: Any) -> Any:
    gx = numpy.empty_like(x)
    return gx if native.erfcx_gradient(gy, x, gx) else DECLINED


@kernel
def log_ndtr(xp: Any, x: Any) -> Any:
    """The logarithm of the distribution function of the normal distribution."""
    return special(xp).log_ndtr(x)


@log_ndtr.on('numpy', declines=True)
def _log_ndtr_numpy(xp: Any, x: Any) -> Any:
    """It is minus a subnormal number where SciPy gives 0."""
    if x.dtype.char != 'd' or not (tiny := x > _SUBNORMAL).any():
        return DECLINED
    return replaced(special(xp).log_ndtr(x), x, tiny, lambda v: -0.5 * math.erfc(v * math.sqrt(0.5)))


@log_ndtr.on_native
def _log_ndtr_native(xp: Any, x: Any) -> Any:
    y = numpy.empty_like(x)
    return y if native.log_ndtr(x, y) else DECLINED


@kernel
def ndtr_log_slope(xp: Any, x: Any) -> Any:
    """The derivative of :func:`log_ndtr`."""
    root_2 = xp.sqrt(xp.asarray(2.0, x.dtype))  # with all digits of numbers: the tail changes by x^2 times its error
    return 1 / (_ROOT_HALF_PI * special(xp).erfcx(x / -root_2))


@ndtr_log_slope.on_native
def _ndtr_log_slope_native(xp: Any, x: Any) -> Any:
    y = numpy.empty_like(x)
    return y if native.ndtr_log_slope(x, y) else DECLINED


@kernel
def log_ndtr_gradient(xp: Any, gy: Any, x: Any) -> Any:
    """``gy`` times :func:`ndtr_log_slope`."""
    return gy * ndtr_log_slope(xp, x)


@log_ndtr_gradient.on_native
def _log_ndtr_gradient_native(xp: Any, gy: Any, x: Any) -> Any:
    gx = numpy.empty_like(x)
    return gx if native.log_ndtr_gradient(gy, x, gx) else DECLINED
