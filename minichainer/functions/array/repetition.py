"""Repeating elements and arrays."""

from __future__ import annotations

import itertools
from typing import Any

from minichainer.functions._arguments import Arguments, as_integer
from minichainer.functions._define import linear_map
from minichainer.functions.array.shape import flatten
from minichainer.kernels import reductions
from minichainer.variable import Variable, as_variable

_repeat, _tile = Arguments('Repeat', 'repeat'), Arguments('Tile', 'tile')


@linear_map(lambda m, gy, x_shape, repeats, axis: m.sum_of_repeats(gy, x_shape, repeats, axis), name='Repeat')
def repeated(xp: Any, x: Any, repeats: tuple[int, ...], axis: int) -> Any:
    return xp.repeat(x, repeats[0] if len(repeats) == 1 else repeats, axis)


@linear_map(lambda m, gy, repeats, axis: m.repeated(gy, repeats, axis))
def sum_of_repeats(xp: Any, y: Any, shape: tuple[int, ...], repeats: tuple[int, ...], axis: int) -> Any:
    """Sums the copies that :func:`repeated` made of each element."""
    if len(repeats) == 1:
        blocks = y.reshape(*shape[: axis + 1], repeats[0], *shape[axis + 1 :])
        return reductions.total(xp, blocks, (axis + 1,), False)
    result = xp.zeros(shape, y.dtype)
    lead, start = (slice(None),) * axis, 0
    for place, count in enumerate(repeats):
        block = y[lead + (slice(start, start + count),)]
        result[lead + (place,)] = reductions.total(xp, block, (axis,), False)
        start += count
    return result


def repeat(x: Any, repeats: Any, axis: Any = None) -> Variable:
    """Repeats each element, or each slice along an axis, so that copies are adjacent.

    Args:
        x: Variable or array.
        repeats: how often, an int, or a tuple of ints with one for each element along the axis.
        axis: the axis; None to repeat the elements of the flattened array.

    Returns:
        Variable.

    Raises:
        TypeError: ``repeats`` is neither int nor tuple of ints, or ``axis`` neither int nor None.
        ValueError: a number of repeats is negative, there are not as many as elements along the axis, or the result
            exceeds the address space.
        InvalidType: ``axis`` is out of range.

    >>> import numpy as np, minichainer.functions as F
    >>> F.repeat(np.array([[1., 2.]]), (2, 1), axis=1)
    variable([[1., 1., 2.]])
    """
    counts = _counts(_repeat, repeats, 'repeats')
    if axis is not None:
        axis = _repeat.integer(axis, 'axis')
    x = as_variable(x)
    if axis is None or (x.ndim == 0 and axis in (0, -1)):  # NumPy treats a 0-d array as 1-d
        x, axis = flatten(x), 0
    axis = _repeat.axis(axis, x.shape)
    size = x.shape[axis]
    if len(counts) not in (1, size):
        raise ValueError(f'repeat: one or {size} numbers of repeats expected for shape {x.shape}, got {len(counts)}')
    total = sum(counts) if len(counts) == size else counts[0] * size
    _repeat.addressable((*x.shape[:axis], total, *x.shape[axis + 1 :]), x.dtype.itemsize)
    return repeated(x, counts, axis)


def _counts(arguments: Arguments, value: Any, name: str) -> tuple[int, ...]:
    """The numbers of repeats as a tuple of non-negative ints."""
    given = value if isinstance(value, tuple) else (value,)
    counts = [as_integer(int(count) if isinstance(count, bool) else count) for count in given]
    if None in counts:
        raise arguments.wrong_type('int or tuple of ints', name, value)
    if any(count is not None and count < 0 for count in counts):
        raise ValueError(f'{arguments.name}: all elements in {name} must be zero or larger, got {value}')
    return tuple([count for count in counts if count is not None])


def _sum_of_tiles(m: Any, gy: Any, x_shape: tuple[int, ...], reps: tuple[int, ...]) -> Any:
    count = max(len(reps), len(x_shape))
    sizes = (1,) * (count - len(x_shape)) + x_shape
    repeats = (1,) * (count - len(reps)) + reps
    blocks = m.reshape(gy, tuple([n for pair in zip(repeats, sizes, strict=True) for n in pair]))
    return m.reshape(m.sum(blocks, tuple(range(0, 2 * count, 2))), x_shape)


@linear_map(_sum_of_tiles, name='Tile')
def tiled(xp: Any, x: Any, reps: tuple[int, ...]) -> Any:
    return xp.tile(x, reps)


def tile(x: Any, reps: Any) -> Variable:
    """Makes an array of copies of an array.

    Args:
        x: Variable or array.
        reps: how often it is repeated along each axis, an int or a tuple of ints; missing leading entries are 1,
            more entries than axes make new leading axes.

    Returns:
        Variable.

    Raises:
        TypeError: ``reps`` is neither int nor tuple of ints.
        ValueError: an entry is negative, or the result exceeds the address space.

    >>> import numpy as np, minichainer.functions as F
    >>> F.tile(np.array([1., 2.]), (2, 2))
    variable([[1., 2., 1., 2.],
              [1., 2., 1., 2.]])
    """
    x, counts = as_variable(x), _counts(_tile, reps, 'reps')
    pairs = itertools.zip_longest(reversed(counts), reversed(x.shape), fillvalue=1)
    _tile.addressable(tuple([count * size for count, size in pairs])[::-1], x.dtype.itemsize)
    return tiled(x, counts)
