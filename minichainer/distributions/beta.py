"""The beta distribution, and the Dirichlet distribution."""

from __future__ import annotations

import functools
import math
from typing import Any

from minichainer.distributions._densities import (
    beta_exponent,
    beta_log_density,
    beta_variance,
    dirichlet_log_density,
    entropy_of_tiny,
    log_beta,
    stirling_remainder,
    x_log,
)
from minichainer.distributions._divergences import dirichlet_divergence
from minichainer.distributions._parametric import (
    Parametric,
    computed,
    fails,
    holds,
    is_tiny,
    parameter,
    raw,
    register_divergence,
)
from minichainer.distributions._tails import beta_cdf, beta_log_probability, beta_survival
from minichainer.functions.array.joining import stack
from minichainer.functions.array.selection import where
from minichainer.functions.array.shape import broadcast_to, expand_dims
from minichainer.functions.math.exponential import log
from minichainer.functions.math.gamma import lgamma
from minichainer.functions.math.reductions import sum as sum_
from minichainer.kernels.gamma_densities import SERIES_FROM
from minichainer.variable import Variable

#: Below this concentration a draw may be less than the least number.
_SMALL = 0.1
_CONSTANT = 0.5 * math.log(2 * math.pi) + 0.5


def _partial_entropy(k: Variable) -> Variable:
    r""":math:`\log \Gamma(k) - (k - 1) \psi(k) + k`, without its terms that cancel."""
    remainders = stirling_remainder(k, 0) - (k - 1) * stirling_remainder(k, 1)
    return log(k) * 0.5 + _CONSTANT - 0.5 / k + remainders


def _total_entropy(total: Variable, count: int) -> Variable:
    r""":math:`\log \Gamma(A) - (A - n) \psi(A) + A` for the sum A of n parameters."""
    remainders = stirling_remainder(total, 0) - (total - count) * stirling_remainder(total, 1)
    return log(total) * (count - 0.5) + _CONSTANT - 0.5 * count / total + remainders


def _joint_entropy(alpha: Variable) -> Variable:
    """The entropy of a Dirichlet distribution of concentrations of which some may be tiny."""
    tiny, count = is_tiny(alpha._data), alpha.shape[-1]
    rows = tiny.all(axis=-1)  # all are, and slopes are differences of numbers that overflow
    inside = alpha.xp.broadcast_to(rows[..., None], alpha.shape)
    others, single = where(inside, 1.0, alpha), tiny & ~inside
    parts = where(single, -1 / where(single, others, 1.0), _partial_entropy(where(single, 1.0, others)))
    ordinary = sum_(parts, -1) - _total_entropy(sum_(others, -1), count)
    return where(rows, entropy_of_tiny(where(inside, alpha, 1.0)), ordinary)


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
        impossible = (array < 0) | (array > 1)
        return self._if_possible(x, impossible, self._log_density, True, instead=0.5)

    def _log_density(self, x: Any, edge: bool) -> Variable:
        if not self._is_small:
            return beta_log_density(x, self.a, self.b)
        return beta_exponent(x, self.a, self.b, edge) - self._log_normalizer

    @functools.cached_property
    def _is_small(self) -> bool:
        """Whether the normalizer is small enough to be subtracted."""
        return holds(self.a._data + self.b._data < SERIES_FROM)

    @property
    @computed
    def _log_normalizer(self) -> Variable:
        return log_beta(self.a, self.b)

    def cdf(self, x: Any) -> Variable:
        return beta_cdf(self._values(x), self.a, self.b)

    def survival_function(self, x: Any) -> Variable:
        return beta_survival(self._values(x), self.a, self.b)

    def log_cdf(self, x: Any) -> Variable:
        return self._log_probability(x, False)

    def log_survival_function(self, x: Any) -> Variable:
        return self._log_probability(x, True)

    def _log_probability(self, x: Any, upper: bool) -> Variable:
        x = self._variables(x)
        above = x._data >= 1
        return self._unless(
            (x._data <= 0) | above, x, lambda x: beta_log_probability(x, self.a, self.b, upper),
            self.xp.where(above == upper, -math.inf, 0.0).astype(self._dtype),
        )  # fmt: skip

    def icdf(self, x: Any) -> Variable:
        raise self._missing('icdf', ': it has no closed form')

    def sample_n(self, n: int) -> Variable:
        draws = self._drawn(self.xp.random.beta, self.a, self.b, size=self._size(n))
        most = 1 - float(self.xp.finfo(self._dtype).epsneg)
        return self._positive(self.xp.minimum(draws, most))

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
        return beta_variance(self.a, self.b)

    @property
    @computed
    def entropy(self) -> Variable:
        """Entropy."""
        if not (fails(is_tiny(self.a._data)) and fails(is_tiny(self.b._data))):
            return _joint_entropy(stack([self._full(self.a), self._full(self.b)], -1))
        return _partial_entropy(self.a) + _partial_entropy(self.b) - _total_entropy(self.a + self.b, 2)


