"""Shared code of the deserializers: entries, which are converted to values, and how much memory they may take."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy

from minichainer._checks import native
from minichainer.backends import cuda
from minichainer.serializer import EntryTypeError, SnapshotError

_NUMBERS = (bool, int, float, complex)


class Allowance:
    """How much memory a file may take if only the file determines the size of a value.

    Zeros compress a thousandfold, so a small file could fill the memory when it is loaded into a parameter of unknown
    shape. Trained weights hardly compress at all.

    Args:
        file_size: bytes of the file.
    """

    FACTOR = 16
    ALWAYS = 1 << 20

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

    def take_array(self, name: str, shape: tuple[int, ...], dtype: Any) -> None:
        """Counts the memory of an array, once; of a character one byte, because three of its four are zeros.

        Raises:
            SnapshotError: there is not so much left.
        """
        self.take(name, math.prod(shape) * dtype.itemsize // (4 if dtype.kind == 'U' else 1))


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

    def load(self, value: Any) -> Any:
        """The loaded value: ``value`` itself, overwritten, if it is an array; else a new object of its class.

        Raises:
            SnapshotError: the entry is damaged or too large, or the shapes differ.
            EntryTypeError: the dtype does not fit.
        """
        if self.shape is None:
            return None
        if value is None:
            self._check_size()
            return native(self.read())
        if not isinstance(value, (numpy.ndarray, cuda.ndarray)):
            return self._converted(value)
        self._check_array(value)
        converted = numpy.asarray(self._without_overflow(self.read(), value.dtype), dtype=value.dtype)
        if isinstance(value, numpy.ndarray):
            numpy.copyto(value, converted)
        else:
            value.set(converted)
        return value

    def _without_overflow(self, array: Any, dtype: Any) -> Any:
        """The array with infinities in place of numbers that are too large for the dtype, of which it warns.

        NumPy's own warning would not say where. To silence it for a moment is no way: an interrupt would leave it so.
        """
        if dtype.kind != 'f' or array.dtype.kind != 'f' or numpy.can_cast(array.dtype, dtype):
            return array
        beyond = _too_large(array, dtype)
        if not beyond.any():
            return array
        text = f'{beyond.sum()} of {array.size} numbers in the snapshot are too large for {dtype}: now infinite'
        warnings.warn(f'{self.name}: {text}', RuntimeWarning, stacklevel=2)
        return numpy.where(beyond, numpy.copysign(numpy.inf, array), array)

    def _check_size(self) -> None:
        """Raises an error if the file alone determines the size, and it is too large for the file."""
        if self._allowance is not None and self.shape is not None:
            self._allowance.take_array(self.name, self.shape, self.dtype)

    def _check_array(self, value: Any) -> None:
        """Raises an error unless the entry can be written to an array."""
        if self.shape != value.shape:
            raise SnapshotError(f'{self.name}: shape {self.shape} in the snapshot, {value.shape} in the object')
        if not numpy.can_cast(self.dtype, value.dtype, 'same_kind'):
            raise EntryTypeError(f'{self.name}: dtype {self.dtype} in the snapshot cannot become {value.dtype}')
        if isinstance(value, numpy.ndarray) and not value.flags.writeable:
            raise SnapshotError(f'{self.name}: the array of the object is read-only')

    def _converted(self, value: Any) -> Any:
        """The entry as an object of the class of ``value``, if the conversion is lossless."""
        kind = type(value)
        if (self.dtype.kind in 'iufc' or kind is bool) and not _keeps_numbers(self.dtype, kind):
            raise EntryTypeError(
                f'{self.name}: cannot safely deserialize from numpy array with dtype={self.dtype} '
                f'into a variable of type {kind}'
            )
        if issubclass(kind, _NUMBERS) and math.prod(self.shape or ()) != 1:
            raise EntryTypeError(
                f'{self.name}: shape {self.shape} in the snapshot, the object has one {kind.__name__}'
            )
        self._check_size()
        array = numpy.asarray(self.read())
        try:
            return kind(array.item() if array.size == 1 and not issubclass(kind, (list, tuple)) else array)
        except TypeError as error:
            raise EntryTypeError(f'{self.name}: {error}') from error
        except (ValueError, ArithmeticError) as error:
            raise SnapshotError(f'{self.name}: {error}') from error


def _too_large(array: Any, dtype: Any) -> Any:
    """Which numbers of an array are finite, and infinite in another dtype of floats."""
    top = numpy.finfo(dtype).max
    limit = float(top) + float(top - numpy.nextafter(top, dtype.type(0))) / 2  # less is rounded to the largest number
    return numpy.isfinite(array) & (abs(array) >= limit)


def _keeps_numbers(dtype: Any, kind: type) -> bool:
    if issubclass(kind, int) and not issubclass(kind, bool):
        return dtype.kind in 'iu'
    if issubclass(kind, (bool, float, complex, numpy.generic)):
        return numpy.can_cast(dtype, kind)
    return True
