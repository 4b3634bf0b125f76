"""Distributions on the real line with a location and a scale."""

from __future__ import annotations

import math
import warnings
from typing import Any

from minichainer.distributions._densities import (
    cauchy_cdf,
    cauchy_exponent,
    cauchy_log_cdf,
    gumbel_log_density,
    laplace_log_density,
    log_of_1_minus_exp,
)
from minichainer.distributions._divergences import bregman_of_lgamma
from minichainer.distributions._parametric import Parametric, computed, holds, parameter, register_divergence
from minichainer.functions.arithmetic import absolute
from minichainer.functions.array.selection import where
from minichainer.functions.math.exponential import exp, expm1, log, log1p, square
from minichainer.functions.math.small_differences import expm1_excess, ratio_deficit
from minichainer.functions.math.trigonometric import tan
from minichainer.variable import Variable

#: Euler's constant.
_EULER = 0.57721566490153286061
_LOG_2 = math.log(2)
#: Numbers t from which on the density exp(t - exp(t)) is 0, by dtype.
_VANISHES = {'f': 5.0, 'd': 7.0}


class LocationScale(Parametric):
    """The common part: the distribution of ``loc + scale * z`` with a given distribution of z.

    Args:
        loc: location, Variable or float array.
        scale: scale, Variable or array of the same dtype; the shapes are broadcast.
    """

    loc = parameter('Location.')
    scale = parameter('Scale.')

    def __init__(self, loc: Any, scale: Any) -> None:
        super().__init__(loc=loc, scale=scale)

    @property
    def support(self) -> str:
        return 'real'

    def _standardized(self, x: Any) -> Variable:
        return (self._variables(x) - self.loc) / self.scale

    @property
    def mode(self) -> Variable:
        return self._full(self.loc)


class Symmetric(LocationScale):
    """The common part if z and -z have the same distribution, given by functions of z."""

    def cdf(self, x: Any) -> Variable:
        return self._standard_cdf(self._standardized(x))

    def log_cdf(self, x: Any) -> Variable:
        return self._standard_log_cdf(self._standardized(x))

    def survival_function(self, x: Any) -> Variable:
        return self._standard_cdf(-self._standardized(x))

    def log_survival_function(self, x: Any) -> Variable:
        return self._standard_log_cdf(-self._standardized(x))

    def icdf(self, x: Any) -> Variable:
        return self.loc + self.scale * self._standard_icdf(self._variables(x))

    def _standard_cdf(self, z: Variable) -> Variable:
        raise NotImplementedError

    def _standard_log_cdf(self, z: Variable) -> Variable:
        raise NotImplementedError

    def _standard_icdf(self, p: Variable) -> Variable:
        raise NotImplementedError


class Laplace(Symmetric):
    r"""Laplace distribution.

    .. math:: p(x) = \frac{1}{2 b} e^{-|x - \mu| / b}

    Samples are differentiable with respect to the parameters.

    Args:
        loc: mean :math:`\mu`, Variable or float array.
        scale: scale :math:`b`, Variable or array of the same dtype; the shapes are broadcast.

    Raises:
        InvalidType: dtypes or shapes do not fit.

    >>> import numpy as np
    >>> from minichainer.distributions import Laplace
    >>> Laplace(np.zeros(1), np.ones(1)).cdf(np.array([0., 1.])).array.round(4)
    array([0.5   , 0.8161])
    """

    def log_prob(self, x: Any) -> Variable:
        return laplace_log_density(self._values(x), self.loc, self.scale)

    def _standard_cdf(self, z: Variable) -> Variable:
        tail = exp(-absolute(z)) * 0.5
        return where(z._data < 0, tail, 1 - tail)

    def _standard_log_cdf(self, z: Variable) -> Variable:
        return where(z._data < 0, z - _LOG_2, log1p(exp(-absolute(z)) * -0.5))

    def _standard_icdf(self, p: Variable) -> Variable:
        return where(p._data < 0.5, log(2 * p), -log(2 - 2 * p))

    def sample_n(self, n: int) -> Variable:
        noise = self._constants(self.xp.random.laplace(size=self._size(n)))
        return self.loc + self.scale * noise

    @property
    @computed
    def mean(self) -> Variable:
        """Mean."""
        return self._full(self.loc)

    @property
    @computed
    def variance(self) -> Variable:
        """Variance."""
        return square(self._full(self.scale)) * 2.0

    @property
    @computed
    def stddev(self) -> Variable:
        """Standard deviation."""
        return self._full(self.scale) * math.sqrt(2)

    @property
    @computed
    def entropy(self) -> Variable:
        """Entropy."""
        return self._full(log(self.scale) + (1 + _LOG_2))


@register_divergence(Laplace)
def _between_laplaces(p: Laplace, q: Laplace) -> Variable:
    # With d = |p.loc - q.loc| / q.scale and r = p.scale / q.scale, d + r e^(-d / r) - 1 - log r.
    # That is (r - 1 - log r) + r (e^(-d / r) - 1 + d / r).
    distance = absolute(p.loc - q.loc) / p.scale
    return ratio_deficit(p.scale, q.scale) + p.scale / q.scale * expm1_excess(-distance)


