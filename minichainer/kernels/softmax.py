"""Softmax, its logarithm, and their gradients on NumPy arrays, with few temporaries.

Sums along the last axis are products with ones, three times as fast as NumPy's, and the sum is inverted before it is
multiplied by: a division of every element takes twice as long.
"""

from __future__ import annotations

from typing import Any

import numpy

#: From how many elements on products with ones are faster, and how long a row may be: they add up in float32.
_MANY = 4096
_LONG = 1 << 16


def softmax(x: Any, axis: int) -> Any:
    """Softmax of a float32 or float64 array that is not empty."""
    y = x - x.max(axis=axis, keepdims=True)
    numpy.exp(y, out=y)
    if y.size < _MANY:
        y /= y.sum(axis=axis, keepdims=True)
    else:
        y *= 1 / total(y, axis)
    return y


def softmax_reference(x: Any, axis: int) -> Any:
    """The plain form of :func:`softmax`."""
    y = numpy.exp(x - x.max(axis=axis, keepdims=True))
    return y / y.sum(axis=axis, keepdims=True)


def log_softmax(x: Any, axis: int) -> Any:
    """Its logarithm."""
    y = x - x.max(axis=axis, keepdims=True)
    y -= numpy.log(total(numpy.exp(y), axis))
    return y


def log_softmax_reference(x: Any, axis: int) -> Any:
    """The plain form of :func:`log_softmax`."""
    y = x - x.max(axis=axis, keepdims=True)
    return y - numpy.log(numpy.exp(y).sum(axis=axis, keepdims=True))


def softmax_gradient(gy: Any, y: Any, axis: int) -> Any:
    """``y (gy - sum(gy y))`` of two float32 or two float64 arrays."""
    gx = gy * y
    numpy.subtract(gy, total(gx, axis), out=gx)
    gx *= y
    return gx


def softmax_gradient_reference(gy: Any, y: Any, axis: int) -> Any:
    """The plain form of :func:`softmax_gradient`."""
    return y * (gy - (gy * y).sum(axis=axis, keepdims=True))


def log_softmax_gradient(gy: Any, y: Any, axis: int) -> Any:
    """``gy - exp(y) sum(gy)`` of two float32 or two float64 arrays."""
    gx = numpy.exp(y)
    gx *= total(gy, axis)
    return numpy.subtract(gy, gx, out=gx)


def log_softmax_gradient_reference(gy: Any, y: Any, axis: int) -> Any:
    """The plain form of :func:`log_softmax_gradient`."""
    return gy - numpy.exp(y) * gy.sum(axis=axis, keepdims=True)


def total(x: Any, axis: int) -> Any:
    """``x.sum(axis, keepdims=True)`` of a float32 or float64 array; that is its plain form."""
    last = axis in (-1, x.ndim - 1)
    if not last or x.size < _MANY or x.shape[-1] > _LONG or not x.flags.c_contiguous:
        return x.sum(axis=axis, keepdims=True)
    return x.reshape(-1, x.shape[-1]).dot(numpy.ones(x.shape[-1], x.dtype)).reshape(*x.shape[:-1], 1)
