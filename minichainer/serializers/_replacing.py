"""Writes a file such that its name never refers to an incomplete one."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yields the name of a new file next to ``path``, and moves that file to ``path`` at the end of the block.

    After an exception, even one that interrupts writing, the new file is removed and the old one is unchanged.
    Anything but an ordinary file, such as ``/dev/stdout``, is written directly.

    Raises:
        OSError: the folder does not exist or cannot be written to.
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        yield target
        return
    temporary = _new_file_beside(target)
    try:
        yield temporary
        if os.path.exists(target):
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(temporary)
        raise


def _new_file_beside(target: str) -> str:
    """Makes an empty file with a random name in the same folder."""
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f'.{name}.{secrets.token_hex(8)}.tmp')
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as error:
        text = f'cannot save {name}, nothing was written: {error.strerror} (folder)'
        raise OSError(error.errno, text, folder) from error
    return temporary
