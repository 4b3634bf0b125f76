"""What a worker process does: it reads examples of a dataset and sends them to its parent."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import multiprocessing.connection
import multiprocessing.resource_tracker
import os
import pickle
import random
import signal
import threading
import traceback
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy

from minichainer.iterators import _shared_memory
from minichainer.iterators._position import examples

#: Results of at most this many bytes are sent as they are.
_SMALL = 4096


class Task(NamedTuple):
    """A message to a worker: examples to read, a seed, and the memory of earlier ones that it may use again."""

    indices: Sequence[Any]
    seed: Sequence[int]
    freed: Sequence[int]


class Parcel(NamedTuple):
    """A message from a worker: pickled examples, either in ``body`` or in the arena from ``start`` on."""

    start: int
    sizes: Sequence[int]
    body: bytes | None


class Failure(NamedTuple):
    """A message from a worker: reading an example raised this."""

    error: bytes
    text: str


_HELD = (signal.SIGINT, signal.SIGTERM)
#: A message from a worker: the file of its arena follows.
ARENA = b'arena'
#: A message to a worker: end.
STOP = b''


class WorkerError(Exception):
    """The traceback of an error in a worker process, as the cause of the error in the process that uses it."""

    def __str__(self) -> str:
        return '\n' + str(self.args[0])


def serve(connection: Any, dataset: Any, shared_mem: int | None, inherited: Sequence[Any]) -> None:
    """Answers tasks until there are no more.

    Args:
        connection: where tasks come from and results go to.
        dataset: the dataset.
        shared_mem: number of bytes for each example in the arena; ``None``: as many as needed.
        inherited: connections of other workers, of which a forked process has copies.
    """
    leave_signals_to_the_parent()
    for other in inherited:
        other.close()
    end_with_the_parent()
    sender = _Sender(connection, shared_mem)
    with contextlib.suppress(EOFError, OSError):
        while message := connection.recv_bytes():
            task = pickle.loads(message)
            sender.free(task.freed)
            numpy.random.seed(task.seed)
            random.seed(repr(task.seed))
            sender.send(dataset, task.indices)


@contextlib.contextmanager
def held_signals() -> Iterator[None]:
    """Ctrl-C and SIGTERM wait until the end of the block, and in processes that are started in it, until these call
    :func:`leave_signals_to_the_parent`: before, they would act as in the parent."""
    if not hasattr(signal, 'pthread_sigmask'):  # Windows
        yield
        return
    if multiprocessing.get_start_method() != 'fork':
        # Otherwise it is started with the process, which unblocks the signals.
        multiprocessing.resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_signals_to_the_parent() -> None:
    """Ctrl-C reaches all processes, and SIGTERM often does: the parent, which finishes its work, ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _ignore)  # SIG_IGN would also hold for programs that a dataset starts
    if hasattr(signal, 'pthread_sigmask'):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD)


def end_with_the_parent() -> None:
    """Ends this process when its parent dies, even in the middle of an example.

    The end of a pipe is not enough: processes that the parent has forked later hold it open.
    """
    parent = multiprocessing.parent_process()
    if parent is None or os.name != 'posix':
        return
    spawner = os.getppid()

    def watch() -> None:
        while not multiprocessing.connection.wait([parent.sentinel], timeout=1):
            if os.getppid() != spawner or not _exists(parent.pid):
                break
        os._exit(1)

    threading.Thread(target=watch, name='parent watch', daemon=True).start()


def _exists(pid: int | None) -> bool:
    try:
        os.kill(pid or 0, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _ignore(number: int, frame: Any) -> None:
    """Does nothing."""


class _Sender:
    """Reads examples and sends them, in shared memory if they are large."""

    def __init__(self, connection: Any, shared_mem: int | None) -> None:
        self._connection = connection
        self._shared_mem = shared_mem if _shared_memory.is_available() else 0
        self._arena: _shared_memory.Arena | None = None

    def free(self, starts: Sequence[int]) -> None:
        for start in starts:
            if self._arena is not None:
                self._arena.free(start)

    def send(self, dataset: Any, indices: Sequence[Any]) -> None:
        try:
            buffers: list[pickle.PickleBuffer] = []
            body = pickle.dumps(examples(dataset, indices), 5, buffer_callback=buffers.append)
        except Exception as error:
            self._post(_failure(error))
            return
        pieces = [body, *(buffer.raw() for buffer in buffers)]
        self._post(self._store(pieces, len(indices)) or _small(pieces))

    def _store(self, pieces: Sequence[Any], count: int) -> Parcel | None:
        """Stores the pieces in shared memory, unless they are small, or larger than they may be."""
        size = sum(len(piece) for piece in pieces)
        if size <= _SMALL or (self._shared_mem is not None and size > self._shared_mem * count):
            return None
        try:
            if self._arena is None:
                arena = _shared_memory.Arena()
                self._connection.send_bytes(ARENA)
                arena.send_to_parent(self._connection)
                self._arena = arena
            return Parcel(self._arena.store(pieces), [len(piece) for piece in pieces], None)
        except OSError:  # no space for the file; a broken connection is noticed at the next use
            return None

    def _post(self, message: Parcel | Failure) -> None:
        self._connection.send_bytes(pickle.dumps(message))


def _small(pieces: Sequence[Any]) -> Parcel:
    return Parcel(0, [len(piece) for piece in pieces], b''.join(pieces))


def _failure(error: Exception) -> Failure:
    text = ''.join(traceback.format_exception(type(error), error, error.__traceback__))
    try:
        pickled = pickle.dumps(error)
        pickle.loads(pickled)
    except Exception:
        pickled = pickle.dumps(RuntimeError(f'{type(error).__name__}: {error}'))
    return Failure(pickled, text)


def unpack(parcel: Parcel, arena: _shared_memory.ArenaView | None) -> list[Any]:
    """The examples of a parcel; each array has memory of its own."""
    if parcel.body is None:
        assert arena is not None
        body, *buffers = arena.read(parcel.start, parcel.sizes)
    else:
        ends = list(itertools.accumulate(parcel.sizes, initial=0))
        body, *buffers = (bytearray(parcel.body[a:b]) for a, b in itertools.pairwise(ends))
    examples: list[Any] = pickle.loads(body, buffers=buffers)
    return examples
