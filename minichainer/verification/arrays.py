"""Copies of arrays, in several memory layouts, and comparisons and sizes of arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from minichainer.backend import get_array_module

#: Up to this many bytes, comparing arrays as bytes is faster than element by element.
_SMALL = 8192


def fresh_copy(array: Any) -> Any:
    """A copy that shares no memory with ``array``; contiguous only if ``array`` is."""
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return array.copy(order='K')
    return spread(array)


def spread(array: Any) -> Any:
    """A copy with a gap after every element; after every pair if the last axis has two, as in complex numbers."""
    xp = get_array_module(array)
    if array.ndim > 1 and array.shape[-1] == 2 < array.size and array.strides[-1] == array.itemsize:
        copy = xp.empty((*array.shape[:-1], 2, 2), array.dtype)[..., 0, :]
    else:
        copy = xp.empty((*array.shape, 2), array.dtype)[..., 0]
    copy[...] = array
    return copy


def same(a: Any, b: Any) -> bool:
    """Whether two arrays hold the same values, NaN and NaN included."""
    if type(a) is type(b) is np.ndarray and a.nbytes <= _SMALL and a.dtype == b.dtype and a.tobytes() == b.tobytes():
        return True
    return bool((a == b).all()) or bool(((a == b) | ((a != a) & (b != b))).all())


def full(gradient: Any, x: Any) -> Any:
    """The gradient of ``x``, with zeros in place of None."""
    return gradient if gradient is not None else get_array_module(x).zeros_like(x)


def host(array: Any) -> Any:
    """The array in CPU memory."""
    return array if type(array) is np.ndarray or get_array_module(array) is np else array.get()


def largest(array: Any) -> float:
    """The largest absolute value; 0 for an empty array."""
    if type(array) is np.ndarray and array.size:
        return float(np.maximum.reduce(abs(array), axis=None))  # which max() calls, too
    return float(abs(array).max()) if array.size else 0.0


def all_finite(array: Any) -> bool:
    """Whether no element is infinite or NaN."""
    return bool(get_array_module(array).isfinite(array).all())


def total(terms: Any) -> float:
    """The sum, also where the sum of some of the terms overflows."""
    found = float(terms.sum())
    return found if math.isfinite(found) else float((terms * 2.0**-64).sum()) * 2.0**64


def coarsest(arrays: Iterable[Any]) -> float:
    """The largest machine epsilon among the arrays of floats; None does not count."""
    return max(float(np.finfo(x.dtype).eps) for x in arrays if x is not None and x.dtype.kind == 'f')


def relaid(array: Any) -> Any:
    """A copy in another layout: Fortran order if that differs, else with gaps between the elements."""
    if array.ndim > 1 and array.flags.c_contiguous and not array.flags.f_contiguous:
        return array.copy(order='F')
    return spread(array) if array.flags.c_contiguous else array.copy(order='C')


def backwards(array: Any) -> Any:
    """A read-only copy that runs backwards through memory, with gaps between the elements."""
    if not array.ndim:
        return array.copy()
    everywhere = (slice(None, None, -1),) * array.ndim
    copy = spread(array[everywhere])[everywhere]
    if hasattr(copy.flags, 'writeable'):
        copy.flags.writeable = False
    return copy


def root_mean_square(x: Any) -> float:
    """The root mean square of the finite elements; 0 if there are none."""
    flat = x.astype(np.float64, copy=False).ravel()
    with np.errstate(all='ignore'):
        square = float(flat.dot(flat))
    if 1e-280 < square < 1e300:
        return math.sqrt(square / flat.size)
    finite = get_array_module(x).isfinite(x)
    x = x if bool(finite.all()) else x[finite]
    return norm(x) / math.sqrt(max(x.size, 1))


def norm(terms: Any) -> float:
    """The root of the sum of squares of the finite elements, without overflow."""
    with np.errstate(all='ignore'):
        return silent_norm(terms)


def silent_norm(terms: Any) -> float:
    """As :func:`norm`, for callers that have already silenced NumPy's warnings: that takes as long as the sum."""
    terms = terms.astype(np.float64, copy=False).ravel()
    square = float(terms.dot(terms))
    if 1e-280 < square < 1e300 or not terms.size:
        return math.sqrt(square)
    terms = terms[get_array_module(terms).isfinite(terms)]
    largest = float(abs(terms).max()) if terms.size else 0.0
    if not largest:
        return 0.0
    scaled = terms / largest
    return largest * math.sqrt(float(scaled.dot(scaled)))
