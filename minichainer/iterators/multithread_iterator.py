from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from minichainer.dataset.iterator import Iterator
from minichainer.errors import check_ints
from minichainer.iterators._position import Plan, Position, PositionedIterator, example

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor


class _Batch(NamedTuple):
    """A mini-batch that is being read, and the positions around it; no futures at the end."""

    before: Position
    after: Position
    futures: list[Future[Any]] | None


class MultithreadIterator(PositionedIterator, Iterator):
    """Like :class:`SerialIterator`, with threads that prefetch the next mini-batch.

    Useful if reading an example waits for files or runs code that releases the interpreter lock. Nothing is
    prefetched beyond the end of an epoch while shuffling: the next order is drawn when it is needed, so that random
    numbers and snapshots are those of :class:`SerialIterator`, unless the dataset itself draws: threads do so in any
    order.

    Args:
        dataset: Dataset; ``dataset[i]`` is called from several threads at once.
        batch_size (int): Number of examples in a mini-batch.
        repeat (bool): Whether to start again after the last example.
        shuffle (bool): Whether each epoch has a new random order (the default).
        n_threads (int): Number of threads; what :class:`~concurrent.futures.ThreadPoolExecutor` takes if None.
        order_sampler: See :class:`SerialIterator`.

    Raises:
        TypeError: A number is not one.
        ValueError: ``batch_size`` or ``n_threads`` is less than 1.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> iterator = chainer.iterators.MultithreadIterator(range(5), 2, repeat=False, shuffle=False, n_threads=3)
        >>> with iterator:
        ...     list(iterator)
        [[0, 1], [2, 3], [4]]

    """

    _pool: ThreadPoolExecutor | None = None
    _ahead: _Batch | None = None

    _order_entry = '_order'
    _saves_no_order = True

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        repeat: bool = True,
        shuffle: bool | None = None,
        n_threads: int = 1,
        order_sampler: Any = None,
    ) -> None:
        if n_threads is not None:
            check_ints('MultithreadIterator', n_threads=n_threads)
            if n_threads < 1:
                raise ValueError(f'MultithreadIterator: n_threads must be at least 1, got {n_threads}')
        self.n_threads = n_threads
        self._setup(Plan(dataset, batch_size, repeat, shuffle, order_sampler))

    def __next__(self) -> list[Any]:
        """Returns the next mini-batch, a list of examples; after an error the next call reads the same one."""
        if self._ahead is None or self._ahead.before is not self._state:
            self._ahead = self._read(self._state)
        _, after, futures = self._ahead
        batch = self._results(futures)
        ahead = self._read(after) if batch is not None and self._plan.is_determined(after) else None
        self._move(after)
        self._ahead = ahead
        if batch is None:
            raise StopIteration
        return batch

    next = __next__

    def _results(self, futures: list[Future[Any]] | None) -> list[Any] | None:
        """The examples of some futures; if one fails, nothing stays prefetched."""
        try:
            return None if futures is None else [f.result() for f in futures]
        except BaseException:
            self._drop()
            raise

    def _read(self, position: Position) -> _Batch:
        """Starts to read the mini-batch at a position."""
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(self.n_threads)
        after, indices = self._advance(position)
        pool = self._pool
        futures = None if indices is None else [pool.submit(example, self.dataset, i) for i in indices]
        return _Batch(position, after, futures)

    def reset(self) -> None:
        """Returns to the start; draws a new order if shuffling."""
        self._drop()
        self._rewind()

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the position; prefetched examples are read again."""
        super().serialize(serializer)
        self._drop()

    def finalize(self) -> None:
        """Stops the threads."""
        self._drop()
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _drop(self) -> None:
        ahead, self._ahead = self._ahead, None
        for f in (ahead and ahead.futures) or ():
            f.cancel()
