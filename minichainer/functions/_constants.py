"""Numbers as 0-d arrays: NumPy is twice as fast with them as with Python numbers, and the dtype is plain."""
from __future__ import annotations

from typing import Any

import numpy

_LIMIT = 1024
_known: dict[Any, dict[Any, Any]] = {}


def number(value: Any, dtype: Any) -> Any:
    """A number as a read-only 0-d array of the given dtype; those in use are kept."""
    try:
        of_dtype = _known[dtype]
        if value != 0:  # 0.0 and -0.0 are equal, and not the same
            return of_dtype[value]
    except (KeyError, TypeError):
        pass
    array = numpy.array(value, dtype)
    array.flags.writeable = False
    of_dtype = _known.setdefault(dtype, {})
    if type(value) in (int, float) and len(of_dtype) < _LIMIT:
        of_dtype[value] = array
    return array


_zeros: dict[Any, Any] = {}


def zero(xp: Any, dtype: Any) -> Any:
    """0 as a 0-d array."""
    if xp is not numpy:
        return xp.zeros((), dtype)
    array = _zeros.get(dtype)
    if array is None:
        array = _zeros[dtype] = numpy.zeros((), dtype)
        array.flags.writeable = False
    return array
