from __future__ import annotations

from typing import Any

from minichainer.dataset.iterator import Iterator
from minichainer.iterators._position import Plan, PositionedIterator, examples


class SerialIterator(PositionedIterator, Iterator):
    """Reads mini-batches from a dataset sequentially, in the calling thread.

    Args:
        dataset: Dataset: ``len(dataset)`` and ``dataset[i]`` are used. Or a frame of pandas, polars or Arrow, whose
            rows are the examples, whatever its index is.
        batch_size (int): Number of examples in a mini-batch. Without ``repeat`` the last one may be smaller.
        repeat (bool): Whether to start again after the last example; otherwise :class:`StopIteration` is
            raised.
        shuffle (bool): Whether each epoch has a new random order (the default), drawn from ``numpy.random``.
        order_sampler: Function from the order of an epoch and a position in it to the next order, see
            :class:`OrderSampler`; then ``shuffle`` must be left out.

    Raises:
        ValueError: Both ``shuffle`` and ``order_sampler`` are given, or the batch size is not positive.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> iterator = chainer.iterators.SerialIterator(range(5), 2, repeat=False, shuffle=False)
        >>> list(iterator)
        [[0, 1], [2, 3], [4]]

    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        repeat: bool = True,
        shuffle: bool | None = None,
        order_sampler: Any = None,
    ) -> None:
        self._setup(Plan(dataset, batch_size, repeat, shuffle, order_sampler))

    def __next__(self) -> list[Any]:
        """Returns the next mini-batch, a list of examples; after an error the next call reads the same one."""
        after, indices = self._advance(self._state)
        batch = None if indices is None else examples(self.dataset, indices)
        self._move(after)
        if batch is None:
            raise StopIteration
        return batch

    next = __next__

    def reset(self) -> None:
        """Returns to the start; draws a new order if shuffling."""
        self._rewind()
