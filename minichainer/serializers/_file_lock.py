"""Locks that a process holds until it ends, however it ends."""

from __future__ import annotations

import contextlib
import errno
import os

from minichainer._locks import lock_of

_REFUSED = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
_guard = lock_of(globals(), '_guard')
#: What this process holds: a second lock of the same process would be granted, and end both when it is closed.
_held: set[tuple[int, str]] = set()


class FileLock:
    """A lock on a file, which is made if need be, and removed on release.

    The operating system frees it when the process dies. Processes that were forked do not hold it, so workers that
    outlive their parent do not either. Where the file system has no locks, it is always granted.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, 'lock')
    ...     first, second = FileLock(path), FileLock(path)
    ...     first.acquire(), second.acquire(), os.listdir(folder)
    ...     first.release()
    ...     second.acquire()
    ...     second.release()
    (True, False, ['lock'])
    True

    Args:
        path: the file; its folder must exist.
    """

    def __init__(self, path: str) -> None:
        self._path = os.path.realpath(path)
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Takes the lock unless somebody has it; returns whether it did.

        Raises:
            OSError: the file cannot be made.
        """
        with _guard:
            key = os.getpid(), self._path
            if key in _held:
                return False
            self._descriptor = _locked(self._path)
            if self._descriptor is None:
                return False
            _held.add(key)
        with contextlib.suppress(OSError):  # a full disk
            os.truncate(self._descriptor, 0)
            os.write(self._descriptor, str(os.getpid()).encode())
        return True

    def release(self) -> None:
        """Removes the file, and gives the lock back."""
        with _guard:
            descriptor, self._descriptor = self._descriptor, None
            if descriptor is None:
                return
            if os.name == 'nt':  # where open files cannot be removed
                os.close(descriptor)
            with contextlib.suppress(OSError):
                os.remove(self._path)
            if os.name != 'nt':
                os.close(descriptor)
            _held.discard((os.getpid(), self._path))

    def holder(self) -> str:
        """The number of the process that has the lock, as far as it could write it down; else ``'?'``."""
        if (os.getpid(), self._path) in _held:  # reading the file here would end the lock
            return str(os.getpid())
        try:
            with open(self._path, encoding='ascii', errors='replace') as file:
                return file.read(20).strip() or '?'
        except OSError:
            return '?'


def _locked(path: str) -> int | None:
    """Opens and locks a file; None if another process has locked it."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(descriptor)
            # Its holder may have removed the file meanwhile: then there is another one, or none.
            if _is_at(descriptor, path):
                return descriptor
        except OSError as error:
            if error.errno not in _REFUSED:
                return descriptor
            os.close(descriptor)
            return None
        os.close(descriptor)


def _is_at(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _lock(descriptor: int) -> None:
    """Locks an open file for this process, not for those that it forks; OSError if another one has."""
    if os.name == 'nt':
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
    else:
        import fcntl

        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
