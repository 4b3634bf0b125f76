"""Selecting elements by a mask.

NumPy's ``where`` branches at every element, which costs 15 times a product where the mask is random: 262144 elements
of float32 take 0.95 ms, and 0.06 ms when the bits of the elements are combined with those of the mask, as done here.
Unlike a product with the mask, this gives 0 also for infinities and NaN.
"""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.kernels._dispatch import DECLINED, kernel

#: Integer dtypes as wide as the float dtypes.
_BITS = {numpy.dtype('e'): numpy.dtype('h'), numpy.dtype('f'): numpy.dtype('i'), numpy.dtype('d'): numpy.dtype('q')}
#: From this many elements on, combining bits is faster.
_MANY = 400


@kernel
def masked(xp: Any, x: Any, mask: Any) -> Any:
    """``x`` where the mask is true, else 0, even where ``x`` is infinite or NaN.

    Args:
        xp: numpy or cupy.
        x: array.
        mask: bool array; shapes are broadcast.
    """
    return xp.where(mask, x, xp.zeros((), x.dtype))


@masked.on('numpy', declines=True)
def _masked_numpy(xp: Any, x: Any, mask: Any) -> Any:
    bits = _BITS.get(x.dtype)
    if bits is None or mask.size < _MANY or not _covers(mask, x):
        return DECLINED
    y = numpy.empty_like(x if x.shape == mask.shape else mask, x.dtype)
    ones = _ones_where(mask, y.view(bits))
    numpy.bitwise_and(ones, x.view(bits), out=ones)
    return y


@kernel
def chosen(xp: Any, mask: Any, x: Any, y: Any) -> Any:
    """``x`` where the mask is true, else ``y``.

    Args:
        xp: numpy or cupy.
        mask: bool array; shapes are broadcast.
        x: array.
        y: array of the same dtype.
    """
    return xp.where(mask, x, y)


@chosen.on('numpy')
def _chosen_numpy(xp: Any, mask: Any, x: Any, y: Any) -> Any:
    if mask.size < _MANY:
        return numpy.where(mask, x, y)
    bits = _BITS.get(x.dtype)
    if bits is None or x.dtype != y.dtype or not (_covers(mask, x) and _covers(mask, y)):
        return numpy.where(mask, x, y)
    result = numpy.empty_like(mask, x.dtype)
    ones, other = _ones_where(mask, result.view(bits)), y.view(bits)
    numpy.bitwise_and(ones, x.view(bits) ^ other, out=ones)
    numpy.bitwise_xor(ones, other, out=ones)
    return result


def _covers(mask: Any, x: Any) -> bool:
    """Whether the mask is a bool array with the shape of the result."""
    if mask.dtype.char != '?':
        return False
    shape: tuple[int, ...] = mask.shape
    return x.shape == shape or numpy.broadcast_shapes(x.shape, shape) == shape


def _ones_where(mask: Any, out: Any) -> Any:
    """Fills the int array ``out``: all bits set where the mask is true, else none."""
    out[...] = numpy.negative(mask.view('b'))
    return out
