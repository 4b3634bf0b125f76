r"""Gaussian error linear unit, on float32 NumPy arrays in blocks that stay in the cache.

For these arrays, both forms are :math:`x\,\sigma(x\,r(x^2))` with the logistic function :math:`\sigma`: in the tanh
form r is a polynomial of degree 1, by definition; in the exact form r is a rational function, fitted so that the
result is off by less than 1.2e-7 (half a unit in the last place of results about 1). That is 20 passes over a block,
and 7 times as fast as SciPy's error function.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from minichainer._native.library import kernels as native
from minichainer.kernels import bounds, gates
from minichainer.kernels._dispatch import DECLINED, kernel
from minichainer.kernels._scipy import special
from minichainer.kernels.cuda import activations as cuda

#: Arguments of the sigmoid are clipped to these limits, where it is 0 or 1; 0 times infinity would be NaN.
FAR = 40.0
#: Constants of the tanh form, and the peak of the normal density.
SLOPE, CUBIC, PEAK = math.sqrt(2 / math.pi), 0.044715, 1 / math.sqrt(2 * math.pi)
_BLOCK = 1 << 15


def _constants(values: list[float]) -> list[Any]:
    return [numpy.array(value, 'f') for value in values]


# Numerator (highest power first) and monic denominator of -r as a function of x squared: minimax error of the product
# x Phi(x) over |x| < 6, found by iteratively reweighted least squares.
_EXACT = _constants([-3.45093864e-02, -3.31169105e00, -6.10134738e01, -5.04815500e02])
_EXACT_BELOW = _constants([23.83249108, 316.34500168])
_SLOPE, _CUBIC = math.sqrt(8 / math.pi), 0.044715
_TANH = _constants([-_SLOPE * _CUBIC, -_SLOPE])
_TANH_DERIVATIVE = _constants([3 * _SLOPE * _CUBIC, _SLOPE])
_ONE, _HALF, _MINUS_HALF, _PEAK = _constants([1.0, 0.5, -0.5, 1 / math.sqrt(2 * math.pi)])
#: Below it the exact form has too few digits of its own.
_TAIL = -3.0
_LOWEST = -10.0  # below it the result is less than 1e-19, and the exponential of the negative argument overflows
_ZERO, _HIGHEST_SQUARE = _constants([0.0, _LOWEST**2])
#: Below it a line is as good as the logistic function, and better than y / x where y is a rounded float16 number.
_NEAR_ZERO = numpy.float32(1e-3)


def argument(x: Any) -> Any:
    """The argument of tanh in the tanh form, for arrays and Variables."""
    return (x + x * x * x * CUBIC) * SLOPE


def slope(x: Any) -> Any:
    """Twice the derivative of :func:`argument`."""
    return (1 + 3 * CUBIC * x * x) * (2 * SLOPE)


@kernel(widens=True)
def gelu(xp: Any, x: Any, approximate: str) -> Any:
    """GELU of each element; ``approximate`` is ``'none'`` or ``'tanh'``."""
    near = xp.maximum(x, -FAR)
    return near * (special(xp).ndtr(near) if approximate == 'none' else gates.sigmoid(xp, 2 * argument(near)))


@gelu.on('numpy', declines=True)
def _gelu_numpy(xp: Any, x: Any, approximate: str) -> Any:
    if x.dtype.char != 'f':
        return DECLINED
    flat = _Flat(x)
    (xs,) = flat.rows(x)
    ys = numpy.empty_like(xs)
    size = min(_BLOCK, xs.size)
    scratch = numpy.empty((3, size), 'f')
    lowest, highest = numpy.full(size, _LOWEST, 'f'), numpy.full(size, _LOWEST**2, 'f')
    with numpy.errstate(over='ignore'):
        for start in range(0, xs.size, _BLOCK):
            y = ys[start : start + _BLOCK]
            n = len(y)
            numpy.maximum(xs[start : start + n], lowest[:n], out=y)
            square, exponent, other = scratch[:, :n]
            numpy.multiply(y, y, out=square)
            numpy.minimum(square, highest[:n], out=square)
            if approximate == 'tanh':
                _polynomial(_TANH, square, exponent)
            else:
                _rational(square, exponent, other)
            exponent *= y
            numpy.exp(exponent, out=exponent)
            exponent += _ONE
            y /= exponent
    return _with_tail(flat.shaped(ys), x, approximate)


def _with_tail(y: Any, x: Any, approximate: str) -> Any:
    """Replaces results of the exact form where only their absolute error is small."""
    far = x < _TAIL
    if approximate == 'none' and far.any():
        wide = numpy.maximum(x[far], -FAR).astype('d')
        y[far] = wide * special(numpy).ndtr(wide)
    return y


@gelu.on_native
def _gelu_native(xp: Any, x: Any, approximate: str) -> Any:
    compute = native.gelu_tanh if approximate == 'tanh' else native.gelu
    y = numpy.empty_like(x)
    return y if compute(x, y) else DECLINED


@gelu.on('cuda')
def _gelu_cuda(xp: Any, x: Any, approximate: str) -> Any:
    return cuda.gelu(x, approximate == 'none')


@kernel(widens=True)
def gelu_gradient(xp: Any, gy: Any, x: Any, y: Any, approximate: str) -> Any:
    """The upstream gradient times the derivative; ``y`` is the result of :func:`gelu`."""
    limit = xp.asarray(FAR, x.dtype)
    near = bounds.between(xp, x, -limit, limit)
    if approximate == 'none':
        return gy * (special(xp).ndtr(near) + near * xp.exp(-0.5 * near * near) * PEAK)
    twice = 2 * argument(near)
    return gy * (gates.sigmoid(xp, twice) + near * gates.sigmoid_slope(xp, twice) * slope(near))


@gelu_gradient.on('cuda', declines=True)
def _gelu_gradient_cuda(xp: Any, gy: Any, x: Any, y: Any, approximate: str) -> Any:
    same = gy.dtype == x.dtype and gy.shape == x.shape
    return cuda.gelu_gradient(gy, x, approximate == 'none') if same else DECLINED


@gelu_gradient.on_native
def _gelu_gradient_native(xp: Any, gy: Any, x: Any, y: Any, approximate: str) -> Any:
    compute = native.gelu_tanh_gradient if approximate == 'tanh' else native.gelu_gradient
    gx = numpy.empty_like(x)
    return gx if compute(gy, x, gx) else DECLINED


@gelu_gradient.on('numpy', declines=True)
def _gelu_gradient_numpy(xp: Any, gy: Any, x: Any, y: Any, approximate: str) -> Any:
    # The logistic function is computed from y = x sigma.
    if x.dtype.char != 'f':
        return DECLINED
    flat = _Flat(x)
    rows = flat.rows(gy, x, y)
    found = numpy.empty_like(rows[1])
    scratch = numpy.empty((2, min(_BLOCK, found.size)), 'f')
    with numpy.errstate(over='ignore', invalid='ignore', divide='ignore', under='ignore'):
        for start in range(0, found.size, _BLOCK):
            gx = found[start : start + _BLOCK]
            n = len(gx)
            gy, x, y = (row[start : start + n] for row in rows)
            share, term = scratch[:, :n]
            numpy.abs(x, out=term)
            near_zero = term < _NEAR_ZERO
            numpy.divide(y, x, out=share)
            if near_zero.any():
                share[near_zero] = x[near_zero] * _PEAK + _HALF
            (_tanh_term if approximate == 'tanh' else _exact_term)(x, y, share, term, gx)
            share += term
            infinite = numpy.isinf(x)
            if infinite.any():
                share[infinite] = x[infinite] > 0
            numpy.multiply(gy, share, out=gx)
    return flat.shaped(found)


def _exact_term(x: Any, y: Any, share: Any, term: Any, spare: Any) -> None:
    r"""Fills ``term`` with :math:`x \phi(x)`."""
    numpy.multiply(x, x, out=term)
    term *= _MINUS_HALF
    numpy.exp(term, out=term)
    term *= x
    term *= _PEAK


def _tanh_term(x: Any, y: Any, share: Any, term: Any, spare: Any) -> None:
    r"""Fills ``term`` with :math:`y (1 - \sigma)` times the derivative of :math:`\sigma`'s argument."""
    numpy.multiply(x, x, out=spare)
    spare.clip(_ZERO, _HIGHEST_SQUARE, out=spare)  # a larger square would overflow, although its factor is 0
    _polynomial(_TANH_DERIVATIVE, spare, term)
    numpy.subtract(_ONE, share, out=spare)
    spare *= y
    term *= spare


