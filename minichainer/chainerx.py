"""ChainerX, which does not exist here: old code asks whether it is available."""

from __future__ import annotations


class ndarray:
    """Stands for ChainerX's arrays: no array is an instance of it."""


def is_available() -> bool:
    """Whether ChainerX is available: always False.

    >>> from minichainer import chainerx
    >>> chainerx.is_available()
    False
    """
    return False
