"""Reads and writes ``.npz`` files without running pickles."""

from __future__ import annotations

import io
import math
import pickle
import pickletools
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy

from minichainer.serializer import DamagedSnapshotError, SnapshotError
from minichainer.serializers._entries import Allowance, Entry
from minichainer.serializers._other_files import about, foreign_archive
from minichainer.serializers._reading import reading_error
from minichainer.serializers._zip_directory import check_directory

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
_BLOCK = 1 << 17
_MOST_KEPT = 1 << 28


class NpzFile:
    """An open ``.npz`` file: names and :class:`Entry` objects.

    Args:
        file: path, open binary file, or an open zip archive.
        owner: what closes the archive when nothing refers to it, as NumPy's own class does.

    Raises:
        SnapshotError: it is not a ``.npz`` file, or is incomplete.
        ValueError: the archive is closed.
    """

    def __init__(self, file: Any, owner: Any = None) -> None:
        self._owner = owner
        self._name = str(getattr(file, 'name', None) or getattr(file, 'filename', None) or file)
        self._contents: dict[str, bytearray] = {}
        if owner is not None and file is None:
            raise self._closed()
        self._owns_zip = owner is None and not isinstance(file, zipfile.ZipFile)
        given: Any = file
        try:
            self._zip: zipfile.ZipFile = zipfile.ZipFile(given) if self._owns_zip else given
            if self._zip.fp is not None:
                check_directory(self._zip)
        except (TypeError, AttributeError):  # not a file
            raise
        except Exception as error:
            damage = f'{self._name} is not a .npz file, or is cut short: nothing was loaded'
            raise reading_error(self._name, error, damage, about(file)) from error
        if foreign := foreign_archive(self._zip.namelist()):
            raise SnapshotError(f'nothing was loaded: {self._name} {foreign}')
        size = _size_of(self._zip.fp)
        self.allowance = Allowance(size)
        # Contents that were verified are kept, so that they need not be unpacked twice; not all of a large file, and
        # not of one that is many times larger when it is unpacked.
        self._room = max(Allowance.ALWAYS, min(2 * size, _MOST_KEPT))
        self._doubled = {name for name, count in Counter(self.names()).items() if count > 1}
        self._overlaps = sum(member.compress_size for member in self._zip.infolist()) > size

    def __enter__(self) -> NpzFile:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._owns_zip:
            self._zip.close()

    def names(self) -> Iterator[str]:
        """The names of all entries."""
        return map(_entry_name, self._zip.namelist())

    def find(self, name: str) -> Entry | None:
        """The entry of that name, or None.

        Args:
            name: its full name.

        Raises:
            SnapshotError: it is damaged, or holds Python objects.
        """
        self._check_open()
        member = self._member(name)
        if member is None:
            return None
        if name in self._doubled:
            raise self._error(name, self._double())
        try:
            with self._open(member) as stream:
                shape, _, dtype = _read_header(stream)
                if not dtype.hasobject:
                    _check_size(shape, dtype, member.file_size - stream.tell())
                    return Entry(name, shape, dtype, lambda: self._read(name, member), self.allowance)
                pickled = stream.read(_LONGEST_PICKLED_NONE + 1)
        except Exception as error:
            raise self._error(name, error) from error
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

    def _open(self, member: zipfile.ZipInfo) -> Any:
        """A stream of an entry's content, whose checksum is compared at its end unless that was done."""
        content = self._contents.get(member.filename)
        return self._zip.open(member) if content is None else io.BytesIO(content)

    def _read(self, name: str, member: zipfile.ZipInfo) -> Any:
        """Reads an array, and verifies its checksum."""
        try:
            with self._open(member) as stream:
                array = numpy.lib.format.read_array(stream, allow_pickle=False)
                stream.read(1)  # to the end, where the checksum is compared
        except Exception as error:
            raise self._error(name, error) from error
        self._contents.pop(member.filename, None)
        return array

    def damages(self, names: Iterable[str]) -> Iterator[DamagedSnapshotError]:
        """Compares the checksums of entries.

        Args:
            names: their full names.
        """
        self._check_open()
        if self._overlaps:
            # A few bytes could stand for any number of entries, which would take forever to unpack.
            yield DamagedSnapshotError(f'{self._name}: its entries overlap')
            return
        for name in dict.fromkeys(names):
            member = self._member(name)
            try:
                if name in self._doubled:
                    raise self._double()
                if member is not None:
                    self._verify(member)
            except Exception as error:
                found = self._error(name, error)
                if not isinstance(found, DamagedSnapshotError):
                    raise found from error
                yield found

    def _verify(self, member: zipfile.ZipInfo) -> None:
        """Unpacks an entry to its end, where its checksum is compared; keeps the content if there is room."""
        keeps = member.file_size <= self._room
        content = bytearray(member.file_size if keeps else 0)
        filled = 0
        with self._zip.open(member) as stream:
            while block := stream.read(_BLOCK):
                if keeps:
                    content[filled : filled + len(block)] = block
                filled += len(block)
        if filled != member.file_size:
            raise ValueError(f'{filled} bytes instead of {member.file_size}')
        if keeps:
            self._room -= filled
            self._contents[member.filename] = content

    def _check_open(self) -> None:
        if self._zip.fp is None:
            raise self._closed()

    def _closed(self) -> ValueError:
        return ValueError(f'{self._name} is closed: load within the with block that opens it')

    def _double(self) -> ValueError:
        return ValueError('the file has two entries of this name')

    def _error(self, name: str, error: Exception) -> Exception:
        return reading_error(self._name, error, f'{name}: this entry of {self._name} is damaged')


def _entry_name(member: str) -> str:
    return member.removesuffix('.npy')


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
            # Four bytes of each character: level 6 takes 123 ms for a log of 10 000 entries, level 1 takes 19.
            archive.compresslevel = 1 if array.dtype.kind == 'U' else None
            with archive.open(name + '.npy', 'w', force_zip64=True) as stream:
                if array.dtype.hasobject:
                    header = {'descr': '|O', 'fortran_order': False, 'shape': ()}
                    numpy.lib.format.write_array_header_1_0(stream, header)
                    stream.write(_PICKLED_NONE)
                else:
                    numpy.lib.format.write_array(stream, array, allow_pickle=False)
