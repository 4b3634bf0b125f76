"""The normal distribution, and that of its exponential."""

from __future__ import annotations

import math
from typing import Any

import numpy

from minichainer.distributions._densities import (
    log_normal_exponent,
    normal_log_density,
    normal_log_density_by_log,
)
from minichainer.distributions._divergences import divergence_of_scales
from minichainer.distributions._parametric import (
    Parametric,
    above,
    computed,
    fails,
    parameter,
    raw,
    register_divergence,
)
from minichainer.distributions.location_scale import Symmetric
from minichainer.functions.array.selection import where
from minichainer.functions.math.exponential import exp, expm1, log, sqrt, square
from minichainer.functions.math.small_differences import expm1_excess
from minichainer.functions.math.special import log_ndtr, ndtr, ndtri
from minichainer.utils.argument import parse_kwargs
from minichainer.variable import Variable

_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)
_ENTROPY = 0.5 * math.log(2 * math.pi * math.e)


class Normal(Symmetric):
    r"""Normal distribution.

    .. math:: p(x) = \frac{1}{\sqrt{2 \pi \sigma^2}} e^{-(x - \mu)^2 / 2 \sigma^2}

    Samples are differentiable with respect to the parameters.

    Args:
        loc: mean :math:`\mu`, Variable or float array.
        scale: standard deviation :math:`\sigma`, Variable or array of the same dtype; the shapes are broadcast.
        log_scale: keyword only; :math:`\log \sigma`, instead of ``scale``.

    Raises:
        ValueError: both or neither of ``scale`` and ``log_scale`` are given.
        InvalidType: dtypes or shapes do not fit.

    >>> import numpy as np
    >>> from minichainer.distributions import Normal
    >>> Normal(np.zeros(2), np.ones(2)).log_prob(np.array([0., 3.])).array.round(4)
    array([-0.9189, -5.4189])
    """

    loc = parameter('Mean.')

    def __init__(self, loc: Any, scale: Any = None, **kwargs: Any) -> None:
        log_scale = None
        if kwargs:
            (log_scale,) = parse_kwargs(kwargs, ('log_scale', None))
        if (scale is None) == (log_scale is None):
            raise ValueError('Normal: either scale or log_scale must be given, and not both')
        self._is_log = scale is None
        super().__init__(loc=loc, scale=log_scale if self._is_log else scale)

    @property
    @computed
    def scale(self) -> Variable:  # type: ignore[override]
        """Standard deviation."""
        given = self._parameters['scale']
        return exp(given) if self._is_log else given

    @property
    @computed
    def log_scale(self) -> Variable:
        """Logarithm of the standard deviation."""
        given = self._parameters['scale']
        return given if self._is_log else log(given)

    @property
    def params(self) -> dict[str, Variable]:
        return {'loc': self.loc, 'scale': self.scale}

    def log_prob(self, x: Any) -> Variable:
        density = normal_log_density_by_log if self._is_log else normal_log_density
        return density(self._values(x), self.loc, self._parameters['scale'])

    def _standard_cdf(self, z: Variable) -> Variable:
        return ndtr(z)

    def _standard_log_cdf(self, z: Variable) -> Variable:
        return log_ndtr(z)

    def _standard_icdf(self, p: Variable) -> Variable:
        return ndtri(p)

    def sample_n(self, n: int) -> Variable:
        noise = self._constants(self.xp.random.standard_normal(self._size(n)))
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
        return square(self.stddev)

    @property
    @computed
    def stddev(self) -> Variable:
        """Standard deviation."""
        return self._full(self.scale)

    @property
    @computed
    def entropy(self) -> Variable:
        """Entropy."""
        return self._full(self.log_scale + _ENTROPY)


@register_divergence(Normal)
def _between_normals(p: Normal, q: Normal) -> Variable:
    if p._is_log or q._is_log:
        of_scales = expm1_excess(2 * (p.log_scale - q.log_scale)) * 0.5
    else:
        of_scales = divergence_of_scales(p.scale, q.scale)
    return square((p.loc - q.loc) / q.scale) * 0.5 + of_scales


