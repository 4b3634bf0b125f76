"""Types for annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

__all__ = ['TYPE_CHECKING', 'AbstractInitializer']


@runtime_checkable
class AbstractInitializer(Protocol):
    """What fills an array with first values: a callable that has a dtype, or None for that of the array."""

    dtype: Any = None

    def __call__(self, array: Any) -> None:
        """Fills the array in place."""
