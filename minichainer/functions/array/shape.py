"""Functions that change only the shape."""

from __future__ import annotations

import math
from typing import Any

import numpy

from minichainer import ops
from minichainer._misfits import AxesError
from minichainer.functions._arguments import Arguments
from minichainer.functions._define import linear_map
from minichainer.functions._node import reaches
from minichainer.kernels import gathering
from minichainer.utils.array import sum_to as sum_to_shape
from minichainer.variable import Variable, as_variable

_reshape, _transpose = Arguments('Reshape', 'reshape'), Arguments('Transpose', 'transpose')
_broadcast_to, _sum_to = Arguments('BroadcastTo', 'broadcast_to'), Arguments('SumTo', 'sum_to')
_squeeze, _expand_dims = Arguments('Squeeze', 'squeeze'), Arguments('ExpandDims', 'expand_dims')


@linear_map(lambda m, gy, x_shape: m.reshape(gy, x_shape), name='Reshape', on_numpy=numpy.ndarray.reshape)
def reshape_to(xp: Any, x: Any, shape: tuple[int, ...]) -> Any:
    return x.reshape(shape)


def reshape(x: Any, shape: Any) -> Variable:
    """Gives an array another shape with the same elements in C order.

    Args:
        x: Variable or array.
        shape: tuple of ints, one of which may be -1 (inferred).

    Returns:
        Variable; ``x`` itself where the shape is already right.

    Raises:
        InvalidType: the numbers of elements differ.
        AssertionError: -1 appears twice.

    >>> import numpy as np, minichainer.functions as F
    >>> F.reshape(np.arange(4.), (2, -1))
    variable([[0., 1.],
              [2., 3.]])
    """
    given = as_variable(x)
    if type(shape) is not tuple:
        shape = _reshape.shape(shape)
    if given.shape == shape:
        return given
    if shape == (-1,):
        return reshape_to(given, shape)
    try:
        if -1 in shape or math.prod(shape) != given.size:
            _check_size(given, shape)
        return reshape_to(given, shape)
    except TypeError:
        _reshape.shape(shape)
        raise


def _check_size(x: Variable, shape: tuple[int, ...]) -> None:
    """Raises an error unless the array can be reshaped."""
    if any([isinstance(entry, str) for entry in shape]):
        _reshape.shape(shape)
    unknown = shape.count(-1)
    if unknown > 1:
        raise AssertionError(f'reshape: only one entry of the shape may be -1, got {shape}')
    size = 1
    for entry in shape:
        size *= 1 if entry == -1 else entry
    fits = (size and x.size % size == 0) if unknown else size == x.size
    if not fits and not (unknown and x.size == 0 and size == 0):
        raise _reshape.misfit(f'an array of prod{shape} elements', f'{x.size} elements, shape {x.shape}')


def _reshape_raw(xp: Any, x: Any, shape: tuple[int, ...]) -> Any:
    return x.reshape(shape)


ops.register('reshape', reshape, _reshape_raw)


@linear_map(lambda m, gy, axes: m.permute(gy, _inverse(axes)), name='Transpose', on_numpy=numpy.ndarray.transpose)
def permute(xp: Any, x: Any, axes: Any) -> Any:
    return x.transpose(axes)


def _inverse(axes: Any) -> Any:
    if axes is None:
        return None
    count = len(axes)
    inverse = [0] * count
    for place, axis in enumerate(axes):
        inverse[axis % count] = place
    return tuple(inverse)


def transpose(x: Any, axes: Any = None) -> Variable:
    """Permutes the axes of an array.

    Args:
        x: Variable or array.
        axes: tuple of ints, the old axis for each new one; None to reverse all.

    Returns:
        Variable, a view where the array module makes one.

    Raises:
        AxesError: ``axes`` is not a permutation of the axes; an InvalidType and a ValueError.

    >>> import numpy as np, minichainer.functions as F
    >>> F.transpose(np.ones((2, 3))).shape
    (3, 2)
    """
    x = as_variable(x)
    if axes is not None:
        axes = axes if type(axes) is tuple else _transpose.shape(axes, 'axes')
        if not _is_permutation(axes, x.ndim):
            raise _transpose.misfit(f'a permutation of {x.ndim} axes', f'axes = {axes}', AxesError)
    return permute(x, axes)


def _is_permutation(axes: tuple[int, ...], ndim: int) -> bool:
    try:
        return sorted([a % ndim if -ndim <= a < ndim else -1 for a in axes]) == list(range(ndim))
    except TypeError:
        _transpose.shape(axes, 'axes')
        raise


ops.register('transpose', transpose, lambda xp, x, axes=None: x.transpose(axes))


@linear_map(lambda m, gy, x_shape: m.sum_to(gy, x_shape), name='BroadcastTo', on_numpy=gathering.expanded)
def expand_to(xp: Any, x: Any, shape: tuple[int, ...]) -> Any:
    return gathering.expanded(xp, x, shape)


