"""Drawing from a discrete distribution in constant time."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.backends import cuda
from minichainer.device_resident import DeviceResident


class WalkerAlias(DeviceResident):
    """Draws numbers 0, 1, ... with given probabilities, each in constant time.

    Each number has a slot of equal width; the excess of likely numbers fills the slots of unlikely ones. A draw picks
    a slot, and then one of its at most two numbers. A. J. Walker, An efficient method for generating discrete random
    variables with general distributions (1977).

    Args:
        probs: probabilities, or weights in proportion to them, of shape (n,).

    >>> import numpy as np
    >>> from minichainer.utils import WalkerAlias
    >>> sampler = WalkerAlias(np.array([0.2, 0.0, 0.8]))
    >>> bool((sampler.sample((100,)) != 1).all())
    True
    """

    def __init__(self, probs: Any) -> None:
        super().__init__()
        weights = numpy.asarray(cuda.to_cpu(probs) if hasattr(probs, 'shape') else probs, numpy.float64)
        if weights.ndim != 1 or not weights.size:
            raise ValueError(
                f'WalkerAlias: expected a vector of probabilities, got an array of shape {weights.shape}'
            )
        if not (numpy.isfinite(weights).all() and weights.min() >= 0 and weights.sum() > 0):
            raise ValueError('WalkerAlias: expected finite probabilities that are not negative and not all zero')
        self.threshold, self.values = _alias_table(weights)

    def device_resident_accept(self, visitor: Any) -> None:
        super().device_resident_accept(visitor)
        self.threshold = visitor.visit_array(self.threshold)
        self.values = visitor.visit_array(self.values)

    @property
    def use_gpu(self) -> bool:
        """True if numbers are drawn on a GPU."""
        return self.xp is not numpy

    def sample(self, shape: Any) -> Any:
        """Draws numbers on the device of this object.

        Args:
            shape: shape of the result.

        Returns:
            int32 array of that shape.
        """
        with self.device.create_context():
            return self.sample_xp(self.xp, shape)

    def sample_gpu(self, shape: Any) -> Any:
        """Draws numbers on a GPU.

        Args:
            shape: shape of the result.
        """
        cuda.check_cuda_available()
        return self.sample_xp(cuda.cupy, shape)

    def sample_xp(self, xp: Any, shape: Any) -> Any:
        """Draws numbers from ``xp.random``.

        Args:
            xp: the array module of this object's device.
            shape: shape of the result.
        """
        position = xp.random.uniform(0, 1, shape) * len(self.threshold)
        slot = position.astype(numpy.int32)
        second = self.threshold[slot] < position - slot
        return self.values[slot * 2 + second]


def _alias_table(weights: Any) -> tuple[Any, Any]:
    """The threshold in each slot, and its two numbers.

    Chainer divides in float32 and compares in float64, which breaks ties between equal weights: doing the same draws
    the same numbers.
    """
    n = len(weights)
    single = weights.astype(numpy.float32)
    probs = (single / single.sum()).astype(numpy.float64)
    order = numpy.argsort(probs, kind='stable')
    left = probs[order].tolist()
    threshold = numpy.empty(n, numpy.float32)
    values = numpy.zeros(2 * n, numpy.int32)
    values[::2] = order
    donor = 0
    for slot in range(n):
        threshold[slot] = left[slot] * n
        while donor < n and (donor <= slot or left[donor] <= 1 / n):
            donor += 1
        if donor < n:
            values[2 * slot + 1] = order[donor]
            left[donor] -= 1 / n - left[slot]
    return threshold, values
