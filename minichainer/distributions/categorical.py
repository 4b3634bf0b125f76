"""Distributions of one of several categories."""

from __future__ import annotations

import functools
import math
from typing import Any

from minichainer.distributions._densities import p_log_p, quiet_log, weighted_own, x_log
from minichainer.distributions._divergences import categorical_divergence, cross_term
from minichainer.distributions._parametric import (
    Parametric,
    computed,
    holds,
    log_of_probability,
    raw,
    register_divergence,
)
from minichainer.functions.activation.softmax import log_softmax
from minichainer.functions.array.gathering import selected
from minichainer.functions.array.selection import get_item, where
from minichainer.functions.array.shape import broadcast_to, expand_dims
from minichainer.functions.math.exponential import exp
from minichainer.functions.math.reductions import sum as sum_
from minichainer.utils.argument import parse_kwargs
from minichainer.variable import Variable

#: How far from 1 the sum of probabilities may be for samples to be drawn.
_SUM_TOLERANCE = {'e': 1e-2, 'f': 1e-3, 'd': 1e-6}


class _Categories(Parametric):
    """The common part: probabilities along the last axis of the parameter, which is ``p`` or ``logit``."""

    _event_ndim = 1

    @property
    @computed
    def p(self) -> Variable:
        """Probabilities of the categories, along the last axis."""
        given = self._parameters.get('p')
        return exp(self.log_p) if given is None else given

    @property
    @computed
    def log_p(self) -> Variable:
        """Logarithms of the probabilities."""
        given = self._parameters.get('p')
        return log_softmax(self._parameters['logit'], -1) if given is None else quiet_log(given)

    @property
    def params(self) -> dict[str, Variable]:
        return {'p': self.p}

    @property
    def _count(self) -> int:
        return self._shape[-1]

    @property
    @computed
    def entropy(self) -> Variable:
        """Entropy."""
        return -sum_(self._p_log_p, -1)

    @property
    @computed
    def _p_log_p(self) -> Variable:
        given = self._parameters.get('p')
        return weighted_own(self.p, self.log_p) if given is None else p_log_p(given)

    @functools.cached_property
    def _has_edge(self) -> bool:
        """Whether a category may be impossible."""
        return not holds(self.p._data > 0)

    def _draw_labels(self, n: int) -> Any:
        """Labels of shape ``(n,) + batch_shape``, by the draws of ``numpy.random.choice`` for each row."""
        xp, p = self.xp, self.p._data
        (n, *_) = self._size(n)
        self._check_probabilities(p)
        cumulative = xp.cumsum(p.reshape(-1, self._count).astype('d'), axis=-1)
        limits = cumulative / cumulative[:, -1:]
        draws = xp.random.random_sample((len(limits), n))
        labels = (limits[:, None, :] <= draws[:, :, None]).sum(axis=-1)
        return labels.T.reshape((n, *self._shape[:-1]))

    def _check_probabilities(self, p: Any) -> None:
        far = abs(p.sum(axis=-1) - 1) > _SUM_TOLERANCE[self._dtype.char]
        if bool(((p < 0) | (p != p)).any() | far.any()):
            raise ValueError(
                f'{type(self).__name__}: cannot draw samples: the probabilities p must not be negative, and their '
                'sums along the last axis must be 1; for other weights pass logit'
            )