class LogNormal(Parametric):
    r"""Distribution of the exponential of a normally distributed number.

    .. math:: p(x) = \frac{1}{x \sqrt{2 \pi \sigma^2}} e^{-(\log x - \mu)^2 / 2 \sigma^2}, \quad x > 0

    Samples are differentiable with respect to the parameters.

    Args:
        mu: mean :math:`\mu` of the logarithm, Variable or float array.
        sigma: standard deviation :math:`\sigma` of the logarithm, Variable or array of the same dtype; the shapes are
            broadcast.

    Raises:
        InvalidType: dtypes or shapes do not fit.

    >>> import numpy as np
    >>> from minichainer.distributions import LogNormal
    >>> LogNormal(np.zeros(1), np.ones(1)).mean.array.round(4)
    array([1.6487])
    """

    mu = parameter('Mean of the logarithm.')
    sigma = parameter('Standard deviation of the logarithm.')

    def __init__(self, mu: Any, sigma: Any) -> None:
        super().__init__(mu=mu, sigma=sigma)

    @property
    def support(self) -> str:
        return 'positive'

    def log_prob(self, x: Any) -> Variable:
        x = self._values(x)
        array = raw(x)
        return self._log_density(x) if above(array, 0) else self._if_possible(x, array <= 0, self._log_density)

    def prob(self, x: Any) -> Variable:
        y = exp(self.log_prob(x))
        vanishes = y._data == 0
        if type(y._data) is not numpy.ndarray or fails(vanishes):
            return y
        # The slopes are 0 there, also where 1 / x is infinite.
        mu, sigma = where(vanishes, 0.0, self.mu), where(vanishes, 1.0, self.sigma)
        return where(vanishes, 0.0, exp(LogNormal(mu, sigma).log_prob(where(vanishes, 1.0, self._values(x)))))

    def _log_density(self, x: Any) -> Variable:
        return log_normal_exponent(x, self.mu, self.sigma) - self._log_normalizer

    @property
    @computed
    def _log_normalizer(self) -> Variable:
        return log(self.sigma) + _HALF_LOG_2_PI

    def _standardized(self, x: Any) -> tuple[Any, Variable]:
        """Which values are impossible, and the standardized logarithms of the others."""
        x = self._values(x)
        impossible = raw(x) <= 0
        return impossible, (log(where(impossible, 1.0, x)) - self.mu) / self.sigma

    def cdf(self, x: Any) -> Variable:
        impossible, z = self._standardized(x)
        return where(impossible, 0.0, ndtr(z))

    def log_cdf(self, x: Any) -> Variable:
        impossible, z = self._standardized(x)
        return where(impossible, -math.inf, log_ndtr(z))

    def survival_function(self, x: Any) -> Variable:
        impossible, z = self._standardized(x)
        return where(impossible, 1.0, ndtr(-z))

    def log_survival_function(self, x: Any) -> Variable:
        impossible, z = self._standardized(x)
        return where(impossible, 0.0, log_ndtr(-z))

    def icdf(self, x: Any) -> Variable:
        return exp(self.mu + self.sigma * ndtri(self._variables(x)))

    def sample_n(self, n: int) -> Variable:
        noise = self._constants(self.xp.random.standard_normal(self._size(n)))
        return exp(self.mu + self.sigma * noise)

    @property
    @computed
    def mean(self) -> Variable:
        """Mean."""
        return exp(self.mu + square(self.sigma) * 0.5)

    @property
    @computed
    def mode(self) -> Variable:
        """The most probable value."""
        return exp(self.mu - square(self.sigma))

    @property
    @computed
    def variance(self) -> Variable:
        """Variance."""
        return exp(2 * self.mu + square(self.sigma)) * expm1(square(self.sigma))

    @property
    @computed
    def stddev(self) -> Variable:
        """Standard deviation."""
        return self.mean * sqrt(expm1(square(self.sigma)))

    @property
    @computed
    def entropy(self) -> Variable:
        """Entropy."""
        return self.mu + log(self.sigma) + _ENTROPY


@register_divergence(LogNormal)
def _between_log_normals(p: LogNormal, q: LogNormal) -> Variable:
    return _between_normals(Normal(p.mu, p.sigma), Normal(q.mu, q.sigma))
