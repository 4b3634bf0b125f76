"""Sigmoid, SiLU and Mish on NumPy arrays with few temporaries: each one costs as much as an arithmetic operation."""

from __future__ import annotations

import math
from typing import Any

import numpy

from minichainer._native.library import kernels as native
from minichainer.kernels import bounds
from minichainer.kernels._dispatch import DECLINED, kernel
from minichainer.kernels.cuda import activations as cuda
from minichainer.kernels.precision import in_float32
from minichainer.kernels.selection import masked

#: From this many elements on, the exponential of -x is faster, although its overflow must be silenced.
_MANY = 4096
_ones: dict[Any, Any] = {numpy.dtype(char): numpy.ones((), char) for char in 'fd'}
#: The sigmoid of larger arguments is 1; their exponential is far from overflow.
_tops: dict[Any, Any] = {numpy.dtype(char): numpy.asarray(40, char) for char in 'fd'}

#: The gate of mish is 1 beyond this, and its slope negligible; the squared exponential is far from overflow.
_MISH_TOP = 40
#: Below minus this the exponential is 0 in every dtype: 0 times infinity would be NaN.
_MISH_BOTTOM = 1000


@kernel
def sigmoid(xp: Any, x: Any) -> Any:
    r""":math:`1 / (1 + e^{-x})` of a float array, accurate to the last digits also where it is tiny."""
    return (1 / (1 + xp.exp(-in_float32(x)))).astype(x.dtype, copy=False)


@sigmoid.on('numpy')
def _sigmoid_numpy(xp: Any, x: Any) -> Any:
    top = _tops.get(x.dtype)
    if top is None:
        return _sigmoid_numpy(xp, x.astype('f')).astype(x.dtype)
    if x.size >= _MANY:
        return _sigmoid_of_many(x)
    exponential = numpy.exp(numpy.minimum(x, top))
    return numpy.divide(exponential, numpy.add(exponential, _ones[x.dtype]))


def _sigmoid_of_many(x: Any) -> Any:
    one = _ones[x.dtype]
    y = numpy.negative(x)
    with numpy.errstate(over='ignore'):
        numpy.exp(y, out=y)
    y += one
    return numpy.divide(one, y, out=y)


@sigmoid.on_native
def _sigmoid_native(xp: Any, x: Any) -> Any:
    y = numpy.empty_like(x)
    return y if native.sigmoid(x, y) else DECLINED


@sigmoid.on('cuda')
def _sigmoid_cuda(xp: Any, x: Any) -> Any:
    return cuda.sigmoid(x)


@kernel
def sigmoid_gradient(xp: Any, gy: Any, y: Any) -> Any:
    """The upstream gradient times the derivative ``y (1 - y)``, where ``y`` is the result of :func:`sigmoid`."""
    return gy * (y * (1 - y))


@sigmoid_gradient.on_native
def _sigmoid_gradient_native(xp: Any, gy: Any, y: Any) -> Any:
    gx = numpy.empty_like(y)
    return gx if native.sigmoid_gradient(gy, y, gx) else DECLINED


@kernel
def sigmoid_slope(xp: Any, x: Any) -> Any:
    r""":math:`\sigma(x) \sigma(-x)`, the derivative of the sigmoid, accurate also where it is tiny."""
    x = in_float32(x)
    y = xp.asarray(xp.absolute(x))
    xp.negative(y, out=y)
    xp.exp(y, out=y)
    below = xp.asarray(y + xp.ones((), x.dtype))
    below *= below
    y /= below
    return y


@sigmoid_slope.on_native
def _sigmoid_slope_native(xp: Any, x: Any) -> Any:
    y = numpy.empty_like(x)
    return y if native.sigmoid_slope(x, y) else DECLINED


@sigmoid_slope.on('cuda')
def _sigmoid_slope_cuda(xp: Any, x: Any) -> Any:
    return cuda.sigmoid_slope(in_float32(x))


@kernel
def silu(xp: Any, x: Any) -> Any:
    r""":math:`x \sigma(x)` of a float array."""
    x = in_float32(x)
    gate = xp.asarray(sigmoid(xp, x))
    gate *= x
    return gate


@silu.on_native
def _silu_native(xp: Any, x: Any) -> Any:
    y = numpy.empty_like(x)
    return y if native.silu(x, y) else DECLINED


@silu.on('cuda')
def _silu_cuda(xp: Any, x: Any) -> Any:
    return cuda.silu(in_float32(x))


@kernel
def silu_gradient(xp: Any, gy: Any, x: Any, y: Any) -> Any:
    """The upstream gradient times the derivative ``s + y (1 - s)``, where ``s`` is the sigmoid of ``x``."""
    gate = xp.asarray(sigmoid(xp, x))
    other = xp.asarray(1 - gate)
    other *= y
    gate += other
    gate *= gy
    return gate


