"""Joint distributions of independent values."""

from __future__ import annotations

import math
import operator
from typing import Any

from minichainer.distribution import Distribution, kl_divergence, register_kl
from minichainer.distributions._parametric import computed
from minichainer.functions.array.shape import broadcast_to, reshape
from minichainer.functions.math.exponential import exp
from minichainer.functions.math.reductions import sum as sum_
from minichainer.variable import Variable


class Independent(Distribution):
    """Takes axes of the batch of a distribution for axes of its values.

    The value is then an array of independent elements: the logarithms of probabilities are summed over these axes.
    Samples are differentiable where those of the distribution are.

    Args:
        distribution: a distribution.
        reinterpreted_batch_ndims: how many of the last axes of its batch; by default all but the first.

    Raises:
        TypeError: ``distribution`` is not a distribution, or ``reinterpreted_batch_ndims`` not an int.
        ValueError: the batch has fewer axes.

    >>> import numpy as np
    >>> from minichainer.distributions import Independent, Normal
    >>> pixels = Independent(Normal(np.zeros((5, 3)), np.ones((5, 3))))
    >>> pixels.batch_shape, pixels.event_shape
    ((5,), (3,))
    >>> pixels.log_prob(np.zeros((5, 3))).shape
    (5,)
    """

    def __init__(self, distribution: Any, reinterpreted_batch_ndims: int | None = None) -> None:
        if not isinstance(distribution, Distribution):
            raise TypeError(f'Independent: a distribution expected, got {type(distribution).__name__}')
        ndim = len(distribution.batch_shape)
        self._ndims = max(ndim - 1, 0) if reinterpreted_batch_ndims is None else _integer(reinterpreted_batch_ndims)
        if not 0 <= self._ndims <= ndim:
            raise ValueError(
                f'Independent: reinterpreted_batch_ndims must be from 0 to {ndim}, the number of axes of the batch '
                f'shape {distribution.batch_shape}; got {self._ndims}'
            )
        self._distribution = distribution
        self._computed: tuple[dict[str, Variable], dict[str, Variable]] = ({}, {})

    def _evaluated(self, method: Any) -> Variable:
        value: Variable = method(self)
        return value

    @property
    def distribution(self) -> Distribution:
        """The distribution of one element."""
        return self._distribution

    @property
    def reinterpreted_batch_ndims(self) -> int:
        """How many axes of the batch became axes of the value."""
        return self._ndims

    @property
    def batch_shape(self) -> tuple[int, ...]:
        shape = self._distribution.batch_shape
        return shape[: len(shape) - self._ndims]

    @property
    def event_shape(self) -> tuple[int, ...]:
        shape = self._distribution.batch_shape
        return (*shape[len(shape) - self._ndims :], *self._distribution.event_shape)

    @property
    def params(self) -> dict[str, Any]:
        return self._distribution.params

    @property
    def support(self) -> str:
        return self._distribution.support

    def _summed(self, x: Variable) -> Variable:
        """Sums over the elements of a value."""
        return sum_(x, tuple(range(-self._ndims, 0))) if self._ndims else x

    def log_prob(self, x: Any) -> Variable:
        return self._summed(self._distribution.log_prob(x))

    def cdf(self, x: Any) -> Variable:
        """Probability that no element is larger."""
        return exp(self.log_cdf(x))

    def log_cdf(self, x: Any) -> Variable:
        """Logarithm of the probability that no element is larger."""
        return self._summed(self._distribution.log_cdf(x))

    def survival_function(self, x: Any) -> Variable:
        """Probability that all elements are larger."""
        return exp(self.log_survival_function(x))

    def log_survival_function(self, x: Any) -> Variable:
        """Logarithm of the probability that all elements are larger."""
        return self._summed(self._distribution.log_survival_function(x))

    def icdf(self, x: Any) -> Variable:
        """Not defined: raises RuntimeError."""
        raise RuntimeError('Independent: the distribution function of several values has no inverse')

    def sample_n(self, n: int) -> Variable:
        return self._distribution.sample_n(n)

    def enumerate_support(self, expand: bool = True) -> Variable:
        if self._ndims:
            raise self._missing('enumerate_support', ': there are too many combinations')
        return self._distribution.enumerate_support(expand)

    @property
    def mean(self) -> Variable:
        return self._distribution.mean

    @property
    def mode(self) -> Variable:
        return self._distribution.mode

    @property
    def variance(self) -> Variable:
        return self._distribution.variance

    @property
    def stddev(self) -> Variable:
        return self._distribution.stddev

    @property
    def entropy(self) -> Variable:
        return self._summed(self._distribution.entropy)

    @property
    @computed
    def covariance(self) -> Variable:
        """Covariance matrices: those of the elements along the diagonal."""
        count, size = math.prod(self.event_shape) // self._distribution.event_size, self._distribution.event_size
        blocks = reshape(self._distribution.covariance, (*self.batch_shape, count, size, 1, size))
        diagonal = self.xp.eye(count, dtype=blocks.dtype).reshape(count, 1, count, 1)
        spread = broadcast_to(blocks, (*self.batch_shape, count, size, count, size)) * diagonal
        return reshape(spread, (*self.batch_shape, count * size, count * size))


def _integer(value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f'Independent: reinterpreted_batch_ndims must be an int, got {value!r}') from None


@register_kl(Independent, Independent)
def _between_independents(p: Independent, q: Independent) -> Variable:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise ValueError(
            'kl_divergence: Independent distributions with the same reinterpreted_batch_ndims expected, got '
            f'{p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims}'
        )
    return p._summed(kl_divergence(p.distribution, q.distribution))
