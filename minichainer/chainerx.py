"""ChainerX, which does not exist here: old code asks whether it is available."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class ndarray:
    """Stands for ChainerX's arrays: no array is an instance of it, and none can be made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError('chainerx is not available: use arrays of NumPy or CuPy')


def is_available() -> bool:
    """Whether ChainerX is available: always False.

    >>> from minichainer import chainerx
    >>> chainerx.is_available()
    False
    """
    return False


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        text = f'module {__name__!r} has no attribute {name!r}'
        if not name.startswith('_'):
            text += ': ChainerX is not supported, not even in part; use arrays of NumPy or CuPy'
        raise AttributeError(text, name=name)
