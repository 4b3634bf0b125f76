"""The beta distribution, and the Dirichlet distribution."""

from __future__ import annotations

import math
from typing import Any

from minichainer.distribution import register_kl
from minichainer.distributions._densities import (
    beta_cdf,
    beta_exponent,
    beta_log_density,
    beta_survival,
    stirling_remainder,
    x_log,
)
from minichainer.distributions._parametric import Parametric, computed, holds, log_of_probability, parameter, raw
from minichainer.distributions.gamma import bregman_of_lgamma
from minichainer.functions.array.selection import where
from minichainer.functions.array.shape import broadcast_to, expand_dims
from minichainer.functions.math.exponential import log
from minichainer.functions.math.gamma import lgamma
from minichainer.functions.math.reductions import sum as sum_
from minichainer.variable import Variable

_CONSTANT = 0.5 * math.log(2 * math.pi) + 0.5


def _partial_entropy(k: Variable) -> Variable:
    r""":math:`\log \Gamma(k) - (k - 1) \psi(k) + k`, without its terms that cancel."""
    remainders = stirling_remainder(k, 0) - (k - 1) * stirling_remainder(k, 1)
    return log(k) * 0.5 + _CONSTANT - 0.5 / k + remainders


def _total_entropy(total: Variable, count: int) -> Variable:
    r""":math:`\log \Gamma(A) - (A - n) \psi(A) + A` for the sum A of n parameters."""
    remainders = stirling_remainder(total, 0) - (total - count) * stirling_remainder(total, 1)
    return log(total) * (count - 0.5) + _CONSTANT - 0.5 * count / total + remainders


class Beta(Parametric):
    r"""Beta distribution.

    .. math:: p(x) = \frac{x^{a - 1} (1 - x)^{b - 1}}{B(a, b)}, \quad 0 \le x \le 1

    The distribution function is differentiable with respect to ``x`` only, and samples are not.

    Args:
        a: exponent :math:`a`, Variable or float array.
        b: exponent :math:`b`, Variable or array of the same dtype; the shapes are broadcast.

    Raises:
        InvalidType: dtypes or shapes do not fit.

    >>> import numpy as np
    >>> from minichainer.distributions import Beta
    >>> Beta(np.full(1, 2.), np.full(1, 2.)).prob(np.array([0.5])).array.round(4)
    array([1.5])
    """

    a = parameter('Exponent of the value.')
    b = parameter('Exponent of the rest.')

    def __init__(self, a: Any, b: Any) -> None:
        super().__init__(a=a, b=b)

    @property
    def support(self) -> str:
        return '[0, 1]'

    def log_prob(self, x: Any) -> Variable:
        x = self._values(x)
        array = raw(x)
        if holds((array > 0) & (array < 1)):
            return self._log_density(x, False)
        possible = (array >= 0) & (array <= 1)
        return self._if_possible(x, possible, self._log_density, True, instead=0.5)

    def _log_density(self, x: Any, edge: bool) -> Variable:
        if self._dtype.char == 'e':  # a normalizer of its own would be rounded once more
            return beta_log_density(x, self.a, self.b)
        return beta_exponent(x, self.a, self.b, edge) - self._log_normalizer

    @property
    @computed
    def _log_normalizer(self) -> Variable:
        return lgamma(self.a) + lgamma(self.b) - lgamma(self.a + self.b)

    def cdf(self, x: Any) -> Variable:
        return beta_cdf(self._values(x), self.a, self.b)

    def survival_function(self, x: Any) -> Variable:
        return beta_survival(self._values(x), self.a, self.b)

    def log_cdf(self, x: Any) -> Variable:
        return log_of_probability(self.cdf(x), self.survival_function(x))

    def log_survival_function(self, x: Any) -> Variable:
        return log_of_probability(self.survival_function(x), self.cdf(x))

    def icdf(self, x: Any) -> Variable:
        raise self._missing('icdf', ': it has no closed form')

    def sample_n(self, n: int) -> Variable:
        draws = self._drawn(self.xp.random.beta, self.a, self.b, size=self._size(n))
        return self._constants(draws)

    @property
    @computed
    def mean(self) -> Variable:
        """Mean."""
        return self.a / (self.a + self.b)

    @property
    @computed
    def mode(self) -> Variable:
        """The most probable value; NaN if the density is infinite at both ends, or constant."""
        rising, falling = self.a._data > 1, self.b._data > 1
        inner = rising & falling
        corner = self.xp.where(rising == falling, math.nan, rising).astype(self._dtype)
        denominator = where(inner, self.a + self.b - 2, 1.0)
        return where(inner, (self.a - 1) / denominator, corner)

    @property
    @computed
    def variance(self) -> Variable:
        """Variance."""
        total = self.a + self.b
        return self.a / total * (self.b / total) / (total + 1)

    @property
    @computed
    def entropy(self) -> Variable:
        """Entropy."""
        return _partial_entropy(self.a) + _partial_entropy(self.b) - _total_entropy(self.a + self.b, 2)


