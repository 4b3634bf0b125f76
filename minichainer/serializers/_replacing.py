"""Writes a file such that its name never refers to an incomplete one, whatever happens to process, disk or power."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator

from minichainer.serializers._file_lock import FileLock

#: Folders of files that are being written, and what earlier versions wrote beside the file.
_FOLDER = '.writing-'
_OLD_FILE = re.compile(r'\..+\.[0-9a-f]{16}\.tmp')
_LOCK = '.lock'
_cleaned: set[str] = set()


class _Part(str):
    """The path of a file that is being written, and gets its name when it is complete."""

    __slots__ = ()


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], durable: bool = True) -> Iterator[str]:
    """Yields the name of a new file, and moves that file to ``path`` at the end of the block.

    The new file is in a folder of its own next to ``path`` and has the same name, because some functions choose the
    format by the suffix. After an exception, even one that interrupts writing, it is removed and the old one is
    unchanged; what a killed process has left behind is removed when the first file is written to the same folder.
    Anything but an ordinary file, such as ``/dev/stdout``, is written directly, and so is a name that another
    ``replacing`` has yielded.

    Args:
        path: the file.
        durable: whether to wait until the file is on the disk, so that it survives a power failure.

    Raises:
        OSError: the file cannot be written; names it.
    """
    target = os.path.realpath(path)
    with _errors_that_name(str(path)):
        if isinstance(path, _Part) or (os.path.exists(target) and not os.path.isfile(target)):
            yield str(path)
            return
        folder, name = os.path.split(target)
        with _own_folder(folder) as own:
            part = _Part(os.path.join(own, name))
            yield part
            written = _written(part, own)
            if os.path.exists(target):
                shutil.copymode(target, written)
            if durable:
                _sync(written)
            os.replace(written, target)
        if durable:
            _sync(folder)


@contextlib.contextmanager
def _errors_that_name(path: str) -> Iterator[None]:
    """Says in each OSError which file could not be written, if the error does not name another one."""
    target = os.path.realpath(path)
    try:
        yield
    except OSError as error:
        named = '' if error.filename is None else str(error.filename)
        if named and _FOLDER not in named and named not in (path, target, os.path.dirname(target)):
            raise
        text = f'cannot save {os.path.basename(path)}, nothing was written: {error.strerror or error}'
        if error.errno is not None:
            raise OSError(error.errno, text, path) from error
        if type(error) is OSError:
            raise OSError(f'{text} ({path})') from error
        raise


@contextlib.contextmanager
def _own_folder(beside: str) -> Iterator[str]:
    """Makes a folder, and removes it at the end; a lock in it tells that its process is alive."""
    if beside not in _cleaned:
        _cleaned.add(beside)
        remove_leftovers(beside)
    while True:
        own = os.path.join(beside, _FOLDER + secrets.token_hex(8))
        lock = FileLock(os.path.join(own, _LOCK))
        try:
            try:
                is_made = _is_made(own, lock)
                if is_made:
                    yield own
            finally:
                _remove(own, lock)
        except BaseException:  # that of a signal, before the first line of ``_remove``
            _remove(own, lock)
            raise
        if is_made:
            return


def _is_made(own: str, lock: FileLock) -> bool:
    """Makes a folder with a lock; False if another process has taken it for one of the dead, before it was locked."""
    os.mkdir(own)
    try:
        return lock.acquire()
    except FileNotFoundError:
        return False


def _remove(own: str, lock: FileLock) -> None:
    """Removes a folder with its lock, even if an exception interrupts that."""
    try:
        lock.release()
        _remove_folder(own)
    except BaseException:
        lock.release()
        _remove_folder(own)
        raise


def _remove_folder(own: str) -> None:
    """Removes a folder, by two means: an empty one even where it cannot be opened."""
    with contextlib.suppress(OSError):
        os.rmdir(own)
    shutil.rmtree(own, ignore_errors=True)


def _written(part: str, folder: str) -> str:
    """The file that was written: some functions, such as ``numpy.savez``, append a suffix to its name."""
    found = [name for name in os.listdir(folder) if name != _LOCK]
    return os.path.join(folder, found[0]) if len(found) == 1 and not os.path.exists(part) else part


def _sync(path: str) -> None:
    """Waits until a file, or the names in a folder, are on the disk."""
    is_folder = os.path.isdir(path)
    if is_folder and os.name == 'nt':
        return
    descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
    try:
        # Some file systems cannot do that with folders.
        with contextlib.suppress(OSError) if is_folder else contextlib.nullcontext():
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(folder: str) -> list[str]:
    """Removes what killed processes have left behind while they wrote to a folder.

    Args:
        folder: the folder.

    Returns:
        The names of the removed files and folders.
    """
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [name for name in names if _is_removed(folder, name)]


def _is_removed(folder: str, name: str) -> bool:
    """Removes one of them, if it is one."""
    path = os.path.join(folder, name)
    try:
        if _OLD_FILE.fullmatch(name):
            os.remove(path)
        elif not name.startswith(_FOLDER) or not os.path.isdir(path):
            return False
        else:
            lock = FileLock(os.path.join(path, _LOCK))
            try:
                if not lock.acquire():
                    return False
                shutil.rmtree(path, ignore_errors=True)
            finally:
                lock.release()
    except OSError:
        return False
    return not os.path.exists(path)
