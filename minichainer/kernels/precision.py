"""The precision in which float16 arrays are computed."""

from __future__ import annotations

from typing import Any

import numpy

_FLOAT32 = numpy.dtype('f')


def accumulator(dtype: Any) -> Any:
    """The dtype in which elements are accumulated: float32 for float16, else their own."""
    return _FLOAT32 if dtype.char == 'e' else dtype


def in_float32(x: Any) -> Any:
    """A float16 array in float32; any other array unchanged."""
    return x.astype('f') if x.dtype.char == 'e' else x
