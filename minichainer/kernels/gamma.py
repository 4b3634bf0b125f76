"""The polygamma functions; the trigamma function of float32 NumPy arrays 15 times as fast as SciPy's zeta function.

Positive arguments are shifted up five times, then five terms of Stirling's series are summed: the result is accurate
to 2e-11, evaluated in float64, and rounded to float32 once. SciPy computes all other cases.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy

from minichainer._native.library import kernels as native
from minichainer.kernels._dispatch import DECLINED, kernel
from minichainer.kernels._scipy import special
from minichainer.kernels.blocks import in_blocks

_MANY = 2048
#: From here on the gamma function is 1 / x, in all digits.
_TINY = 1e-300
#: Below it SciPy's sums are replaced by a reflection.
_FAR = -64.0
#: Derivatives of the cotangent have coefficients as large as factorials.
_MOST_DERIVATIVES = 100
_STEPS = 5
#: Coefficients of Stirling's series in odd powers of 1/x, from the highest on: the Bernoulli numbers.
_SERIES = [5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6]


@kernel
def lgamma(xp: Any, x: Any) -> Any:
    """The logarithm of the absolute value of the gamma function."""
    return special(xp).gammaln(x)


@lgamma.on('numpy', declines=True)
def _lgamma_numpy(xp: Any, x: Any) -> Any:
    """SciPy loses digits near the zeros at 1 and 2, and is infinite at subnormal numbers."""
    if x.dtype.char != 'd':
        return DECLINED
    tiny, near_1, near_2 = abs(x) < _TINY, abs(x - 1) < 0.1, abs(x - 2) < 0.1
    if not (tiny | near_1 | near_2).any():
        return DECLINED
    y = numpy.asarray(special(xp).gammaln(x))
    with numpy.errstate(divide='ignore'):  # infinity at 0 is intended
        y[tiny] = -numpy.log(abs(x[tiny]))
    y[near_1] = _log_gamma_beyond_1(x[near_1] - 1)
    d = x[near_2] - 2
    y[near_2] = numpy.log1p(d) + _log_gamma_beyond_1(d)
    return y


def _log_gamma_beyond_1(d: Any) -> Any:
    """The logarithm of the gamma function of 1 + d, where ``|d| < 0.1``, by its series."""
    return numpy.polynomial.polynomial.polyval(d, _log_gamma_series()) * d + 0.0  # no -0


@functools.cache
def _log_gamma_series() -> Any:
    k = numpy.arange(2, 19)
    signs = 1 - 2.0 * (k % 2)
    return numpy.concatenate(([-numpy.euler_gamma], signs * special(numpy).zeta(k, 1) / k))


@lgamma.on_native
def _lgamma_native(xp: Any, x: Any) -> Any:
    y = numpy.empty_like(x)
    return y if native.lgamma(x, y) else DECLINED


@kernel(widens=True)
def polygamma(xp: Any, n: Any, x: Any) -> Any:
    """The n-th derivative of the digamma function."""
    return special(xp).polygamma(n, x)


def _polygamma_far_below_0(n: Any, x: Any) -> Any:
    """:func:`polygamma` with elements so far below 0 that SciPy, which sums from them up to 9, would never end."""
    far = (x < _FAR) & (n > 0)
    if not far.any():
        return DECLINED
    orders, x = numpy.broadcast_arrays(n, x)
    y = numpy.asarray(special(numpy).polygamma(orders, numpy.where(far, numpy.ones((), x.dtype), x)))
    y[far] = _reflected(orders[far], x[far].astype('d'))
    return y


def _reflected(n: Any, x: Any) -> Any:
    r""":math:`(-1)^n \psi^{(n)}(1 - x) - \pi \frac{d^n}{dx^n} \cot \pi x`; infinite at integers."""
    rest = x - numpy.rint(x)
    whole = rest == 0
    size = numpy.where(whole, 0.25, abs(rest))
    # From the distance to the nearer of both ends: it is 0 in the middle between integers.
    tangent = numpy.tan(numpy.pi * numpy.where(size > 0.25, 0.5 - size, size))
    cotangent = numpy.copysign(numpy.where(size > 0.25, tangent, 1 / numpy.where(size > 0.25, 1, tangent)), rest)
    derivatives = numpy.empty_like(x)
    for order in numpy.unique(n):
        of_order = n == order
        derivatives[of_order] = _cotangent_derivative(int(order))(cotangent[of_order]) * math.pi ** (int(order) + 1)
    sign = 1 - 2.0 * (n % 2)
    y = sign * special(numpy).polygamma(n, 1 - x) - derivatives
    return numpy.where(whole, -sign * math.inf, y)


@functools.lru_cache(maxsize=64)
def _cotangent_derivative(n: int) -> Any:
    """The n-th derivative of the cotangent, a polynomial in the cotangent: from that of c, -(1 + c^2)."""
    polynomial = numpy.polynomial.Polynomial([0.0, 1.0])
    for _ in range(n):
        polynomial = polynomial.deriv() * numpy.polynomial.Polynomial([-1.0, 0.0, -1.0])
    return polynomial


@polygamma.on('cupy')
def _polygamma_cupy(xp: Any, n: Any, x: Any) -> Any:
    """CuPy takes an array as the order, and computes in its dtype if that has more digits."""
    return special(xp).polygamma(xp.asarray(n, x.dtype), x)


@polygamma.on('numpy', declines=True)
def _polygamma_numpy(xp: Any, n: Any, x: Any) -> Any:
    if x.size < _MANY or x.dtype.char != 'f' or not numpy.all(numpy.equal(n, 1)) or not (x > 0).all():
        return _polygamma_far_below_0(n, x)
    return in_blocks(_trigamma, x).astype('f', copy=False)


@polygamma.on_native
def _polygamma_native(xp: Any, n: Any, x: Any) -> Any:
    if x.dtype.char != 'f' or not (n == 1 if type(n) is int else n.shape == x.shape and (n == 1).all()):
        return DECLINED
    y, outside = numpy.empty_like(x), numpy.zeros(1, 'B')
    return y if native.trigamma(x, y, outside, x.size) and not outside[0] else DECLINED


@kernel
def zeta(xp: Any, x: Any, q: Any) -> Any:
    """Hurwitz's zeta function with exponents x."""
    return special(xp).zeta(x, q)


