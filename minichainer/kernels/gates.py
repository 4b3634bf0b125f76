"""Gated and limited units on NumPy arrays, with few temporaries: each costs as much as a step of arithmetic."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.kernels.selection import masked


def silu(x: Any) -> Any:
    r""":math:`x \sigma(x)` of a float32 or float64 array."""
    gate = _gate(x)
    gate *= x
    return gate


def silu_reference(x: Any) -> Any:
    """The plain form of :func:`silu`."""
    return x * (numpy.tanh(x * 0.5) * 0.5 + 0.5)


def _gate(x: Any) -> Any:
    """The logistic sigmoid."""
    half = numpy.asarray(0.5, x.dtype)
    gate = numpy.asarray(x * half)
    numpy.tanh(gate, out=gate)
    gate *= half
    gate += half
    return gate


def silu_gradient(gy: Any, x: Any, y: Any) -> Any:
    """The upstream gradient times the derivative ``s + y (1 - s)``, in which ``s`` is the sigmoid of ``x``."""
    gate = _gate(x)
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
