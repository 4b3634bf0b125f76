"""Opens files by what is in them, not by how they are called."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from minichainer.compat.files.caffe import caffe_entries
from minichainer.compat.files.pickles import pickled_entries
from minichainer.compat.files.safetensors import read_safetensors
from minichainer.serializer import SnapshotError
from minichainer.serializers._deserializer import EntryDeserializer
from minichainer.serializers._npz_file import NpzFile
from minichainer.serializers._other_files import foreign_start, is_torch
from minichainer.serializers.hdf5 import HDF5Deserializer, open_hdf5
from minichainer.serializers.npz import NpzDeserializer

_HDF5 = b'\x89HDF\r\n\x1a\n'
#: How files begin.
_BEGINNINGS = {b'PK\x03\x04': 'npz', b'PK\x05\x06': 'npz', _HDF5: 'h5', b'\x93NUMPY': 'npy', b'\x80': 'pickle'}
#: What to do with files of other kinds.
_ADVICE = {
    'npy': 'this is a single array (.npy): numpy.load(file) reads it',
    'unknown': 'expected a .npz, .h5, .safetensors, .caffemodel or pickle file',
}


def format_of(path: str | os.PathLike[str]) -> str:
    """The format of a file: ``npz``, ``h5``, ``safetensors``, ``pickle``, ``caffemodel``, ``npy`` or ``unknown``.

    A file of Caffe is known by its suffix, because its beginning is not.

    Args:
        path: the file.

    Raises:
        OSError: it cannot be read.
    """
    with open(path, 'rb') as file:
        start = file.read(16)
        for beginning, name in _BEGINNINGS.items():
            if start.startswith(beginning):
                return name
        if start[8:9] == b'{' and int.from_bytes(start[:8], 'little') <= os.path.getsize(path):
            return 'safetensors'
        if start[:1] in b'(c' and start:
            return 'pickle'  # protocol 0, of Python 2
        file.seek(512)
        if file.read(8) == _HDF5:
            return 'h5'
    return 'caffemodel' if os.fspath(path).endswith('.caffemodel') else 'unknown'


@contextlib.contextmanager
def opened(path: str | os.PathLike[str], unsafe: bool = False) -> Iterator[tuple[str, EntryDeserializer]]:
    """The format of a file, and a lenient deserializer of its entries.

    Args:
        path: the file.
        unsafe: whether pickles are accepted.

    Raises:
        SnapshotError: it is damaged, of an unknown format, or a pickle although ``unsafe`` is not set.
        RuntimeError: a library is not installed.
    """
    kind = format_of(path)
    if kind == 'npz':
        with NpzFile(os.fspath(path)) as npz:
            yield kind, NpzDeserializer(npz, strict=False)
    elif kind == 'h5':
        with open_hdf5(path) as file:
            yield kind, HDF5Deserializer(file, strict=False)
    elif kind == 'safetensors':
        yield kind, NpzDeserializer(read_safetensors(path), strict=False)
    elif kind == 'caffemodel':
        yield kind, NpzDeserializer(caffe_entries(path), strict=False)
    elif kind == 'pickle':
        _refuse_torch(path)
        entries, _ = pickled_entries(path, unsafe)
        yield kind, NpzDeserializer(entries, strict=False)
    else:
        raise SnapshotError(f'{os.fspath(path)}: {_ADVICE[kind]}')


def _refuse_torch(path: str | os.PathLike[str]) -> None:
    """Raises SnapshotError for a file of torch that is a pickle: its arrays are outside of it."""
    with open(path, 'rb') as file:
        start = file.read(16)
    if is_torch(start):
        raise SnapshotError(f'nothing was loaded: {os.fspath(path)} {foreign_start(start)}')
