"""Types for annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy

__all__ = ['TYPE_CHECKING', 'AbstractInitializer', 'Array', 'ArrayLike']

#: The array of a Variable, or its gradient. CuPy's arrays work in the same way, but CuPy is not a dependency.
Array: TypeAlias = numpy.ndarray[Any, Any]

#: Arguments of ops: a Variable, or a NumPy or CuPy array. It is Any, because the body of an op has the same parameter
#: and gets the raw array.
ArrayLike: TypeAlias = Any


@runtime_checkable
class AbstractInitializer(Protocol):
    """An initializer of arrays: a callable with a dtype, or None for the dtype of the array."""

    dtype: Any = None

    def __call__(self, array: Any) -> None:
        """Fills the array in place."""
