"""Snapshots as HDF5 files; needs the package h5py."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy

from minichainer.serializer import Serializer, SnapshotError, check_object
from minichainer.serializers._entries import Allowance, Entry, EntryDeserializer
from minichainer.serializers._replacing import replacing
from minichainer.serializers.npz import array_to_save

#: Overhead of HDF5 besides the array itself: unused space in its last chunk, checksums.
_PAGE = 1 << 20
#: Approximate memory of a text as a Python object.
_TEXT_OBJECT = 64


def _h5py() -> Any:
    """The module h5py, imported when first needed."""
    try:
        import h5py
    except ImportError as error:
        raise RuntimeError(
            'HDF5 files need h5py, which is not installed: pip install minichainer[hdf5].\n\n  $ pip install h5py'
        ) from error
    return h5py


class HDF5Serializer(Serializer):
    """Saves into a group of an HDF5 file.

    Args:
        group: a ``h5py.Group`` or ``h5py.File``.
        compression: level of gzip, 0 to 9.

    Raises:
        RuntimeError: h5py is not installed.
    """

    def __init__(self, group: Any, compression: int = 4) -> None:
        _h5py()
        self.group = group
        self.compression = compression

    def __getitem__(self, key: str) -> HDF5Serializer:
        return HDF5Serializer(self.group.require_group(key.strip('/')), self.compression)

    def __call__(self, key: str, value: Any) -> Any:
        key = key.lstrip('/')
        if value is None:
            self.group.create_dataset(key, data=_h5py().Empty('f'))
            return value
        array = array_to_save(key, value)
        if array.dtype.kind == 'U':
            self.group.create_dataset(key, data=array.astype(object), dtype=_h5py().string_dtype())
        else:
            compression = None if array.size <= 1 else self.compression
            self.group.create_dataset(key, data=array, compression=compression)
        return value


def save_hdf5(filename: Any, obj: Any, compression: int = 4) -> None:
    """Saves an object as an HDF5 file, which Chainer can also load.

    The file is written under a temporary name and then moved, so that an old one is never partly overwritten.

    Args:
        filename: its path.
        obj: a link, optimizer, trainer or any object with a ``serialize`` method.
        compression: level of gzip, 0 to 9.

    Raises:
        RuntimeError: h5py is not installed.
        OSError: the file cannot be written.
        TypeError: a value cannot be saved.
    """
    check_object('save_hdf5', filename, obj)
    h5py = _h5py()
    with replacing(filename) as temporary, h5py.File(temporary, 'w') as file:
        HDF5Serializer(file, compression).save(obj)


class HDF5Deserializer(EntryDeserializer):
    """Loads from a group of an HDF5 file.

    Args:
        group: a ``h5py.Group`` or ``h5py.File``; None for a group that does not exist.
        strict: whether a missing entry is an error. If not, the value stays unchanged.

    Raises:
        RuntimeError: h5py is not installed.
    """

    def __init__(self, group: Any, strict: bool = True) -> None:
        _h5py()
        self.group = group
        self.strict = strict
        self._path = ''
        self.allowance = None if group is None else Allowance(group.file.id.get_filesize())

    def __getitem__(self, key: str) -> HDF5Deserializer:
        name = key.strip('/')
        group = None if self.group is None else self.group.get(name)
        part = HDF5Deserializer(group if isinstance(group, _h5py().Group) else None, self.strict)
        part._path = f'{self._path}{name}/'
        part.allowance = self.allowance
        return part

    def __call__(self, key: str, value: Any) -> Any:
        if self.group is None and self.strict:
            raise SnapshotError(f'Inexistent group is specified: {self._path or "None"}')
        return super().__call__(key, value)

    def full_name(self, key: str) -> str:
        return self._path + key.lstrip('/')

    def find(self, key: str) -> Entry | None:
        dataset = None if self.group is None else self.group.get(key.lstrip('/'))
        if dataset is None or not isinstance(dataset, _h5py().Dataset):
            return None
        name = self.full_name(key)
        if dataset.shape is not None:
            self._check_stored(name, dataset)
        if _h5py().check_string_dtype(dataset.dtype) is not None and dataset.dtype.kind == 'O':
            return Entry(name, dataset.shape, numpy.dtype(str), lambda: self._read_texts(name, dataset))
        if dataset.dtype.hasobject:
            raise SnapshotError(f'{name}: contains Python objects or references, which are not loaded')
        return Entry(name, dataset.shape, dataset.dtype, lambda: numpy.asarray(dataset[()]), self.allowance)

    def _check_stored(self, name: str, dataset: Any) -> None:
        """Rejects datasets that HDF5 would unpack to far more than the size of the array."""
        nbytes = dataset.size * dataset.dtype.itemsize
        properties = dataset.id.get_create_plist()
        filters = [properties.get_filter(i)[0] for i in range(properties.get_nfilters())]
        if len(filters) != len(set(filters)) or dataset.id.get_storage_size() > 2 * nbytes + _PAGE:
            raise SnapshotError(f'{name}: this entry is damaged (packed in an unusual way)')
        chunk = math.prod(dataset.chunks or (0,)) * dataset.dtype.itemsize
        if chunk > nbytes + _PAGE and self.allowance is not None:
            self.allowance.take(f'{name} (a chunk)', chunk)

    def _read_texts(self, name: str, dataset: Any) -> Any:
        """An array of texts, whose memory is counted."""
        if self.allowance is not None:
            self.allowance.take(name, dataset.size * _TEXT_OBJECT)
        texts = dataset.asstr()[()]
        longest = max(map(len, numpy.ravel(numpy.asarray(texts, dtype=object))), default=0)
        if self.allowance is not None and dataset.size > 1:
            self.allowance.take(f'{name} (padded)', dataset.size * longest * numpy.dtype('U1').itemsize)
        return numpy.asarray(texts, dtype=str)

    def names(self) -> Iterable[str]:
        names: list[str] = []
        dataset_class = _h5py().Dataset

        def note(name: str, item: Any) -> None:
            if isinstance(item, dataset_class):
                names.append(self._path + name)

        if self.group is not None:
            self.group.visititems(note)
        return names


def load_hdf5(filename: Any, obj: Any) -> None:
    """Loads an object from an HDF5 file written here or by Chainer. A link is loaded as a whole or not at all.

    Args:
        filename: its path.
        obj: a link, optimizer, trainer or any object with a ``serialize`` method; changed in place.

    Raises:
        RuntimeError: h5py is not installed.
        SnapshotError: the file is damaged, or entries do not fit; all are named.
        OSError: the file cannot be read.
    """
    check_object('load_hdf5', filename, obj)
    h5py = _h5py()
    try:
        file = h5py.File(filename, 'r')
    except OSError as error:
        if error.errno is not None:
            raise
        raise SnapshotError(
            f'{filename} is not an HDF5 file, or is cut short ({error}): nothing was loaded'
        ) from error
    with file:
        HDF5Deserializer(file).load(obj)
