"""Logarithms of densities and what they need, each as one op: a third of the time of a composition of functions.

The shapes of all arguments are broadcast together. Values must be possible: what is impossible has the density 0, and
the distributions see to that. With ``edge``, densities are also right where a power of 0 has the exponent 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from minichainer import ops
from minichainer.functions._define import elementwise, primitive
from minichainer.functions.loss._common import logistic_slope
from minichainer.kernels import gamma_densities
from minichainer.kernels._scipy import special
from minichainer.kernels.losses import logistic_losses
from minichainer.kernels.small_differences import FAR, log_of_ratio
from minichainer.variable import Variable

_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)
#: Numbers whose square is finite, by dtype.
_SQUARE_FITS = {numpy.dtype('e'): 200.0, numpy.dtype('f'): 1e19, numpy.dtype('d'): 1e154}
_LOG_2, _LOG_PI = math.log(2), math.log(math.pi)


_x_log = gamma_densities.x_log


def _x_log1p(xp: Any, x: Any, y: Any) -> Any:
    """x log(1 + y), and 0 where x is 0, unless y is NaN; on arrays."""
    with numpy.errstate(divide='ignore', invalid='ignore'):
        return xp.where((x == 0) & (y == y), xp.zeros((), x.dtype), x * xp.log1p(y))


@elementwise(lambda m, gy, p: gy * m.log(p), lambda m, gy, x, p: gy * m.quotient(x, p))
def x_log(xp: Any, x: Any, p: Any) -> Any:
    """x log p, and 0 where x is 0."""
    return _x_log(xp, x, p)


@elementwise(lambda m, gy, p: gy * m.log1p(-p), lambda m, gy, x, p: -gy * m.quotient(x, 1 - p))
def x_log_of_1_minus(xp: Any, x: Any, p: Any) -> Any:
    """x log(1 - p), and 0 where x is 0."""
    return _x_log1p(xp, x, -p)


@elementwise(lambda m, gy, p: m.quotient(gy, p))
def quiet_log(xp: Any, p: Any) -> Any:
    """The logarithm, without a warning for 0; what does not depend on a logarithm of 0 has the slope 0."""
    with numpy.errstate(divide='ignore'):
        return xp.log(p)


@elementwise(lambda m, gy, p: -m.quotient(gy, 1 - p))
def quiet_log_of_1_minus(xp: Any, p: Any) -> Any:
    """log(1 - p), as :func:`quiet_log`."""
    with numpy.errstate(divide='ignore'):
        return xp.log1p(-p)


# --- on the real line -------------------------------------------------------------------------------------------
@elementwise(
    lambda m, gy, x, loc, scale: gy * ((loc - x) / scale / scale),
    lambda m, gy, x, loc, scale: gy * ((x - loc) / scale / scale),
    lambda m, gy, x, loc, scale: gy * ((m.square((x - loc) / scale) - 1) / scale),
)
def normal_log_density(xp: Any, x: Any, loc: Any, scale: Any) -> Any:
    z = (x - loc) / scale
    return z * z * -0.5 - (xp.log(scale) + _HALF_LOG_2_PI)


@elementwise(
    # Twice the same factor, because its square may overflow.
    lambda m, gy, x, loc, log_scale: gy * ((loc - x) * m.exp(-log_scale) * m.exp(-log_scale)),
    lambda m, gy, x, loc, log_scale: gy * ((x - loc) * m.exp(-log_scale) * m.exp(-log_scale)),
    lambda m, gy, x, loc, log_scale: gy * (m.square((x - loc) * m.exp(-log_scale)) - 1),
)
def normal_log_density_by_log(xp: Any, x: Any, loc: Any, log_scale: Any) -> Any:
    z = (x - loc) * xp.exp(-log_scale)
    return z * z * -0.5 - (log_scale + _HALF_LOG_2_PI)


def _standardized_log(m: Any, x: Any, mu: Any, sigma: Any) -> Any:
    return (m.log(x) - mu) / sigma


@elementwise(
    lambda m, gy, x, mu, sigma: -gy * (_standardized_log(m, x, mu, sigma) / sigma + 1) / x,  # 1 / x may overflow
    lambda m, gy, x, mu, sigma: gy * (_standardized_log(m, x, mu, sigma) / sigma),
    lambda m, gy, x, mu, sigma: gy * (m.square(_standardized_log(m, x, mu, sigma)) / sigma),
)
def log_normal_exponent(xp: Any, x: Any, mu: Any, sigma: Any) -> Any:
    """The logarithm of the density without its normalizer, as in the other functions of this name."""
    log_x = xp.log(x)
    z = (log_x - mu) / sigma
    return z * z * -0.5 - log_x


@elementwise(
    lambda m, gy, x, loc, scale: gy * (m.sign(loc - x) / scale),
    lambda m, gy, x, loc, scale: gy * (m.sign(x - loc) / scale),
    lambda m, gy, x, loc, scale: gy * ((m.absolute((x - loc) / scale) - 1) / scale),
)
def laplace_log_density(xp: Any, x: Any, loc: Any, scale: Any) -> Any:
    return -xp.absolute((x - loc) / scale) - (xp.log(scale) + _LOG_2)


def _folded(xp: Any, z: Any) -> tuple[Any, Any, Any]:
    """Whether z is inside of -1 and 1, the one of z and 1/z that is, and its square: no square of z overflows."""
    inside = xp.absolute(z) <= 1
    with numpy.errstate(divide='ignore'):
        u = xp.where(inside, z, 1 / z)
    return inside, u, u * u


@elementwise(lambda m, gy, z, y: gy * (2 * m.cauchy_kernel(z) - y * y))
def cauchy_slope(xp: Any, z: Any) -> Any:
    """2 z / (1 + z^2), minus the derivative of the logarithm of the density."""
    _, u, square = _folded(xp, z)
    return 2 * u / (1 + square)


@elementwise(lambda m, gy, z, y: -gy * (m.cauchy_slope(z) * y))
def cauchy_kernel(xp: Any, z: Any) -> Any:
    """1 / (1 + z^2)."""
    inside, _, square = _folded(xp, z)
    return xp.where(inside, 1 / (1 + square), square / (1 + square))


@elementwise(lambda m, gy, z: gy * (m.cauchy_slope(z) * m.cauchy_kernel(z)))
def cauchy_rest(xp: Any, z: Any) -> Any:
    """z^2 / (1 + z^2)."""
    inside, _, square = _folded(xp, z)
    return xp.where(inside, square / (1 + square), 1 / (1 + square))


@elementwise(lambda m, gy, z: gy * (m.cauchy_kernel(z) * (1 / math.pi)))
def cauchy_cdf(xp: Any, z: Any) -> Any:
    return xp.arctan2(xp.ones_like(z), -z) * (1 / math.pi)


@elementwise(lambda m, gy, z: gy * m.cauchy_cdf_log_slope(z))
def cauchy_log_cdf(xp: Any, z: Any) -> Any:
    angle = xp.arctan2(xp.ones_like(z), xp.absolute(z))  # of the smaller side
    return xp.where(z > 0, xp.log1p(-angle * (1 / math.pi)), xp.log(angle * (1 / math.pi)))


@elementwise(lambda m, gy, z, y: -gy * (y * (m.cauchy_slope(z) + y)))
def cauchy_cdf_log_slope(xp: Any, z: Any) -> Any:
    """The derivative of :func:`cauchy_log_cdf`, about -1 / z for z far below 0, where the kernel underflows."""
    inside, u, square = _folded(xp, z)
    angle = xp.arctan2(xp.ones_like(z), -z)
    kernel = xp.where(inside, xp.ones((), z.dtype), square) / (1 + square)
    with numpy.errstate(invalid='ignore', divide='ignore'):
        return xp.where(z < -1, -u / (1 + square) * (-u / angle), kernel / angle)


@elementwise(
    lambda m, gy, x, loc, scale: gy * (m.cauchy_slope((loc - x) / scale) / scale),
    lambda m, gy, x, loc, scale: gy * (m.cauchy_slope((x - loc) / scale) / scale),
    lambda m, gy, x, loc, scale: gy * (2 * m.cauchy_rest((x - loc) / scale) / scale),
)
def cauchy_exponent(xp: Any, x: Any, loc: Any, scale: Any) -> Any:
    z = xp.absolute((x - loc) / scale)
    if xp is numpy and z.size and z.max() < _SQUARE_FITS[z.dtype]:
        return -xp.log1p(z * z)
    large = xp.maximum(z, 1)  # log(1 + z^2) without overflow
    small = xp.minimum(z, 1) / large
    return -(2 * xp.log(large) + xp.log1p(small * small))


@elementwise(
    lambda m, gy, x, loc, scale: gy * (m.expm1((loc - x) / scale) / scale),
    lambda m, gy, x, loc, scale: gy * (-m.expm1((loc - x) / scale) / scale),
    lambda m, gy, x, loc, scale: gy * (((loc - x) / scale * m.expm1((loc - x) / scale) - 1) / scale),
)
def gumbel_log_density(xp: Any, x: Any, loc: Any, scale: Any) -> Any:
    z = (loc - x) / scale
    return xp.minimum(z, FAR) - xp.exp(z) - xp.log(scale)


# --- positive numbers -------------------------------------------------------------------------------------------
@elementwise(lambda m, gy, lam: -gy * lam, lambda m, gy, x, lam: gy * (1 / lam - x))
def exponential_log_density(xp: Any, x: Any, lam: Any) -> Any:
    return xp.log(lam) - lam * x


@elementwise(
    lambda m, gy, x, k: gy * ((1 - k) / x / x),
    lambda m, gy, x: gy / x,
    lambda m, gy, theta: gy / theta / theta,
)
def gamma_slope(xp: Any, x: Any, k: Any, theta: Any) -> Any:
    """The derivative of the logarithm of the density by x."""
    return (k - 1 - x / theta) / x


@elementwise(
    lambda m, gy, x, k, theta: gy * m.gamma_slope(x, k, theta),
    lambda m, gy, x, k, theta: gy * m.log_minus_digamma(x / theta, k),
    lambda m, gy, x, k, theta: gy * ((x / theta - k) / theta),
)
def gamma_log_density(xp: Any, x: Any, k: Any, theta: Any) -> Any:
    """Also for large shapes, and where x is 0."""
    return gamma_densities.gamma_log_density(xp, x, k, 1 / theta)


@elementwise(lambda m, gy, z: gy / z, lambda m, gy, k: -gy * m.polygamma_of(k, 1))
def log_minus_digamma(xp: Any, z: Any, k: Any) -> Any:
    r""":math:`\log z - \psi(k)`."""
    return gamma_densities.log_minus_digamma(xp, z, k)


@elementwise(
    lambda m, gy, k, step: gy * (m.polygamma_of(k + step, 1) - m.polygamma_of(k, 1)),
    lambda m, gy, k, step: gy * m.polygamma_of(k + step, 1),
)
def digamma_step(xp: Any, k: Any, step: Any) -> Any:
    r""":math:`\psi(k + h) - \psi(k)`."""
    return gamma_densities.digamma_difference(xp, k + step, k, step)


@elementwise(
    lambda m, gy, x, k, theta: gy * ((k - 1) / x - 1 / theta),
    lambda m, gy, x: gy * m.log(x),
    lambda m, gy, x, theta: gy * (x / theta / theta),
)
def gamma_exponent(xp: Any, x: Any, k: Any, theta: Any, edge: bool = False) -> Any:
    if not edge:
        return (k - 1) * xp.minimum(xp.log(x), FAR) - x / theta
    with numpy.errstate(divide='ignore', invalid='ignore'):
        log_x = xp.where(k == 1, xp.zeros((), x.dtype), xp.minimum(xp.log(x), FAR))
        return (k - 1) * log_x - x / theta


@elementwise(
    lambda m, gy, x, k: m.weighted(gy, (k - 1) / x - 1), lambda m, gy, x, k: gy * m.log_minus_digamma(x, k)
)  # fmt: skip
def standard_gamma_log_density(xp: Any, x: Any, k: Any) -> Any:
    return gamma_densities.gamma_log_density(xp, x, k, xp.ones_like(x))


@elementwise(
    lambda m, gy, x, alpha: -gy * ((alpha + 1) / x),
    lambda m, gy, scale, alpha: gy * (alpha / scale),
    lambda m, gy, x, scale, alpha: gy * (1 / alpha + m.log_ratio(scale, x)),
)
def pareto_log_density(xp: Any, x: Any, scale: Any, alpha: Any) -> Any:
    with numpy.errstate(all='ignore'):
        return log_of_ratio(xp, alpha, x, alpha - x) + alpha * log_of_ratio(xp, scale, x, scale - x)


# --- intervals --------------------------------------------------------------------------------------------------
@elementwise(lambda m, gy, a, b: -gy * m.digamma_step(a, b), lambda m, gy, a, b: -gy * m.digamma_step(b, a))
def log_beta(xp: Any, a: Any, b: Any) -> Any:
    """The logarithm of the beta function."""
    return gamma_densities.log_beta(xp, a, b)


@elementwise(
    lambda m, gy, x, a, b: gy * ((a - 1) / x - (b - 1) / (1 - x)),
    lambda m, gy, x: gy * m.log(x),
    lambda m, gy, x: gy * m.log1p(-x),
)
def beta_exponent(xp: Any, x: Any, a: Any, b: Any, edge: bool = False) -> Any:
    first = _x_log(xp, a - 1, x) if edge else (a - 1) * xp.log(x)
    return first + (_x_log1p(xp, b - 1, -x) if edge else (b - 1) * xp.log1p(-x))


@elementwise(
    lambda m, gy, x, a, b: gy * ((a - 1) / x - (b - 1) / (1 - x)),
    lambda m, gy, x, a, b: gy * (m.log(x) + m.digamma_step(a, b)),
    lambda m, gy, x, a, b: gy * (m.log1p(-x) + m.digamma_step(b, a)),
)
def beta_log_density(xp: Any, x: Any, a: Any, b: Any) -> Any:
    """Also for large exponents, and where x is 0 or 1."""
    return gamma_densities.beta_log_density(xp, x, a, b)


@primitive(
    rule=(
        lambda m, gy, x, alpha: m.reshape(gy, (*gy.shape, 1)) * m.weighted(alpha - 1, 1 / x),
        lambda m, gy, x, alpha: m.reshape(gy, (*gy.shape, 1)) * (
            m.log(x) + m.digamma_step(alpha, m.sum(alpha, -1, True) - alpha)
        ),
    ),
    kinds='f',
)  # fmt: skip
def dirichlet_log_density(xp: Any, x: Any, alpha: Any) -> Any:
    """Along the last axis; also for large concentrations."""
    return gamma_densities.dirichlet_log_density(xp, x, alpha)


@elementwise(
    lambda m, gy, a, b: gy * (_variance_factor(b, a) * ((b - a) / (a + b) - a / (a + b + 1))),
    lambda m, gy, a, b: gy * (_variance_factor(a, b) * ((a - b) / (a + b) - b / (a + b + 1))),
)
def beta_variance(xp: Any, a: Any, b: Any) -> Any:
    total = a + b
    return a / total * (b / total) / (total + 1)


def _variance_factor(own: Any, other: Any) -> Any:
    """The derivative of the variance of a beta distribution over what is 1 for small ``own``, for its rules."""
    total = own + other
    return own / total / (total * (total + 1))


# --- counts -----------------------------------------------------------------------------------------------------
@elementwise(lambda m, gy, p: gy / (p * (1 - p)))
def log_odds(xp: Any, p: Any) -> Any:
    with numpy.errstate(divide='ignore'):
        return xp.log(p) - xp.log1p(-p)


def _bernoulli_rule(m: Any, gy: Any, x: Any, p: Any) -> Any:
    return gy * ((x - p) / (p * (1 - p)))


@elementwise(lambda m, gy, p: gy * m.log_odds(p), _bernoulli_rule)
def bernoulli_log_density(xp: Any, x: Any, p: Any) -> Any:
    return x * xp.log(p) + (1 - x) * xp.log1p(-p)


@elementwise(
    lambda m, gy, p: gy * m.log_odds(p),
    lambda m, gy, x, p: gy * (m.quotient(x, p) - m.quotient(1 - x, 1 - p)),
)
def bernoulli_log_density_at_edge(xp: Any, x: Any, p: Any) -> Any:
    """Also for a probability of 0 or 1."""
    return _x_log(xp, x, p) + _x_log1p(xp, 1 - x, -p)


@elementwise(lambda m, gy, logit: gy * logit, lambda m, gy, x, logit: -gy * logistic_slope(m, logit, x))
def bernoulli_log_density_by_logit(xp: Any, x: Any, logit: Any) -> Any:
    return x * logit - xp.maximum(logit, 0) - xp.log1p(xp.exp(-xp.absolute(logit)))


@elementwise(lambda m, gy, logit: gy * logit, lambda m, gy, x, logit: -gy * logistic_slope(m, logit, x))
def bernoulli_log_density_by_any_logit(xp: Any, x: Any, logit: Any) -> Any:
    """Also for an infinite logit."""
    return -logistic_losses(xp, logit, x)


def _is_binary(xp: Any, x: Any) -> Any:
    return (x == 0) | (x == 1)


def _if_not_binary(xp: Any, x: Any) -> Any:
    return xp.where(x == x, -math.inf, math.nan).astype(x.dtype)


ops.register_constant('one_if_binary', lambda xp, x: xp.where(_is_binary(xp, x), 1, math.nan).astype(x.dtype))


@elementwise(
    None, lambda m, gy, x, logit: -gy * (logistic_slope(m, logit, x) * m.one_if_binary(x))
)  # fmt: skip
def checked_bernoulli_log_density(xp: Any, x: Any, logit: Any) -> Any:
    """-inf where x is neither 0 nor 1; its gradient is NaN there, as in Chainer."""
    return xp.where(_is_binary(xp, x), -logistic_losses(xp, logit, x), _if_not_binary(xp, x))


@elementwise(
    None,
    lambda m, gy, x, p: gy * ((m.quotient(x, p) - m.quotient(1 - x, 1 - p)) * m.one_if_binary(x)),
)
def checked_bernoulli_log_density_at_edge(xp: Any, x: Any, p: Any) -> Any:
    """As :func:`checked_bernoulli_log_density`, of a probability, which may be 0 or 1."""
    return xp.where(_is_binary(xp, x), _x_log(xp, x, p) + _x_log1p(xp, 1 - x, -p), _if_not_binary(xp, x))


@elementwise(
    lambda m, gy, x, lam: gy * m.log_minus_digamma(lam, x + 1), lambda m, gy, x, lam: gy * ((x - lam) / lam)
)  # fmt: skip
def poisson_log_density(xp: Any, x: Any, lam: Any) -> Any:
    if xp is numpy and x.size and x.max() < gamma_densities.SERIES_FROM:
        return x * xp.log(lam) - lam - special(xp).gammaln(x + 1)
    return gamma_densities.poisson_log_density(xp, x, lam)


@elementwise(
    lambda m, gy, x, lam: gy * m.log_minus_digamma(lam, x + 1),
    lambda m, gy, x, lam: gy * (m.quotient(x, lam) - 1),
)
def poisson_log_density_at_edge(xp: Any, x: Any, lam: Any) -> Any:
    """Also for a mean of 0."""
    return gamma_densities.poisson_log_density(xp, x, lam)


def _poisson_slope(m: Any, x: Any, lam: Any) -> Any:
    """The derivative of a probability by the mean: that of one less minus its own, also for a mean of 0."""
    less = m.exp(m.poisson_log_density_at_edge(m.moved_from(x, 0.0, 1.0) - 1, lam))
    return m.zero_where(less, x) - m.exp(m.poisson_log_density_at_edge(x, lam))


@elementwise(
    lambda m, gy, x, lam, y: gy * m.weighted(y, m.log_minus_digamma(lam, x + 1)),
    lambda m, gy, x, lam: gy * _poisson_slope(m, x, lam),
)
def poisson_density_at_edge(xp: Any, x: Any, lam: Any) -> Any:
    return xp.exp(gamma_densities.poisson_log_density(xp, x, lam))


@elementwise(
    lambda m, gy, x, p, y: gy * m.weighted(y, m.log1p(-p)),
    lambda m, gy, x, p: -gy * m.weighted(x, m.power_of_rest(x - 1, p)),
)
def power_of_rest(xp: Any, x: Any, p: Any) -> Any:
    """(1 - p)^x."""
    with numpy.errstate(over='ignore'):
        return xp.exp(_x_log1p(xp, x, -p))


@elementwise(
    lambda m, gy, x, p: -gy * m.weighted(m.power_of_rest(x, p), m.log1p(-p)),
    lambda m, gy, x, p: gy * m.weighted(x, m.power_of_rest(x - 1, p)),
)
def geometric_cdf(xp: Any, x: Any, p: Any) -> Any:
    """1 - (1 - p)^x."""
    return -xp.expm1(_x_log1p(xp, x, -p))


# --- logarithms that lose no digits -------------------------------------------------------------------------------
@elementwise(lambda m, gy, t: -gy * m.exp(-t) / m.expm1(-t))
def log_of_1_minus_exp(xp: Any, t: Any) -> Any:
    r""":math:`\log(1 - e^{-t})`, for t >= 0.

    From Maechler, *Accurately computing log(1 - exp(-|a|))*, 2012.
    """
    with numpy.errstate(divide='ignore', over='ignore', invalid='ignore'):
        return xp.where(t < _LOG_2, xp.log(-xp.expm1(-t)), xp.log1p(-xp.exp(-t)))


@elementwise(lambda m, gy, p: gy / p, lambda m, gy, w, p: -m.quotient(m.quotient(gy * w, p), p))
def quotient(xp: Any, w: Any, p: Any) -> Any:
    """w / p, and 0 for 0 / 0, in derivatives of w log p of any order."""
    with numpy.errstate(divide='ignore', invalid='ignore', over='ignore'):
        return xp.where((w == 0) & (p == 0), xp.zeros((), p.dtype), w / p)


@elementwise(lambda m, gy, x, at: m.zero_where(gy, x, at))
def moved_from(xp: Any, x: Any, at: float, to: float) -> Any:
    """x, and a constant where x is ``at``."""
    return xp.where(x == at, xp.asarray(to, x.dtype), x)


@elementwise(lambda m, gy, x, at: m.zero_where(gy, x, at), None)
def zero_where(xp: Any, y: Any, x: Any, at: float = 0.0) -> Any:
    """y, and 0 where x is ``at``."""
    return xp.where(x == at, xp.zeros((), y.dtype), y)


def p_log_p(p: Variable) -> Variable:
    """The term p log p of entropies; 0 with the gradient 0 where p is 0, as in Chainer."""
    logarithm: Variable = ops.log(moved_from(p, 0.0, 1.0))
    return p * logarithm


def q_log_of_1_minus(q: Variable, p: Variable) -> Variable:
    """q log(1 - p), for a q that is 0 where p is 1; 0 with the gradient 0 there."""
    logarithm: Variable = ops.log1p(-moved_from(p, 1.0, 0.0))
    return q * logarithm


def weighted_own(w: Variable, x: Variable) -> Variable:
    """As :func:`weighted`, of probabilities and their own logarithms; with the gradient 0 where w is 0."""
    return w * zero_where(x, w)


@elementwise(lambda m, gy, x, n: gy * m.stirling_remainder(x, n + 1))
def stirling_remainder(xp: Any, x: Any, n: int = 0) -> Any:
    """The n-th derivative of what Stirling's formula leaves of log Gamma(x).

    Entropies of large parameters need it: the other terms cancel, and can be left out.
    """
    return gamma_densities.stirling_remainder(xp, x, n)


@elementwise(lambda m, gy, a: -2 * gy / a / a / a, lambda m, gy, total, n: gy * 2 * n / total / total / total)
def slope_of_tiny(xp: Any, a: Any, total: Any, n: int) -> Any:
    """1 / a^2 - n / A^2, also where both are infinite."""
    with numpy.errstate(over='ignore', divide='ignore', invalid='ignore'):
        return (1 / a - math.sqrt(n) / total) * (1 / a + math.sqrt(n) / total)


@primitive(
    rule=lambda m, gy, alpha: m.reshape(gy, (*gy.shape, 1)) * (
        m.slope_of_tiny(alpha, m.sum(alpha, -1, True), alpha.shape[-1])
    ),
    kinds='f',
)  # fmt: skip
def entropy_of_tiny(xp: Any, alpha: Any) -> Any:
    """The entropy of a Dirichlet distribution of concentrations near 0, without its terms that are negligible."""
    return alpha.shape[-1] / alpha.sum(axis=-1) - (1 / alpha).sum(axis=-1)