def _polynomial(coefficients: list[Any], t: Any, out: Any) -> None:
    numpy.multiply(t, coefficients[0], out=out)
    for coefficient in coefficients[1:-1]:
        out += coefficient
        out *= t
    out += coefficients[-1]


def _rational(t: Any, out: Any, other: Any) -> None:
    _polynomial(_EXACT, t, out)
    numpy.add(t, _EXACT_BELOW[0], out=other)
    other *= t
    other += _EXACT_BELOW[1]
    out /= other


class _Flat:
    """The elements of arrays of one shape in the memory order of the first array."""

    def __init__(self, x: Any) -> None:
        axes = range(x.ndim)
        self.order = list(axes) if x.flags.c_contiguous else sorted(axes, key=lambda axis: -abs(x.strides[axis]))
        self.shape = [x.shape[axis] for axis in self.order]

    def rows(self, *arrays: Any) -> list[Any]:
        """The arrays with one axis: views if they have the layout of the first one."""
        return [numpy.ascontiguousarray(a.transpose(self.order)).reshape(-1) for a in arrays]

    def shaped(self, row: Any) -> Any:
        """The inverse of :meth:`rows` for one array."""
        back = sorted(range(len(self.order)), key=self.order.__getitem__)
        return row.reshape(self.shape).transpose(back)
