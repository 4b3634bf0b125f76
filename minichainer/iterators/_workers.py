"""The processes that read examples for an iterator, as their parent sees them."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy

from minichainer.iterators import _worker
from minichainer.iterators._shared_memory import ArenaView
from minichainer.iterators._start_methods import how_to_start

#: Tasks that a worker has not answered may have this many bytes and be this many: a connection holds them, so that
#: neither side waits for the other.
_QUEUED_BYTES = 32768 if sys.platform == 'linux' else 4096
_QUEUED_TASKS = 64
#: Seconds that workers have for the example that they are reading when they are stopped.
_PATIENCE = 0.5


class Part:
    """Some examples that a worker reads, with random numbers of this seed."""

    def __init__(self, indices: Sequence[Any], seed: Sequence[int]) -> None:
        self.indices = indices
        self.seed = seed
        self.worker: Worker | None = None
        self.result: _worker.Parcel | _worker.Failure | None = None
        self.is_dropped = False

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def failed(self) -> bool:
        """Whether reading an example raised."""
        return isinstance(self.result, _worker.Failure)

    def take(self) -> list[Any]:
        """Returns the examples, or raises the error of the worker; works once."""
        result = self.result
        assert result is not None and self.worker is not None
        if isinstance(result, _worker.Failure):
            raise pickle.loads(result.error) from _worker.WorkerError(result.text)
        examples = _worker.unpack(result, self.worker.arena)
        self.drop()
        return examples

    def drop(self) -> None:
        """Frees the worker's memory, at once or when the result comes."""
        if isinstance(self.result, _worker.Parcel) and not self.is_dropped and self.worker is not None:
            self.worker.release(self.result)
        self.is_dropped = True


class Worker:
    """One process, with what was asked of it and what it has answered.

    Args:
        make: makes the process from its end of the connection; it is started later.
    """

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self.connection, self.other_end = multiprocessing.Pipe()
        self.process = make(self.other_end)
        self.arena: ArenaView | None = None
        self.tasks = 0
        self._unread: deque[tuple[Part, int]] = deque()
        self._freed: list[int] = []
        self._stored = 0

    @property
    def has_examples(self) -> bool:
        """Whether its memory contains examples that were not taken."""
        return self._stored > 0

    @property
    def is_busy(self) -> bool:
        """Whether an answer is to come."""
        return bool(self._unread)

    @property
    def reads(self) -> Sequence[Any]:
        """What it is reading."""
        return self._unread[0][0].indices if self._unread else ()

    def accepts(self) -> bool:
        """Whether one more task fits into the connection for sure."""
        return len(self._unread) < _QUEUED_TASKS and sum(size for _, size in self._unread) < _QUEUED_BYTES

    def send(self, part: Part) -> None:
        """Gives it a task."""
        message = pickle.dumps(_worker.Task(part.indices, part.seed, self._freed))
        self._freed = []
        part.worker = self
        self.tasks += 1
        self._unread.append((part, len(message)))
        with contextlib.suppress(OSError):  # it has died, which is noticed when the answer is waited for
            self.connection.send_bytes(message)

    def receive(self) -> None:
        """Reads one message; raises EOFError or OSError if it has died."""
        message = self.connection.recv_bytes()
        if message == _worker.ARENA:
            self._close_arena()
            self.arena = ArenaView(self.connection)
            return
        part, _ = self._unread.popleft()
        part.result = pickle.loads(message)
        if isinstance(part.result, _worker.Parcel) and part.result.body is None:
            self._stored += 1
        if part.is_dropped:
            part.is_dropped = False
            part.drop()

    def release(self, parcel: _worker.Parcel) -> None:
        """Lets the worker use the memory of a parcel again; it learns so with the next task."""
        if parcel.body is None:
            self._freed.append(parcel.start)
            self._stored -= 1

    def ask_to_stop(self) -> None:
        """Lets the process end after the example that it is reading."""
        with contextlib.suppress(OSError):
            self.connection.send_bytes(_worker.STOP)
        self.connection.close()

    def end(self, deadline: float) -> None:
        """Waits for the end of the process until the deadline, then enforces it."""
        self.other_end.close()
        if self.process.pid is not None:
            self.process.join(max(0.0, deadline - time.monotonic()))
            if self.process.is_alive():
                self.process.kill()
                self.process.join()
        self.process.close()
        self._close_arena()

    def _close_arena(self) -> None:
        if self.arena is not None:
            self.arena.close()
            self.arena = None


