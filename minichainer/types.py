"""Types for annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy

__all__ = ['TYPE_CHECKING', 'AbstractInitializer', 'Array', 'ArrayLike']

#: The array of a Variable, or its gradient. CuPy's arrays are used in the same way, and are no dependency.
Array: TypeAlias = numpy.ndarray[Any, Any]

#: What ops take: a Variable, or a NumPy or CuPy array. It is not spelled out, because the body of an op has the same
#: parameter and gets the raw array.
ArrayLike: TypeAlias = Any


@runtime_checkable
class AbstractInitializer(Protocol):
    """What fills an array with first values: a callable that has a dtype, or None for that of the array."""

    dtype: Any = None

    def __call__(self, array: Any) -> None:
        """Fills the array in place."""
