"""The output folder of a trainer."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable
from typing import Any

from minichainer.errors import FolderInUseError
from minichainer.serializers._file_lock import FileLock
from minichainer.serializers._replacing import remove_leftovers

_LOCK = '.training-lock'


def in_own_folder(run: Callable[[Any, bool], None]) -> Callable[..., None]:
    """Runs a trainer in its folder, see :func:`call_in_folder`; one without extensions writes nothing there."""

    @functools.wraps(run)
    def wrapped(trainer: Any, show_loop_exception_msg: bool = True) -> None:
        call = functools.partial(run, trainer, show_loop_exception_msg)
        call_in_folder(trainer.out, call, is_shared=not trainer._extensions)

    return wrapped


def call_in_folder(folder: str, call: Callable[[], None], is_shared: bool = False) -> None:
    """Makes the folder, and keeps other trainers out of it during a call.

    Files that a killed run has left half written are removed. This is not a context manager: the end of one may be
    interrupted before its first line, and the folder would stay locked.

    Args:
        folder: its path.
        call: what is called.
        is_shared: whether others may use it, because nothing is written.

    Raises:
        OSError: no file can be made in it; names a remedy.
        FolderInUseError: another training that is alive uses it.
    """
    _check_writable(folder)
    if is_shared:
        call()
        return
    lock = FileLock(os.path.join(folder, _LOCK))
    try:
        if not lock.acquire():
            raise _in_use(folder, lock.holder())
        remove_leftovers(folder)
        call()
    finally:
        try:
            lock.release()
        except BaseException:  # that of a signal, before the first line of ``release``
            lock.release()
            raise


def _in_use(folder: str, holder: str) -> FolderInUseError:
    return FolderInUseError(
        f'Trainer: another training (process {holder}) writes into the folder {os.path.abspath(folder)}: '
        'each would overwrite the files of the other; pass another folder as Trainer(out=...), or wait until it '
        'has ended; nothing was trained'
    )


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
