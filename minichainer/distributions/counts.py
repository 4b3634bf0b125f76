"""Distributions of whole numbers."""

from __future__ import annotations

import functools
import math
from typing import Any

from minichainer.distributions._densities import (
    bernoulli_log_density,
    bernoulli_log_density_at_edge,
    bernoulli_log_density_by_any_logit,
    bernoulli_log_density_by_logit,
    checked_bernoulli_log_density,
    checked_bernoulli_log_density_at_edge,
    geometric_cdf,
    log_odds,
    p_log_p,
    poisson_density_at_edge,
    poisson_log_density,
    poisson_log_density_at_edge,
    power_of_rest,
    q_log_of_1_minus,
    quiet_log,
    quiet_log_of_1_minus,
    weighted_own,
    x_log_of_1_minus,
)
from minichainer.distributions._divergences import (
    bernoulli_divergence,
    bernoulli_divergence_by_logit,
    cross_term,
    poisson_divergence,
)
from minichainer.distributions._parametric import (
    Parametric,
    at_least,
    computed,
    holds,
    log_of_probability,
    parameter,
    raw,
    register_divergence,
)
from minichainer.distributions._tails import (
    poisson_cdf,
    poisson_log_cdf,
    poisson_log_survival,
    poisson_survival,
)
from minichainer.functions.activation.sigmoidal import sigmoid
from minichainer.functions.activation.units import softplus
from minichainer.functions.arithmetic import weighted
from minichainer.functions.array.selection import where
from minichainer.functions.array.shape import expand_dims
from minichainer.functions.math.exponential import exp, log, log1p, sqrt
from minichainer.functions.math.reductions import sum as sum_
from minichainer.variable import Variable, as_variable

_HALF_LOG_2_PI_E = 0.5 * math.log(2 * math.pi * math.e)
#: Coefficients of the asymptotic series of the entropy of a Poisson distribution, of the powers -1, -2, ... of its
#: mean. From this mean on, they give it to 2e-17; below, larger values than the last have probability 1e-40.
_SERIES = [
    1 / 12, 1 / 24, 19 / 360, 9 / 80, 863 / 2520, 1375 / 1008, 33953 / 5040, 57281 / 1440,
]  # fmt: skip
_SERIES_FROM = 64.0
_MOST_VALUES = 200
_SMALL_MEAN = 1e-8


