"""The rectified linear unit and its variants.

On NumPy arrays, ``maximum`` with a 0-d array is not vectorized, but ``clip`` is: two to three times faster from some
thousand elements on. Multiplying by a bool mask is slow on small arrays; there, two calls that make a float factor
are faster.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from minichainer._native.library import kernels as native
from minichainer.kernels import bounds
from minichainer.kernels._dispatch import DECLINED, kernel
from minichainer.kernels.constants import zero
from minichainer.kernels.cuda import activations as cuda
from minichainer.kernels.selection import chosen, masked

_maximum, _fmin, _sign = numpy.maximum, numpy.fmin, numpy.sign
_SMALL = 2048
_zeros: dict[Any, Any] = {numpy.dtype(char): numpy.zeros((), char) for char in 'efd'}
_ones: dict[Any, Any] = {numpy.dtype(char): numpy.ones((), char) for char in 'efd'}
_ZERO, _ONE = _zeros[numpy.dtype('e')], _ones[numpy.dtype('e')]


@kernel
def relu(xp: Any, x: Any) -> Any:
    """``maximum(x, 0)`` of a float array."""
    return xp.maximum(x, xp.zeros((), x.dtype))


@relu.on('numpy')
def _relu_numpy(xp: Any, x: Any) -> Any:
    if x.size < _SMALL:
        return _maximum(x, _zeros.get(x.dtype, _ZERO))
    return x.clip(_zeros.get(x.dtype, _ZERO), numpy.inf)


@relu.on_native
def _relu_native(xp: Any, x: Any) -> Any:
    y = numpy.empty_like(x)
    return y if native.relu(x, y) else DECLINED


@relu.on('cupy')
def _relu_cupy(xp: Any, x: Any) -> Any:
    return xp.maximum(x, 0)  # a number is an argument of the launch, an array another launch


@kernel
def step(xp: Any, y: Any) -> Any:
    """The slope of :func:`relu` from its result: 0 where that is 0, else 1, even where it is NaN."""
    return y != 0


@step.on('numpy')
def _step_numpy(xp: Any, y: Any) -> Any:
    if y.size < _SMALL:
        return _fmin(_sign(y), _ones.get(y.dtype, _ONE))
    return y != _zeros.get(y.dtype, _ZERO)


@kernel
def relu_gradient(xp: Any, gy: Any, y: Any) -> Any:
    """``gy`` times :func:`step` of the result."""
    return gy * step(xp, y)


@relu_gradient.on('numpy')
def _relu_gradient_numpy(xp: Any, gy: Any, y: Any) -> Any:
    return gy * _step_numpy(xp, y)


@relu_gradient.on_native
def _relu_gradient_native(xp: Any, gy: Any, y: Any) -> Any:
    gx = numpy.empty_like(y)
    return gx if native.relu_gradient(y, gy, gx) else DECLINED


@kernel
def leaky_relu(xp: Any, x: Any, slope: float) -> Any:
    """``where(x > 0, x, slope * x)``."""
    return x * leaky_factor(xp, x, slope)


@leaky_relu.on('numpy', declines=True)
def _leaky_relu_numpy(xp: Any, x: Any, slope: float) -> Any:
    if x.size < _SMALL or not 0 < slope <= 1:  # 0 * inf is NaN
        return DECLINED
    y = x * numpy.asarray(slope, x.dtype)
    return _maximum(x, y, out=y)


@leaky_relu.on_native
def _leaky_relu_native(xp: Any, x: Any, slope: float) -> Any:
    y = numpy.empty_like(x)
    return y if native.leaky_relu(x, y, slope) else DECLINED


@leaky_relu.on('cuda')
def _leaky_relu_cuda(xp: Any, x: Any, slope: float) -> Any:
    return cuda.leaky_relu(x, slope)


@kernel
def leaky_factor(xp: Any, x: Any, slope: float) -> Any:
    """``where(x > 0, 1, slope)``."""
    return xp.where(x > 0, xp.ones((), x.dtype), xp.asarray(slope, x.dtype))


@leaky_factor.on('numpy', declines=True)
def _leaky_factor_numpy(xp: Any, x: Any, slope: float) -> Any:
    # 20 times as fast as where on a million elements of either sign.
    if not 0 <= slope <= 1:
        return DECLINED
    positive = x > _zeros.get(x.dtype, _ZERO)
    if x.size < _SMALL:
        return _maximum(positive, numpy.asarray(slope, x.dtype))
    return positive.astype(x.dtype).clip(numpy.asarray(slope, x.dtype), 1)


@leaky_factor.on('cuda')
def _leaky_factor_cuda(xp: Any, x: Any, slope: float) -> Any:
    return cuda.leaky_factor(x, slope)


@kernel
def leaky_gradient(xp: Any, gy: Any, x: Any, slope: float) -> Any:
    """The upstream gradient times :func:`leaky_factor`."""
    factor = leaky_factor(xp, x, slope)
    return xp.multiply(gy, factor, out=factor) if gy.dtype == factor.dtype and factor.ndim else gy * factor


@leaky_gradient.on_native
def _leaky_gradient_native(xp: Any, gy: Any, x: Any, slope: float) -> Any:
    gx = numpy.empty_like(x)
    return gx if native.leaky_gradient(gy, x, gx, slope) else DECLINED


@leaky_gradient.on('cuda', declines=True)
def _leaky_gradient_cuda(xp: Any, gy: Any, x: Any, slope: float) -> Any:
    return cuda.leaky_gradient(gy, x, slope) if _alike(gy, x) else DECLINED


@kernel
def slope_factors(xp: Any, x: Any, slopes: Any) -> Any:
    """``where(x >= 0, 1, slopes)``."""
    return chosen(xp, x >= 0, xp.ones((), x.dtype), slopes)


@kernel
def random_factors(xp: Any, x: Any, lower: float, upper: float) -> Any:
    """:func:`slope_factors` of slopes that are drawn uniformly from ``[lower, upper)``."""
    return slope_factors(xp, x, xp.asarray(xp.random.uniform(lower, upper, x.shape), x.dtype))


@random_factors.on_native
def _random_factors_native(xp: Any, x: Any, lower: float, upper: float) -> Any:
    if x.dtype.char != 'f':  # the last bit of a float64 number depends on how NumPy was compiled
        return DECLINED
    # What numpy.random.uniform computes, which takes three times as long for few numbers.
    low, width = float(lower), float(upper) - float(lower)
    drawn, factors = numpy.random.random_sample(x.shape), numpy.empty_like(x)
    if native.random_factors(x, drawn, factors, low, width):
        return factors
    return slope_factors(xp, x, numpy.asarray(low + width * drawn, x.dtype))


# --- limited ---
@kernel
def clipped_relu(xp: Any, x: Any, z: float) -> Any:
    """``minimum(maximum(x, 0), z)``."""
    return bounds.between(xp, x, zero(xp, x.dtype), xp.asarray(z, x.dtype))


@clipped_relu.on_native
def _clipped_relu_native(xp: Any, x: Any, z: float) -> Any:
    y = numpy.empty_like(x)
    return y if native.limited_line(x, y, 1, 0, 0, z) else DECLINED


@clipped_relu.on('cuda')
def _clipped_relu_cuda(xp: Any, x: Any, z: float) -> Any:
    return cuda.clipped_relu(x, z)


@kernel
def clipped_gradient(xp: Any, gy: Any, x: Any, z: float) -> Any:
    """The upstream gradient where ``0 < x < z`` or x is NaN, else 0."""
    return masked(xp, gy, bounds.inside(xp, x, 0, z))


@clipped_gradient.on_native
def _clipped_gradient_native(xp: Any, gy: Any, x: Any, z: float) -> Any:
    gx = numpy.empty_like(x)
    return gx if native.scaled_inside(gy, x, gx, 1, 0, z) else DECLINED


@clipped_gradient.on('cuda', declines=True)
def _clipped_gradient_cuda(xp: Any, gy: Any, x: Any, z: float) -> Any:
    return cuda.clipped_gradient(gy, x, z) if _alike(gy, x) else DECLINED


# --- exponential below 0 ---
@kernel
def elu(xp: Any, x: Any, alpha: float) -> Any:
    """``where(x > 0, x, alpha * (exp(x) - 1))``."""
    nothing = zero(xp, x.dtype)
    y = xp.asarray(xp.expm1(bounds.below(xp, x, nothing)))
    y *= xp.asarray(alpha, x.dtype)
    y += bounds.above(xp, x, nothing)
    return y


@elu.on_native
def _elu_native(xp: Any, x: Any, alpha: float) -> Any:
    y = numpy.empty_like(x)
    return y if native.elu(x, y, alpha) else DECLINED


@elu.on('cuda')
def _elu_cuda(xp: Any, x: Any, alpha: float) -> Any:
    return cuda.elu(x, alpha)


@kernel
def exp_below_zero(xp: Any, x: Any, alpha: float) -> Any:
    """``where(x > 0, 0, alpha * exp(x))``."""
    nothing = zero(xp, x.dtype)
    y = xp.asarray(xp.exp(bounds.below(xp, x, nothing)))
    y -= x > nothing  # from 1
    y *= xp.asarray(alpha, x.dtype)
    return y


@kernel
def elu_gradient(xp: Any, gy: Any, x: Any, alpha: float) -> Any:
    """The upstream gradient times ``where(x > 0, 1, alpha * exp(x))``."""
    factor = exp_below_zero(xp, x, alpha)
    factor += x > zero(xp, x.dtype)
    return gy * factor


@elu_gradient.on_native
def _elu_gradient_native(xp: Any, gy: Any, x: Any, alpha: float) -> Any:
    gx = numpy.empty_like(x)
    return gx if native.elu_gradient(gy, x, gx, alpha) else DECLINED


@elu_gradient.on('cuda', declines=True)
def _elu_gradient_cuda(xp: Any, gy: Any, x: Any, alpha: float) -> Any:
    return cuda.elu_gradient(gy, x, alpha) if _alike(gy, x) else DECLINED


# --- with slopes that are arrays ---
@kernel
def prelu(xp: Any, x: Any, W: Any) -> Any:
    """``where(x >= 0, x, W * x)``; slopes are broadcast."""
    return chosen(xp, x >= 0, x, x * W)


@prelu.on_native
def _prelu_native(xp: Any, x: Any, W: Any) -> Any:
    return _sloped(x, x, W)


@prelu.on('cuda')
def _prelu_cuda(xp: Any, x: Any, W: Any) -> Any:
    return cuda.prelu(x, W)


@kernel
def prelu_gradient(xp: Any, gy: Any, x: Any, W: Any) -> Any:
    """``where(x >= 0, gy, W * gy)``."""
    return chosen(xp, x >= 0, gy, gy * W)


@prelu_gradient.on_native
def _prelu_gradient_native(xp: Any, gy: Any, x: Any, W: Any) -> Any:
    return _sloped(gy, x, W)


def _sloped(a: Any, x: Any, W: Any) -> Any:
    """``a`` where ``x >= 0``, else ``a * W``, for slopes that fill axes of ``x``, or all behind the first ones."""
    size = x.size
    inner = 1 if x.shape[x.ndim - W.ndim :] == W.shape else _sharing(x.shape, W.shape)
    if not size or not inner or a.shape != x.shape:
        return DECLINED
    y, slopes = numpy.empty_like(x), W.size
    return y if native.prelu(a, x, W, y, size // (slopes * inner), slopes, inner) else DECLINED


def _sharing(shape: tuple[int, ...], slopes: tuple[int, ...]) -> int:
    """How many elements behind the axes that slopes of a shape fill share each slope; 0 if they fill none."""
    places = slopes
    while places and places[-1] == 1:
        places = places[:-1]
    begin = len(shape) - len(slopes)
    end = begin + len(places)
    return math.prod(shape[end:]) if begin >= 0 and shape[begin:end] == places else 0


@prelu_gradient.on('cuda', declines=True)
def _prelu_gradient_cuda(xp: Any, gy: Any, x: Any, W: Any) -> Any:
    return cuda.prelu_gradient(gy, x, W) if _alike(gy, x) else DECLINED


@kernel
def slope_gradient(xp: Any, gy: Any, x: Any) -> Any:
    """``where(x >= 0, 0, gy * x)``: the gradient of slopes before it is summed over the elements that share one."""
    return masked(xp, gy * x, ~(x >= 0))


@slope_gradient.on('cuda', declines=True)
def _slope_gradient_cuda(xp: Any, gy: Any, x: Any) -> Any:
    return cuda.slope_gradient(gy, x) if _alike(gy, x) else DECLINED


def _alike(gy: Any, x: Any) -> bool:
    same: bool = gy.dtype == x.dtype and gy.shape == x.shape
    return same
