"""Snapshots as HDF5 files; needs the package h5py."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from minichainer.serializer import DamagedSnapshotError, MissingEntryError, Serializer, check_object, save_any
from minichainer.serializers._deserializer import EntryDeserializer, Strictness, strictness
from minichainer.serializers._entries import Entry
from minichainer.serializers._hdf5_entries import HDF5Entries, h5py_module
from minichainer.serializers._hdf5_trailer import trailer, verify_file
from minichainer.serializers._other_files import about
from minichainer.serializers._reading import reading_error
from minichainer.serializers._replacing import replacing
from minichainer.serializers.npz import array_to_save


class HDF5Serializer(Serializer):
    """Saves into a group of an HDF5 file.

    Args:
        group: a ``h5py.Group`` or ``h5py.File``.
        compression: level of gzip, 0 to 9.

    Raises:
        RuntimeError: h5py is not installed.
    """

    def __init__(self, group: Any, compression: int = 4) -> None:
        h5py_module()
        self.group = group
        self.compression = compression

    def __getitem__(self, key: str) -> HDF5Serializer:
        return HDF5Serializer(self.group.require_group(key.strip('/')), self.compression)

    def __call__(self, key: str, value: Any) -> Any:
        key = key.lstrip('/')
        if value is None:
            self.group.create_dataset(key, data=h5py_module().Empty('f'))
            return value
        array = array_to_save(key, value)
        if array.dtype.kind == 'U':
            self.group.create_dataset(key, data=array.astype(object), dtype=h5py_module().string_dtype())
        else:
            compression = None if array.size <= 1 else self.compression
            in_chunks = True if array.ndim and array.size else None
            self.group.create_dataset(key, data=array, compression=compression, fletcher32=in_chunks)
        return value


def save_hdf5(filename: Any, obj: Any, compression: int = 4, *, durable: bool = True) -> None:
    """Saves an object as an HDF5 file, which Chainer can also load.

    The file is written under a temporary name and then moved, so that an old one is never partly overwritten.

    Args:
        filename: its path.
        obj: a link, optimizer, trainer or any object with a ``serialize`` method, or a dict of arrays by name.
        compression: level of gzip, 0 to 9.
        durable: whether to wait until the file is on the disk, so that it survives a power failure.

    Raises:
        RuntimeError: h5py is not installed.
        OSError: the file cannot be written; names it.
        TypeError: a value cannot be saved.
    """
    check_object('save_hdf5', filename, obj)
    write_hdf5(filename, lambda serializer: save_any(serializer, obj), compression, durable)


def write_hdf5(
    filename: Any, save: Callable[[HDF5Serializer], object], compression: int = 4, durable: bool = True
) -> None:
    """Writes an HDF5 file with its checksums; see :func:`save_hdf5`.

    Args:
        filename: path of the file.
        save: gives everything to a serializer.
        compression: level of gzip, 0 to 9.
        durable: whether to wait until the file is on the disk.
    """
    h5py_module()
    with replacing(filename, durable) as temporary, open(temporary, 'wb') as file:
        file.writelines(_content(save, compression))


def _content(save: Callable[[HDF5Serializer], object], compression: int) -> tuple[bytes, bytes]:
    """The content of an HDF5 file, and its checksums.

    It is made in memory, because an error of the disk in the midst of HDF5 can end the process.
    """
    options = {'driver': 'core', 'backing_store': False, 'block_size': 1 << 20}
    with h5py_module().File('snapshot.h5', 'w', **options) as file:
        save(HDF5Serializer(file, compression))
        file.flush()
        image: bytes = file.id.get_file_image()
        return image, trailer(file, image)


class HDF5Deserializer(EntryDeserializer):
    """Loads from a group of an HDF5 file.

    Args:
        group: a ``h5py.Group`` or ``h5py.File``; None for a group that does not exist.
        strict: whether a missing entry is an error. If not, the value stays unchanged. ``'all'``: so is an entry that
            the object does not ask for. ``'links'``: so is one that a link does not ask for.

    Raises:
        RuntimeError: h5py is not installed.
        ValueError: ``strict`` is another text, or the file is closed.
    """

    def __init__(self, group: Any, strict: Strictness = True) -> None:
        h5py_module()
        self.group = group
        self.strict = strictness(strict)
        self._path = ''
        if group is not None and not group:
            raise ValueError('HDF5Deserializer: the file is closed: load within the with block that opens it')
        self._entries = None if group is None else HDF5Entries(group.file)
        self.allowance = None if self._entries is None else self._entries.allowance

    def __getitem__(self, key: str) -> HDF5Deserializer:
        name = key.strip('/')
        found = None if self._entries is None else self._entries.at(self.group, name, self._path + name)
        part = HDF5Deserializer(None, self.strict)
        part.group = found if isinstance(found, h5py_module().Group) else None
        part._path, part._entries = f'{self._path}{name}/', self._entries
        self._share_with(part)
        return part

    def _missing(self, key: str, value: Any) -> MissingEntryError:
        if self.group is None and self._findings is None:
            return MissingEntryError(f'Inexistent group is specified: {self._path or "None"}')
        return super()._missing(key, value)

    def full_name(self, key: str) -> str:
        return self._path + key.lstrip('/')

    def find(self, key: str) -> Entry | None:
        if self._entries is None:
            return None
        name = self.full_name(key)
        dataset = self._entries.at(self.group, key, name)
        return self._entries.entry(dataset, name) if isinstance(dataset, h5py_module().Dataset) else None

    def names(self) -> Iterable[str]:
        return [] if self._entries is None else [name for name, _ in self._entries.names(self.group, self._path)]

    def damages(self) -> Iterator[DamagedSnapshotError]:
        if self._entries is not None:
            yield from self._entries.damages(self.group, self._path)


def load_hdf5(filename: Any, obj: Any, *, strict: Strictness = True) -> None:
    """Loads an object from an HDF5 file written here or by Chainer.

    The object is loaded as a whole or not at all: after an error it has the state that it had before. The file may
    contain more than the object, see :func:`load_npz`.

    Args:
        filename: its path.
        obj: a link, optimizer, trainer or any object with a ``serialize`` method; changed in place.
        strict: whether missing entries are errors. If not, these values stay unchanged, which is told by ``logging``.
            ``'all'``: entries that the object does not ask for are also errors. ``'links'``: only those that are left
            by links, not by an optimizer or trainer.

    Raises:
        RuntimeError: h5py is not installed.
        DamagedSnapshotError: the file or entries are damaged; all are named.
        MissingEntryError: entries are missing; all are named.
        SnapshotError: entries do not fit; all are named.
        ValueError: ``strict`` is another text.
        OSError: the file cannot be read.
    """
    check_object('load_hdf5', filename, obj)
    with open_hdf5(filename) as file:
        HDF5Deserializer(file, strict).load(obj)


def open_hdf5(filename: Any) -> Any:
    """Opens an HDF5 file for reading, once its checksums are verified.

    Args:
        filename: path of the file.

    Raises:
        RuntimeError: h5py is not installed.
        DamagedSnapshotError: the file is damaged.
        OSError: the file cannot be read.
    """
    h5py = h5py_module()
    verify_file(filename)
    try:
        return h5py.File(filename, 'r')
    except (TypeError, AttributeError):  # not a path
        raise
    except Exception as error:
        damage = f'{os.fspath(filename)} is damaged, cut short, or no HDF5 file: nothing was loaded'
        raise reading_error(filename, error, damage, about(filename)) from error