class Bernoulli(Parametric):
    r"""Bernoulli distribution of 0 and 1.

    .. math:: P(X = 1) = p, \quad P(X = 0) = 1 - p

    Samples are ints and not differentiable.

    Args:
        p: probability of 1, Variable or float array.
        logit: :math:`\log \frac{p}{1 - p}`, instead of ``p``.
        binary_check: whether values other than 0 and 1 get probability 0. Otherwise they are not looked for, and
            :meth:`log_prob` is linear in the value.

    Raises:
        ValueError: both or neither of ``p`` and ``logit`` are given.
        InvalidType: the parameter is not a float array.

    >>> import numpy as np
    >>> from minichainer.distributions import Bernoulli
    >>> Bernoulli(np.array([0.25])).prob(np.array([1, 0])).array
    array([0.25, 0.75])
    """

    def __init__(self, p: Any = None, logit: Any = None, binary_check: bool = False) -> None:
        if (p is None) == (logit is None):
            raise ValueError('Bernoulli: either p or logit must be given, and not both')
        super().__init__(**({'p': p} if logit is None else {'logit': logit}))
        self.binary_check = binary_check

    @property
    @computed
    def p(self) -> Variable:
        """Probability of 1."""
        given = self._parameters.get('p')
        return sigmoid(self.logit) if given is None else given

    @property
    @computed
    def logit(self) -> Variable:
        """Logarithm of the odds."""
        given = self._parameters.get('logit')
        return log_odds(self._parameters['p']) if given is None else given

    @property
    @computed
    def _rest(self) -> Variable:
        """Probability of 0."""
        given = self._parameters.get('p')
        return sigmoid(-self.logit) if given is None else 1 - given

    @property
    @computed
    def _log_p(self) -> Variable:
        given = self._parameters.get('p')
        return -softplus(-self.logit) if given is None else quiet_log(given)

    @property
    @computed
    def _log_rest(self) -> Variable:
        given = self._parameters.get('p')
        return -softplus(self.logit) if given is None else quiet_log_of_1_minus(given)

    @property
    def params(self) -> dict[str, Variable]:
        return {'logit': self.logit}

    @property
    def support(self) -> str:
        return '{0, 1}'

    def log_prob(self, x: Any) -> Variable:
        x = self._values(x)
        if self.binary_check and self._has_edge and 'p' in self._parameters:
            return checked_bernoulli_log_density_at_edge(x, self.p)
        if self.binary_check:
            return checked_bernoulli_log_density(x, self.logit)
        if 'p' in self._parameters:
            return (bernoulli_log_density_at_edge if self._has_edge else bernoulli_log_density)(x, self.p)
        by_logit = bernoulli_log_density_by_any_logit if self._has_edge else bernoulli_log_density_by_logit
        return by_logit(x, self.logit)

    @functools.cached_property
    def _has_edge(self) -> bool:
        """Whether a value may be certain."""
        p = self._parameters.get('p')
        return not holds(abs(self.logit._data) < math.inf if p is None else (p._data > 0) & (p._data < 1))

    def prob(self, x: Any) -> Variable:
        values = self._variables(x)
        y = self.p * values + self._rest * (1 - values)
        if not self.binary_check:
            return y
        array = values._data
        impossible = (array != 0) & (array != 1) & (array == array)
        return where(self.xp.broadcast_to(impossible, y.shape), 0.0, y)

    def cdf(self, x: Any) -> Variable:
        return self._by_value(x, 0.0, self._rest, 1.0)

    def survival_function(self, x: Any) -> Variable:
        return self._by_value(x, 1.0, self.p, 0.0)

    def log_cdf(self, x: Any) -> Variable:
        return self._by_value(x, -math.inf, self._log_rest, 0.0)

    def log_survival_function(self, x: Any) -> Variable:
        return self._by_value(x, 0.0, self._log_p, -math.inf)

    def _by_value(self, x: Any, below: float, between: Variable, above: float) -> Variable:
        """One of three, for values below 0, from 0 to 1, and from 1 on."""
        x = raw(self._values(x))
        outside = self.xp.where(x < 0, below, self.xp.where(x >= 1, above, math.nan)).astype(self._dtype)
        return where((x >= 0) & (x < 1), between, outside)

    def icdf(self, x: Any) -> Variable:
        probability = raw(self._values(x))
        found = probability > self._rest._data
        invalid = ~((probability >= 0) & (probability <= 1))
        return Variable(self.xp.where(invalid, math.nan, found).astype(self._dtype), requires_grad=False)

    def sample_n(self, n: int) -> Variable:
        size = self._size(n)
        draws = self._drawn(lambda p, size: self.xp.random.binomial(1, p, size=size), self.p, size=size)
        return Variable(draws, requires_grad=False)

    def enumerate_support(self, expand: bool = True) -> Variable:
        values = self.xp.arange(2).reshape(2, *[1] * len(self._shape))
        return Variable(self.xp.broadcast_to(values, (2, *self._shape)) if expand else values, requires_grad=False)

    @property
    @computed
    def mean(self) -> Variable:
        """Mean."""
        return self.p

    @property
    @computed
    def mode(self) -> Variable:
        """The more probable value, 0 if both are equal."""
        return Variable((self.p._data > 0.5).astype(self._dtype), requires_grad=False)

    @property
    @computed
    def variance(self) -> Variable:
        """Variance."""
        return self.p * self._rest

    @property
    @computed
    def stddev(self) -> Variable:
        """Standard deviation."""
        return sqrt(self.variance)

    @property
    @computed
    def entropy(self) -> Variable:
        """Entropy."""
        one, zero = self._own_terms()
        return -(one + zero)

    def _own_terms(self) -> tuple[Variable, Variable]:
        """p log p of both values."""
        p = self._parameters.get('p')
        if p is not None:
            return p_log_p(p), q_log_of_1_minus(self._rest, p)
        return weighted_own(self.p, self._log_p), weighted_own(self._rest, self._log_rest)


@register_divergence(Bernoulli)
def _between_bernoullis(p: Bernoulli, q: Bernoulli) -> Variable:
    if 'p' in p._parameters and 'p' in q._parameters:
        return bernoulli_divergence(p.p, q.p)
    if 'logit' in p._parameters and 'logit' in q._parameters:
        return bernoulli_divergence_by_logit(p.logit, q.logit)
    one, zero = p._own_terms()
    return (one - cross_term(p.p, q._log_p)) + (zero - cross_term(p._rest, q._log_rest))


