"""Files of the format safetensors, which other frameworks read; needs the package of this name."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from typing import Any

import numpy

from minichainer.serializer import SnapshotError
from minichainer.serializers._replacing import replacing


def _library() -> Any:
    try:
        return importlib.import_module('safetensors.numpy')
    except ImportError as error:
        text = 'safetensors files need safetensors, which is not installed: pip install safetensors'
        raise RuntimeError(text) from error


def read_safetensors(path: str | os.PathLike[str]) -> dict[str, Any]:
    """All arrays of a file.

    Args:
        path: the file.

    Raises:
        SnapshotError: it is damaged.
        RuntimeError: safetensors is not installed.
    """
    library = _library()
    try:
        return dict(library.load_file(os.fspath(path)))
    except Exception as error:
        raise SnapshotError(f'{os.fspath(path)}: this safetensors file is damaged ({error})') from error


def write_safetensors(path: str | os.PathLike[str], arrays: Mapping[str, Any], metadata: Mapping[str, str]) -> None:
    """Writes arrays.

    Args:
        path: the file.
        arrays: by name.
        metadata: texts by name.

    Raises:
        RuntimeError: safetensors is not installed.
    """
    library = _library()
    contiguous = {name: numpy.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
    with replacing(path) as temporary:
        library.save_file(contiguous, temporary, dict(metadata))
