"""Gated and limited units on NumPy arrays, with few temporaries: each costs as much as a step of arithmetic."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.kernels.blocks import in_blocks
from minichainer.kernels.selection import masked

#: From how many elements on the exponential of -x is the faster form, though its overflow has to be silenced.
_MANY = 4096
_ones: dict[Any, Any] = {numpy.dtype(char): numpy.ones((), char) for char in 'fd'}
#: The sigmoid of what is more is 1; its exponential is far from an overflow.
_tops: dict[Any, Any] = {numpy.dtype(char): numpy.asarray(40, char) for char in 'fd'}


def sigmoid(x: Any) -> Any:
    r""":math:`1 / (1 + e^{-x})` of a float32 or float64 array, precise to the last digits where it is tiny too."""
    if x.size >= _MANY:
        return in_blocks(_sigmoid_of_many, x)
    exponential = numpy.exp(numpy.minimum(x, _tops[x.dtype]))
    return numpy.divide(exponential, numpy.add(exponential, _ones[x.dtype]))


def sigmoid_reference(x: Any) -> Any:
    """The plain form of :func:`sigmoid`."""
    with numpy.errstate(over='ignore'):
        return 1 / (1 + numpy.exp(-x))


def _sigmoid_of_many(x: Any) -> Any:
    one = _ones[x.dtype]
    y = numpy.negative(x)
    with numpy.errstate(over='ignore'):
        numpy.exp(y, out=y)
    y += one
    return numpy.divide(one, y, out=y)


def silu(x: Any) -> Any:
    r""":math:`x \sigma(x)` of a float32 or float64 array."""
    gate = numpy.asarray(sigmoid(x))
    gate *= x
    return gate


def silu_reference(x: Any) -> Any:
    """The plain form of :func:`silu`."""
    return x * sigmoid_reference(x)


def silu_gradient(gy: Any, x: Any, y: Any) -> Any:
    """The upstream gradient times the derivative ``s + y (1 - s)``, in which ``s`` is the sigmoid of ``x``."""
    gate = numpy.asarray(sigmoid(x))
    other = numpy.asarray(1 - gate)
    other *= y
    gate += other
    gate *= gy
    return gate


def scaled_inside(gy: Any, x: Any, factor: float, low: float, high: float) -> Any:
    """``gy * factor`` where ``x`` lies between the limits, else 0, also where ``gy`` is infinite."""
    inside = numpy.asarray(x > low)
    inside &= x < high
    gx = numpy.asarray(masked(numpy, gy, inside))
    gx *= factor
    return gx
