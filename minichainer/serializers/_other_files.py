"""Files of other formats and frameworks: what they are, and what reads them."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable
from typing import Any

_TORCH = (
    'is a file of torch: where torch is installed, read it by state = torch.load(path, weights_only=True), then take '
    "the arrays one by one, such as model.fc.W.array[...] = state['fc.weight'].numpy()"
)
_KERAS = (
    'is a file of Keras: where Keras is installed, take the arrays of keras.saving.load_model(path) one by one, '
    'such as model.fc.W.array[...] = layer.get_weights()[0].T'
)
#: How files of torch began before version 1.6: a number in a pickle.
_FIRST_TORCH = b'\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.'
_BY_START = {
    _FIRST_TORCH: _TORCH,
    b'\x89HDF\r\n\x1a\n': 'is an HDF5 file: write serializers.load_hdf5(path, obj)',
    b'PK\x03\x04': 'is an npz file: write serializers.load_npz(path, obj)',
    b'\x93NUMPY': 'is a single array: write numpy.load(path)',
    b'\x1f\x8b': 'is compressed by gzip: unpack it first',
    b'\x80': 'is a pickle: if you trust it, write minichainer.compat.files.load(path, obj, unsafe=True)',
}
_SAFETENSORS = 'is a safetensors file: write minichainer.compat.files.load(path, obj)'


def foreign_start(start: bytes) -> str:
    """What a file is, judged by its first 16 bytes, and what reads it; empty if that is not known.

    Args:
        start: these bytes.
    """
    for known, text in _BY_START.items():
        if start.startswith(known):
            return text
    return _SAFETENSORS if start[8:9] == b'{' else ''


def foreign_archive(names: Iterable[str]) -> str:
    """What an archive is if another framework has written it, and what reads it; else empty.

    Args:
        names: the names of its members.
    """
    last = {name.rpartition('/')[2] for name in names}
    if {'data.pkl', 'version'} <= last:
        return _TORCH
    return _KERAS if {'config.json', 'metadata.json'} <= last else ''


def is_torch(start: bytes) -> bool:
    """Whether a pickle begins as files of torch did before version 1.6."""
    return start.startswith(_FIRST_TORCH)


def about(file: Any) -> str:
    """``'; it is ...'`` for a path of a file that is of another kind than its reader expects; else empty."""
    try:
        with open(os.fspath(file), 'rb') as opened:
            found = foreign_start(opened.read(16))
            if zipfile.is_zipfile(opened):
                found = foreign_archive(zipfile.ZipFile(opened).namelist()) or found
    except Exception:  # of a damaged archive, zipfile raises nearly everything
        return ''
    return found and f'; it {found}'
