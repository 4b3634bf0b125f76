"""Logarithms of densities and what they need, each as one op: a third of the time of a composition of functions.

The shapes of all arguments are broadcast together. Values must be possible: what is impossible has the density 0, and
the distributions see to that. With ``edge``, densities are also right where a power of 0 has the exponent 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from minichainer import ops
from minichainer.functions._define import elementwise
from minichainer.functions.loss._common import logistic_slope
from minichainer.kernels import gamma as gamma_kernels
from minichainer.kernels._scipy import special
from minichainer.kernels.losses import logistic_losses
from minichainer.variable import Variable

_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)
#: Numbers whose square is finite, by dtype.
_SQUARE_FITS = {numpy.dtype('e'): 200.0, numpy.dtype('f'): 1e19, numpy.dtype('d'): 1e154}
_LOG_2, _LOG_PI = math.log(2), math.log(math.pi)


def _x_log(xp: Any, x: Any, y: Any) -> Any:
    """x log y, and 0 where x is 0, on arrays."""
    with numpy.errstate(divide='ignore', invalid='ignore'):
        return xp.where(x == 0, xp.zeros((), x.dtype), x * xp.log(y))


def _x_log1p(xp: Any, x: Any, y: Any) -> Any:
    """x log(1 + y), and 0 where x is 0, on arrays."""
    with numpy.errstate(divide='ignore', invalid='ignore'):
        return xp.where(x == 0, xp.zeros((), x.dtype), x * xp.log1p(y))


@elementwise(lambda m, gy, p: gy * m.log(p), lambda m, gy, x, p: gy * x / p)
def x_log(xp: Any, x: Any, p: Any) -> Any:
    """x log p, and 0 where x is 0."""
    return _x_log(xp, x, p)


@elementwise(lambda m, gy, p: gy * m.log1p(-p), lambda m, gy, x, p: -gy * x / (1 - p))
def x_log_of_1_minus(xp: Any, x: Any, p: Any) -> Any:
    """x log(1 - p), and 0 where x is 0."""
    return _x_log1p(xp, x, -p)


@elementwise(lambda m, gy, p: gy / p)
def quiet_log(xp: Any, p: Any) -> Any:
    """The logarithm, without a warning for 0."""
    with numpy.errstate(divide='ignore'):
        return xp.log(p)


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
    lambda m, gy, x, loc, log_scale: gy * ((loc - x) * m.exp(-2 * log_scale)),
    lambda m, gy, x, loc, log_scale: gy * ((x - loc) * m.exp(-2 * log_scale)),
    lambda m, gy, x, loc, log_scale: gy * (m.square((x - loc) * m.exp(-log_scale)) - 1),
)
def normal_log_density_by_log(xp: Any, x: Any, loc: Any, log_scale: Any) -> Any:
    z = (x - loc) * xp.exp(-log_scale)
    return z * z * -0.5 - (log_scale + _HALF_LOG_2_PI)


def _standardized_log(m: Any, x: Any, mu: Any, sigma: Any) -> Any:
    return (m.log(x) - mu) / sigma


@elementwise(
    lambda m, gy, x, mu, sigma: -gy * ((_standardized_log(m, x, mu, sigma) / sigma + 1) / x),
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


def _cauchy_slope(m: Any, z: Any) -> Any:
    return 2 * z / (1 + z * z)


@elementwise(
    lambda m, gy, x, loc, scale: gy * (_cauchy_slope(m, (loc - x) / scale) / scale),
    lambda m, gy, x, loc, scale: gy * (_cauchy_slope(m, (x - loc) / scale) / scale),
    lambda m, gy, x, loc, scale: gy * (_cauchy_slope(m, (x - loc) / scale) * ((x - loc) / scale) / scale),
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
    return z - xp.exp(z) - xp.log(scale)


# --- positive numbers -------------------------------------------------------------------------------------------
@elementwise(lambda m, gy, lam: -gy * lam, lambda m, gy, x, lam: gy * (1 / lam - x))
def exponential_log_density(xp: Any, x: Any, lam: Any) -> Any:
    return xp.log(lam) - lam * x


@elementwise(
    lambda m, gy, x, k, theta: gy * ((k - 1) / x - 1 / theta),
    lambda m, gy, x: gy * m.log(x),
    lambda m, gy, x, theta: gy * (x / theta / theta),
)
def gamma_exponent(xp: Any, x: Any, k: Any, theta: Any, edge: bool = False) -> Any:
    return (_x_log(xp, k - 1, x) if edge else (k - 1) * xp.log(x)) - x / theta


@elementwise(
    lambda m, gy, x, k: gy * ((k - 1) / x - 1), lambda m, gy, x, k: gy * (m.log(x) - m.digamma(k))
)  # fmt: skip
def standard_gamma_log_density(xp: Any, x: Any, k: Any) -> Any:
    return _x_log(xp, k - 1, x) - x - special(xp).gammaln(k)


@elementwise(
    lambda m, gy, x, alpha: -gy * ((alpha + 1) / x),
    lambda m, gy, scale, alpha: gy * (alpha / scale),
    lambda m, gy, x, scale, alpha: gy * (1 / alpha + m.log(scale / x)),
)
def pareto_log_density(xp: Any, x: Any, scale: Any, alpha: Any) -> Any:
    return xp.log(alpha / x) + alpha * xp.log(scale / x)


# --- intervals --------------------------------------------------------------------------------------------------
def _beta_rule(m: Any, gy: Any, log_x: Any, own: Any, total: Any) -> Any:
    return gy * (log_x - m.digamma(own) + m.digamma(total))


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
    lambda m, gy, x, a, b: _beta_rule(m, gy, m.log(x), a, a + b),
    lambda m, gy, x, a, b: _beta_rule(m, gy, m.log1p(-x), b, a + b),
)
def beta_log_density(xp: Any, x: Any, a: Any, b: Any) -> Any:
    gammaln = special(xp).gammaln
    normalizer = gammaln(a) + gammaln(b) - gammaln(a + b)
    return _x_log(xp, a - 1, x) + _x_log1p(xp, b - 1, -x) - normalizer


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


@elementwise(lambda m, gy, p: gy * m.log_odds(p), _bernoulli_rule)
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


ops.register_constant('one_if_binary', lambda xp, x: xp.where(_is_binary(xp, x), 1, math.nan).astype(x.dtype))


@elementwise(
    None, lambda m, gy, x, logit: -gy * (logistic_slope(m, logit, x) * m.one_if_binary(x))
)  # fmt: skip
def checked_bernoulli_log_density(xp: Any, x: Any, logit: Any) -> Any:
    """-inf where x is neither 0 nor 1; its gradient is NaN there, as in Chainer."""
    return xp.where(_is_binary(xp, x), -logistic_losses(xp, logit, x), -math.inf)


def _poisson_rule(m: Any, gy: Any, x: Any, lam: Any) -> Any:
    return gy * (x / lam - 1)


@elementwise(lambda m, gy, x, lam: gy * (m.log(lam) - m.digamma(x + 1)), _poisson_rule)
def poisson_log_density(xp: Any, x: Any, lam: Any) -> Any:
    return x * xp.log(lam) - lam - special(xp).gammaln(x + 1)


@elementwise(lambda m, gy, x, lam: gy * (m.log(lam) - m.digamma(x + 1)), _poisson_rule)
def poisson_log_density_at_edge(xp: Any, x: Any, lam: Any) -> Any:
    """Also for a mean of 0."""
    return _x_log(xp, x, lam) - lam - special(xp).gammaln(x + 1)


@elementwise(None, lambda m, gy, x, lam: -gy * m.exp(m.poisson_log_density_at_edge(x, lam)))
def poisson_cdf(xp: Any, x: Any, lam: Any) -> Any:
    """The probability of at most x, a whole number that is not negative."""
    return special(xp).gammaincc(x + 1, lam)


@elementwise(None, lambda m, gy, x, lam: gy * m.exp(m.poisson_log_density_at_edge(x, lam)))
def poisson_survival(xp: Any, x: Any, lam: Any) -> Any:
    """The probability of more than x."""
    return special(xp).gammainc(x + 1, lam)


# --- incomplete gamma and beta functions --------------------------------------------------------------------------
def _no_derivative(*names: str) -> Any:
    def rule(m: Any, gy: Any) -> Any:
        raise NotImplementedError(
            f'the distribution function has no gradient with respect to {" and ".join(names)}; pass these as arrays'
        )

    return rule


@elementwise(lambda m, gy, x, k: gy * m.exp(m.standard_gamma_log_density(x, k)), _no_derivative('k'))
def gamma_cdf(xp: Any, x: Any, k: Any) -> Any:
    return special(xp).gammainc(k, xp.maximum(x, 0))


@elementwise(lambda m, gy, x, k: -gy * m.exp(m.standard_gamma_log_density(x, k)), _no_derivative('k'))
def gamma_survival(xp: Any, x: Any, k: Any) -> Any:
    return special(xp).gammaincc(k, xp.maximum(x, 0))


@elementwise(
    lambda m, gy, x, a, b: gy * m.exp(m.beta_log_density(x, a, b)),
    _no_derivative('a', 'b'),
    _no_derivative('a', 'b'),
)
def beta_cdf(xp: Any, x: Any, a: Any, b: Any) -> Any:
    return special(xp).betainc(a, b, xp.minimum(xp.maximum(x, 0), 1))


@elementwise(
    lambda m, gy, x, a, b: -gy * m.exp(m.beta_log_density(x, a, b)),
    _no_derivative('a', 'b'),
    _no_derivative('a', 'b'),
)
def beta_survival(xp: Any, x: Any, a: Any, b: Any) -> Any:
    functions, x = special(xp), xp.minimum(xp.maximum(x, 0), 1)
    if hasattr(functions, 'betaincc'):
        return functions.betaincc(a, b, x)
    # CuPy has only the other side; each half is computed from where it is small.
    return xp.where(x < 0.5, 1 - functions.betainc(a, b, x), functions.betainc(b, a, 1 - x))


# --- logarithms that lose no digits -------------------------------------------------------------------------------
@elementwise(lambda m, gy, t: -gy * m.exp(-t) / m.expm1(-t))
def log_of_1_minus_exp(xp: Any, t: Any) -> Any:
    r""":math:`\log(1 - e^{-t})`, for t >= 0.

    From Maechler, *Accurately computing log(1 - exp(-|a|))*, 2012.
    """
    with numpy.errstate(divide='ignore', over='ignore', invalid='ignore'):
        return xp.where(t < _LOG_2, xp.log(-xp.expm1(-t)), xp.log1p(-xp.exp(-t)))


@elementwise(lambda m, gy, w, x: gy * x, lambda m, gy, w, x: gy * w)
def weighted(xp: Any, w: Any, x: Any) -> Any:
    """w x, and 0 where w is 0 even if x is infinite."""
    with numpy.errstate(invalid='ignore'):
        return xp.where(w == 0, xp.zeros((), x.dtype), w * x)


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


#: Coefficients of Stirling's series of the log-gamma function, of the powers -1, -3, -5, ...
_STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400]
#: The smallest argument of the series: its error is less than a rounding.
_SERIES_FROM = 16


@elementwise(lambda m, gy, x, n: gy * m.stirling_remainder(x, n + 1))
def stirling_remainder(xp: Any, x: Any, n: int = 0) -> Any:
    r"""The n-th derivative of what Stirling's formula leaves.

    .. math:: s(x) = \log \Gamma(x) - (x - \tfrac12) \log x + x - \tfrac12 \log 2 \pi

    Entropies and divergences of large parameters need it: the other terms cancel, and can be left out.
    """
    far = xp.maximum(x, _SERIES_FROM)
    with numpy.errstate(divide='ignore', over='ignore', invalid='ignore'):
        return xp.where(x < _SERIES_FROM, _remainder_nearby(xp, x, n), _remainder_series(far, n))


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
