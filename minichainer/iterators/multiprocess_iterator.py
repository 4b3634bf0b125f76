from __future__ import annotations

import multiprocessing
import multiprocessing.util
import warnings
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from minichainer.dataset.iterator import Iterator
from minichainer.errors import check_ints, check_numbers
from minichainer.iterators._position import Plan, Position, PositionedIterator
from minichainer.iterators._random_state import TaskSeeds
from minichainer.serializer import Serializer

if TYPE_CHECKING:
    from minichainer.iterators._workers import Part, WorkerPool


class _Batch(NamedTuple):
    """A mini-batch that is being read, and the position after it; no parts at the end."""

    after: Position
    parts: list[Part] | None


class MultiprocessIterator(PositionedIterator, Iterator):
    """Like :class:`SerialIterator`, with processes that read the examples of the next mini-batches.

    Useful if reading an example computes much, such as decoding images. The order of the examples is that of
    :class:`SerialIterator`, also after :meth:`serialize`: the order of an epoch is drawn when its first example is
    due, so only the examples of the current epoch are read ahead while shuffling.

    The processes are made by the start method of :mod:`multiprocessing` when the first mini-batch is read. All
    methods other than ``'fork'`` pickle the dataset, and import the program again: it must start in a block
    ``if __name__ == '__main__':``. The processes seed NumPy and :mod:`random` for each part of a mini-batch
    anew, depending on its number and on NumPy's global state at the first one. So random transformations by these
    are the same in each run with as many processes, also in one that a trainer has resumed.

    An error of the dataset is raised where its mini-batch is due, caused by an error with the traceback of the
    process. If a process dies, a RuntimeError is raised. The next call reads the same mini-batch again, after any
    error; Ctrl-C ends the processes, and the next call makes new ones.

    Args:
        dataset: Dataset; ``dataset[i]`` is called in other processes, so changes made by it are not seen here.
        batch_size (int): Number of examples in a mini-batch.
        repeat (bool): Whether to start again after the last example.
        shuffle (bool): Whether each epoch has a new random order (the default).
        n_processes (int): Number of processes; the number of processors when omitted or 0.
        n_prefetch (int): Number of mini-batches to read ahead; less than 1 is taken as 1.
        shared_mem (int): Number of bytes for each example in memory that is shared between processes; as many as
            needed when omitted. Examples that are larger are sent through a pipe, which is slower.
        order_sampler: See :class:`SerialIterator`.
        dataset_timeout (float): Seconds of waiting after which :class:`TimeoutWarning` is issued; ``None`` for never.
        maxtasksperchild (int): Number of parts of mini-batches after which a process is replaced by a new one, which
            limits leaks of memory; ``None`` for never.

    Raises:
        TypeError: A number is not one.
        ValueError: ``batch_size`` or ``maxtasksperchild`` is less than 1; ``n_processes``, ``shared_mem`` or
            ``dataset_timeout`` is negative.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> with chainer.iterators.MultiprocessIterator(
        ...     range(5), 2, repeat=False, shuffle=False, n_processes=2) as iterator:
        ...     list(iterator)
        [[0, 1], [2, 3], [4]]

    """

    class TimeoutWarning(RuntimeWarning):
        """No example was read for ``dataset_timeout`` seconds."""

    _pool: WorkerPool | None = None
    _stop_pool: Any = None
    #: What is being read: mini-batches, and behind them the rest of an epoch whose next order is not drawn yet.
    _ahead: deque[_Batch]
    _tail: list[Part] | None

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        repeat: bool = True,
        shuffle: bool | None = None,
        n_processes: int | None = None,
        n_prefetch: int = 1,
        shared_mem: int | None = None,
        order_sampler: Any = None,
        dataset_timeout: float | None = 30.0,
        maxtasksperchild: int | None = None,
    ) -> None:
        check_ints('MultiprocessIterator', n_prefetch=n_prefetch)
        _check_range(0, n_processes=n_processes, shared_mem=shared_mem)
        _check_range(1, maxtasksperchild=maxtasksperchild)
        _check_timeout(dataset_timeout)
        self.n_processes = n_processes or multiprocessing.cpu_count()
        self.n_prefetch = max(n_prefetch, 1)
        self.shared_mem = shared_mem
        self.dataset_timeout = dataset_timeout
        self._maxtasksperchild = maxtasksperchild
        self._seeds = TaskSeeds()
        self._forget()
        self._setup(Plan(dataset, batch_size, repeat, shuffle, order_sampler))

    def __next__(self) -> list[Any]:
        """Returns the next mini-batch, a list of examples; after an error the next call reads the same one."""
        try:
            batch = self._next()
        except Exception:
            raise
        except BaseException:  # it may have come in the middle of a message of a worker
            self.finalize()
            raise
        if batch is None:
            raise StopIteration
        return batch

    next = __next__

    def _next(self) -> list[Any] | None:
        """The next mini-batch, or None at the end."""
        pool = self._running_pool()
        self._read_ahead(pool)
        after, parts = self._ahead[0]
        batch = None if parts is None else self._examples(pool, parts)
        self._ahead.popleft()
        self._move(after)
        self._seeds.advance()
        return batch

    def _examples(self, pool: WorkerPool, parts: list[Part]) -> list[Any]:
        """Waits for the examples of some parts; if one has failed, nothing stays read ahead."""
        self._wait(pool, parts)
        try:
            return _take(parts)
        except Exception:
            self._drop()
            raise

    def _running_pool(self) -> WorkerPool:
        """The processes; makes them at the first time, and in a fork of the process that has made them."""
        if self._pool is None or not self._pool.is_mine:
            from minichainer.iterators._workers import WorkerPool

            self._forget()
            self._pool = WorkerPool(self.dataset, self.n_processes, self.shared_mem, self._maxtasksperchild)
            # At exit, multiprocessing sends SIGTERM, which workers ignore, and waits: this comes before.
            self._stop_pool = multiprocessing.util.Finalize(self, self._pool.stop, exitpriority=100)
        return self._pool

    def _read_ahead(self, pool: WorkerPool) -> None:
        """Has the next mini-batch read, and those after it whose indices are known without drawing an order."""
        while len(self._ahead) <= self.n_prefetch:
            position = self._ahead[-1].after if self._ahead else self._state
            seed = self._seeds.seed(len(self._ahead))
            # The rest of an epoch is asked for by itself in any case, so that each part always has the same examples.
            rest = self._plan.rest_of_epoch(position)
            if self._ahead and not self._plan.is_determined(position):
                if self._tail is None:
                    self._tail = pool.split(rest, (*seed, 0))
                return
            after, indices = self._advance(position)
            if indices is None:
                self._ahead.append(_Batch(after, None))
                return
            tail = pool.split(rest, (*seed, 0)) if self._tail is None else self._tail
            self._tail = None
            self._ahead.append(_Batch(after, tail + pool.split(indices[len(rest) :], (*seed, 1))))

    def _wait(self, pool: WorkerPool, parts: list[Part]) -> None:
        try:
            pool.wait(parts, self.dataset_timeout, self._warn)
        finally:
            if not pool.is_mine:  # a process has died, so all have ended
                self._forget()

    def _warn(self) -> None:
        warnings.warn(
            f'MultiprocessIterator: the dataset is stalled: no example of a {type(self.dataset).__name__} was read '
            f'in {self.dataset_timeout} seconds. If reading takes so long, set dataset_timeout=None; otherwise a '
            'lock, file or thread that is shared with a forked process may be why: try another start method',
            self.TimeoutWarning,
            stacklevel=7,
        )

    def reset(self) -> None:
        """Returns to the start; draws a new order if shuffling."""
        self._drop()
        self._rewind()

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the position; after restoring, examples are read again."""
        super().serialize(serializer)
        if not isinstance(serializer, Serializer):
            self._drop()

    def finalize(self) -> None:
        """Ends the processes; :meth:`next` would make new ones."""
        if self._pool is not None:
            (self._stop_pool or self._pool.stop)()
            self._pool = self._stop_pool = None
            self._forget()

    def __copy__(self) -> MultiprocessIterator:
        """An iterator at the same position, with processes of its own."""
        other: MultiprocessIterator = type(self).__new__(type(self))
        other.__dict__.update(self.__getstate__())
        return other

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the processes."""
        state = {name: value for name, value in self.__dict__.items() if name not in ('_pool', '_stop_pool')}
        return {**state, '_ahead': deque(), '_tail': None}

    def _drop(self) -> None:
        """Forgets what was read ahead."""
        if self._pool is not None and self._pool.is_mine:
            parts = [part for batch in self._ahead for part in batch.parts or ()]
            self._pool.drop([*parts, *(self._tail or ())])
        self._forget()

    def _forget(self) -> None:
        self._ahead = deque()
        self._tail = None


def _take(parts: list[Part]) -> list[Any]:
    """The examples; raises the error of the first part that has failed, even if others are not read yet."""
    for part in parts:
        if part.failed:
            part.take()
    return [example for part in parts for example in part.take()]


def _check_range(least: int, **values: int | None) -> None:
    for name, value in values.items():
        if value is None:
            continue
        check_ints('MultiprocessIterator', **{name: value})
        if value < least:
            raise ValueError(f'MultiprocessIterator: {name} must be at least {least} or None, got {value}')


def _check_timeout(seconds: float | None) -> None:
    if seconds is None:
        return
    check_numbers('MultiprocessIterator', dataset_timeout=seconds)
    if not seconds >= 0:
        raise ValueError(f'MultiprocessIterator: dataset_timeout must be at least 0 seconds or None, got {seconds}')
