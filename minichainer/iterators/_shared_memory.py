"""Memory that a worker process fills and its parent reads: a file without a name, so nothing can be left behind."""

from __future__ import annotations

import mmap
import os
import socket
import tempfile
from collections.abc import Sequence
from typing import Any

#: Arenas grow in steps of this many bytes; pages that are never written take no memory.
_STEP = 1 << 20


def is_available() -> bool:
    """Whether processes can hand over open files, as they can where there are Unix sockets."""
    return hasattr(socket, 'send_fds')


class Arena:
    """The worker's side: stores pieces of memory, and frees them when the parent says so."""

    def __init__(self) -> None:
        self._file = _nameless_file()
        self._memory: mmap.mmap | None = None
        self._used: dict[int, int] = {}

    def send_to_parent(self, connection: Any) -> None:
        """Hands over the file itself; once is enough, since it stays the same when it grows."""
        with _as_socket(connection) as channel:
            socket.send_fds(channel, [b'.'], [self._file])

    def store(self, pieces: Sequence[Any]) -> int:
        """Copies flat pieces of memory into the arena, one after the other; returns where the first one begins."""
        size = sum(len(piece) for piece in pieces)
        start = at = self._find(size)
        memory = self._grown_to(start + size)
        for piece in pieces:
            memory[at : at + len(piece)] = piece
            at += len(piece)
        self._used[start] = size
        return start

    def free(self, start: int) -> None:
        """Lets later pieces use the space of those that begin here."""
        del self._used[start]

    def _find(self, size: int) -> int:
        """The first gap that is large enough, or the end."""
        at = 0
        for start in sorted(self._used):
            if start - at >= size:
                return at
            at = start + self._used[start]
        return at

    def _grown_to(self, size: int) -> mmap.mmap:
        if self._memory is None or len(self._memory) < size:
            size = -(-size // _STEP) * _STEP
            _reserve(self._file, size)
            self._memory = mmap.mmap(self._file, size)
        return self._memory


class ArenaView:
    """The parent's side: copies pieces out."""

    def __init__(self, connection: Any) -> None:
        with _as_socket(connection) as channel:
            _, files, _, _ = socket.recv_fds(channel, 1, 1)
        if not files:
            raise EOFError
        self._file = files[0]
        self._memory: mmap.mmap | None = None

    def read(self, start: int, sizes: Sequence[int]) -> list[bytearray]:
        """Copies of pieces that were stored together."""
        end = start + sum(sizes)
        if self._memory is None or len(self._memory) < end:
            self._memory = mmap.mmap(self._file, os.fstat(self._file).st_size)
        copies = []
        with memoryview(self._memory) as memory:
            for size in sizes:
                copies.append(bytearray(memory[start : start + size]))
                start += size
        return copies

    def close(self) -> None:
        """Gives the memory back."""
        if self._memory is not None:
            self._memory.close()
        os.close(self._file)


def _as_socket(connection: Any) -> socket.socket:
    channel = socket.socket(fileno=os.dup(connection.fileno()))
    channel.setblocking(True)  # a default timeout of the program would change the connection too
    return channel


def _nameless_file() -> int:
    if hasattr(os, 'memfd_create'):
        return os.memfd_create('minichainer')
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _reserve(file: int, size: int) -> None:
    """Makes a file longer; raises OSError if there is no space, which would be a bus error at the first write."""
    if hasattr(os, 'posix_fallocate') and not hasattr(os, 'memfd_create'):
        os.posix_fallocate(file, 0, size)
    else:
        os.ftruncate(file, size)
