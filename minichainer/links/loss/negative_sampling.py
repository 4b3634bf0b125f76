"""Negative sampling with weights."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.device_resident import DeviceResidentsVisitor
from minichainer.functions.loss.sampled import negative_sampling
from minichainer.initializers.constant import Constant
from minichainer.link.link import Link
from minichainer.links._arguments import LinkArguments
from minichainer.utils.walker_alias import WalkerAlias
from minichainer.variable import Parameter


class NegativeSampling(Link):
    r"""Logistic loss of a label against a few drawn classes, with a row of weights for each class.

    See :func:`~minichainer.functions.negative_sampling` for the formula. Class c is drawn with probability
    :math:`\propto n_c^\alpha`, where :math:`n_c` is its count.

    Args:
        in_size: number of features.
        counts: how often each class occurs, a sequence of numbers.
        sample_size: how many classes are drawn for each sample.
        power: the exponent :math:`\alpha`.
        dtype: has no effect, as in Chainer: the weights have ``chainer.config.dtype``.

    Attributes:
        W: Parameter (len(counts), in_size), zero at first.
        sampler: WalkerAlias that draws the classes.
        sample_size: as given.

    Source: Mikolov et al., Distributed Representations of Words and Phrases and their Compositionality, 2013.

    >>> import numpy as np, minichainer as chainer
    >>> loss = chainer.links.NegativeSampling(3, counts=[5, 2, 4, 1], sample_size=2)
    >>> loss(np.ones((4, 3), np.float32), np.array([0, 1, 2, 3])).shape
    ()
    """

    def __init__(self, in_size: int, counts: Any, sample_size: int, power: float = 0.75, dtype: Any = None) -> None:
        check = LinkArguments(self)
        check.sizes(in_size=in_size, sample_size=sample_size)
        weights = checked_counts(check, counts)
        check.numbers(-numpy.inf, numpy.inf, power=power)
        check.dtype(dtype)
        with numpy.errstate(divide='ignore', over='ignore'):
            weights = weights ** float(power)
        if not numpy.isfinite(weights).all():
            raise check.wrong_value(f'positive numbers, because power = {power},', 'counts', counts)
        super().__init__()
        self.sample_size = sample_size
        self.sampler = WalkerAlias(weights)
        with self.init_scope():
            self.W = Parameter(Constant(0), (len(weights), in_size))

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        """Passes the sampler to the visitor too."""
        super().device_resident_accept(visitor)
        self.sampler.device_resident_accept(visitor)

    def forward(self, x: Any, t: Any, reduce: str = 'sum', **kwargs: Any) -> Any:
        """The loss.

        Args:
            x: features, Variable or float array (B, in_size).
            t: labels, int array (B,); samples with label -1 are ignored.
            reduce: ``'sum'`` or ``'no'``.
            return_samples: return the drawn classes too (keyword only).

        Returns:
            Variable of shape () or (B,); with ``return_samples``, a tuple of it and an int array
            (B, 1 + sample_size).

        Raises:
            InvalidType: shapes or dtypes do not fit.
            ValueError: ``reduce`` is unknown.
        """
        return negative_sampling(x, t, self.W, self.sampler.sample, self.sample_size, reduce=reduce, **kwargs)


def checked_counts(check: LinkArguments, counts: Any) -> Any:
    """Counts as a float64 vector.

    Raises:
        TypeError: they are not numbers.
        ValueError: there is none, one is negative or not finite, or all are zero.
    """
    try:
        weights = numpy.array(counts, numpy.float64)
    except (TypeError, ValueError):
        raise check.wrong_type('a sequence of numbers', 'counts', counts) from None
    if weights.ndim != 1 or not hasattr(counts, '__len__') or isinstance(counts, (str, bytes)):
        raise check.wrong_type('a sequence of numbers', 'counts', counts)
    if not weights.size or not (numpy.isfinite(weights).all() and weights.min() >= 0 and weights.sum() > 0):
        raise check.wrong_value('finite numbers that are not negative and not all zero', 'counts', counts)
    return weights
