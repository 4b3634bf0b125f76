"""Parts of error messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def _format_array_props(arrays: Iterable[Any]) -> str:
    """Shapes and dtypes of arrays as text, such as ``(2, 3):float32, None``. Old code of users imports it."""
    return ', '.join('None' if array is None else f'{array.shape}:{array.dtype}' for array in arrays)
