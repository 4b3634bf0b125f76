"""Divergences as ops: sums of terms that are not negative, and gradients that are differences of equals nowhere."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.distributions._densities import quiet_log, quotient
from minichainer.functions._define import elementwise, primitive
from minichainer.functions.arithmetic import weighted
from minichainer.functions.array.selection import where
from minichainer.functions.array.shape import broadcast_to
from minichainer.functions.math.gamma import polygamma_of
from minichainer.functions.math.reductions import sum as sum_
from minichainer.functions.math.small_differences import log_ratio
from minichainer.kernels import gamma_densities as kernels
from minichainer.kernels.losses import logistic_losses
from minichainer.kernels.small_differences import (
    entropy_of_ratio,
    expm1_excess,
    log1p_deficit,
    log_of_ratio,
    ratio_deficit,
    where_or,
)
from minichainer.variable import Variable

#: Ops that rules below use.
_USED = quiet_log, quotient, weighted, polygamma_of, log_ratio


# --- of gamma and Dirichlet distributions -------------------------------------------------------------------------
@elementwise(
    lambda m, gy, k2: gy * m.polygamma_of(k2, 1), lambda m, gy, k1: -gy * m.polygamma_of(k1, 1)
)  # fmt: skip
def digamma_difference(xp: Any, k2: Any, k1: Any) -> Any:
    r""":math:`\psi(k_2) - \psi(k_1)`."""
    return kernels.digamma_difference(xp, k2, k1, k2 - k1)


@elementwise(lambda m, gy, x: gy * (m.polygamma_of(x, 1) + x * m.polygamma_of(x, 2)))
def scaled_trigamma(xp: Any, x: Any) -> Any:
    r""":math:`x \psi'(x)`; a divergence needs its product with a relative difference."""
    return kernels.scaled_trigamma(xp, x)


@elementwise(
    lambda m, gy, k1, k2: gy * ((k1 - k2) / k1 * m.scaled_trigamma(k1)),
    lambda m, gy, k1, k2: gy * m.digamma_difference(k2, k1),
)
def bregman_of_lgamma(xp: Any, k1: Any, k2: Any) -> Any:
    r""":math:`\log \Gamma(k_2) - \log \Gamma(k_1) - (k_2 - k_1) \psi(k_1)`."""
    return kernels.bregman_of_lgamma(xp, k1, k2)


def _change_of_means(k1: Any, theta1: Any, k2: Any, theta2: Any) -> Any:
    """The difference of the means of gamma distributions over the second scale."""
    return k1 * ((theta1 - theta2) / theta2) + (k1 - k2)


@elementwise(
    lambda m, gy, k1, theta1, k2, theta2: gy * (
        (k1 - k2) / k1 * m.scaled_trigamma(k1) + (theta1 - theta2) / theta2
    ),
    lambda m, gy, k1, theta1, k2, theta2: gy * (_change_of_means(k1, theta1, k2, theta2) / theta1),
    lambda m, gy, k1, theta1, k2, theta2: gy * (m.digamma_difference(k2, k1) - m.log_ratio(theta1, theta2)),
    lambda m, gy, k1, theta1, k2, theta2: -gy * (_change_of_means(k1, theta1, k2, theta2) / theta2),
)  # fmt: skip
def gamma_divergence(xp: Any, k1: Any, theta1: Any, k2: Any, theta2: Any) -> Any:
    return kernels.gamma_divergence(xp, k1, theta1, k2, theta2)


def _spread(m: Any, gy: Any, of_elements: Any, of_totals: Any) -> Any:
    return m.reshape(gy, (*gy.shape, 1)) * (of_elements - of_totals)


@primitive(
    rule=(
        lambda m, gy, a, b: _spread(
            m, gy, (a - b) / a * m.scaled_trigamma(a),
            m.sum(a - b, -1, True) * m.polygamma_of(m.sum(a, -1, True), 1),
        ),
        lambda m, gy, a, b: _spread(
            m, gy, m.digamma_difference(b, a), m.digamma_step(m.sum(a, -1, True), m.sum(b - a, -1, True))
        ),
    ),
    kinds='f',
)  # fmt: skip
def divergence_of_concentrations(xp: Any, a: Any, b: Any) -> Any:
    return kernels.dirichlet_divergence(xp, a, b)


def _of_one_shape(a: Variable, b: Variable) -> list[Variable]:
    shape = numpy.broadcast_shapes(a.shape, b.shape)
    return [x if x.shape == shape else broadcast_to(x, shape) for x in (a, b)]


def dirichlet_divergence(a: Variable, b: Variable) -> Variable:
    """The divergence of Dirichlet distributions; the last axis is that of the vectors."""
    return divergence_of_concentrations(*_of_one_shape(a, b))


# --- of normal distributions --------------------------------------------------------------------------------------
def _change_of_squares(scale1: Any, scale2: Any) -> Any:
    return (scale1 - scale2) / scale2 * ((scale1 + scale2) / scale2)


def _mixed_curvature(scale1: Any, scale2: Any) -> Any:
    return -2 * (scale1 / scale2) / scale2 / scale2


@elementwise(
    lambda m, gy, scale1, scale2: gy * (1 / scale1 / scale1 + 1 / scale2 / scale2),
    lambda m, gy, scale1, scale2: gy * _mixed_curvature(scale1, scale2),
)
def slope_by_scale(xp: Any, scale1: Any, scale2: Any) -> Any:
    return _change_of_squares(scale1, scale2) / scale1


@elementwise(
    lambda m, gy, scale1, scale2: gy * _mixed_curvature(scale1, scale2),
    lambda m, gy, scale1, scale2: gy * ((3 * (scale1 / scale2) * (scale1 / scale2) - 1) / scale2 / scale2),
)
def slope_by_other_scale(xp: Any, scale1: Any, scale2: Any) -> Any:
    return -_change_of_squares(scale1, scale2) / scale2


@elementwise(
    lambda m, gy, scale1, scale2: gy * m.slope_by_scale(scale1, scale2),
    lambda m, gy, scale1, scale2: gy * m.slope_by_other_scale(scale1, scale2),
)
def divergence_of_scales(xp: Any, scale1: Any, scale2: Any) -> Any:
    """With r, the ratio of the scales, (r^2 - 1) / 2 - log r, which is (r - 1)^2 / 2 + (r - 1 - log r)."""
    with numpy.errstate(all='ignore'):
        change = (scale1 - scale2) / scale2
        return 0.5 * change * change + ratio_deficit(xp, scale1, scale2)


# --- of one of several values -------------------------------------------------------------------------------------
@elementwise(lambda m, gy, u: gy * m.sigmoid_slope(u), lambda m, gy, v: -gy * m.sigmoid_slope(v))
def sigmoid_difference(xp: Any, u: Any, v: Any) -> Any:
    r""":math:`\sigma(u) - \sigma(v)`."""
    larger, smaller = xp.maximum(u, v), xp.minimum(u, v)
    with numpy.errstate(invalid='ignore', over='ignore'):
        tail = xp.exp(
            -logistic_losses(xp, larger, xp.ones_like(larger)) - logistic_losses(xp, smaller, xp.zeros_like(smaller))
        )
        y = xp.where(u == v, xp.zeros((), u.dtype), tail * xp.expm1(smaller - larger))
    return xp.where(u > v, -y, y)


def _far_logits(xp: Any, u: Any, v: Any) -> Any:
    one, total = xp.ones_like(u), xp.zeros_like(u)
    for outcome in (one, 0 * one):
        log_p = -logistic_losses(xp, u, outcome)
        change = log_p + logistic_losses(xp, v, outcome)
        total = total + xp.where(log_p == -numpy.inf, 0 * one, xp.exp(log_p) * change)
    return total


@elementwise(
    lambda m, gy, u, v: gy * m.weighted(m.sigmoid_slope(u), u - v),
    lambda m, gy, u, v: gy * m.sigmoid_difference(v, u),
)
def bernoulli_divergence_by_logit(xp: Any, u: Any, v: Any) -> Any:
    with numpy.errstate(all='ignore'):
        near = xp.absolute(u - v) < 1
        d = where_or(xp, near, u - v, 0.0)
        one, zero, other_one, other_zero = (1 / (1 + xp.exp(-x)) for x in (u, -u, v, -v))
        close = one * log1p_deficit(xp, other_zero * xp.expm1(-d)) + zero * log1p_deficit(xp, other_one * xp.expm1(d))
        return xp.where(near, close, _far_logits(xp, u, v))


def _entropies(xp: Any, p: Any, q: Any) -> Any:
    return entropy_of_ratio(xp, p, q, q - p) + entropy_of_ratio(xp, 1 - p, 1 - q, p - q)


@elementwise(
    lambda m, gy, p, q: gy * m.log_odds_ratio(p, q), lambda m, gy, p, q: gy * m.slope_by_other_probability(p, q)
)  # fmt: skip
def bernoulli_divergence(xp: Any, p: Any, q: Any) -> Any:
    with numpy.errstate(all='ignore'):
        return _entropies(xp, p, q)


@elementwise(
    lambda m, gy, q: -gy / (q * (1 - q)),
    lambda m, gy, p, q: gy * (p / q / q + (1 - p) / (1 - q) / (1 - q)),
)
def slope_by_other_probability(xp: Any, p: Any, q: Any) -> Any:
    """(1 - p) / (1 - q) - p / q; of what is impossible in both distributions nothing depends on q."""
    with numpy.errstate(divide='ignore', invalid='ignore'):
        slope = (q - p) / (q * (1 - q))
        return xp.where((p == q) & ((q == 0) | (q == 1)), 1 - 2 * q, slope)


@elementwise(lambda m, gy, p: gy / (p * (1 - p)), lambda m, gy, q: -gy / (q * (1 - q)))
def log_odds_ratio(xp: Any, p: Any, q: Any) -> Any:
    with numpy.errstate(all='ignore'):
        return _log_of_probabilities(xp, p, q, p - q) - _log_of_probabilities(xp, 1 - p, 1 - q, q - p)


def _log_of_probabilities(xp: Any, p: Any, q: Any, difference: Any) -> Any:
    """log(p / q) for gradients of divergences; the term p log p of a p of 0 counts as constant, as in Chainer.

    The term p log q, too, where q is also 0.
    """
    at_0 = -1 - xp.log(where_or(xp, (p != 0) | (q != 0), q, 1.0))
    return xp.where(p == 0, at_0, log_of_ratio(xp, p, q, difference))


@elementwise(lambda m, gy, p: gy / p, lambda m, gy, q: -gy / q)
def log_ratio_of_probabilities(xp: Any, p: Any, q: Any) -> Any:
    with numpy.errstate(all='ignore'):
        return _log_of_probabilities(xp, p, q, p - q)


@primitive(
    rule=(
        lambda m, gy, p, q: m.reshape(gy, (*gy.shape, 1)) * (m.log_ratio_of_probabilities(p, q) + 1),
        lambda m, gy, p, q: m.reshape(-gy, (*gy.shape, 1)) * m.quotient(p, q),
    ),
    kinds='f',
)
def divergence_of_probabilities(xp: Any, p: Any, q: Any) -> Any:
    with numpy.errstate(all='ignore'):
        return entropy_of_ratio(xp, p, q, q - p).sum(axis=-1) + (p - q).sum(axis=-1)


@elementwise(lambda m, gy, p: gy * m.exp(p), lambda m, gy, q: -gy * m.exp(q))
def difference_of_exp(xp: Any, p: Any, q: Any) -> Any:
    """e^p - e^q."""
    larger = xp.maximum(p, q)
    with numpy.errstate(invalid='ignore'):
        y = xp.where(p == q, xp.zeros((), p.dtype), xp.exp(larger) * xp.expm1(xp.minimum(p, q) - larger))
    return xp.where(p > q, -y, y)


@elementwise(
    lambda m, gy, p, q: gy * m.weighted(m.exp(p), p - q), lambda m, gy, p, q: gy * m.difference_of_exp(q, p)
)  # fmt: skip
def relative_entropy_by_log(xp: Any, p: Any, q: Any) -> Any:
    """As :func:`relative_entropy`, of the exponentials of two numbers."""
    with numpy.errstate(all='ignore'):
        change, own, other = q - p, xp.exp(p), xp.exp(q)
        near = change < 1
        small = where_or(xp, own != 0, own * expm1_excess(xp, where_or(xp, near, change, 0.0)), 0.0)
        return xp.where(near, small, other - own - where_or(xp, own > 0, own * change, 0.0))


@elementwise(
    lambda m, gy, p, q: gy * m.log_ratio_of_probabilities(p, q), lambda m, gy, p, q: gy * m.excess_of_mean(p, q)
)  # fmt: skip
def poisson_divergence(xp: Any, p: Any, q: Any) -> Any:
    with numpy.errstate(all='ignore'):
        return entropy_of_ratio(xp, p, q, q - p)


@elementwise(lambda m, gy, q: -gy / q, lambda m, gy, p, q: gy * m.quotient(m.quotient(p, q), q))
def excess_of_mean(xp: Any, p: Any, q: Any) -> Any:
    """1 - p / q, and 1 where both are 0."""
    with numpy.errstate(divide='ignore', invalid='ignore'):
        return xp.where((p == 0) & (q == 0), xp.ones((), q.dtype), (q - p) / q)


def cross_term(w: Variable, log_q: Variable) -> Variable:
    """w log q, and 0 without slopes where both are 0."""
    is_impossible = (w._data == 0) & (log_q._data == -numpy.inf)
    return w * where(is_impossible, 0.0, log_q)


def categorical_divergence(p: Variable, q: Variable, by_log: bool) -> Variable:
    """The divergence of distributions of one of several values, given probabilities or their logarithms."""
    return sum_(relative_entropy_by_log(p, q), -1) if by_log else divergence_of_probabilities(*_of_one_shape(p, q))
