"""Softmax, its logarithm, and their gradients on NumPy arrays.

Sums along the last axis are products with ones, three times as fast as NumPy's, and the row of sums is inverted
before it is multiplied by: a division of every element takes twice as long.
"""

from __future__ import annotations

from typing import Any

import numpy

#: From how many elements on products with ones are faster, and how long their rows may be in float32.
_MANY = 4096
_LONG = 1 << 16


def total(x: Any, axis: int) -> Any:
    """``x.sum(axis, keepdims=True)`` of float32 or float64."""
    last = axis in (-1, x.ndim - 1)
    if not last or x.size < _MANY or x.shape[-1] > _LONG or x.dtype.char not in 'fd' or not x.flags.c_contiguous:
        return x.sum(axis=axis, keepdims=True)
    rows = x.reshape(-1, x.shape[-1])
    return rows.dot(numpy.ones(x.shape[-1], x.dtype)).reshape(*x.shape[:-1], 1)


def softmax(x: Any, axis: int) -> Any:
    """Softmax of a float32 or float64 array that is not empty; the plain form is :func:`softmax_reference`."""
    y = x - x.max(axis=axis, keepdims=True)
    numpy.exp(y, out=y)
    y *= 1 / total(y, axis)
    return y


def softmax_reference(x: Any, axis: int) -> Any:
    """The plain form of :func:`softmax`."""
    y = numpy.exp(x - x.max(axis=axis, keepdims=True))
    return y / y.sum(axis=axis, keepdims=True)


def log_softmax(x: Any, axis: int) -> Any:
    """Its logarithm; the plain form is :func:`log_softmax_reference`."""
    y = x - x.max(axis=axis, keepdims=True)
    y -= numpy.log(total(numpy.exp(y), axis))
    return y


def log_softmax_reference(x: Any, axis: int) -> Any:
    """The plain form of :func:`log_softmax`."""
    y = x - x.max(axis=axis, keepdims=True)
    return y - numpy.log(numpy.exp(y).sum(axis=axis, keepdims=True))


def softmax_gradient(gy: Any, y: Any, axis: int) -> Any:
    """``y (gy - sum(gy y))``."""
    product = gy * y
    gx = gy - total(product, axis)
    gx *= y
    return gx


def log_softmax_gradient(gy: Any, y: Any, axis: int) -> Any:
    """``gy - exp(y) sum(gy)``."""
    gx = numpy.exp(y)
    gx *= total(gy, axis)
    return numpy.subtract(gy, gx, out=gx)
