"""Padding arrays at their borders."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.functions._arguments import Arguments
from minichainer.functions._define import linear_map, primitive
from minichainer.kernels import products
from minichainer.variable import Variable, as_variable

_arguments = Arguments('Pad', 'pad')

_PICKING = ('edge', 'reflect', 'symmetric', 'wrap')
_EXTREMA = {'maximum': 'argmax', 'minimum': 'argmin'}
#: The keywords that a mode takes; other modes take none.
_KEYWORDS = {
    'constant': ('constant_values',),
    'linear_ramp': ('end_values',),
    'reflect': ('reflect_type',),
    'symmetric': ('reflect_type',),
    'maximum': ('stat_length',),
    'minimum': ('stat_length',),
    'mean': ('stat_length',),
}
_MODES = ('constant', 'empty', *_PICKING, *_EXTREMA, 'mean', 'linear_ramp')


@primitive(rule=(lambda m, gy, x_shape, gradient: gradient(m, gy, x_shape),), name='Pad', kinds='f')  # adds constants
def padded(xp: Any, x: Any, widths: Any, mode: str, keywords: dict[str, Any], gradient: Any) -> Any:
    if mode != 'constant' or keywords or not x.ndim:
        return xp.pad(x, widths, mode, **keywords) if x.ndim else x.copy()
    y = xp.zeros([before + n + after for (before, after), n in zip(widths, x.shape, strict=True)], x.dtype)
    y[_inside(x.shape, widths)] = x
    return y


def _inside(shape: tuple[int, ...], widths: Any) -> tuple[slice, ...]:
    """Where the array is in the result."""
    return tuple([slice(before, before + n) for (before, _), n in zip(widths, shape, strict=True)])


@linear_map(lambda m, gy, matrices: m.along_axes(gy, tuple([matrix.T for matrix in matrices])))
def along_axes(xp: Any, x: Any, matrices: tuple[Any, ...]) -> Any:
    """Multiplies each axis by a matrix."""
    return products.along_axes(xp, x, matrices)


@on_device_of_arguments
def pad(x: Any, pad_width: Any, mode: str, **keywords: Any) -> Variable:
    """Adds elements at the borders of an array.

    Args:
        x: Variable or float array.
        pad_width: how many, an int, a pair (before, after) for all axes, or a pair for each axis.
        mode: as in :func:`numpy.pad`: ``'constant'``, ``'edge'``, ``'reflect'``, ``'symmetric'``, ``'wrap'``,
            ``'mean'``, ``'linear_ramp'``, ``'maximum'``, ``'minimum'`` or ``'empty'``.
        keywords: as in :func:`numpy.pad`: ``constant_values``, ``end_values``, ``reflect_type``, ``stat_length``.

    Returns:
        Variable. An element that others are made of gets their gradients too (the first one, where several attain
        the maximum or minimum).

    Raises:
        InvalidType: ``x`` is not a float array.
        ValueError: the mode is not one of these or does not take a keyword, a width is negative, or the widths do not
            fit the axes.

    >>> import numpy as np, minichainer.functions as F
    >>> F.pad(np.array([1., 2., 3.]), (1, 2), 'constant')
    variable([0., 1., 2., 3., 0., 0.])
    >>> F.pad(np.array([1., 2., 3.]), 2, 'reflect')
    variable([3., 2., 1., 2., 3., 2., 1.])
    """
    x = as_variable(x)
    _arguments.floats(x)
    if not isinstance(mode, str) or mode not in _MODES:
        raise ValueError(f'pad: mode {mode!r} is not supported; there are: {", ".join(_MODES)}')
    _check_keywords(mode, keywords, x.ndim)
    widths = _pairs(pad_width, x.ndim, 'pad_width')
    for width in {n for pair in set(widths) for n in pair}:
        _arguments.integer(width, 'pad_width', 0)
    shape = tuple([before + n + after for n, (before, after) in zip(x.shape, widths, strict=True)])
    _arguments.addressable(shape, x.dtype.itemsize)
    if mode not in ('constant', 'empty') and any([m and not n for m, n in zip(shape, x.shape, strict=True)]):
        raise ValueError(f'pad: an axis without elements cannot be extended in mode {mode!r}; x has shape {x.shape}')
    return padded(x, widths, mode, keywords, _gradient_of(x._data, widths, mode, keywords))


def _check_keywords(mode: str, keywords: dict[str, Any], ndim: int) -> None:
    """Raises an error for keywords that do not fit the mode."""
    if not keywords:
        return
    known = _KEYWORDS.get(mode, ())
    unknown = sorted(set(keywords) - set(known))
    if unknown:
        there_are = f'takes {", ".join(known)}' if known else 'takes none'
        raise ValueError(f'pad: mode {mode!r} {there_are}, got the keywords {", ".join(unknown)}')
    for name, value in keywords.items():
        if name == 'reflect_type':
            _arguments.choice(value, name, ('even', 'odd'))
        elif value is not None or name != 'stat_length':
            _check_numbers(_pairs(value, ndim, name), name)


def _check_numbers(pairs: tuple[tuple[Any, Any], ...], name: str) -> None:
    for n in [n for pair in pairs for n in pair]:
        if name == 'stat_length':
            _arguments.integer(n, name, 1)
        else:
            _arguments.number(n, name)


def _pairs(value: Any, ndim: int, name: str) -> tuple[tuple[Any, Any], ...]:
    """A pair (before, after) for each axis."""
    if type(value) is int:
        return ((value, value),) * ndim
    try:
        pairs = numpy.broadcast_to(numpy.asarray(value), (ndim, 2))
    except ValueError:
        raise ValueError(f'pad: {name} for {ndim} axes expected, got {value}') from None
    return tuple([tuple(pair) for pair in pairs.tolist()])


def _gradient_of(x: Any, widths: Any, mode: Any, keywords: dict[str, Any]) -> Any:
    """The rule ``(m, gy, x_shape) -> gx`` of a mode."""
    if mode in ('constant', 'empty') or not x.ndim:
        return lambda m, gy, x_shape: m.take(gy, _inside(x_shape, widths))
    if mode in _EXTREMA:
        index = _extreme_index(x, get_array_module(x), widths, mode, keywords.get('stat_length'))
    elif mode in _PICKING and keywords.get('reflect_type', 'even') == 'even':
        index = numpy.pad(numpy.arange(x.size).reshape(x.shape), widths, mode, **keywords)
    else:
        matrices = _matrices(x.shape, widths, mode, keywords)
        return lambda m, gy, x_shape: m.along_axes(gy, matrices)
    return lambda m, gy, x_shape: m.scatter_flat(gy, index, x_shape)


def _extreme_index(x: Any, xp: Any, widths: Any, mode: str, stat_length: Any) -> Any:
    """The flat indices of the elements of a padded array."""
    flat, index = x.reshape(-1), xp.arange(x.size).reshape(x.shape)
    lengths = _pairs(max(x.shape, default=1) if stat_length is None else stat_length, x.ndim, 'stat_length')
    for axis, ((before, after), (first, last)) in enumerate(zip(widths, lengths, strict=True)):
        size, lead = x.shape[axis], (slice(None),) * axis
        head, tail = (index[lead + (part,)] for part in (slice(0, first), slice(max(size - last, 0), size)))
        ends = [_extreme(flat, part, xp, axis, mode) for part in (head, tail)]
        index = xp.concatenate([xp.repeat(ends[0], before, axis), index, xp.repeat(ends[1], after, axis)], axis)
    return index


def _extreme(flat: Any, index: Any, xp: Any, axis: int, mode: str) -> Any:
    """The flat index of the largest or smallest element along an axis."""
    chosen = getattr(flat[index], _EXTREMA[mode])(axis=axis)
    return xp.take_along_axis(index, xp.expand_dims(chosen, axis), axis)


def _matrices(shape: tuple[int, ...], widths: Any, mode: Any, keywords: dict[str, Any]) -> tuple[Any, ...]:
    """For each axis the transposed padding matrix: a linear mode applied to the unit vectors."""
    lengths = _pairs(keywords.get('stat_length'), len(shape), 'stat_length')
    matrices = []
    for size, pair, length in zip(shape, widths, lengths, strict=True):
        options: dict[str, Any] = {k: v for k, v in keywords.items() if k == 'reflect_type'}
        if mode == 'mean' and length != (None, None):
            options['stat_length'] = (length, (1, 1))
        matrices.append(numpy.pad(numpy.eye(size), (pair, (0, 0)), mode, **options).T)
    return tuple(matrices)