@silu_gradient.on_native
def _silu_gradient_native(xp: Any, gy: Any, x: Any, y: Any) -> Any:
    gx = numpy.empty_like(x)
    return gx if native.silu_gradient(gy, x, gx) else DECLINED


@silu_gradient.on('cuda', declines=True)
def _silu_gradient_cuda(xp: Any, gy: Any, x: Any, y: Any) -> Any:
    one_kind = gy.dtype == x.dtype == y.dtype and x.dtype.char != 'e' and gy.shape == x.shape == y.shape
    return cuda.silu_gradient(gy, x, y) if one_kind else DECLINED


def _mish_terms(xp: Any, x: Any) -> tuple[Any, Any, Any]:
    r""":math:`e = e^x`, :math:`n = e (e + 2)` and :math:`n + 2`: the gate of mish is :math:`n / (n + 2)`.

    It is tanh of softplus, from one exponential and without a logarithm.
    """
    exponential = xp.asarray(xp.exp(bounds.below(xp, x, xp.asarray(_MISH_TOP, x.dtype))))
    above = xp.asarray(exponential + 2)
    above *= exponential
    return exponential, above, xp.asarray(above + 2)


@kernel
def mish(xp: Any, x: Any) -> Any:
    r""":math:`x \tanh(\log(1 + e^x))` of a float array."""
    x = in_float32(x)
    _, gate, below = _mish_terms(xp, x)
    gate /= below
    gate *= x
    return gate


@mish.on_native
def _mish_native(xp: Any, x: Any) -> Any:
    y = numpy.empty_like(x)
    return y if native.mish(x, y) else DECLINED


@kernel
def mish_gradient(xp: Any, gy: Any, x: Any) -> Any:
    r"""The upstream gradient times the derivative :math:`n / (n + 2) + 4 x e (e + 1) / (n + 2)^2`."""
    x = in_float32(x)
    slope, gate, below = _mish_terms(xp, x)
    gate /= below
    other = xp.asarray(slope + 1)
    other /= below
    slope /= below
    slope *= other
    slope *= bounds.between(xp, x, xp.asarray(-_MISH_BOTTOM, x.dtype), xp.asarray(_MISH_TOP, x.dtype))
    slope *= 4
    gate += slope
    gate *= gy
    return gate


@mish_gradient.on_native
def _mish_gradient_native(xp: Any, gy: Any, x: Any) -> Any:
    gx = numpy.empty_like(x)
    return gx if native.mish_gradient(gy, x, gx) else DECLINED


@kernel
def scaled_inside(xp: Any, gy: Any, x: Any, factor: float, low: float, high: float) -> Any:
    """``gy * factor`` where ``x`` lies between the limits or is NaN, else 0, even where ``gy`` is infinite."""
    return xp.where(bounds.inside(xp, x, low, high), gy * factor, xp.zeros((), gy.dtype))


@scaled_inside.on('numpy', declines=True)
def _scaled_inside_numpy(xp: Any, gy: Any, x: Any, factor: float, low: float, high: float) -> Any:
    if gy.dtype != x.dtype:
        return DECLINED
    gx = numpy.asarray(masked(numpy, gy, bounds.inside(xp, x, low, high)))
    gx *= factor
    return gx


@scaled_inside.on_native
def _scaled_inside_native(xp: Any, gy: Any, x: Any, factor: float, low: float, high: float) -> Any:
    gx = numpy.empty_like(gy)
    return gx if native.scaled_inside(gy, x, gx, factor, low, high) else DECLINED


# --- gated linear unit ---
@kernel(widens=True)
def glu(xp: Any, x: Any, axis: int) -> Any:
    """One half of an array along an axis times the logistic function of the other."""
    a, b = _halves(x, axis)
    return a * sigmoid(xp, b)


@glu.on_native
def _glu_native(xp: Any, x: Any, axis: int) -> Any:
    shape = (*x.shape[:axis], x.shape[axis] // 2, *x.shape[axis + 1 :])
    y, rows = numpy.empty(shape, x.dtype), math.prod(shape[:axis])
    return y if y.size and native.glu(x, y, rows, y.size // rows) else DECLINED


@kernel(widens=True)
def glu_gradient(xp: Any, gy: Any, x: Any, axis: int) -> Any:
    """The gradient of :func:`glu`."""
    a, b = _halves(x, axis)
    return xp.concatenate([gy * sigmoid(xp, b), gy * a * sigmoid_slope(xp, b)], axis)


@glu_gradient.on_native
def _glu_gradient_native(xp: Any, gy: Any, x: Any, axis: int) -> Any:
    gx, rows = numpy.empty(x.shape, x.dtype), math.prod(x.shape[:axis])
    return gx if gx.size and native.glu_gradient(gy, x, gx, rows, gy.size // rows) else DECLINED


def _halves(x: Any, axis: int) -> tuple[Any, Any]:
    lead, half = (slice(None),) * axis, x.shape[axis] // 2
    return x[lead + (slice(half),)], x[lead + (slice(half, None),)]
