"""Densities and divergences of gamma and beta distributions of any size, on arrays.

Large gamma functions cancel. What Stirling's formula leaves of them does not: see :func:`stirling_remainder`. So
densities of large parameters are saddle-point forms, after C. Loader, *Fast and accurate computation of binomial
probabilities*, 2000, and divergences are sums of terms that are not negative. Numbers of 50 digits, with which the
gradient checker compares, need none of this: for them each function is its definition.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy

from minichainer.kernels import gamma as gamma_kernels
from minichainer.kernels._scipy import special
from minichainer.kernels.small_differences import (
    entropy_of_ratio,
    has_many_digits,
    log_of_ratio,
    ratio_deficit,
    where_or,
)

_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)
#: Coefficients of Stirling's series of the log-gamma function, of the powers -1, -3, -5, ...
_STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400]
#: The smallest argument of the series: its error is less than a rounding.
SERIES_FROM = 16
_NODES = 10


def stirling_remainder(xp: Any, x: Any, n: int = 0) -> Any:
    r"""The n-th derivative of what Stirling's formula leaves.

    .. math:: s(x) = \log \Gamma(x) - (x - \tfrac12) \log x + x - \tfrac12 \log 2 \pi
    """
    if has_many_digits(xp):
        return _remainder_nearby(xp, x, n)
    far = xp.maximum(x, SERIES_FROM)
    with numpy.errstate(divide='ignore', over='ignore', invalid='ignore'):
        return xp.where(x < SERIES_FROM, _remainder_nearby(xp, x, n), _remainder_series(far, n))


def _remainder_nearby(xp: Any, x: Any, n: int) -> Any:
    if n == 0:
        return special(xp).gammaln(x) - ((x - 0.5) * xp.log(x) - x + _HALF_LOG_2_PI)
    if n == 1:
        return special(xp).digamma(x) - xp.log(x) + 0.5 / x
    sign = -1 if n % 2 else 1
    of_log = sign * math.factorial(n - 2) * x ** (1 - n)
    of_inverse = sign * 0.5 * math.factorial(n - 1) * x**-n
    return gamma_kernels.polygamma(xp, n - 1, x) - of_log - of_inverse


def _remainder_series(x: Any, n: int) -> Any:
    total = 0.0 * x
    square = 1 / (x * x)
    for m in reversed(range(len(_STIRLING))):
        power = 2 * m + 1
        total = total * square + _STIRLING[m] * math.prod(range(power, power + n))
    return total * (-1) ** n * x ** -(n + 1)


# --- densities ----------------------------------------------------------------------------------------------------
def x_log(xp: Any, x: Any, y: Any) -> Any:
    """x log y, and 0 where x is 0, unless y is NaN."""
    with numpy.errstate(divide='ignore', invalid='ignore'):
        return xp.where((x == 0) & (y == y), xp.zeros((), x.dtype), x * xp.log(y))


def gamma_log_density(xp: Any, x: Any, k: Any, rate: Any) -> Any:
    """The logarithm of the density of a gamma distribution, given its shape and the inverse of its scale."""
    with numpy.errstate(all='ignore'):
        return _gamma_part(xp, x, k, rate, rate * x - k)


def _gamma_part(xp: Any, x: Any, k: Any, rate: Any, excess: Any) -> Any:
    """As :func:`gamma_log_density`, where ``rate * x - k`` may be known better."""
    small = k if has_many_digits(xp) else xp.minimum(k, SERIES_FROM)
    plain = x_log(xp, small - 1, x) + small * xp.log(rate) - rate * x - special(xp).gammaln(small)
    if has_many_digits(xp):
        return plain
    far = xp.maximum(k, SERIES_FROM)
    half = 0.5 * xp.log(far) - _HALF_LOG_2_PI - _remainder_series(far, 0)
    saddle = half - entropy_of_ratio(xp, far, rate * x, excess) - xp.log(x)
    y = xp.where(k < SERIES_FROM, plain, where_or(xp, x != 0, saddle, -math.inf))
    return where_or(xp, x != math.inf, y, -math.inf)  # instead of differences of infinite terms


def log_beta(xp: Any, a: Any, b: Any) -> Any:
    """The logarithm of the beta function."""
    functions = special(xp)
    if has_many_digits(xp):
        return functions.gammaln(a) + functions.gammaln(b) - functions.gammaln(a + b)
    return functions.betaln(a, b)


def beta_log_density(xp: Any, x: Any, a: Any, b: Any) -> Any:
    """The logarithm of the density of a beta distribution: two gamma densities of rate a + b over a third at 1."""
    total, rest = a + b, 1 - x
    with numpy.errstate(all='ignore'):
        small = x_log(xp, a - 1, x) + xp.where(b == 1, 0 * x, (b - 1) * xp.log1p(-x)) - log_beta(xp, a, b)
        if has_many_digits(xp):
            return small
        excess = b * x - a * rest
        parts = _gamma_part(xp, x, a, total, excess) + _gamma_part(xp, rest, b, total, -excess)
        return xp.where(total < SERIES_FROM, small, parts - log_of_unit_density(xp, total))


def dirichlet_log_density(xp: Any, x: Any, alpha: Any) -> Any:
    """The logarithm of the density of a Dirichlet distribution, along the last axis; as for the beta distribution."""
    total = alpha.sum(axis=-1, keepdims=True)
    with numpy.errstate(all='ignore'):
        parts = _gamma_part(xp, x, alpha, total, total * x - alpha)
        surplus = total[..., 0] * (x.sum(axis=-1) - 1)  # the rounding of x
        return parts.sum(axis=-1) - log_of_unit_density(xp, total[..., 0]) + surplus


def log_of_unit_density(xp: Any, k: Any) -> Any:
    """The logarithm of the density of a gamma distribution of mean 1 at 1."""
    return gamma_log_density(xp, xp.ones_like(k), k, k)


def poisson_log_density(xp: Any, x: Any, lam: Any) -> Any:
    """The logarithm of the probability of x: the density at ``lam`` of the gamma distribution of shape x + 1."""
    with numpy.errstate(all='ignore'):
        small = x if has_many_digits(xp) else xp.minimum(x, SERIES_FROM)
        plain = x_log(xp, small, lam) - lam - special(xp).gammaln(small + 1)
        if has_many_digits(xp):
            return plain
        far = xp.maximum(x, SERIES_FROM)
        half = -0.5 * xp.log(far) - _HALF_LOG_2_PI - _remainder_series(far, 0)
        y = xp.where(x < SERIES_FROM, plain, half - entropy_of_ratio(xp, far, lam, lam - far))
        return where_or(xp, x != math.inf, y, -math.inf)


# --- divergences --------------------------------------------------------------------------------------------------
@functools.cache
def _nodes(weight: int) -> Any:
    """Nodes and weights of the Gauss quadrature from 0 to 1 with the weight ``(1 - t) ** weight``."""
    nodes, weights = special(numpy).roots_jacobi(_NODES, weight, 0)
    return 0.5 * (1 + nodes), weights * 0.5 ** (weight + 1)


def _curvature(xp: Any, x: Any) -> Any:
    """x^2 s''(x): from 1/2 at 0 down to 1 / (6 x)."""
    small, far = xp.minimum(x, SERIES_FROM), xp.maximum(x, SERIES_FROM)
    near = 0.5 - small + small * small * gamma_kernels.polygamma(xp, 1, 1 + small)
    return xp.where(x < SERIES_FROM, near, far * far * _remainder_series(far, 2))


def _curvatures(xp: Any, k1: Any, step: Any, weight: int) -> Any:
    """k1^2 times the mean of s'' between k1 and ``k1 (1 + step)``, weighted."""
    along = (-1, *[1] * step.ndim)
    nodes, weights = (xp.asarray(values, k1.dtype).reshape(along) for values in _nodes(weight))
    ratios = 1 + nodes * step
    return (weights * _curvature(xp, k1 * ratios) / (ratios * ratios)).sum(axis=0)


def _bounded_remainder(xp: Any, x: Any, n: int) -> Any:
    """log Gamma(x + 1) - x log x + x, which is finite at 0, or its derivative."""
    functions, small, far = special(xp), xp.minimum(x, SERIES_FROM), xp.maximum(x, SERIES_FROM)
    log_small = xp.log(small)
    if n:
        near, leading = functions.digamma(small + 1) - log_small, 0.5 / far
    else:
        near = functions.gammaln(small + 1) - small * log_small + small
        leading = 0.5 * xp.log(far) + _HALF_LOG_2_PI
    return xp.where(x < SERIES_FROM, near, leading + _remainder_series(far, n))


def shape_excess(xp: Any, k1: Any, k2: Any) -> Any:
    """The divergence of gamma distributions of shapes k1 and k2 of the same mean."""
    difference = k2 - k1
    if has_many_digits(xp):
        functions, of_means = special(xp), k2 * xp.log(k2 / k1) - difference
        return functions.gammaln(k2) - functions.gammaln(k1) - difference * functions.digamma(k1) - of_means
    near = xp.absolute(difference) <= 0.5 * k1
    step = where_or(xp, near, difference / k1, 0.0)
    deficit = ratio_deficit(xp, k2, k1)
    close = 0.5 * deficit + step * step * _curvatures(xp, k1, step, 1)
    is_large = xp.minimum(k1, k2) >= SERIES_FROM
    big1, big2 = xp.maximum(k1, SERIES_FROM), xp.maximum(k2, SERIES_FROM)
    series = _remainder_series(big2, 0) - _remainder_series(big1, 0) - difference * _remainder_series(big1, 1)
    plain = _bounded_remainder(xp, k2, 0) - _bounded_remainder(xp, k1, 0) - difference * _bounded_remainder(xp, k1, 1)
    return xp.where(near, close, xp.where(is_large, 0.5 * deficit + series, deficit + plain))


def bregman_of_lgamma(xp: Any, k1: Any, k2: Any) -> Any:
    r""":math:`\log \Gamma(k_2) - \log \Gamma(k_1) - (k_2 - k_1) \psi(k_1)`, not negative."""
    with numpy.errstate(all='ignore'):
        return entropy_of_ratio(xp, k2, k1, k1 - k2) + shape_excess(xp, k1, k2)


def gamma_divergence(xp: Any, k1: Any, theta1: Any, k2: Any, theta2: Any) -> Any:
    """The divergence of gamma distributions: that of their means, and that of their shapes."""
    with numpy.errstate(all='ignore'):
        of_means = k1 * ((theta1 - theta2) / theta2) + (k1 - k2)
        return entropy_of_ratio(xp, k2, k1 * (theta1 / theta2), of_means) + shape_excess(xp, k1, k2)


def dirichlet_divergence(xp: Any, a: Any, b: Any) -> Any:
    """The divergence of Dirichlet distributions: that of their means, and those of gamma distributions."""
    with numpy.errstate(all='ignore'):
        total, difference = a.sum(axis=-1, keepdims=True), b - a
        change = difference.sum(axis=-1, keepdims=True) / total
        scaled = a * (1 + change)
        parts = entropy_of_ratio(xp, b, scaled, a * change - difference) + shape_excess(xp, a, b)
        total = total[..., 0]
        y = parts.sum(axis=-1) - shape_excess(xp, total, b.sum(axis=-1))
    # SciPy's polygamma function of float32 is float64.
    return y if has_many_digits(xp) else y.astype(a.dtype, copy=False)


def digamma_difference(xp: Any, k2: Any, k1: Any, difference: Any) -> Any:
    """psi(k2) - psi(k1), where k2 - k1 may be known better."""
    functions = special(xp)
    if has_many_digits(xp):
        return functions.digamma(k2) - functions.digamma(k1)
    with numpy.errstate(all='ignore'):
        near = xp.absolute(difference) <= 0.5 * k1
        step = where_or(xp, near, difference / k1, 0.0)
        large = log_of_ratio(xp, k2, k1, difference) + 0.5 * (difference / k1 / k2)
        close = large + step / k1 * _curvatures(xp, k1, step, 0)
        is_large = xp.minimum(k1, k2) >= SERIES_FROM
        big1, big2 = xp.maximum(k1, SERIES_FROM), xp.maximum(k2, SERIES_FROM)
        series = large + _remainder_series(big2, 1) - _remainder_series(big1, 1)
        return xp.where(near, close, xp.where(is_large, series, functions.digamma(k2) - functions.digamma(k1)))


def scaled_trigamma(xp: Any, x: Any) -> Any:
    """x psi'(x), whose factors may be out of range."""
    if has_many_digits(xp):
        return x * gamma_kernels.polygamma(xp, 1, x)
    with numpy.errstate(over='ignore'):
        return 1 / x + x * gamma_kernels.polygamma(xp, 1, 1 + x)


def log_minus_digamma(xp: Any, z: Any, k: Any) -> Any:
    """log z - psi(k)."""
    plain = xp.log(z) - special(xp).digamma(k)
    if has_many_digits(xp):
        return plain
    with numpy.errstate(all='ignore'):
        far = xp.maximum(k, SERIES_FROM)
        large = log_of_ratio(xp, z, far, z - far) + 0.5 / far - _remainder_series(far, 1)
        return xp.where(k < SERIES_FROM, plain, large)
