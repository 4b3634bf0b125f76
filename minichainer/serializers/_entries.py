"""Shared code of the deserializers: converting entries to values, and loading a Link as a whole or not at all."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy

from minichainer.backends import cuda
from minichainer.link.link import Link
from minichainer.serializer import Deserializer, SnapshotError

_NUMBERS = (bool, int, float, complex)


class Allowance:
    """How much memory a file may take if only the file determines the size of a value.

    Zeros compress a thousandfold, so a small file could fill the memory when it is loaded into a parameter of unknown
    shape. Trained weights hardly compress at all.

    Args:
        file_size: bytes of the file.
    """

    FACTOR = 32
    ALWAYS = 1 << 26

    def __init__(self, file_size: int) -> None:
        self._file_size = file_size
        self._left = max(self.ALWAYS, self.FACTOR * file_size)
        self._granted: set[str] = set()

    def add(self, nbytes: int) -> None:
        """Allows more memory, if something other than the file requires it."""
        self._left += nbytes

    def take(self, name: str, nbytes: int) -> None:
        """Counts the memory of an entry, once.

        Raises:
            SnapshotError: there is not so much left.
        """
        if name in self._granted:
            return
        if nbytes > self._left:
            raise SnapshotError(
                f'{name}: {nbytes} bytes in memory from a file of {self._file_size} bytes, but the object does not '
                f'say which shape to expect; expected at most {self.FACTOR} times the file. If you trust the file, '
                'give the object its sizes before loading (such as in_size), or save without compression'
            )
        self._granted.add(name)
        self._left -= nbytes


class Entry:
    """One value of a snapshot, which is read only if its shape and dtype fit.

    Args:
        name: its full name.
        shape: its shape; None for the entry of a parameter that was never initialized.
        dtype: its dtype.
        read: gives the array.
        allowance: of the file, for values whose size the object does not know; None where all is in memory.
    """

    __slots__ = ('_allowance', 'dtype', 'name', 'read', 'shape')

    def __init__(
        self,
        name: str,
        shape: tuple[int, ...] | None,
        dtype: Any,
        read: Callable[[], Any],
        allowance: Allowance | None = None,
    ) -> None:
        self._allowance = allowance
        self.name = name
        self.shape = shape
        self.dtype = dtype
        self.read = read

    def misfit(self, value: Any) -> Exception | None:
        """Why the entry cannot be loaded into ``value``, as the exception to raise; None if it can."""
        if self.shape is None:
            return None
        if value is None:
            return self._too_large()
        if not isinstance(value, (numpy.ndarray, cuda.ndarray)):
            return self._misfit_of_conversion(value)
        if self.shape != value.shape:
            return SnapshotError(f'{self.name}: shape {self.shape} in the snapshot, {value.shape} in the object')
        if not numpy.can_cast(self.dtype, value.dtype, 'same_kind'):
            return TypeError(f'{self.name}: dtype {self.dtype} in the snapshot cannot become {value.dtype}')
        if isinstance(value, numpy.ndarray) and not value.flags.writeable:
            return ValueError(f'{self.name}: the array of the object is read-only')
        return None

    def _too_large(self) -> Exception | None:
        """The error if the allowance is exceeded, else None."""
        if self._allowance is not None and self.shape is not None:
            try:
                self._allowance.take(self.name, math.prod(self.shape) * self.dtype.itemsize)
            except SnapshotError as error:
                return error
        return None

    def _misfit_of_conversion(self, value: Any) -> Exception | None:
        try:
            self._converted(value)
        except (TypeError, ValueError) as error:
            return error
        return None

    def load(self, value: Any) -> Any:
        """The loaded value: ``value`` itself, overwritten, if it is an array; else a new object of its class.

        Raises:
            SnapshotError: the shapes differ.
            TypeError: the dtype does not fit.
        """
        if self.shape is None:
            return None
        misfit = self.misfit(value)
        if misfit is not None:
            raise misfit
        if value is None:
            return self.read()
        if isinstance(value, numpy.ndarray):
            numpy.copyto(value, self.read(), casting='same_kind')
            return value
        if isinstance(value, cuda.ndarray):
            value.set(numpy.asarray(self.read(), dtype=value.dtype))
            return value
        return self._converted(value)

    def _converted(self, value: Any) -> Any:
        """The entry as an object of the class of ``value``, if the conversion is lossless."""
        kind = type(value)
        if self.dtype.kind in 'iufc' and not _keeps_numbers(self.dtype, kind):
            raise TypeError(
                f'{self.name}: cannot safely deserialize from numpy array with dtype={self.dtype} '
                f'into a variable of type {kind}'
            )
        if issubclass(kind, _NUMBERS) and math.prod(self.shape or ()) != 1:
            raise TypeError(f'{self.name}: shape {self.shape} in the snapshot, the object has one {kind.__name__}')
        too_large = self._too_large()
        if too_large is not None:
            raise too_large
        array = numpy.asarray(self.read())
        try:
            return kind(array.item() if array.size == 1 and not issubclass(kind, (list, tuple)) else array)
        except (TypeError, ValueError) as error:
            raise type(error)(f'{self.name}: {error}') from error


def _keeps_numbers(dtype: Any, kind: type) -> bool:
    if issubclass(kind, int) and not issubclass(kind, bool):
        return dtype.kind in 'iu'
    if issubclass(kind, (bool, float, complex, numpy.generic)):
        return numpy.can_cast(dtype, kind)
    return True


class EntryDeserializer(Deserializer):
    """Base class of deserializers that find entries by name."""

    strict: bool
    #: Whether entries that a link does not ask for are no error although ``strict`` is set.
    allows_others = False
    allowance: Allowance | None = None

    def expect(self, nbytes: int) -> None:
        """Lets the file take more memory than its size allows, because the object requires it.

        Args:
            nbytes: how much more.
        """
        if self.allowance is not None:
            self.allowance.add(nbytes)

    def find(self, key: str) -> Entry | None:
        """The entry, or None if there is none.

        Args:
            key: its name.
        """
        raise NotImplementedError

    def full_name(self, key: str) -> str:
        """The name of an entry in the whole snapshot.

        Args:
            key: its name in this part.
        """
        raise NotImplementedError

    def names(self) -> Iterable[str]:
        """Full names of all entries of this part."""
        raise NotImplementedError

    def is_ignored(self, name: str) -> bool:
        """Whether the user wants to skip an entry.

        Args:
            name: its full name.
        """
        return False

    def __call__(self, key: str, value: Any) -> Any:
        if self.is_ignored(self.full_name(key)):
            return value
        entry = self.find(key)
        if entry is not None:
            return entry.load(value)
        if not self.strict:
            return value
        raise SnapshotError(f'{self.full_name(key)} is not in the snapshot')

    def load(self, obj: Any) -> None:
        """Loads an object.

        A Link is first checked as a whole: if anything does not fit, it stays unchanged.

        Args:
            obj: the object, changed in place.

        Raises:
            SnapshotError: entries are missing, too many (both only if ``strict``) or do not fit; all are
                named.
        """
        if isinstance(obj, Link):
            check_link(self, obj)
        obj.serialize(self)


class _Findings:
    """The results of a rehearsal."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.problems: list[str] = []


