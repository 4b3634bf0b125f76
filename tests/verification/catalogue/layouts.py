"""How an array may lie in memory: each gives one of the same shape and dtype, and all but one the same values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def contiguous(x: Any) -> Any:
    """Rows one after another."""
    return np.array(x, order='C')


def fortran(x: Any) -> Any:
    """Columns one after another."""
    return np.array(x, order='F')


def transposed(x: Any) -> Any:
    """The last axis first in memory, the others in order: neither C nor Fortran from three axes on."""
    return np.moveaxis(np.array(np.moveaxis(x, -1, 0), order='C'), 0, -1) if x.ndim else contiguous(x)


def with_gaps(x: Any) -> Any:
    """A view with steps of two along each axis; what lies between is NaN."""
    store = np.full([2 * n for n in x.shape], np.nan, x.dtype)
    view = store[(..., *[slice(None, None, 2)] * x.ndim)]
    view[...] = x
    return view


def backwards(x: Any) -> Any:
    """Negative strides along each axis."""
    flipped = (..., *[slice(None, None, -1)] * x.ndim)
    return np.array(x[flipped], order='C')[flipped]


def backwards_with_gaps(x: Any) -> Any:
    """Steps of -2 along the last axis."""
    if not x.ndim:
        return contiguous(x)
    store = np.full((*x.shape[:-1], 2 * x.shape[-1]), np.nan, x.dtype)
    view = store[..., ::-2]
    view[...] = x
    return view


def read_only(x: Any) -> Any:
    """As it comes out of a file that is mapped."""
    x = contiguous(x)
    x.flags.writeable = False
    return x


def stretched(x: Any) -> Any:
    """All rows the first one, by a stride of 0: read-only, and other values than before."""
    return np.broadcast_to(x[:1], x.shape) if x.ndim > 1 and x.shape[0] > 1 else read_only(x)


def unaligned(x: Any) -> Any:
    """Off the boundaries of its numbers by one byte, as a field of a packed record is."""
    store = np.zeros(x.nbytes + 1, np.uint8)
    view = store[1:].view(x.dtype).reshape(x.shape) if x.size else contiguous(x)
    view[...] = x
    return view


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    'C': contiguous,
    'Fortran': fortran,
    'transposed': transposed,
    'gaps': with_gaps,
    'backwards': backwards,
    'backwards with gaps': backwards_with_gaps,
    'read-only': read_only,
    'stride 0': stretched,
    'unaligned': unaligned,
}
