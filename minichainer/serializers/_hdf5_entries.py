"""Finds, checks and reads the entries of HDF5 files, which may be damaged or made to do harm."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import numpy

from minichainer.serializer import DamagedSnapshotError, SnapshotError
from minichainer.serializers._entries import Allowance, Entry
from minichainer.serializers._reading import reading_error

#: Overhead of HDF5 besides the array itself: unused space in its last chunk, checksums.
_PAGE = 1 << 20
#: Approximate memory of a text as a Python object.
_TEXT_OBJECT = 64


def h5py_module() -> Any:
    """The module h5py, imported when first needed."""
    try:
        import h5py
    except ImportError as error:
        raise RuntimeError('HDF5 files need h5py, which is not installed: pip install h5py') from error
    return h5py


class HDF5Entries:
    """The entries of an open HDF5 file.

    Args:
        file: a ``h5py.File``.
    """

    def __init__(self, file: Any) -> None:
        self._h5py = h5py_module()
        size = file.id.get_filesize()
        self._name = str(file.filename)
        self.allowance = Allowance(size)
        #: How many bytes of arrays may be read to verify them before the object is known.
        self._room = max(Allowance.ALWAYS, 2 * size)

    def check_open(self, group: Any) -> None:
        """Raises ValueError if the file of a group is closed.

        Args:
            group: the group; None for one that does not exist.
        """
        if group is not None and not group:
            raise ValueError(f'{self._name} is closed: load within the with block that opens it')

    def at(self, group: Any, key: str, name: str) -> Any:
        """The group or dataset at a path; None if there is none.

        Args:
            group: where the path begins; None for a group that does not exist.
            key: the path.
            name: what to call it in errors.

        Raises:
            SnapshotError: it is damaged, or elsewhere.
        """
        self.check_open(group)
        for part in filter(None, key.split('/')):
            if not isinstance(group, self._h5py.Group):
                return None
            with self._damage_of(name):
                group = self._child(group, part, name)
        return group

    def _child(self, group: Any, part: str, name: str) -> Any:
        # Not group.get(): for h5py damaged objects do not exist.
        if not group.id.links.exists(part.encode()):
            return None
        if isinstance(group.get(part, getlink=True), self._h5py.ExternalLink):
            raise SnapshotError(f'{name}: in another file, which is not read')
        return group[part]

    def entry(self, dataset: Any, name: str) -> Entry:
        """The entry of a dataset.

        Raises:
            SnapshotError: it is damaged, packed in an unusual way, or holds Python objects.
        """
        with self._damage_of(name):
            return self._entry(dataset, name)

    def _entry(self, dataset: Any, name: str) -> Entry:
        if dataset.external or dataset.is_virtual:
            raise SnapshotError(f'{name}: in another file, which is not read')
        if dataset.shape is not None:
            self._check_stored(name, dataset)
        if self._h5py.check_string_dtype(dataset.dtype) is not None and dataset.dtype.kind == 'O':
            return Entry(name, dataset.shape, numpy.dtype(str), lambda: self._texts(name, dataset))
        if dataset.dtype.hasobject:
            raise SnapshotError(f'{name}: contains Python objects or references, which are not loaded')
        return Entry(name, dataset.shape, dataset.dtype, lambda: self._numbers(name, dataset), self.allowance)

    def _check_stored(self, name: str, dataset: Any) -> None:
        """Rejects datasets that HDF5 would unpack to far more than the size of the array."""
        nbytes = dataset.size * dataset.dtype.itemsize
        properties = dataset.id.get_create_plist()
        filters = [properties.get_filter(i)[0] for i in range(properties.get_nfilters())]
        if len(filters) != len(set(filters)) or dataset.id.get_storage_size() > 2 * nbytes + _PAGE:
            raise SnapshotError(f'{name}: this entry is damaged (packed in an unusual way)')
        chunk = math.prod(dataset.chunks or (0,)) * dataset.dtype.itemsize
        if chunk > nbytes + _PAGE:
            self.allowance.take(f'{name} (a chunk)', chunk)

    def _numbers(self, name: str, dataset: Any) -> Any:
        with self._damage_of(name):
            return numpy.asarray(dataset[()])

    def _texts(self, name: str, dataset: Any) -> Any:
        """An array of texts, whose memory is counted."""
        self.allowance.take(name, dataset.size * _TEXT_OBJECT)
        with self._damage_of(name):
            texts = dataset.asstr()[()]
        longest = max(map(len, numpy.ravel(numpy.asarray(texts, dtype=object))), default=0)
        if dataset.size > 1:
            self.allowance.take_array(f'{name} (padded)', dataset.shape, numpy.dtype(f'U{longest or 1}'))
        return numpy.asarray(texts, dtype=str)

    def names(self, group: Any, path: str) -> Iterator[tuple[str, Any]]:
        """Names and datasets of a group and the groups in it; the error instead of a dataset that is damaged.

        Args:
            group: the group, or None.
            path: what the names begin with.
        """
        self.check_open(group)
        return self._walk(group, path, set())

    def _walk(self, group: Any, path: str, seen: set[Any]) -> Iterator[tuple[str, Any]]:
        if group is None:
            return
        try:
            with self._damage_of(path or '/'):
                address = self._h5py.h5o.get_info(group.id).addr
                keys = [] if address in seen else list(group)
        except SnapshotError as error:
            yield path, error
            return
        seen.add(address)
        for key in keys:
            try:
                child = self.at(group, key, path + key)
            except SnapshotError as error:
                yield path + key, error
                continue
            if isinstance(child, self._h5py.Group):
                yield from self._walk(child, f'{path}{key}/', seen)
            elif isinstance(child, self._h5py.Dataset):
                yield path + key, child

    def damages(self, group: Any, path: str) -> Iterator[DamagedSnapshotError]:
        """Reads all datasets of a group, which compares the checksums of compressed ones and of those in chunks.

        Args:
            group: the group, or None.
            path: what names begin with.
        """
        for name, dataset in self.names(group, path):
            try:
                if isinstance(dataset, SnapshotError):
                    raise dataset
                self._verify(name, dataset)
            except DamagedSnapshotError as error:
                yield error
            except SnapshotError:
                pass  # not to be loaded, which matters only if somebody asks for it

    def _verify(self, name: str, dataset: Any) -> None:
        entry = self.entry(dataset, name)
        nbytes = math.prod(entry.shape or ()) * entry.dtype.itemsize
        if entry.shape is None:
            return
        if nbytes <= self._room or dataset.chunks is None:
            self._room -= nbytes
            entry.read()
            return
        with self._damage_of(name):
            for chunk in dataset.iter_chunks():
                dataset[chunk]

    @contextlib.contextmanager
    def _damage_of(self, name: str) -> Iterator[None]:
        """Turns what h5py raises into an error that names the entry."""
        try:
            yield
        except SnapshotError:
            raise
        except Exception as error:
            raise reading_error(self._name, error, f'{name}: this entry of {self._name} is damaged') from error