class _Rehearsal(Deserializer):
    """Runs ``serialize`` like a deserializer, but returns each value unchanged and records problems."""

    def __init__(self, real: EntryDeserializer, findings: _Findings) -> None:
        self._real = real
        self._findings = findings

    def __getitem__(self, key: str) -> _Rehearsal:
        part: Any = self._real[key]
        return _Rehearsal(part, self._findings)

    def __call__(self, key: str, value: Any) -> Any:
        name = self._real.full_name(key)
        self._findings.asked.add(name)
        if not self._real.is_ignored(name):
            try:
                self._check(key, name, value)
            except SnapshotError as error:
                self._findings.problems.append(str(error))
        return value

    def _check(self, key: str, name: str, value: Any) -> None:
        """Records why an entry cannot be loaded, if so."""
        entry = self._real.find(key)
        if entry is not None:
            misfit = entry.misfit(value)
            if misfit is None and entry.shape is not None:
                entry.read()  # detect damaged entries before anything is written
            elif misfit is not None:
                self._findings.problems.append(str(misfit))
        elif self._real.strict:
            expected = '' if value is None else f' (expected {_described(value)})'
            self._findings.problems.append(f'{name}: missing in the snapshot{expected}')


def check_link(deserializer: EntryDeserializer, link: Link) -> None:
    """Raises an error unless a snapshot fits a link.

    Raises:
        SnapshotError: it does not; names every entry that is missing, too many or of a wrong shape or dtype.
    """
    findings = _Findings()
    with _attributes_kept(link):
        try:
            link.serialize(_Rehearsal(deserializer, findings))
            complete = True
        except Exception:
            # A user's own serialize method may fail on unchanged values: only loading will tell.
            complete = False
    problems = findings.problems
    if complete and deserializer.strict and not deserializer.allows_others:
        unknown = sorted(set(deserializer.names()) - findings.asked)
        problems += [
            f'{name}: not in the {type(link).__name__}' for name in unknown if not deserializer.is_ignored(name)
        ]
    if problems:
        raise SnapshotError(
            f'the snapshot does not fit the {type(link).__name__}, which is unchanged:\n  '
            + '\n  '.join(problems)
            + '\nFor missing and additional entries: path names the part of the snapshot to load, '
            'ignore_names skips single entries, strict=False skips all of them.'
        )


@contextlib.contextmanager
def _attributes_kept(link: Link) -> Iterator[None]:
    """Restores the attributes of all links at the end, whatever a user's serialize method has changed."""
    before = [(part, dict(part.__dict__)) for part in link.links()]
    try:
        yield
    finally:
        for part, attributes in before:
            part.__dict__.clear()
            part.__dict__.update(attributes)


def _described(value: Any) -> str:
    shape = getattr(value, 'shape', None)
    return type(value).__name__ if shape is None else f'{value.dtype} {tuple(shape)}'
