"""Reads and writes ``.npz`` files without running pickles."""

from __future__ import annotations

import io
import math
import pickle
import pickletools
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy

from minichainer.serializer import SnapshotError
from minichainer.serializers._entries import Allowance, Entry

#: The pickle of a 0-d object array with None, which Chainer writes for a parameter that was never initialized. The
#: bytes are fixed because NumPy 2 would write names that NumPy 1, on which Chainer runs, does not know.
_PICKLED_NONE = (
    b'\x80\x03cnumpy.core.multiarray\n_reconstruct\nq\x00cnumpy\nndarray\nq\x01K\x00\x85q\x02C\x01bq\x03\x87q\x04Rq'
    b'\x05(K\x01)cnumpy\ndtype\nq\x06X\x02\x00\x00\x00O8q\x07\x89\x88\x87q\x08Rq\t(K\x03X\x01\x00\x00\x00|q\nNNNJ'
    b'\xff\xff\xff\xffJ\xff\xff\xff\xffK?tq\x0bb\x89]q\x0cNatq\rb.'
)

#: The only operations in the pickle of such an array, in any protocol; none can take much time or memory.
_HARMLESS_OPERATIONS = frozenset(
    'PROTO FRAME MEMOIZE BINPUT BINGET GLOBAL STACK_GLOBAL BININT1 BININT TUPLE TUPLE1 TUPLE2 TUPLE3 '
    'EMPTY_TUPLE REDUCE MARK BUILD NEWFALSE NEWTRUE NONE EMPTY_LIST APPEND STOP SHORT_BINBYTES '
    'SHORT_BINSTRING SHORT_BINUNICODE BINUNICODE'.split()
)
_LONGEST_PICKLED_NONE = 1024

_DAMAGES = (
    ValueError,
    EOFError,
    KeyError,
    OSError,
    RuntimeError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
)


class NpzFile:
    """An open ``.npz`` file: names and :class:`Entry` objects.

    Args:
        file: path, open binary file, or an open zip archive.

    Raises:
        SnapshotError: it is not a ``.npz`` file, or is incomplete.
    """

    def __init__(self, file: Any) -> None:
        self._name = str(getattr(file, 'name', None) or getattr(file, 'filename', None) or file)
        self._arrays: dict[str, Any] = {}
        self._owns_zip = not isinstance(file, zipfile.ZipFile)
        try:
            self._zip = zipfile.ZipFile(file) if self._owns_zip else file
        except (zipfile.BadZipFile, EOFError) as error:
            raise SnapshotError(
                f'{self._name} is not a .npz file, or is cut short ({error}): nothing was loaded'
            ) from error
        self.allowance = Allowance(_size_of(self._zip.fp))

    def __enter__(self) -> NpzFile:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._owns_zip:
            self._zip.close()

    def names(self) -> Iterator[str]:
        """The names of all entries."""
        return (name.removesuffix('.npy') for name in self._zip.namelist())

    def find(self, name: str) -> Entry | None:
        """The entry of that name, or None.

        Args:
            name: its full name.

        Raises:
            SnapshotError: it is damaged, or holds Python objects.
        """
        member = self._member(name)
        if member is None:
            return None
        try:
            with self._zip.open(member) as stream:
                shape, _, dtype = _read_header(stream)
                if not dtype.hasobject:
                    _check_size(shape, dtype, member.file_size - stream.tell())
                    return Entry(name, shape, dtype, lambda: self._read(name, member), self.allowance)
                pickled = stream.read(_LONGEST_PICKLED_NONE + 1)
        except _DAMAGES as error:
            raise self._damaged(name, error) from error
        if shape == () and is_pickled_none(pickled):
            return Entry(name, None, dtype, lambda: None)
        raise SnapshotError(
            f'{name}: contains Python objects, which are not loaded because unpickling could run any code'
        )

    def _member(self, name: str) -> zipfile.ZipInfo | None:
        """The file in the archive with an entry's array, or None."""
        for spelling in (name + '.npy', name):
            try:
                return self._zip.getinfo(spelling)
            except KeyError:
                pass
        return None

    def _read(self, name: str, member: zipfile.ZipInfo) -> Any:
        """Reads an array, and verifies its checksum."""
        # A checked array is kept until it is loaded, so that loading cannot fail halfway.
        if name not in self._arrays:
            try:
                with self._zip.open(member) as stream:
                    self._arrays[name] = numpy.lib.format.read_array(stream, allow_pickle=False)
                    stream.read()  # to the end, where the checksum is compared
            except _DAMAGES as error:
                raise self._damaged(name, error) from error
        return self._arrays[name]

    def _damaged(self, name: str, error: Exception) -> SnapshotError:
        return SnapshotError(f'{name}: this entry of {self._name} is damaged ({error})')


