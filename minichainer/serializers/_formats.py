"""Tells the format of a snapshot by its first bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minichainer.serializer import DamagedSnapshotError
from minichainer.serializers.hdf5 import load_hdf5
from minichainer.serializers.npz import load_npz

_LOADERS: dict[bytes, Callable[..., None]] = {b'PK\x03\x04': load_npz, b'\x89HDF\r\n\x1a\n': load_hdf5}


def load_any(path: str, obj: Any) -> None:
    """Loads an object from a file of either format, which must not contain more of a link than the object has.

    A training that finds its file by itself goes on with it only if the model fits exactly: nobody chose the file.
    It may have lost an extension since then, or got another optimizer that keeps less, which is told by ``logging``.

    Args:
        path: the file.
        obj: any object with a ``serialize`` method.

    Raises:
        DamagedSnapshotError: the file is damaged, or of neither format.
        SnapshotError: entries do not fit; all are named.
        OSError: the file cannot be read.
    """
    load = loader_of(path)
    if load is None:
        raise DamagedSnapshotError(
            f'{path} begins neither like a .npz file nor like an HDF5 file: it is damaged, or of another format'
        )
    load(path, obj, strict='links')


def loader_of(path: str) -> Callable[..., None] | None:
    """The function that loads files of the format of a file; None if it is of another format."""
    with open(path, 'rb') as file:
        start = file.read(8)
    return next((load for magic, load in _LOADERS.items() if start.startswith(magic)), None)
