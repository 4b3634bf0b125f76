"""The uniform distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy

from minichainer.distributions._parametric import Parametric, computed, holds, raw, register_divergence
from minichainer.functions.arithmetic import absolute
from minichainer.functions.array.selection import where
from minichainer.functions.array.shape import broadcast_to
from minichainer.functions.math.elementwise_extrema import clip
from minichainer.functions.math.exponential import log
from minichainer.utils.argument import parse_kwargs
from minichainer.variable import Variable


class Uniform(Parametric):
    r"""Uniform distribution on an interval.

    .. math:: p(x) = \frac{1}{h - l}, \quad l \le x \le h

    Samples are differentiable with respect to the parameters.

    Args:
        low: keyword only; lower end :math:`l`, Variable or float array.
        high: keyword only; upper end :math:`h`, Variable or array of the same dtype; the shapes are broadcast.
        loc: keyword only; :math:`l`, with ``scale`` instead of ``low`` and ``high``.
        scale: keyword only; :math:`h - l`.

    Raises:
        ValueError: neither of the two pairs is given, or more than one.
        InvalidType: dtypes or shapes do not fit.

    >>> import numpy as np
    >>> from minichainer.distributions import Uniform
    >>> Uniform(low=np.zeros(1), high=np.full(1, 4.)).prob(np.array([1., 5.])).array
    array([0.25, 0.  ])
    """

    def __init__(self, **kwargs: Any) -> None:
        low, high, loc, scale = parse_kwargs(kwargs, ('low', None), ('high', None), ('loc', None), ('scale', None))
        given = [
            name
            for name, value in (('low', low), ('high', high), ('loc', loc), ('scale', scale))
            if value is not None
        ]
        if given not in (['low', 'high'], ['loc', 'scale']):
            got = ', '.join(given) or 'nothing'
            raise ValueError(f'Uniform: either low and high or loc and scale must be given, got {got}')
        self._has_ends = low is not None
        super().__init__(**({'low': low, 'high': high} if self._has_ends else {'loc': loc, 'scale': scale}))

    @property
    def low(self) -> Variable:
        """Lower end."""
        return self._parameters['low' if self._has_ends else 'loc']

    @property
    @computed
    def high(self) -> Variable:
        """Upper end."""
        return self._parameters['high'] if self._has_ends else self.loc + self.scale

    @property
    def loc(self) -> Variable:
        """Lower end."""
        return self.low

    @property
    @computed
    def scale(self) -> Variable:
        """Length of the interval."""
        return self.high - self.low if self._has_ends else self._parameters['scale']

    @property
    @computed
    def _log_scale(self) -> Variable:
        """Logarithm of the length; that of an empty interval, where every value is impossible, is NaN."""
        with numpy.errstate(invalid='ignore', divide='ignore'):
            return log(self.scale)

    @property
    def support(self) -> str:
        return '[low, high]'

    def log_prob(self, x: Any) -> Variable:
        x = raw(self._values(x))
        possible = (x >= self.low._data) & (x <= self.high._data)
        shape = possible.shape
        if holds(possible):
            return -self._log_scale if shape == self._log_scale.shape else broadcast_to(-self._log_scale, shape)
        impossible = (x < self.low._data) | (x > self.high._data)
        outside = self.xp.where(impossible, -math.inf, math.nan).astype(self._dtype)
        return where(possible, -self._log_scale, outside)

    def cdf(self, x: Any) -> Variable:
        return clip((self._variables(x) - self.low) / self.scale, 0.0, 1.0)

    def survival_function(self, x: Any) -> Variable:
        return clip((self.high - self._variables(x)) / self.scale, 0.0, 1.0)

    def log_cdf(self, x: Any) -> Variable:
        return _log(self.cdf(x))

    def log_survival_function(self, x: Any) -> Variable:
        return _log(self.survival_function(x))

    def icdf(self, x: Any) -> Variable:
        return self.low + self.scale * self._variables(x)

    def sample_n(self, n: int) -> Variable:
        noise = self._constants(self.xp.random.uniform(0, 1, self._size(n)))
        return self.low + self.scale * noise

    @property
    @computed
    def mean(self) -> Variable:
        """Mean."""
        return self._full(self.low * 0.5 + self.high * 0.5 if self._has_ends else self.loc + self.scale * 0.5)

    @property
    @computed
    def mode(self) -> Variable:
        """NaN: all values have the same density."""
        return self._constant(math.nan)

    @property
    @computed
    def variance(self) -> Variable:
        """Variance."""
        return self._full(self.scale * self.scale * (1 / 12))

    @property
    @computed
    def stddev(self) -> Variable:
        """Standard deviation."""
        return self._full(absolute(self.scale) * math.sqrt(1 / 12))

    @property
    @computed
    def entropy(self) -> Variable:
        """Entropy."""
        return self._full(self._log_scale)


def _log(p: Variable) -> Variable:
    """The logarithm of probabilities that may be 0."""
    impossible = p._data <= 0
    return where(impossible, -math.inf, log(where(impossible, 1.0, p)))


@register_divergence(Uniform)
def _between_uniforms(p: Uniform, q: Uniform) -> Variable:
    covered = (q.low._data <= p.low._data) & (p.high._data <= q.high._data)
    return where(covered, q._log_scale - p._log_scale, math.inf)