@register_kl(Beta, Beta)
def _between_betas(p: Beta, q: Beta) -> Variable:
    parts = bregman_of_lgamma(p.a, q.a) + bregman_of_lgamma(p.b, q.b)
    return parts - bregman_of_lgamma(p.a + p.b, q.a + q.b)


class Dirichlet(Parametric):
    r"""Dirichlet distribution of vectors of positive numbers with sum 1.

    .. math:: p(x) = \frac{\Gamma(\alpha_0)}{\prod_i \Gamma(\alpha_i)} \prod_i x_i^{\alpha_i - 1}, \quad
        \alpha_0 = \sum_i \alpha_i

    Samples are not differentiable.

    Args:
        alpha: concentrations :math:`\alpha`, Variable or float array :math:`(\dots, n)`; the last axis is that of the
            vector.

    Raises:
        InvalidType: ``alpha`` is not a float array, or has no axis.

    >>> import numpy as np
    >>> from minichainer.distributions import Dirichlet
    >>> Dirichlet(np.array([1., 1., 2.])).mean.array
    array([0.25, 0.25, 0.5 ])
    """

    alpha = parameter('Concentrations.')
    _event_ndim = 1

    def __init__(self, alpha: Any) -> None:
        super().__init__(alpha=alpha)

    @property
    @computed
    def alpha0(self) -> Variable:
        """Sums of the concentrations."""
        return sum_(self.alpha, -1)

    @property
    def support(self) -> str:
        return '[0, 1]'

    @property
    @computed
    def _log_normalizer(self) -> Variable:
        return sum_(lgamma(self.alpha), -1) - lgamma(self.alpha0)

    def log_prob(self, x: Any) -> Variable:
        return sum_(x_log(self.alpha - 1, self._values(x)), -1) - self._log_normalizer

    def sample_n(self, n: int) -> Variable:
        xp, alpha = self.xp, self.alpha._data
        rows = alpha.reshape(-1, 1, alpha.shape[-1])
        # As numpy.random.dirichlet does for one row after the other.
        draws = self._drawn(xp.random.standard_gamma, Variable(rows), size=(len(rows), n, rows.shape[-1]))
        draws = (draws / draws.sum(axis=-1, keepdims=True)).swapaxes(0, 1)
        return self._constants(draws.reshape(self._size(n)))

    def _total(self) -> Variable:
        """The sums of the concentrations, with the shape of the vectors."""
        return broadcast_to(expand_dims(self.alpha0, -1), self._shape)

    @property
    @computed
    def mean(self) -> Variable:
        """Mean."""
        return self.alpha / self._total()

    @property
    @computed
    def mode(self) -> Variable:
        """The most probable vector; NaN where a concentration is at most 1."""
        inner = (self.alpha._data > 1).all(axis=-1, keepdims=True)
        excess = where(self.xp.broadcast_to(inner, self._shape), self.alpha - 1, 1.0)
        total = broadcast_to(sum_(excess, -1, keepdims=True), self._shape)
        return where(self.xp.broadcast_to(inner, self._shape), excess / total, math.nan)

    @property
    @computed
    def variance(self) -> Variable:
        """Variance of each element."""
        return self.mean * (1 - self.mean) / (self._total() + 1)

    @property
    @computed
    def covariance(self) -> Variable:
        """Covariance matrices."""
        column, row = expand_dims(self.mean, -1), expand_dims(self.mean, -2)
        shape = (*self._shape, self._shape[-1])
        diagonal = broadcast_to(column, shape) * self._constants(self.xp.eye(shape[-1]))
        total = broadcast_to(expand_dims(self._total(), -1), shape)
        return (diagonal - broadcast_to(column, shape) * broadcast_to(row, shape)) / (total + 1)

    @property
    @computed
    def entropy(self) -> Variable:
        """Entropy."""
        return sum_(_partial_entropy(self.alpha), -1) - _total_entropy(self.alpha0, self._shape[-1])


@register_kl(Dirichlet, Dirichlet)
def _between_dirichlets(p: Dirichlet, q: Dirichlet) -> Variable:
    parts = sum_(bregman_of_lgamma(p.alpha, q.alpha), -1)
    return parts - bregman_of_lgamma(p.alpha0, q.alpha0)
