"""Snapshots as ``.npz`` files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy

from minichainer import backend
from minichainer.backends import cuda
from minichainer.serializer import DamagedSnapshotError, Serializer, check_object, save_any
from minichainer.serializers._deserializer import EntryDeserializer, Strictness, strictness
from minichainer.serializers._entries import Entry
from minichainer.serializers._npz_file import NpzFile, write_npz
from minichainer.serializers._replacing import replacing


class DictionarySerializer(Serializer):
    """Saves into a flat dict from paths such as ``'l1/W'`` to NumPy arrays.

    Args:
        target: the dict; a new one by default.
        path: prefix of each name.

    >>> import minichainer as chainer
    >>> serializer = chainer.serializers.DictionarySerializer()
    >>> serializer.save(chainer.Chain(l1=chainer.links.Linear(3, 2)))
    >>> sorted(serializer.target)
    ['l1/W', 'l1/b']
    """

    def __init__(self, target: dict[str, Any] | None = None, path: str = '') -> None:
        self.target: dict[str, Any] = {} if target is None else target
        self.path = path

    def __getitem__(self, key: str) -> DictionarySerializer:
        return DictionarySerializer(self.target, self.path + key.strip('/') + '/')

    def __call__(self, key: str, value: Any) -> Any:
        name = self.path + key.lstrip('/')
        self.target[name] = array_to_save(name, value)
        return value


def array_to_save(name: str, value: Any) -> Any:
    """A value as a NumPy array; None as a 0-d object array.

    Args:
        name: its name in the snapshot, for the error.
        value: array, scalar, text, list or tuple of these, or None.

    Raises:
        TypeError: anything else, which could only be saved as a pickle.
    """
    if value is None:
        return numpy.asarray(None)
    if isinstance(value, (list, tuple)):
        value = [cuda.to_cpu(entry) if isinstance(entry, cuda.ndarray) else entry for entry in value]
    elif isinstance(value, backend.get_array_types()):
        value = cuda.to_cpu(value)
    try:
        array = numpy.asarray(value)
    except ValueError as error:
        raise TypeError(f'cannot save {name}: {error}') from error
    if array.dtype.hasobject:
        raise TypeError(
            f'cannot save {name}, an object of {type(value)}: expected an array, a number, text, None, or a '
            'list of numbers; other objects would require a pickle, which is not safe to load'
        )
    return array


def save_npz(file: Any, obj: Any, compression: bool = True, *, durable: bool = True) -> None:
    """Saves an object as a ``.npz`` file, which Chainer can also load.

    The file is written under a temporary name and then moved, so that an old one is never partly overwritten.

    Args:
        file: path, or a binary file open for writing. The suffix ``.npz`` is not added.
        obj: a link, optimizer, trainer or any object with a ``serialize`` method, or a dict of arrays by name.
        compression: by deflate.
        durable: whether to wait until the file is on the disk, so that it survives a power failure.

    Raises:
        OSError: the file cannot be written; names it.
        TypeError: a value cannot be saved.

    >>> import io
    >>> import numpy as np, minichainer as chainer
    >>> a, b = chainer.links.Linear(3, 2), chainer.links.Linear(3, 2)
    >>> file = io.BytesIO()
    >>> chainer.serializers.save_npz(file, a)
    >>> chainer.serializers.load_npz(file, b)
    >>> bool((a.W.array == b.W.array).all())
    True
    """
    check_object('save_npz', file, obj)
    serializer = DictionarySerializer()
    save_any(serializer, obj)
    if not isinstance(file, (str, os.PathLike)):
        write_npz(file, serializer.target, compression)
        return
    with replacing(file, durable) as temporary:
        write_npz(temporary, serializer.target, compression)


class NpzDeserializer(EntryDeserializer):
    """Loads from a mapping of paths to arrays.

    Args:
        npz: an open ``.npz`` file (what ``numpy.load`` gives) or a dict.
        path: prefix of each name, such as ``'updater/model:main/'``.
        strict: whether a missing entry is an error. If not, the value stays unchanged. ``'all'``: so is an entry that
            the object does not ask for. ``'links'``: so is one that a link does not ask for.
        ignore_names: entries to pass over: a full name, a function of the name that says whether to, or a
            list of these.

    Raises:
        ValueError: ``ignore_names`` or ``strict`` is something else, or the file is closed.
    """

    def __init__(self, npz: Any, path: str = '', strict: Strictness = True, ignore_names: Any = None) -> None:
        # NumPy's own reader either rejects the entries of uninitialized parameters or unpickles anything.
        self.npz = NpzFile(npz.zip, npz) if isinstance(npz, numpy.lib.npyio.NpzFile) else npz
        self.allowance = self.npz.allowance if isinstance(self.npz, NpzFile) else None
        self.path = path
        self.strict = strictness(strict)
        self.ignore_names = ignore_names
        self._ignored = _name_tests(ignore_names)

    def __getitem__(self, key: str) -> NpzDeserializer:
        path = self.path + key.strip('/') + '/'
        part = NpzDeserializer(self.npz, path, self.strict, self.ignore_names)
        self._share_with(part)
        return part

    def full_name(self, key: str) -> str:
        return self.path + key.lstrip('/')

    def find(self, key: str) -> Entry | None:
        name = self.full_name(key)
        if isinstance(self.npz, NpzFile):
            return self.npz.find(name)
        if name not in self.npz:
            return None
        array = numpy.asarray(self.npz[name])
        is_none = array.dtype.hasobject and array.shape == () and array[()] is None
        return Entry(name, None if is_none else array.shape, array.dtype, lambda: array)

    def names(self) -> Iterable[str]:
        names = self.npz.names() if isinstance(self.npz, NpzFile) else self.npz
        return [name for name in names if name.startswith(self.path)]

    def damages(self) -> Iterator[DamagedSnapshotError]:
        if isinstance(self.npz, NpzFile):
            yield from self.npz.damages(name for name in self.names() if not self.is_ignored(name))

    def is_ignored(self, name: str) -> bool:
        return any(test(name) for test in self._ignored)


def _name_tests(ignore_names: Any) -> list[Callable[[str], Any]]:
    """Functions that tell which names to ignore."""
    if ignore_names is None:
        return []
    entries = ignore_names if isinstance(ignore_names, (list, tuple, set, frozenset)) else [ignore_names]
    for entry in entries:
        if not isinstance(entry, str) and not callable(entry):
            raise ValueError(f'ignore_names needs to be a callable, string or list of them. Got {entry!r}')
    return [entry.__eq__ if isinstance(entry, str) else entry for entry in entries]


def load_npz(file: Any, obj: Any, path: str = '', strict: Strictness = True, ignore_names: Any = None) -> None:
    """Loads an object from a ``.npz`` file written here or by Chainer.

    The object is loaded as a whole or not at all: after an error it has the state that it had before. Pickles are
    never run: the only accepted object arrays are those with None, which Chainer writes for parameters never
    initialized.

    As in Chainer, the file may contain more than the object, such as a larger model whose lower layers are used
    again. How many entries were left, with the first names, is told by ``logging``, to the logger
    ``minichainer.serializers``, at level WARNING.

    Args:
        file: path, or a binary file open for reading.
        obj: a link, optimizer, trainer or any object with a ``serialize`` method; changed in place.
        path: loads only the part of the file under this path, such as ``'updater/model:main/'``.
        strict: whether missing entries are errors. If not, these values stay unchanged, which is told by ``logging``
            too. ``'all'``: entries that the object does not ask for are also errors. ``'links'``: only those that are
            left by links, not by an optimizer or trainer.
        ignore_names: full names to pass over: a name, a function that says whether to, or a list of these.

    Raises:
        DamagedSnapshotError: the file or entries are damaged, even if not strict; all are named.
        MissingEntryError: entries are missing; all are named.
        SnapshotError: entries do not fit; all are named.
        ValueError: ``strict`` is another text.
        OSError: the file cannot be read.

    >>> import io
    >>> import minichainer as chainer
    >>> file = io.BytesIO()
    >>> chainer.serializers.save_npz(file, chainer.Chain(l1=chainer.links.Linear(3, 2)))
    >>> chainer.serializers.load_npz(file, chainer.links.Linear(3, 2), path='l1/')
    """
    check_object('load_npz', file, obj)
    with NpzFile(file) as npz:
        NpzDeserializer(npz, path, strict, ignore_names).load(obj)
