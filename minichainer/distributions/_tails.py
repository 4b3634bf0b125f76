"""Distribution functions of gamma, beta and Poisson distributions, and their logarithms, as ops.

Logarithms have bodies of their own, because far out the probabilities underflow. Parameters other than scales have no
derivative.
"""

from __future__ import annotations

from typing import Any

from minichainer.distributions import _densities as densities
from minichainer.functions._define import elementwise
from minichainer.kernels import incomplete
from minichainer.kernels._scipy import special

#: Ops that rules below use.
_USED = densities.standard_gamma_log_density, densities.beta_log_density, densities.poisson_log_density_at_edge


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
    return incomplete.betaincc(xp, a, b, xp.minimum(xp.maximum(x, 0), 1))


def _sign(upper: bool) -> int:
    return -1 if upper else 1


@elementwise(
    lambda m, gy, x, k, upper: gy * _sign(upper) * m.gamma_log_slope(x, k, upper), _no_derivative('k')
)  # fmt: skip
def gamma_log_probability(xp: Any, x: Any, k: Any, upper: bool) -> Any:
    """The logarithm of the distribution function, or of the survival function, at positive x."""
    return incomplete.gamma_tail(xp, x, k, upper)[0].astype(x.dtype, copy=False)


@elementwise(
    lambda m, gy, x, k, upper, y: gy * (y * ((k - 1) / x - 1 - _sign(upper) * y)), _no_derivative('k')
)  # fmt: skip
def gamma_log_slope(xp: Any, x: Any, k: Any, upper: bool) -> Any:
    """The density over the distribution function, or over the survival function."""
    return incomplete.gamma_tail(xp, x, k, upper)[1].astype(x.dtype, copy=False)


@elementwise(
    lambda m, gy, x, a, b, upper: gy * _sign(upper) * m.beta_log_slope(x, a, b, upper),
    _no_derivative('a', 'b'),
    _no_derivative('a', 'b'),
)
def beta_log_probability(xp: Any, x: Any, a: Any, b: Any, upper: bool) -> Any:
    """The logarithm of the distribution function, or of the survival function, at x between 0 and 1."""
    return incomplete.beta_tail(xp, x, a, b, upper)[0].astype(x.dtype, copy=False)


@elementwise(
    lambda m, gy, x, a, b, upper, y: gy * (y * ((a - 1) / x - (b - 1) / (1 - x) - _sign(upper) * y)),
    _no_derivative('a', 'b'),
    _no_derivative('a', 'b'),
)
def beta_log_slope(xp: Any, x: Any, a: Any, b: Any, upper: bool) -> Any:
    """The density over the distribution function, or over the survival function."""
    return incomplete.beta_tail(xp, x, a, b, upper)[1].astype(x.dtype, copy=False)


@elementwise(None, lambda m, gy, x, lam: -gy * m.exp(m.poisson_log_density_at_edge(x, lam)))
def poisson_cdf(xp: Any, x: Any, lam: Any) -> Any:
    """The probability of at most x, a whole number that is not negative."""
    return special(xp).gammaincc(x + 1, lam)


@elementwise(None, lambda m, gy, x, lam: gy * m.exp(m.poisson_log_density_at_edge(x, lam)))
def poisson_survival(xp: Any, x: Any, lam: Any) -> Any:
    """The probability of more than x."""
    return special(xp).gammainc(x + 1, lam)


def poisson_log_cdf(x: Any, lam: Any) -> Any:
    """The logarithm of the probability of at most x: that a gamma-distributed number of shape x + 1 is larger."""
    return gamma_log_probability(lam, x + 1, True)


def poisson_log_survival(x: Any, lam: Any) -> Any:
    return gamma_log_probability(lam, x + 1, False)
