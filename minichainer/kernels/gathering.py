"""Strided views of an array, and sums at given indices."""

from __future__ import annotations

import math
from typing import Any

import numpy

from minichainer.kernels._dispatch import kernel

Shape = tuple[int, ...]


@kernel
def sums_at(xp: Any, y: Any, index: Any, shape: Shape) -> Any:
    """Zeros of a shape to which elements are added at ``index``; accumulated in float64."""
    total = xp.zeros(math.prod(shape))
    xp.add.at(total, xp.asarray(index).reshape(-1), y.reshape(-1).astype('d'))
    return total.reshape(shape).astype(y.dtype, copy=False)


@sums_at.on('numpy')
def _sums_at_numpy(xp: Any, y: Any, index: Any, shape: Shape) -> Any:
    """``add.at`` takes several times as long as ``bincount``, which on a device reads its largest index."""
    total = numpy.bincount(numpy.asarray(index).reshape(-1), weights=y.reshape(-1), minlength=math.prod(shape))
    return total.reshape(shape).astype(y.dtype, copy=False)


_nditer: Any = numpy.nditer
_FLAGS, _READ_ONLY = ['multi_index', 'refs_ok', 'zerosize_ok'], [['readonly']]


@kernel
def expanded(xp: Any, x: Any, shape: Shape) -> Any:
    """A read-only view in which axes of size 1, and new leading ones, are repeated."""
    return xp.broadcast_to(x, shape)


@expanded.on('numpy')
def _expanded_numpy(xp: Any, x: Any, shape: Shape) -> Any:
    if x.shape == shape:
        view = x.view()
        view.setflags(write=False)
        return view
    lead = len(shape) - x.ndim
    if x.flags.c_contiguous and x.size and not x.dtype.hasobject and shape[lead:] == x.shape:  # new leading axes
        view = numpy.ndarray(shape, x.dtype, x, 0, (0,) * lead + x.strides)
        view.setflags(write=False)
        return view
    # What numpy.broadcast_to does, in half of its time for small arrays.
    return _nditer((x,), _FLAGS, _READ_ONLY, itershape=shape, order='C').itviews[0]


def common_shape(*shapes: Shape) -> Shape:
    """What arrays of these shapes are broadcast to: ``numpy.broadcast_shapes``, quicker if one of them is the result.

    Raises:
        ValueError: they cannot be broadcast together.
    """
    longest = shapes[0]
    for shape in shapes:
        if len(shape) > len(longest):
            longest = shape
    for shape in shapes:
        if shape != longest and shape != longest[len(longest) - len(shape) :]:
            return numpy.broadcast_shapes(*shapes)
    return longest


@kernel
def strided(xp: Any, x: Any, shape: Shape, strides: Shape, offset: int) -> Any:
    """A view with strides in elements, beginning at element ``offset``."""
    return _view_of_steps(xp, xp.ascontiguousarray(x), shape, strides, offset)


@strided.on('numpy')
def _strided_numpy(xp: Any, x: Any, shape: Shape, strides: Shape, offset: int) -> Any:
    # The constructor takes a fifth of the time of numpy.lib.stride_tricks.
    size = x.itemsize
    steps = [stride * size for stride in strides]
    view: Any = numpy.ndarray(shape, x.dtype, numpy.ascontiguousarray(x), offset * size, steps)
    view.setflags(False)  # write; by name it takes three times as long
    return view


@kernel
def strided_sum(xp: Any, y: Any, strides: Shape, offset: int, shape: Shape) -> Any:
    """The adjoint of :func:`strided`: adds ``y`` at these strides to zeros of a shape."""
    if _are_apart(y.shape, strides):
        result = xp.zeros(shape, y.dtype)
        _view_of_steps(xp, result, y.shape, strides, offset)[...] = y
        return result
    index = numpy.array(offset)
    for size, stride in zip(y.shape, strides, strict=True):
        index = index[..., None] + numpy.arange(size) * stride
    return sums_at(xp, y, index, shape)


def _view_of_steps(xp: Any, x: Any, shape: Shape, strides: Shape, offset: int) -> Any:
    steps = [stride * x.itemsize for stride in strides]
    return xp.lib.stride_tricks.as_strided(x.reshape(-1)[offset:], shape, steps)


def _are_apart(shape: Shape, strides: Shape) -> bool:
    """Whether every stride exceeds the extent of the smaller ones, so that no element appears twice."""
    reach = 0
    for step, size in sorted((abs(stride), size) for size, stride in zip(shape, strides, strict=True) if size > 1):
        if step <= reach:
            return False
        reach += step * (size - 1)
    return True
