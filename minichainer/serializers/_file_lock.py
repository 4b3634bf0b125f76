"""Locks that a process holds until it ends, however it ends."""

from __future__ import annotations

import contextlib
import errno
import os

from minichainer._locks import lock_of

_REFUSED = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
_guard = lock_of(globals(), '_guard')
#: What this process holds: a second lock of the same process would be granted, and end both when it is closed.
_held: dict[tuple[int, str], FileLock] = {}


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
        """Takes the lock unless somebody has it; returns whether it did. After an exception nobody has it.

        Raises:
            OSError: the file cannot be made.
        """
        try:
            return self._acquire()
        except BaseException:  # that of a signal too
            self._release()
            raise

    def _acquire(self) -> bool:
        with _guard:
            key = os.getpid(), self._path
            if key in _held:
                return False
            _held[key] = self  # before the file is locked, so that whatever happens then is undone
            descriptor = self._lock_file()
            if descriptor is None:
                del _held[key]
                return False
        with contextlib.suppress(OSError):  # a full disk
            os.truncate(descriptor, 0)
            os.write(descriptor, str(os.getpid()).encode())
        return True

    def _lock_file(self) -> int | None:
        """Opens and locks the file; None if another process has locked it.

        The descriptor is kept before the file is locked, so that an exception in between leaves no file.
        """
        while True:
            self._descriptor = descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
            is_granted = _is_granted(descriptor)
            # Its holder may have removed the file meanwhile: then there is another one, or none.
            if is_granted and _is_at(descriptor, self._path):
                return descriptor
            self._descriptor = None
            os.close(descriptor)
            if not is_granted:
                return None

    def release(self) -> None:
        """Removes the file, and gives the lock back, even if an exception interrupts that; if this lock has it."""
        try:
            self._release()
        except BaseException:
            self._release()
            raise

    def _release(self) -> None:
        """May be interrupted anywhere, and called again."""
        with _guard:
            key = os.getpid(), self._path
            if _held.get(key) is not self:
                return
            descriptor = self._descriptor
            if descriptor is not None:
                # On Windows, open files cannot be removed. An exception may have come before the file was locked.
                if os.name != 'nt' and _is_granted(descriptor):
                    self._remove(descriptor)
                self._descriptor = None
                os.close(descriptor)
                if os.name == 'nt':
                    self._remove(None)
            del _held[key]

    def _remove(self, descriptor: int | None) -> None:
        """Removes the file, unless it is another one by now."""
        with contextlib.suppress(OSError):
            if descriptor is None or _is_at(descriptor, self._path):
                os.remove(self._path)

    def holder(self) -> str:
        """The number of the process that has the lock, as far as it could write it down; else ``'?'``."""
        if (os.getpid(), self._path) in _held:  # reading the file here would end the lock
            return str(os.getpid())
        try:
            with open(self._path, encoding='ascii', errors='replace') as file:
                return file.read(20).strip() or '?'
        except OSError:
            return '?'


def _is_at(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _is_granted(descriptor: int) -> bool:
    """Locks an open file, which may be locked by this descriptor already; False if another process has locked it."""
    try:
        _lock(descriptor)
    except OSError as error:
        return error.errno not in _REFUSED
    return True


def _lock(descriptor: int) -> None:
    """Locks an open file for this process, not for those that it forks; OSError if another one has."""
    if os.name == 'nt':
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
    else:
        import fcntl

        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