class Cauchy(Symmetric):
    r"""Cauchy distribution; it has no mean and no variance.

    .. math:: p(x) = \frac{1}{\pi b (1 + ((x - x_0) / b)^2)}

    Samples are differentiable with respect to the parameters.

    Args:
        loc: median :math:`x_0`, Variable or float array.
        scale: scale :math:`b`, Variable or array of the same dtype; the shapes are broadcast.

    Raises:
        InvalidType: dtypes or shapes do not fit.

    >>> import numpy as np
    >>> from minichainer.distributions import Cauchy
    >>> Cauchy(np.zeros(1), np.ones(1)).cdf(np.array([0., 1.])).array
    array([0.5 , 0.75])
    """

    def log_prob(self, x: Any) -> Variable:
        return cauchy_exponent(self._values(x), self.loc, self.scale) - self._log_normalizer

    @property
    @computed
    def _log_normalizer(self) -> Variable:
        return log(self.scale) + math.log(math.pi)

    def _standard_cdf(self, z: Variable) -> Variable:
        return cauchy_cdf(z)

    def _standard_log_cdf(self, z: Variable) -> Variable:
        return cauchy_log_cdf(z)

    def _standard_icdf(self, p: Variable) -> Variable:
        # tan(pi (p - 1/2)), precise near 0 and 1.
        central = abs(p._data - 0.5) < 0.25
        outer = where(central, 0.25, p)
        tail = where(p._data < 0.5, -1 / tan(math.pi * outer), 1 / tan(math.pi * (1 - outer)))
        return where(central, tan(math.pi * (where(central, p, 0.5) - 0.5)), tail)

    def sample_n(self, n: int) -> Variable:
        noise = self._constants(self.xp.random.standard_cauchy(self._size(n)))
        return self.loc + self.scale * noise

    @property
    def mean(self) -> Variable:
        """NaN, with a RuntimeWarning, because there is none."""
        return self._undefined('mean')

    @property
    def variance(self) -> Variable:
        """NaN, with a RuntimeWarning, because there is none."""
        return self._undefined('variance')

    def _undefined(self, moment: str) -> Variable:
        warnings.warn(f'the {moment} of a Cauchy distribution is undefined', RuntimeWarning, stacklevel=3)
        return self._constant(math.nan)

    @property
    @computed
    def entropy(self) -> Variable:
        """Entropy."""
        return self._full(log(self.scale) + math.log(4 * math.pi))


@register_divergence(Cauchy)
def _between_cauchys(p: Cauchy, q: Cauchy) -> Variable:
    # From Chyzak and Nielsen, "A closed-form formula for the Kullback-Leibler divergence between Cauchy
    # distributions", 2019; written as log(1 + ...), because the divergence may be tiny.
    scale, loc = p.scale - q.scale, p.loc - q.loc
    return log1p(scale / p.scale * (scale / q.scale) * 0.25 + loc / p.scale * (loc / q.scale) * 0.25)


class Gumbel(LocationScale):
    r"""Gumbel distribution, of the largest of many numbers.

    .. math:: p(x) = \frac{1}{\eta} e^{-z - e^{-z}}, \quad z = \frac{x - \mu}{\eta}

    Samples are differentiable with respect to the parameters.

    Args:
        loc: location :math:`\mu`, Variable or float array.
        scale: scale :math:`\eta`, Variable or array of the same dtype; the shapes are broadcast.

    Raises:
        InvalidType: dtypes or shapes do not fit.

    >>> import numpy as np
    >>> from minichainer.distributions import Gumbel
    >>> Gumbel(np.zeros(1), np.ones(1)).mean.array.round(4)
    array([0.5772])
    """

    def log_prob(self, x: Any) -> Variable:
        return gumbel_log_density(self._values(x), self.loc, self.scale)

    def _bounded(self, x: Any) -> Variable:
        """The standardized value, from where on the density is not 0: below, every slope is 0."""
        z = self._standardized(x)
        least = -_VANISHES[self._dtype.char]
        return z if holds(z._data > least) else where(z._data < least, least, z)

    def prob(self, x: Any) -> Variable:
        z = self._bounded(x)
        return exp(-z - exp(-z)) / self.scale

    def cdf(self, x: Any) -> Variable:
        return exp(-exp(-self._bounded(x)))

    def log_cdf(self, x: Any) -> Variable:
        return -exp(-self._standardized(x))

    def survival_function(self, x: Any) -> Variable:
        return -expm1(-exp(-self._bounded(x)))

    def log_survival_function(self, x: Any) -> Variable:
        z = self._bounded(x)
        rate = exp(-z)
        far = z._data > 20  # further on, the probability underflows
        return where(far, -z - rate * 0.5, log_of_1_minus_exp(where(far, 1.0, rate)))

    def icdf(self, x: Any) -> Variable:
        return self.loc - self.scale * log(-log(self._variables(x)))

    def sample_n(self, n: int) -> Variable:
        noise = self._constants(self.xp.random.gumbel(size=self._size(n)))
        return self.loc + self.scale * noise

    @property
    @computed
    def mean(self) -> Variable:
        """Mean."""
        return self.loc + self.scale * _EULER

    @property
    @computed
    def variance(self) -> Variable:
        """Variance."""
        return square(self._full(self.scale)) * (math.pi**2 / 6)

    @property
    @computed
    def entropy(self) -> Variable:
        """Entropy."""
        return self._full(log(self.scale) + (1 + _EULER))


@register_divergence(Gumbel)
def _between_gumbels(p: Gumbel, q: Gumbel) -> Variable:
    # With r = p.scale / q.scale, d = (p.loc - q.loc) / q.scale and w = log Gamma(1 + r) - d,
    # (e^w - 1 - w) + (log Gamma(r) - log Gamma(1) - (r - 1) psi(1)).
    ratio = p.scale / q.scale
    # Near r = 1, log Gamma(1 + r) is (r - 1) psi(2) plus a term that is not negative.
    log_gamma = (ratio - 1) * (1 - _EULER) + bregman_of_lgamma(ratio.xp.full_like(ratio._data, 2), 1 + ratio)
    exponent = log_gamma - (p.loc - q.loc) / q.scale
    return expm1_excess(exponent) + bregman_of_lgamma(ratio.xp.ones_like(ratio._data), ratio)
