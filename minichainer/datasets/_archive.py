"""Arrays in Chainer's folders: ``pfnet/chainer/NAME/FILE.npz`` in the dataset root."""

from __future__ import annotations

import contextlib
import os
import pickle
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy

from minichainer.dataset.download import cache_or_load_file, cached_file, get_dataset_directory

Arrays: TypeAlias = dict[str, numpy.ndarray]
#: What reading files of a wrong format raises.
_BROKEN = (
    EOFError,
    KeyError,
    TypeError,
    ValueError,
    pickle.UnpicklingError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)


def arrays(name: str, folder: str, file: str, keys: tuple[str, ...], make: Callable[[], Arrays]) -> Arrays:
    """The arrays of a file in a folder; the file is made if it is not there.

    Args:
        name: function that the user called.
        folder: folder below ``pfnet/chainer``.
        file: name of the file.
        keys: names of the arrays.
        make: function that downloads them.
    """
    path = os.path.join(get_dataset_directory(f'pfnet/chainer/{folder}', create_directory=False), file)

    def create(part: str) -> Arrays:
        with with_remedy(name, path):
            made = make()
        numpy.savez_compressed(part, **made)  # type: ignore[arg-type]
        return made

    def load(path: str) -> Arrays:
        with reading(name, path), open(path, 'rb') as file, numpy.load(file, allow_pickle=False) as archive:
            return {key: archive[key] for key in keys}

    found: Arrays = cache_or_load_file(path, create, load)
    return found


@contextlib.contextmanager
def with_remedy(name: str, path: str) -> Iterator[None]:
    """Names the function and the file that is to be made in errors about downloads."""
    try:
        yield
    except OSError as error:
        raise OSError(f'{name}: {error}. Or copy {path} from another computer') from error


@contextlib.contextmanager
def reading(name: str, path: str) -> Iterator[None]:
    """Names the file in errors about what it contains."""
    try:
        yield
    except _BROKEN as error:
        raise OSError(
            f'{name}: {path} is broken ({type(error).__name__}: {error}); delete it, and it is made anew'
        ) from error


def source(name: str, urls: list[str], checksum: str | None, read: Callable[[str], Any]) -> Any:
    """What ``read`` finds in a file that is downloaded."""
    path = cached_file(urls, checksum)
    with reading(name, path):
        try:
            return read(path)
        except OSError as error:  # of gzip, without the name of the file
            raise ValueError(error) from error