def _size_of(stream: Any) -> int:
    here = stream.tell()
    size: int = stream.seek(0, io.SEEK_END)
    stream.seek(here)
    return size


def _read_header(stream: Any) -> tuple[tuple[int, ...], bool, Any]:
    """Shape, memory order and dtype from the header of an array."""
    version = numpy.lib.format.read_magic(stream)
    if version == (1, 0):
        return numpy.lib.format.read_array_header_1_0(stream)
    if version == (2, 0):
        return numpy.lib.format.read_array_header_2_0(stream)
    raise ValueError(f'version {version} of the npy format is not known')


def _check_size(shape: tuple[int, ...], dtype: Any, present: int) -> None:
    """Raises ValueError unless the data has the size given in the header, before memory is allocated for it."""
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != present:
        raise ValueError(f'{present} bytes cannot be {dtype} {shape}')


class _Inert:
    """Stands for every name in a pickle; accepts all arguments and does nothing."""

    state: Any = None

    def __init__(self, *_: Any) -> None:
        """Ignores the arguments, which :func:`is_pickled_none` does not need."""

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _InertUnpickler(pickle.Unpickler):
    _NAMES = frozenset([('numpy', 'ndarray'), ('numpy', 'dtype'), ('_codecs', 'encode')])

    def find_class(self, module: str, name: str) -> Any:
        is_maker = module in ('numpy.core.multiarray', 'numpy._core.multiarray') and name == '_reconstruct'
        if is_maker or (module, name) in self._NAMES:
            return _Inert
        raise pickle.UnpicklingError(f'{module}.{name} does not belong here')


def is_pickled_none(pickled: bytes) -> bool:
    """True only for the pickle of a 0-d object array that contains None, in any protocol.

    The pickle is not executed: its operations are compared with a short list, and all its names stand for one inert
    class.

    Args:
        pickled: the bytes.
    """
    if len(pickled) > _LONGEST_PICKLED_NONE:
        return False
    try:
        if any(operation.name not in _HARMLESS_OPERATIONS for operation, _, _ in pickletools.genops(pickled)):
            return False
        array = _InertUnpickler(io.BytesIO(pickled), encoding='latin1').load()
    except Exception:
        return False
    state = getattr(array, 'state', None)
    return isinstance(array, _Inert) and isinstance(state, tuple) and len(state) == 5 and state[4] == [None]


def write_npz(file: Any, entries: Mapping[str, Any], compression: bool) -> None:
    """Writes a ``.npz`` file.

    Args:
        file: path or open binary file.
        entries: arrays by name; a 0-d object array stands for None.
        compression: by deflate.
    """
    method = zipfile.ZIP_DEFLATED if compression else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, 'w', method, allowZip64=True) as archive:
        for name, array in entries.items():
            with archive.open(name + '.npy', 'w', force_zip64=True) as stream:
                if array.dtype.hasobject:
                    header = {'descr': '|O', 'fortran_order': False, 'shape': ()}
                    numpy.lib.format.write_array_header_1_0(stream, header)
                    stream.write(_PICKLED_NONE)
                else:
                    numpy.lib.format.write_array(stream, array, allow_pickle=False)
