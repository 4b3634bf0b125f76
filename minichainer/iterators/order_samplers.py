from __future__ import annotations

import warnings
from typing import Any

import numpy

from minichainer.iterators._random_state import is_generator, set_state, state_as_text
from minichainer.serializer import Serializer


class OrderSampler:
    """Base class of samplers, which determine the order of the examples in an epoch.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> class Backwards(chainer.iterators.OrderSampler):
        ...     def __call__(self, current_order, current_position):
        ...         return current_order[::-1]
        >>> chainer.iterators.SerialIterator(range(5), 3, order_sampler=Backwards()).next()
        [4, 3, 2]

    """

    def __call__(self, current_order: numpy.ndarray, current_position: int) -> numpy.ndarray:
        """Returns the order of the next epoch, indices into the dataset.

        Args:
            current_order: Order of the ending epoch; at the start ``arange(len(dataset))``.
            current_position (int): Start in ``current_order`` of the mini-batch that crosses the end of the epoch.
        """
        raise NotImplementedError(f'{type(self).__name__} must define __call__(current_order, current_position)')


class ShuffleOrderSampler(OrderSampler):
    """Draws a new random order for each epoch.

    Args:
        random_state: :class:`numpy.random.RandomState` or :class:`numpy.random.Generator`; the global state
            of ``numpy.random`` when omitted. A state given here is saved with the iterator, the global one
            with the trainer.

    .. admonition:: Example

        >>> import numpy as np
        >>> import minichainer as chainer
        >>> sampler = chainer.iterators.ShuffleOrderSampler(np.random.RandomState(0))
        >>> iterator = chainer.iterators.SerialIterator([10, 20, 30], 3, order_sampler=sampler)
        >>> iterator.next()
        [30, 20, 10]

    """

    def __init__(self, random_state: Any = None) -> None:
        self._random = random_state

    def __call__(self, current_order: numpy.ndarray, current_position: int) -> numpy.ndarray:
        """Returns a random permutation of ``len(current_order)`` indices."""
        random = numpy.random if self._random is None else self._random
        order: numpy.ndarray = random.permutation(len(current_order))
        return order

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the sampler's own random state, if it has one.

        Args:
            serializer: a serializer, or a deserializer.
        """
        if not is_generator(self._random):
            return
        if isinstance(serializer, Serializer):
            serializer('random_state', state_as_text(self._random))
            return
        try:
            text = serializer('random_state', None)
        except KeyError:
            text = None
        if text is None:
            warnings.warn(
                'The snapshot contains no random state of the ShuffleOrderSampler; '
                'the resumed run will use a different order of examples.',
                stacklevel=2,
            )
        else:
            set_state(self._random, str(text))