class Categorical(_Categories):
    r"""Distribution of labels 0, ..., K - 1.

    .. math:: P(X = i) = p_i

    Samples are ints and not differentiable.

    Args:
        p: probabilities, Variable or float array :math:`(\dots, K)`.
        logit: keyword only; :math:`\log p` up to a constant, instead of ``p``.

    Raises:
        ValueError: both or neither of ``p`` and ``logit`` are given.
        InvalidType: the parameter is not a float array, or has no axis.

    >>> import numpy as np
    >>> from minichainer.distributions import Categorical
    >>> Categorical(np.array([0.25, 0.75])).prob(np.array([1, 0])).array
    array([0.75, 0.25])
    """

    def __init__(self, p: Any = None, **kwargs: Any) -> None:
        (logit,) = parse_kwargs(kwargs, ('logit', None))
        if (p is None) == (logit is None):
            raise ValueError('Categorical: either p or logit must be given, and not both')
        super().__init__(**({'p': p} if logit is None else {'logit': logit}))

    @property
    def event_shape(self) -> tuple[int, ...]:
        return ()

    @property
    def support(self) -> str:
        return (
            '{' + ', '.join(map(str, range(self._count))) + '}'
            if self._count < 4
            else f'{{0, ..., {self._count - 1}}}'
        )

    def log_prob(self, x: Any) -> Variable:
        return self._picked(self.log_p, x)

    def prob(self, x: Any) -> Variable:
        return self._picked(self.p, x)

    def _picked(self, of_categories: Variable, x: Any) -> Variable:
        labels, batch = self._labels(x), self._shape[:-1]
        if labels.shape == batch:
            rows = self.xp.arange(labels.size).reshape(batch) * self._count
            return selected(of_categories, rows + labels)
        grid = [self.xp.arange(n).reshape(-1, *[1] * (len(batch) - 1 - i)) for i, n in enumerate(batch)]
        return get_item(of_categories, (*grid, labels))

    def _labels(self, x: Any) -> Any:
        """Labels as ints; raises for anything else."""
        labels = self.xp.asarray(raw(x))
        if labels.dtype.kind not in 'iu':
            labels = self._whole(labels)
        if labels.size and not (labels.min() >= 0 and labels.max() < self._count):
            raise IndexError(
                f'Categorical: labels from 0 to {self._count - 1} expected, got {labels.min()} to {labels.max()}'
            )
        return labels

    def _whole(self, labels: Any) -> Any:
        if labels.dtype.kind not in 'bf' or not bool((self.xp.floor(labels) == labels).all()):
            got = f'{labels.dtype}' + (' with fractions' if labels.dtype.kind == 'f' else '')
            raise self._arguments.misfit('labels of kind int', got)
        return labels.astype('int64')

    def cdf(self, x: Any) -> Variable:
        return self._mass(x, self.xp.less_equal)

    def survival_function(self, x: Any) -> Variable:
        return self._mass(x, self.xp.greater)

    def log_cdf(self, x: Any) -> Variable:
        return log_of_probability(self.cdf(x), self.survival_function(x))

    def log_survival_function(self, x: Any) -> Variable:
        return log_of_probability(self.survival_function(x), self.cdf(x))

    def _mass(self, x: Any, compare: Any) -> Variable:
        """The probability of the labels for which a comparison with the values is true."""
        values = self.xp.asarray(raw(self._values(x)))[..., None]
        chosen = compare(self.xp.arange(self._count), values)
        shape = self._broadcast([chosen.shape, self._shape])
        others = self.xp.where(values == values, 0.0, math.nan).astype(self._dtype)
        return sum_(where(self.xp.broadcast_to(chosen, shape), broadcast_to(self.p, shape), others), -1)

    def sample_n(self, n: int) -> Variable:
        return Variable(self._draw_labels(n), requires_grad=False)

    def enumerate_support(self, expand: bool = True) -> Variable:
        values = self.xp.arange(self._count).reshape(-1, *[1] * len(self.batch_shape))
        shape = (self._count, *self.batch_shape)
        return Variable(self.xp.broadcast_to(values, shape) if expand else values, requires_grad=False)

    @property
    @computed
    def mode(self) -> Variable:
        """The most probable label."""
        return Variable(self.xp.asarray(self.p._data.argmax(axis=-1)), requires_grad=False)


class OneHotCategorical(_Categories):
    r"""Distribution of one-hot vectors.

    .. math:: P(X = e_i) = p_i

    Samples are floats and not differentiable.

    Args:
        p: probabilities, Variable or float array :math:`(\dots, K)`.

    Raises:
        InvalidType: ``p`` is not a float array, or has no axis.

    >>> import numpy as np
    >>> from minichainer.distributions import OneHotCategorical
    >>> OneHotCategorical(np.array([[0.25, 0.75]])).prob(np.array([0., 1.])).array.round(4)
    array([0.75])
    """

    def __init__(self, p: Any) -> None:
        super().__init__(p=p)

    @property
    def support(self) -> str:
        return 'one-hot'

    def log_prob(self, x: Any) -> Variable:
        x = self._values(x)
        return sum_(x_log(x, self.p) if self._has_edge else x * self.log_p, -1)

    def prob(self, x: Any) -> Variable:
        x = self._values(x)
        array = raw(x)
        # The logarithm of an impossible value has no slope.
        if self._has_edge and holds((array == 0) | (array == 1)) and holds(array.sum(axis=-1) == 1):
            return sum_(x * self.p, -1)
        return exp(self.log_prob(x))

    def sample_n(self, n: int) -> Variable:
        return Variable(self.xp.eye(self._count, dtype=self._dtype)[self._draw_labels(n)], requires_grad=False)

    def enumerate_support(self, expand: bool = True) -> Variable:
        count = self._count
        values = self.xp.eye(count, dtype=self._dtype).reshape(count, *[1] * len(self.batch_shape), count)
        shape = (count, *self._shape)
        return Variable(self.xp.broadcast_to(values, shape) if expand else values, requires_grad=False)

    @property
    @computed
    def mean(self) -> Variable:
        """Mean."""
        return self.p

    @property
    @computed
    def mode(self) -> Variable:
        """The most probable vector."""
        labels = self.p._data.argmax(axis=-1)
        return Variable(self.xp.eye(self._count, dtype=self._dtype)[labels], requires_grad=False)

    @property
    @computed
    def variance(self) -> Variable:
        """Variance of each element."""
        return self.p * (1 - self.p)

    @property
    @computed
    def covariance(self) -> Variable:
        """Covariance matrices."""
        shape = (*self._shape, self._count)
        column, row = broadcast_to(expand_dims(self.p, -1), shape), broadcast_to(expand_dims(self.p, -2), shape)
        return column * self._constants(self.xp.eye(self._count)) - column * row


def _between_categories(p: _Categories, q: _Categories) -> Variable:
    if p._count != q._count:
        raise ValueError(
            f'kl_divergence: distributions of as many categories expected, got {p._count} and {q._count}'
        )
    by_log = not ('p' in p._parameters and 'p' in q._parameters)
    if by_log and 'p' in p._parameters and p._has_edge:  # whose logarithms have no slopes at 0
        return sum_(p._p_log_p - cross_term(p.p, q.log_p), -1)
    return categorical_divergence(*((p.log_p, q.log_p) if by_log else (p.p, q.p)), by_log)


register_divergence(Categorical)(_between_categories)
register_divergence(OneHotCategorical)(_between_categories)
