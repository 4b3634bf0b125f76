"""The gamma distribution, and the chi-square distribution."""

from __future__ import annotations

import functools
import math
from typing import Any

from minichainer.distributions._densities import gamma_exponent, gamma_log_density, stirling_remainder
from minichainer.distributions._divergences import bregman_of_lgamma, gamma_divergence
from minichainer.distributions._parametric import (
    Parametric,
    above,
    computed,
    fails,
    holds,
    is_tiny,
    parameter,
    raw,
    register_divergence,
)
from minichainer.distributions._tails import gamma_cdf, gamma_log_probability, gamma_survival
from minichainer.functions.array.selection import where
from minichainer.functions.math.elementwise_extrema import maximum
from minichainer.functions.math.exponential import log
from minichainer.functions.math.gamma import lgamma
from minichainer.kernels.gamma_densities import SERIES_FROM
from minichainer.variable import Variable

_HALF_LOG_2_PI_E = 0.5 * math.log(2 * math.pi * math.e)


class _GammaLike(Parametric):
    """The common part of distributions of a multiple of a gamma-distributed number."""

    @property
    def _shape_and_scale(self) -> tuple[Variable, Any]:
        raise NotImplementedError

    @property
    def support(self) -> str:
        return 'positive'

    def cdf(self, x: Any) -> Variable:
        k, theta = self._shape_and_scale
        return gamma_cdf(self._variables(x) / theta, k)

    def survival_function(self, x: Any) -> Variable:
        k, theta = self._shape_and_scale
        return gamma_survival(self._variables(x) / theta, k)

    def log_cdf(self, x: Any) -> Variable:
        return self._log_probability(x, False)

    def log_survival_function(self, x: Any) -> Variable:
        return self._log_probability(x, True)

    def _log_probability(self, x: Any, upper: bool) -> Variable:
        k, theta = self._shape_and_scale
        z = self._variables(x) / theta
        return self._unless(
            z._data <= 0, z, lambda z: gamma_log_probability(z, k, upper), 0.0 if upper else -math.inf
        )

    def icdf(self, x: Any) -> Variable:
        raise self._missing('icdf', ': it has no closed form')


class Gamma(_GammaLike):
    r"""Gamma distribution.

    .. math:: p(x) = \frac{x^{k - 1} e^{-x / \theta}}{\Gamma(k) \theta^k}, \quad x > 0

    Samples are differentiable with respect to ``theta`` only, and the distribution function with respect to ``x`` and
    ``theta``.

    Args:
        k: shape :math:`k`, Variable or float array.
        theta: scale :math:`\theta`, Variable or array of the same dtype; the shapes are broadcast.

    Raises:
        InvalidType: dtypes or shapes do not fit.

    >>> import numpy as np
    >>> from minichainer.distributions import Gamma
    >>> Gamma(np.full(1, 3.), np.full(1, 2.)).mean.array
    array([6.])
    """

    k = parameter('Shape.')
    theta = parameter('Scale.')

    def __init__(self, k: Any, theta: Any) -> None:
        super().__init__(k=k, theta=theta)

    @property
    def _shape_and_scale(self) -> tuple[Variable, Variable]:
        return self.k, self.theta

    def log_prob(self, x: Any) -> Variable:
        x = self._values(x)
        array = raw(x)
        if above(array, 0):
            return self._log_density(x, False)
        return self._if_possible(x, array < 0, self._log_density, True)

    def _log_density(self, x: Any, edge: bool) -> Variable:
        if not self._is_small:
            return gamma_log_density(x, self.k, self.theta)
        return gamma_exponent(x, self.k, self.theta, edge) - self._log_normalizer

    @functools.cached_property
    def _is_small(self) -> bool:
        """Whether the normalizer is small enough to be subtracted."""
        return holds(self.k._data < SERIES_FROM)

    @property
    @computed
    def _log_normalizer(self) -> Variable:
        return lgamma(self.k) + self.k * log(self.theta)

    def sample_n(self, n: int) -> Variable:
        noise = self._drawn(self.xp.random.gamma, self.k, size=self._size(n))
        return self.theta * self._positive(noise, self.theta._data)

    @property
    @computed
    def mean(self) -> Variable:
        """Mean."""
        return self.k * self.theta

    @property
    @computed
    def mode(self) -> Variable:
        """The most probable value."""
        return _positive_part(self.k - 1) * self.theta

    @property
    @computed
    def variance(self) -> Variable:
        """Variance."""
        return self.k * self.theta * self.theta

    @property
    @computed
    def entropy(self) -> Variable:
        """Entropy."""
        return _standard_entropy(self.k) + log(self.theta)


def _positive_part(x: Variable) -> Variable:
    return maximum(x, x.xp.zeros_like(x._data))


def _standard_entropy(k: Variable) -> Variable:
    r""":math:`k + \log \Gamma(k) + (1 - k) \psi(k)`, without its terms that cancel."""
    tiny = is_tiny(k._data)
    if not fails(tiny):  # slopes of the terms overflow there
        return where(tiny, -1 / where(tiny, k, 1.0), _ordinary_entropy(where(tiny, 1.0, k)))
    return _ordinary_entropy(k)


def _ordinary_entropy(k: Variable) -> Variable:
    remainders = stirling_remainder(k, 0) - (k - 1) * stirling_remainder(k, 1)
    return log(k) * 0.5 + _HALF_LOG_2_PI_E - 0.5 / k + remainders


@register_divergence(Gamma)
def _between_gammas(p: Gamma, q: Gamma) -> Variable:
    return gamma_divergence(p.k, p.theta, q.k, q.theta)


class Chisquare(_GammaLike):
    r"""Chi-square distribution.

    .. math:: p(x) = \frac{x^{k / 2 - 1} e^{-x / 2}}{2^{k / 2} \Gamma(k / 2)}, \quad x > 0

    The distribution function is differentiable with respect to ``x`` only, and samples are not.

    Args:
        k: degrees of freedom :math:`k`, Variable or float array.

    Raises:
        InvalidType: ``k`` is not a float array.

    >>> import numpy as np
    >>> from minichainer.distributions import Chisquare
    >>> Chisquare(np.full(1, 2.)).prob(np.array([0., 2.])).array.round(4)
    array([0.5   , 0.1839])
    """

    k = parameter('Degrees of freedom.')

    def __init__(self, k: Any) -> None:
        super().__init__(k=k)

    @property
    def _shape_and_scale(self) -> tuple[Variable, float]:
        return self.k * 0.5, 2.0

    def log_prob(self, x: Any) -> Variable:
        return self._as_gamma.log_prob(x)

    @functools.cached_property
    def _as_gamma(self) -> Gamma:
        return Gamma(self.k * 0.5, self._constants(2))

    def sample_n(self, n: int) -> Variable:
        draws = self._drawn(self.xp.random.chisquare, self.k, size=self._size(n))
        return self._positive(draws)

    @property
    @computed
    def mean(self) -> Variable:
        """Mean."""
        return self.k

    @property
    @computed
    def mode(self) -> Variable:
        """The most probable value."""
        return _positive_part(self.k - 2)

    @property
    @computed
    def variance(self) -> Variable:
        """Variance."""
        return 2 * self.k

    @property
    @computed
    def entropy(self) -> Variable:
        """Entropy."""
        return _standard_entropy(self.k * 0.5) + math.log(2)


@register_divergence(Chisquare)
def _between_chisquares(p: Chisquare, q: Chisquare) -> Variable:
    return bregman_of_lgamma(p.k * 0.5, q.k * 0.5)
