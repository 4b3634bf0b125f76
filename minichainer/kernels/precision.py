"""In which precision float16 arrays are computed."""

from __future__ import annotations

from typing import Any


def in_float32(x: Any) -> Any:
    """A float16 array in float32; any other array as it is."""
    return x.astype('f') if x.dtype.char == 'e' else x
