"""Locks between processes, and between threads."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator

_UNSUPPORTED = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}

if sys.platform == 'win32':
    import msvcrt

    def _lock(descriptor: int) -> None:
        while True:
            with contextlib.suppress(OSError):  # raised after ten seconds
                msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
                return

    def _unlock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise

    def _unlock(descriptor: int) -> None:
        # Closing is not enough if a process that was forked in the meantime has the file, too.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextlib.contextmanager
def file_lock(path: str) -> Iterator[None]:
    """Waits until nobody else holds the lock ``path``, and holds it. A process that dies loses it.

    The file exists only while somebody holds the lock or waits. Some network file systems have no locks; there, all
    go on at once.
    """
    descriptor = _acquire(path)
    try:
        yield
    finally:
        try:
            # The file goes first: who opened it before, and gets the lock after, sees that it is not the current one.
            with contextlib.suppress(OSError):  # Windows does not remove open files
                os.unlink(path)
            _unlock(descriptor)
        finally:  # an interrupt must not leave the lock, which this process itself would wait for
            os.close(descriptor)


def _acquire(path: str) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(descriptor)
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