@register_divergence(Beta)
def _between_betas(p: Beta, q: Beta) -> Variable:
    of_p, of_q = ([d._full(d.a), d._full(d.b)] for d in (p, q))
    return dirichlet_divergence(stack(of_p, -1), stack(of_q, -1))


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
        if self._is_small:
            return sum_(x_log(self.alpha - 1, self._values(x)), -1) - self._log_normalizer
        x = self._variables(x)
        shape = self._broadcast([x.shape, self._shape])
        return dirichlet_log_density(broadcast_to(x, shape), broadcast_to(self.alpha, shape))

    @functools.cached_property
    def _is_small(self) -> bool:
        """Whether the normalizer is small enough to be subtracted."""
        return holds(self.alpha0._data < SERIES_FROM)

    def sample_n(self, n: int) -> Variable:
        xp, alpha = self.xp, self.alpha._data
        rows = alpha.reshape(-1, 1, alpha.shape[-1])
        size = (len(rows), n, rows.shape[-1])
        is_small = rows < _SMALL
        # As numpy.random.dirichlet does for one row after the other.
        draws = self._drawn(xp.random.standard_gamma, Variable(xp.where(is_small, rows + 1, rows)), size=size)
        if is_small.any():
            draws = _of_small(xp, draws, is_small, rows.astype('d'))
        draws = (draws / draws.sum(axis=-1, keepdims=True)).swapaxes(0, 1)
        return self._positive(draws.reshape(self._size(n)))

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
        return beta_variance(self.alpha, self._rest)

    @property
    @computed
    def _rest(self) -> Variable:
        """For each concentration the sum of the others; no difference if it is the larger part of all."""
        is_large = self.alpha._data > 0.5 * self._total()._data
        others = sum_(where(is_large, 0.0, self.alpha), -1, keepdims=True)
        return where(is_large, broadcast_to(others, self._shape), self._total() - self.alpha)

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
        if not fails(is_tiny(self.alpha._data)):
            return _joint_entropy(self.alpha)
        return sum_(_partial_entropy(self.alpha), -1) - _total_entropy(self.alpha0, self._shape[-1])


def _of_small(xp: Any, draws: Any, is_small: Any, shapes: Any) -> Any:
    """Draws of gamma distributions up to a factor, from those of shapes that are larger by 1 where they were small.

    A draw of a small shape is that of the next shape, times a power of a uniform number, which may underflow.
    """
    logs = xp.log(xp.where(is_small, draws, 1.0)) + xp.log(1 - xp.random.uniform(size=draws.shape)) / shapes
    logs = xp.where(is_small, logs, xp.log(draws))
    return xp.exp(logs - logs.max(axis=-1, keepdims=True))


@register_divergence(Dirichlet)
def _between_dirichlets(p: Dirichlet, q: Dirichlet) -> Variable:
    if p._shape[-1] != q._shape[-1]:
        raise ValueError(
            f'kl_divergence: distributions of as many categories expected, got {p._shape[-1]} and {q._shape[-1]}'
        )
    return dirichlet_divergence(p.alpha, q.alpha)
