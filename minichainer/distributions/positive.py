"""Distributions of positive numbers with simple distribution functions."""

from __future__ import annotations

import math
from typing import Any

from minichainer.distributions._densities import (
    exponential_log_density,
    log_of_1_minus_exp,
    pareto_log_density,
)
from minichainer.distributions._parametric import Parametric, at_least, computed, parameter, raw, register_divergence
from minichainer.functions.array.selection import where
from minichainer.functions.math.exponential import exp, expm1, log, log1p, square
from minichainer.functions.math.small_differences import log_ratio, ratio_deficit
from minichainer.variable import Variable


class Exponential(Parametric):
    r"""Exponential distribution.

    .. math:: p(x) = \lambda e^{-\lambda x}, \quad x \ge 0

    Samples are differentiable with respect to the parameter.

    Args:
        lam: rate :math:`\lambda`, Variable or float array.

    Raises:
        InvalidType: ``lam`` is not a float array.

    >>> import numpy as np
    >>> from minichainer.distributions import Exponential
    >>> Exponential(np.full(1, 2.)).cdf(np.array([0., 1.])).array.round(4)
    array([0.    , 0.8647])
    """

    lam = parameter('Rate.')

    def __init__(self, lam: Any) -> None:
        super().__init__(lam=lam)

    @property
    def support(self) -> str:
        return 'positive'

    def log_prob(self, x: Any) -> Variable:
        x = self._values(x)
        array = raw(x)
        if at_least(array, 0):
            return exponential_log_density(x, self.lam)
        return self._if_possible(x, array < 0, exponential_log_density, self.lam)

    def _exponent(self, x: Any) -> Variable:
        """Minus the logarithm of the survival function."""
        x = self._variables(x)
        return self.lam * where(x._data < 0, 0.0, x)

    def cdf(self, x: Any) -> Variable:
        return -expm1(-self._exponent(x))

    def log_cdf(self, x: Any) -> Variable:
        return log_of_1_minus_exp(self._exponent(x))

    def survival_function(self, x: Any) -> Variable:
        return exp(-self._exponent(x))

    def log_survival_function(self, x: Any) -> Variable:
        return -self._exponent(x)

    def icdf(self, x: Any) -> Variable:
        return -log1p(-self._variables(x)) / self.lam

    def sample_n(self, n: int) -> Variable:
        return self._constants(self.xp.random.standard_exponential(self._size(n))) / self.lam

    @property
    @computed
    def mean(self) -> Variable:
        """Mean."""
        return 1 / self.lam

    @property
    @computed
    def mode(self) -> Variable:
        """The most probable value, 0."""
        return self._constant(0)

    @property
    @computed
    def variance(self) -> Variable:
        """Variance."""
        return square(1 / self.lam)

    @property
    @computed
    def stddev(self) -> Variable:
        """Standard deviation."""
        return 1 / self.lam

    @property
    @computed
    def entropy(self) -> Variable:
        """Entropy."""
        return 1 - log(self.lam)


@register_divergence(Exponential)
def _between_exponentials(p: Exponential, q: Exponential) -> Variable:
    return ratio_deficit(q.lam, p.lam)


class Pareto(Parametric):
    r"""Pareto distribution.

    .. math:: p(x) = \alpha x_m^\alpha x^{-\alpha - 1}, \quad x \ge x_m

    Samples are differentiable with respect to ``scale`` only.

    Args:
        scale: least value :math:`x_m`, Variable or float array.
        alpha: exponent :math:`\alpha`, Variable or array of the same dtype; the shapes are broadcast.

    Raises:
        InvalidType: dtypes or shapes do not fit.

    >>> import numpy as np
    >>> from minichainer.distributions import Pareto
    >>> Pareto(np.ones(1), np.full(1, 2.)).survival_function(np.array([2.])).array
    array([0.25])
    """

    scale = parameter('Least value.')
    alpha = parameter('Exponent.')

    def __init__(self, scale: Any, alpha: Any) -> None:
        super().__init__(scale=scale, alpha=alpha)

    @property
    def support(self) -> str:
        return '[scale, inf]'

    def log_prob(self, x: Any) -> Variable:
        x = self._values(x)
        impossible = raw(x) < self.scale._data
        # Any value will do instead; only its logarithm must exist.
        return self._if_possible(x, impossible, pareto_log_density, self.scale, self.alpha)

    def _exponent(self, x: Any) -> Variable:
        """Minus the logarithm of the survival function."""
        x = self._variables(x)
        impossible = x._data < self.scale._data
        return self.alpha * log_ratio(where(impossible, self.scale, x), self.scale)

    def cdf(self, x: Any) -> Variable:
        return -expm1(-self._exponent(x))

    def log_cdf(self, x: Any) -> Variable:
        return log_of_1_minus_exp(self._exponent(x))

    def survival_function(self, x: Any) -> Variable:
        return exp(-self._exponent(x))

    def log_survival_function(self, x: Any) -> Variable:
        return -self._exponent(x)

    def icdf(self, x: Any) -> Variable:
        return self.scale * exp(-log1p(-self._variables(x)) / self.alpha)

    def sample_n(self, n: int) -> Variable:
        noise = self._drawn(self.xp.random.pareto, self.alpha, size=self._size(n))
        return self.scale * (self._constants(noise) + 1)

    @property
    @computed
    def mean(self) -> Variable:
        """Mean; inf if ``alpha`` is at most 1."""
        finite = self.alpha._data > 1
        alpha = where(finite, self.alpha, 2.0)
        return self._full(where(finite, alpha * self.scale / (alpha - 1), math.inf))

    @property
    @computed
    def mode(self) -> Variable:
        """The most probable value, ``scale``."""
        return self._full(self.scale)

    @property
    @computed
    def variance(self) -> Variable:
        """Variance; inf if ``alpha`` is at most 2."""
        finite = self.alpha._data > 2
        alpha = where(finite, self.alpha, 3.0)
        ratio = self.scale / (alpha - 1)
        return self._full(where(finite, ratio * ratio * alpha / (alpha - 2), math.inf))

    @property
    @computed
    def entropy(self) -> Variable:
        """Entropy."""
        return log_ratio(self.scale, self.alpha) + 1 / self.alpha + 1


@register_divergence(Pareto)
def _between_paretos(p: Pareto, q: Pareto) -> Variable:
    divergence = q.alpha * log_ratio(p.scale, q.scale) + ratio_deficit(q.alpha, p.alpha)
    return where(p.scale._data >= q.scale._data, divergence, math.inf)