@zeta.on('numpy', declines=True)
def _zeta_numpy(xp: Any, x: Any, q: Any) -> Any:
    far = q < _FAR
    if not far.any():
        return DECLINED
    x, q = numpy.broadcast_arrays(x, q)
    far = q < _FAR
    y = numpy.asarray(special(numpy).zeta(x, numpy.where(far, numpy.ones((), q.dtype), q)))
    y[far] = _zeta_far_below(x[far].astype('d'), q[far].astype('d'))
    return y


def _zeta_far_below(x: Any, q: Any) -> Any:
    """From the polygamma function; NaN where a power of a negative number is not real."""
    fits = (x >= 2) & (x == numpy.rint(x)) & (x < _MOST_DERIVATIVES)
    n = numpy.where(fits, x - 1, 1).astype(int)
    sign = 2.0 * (n % 2) - 1
    y = sign * _reflected(n, q) / special(numpy).gamma(n + 1.0)
    return numpy.where(fits, y, numpy.where((x > 1) & (q == numpy.rint(q)), math.inf, math.nan))


def _trigamma(x: Any) -> Any:
    x, total = x.astype('d'), numpy.zeros(x.shape)
    for _ in range(_STEPS):
        total += 1 / (x * x)
        x += 1
    inverse = 1 / x
    square = inverse * inverse
    series = square * _SERIES[0]
    for coefficient in _SERIES[1:]:
        series += coefficient
        series *= square
    series += 0.5 * inverse + 1
    series *= inverse
    total += series
    return total
