"""Checks of the arguments of links' constructors; an error names the link and the argument.

A constructor makes one :class:`LinkArguments` before anything else, and passes its arguments by name:

    check = LinkArguments(self)
    check.optional_sizes(in_size=in_size)
    check.sizes(out_size=out_size)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy

from minichainer._dtype import get_dtype
from minichainer.configuration import mixed16
from minichainer.functions._arguments import Arguments, as_integer
from minichainer.initializers._generate import _get_initializer


class InitialShapeError(ValueError, AssertionError):
    """An array of initial values has a wrong shape: AssertionError in Chainer's Bilinear, ValueError elsewhere."""


class LinkArguments:
    """The checks for the constructor of one link.

    Args:
        link: the link that is made.
    """

    def __init__(self, link: Any) -> None:
        self.link = type(link).__name__
        self._of = Arguments(self.link)

    # --- integers ------------------------------------------------------------------------------------------------
    def integers(self, least: int | None = None, **values: Any) -> None:
        """Raises TypeError unless they are ints, ValueError if one is below ``least``."""
        for name, value in values.items():
            self._of.integer(value, name, least)

    def sizes(self, **values: Any) -> None:
        """Raises TypeError unless they are ints, ValueError if one is negative."""
        self.integers(0, **values)

    def optional_sizes(self, **values: Any) -> None:
        """The same for sizes that may be None."""
        self.sizes(**{name: value for name, value in values.items() if value is not None})

    def each_axis(self, n: int, least: int, **values: Any) -> None:
        """Raises TypeError or ValueError unless they are ints, or sequences of ``n`` ints, of ``least`` or more."""
        for name, value in values.items():
            self._of.per_axis(value, name, n, least)

    def outsize(self, n: int, value: Any) -> None:
        """Raises TypeError or ValueError unless ``outsize`` is None, or ``n`` positive ints or Nones."""
        if value is None:
            return
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise self._of.wrong_type(f'a tuple of {n} ints', 'outsize', value)
        self._of.per_axis(tuple([1 if size is None else size for size in value]), 'outsize', n)

    def shapes(self, **values: Any) -> None:
        """Raises TypeError unless they are sizes or tuples of sizes, ValueError if one is negative."""
        for name, value in values.items():
            for size in value if isinstance(value, (tuple, list)) else (value,):
                if as_integer(size) is None:
                    raise self._of.wrong_type('an int or a tuple of ints', name, value)
                self._of.integer(size, name, 0)

    def ascending(self, **values: Any) -> None:
        """Raises TypeError unless they are ints or tuples of ints, RuntimeError unless these ascend."""
        for name, value in values.items():
            axes = value if isinstance(value, (tuple, list)) else (value,)
            if not axes or any(as_integer(axis) is None for axis in axes):
                raise self._of.wrong_type('an int or a tuple of ints', name, value)
            if any(a >= b for a, b in pairwise(axes) if (a < 0) == (b < 0)):
                raise RuntimeError(f'{self.link}: {name} must be in ascending order, got {value!r}')

    # --- numbers and choices -------------------------------------------------------------------------------------
    def numbers(self, low: float, high: float, **values: Any) -> None:
        """Raises TypeError unless they are numbers, ValueError unless they are from ``low`` to ``high``."""
        for name, value in values.items():
            self._of.number(value, name)
            if not low <= value <= high or abs(value) == math.inf:
                raise self._of.wrong_value(f'a finite number from {low:g} to {high:g}', name, value)

    def ratios(self, **values: Any) -> None:
        """Raises TypeError unless they are numbers, ValueError unless they are in ``[0, 1)``."""
        for name, value in values.items():
            self._of.number(value, name)
            if not 0 <= value < 1:
                raise self._of.wrong_value('a number in [0, 1)', name, value)

    def flags(self, **values: Any) -> None:
        """Raises TypeError unless they are bools, or ints used as such."""
        for name, value in values.items():
            self._of.flag(value, name)

    def dtype(self, value: Any, name: str = 'dtype') -> None:
        """Raises TypeError unless ``dtype`` is None or names a float dtype."""
        if value is None or value is mixed16:
            return
        try:
            found = get_dtype(value)
        except TypeError:
            raise self._of.wrong_type('a float dtype', name, value) from None
        if found.kind != 'f':
            raise self._of.wrong_type('a float dtype', name, value)

    def callables(self, **values: Any) -> None:
        """Raises TypeError unless they are functions or links; a class is not one of its instances."""
        for name, value in values.items():
            if isinstance(value, type):
                expected = f'a function or a link, not a class; write {value.__name__}(...),'
                raise self._of.wrong_type(expected, name, value)
            if not callable(value):
                raise self._of.wrong_type('a function or a link', name, value)

    # --- initial values ------------------------------------------------------------------------------------------
    def initializers(self, shape: Any = None, **values: Any) -> None:
        """Raises an error unless they are initializers, numbers, arrays or None.

        Args:
            shape: shape of the parameter, an int or a tuple, with None for sizes that are not known yet; None if
                nothing is known. An array must broadcast to it.
            values: initializers by name.

        Raises:
            TypeError: an argument cannot initialize an array; a class must be called first.
            InitialShapeError: an array does not fit the shape.
        """
        if isinstance(shape, int):
            shape = (shape,)
        for name, value in values.items():
            if isinstance(value, type):
                expected = f'an initializer, a real number or an array, not a class; write {value.__name__}(...),'
                raise self._of.wrong_type(expected, name, value)
            try:
                _get_initializer(value)
                real = not isinstance(value, complex)
            except TypeError:
                real = False
            if not real:
                raise self._of.wrong_type('an initializer, a real number, an array or None', name, value)
            self._values(name, value, shape)

    def common_initializers(self, shapes: Iterable[Any], **values: Any) -> None:
        """The same for initializers of several parameters."""
        for shape in shapes:
            self.initializers(shape, **values)

    def given(self, **values: Any) -> None:
        """Raises TypeError if an initializer without a default is None."""
        for name, value in values.items():
            if value is None:
                raise self._of.wrong_type('an initializer, a real number or an array', name, value)

    def whole(self, name: str, value: Any, shape: tuple[int, ...]) -> None:
        """The same for one initializer; an array must have exactly this shape."""
        self.initializers(**{name: value})
        if getattr(value, 'ndim', 0) and value.shape != shape:
            raise self.wrong_shape(name, value, shape)

    def _values(self, name: str, value: Any, shape: Any) -> None:
        dtype = getattr(value, 'dtype', None)
        if not hasattr(value, 'shape') or dtype is None:
            return
        if numpy.dtype(dtype).kind not in 'biuf':
            raise self._of.wrong_type('real numbers', name, value)
        if shape is not None and not _broadcasts(value.shape, shape):
            raise self.wrong_shape(name, value, shape)

    def wrong_shape(self, name: str, value: Any, shape: Sequence[int | None]) -> InitialShapeError:
        """The error for initial values of a wrong shape."""
        sizes = ', '.join('?' if size is None else str(size) for size in shape)
        return InitialShapeError(
            f'{self.link}: {name} must broadcast to shape ({sizes}{"," if len(shape) == 1 else ""}), '
            f'got an array of shape {value.shape}'
        )

    # --- errors --------------------------------------------------------------------------------------------------
    def wrong_type(self, expected: str, name: str, value: Any) -> TypeError:
        """The error for an argument of a wrong type."""
        return self._of.wrong_type(expected, name, value)

    def wrong_value(self, expected: str, name: str, value: Any) -> ValueError:
        """The error for an argument of a wrong value."""
        return self._of.wrong_value(expected, name, value)


def _broadcasts(shape: Sequence[int], wide: Sequence[int | None]) -> bool:
    """Whether an array can be assigned to one of shape ``wide``, where None fits every size."""
    extra = max(len(shape) - len(wide), 0)
    if any(size != 1 for size in shape[:extra]):
        return False
    pairs = zip(shape[extra:][::-1], wide[::-1], strict=False)
    return all(size == 1 or target is None or size == target for size, target in pairs)
