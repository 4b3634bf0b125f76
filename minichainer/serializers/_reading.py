"""Errors of reading: a disk that fails is an OSError, anything else that a file makes a reader raise is damage."""

from __future__ import annotations

import errno
import re
from typing import Any

from minichainer.serializer import DamagedSnapshotError, SnapshotError

_ERRNO = re.compile(r'errno = (\d+)')


def reading_error(file: Any, error: Exception, damage: str, remedy: str = '') -> Exception:
    """The exception to raise instead of one that a reader has raised.

    Readers of damaged files raise nearly everything, of hostile ones as well.

    Args:
        file: the name of the file.
        error: what was raised.
        damage: what to say if the file is damaged.
        remedy: what to add then.
    """
    if isinstance(error, (SnapshotError, MemoryError)):
        return error
    number = _number(error) if isinstance(error, OSError) else None
    # Readers get EINVAL when damaged files send them to places before their beginning.
    if number in (None, 0, errno.EINVAL):
        return DamagedSnapshotError(f'{damage} ({error or type(error).__name__}){remedy}')
    assert isinstance(error, OSError)
    return OSError(number, f'cannot read {file}, nothing was loaded: {error.strerror or error}', str(file))


def _number(error: OSError) -> int | None:
    """The number of the error, which h5py gives in the text."""
    if error.errno is not None:
        return error.errno
    found = _ERRNO.search(str(error))
    return int(found[1]) if found else None