def broadcast_to(x: Any, shape: Any) -> Variable:
    """Repeats an array along axes of size 1, and new leading ones, until it has the given shape.

    Args:
        x: Variable or array.
        shape: tuple of ints.

    Returns:
        Variable; its array is a read-only view.

    Raises:
        InvalidType: the shape cannot be reached by broadcasting.

    >>> import numpy as np, minichainer.functions as F
    >>> F.broadcast_to(np.array([1., 2.]), (2, 2))
    variable([[1., 2.],
              [1., 2.]])
    """
    given = as_variable(x)
    shape = _broadcast_to.shape(shape)
    if given.shape == shape:
        return given
    if not reaches(given.shape, shape) or (shape and min(shape) < 0):
        raise _broadcast_to.misfit(f'a shape that can be broadcast to {shape}', f'{given.shape}')
    return expand_to(given, shape)


ops.register('broadcast_to', broadcast_to, lambda xp, x, shape: xp.broadcast_to(x, shape))


def _sum_on_numpy(x: Any, shape: tuple[int, ...]) -> Any:
    if x.ndim != len(shape) or x.dtype.char not in 'fd':
        return sum_to_shape(x, shape)
    axes = [axis for axis, size in enumerate(x.shape) if size != shape[axis]]
    return numpy.add.reduce(x, tuple(axes), keepdims=True)


@linear_map(lambda m, gy, x_shape: m.broadcast_to(gy, x_shape), name='SumTo', on_numpy=_sum_on_numpy)
def sum_over_to(xp: Any, x: Any, shape: tuple[int, ...]) -> Any:
    return sum_to_shape(x, shape)


def sum_to(x: Any, shape: Any) -> Variable:
    """Sums over axes until the array has the given shape: the adjoint of :func:`broadcast_to`.

    Args:
        x: Variable or array.
        shape: tuple of ints, from which ``x``'s shape is reached by broadcasting.

    Returns:
        Variable; ``x`` itself where the shape is already right.

    Raises:
        InvalidType: broadcasting does not lead from the shape to ``x``'s.

    >>> import numpy as np, minichainer.functions as F
    >>> F.sum_to(np.ones((2, 3)), (1, 3))
    variable([[2., 2., 2.]])
    """
    given = as_variable(x)
    shape = _sum_to.shape(shape)
    if given.shape == shape:
        return given
    if not reaches(shape, given.shape):
        raise _sum_to.misfit(f'a shape from which {given.shape} is reached by broadcasting', f'{shape}')
    return sum_over_to(given, shape)


ops.register('sum_to', sum_to, lambda xp, x, shape: sum_to_shape(x, shape))


def squeeze(x: Any, axis: Any = None) -> Variable:
    """Removes axes of size 1.

    Args:
        x: Variable or array.
        axis: None for all of them, an int, or a tuple of ints.

    Returns:
        Variable.

    Raises:
        InvalidType: an axis is out of range.
        ValueError: an axis is not of size 1.
        TypeError: ``axis`` is something else.

    >>> import numpy as np, minichainer.functions as F
    >>> F.squeeze(np.ones((1, 2, 1))).shape
    (2,)
    """
    x = as_variable(x)
    shape = x.shape
    if axis is None:
        return _squeezed(x, tuple([size for size in shape if size != 1]))
    axes = _squeeze.axes(axis, shape) or ()
    for i in axes:
        if shape[i] != 1:
            raise ValueError(f'squeeze: x.shape[{i}] == 1 expected, got x.shape = {shape}')
    return _squeezed(x, tuple([size for i, size in enumerate(shape) if i not in axes]))


@linear_map(lambda m, gy, x_shape: m.reshape(gy, x_shape), name='Squeeze', on_numpy=numpy.ndarray.reshape)
def _squeezed(xp: Any, x: Any, shape: tuple[int, ...]) -> Any:
    return x.reshape(shape)


def expand_dims(x: Any, axis: int) -> Variable:
    """Inserts an axis of size 1.

    Args:
        x: Variable or array.
        axis: where the new axis is in the result, from ``-ndim - 1`` to ``ndim``.

    Returns:
        Variable.

    Raises:
        InvalidType: ``axis`` is out of range.

    >>> import numpy as np, minichainer.functions as F
    >>> F.expand_dims(np.ones(3), 1).shape
    (3, 1)
    """
    x = as_variable(x)
    place = _expand_dims.axis(axis, x.ndim + 1)
    return _expanded(x, (*x.shape[:place], 1, *x.shape[place:]))


@linear_map(lambda m, gy, x_shape: m.reshape(gy, x_shape), name='ExpandDims', on_numpy=numpy.ndarray.reshape)
def _expanded(xp: Any, x: Any, shape: tuple[int, ...]) -> Any:
    return x.reshape(shape)


def flatten(x: Any) -> Variable:
    """Gives an array one axis, in C order.

    Args:
        x: Variable or array.

    Returns:
        Variable of ``x.size`` elements.

    >>> import numpy as np, minichainer.functions as F
    >>> F.flatten(np.ones((2, 3))).shape
    (6,)
    """
    x = as_variable(x)
    return x if x.ndim == 1 else reshape_to(x, (x.size,))


__all__ = ['broadcast_to', 'expand_dims', 'flatten', 'reshape', 'squeeze', 'sum_to', 'transpose']