class WorkerPool:
    """Worker processes that read examples of a dataset, each in its turn.

    Each part of a mini-batch has a seed of its own, so that random transformations are the same in each run,
    whichever worker reads it.

    Args:
        dataset: the dataset.
        count: number of processes.
        shared_mem: number of bytes of shared memory for each example; ``None``: as many as needed.
        maxtasksperchild: number of tasks after which a process is replaced; ``None``: never.
    """

    def __init__(self, dataset: Any, count: int, shared_mem: int | None, maxtasksperchild: int | None) -> None:
        self._dataset = dataset
        self._shared_mem = shared_mem
        self._max_tasks = maxtasksperchild
        self._context = multiprocessing.get_context()
        self._backlog: deque[Part] = deque()
        self._retired: list[Worker] = []
        self._workers: list[Worker] = []
        #: The latest one, which an interrupt may keep from being one of the others.
        self._begun: Worker | None = None
        self._turn = 0
        self._owner: int | None = os.getpid()
        try:
            for _ in range(count):
                self._workers.append(self._start())
        except BaseException:
            self.stop()
            raise

    @property
    def is_mine(self) -> bool:
        """Whether it can be used: the process that started it has not stopped it, and this is not a fork of it."""
        return self._owner == os.getpid()

    def split(self, indices: Sequence[Any], seed: Sequence[int]) -> list[Part]:
        """Asks the workers for examples, each for an equal part, with random numbers of this seed and the part's."""
        # An array is sent faster than NumPy's numbers.
        items: Any = numpy.asarray(indices) if indices and isinstance(indices[0], numpy.generic) else indices
        size = max(1, -(-len(indices) // len(self._workers)))
        parts = [Part(items[i : i + size], (*seed, i)) for i in range(0, len(indices), size)]
        self._backlog.extend(parts)
        self._send()
        return parts

    def wait(self, parts: Sequence[Part], timeout: float | None, warn: Callable[[], None]) -> None:
        """Waits until all parts are read, or one has failed.

        Args:
            parts: what to wait for.
            timeout: seconds after which ``warn`` is called; ``None``: never.
            warn: called once.
        """
        while not any(part.failed for part in parts) and not all(part.result for part in parts):
            self._send()
            if not self._receive(timeout):
                warn()
                timeout = None
        self._send()

    def drop(self, parts: Sequence[Part]) -> None:
        """Forgets parts that are not wanted any more."""
        for part in parts:
            part.drop()
        self._backlog = deque(part for part in self._backlog if not part.is_dropped)

    def stop(self) -> None:
        """Ends all processes; does nothing in a fork of the process that started them."""
        if not self.is_mine:
            return
        self._owner = None
        begun = [] if self._begun is None else [self._begun]
        workers = list(dict.fromkeys([*self._workers, *self._retired, *begun]))
        for worker in workers:
            worker.ask_to_stop()
        _end(workers)

    def _start(self) -> Worker:
        forks = self._context.get_start_method() == 'fork'
        inherited = [worker.connection for worker in self._workers] if forks else []

        def make(connection: Any) -> Any:
            args = (connection, self._dataset, self._shared_mem, inherited)
            return self._context.Process(target=_worker.serve, args=args, daemon=True)

        self._begun = worker = Worker(make)
        with worker.other_end, _explained(self._dataset, self._context.get_start_method()), _worker.held_signals():
            worker.process.start()
        return worker

    def _send(self) -> None:
        """Gives tasks to the workers, as many as they accept."""
        while self._backlog:
            place = self._turn % len(self._workers)
            worker = self._workers[place]
            if self._max_tasks is not None and worker.tasks >= self._max_tasks:
                if worker.is_busy:
                    return
                worker.ask_to_stop()
                self._retired.append(worker)
                worker = self._workers[place] = self._start()
            if not worker.accepts():
                return
            worker.send(self._backlog.popleft())
            self._turn += 1

    def _receive(self, timeout: float | None) -> bool:
        """Reads the next messages of the workers; returns whether there were some in time."""
        self._end_retired()
        workers: dict[Any, Worker] = {worker.connection: worker for worker in self._workers}
        workers.update((worker.process.sentinel, worker) for worker in self._workers)
        ready = multiprocessing.connection.wait(list(workers), timeout)
        # A process whose end is noticed may have sent something before.
        for worker in {id(workers[item]): workers[item] for item in ready}.values():
            try:
                if worker.connection.poll():
                    worker.receive()
                    continue
            except (EOFError, OSError):
                pass
            raise self._died(worker)
        return bool(ready)

    def _end_retired(self) -> None:
        """Cleans up after processes that have ended and whose examples were taken."""
        ended = [w for w in self._retired if not w.has_examples and w.process.exitcode is not None]
        self._retired = [w for w in self._retired if w not in ended]
        _end(ended)

    def _died(self, worker: Worker) -> RuntimeError:
        """The error about a process that has ended; stops the others."""
        worker.process.join(1)
        code, pid, indices = worker.process.exitcode, worker.process.pid, worker.reads
        self.stop()
        shown = ', '.join(str(i) for i in indices[:5]) + (', ...' if len(indices) > 5 else '')
        text = f'MultiprocessIterator: worker process {pid} died ({_reason(code)})'
        text += f' while it read examples [{shown}] of a {type(self._dataset).__name__}. '
        text += how_to_start(self._context.get_start_method())
        return RuntimeError(text + 'Its standard error may say why; SerialIterator reads without processes')


def _end(workers: Sequence[Worker]) -> None:
    deadline = time.monotonic() + _PATIENCE
    for worker in workers:
        worker.end(deadline)


def _reason(code: int | None) -> str:
    if code is None or code >= 0:
        return f'exit code {code}'
    with contextlib.suppress(ValueError):
        name = signal.Signals(-code).name
        return f'signal {name}, perhaps for lack of memory' if name == 'SIGKILL' else f'signal {name}'
    return f'signal {-code}'


@contextlib.contextmanager
def _explained(dataset: Any, method: str) -> Iterator[None]:
    """Says what to do if a dataset cannot be sent to a process."""
    try:
        yield
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise pickle.PicklingError(
            f'MultiprocessIterator: the dataset of type {type(dataset).__name__} cannot be pickled, as the start '
            f'method {method!r} requires: {error}. Define its classes and functions at the top level of a module, '
            "open files when they are first read, or call multiprocessing.set_start_method('fork'); "
            'MultithreadIterator needs no pickling'
        ) from error