class Geometric(Parametric):
    r"""Geometric distribution, of the number of trials up to the first success.

    .. math:: P(X = x) = p (1 - p)^{x - 1}, \quad x = 1, 2, \dots

    Samples are not differentiable.

    Args:
        p: probability of a success, Variable or float array.

    Raises:
        InvalidType: ``p`` is not a float array.

    >>> import numpy as np
    >>> from minichainer.distributions import Geometric
    >>> Geometric(np.array([0.5])).prob(np.array([1, 2, 3])).array
    array([0.5  , 0.25 , 0.125])
    """

    p = parameter('Probability of a success.')

    def __init__(self, p: Any) -> None:
        super().__init__(p=p)

    @property
    def support(self) -> str:
        return 'positive integer'

    def log_prob(self, x: Any) -> Variable:
        x = self._values(x)
        array = raw(x)
        if at_least(array, 1):
            return self._log_density(x)
        return self._if_possible(x, array < 1, self._log_density)

    def prob(self, x: Any) -> Variable:
        x = self._variables(x)
        return self._unless(x._data < 1, x, lambda x: self.p * power_of_rest(x - 1, self.p), 0.0, 1.0)

    def _log_density(self, x: Any) -> Variable:
        failures = as_variable(x) - 1
        if self._has_edge:
            return x_log_of_1_minus(failures, self.p) + self._log_p
        return failures * self._log_rest + self._log_p

    @property
    @computed
    def _log_p(self) -> Variable:
        return log(self.p)

    @property
    @computed
    def _log_rest(self) -> Variable:
        return log1p(-self.p)

    @functools.cached_property
    def _has_edge(self) -> bool:
        """Whether the first trial may be certain to succeed."""
        return not holds(self.p._data < 1)

    def log_survival_function(self, x: Any) -> Variable:
        return x_log_of_1_minus(self._trials(x), self.p)

    def _trials(self, x: Any) -> Any:
        return self.xp.maximum(self.xp.floor(raw(self._values(x))), 0)

    def survival_function(self, x: Any) -> Variable:
        return power_of_rest(self._trials(x), self.p)

    def cdf(self, x: Any) -> Variable:
        return geometric_cdf(self._trials(x), self.p)

    def log_cdf(self, x: Any) -> Variable:
        return log_of_probability(self.cdf(x), self.survival_function(x))

    def icdf(self, x: Any) -> Variable:
        xp, probability, p = self.xp, raw(self._values(x)), self.p._data
        invalid = (probability < 0) | (probability > 1)
        rest = xp.log1p(-xp.where(invalid, 0, xp.minimum(probability, 1 - self.xp.finfo(self._dtype).epsneg)))
        trials = xp.maximum(xp.ceil(rest / xp.log1p(-p)), 1)
        fewer = xp.maximum(trials - 1, 1)
        trials = xp.where(-xp.expm1(fewer * xp.log1p(-p)) >= probability, fewer, trials)
        trials = xp.where(invalid, math.nan, xp.where(probability == 1, math.inf, trials))
        return Variable(trials.astype(self._dtype), requires_grad=False)

    def sample_n(self, n: int) -> Variable:
        draws = self._drawn(self.xp.random.geometric, self.p, size=self._size(n))
        # More trials than an integer holds come out negative.
        return self._constants(self.xp.where(draws < 1, self.xp.iinfo(draws.dtype).max, draws))

    @property
    @computed
    def mean(self) -> Variable:
        """Mean."""
        return 1 / self.p

    @property
    @computed
    def mode(self) -> Variable:
        """The most probable value, 1."""
        return self._constant(1)

    @property
    @computed
    def variance(self) -> Variable:
        """Variance."""
        return (1 - self.p) / (self.p * self.p)

    @property
    @computed
    def entropy(self) -> Variable:
        """Entropy."""
        return -log(self.p) - self._log_of_failures

    @property
    @computed
    def _log_of_failures(self) -> Variable:
        """The mean logarithm of the probability of all failures."""
        return q_log_of_1_minus(self._failures, self.p)

    @property
    @computed
    def _failures(self) -> Variable:
        """The mean number of failures."""
        return (1 - self.p) / self.p


@register_divergence(Geometric)
def _between_geometrics(p: Geometric, q: Geometric) -> Variable:
    return bernoulli_divergence(p.p, q.p) / p.p


