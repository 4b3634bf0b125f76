"""Probability distributions: what all of them have in common, and divergences between them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, TypeVar

from minichainer.functions.array.shape import reshape
from minichainer.functions.math.exponential import exp, log, log1p, sqrt
from minichainer.variable import Variable

R = TypeVar('R', bound=Callable[..., Any])


class Distribution:
    r"""Base class of probability distributions.

    A distribution has a batch: independent distributions of one kind, one per element of the parameters. The values
    of each have the shape ``event_shape``, which is ``()`` for distributions of numbers. Samples have the shape
    ``sample_shape + batch_shape + event_shape``. Methods take Variables, arrays and numbers, which are broadcast
    against the parameters, and return Variables that can be differentiated by values and parameters.

    A subclass defines ``batch_shape``, ``event_shape``, ``log_prob``, ``sample_n`` and, if it can, the rest. What
    follows from these is defined here; a subclass replaces it by something more precise or faster.

    Source: documentation of Chainer 7.8.1, and runs of it.

    >>> import numpy as np, minichainer as chainer
    >>> class Logistic(chainer.Distribution):
    ...     batch_shape = event_shape = ()
    ...     def cdf(self, x):
    ...         return chainer.functions.sigmoid(x)
    >>> Logistic().survival_function(np.array([0., 2.])).array.round(4)
    array([0.5   , 0.1192])
    """

    # --- shapes and parameters ---------------------------------------------------------------------------------
    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch: that of the parameters, broadcast together."""
        raise self._missing('batch_shape')

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one value; ``()`` for a distribution of numbers."""
        raise self._missing('event_shape')

    @property
    def event_size(self) -> int:
        """Number of elements of one value."""
        return math.prod(self.event_shape)

    @property
    def params(self) -> dict[str, Any]:
        """The parameters by name."""
        raise self._missing('params')

    @property
    def support(self) -> str:
        """The values that are possible, in words: ``'real'``, ``'positive'``, ``'[0, 1]'``."""
        raise self._missing('support')

    @property
    def xp(self) -> Any:
        """The array module of the parameters: numpy or cupy.

        Raises:
            NotImplementedError: the distribution has no parameters.
        """
        for parameter in self.params.values():
            return parameter.xp
        raise self._missing('xp')

    # --- probabilities -----------------------------------------------------------------------------------------
    def log_prob(self, x: Any) -> Variable:
        """Logarithm of the probability, or of its density if values are continuous.

        Args:
            x: values, Variable or array.

        Returns:
            Variable, of the broadcast shape without ``event_shape``; -inf where a value is impossible.
        """
        raise self._missing('log_prob')

    def prob(self, x: Any) -> Variable:
        """Probability, or its density if values are continuous.

        Args:
            x: values, Variable or array.

        Returns:
            Variable, of the broadcast shape without ``event_shape``.
        """
        return exp(self.log_prob(x))

    def perplexity(self, x: Any) -> Variable:
        r"""Perplexity of values, :math:`1 / p(x)`; that of a data set is the geometric mean over its values.

        Args:
            x: values, Variable or array.

        Returns:
            Variable, of the broadcast shape without ``event_shape``.
        """
        return exp(-self.log_prob(x))

    def cdf(self, x: Any) -> Variable:
        r"""Distribution function, :math:`P(X \le x)`.

        Args:
            x: values, Variable or array.

        Returns:
            Variable of the broadcast shape.
        """
        raise self._missing('cdf')

    def log_cdf(self, x: Any) -> Variable:
        r"""Logarithm of the distribution function, :math:`\log P(X \le x)`.

        Args:
            x: values, Variable or array.

        Returns:
            Variable of the broadcast shape.
        """
        return log(self.cdf(x))

    def survival_function(self, x: Any) -> Variable:
        """Probability of larger values, :math:`P(X > x)`.

        Args:
            x: values, Variable or array.

        Returns:
            Variable of the broadcast shape.
        """
        return 1 - self.cdf(x)

    def log_survival_function(self, x: Any) -> Variable:
        """Logarithm of the probability of larger values, :math:`\\log P(X > x)`.

        Args:
            x: values, Variable or array.

        Returns:
            Variable of the broadcast shape.
        """
        return log1p(-self.cdf(x))

    def icdf(self, x: Any) -> Variable:
        """Quantile function, the inverse of :meth:`cdf`.

        Args:
            x: probabilities, Variable or array.

        Returns:
            Variable of the broadcast shape.
        """
        raise self._missing('icdf')

    # --- samples -----------------------------------------------------------------------------------------------
    def sample(self, sample_shape: Any = ()) -> Variable:
        """Draws values by the random numbers of NumPy or CuPy.

        Args:
            sample_shape: how many, a tuple of ints or an int.

        Returns:
            Variable of shape ``sample_shape + batch_shape + event_shape``. It has gradients if the class says so.

        Raises:
            TypeError: ``sample_shape`` is something else.
            ValueError: it has a negative entry, or a parameter is out of its domain.
        """
        shape = self._sample_shape(sample_shape)
        samples = self.sample_n(math.prod(shape))
        expected = (*shape, *self.batch_shape, *self.event_shape)
        return samples if samples.shape == expected else reshape(samples, expected)

    def sample_n(self, n: int) -> Variable:
        """Draws ``n`` values for each element of the batch.

        Args:
            n: how many.

        Returns:
            Variable of shape ``(n,) + batch_shape + event_shape``.
        """
        raise self._missing('sample_n')

    def enumerate_support(self, expand: bool = True) -> Variable:
        """All possible values, for distributions with finitely many.

        Args:
            expand: False for a batch shape of ones instead of ``batch_shape``.

        Returns:
            Variable of shape ``(number of values,) + batch_shape + event_shape``, without a gradient.

        Raises:
            NotImplementedError: there are infinitely many.
        """
        raise self._missing('enumerate_support')

    def _sample_shape(self, shape: Any) -> tuple[int, ...]:
        if isinstance(shape, str):
            raise self._wrong_sample_shape(shape)
        try:
            entries = tuple([operator.index(n) for n in (shape if hasattr(shape, '__iter__') else (shape,))])
        except TypeError:
            raise self._wrong_sample_shape(shape) from None
        if any(n < 0 for n in entries):
            raise ValueError(f'{type(self).__name__}: sample_shape must not be negative, got {shape}')
        return entries

    def _wrong_sample_shape(self, shape: Any) -> TypeError:
        return TypeError(f'{type(self).__name__}: sample_shape must be an int or a tuple of ints, got {shape!r}')

    # --- properties of the distribution ------------------------------------------------------------------------
    @property
    def mean(self) -> Variable:
        """Mean of each element of the batch."""
        raise self._missing('mean')

    @property
    def mode(self) -> Variable:
        """The most probable value of each element of the batch; NaN where there are several."""
        raise self._missing('mode')

    @property
    def variance(self) -> Variable:
        """Variance of each element of the values."""
        raise self._missing('variance')

    @property
    def stddev(self) -> Variable:
        """Standard deviation of each element of the values."""
        return sqrt(self.variance)

    @property
    def covariance(self) -> Variable:
        """Covariance matrices of the values, of shape ``batch_shape + (n, n)``; for numbers, their variance."""
        if self.event_shape:
            raise self._missing('covariance')
        return self.variance

    @property
    def entropy(self) -> Variable:
        """Entropy of each element of the batch, in nats."""
        raise self._missing('entropy')

    def _missing(self, name: str, reason: str = '') -> NotImplementedError:
        return NotImplementedError(f'{type(self).__name__} does not implement {name}{reason}')


# --- divergences ------------------------------------------------------------------------------------------------
_divergences: dict[tuple[Any, Any], Callable[[Any, Any], Any]] = {}


def register_kl(Dist1: Any, Dist2: Any) -> Callable[[R], R]:
    r"""Decorator of a function that computes :math:`D_{KL}(p \| q)` for two classes of distributions.

    Args:
        Dist1: class of ``p``; also serves its subclasses that have no function of their own.
        Dist2: class of ``q``.

    Returns:
        Decorator of ``function(p, q)``.

    >>> import minichainer as chainer
    >>> class Unit(chainer.Distribution):
    ...     pass
    >>> @chainer.register_kl(Unit, Unit)
    ... def no_divergence(p, q):
    ...     return 0.
    >>> chainer.kl_divergence(Unit(), Unit())
    0.0
    """

    def register(function: R) -> R:
        _divergences[Dist1, Dist2] = function
        return function

    return register


def kl_divergence(dist1: Any, dist2: Any) -> Any:
    r"""Kullback-Leibler divergence, :math:`D_{KL}(p \| q) = \int p(x) \log \frac{p(x)}{q(x)} dx`.

    Args:
        dist1: the distribution :math:`p`.
        dist2: the distribution :math:`q`; the batch shapes are broadcast.

    Returns:
        Variable of the batch shape; inf where :math:`q` excludes values that :math:`p` allows.

    Raises:
        KeyError: no function is registered for these classes; see :func:`register_kl`.

    >>> import numpy as np, minichainer as chainer
    >>> from minichainer.distributions import Normal
    >>> zero, one = np.zeros(1), np.ones(1)
    >>> chainer.kl_divergence(Normal(zero, one), Normal(one, one))
    variable([0.5])
    """
    for first in type(dist1).__mro__:
        for second in type(dist2).__mro__:
            if (first, second) in _divergences:
                return _divergences[first, second](dist1, dist2)
    raise KeyError(
        f'kl_divergence: no function is registered for {type(dist1).__name__} and {type(dist2).__name__}; define one '
        'with the decorator minichainer.register_kl'
    )


def cross_entropy(dist1: Any, dist2: Any) -> Any:
    r"""Cross entropy, :math:`H(p, q) = -\int p(x) \log q(x) dx = H(p) + D_{KL}(p \| q)`.

    Args:
        dist1: the distribution :math:`p`.
        dist2: the distribution :math:`q`; the batch shapes are broadcast.

    Returns:
        Variable of the batch shape.

    Raises:
        KeyError: no divergence is registered for these classes.

    >>> import numpy as np, minichainer as chainer
    >>> from minichainer.distributions import Bernoulli
    >>> p, q = Bernoulli(np.array([0.5])), Bernoulli(np.array([0.25]))
    >>> chainer.cross_entropy(p, q).array.round(4)
    array([0.837])
    """
    return dist1.entropy + kl_divergence(dist1, dist2)
