"""BlackOut with weights."""

from __future__ import annotations

from typing import Any

from minichainer.device_resident import DeviceResidentsVisitor
from minichainer.functions.loss.sampled import black_out
from minichainer.link.link import Link
from minichainer.links._arguments import LinkArguments
from minichainer.links.loss.negative_sampling import checked_counts
from minichainer.utils.walker_alias import WalkerAlias
from minichainer.variable import Parameter, Variable


class BlackOut(Link):
    """BlackOut loss of a label against a few drawn classes, with a row of weights for each class.

    See :func:`~minichainer.functions.black_out` for the formula. The weights are NaN at first, as in Chainer: they
    must be set.

    Args:
        in_size: number of features.
        counts: how often each class occurs, a sequence of numbers; classes are drawn in proportion.
        sample_size: how many classes are drawn for each sample.

    Attributes:
        W: Parameter (len(counts), in_size).
        sampler: WalkerAlias that draws the classes.
        sample_size: as given.
        sample_data: int array (B, sample_size) with classes to use in place of drawn ones, or None.

    Source: Ji et al., BlackOut: Speeding up Recurrent Neural Network Language Models With Very Large Vocabularies,
    2015.

    >>> import numpy as np, minichainer as chainer
    >>> loss = chainer.links.BlackOut(3, counts=[5, 2, 4, 1], sample_size=2)
    >>> loss.W.array[...] = 0
    >>> loss(np.ones((4, 3), np.float32), np.array([0, 1, 2, 3])).shape
    ()
    """

    sample_data: Any = None

    def __init__(self, in_size: int, counts: Any, sample_size: int) -> None:
        check = LinkArguments(self)
        check.sizes(in_size=in_size, sample_size=sample_size)
        weights = checked_counts(check, counts)
        super().__init__()
        self.sampler = WalkerAlias(weights)
        self.sample_size = sample_size
        with self.init_scope():
            self.W = Parameter(shape=(len(weights), in_size))

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        """Passes the sampler to the visitor too."""
        super().device_resident_accept(visitor)
        self.sampler.device_resident_accept(visitor)

    def forward(self, x: Any, t: Any) -> Variable:
        """The loss.

        Args:
            x: features, Variable or float array (B, in_size).
            t: labels, int array (B,).

        Returns:
            Variable of shape (), the mean over the batch.

        Raises:
            InvalidType: shapes or dtypes do not fit.
        """
        samples = self.sample_data
        if samples is None:
            samples = self.sampler.sample((x.shape[0], self.sample_size))
        return black_out(x, t, self.W, samples)
