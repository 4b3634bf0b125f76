"""The output folder of a trainer."""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from minichainer.serializers._file_lock import FileLock
from minichainer.serializers._replacing import remove_leftovers

_LOCK = '.training-lock'


def in_own_folder(run: Callable[[Any, bool], None]) -> Callable[..., None]:
    """Runs a trainer in its folder, see :func:`training_folder`; one without extensions writes nothing there."""

    @functools.wraps(run)
    def wrapped(trainer: Any, show_loop_exception_msg: bool = True) -> None:
        with training_folder(trainer.out, is_shared=not trainer._extensions):
            run(trainer, show_loop_exception_msg)

    return wrapped


@contextlib.contextmanager
def training_folder(folder: str, is_shared: bool = False) -> Iterator[None]:
    """Makes the folder, and keeps other trainers out of it until the end of the block.

    Files that a killed run has left half written are removed.

    Args:
        folder: its path.
        is_shared: whether others may use it, because nothing is written.

    Raises:
        OSError: no file can be made in it; names a remedy.
        FolderInUseError: another training that is alive uses it.
    """
    _check_writable(folder)
    if is_shared:
        yield
        return
    lock = FileLock(os.path.join(folder, _LOCK))
    if not lock.acquire():
        raise FolderInUseError(
            f'Trainer: another training (process {lock.holder()}) writes into the folder {os.path.abspath(folder)}: '
            'each would overwrite the files of the other; pass another folder as Trainer(out=...), or wait until it '
            'has ended; nothing was trained'
        )
    try:
        remove_leftovers(folder)
        yield
    finally:
        lock.release()


class FolderInUseError(RuntimeError, OSError):
    """Two trainers were to write into one folder at the same time."""


def _check_writable(folder: str) -> None:
    """Makes the folder; raises an error with a remedy if no file can be made in it."""
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as e:
        raise type(e)(
            e.errno,
            f'Trainer: cannot write into the output folder ({e.strerror}); '
            'pass another folder as Trainer(out=...) or change its permissions; nothing was trained',
            os.path.abspath(folder),
        ) from e