class Poisson(Parametric):
    r"""Poisson distribution.

    .. math:: P(X = x) = \frac{\lambda^x e^{-\lambda}}{x!}, \quad x = 0, 1, \dots

    Samples are not differentiable.

    Args:
        lam: mean :math:`\lambda`, Variable or float array.

    Raises:
        InvalidType: ``lam`` is not a float array.

    >>> import numpy as np
    >>> from minichainer.distributions import Poisson
    >>> Poisson(np.array([2.])).prob(np.array([0, 1, 2])).array.round(4)
    array([0.1353, 0.2707, 0.2707])
    """

    lam = parameter('Mean.')

    def __init__(self, lam: Any) -> None:
        super().__init__(lam=lam)

    @property
    def support(self) -> str:
        return 'non negative integer'

    def log_prob(self, x: Any) -> Variable:
        x = self._values(x)
        array = raw(x)
        density = poisson_log_density_at_edge if self._has_edge else poisson_log_density
        if at_least(array, 0):
            return density(x, self.lam)
        return self._if_possible(x, array < 0, density, self.lam)

    def prob(self, x: Any) -> Variable:
        if not self._has_edge:
            return exp(self.log_prob(x))
        x = self._variables(x)
        return self._unless(x._data < 0, x, lambda x: poisson_density_at_edge(x, self.lam), 0.0, 1.0)

    @functools.cached_property
    def _has_edge(self) -> bool:
        """Whether 0 may be certain, or nearly so, where slopes divide by the mean."""
        return not holds(self.lam._data > _SMALL_MEAN)

    def _by_value(self, x: Any, op: Any, below: float, above: float) -> Variable:
        """An op at the whole part of values, a number below 0, and another one at infinity."""
        whole = self.xp.floor(raw(self._values(x)))
        is_outside = (whole < 0) | (whole == math.inf)
        y: Variable = op(self.xp.where(is_outside, 0, whole).astype(self._dtype), self.lam)
        outside = self.xp.where(whole < 0, below, above).astype(self._dtype)
        return where(self.xp.broadcast_to(is_outside, y.shape), outside, y)

    def cdf(self, x: Any) -> Variable:
        return self._by_value(x, poisson_cdf, 0.0, 1.0)

    def survival_function(self, x: Any) -> Variable:
        return self._by_value(x, poisson_survival, 1.0, 0.0)

    def log_cdf(self, x: Any) -> Variable:
        return self._by_value(x, poisson_log_cdf, -math.inf, 0.0)

    def log_survival_function(self, x: Any) -> Variable:
        return self._by_value(x, poisson_log_survival, 0.0, -math.inf)

    def sample_n(self, n: int) -> Variable:
        draws = self._drawn(self.xp.random.poisson, self.lam, size=self._size(n))
        return self._constants(draws)

    @property
    @computed
    def mean(self) -> Variable:
        """Mean."""
        return self.lam

    @property
    @computed
    def mode(self) -> Variable:
        """The most probable value."""
        return Variable(self.xp.floor(self.lam._data), requires_grad=False)

    @property
    @computed
    def variance(self) -> Variable:
        """Variance."""
        return self.lam

    @property
    @computed
    def entropy(self) -> Variable:
        """Entropy: a sum over the values, or its asymptotic series if the mean is large."""
        few = self.lam._data < _SERIES_FROM
        large = where(few, _SERIES_FROM, self.lam)
        entropy = log(large) * 0.5 + _HALF_LOG_2_PI_E - _series(1 / large)
        return where(few, _summed_entropy(where(few, self.lam, 1.0)), entropy) if few.any() else entropy


def _series(inverse: Variable) -> Variable:
    """What the entropy of a normal distribution of the same variance exceeds that of a Poisson distribution by."""
    total = inverse * _SERIES[-1]
    for coefficient in _SERIES[-2::-1]:
        total = (total + coefficient) * inverse
    return total


def _summed_entropy(lam: Variable) -> Variable:
    """The entropies of Poisson distributions of small means, by the definition."""
    values = lam.xp.arange(_MOST_VALUES).astype(lam.dtype)
    log_p = poisson_log_density_at_edge(values, expand_dims(lam, -1))
    return -sum_(weighted(exp(log_p), log_p), -1)


@register_divergence(Poisson)
def _between_poissons(p: Poisson, q: Poisson) -> Variable:
    return poisson_divergence(p.lam, q.lam)
