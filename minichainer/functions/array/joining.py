"""Joining arrays and splitting them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, overload

import numpy

from minichainer.functions._arguments import SEVERAL, Arguments
from minichainer.functions._define import primitive
from minichainer.variable import Variable, as_variable

_concat = Arguments('Concat', 'concat')
_split = Arguments('SplitAxis', 'split_axis')
_stack = Arguments('Stack', 'stack')

Shape = tuple[int, ...]
_ndarray = numpy.ndarray


def ends_of(shapes: Sequence[Shape], axis: int) -> list[int]:
    """Where each of several arrays, except the last, ends along the axis at which they are joined."""
    ends, end = [], 0
    for shape in shapes[:-1]:
        end += shape[axis]
        ends.append(end)
    return ends


@primitive(
    rule=lambda m, gy, xs_shape, axis: m.parts(gy, ends_of(xs_shape, axis), axis), name='Concat', linear_in=('xs',)
)
def joined(xp: Any, *xs: Any, axis: int) -> Any:
    return xp.concatenate(xs, axis)


@primitive(
    rule=(lambda m, gy, axis: m.joined(*gy, axis=axis),), name='SplitAxis', several_outputs=True, linear_in=('x',)
)
def parts(xp: Any, x: Any, sections: Any, axis: int) -> Any:
    lead, size = (slice(None),) * axis, x.shape[axis]
    if isinstance(sections, int):
        step = size // sections
        return tuple([x[lead + (slice(i * step, (i + 1) * step),)] for i in range(sections)])
    return tuple([x[lead + (slice(a, b),)] for a, b in pairwise([0, *sections, size])])


@primitive(rule=lambda m, gy, axis: m.slices(gy, axis), name='Stack', linear_in=('xs',))
def stacked(xp: Any, *xs: Any, axis: int) -> Any:
    if not axis:
        return xp.concatenate([x[None] for x in xs])
    shape = xs[0].shape
    kept = (*shape[:axis], 1, *shape[axis:])
    return xp.concatenate([x.reshape(kept) for x in xs], axis)


@primitive(
    rule=(lambda m, gy, axis: m.stacked(*gy, axis=axis),), name='Separate', several_outputs=True, linear_in=('x',)
)
def slices(xp: Any, x: Any, axis: int) -> Any:
    if not axis and x.ndim > 1:
        return tuple(x)
    lead = (slice(None),) * axis
    return tuple([x[lead + (i, Ellipsis)] for i in range(x.shape[axis])])


def concat(xs: Any, axis: int = 1) -> Variable:
    """Joins arrays along an existing axis.

    Args:
        xs: sequence of Variables or arrays, of one dtype, and of one shape except for that axis.
        axis: the axis.

    Returns:
        Variable.

    Raises:
        TypeError: ``xs`` is one array or Variable.
        InvalidType: there is no array, or shapes or dtypes do not fit together.

    >>> import numpy as np, minichainer.functions as F
    >>> F.concat((np.ones((2, 1)), np.zeros((2, 2)))).shape
    (2, 3)
    """
    xs = [as_variable(x) for x in (xs if type(xs) in SEVERAL else _concat.several(xs, axis))]
    if are_alike(xs):
        return joined(*xs, axis=_concat.axis(axis, xs[0].shape))
    _concat.one_dtype(*xs)
    first = xs[0].shape
    place = _concat.axis(axis, first)
    for i, x in enumerate(xs):
        if x.ndim != len(first) or not equal_but_for(x.shape, first, place):
            raise _concat.misfit(f'shape {first} except for axis {place}', f'{x.shape} of array {i}')
    return joined(*xs, axis=place)


def are_alike(xs: Sequence[Variable]) -> bool:
    """Whether they are NumPy arrays of one shape and dtype; where not, more has to be found out."""
    first = xs[0]._data if xs else None
    if type(first) is not _ndarray:
        return False
    shape, dtype = first.shape, first.dtype
    for x in xs:
        array = x._data
        if array is not first and (type(array) is not _ndarray or array.shape != shape or array.dtype is not dtype):
            return False
    return True


def equal_but_for(shape: Shape, other: Shape, axis: int) -> bool:
    return shape == other or (shape[:axis], shape[axis + 1 :]) == (other[:axis], other[axis + 1 :])


@overload
def split_axis(
    x: Any, indices_or_sections: Any, axis: int, force_tuple: Literal[True] = True
) -> tuple[Variable, ...]: ...


@overload
def split_axis(x: Any, indices_or_sections: Any, axis: int, force_tuple: bool) -> Any: ...


def split_axis(x: Any, indices_or_sections: Any, axis: int, force_tuple: bool = True) -> Any:
    """Splits an array along an axis.

    Args:
        x: Variable or array.
        indices_or_sections: number of equal parts, or the sequence of indexes at which parts begin.
        axis: the axis.
        force_tuple: return a tuple also where there is one part only.

    Returns:
        Tuple of Variables, views of ``x``.

    Raises:
        InvalidType: ``axis`` is out of range, or the parts are not equal.
        TypeError: ``indices_or_sections`` is something else.

    >>> import numpy as np, minichainer.functions as F
    >>> a, b = F.split_axis(np.arange(6.), [2], 0)
    >>> b
    variable([2., 3., 4., 5.])
    """
    x = as_variable(x)
    sections = _sections(indices_or_sections)
    place = _split.axis(axis, x.shape)
    _split.flag(force_tuple, 'force_tuple')
    size = x.shape[place]
    if isinstance(sections, int):
        if size % sections:
            raise _split.misfit(f'x.shape[{axis}] % {sections} == 0', f'x.shape[{axis}] = {size}')
    elif any(a > b for a, b in pairwise(sections)):
        raise _split.wrong_value('ints in ascending order', 'indices_or_sections', sections)
    elif sections and sections[-1] > size:
        raise _split.misfit(f'indices <= {size}', f'{sections}')
    found = parts(x, sections, place)
    return found if force_tuple or len(found) != 1 else found[0]


def _sections(value: Any) -> Any:
    """The number of sections or the list of indices, after checking its type."""
    if not hasattr(value, '__len__') or getattr(value, 'ndim', None) == 0:
        return _split.integer(value, 'indices_or_sections', 1)
    if getattr(value, 'shape', None) == (0,):
        return []  # np.cumsum([]) is float64
    try:
        if getattr(value, 'ndim', 1) != 1:
            raise TypeError
        return [operator.index(v) for v in value]
    except TypeError:
        kind = getattr(value, 'dtype', type(value).__name__)
        raise _split.wrong_type(f'int or sequence of ints (not {kind})', 'indices_or_sections', value) from None


def stack(xs: Any, axis: int = 0) -> Variable:
    """Joins arrays along a new axis.

    Args:
        xs: sequence of Variables or arrays of one shape and dtype.
        axis: where the new axis is in the result.

    Returns:
        Variable.

    Raises:
        TypeError: ``xs`` is one array or Variable.
        InvalidType: there is no array, shapes or dtypes differ, or ``axis`` is out of range.

    >>> import numpy as np, minichainer.functions as F
    >>> F.stack((np.ones(3), np.zeros(3))).shape
    (2, 3)
    """
    xs = [as_variable(x) for x in (xs if type(xs) in SEVERAL else _stack.several(xs, axis))]
    if not are_alike(xs):
        _stack.one_dtype(*xs)
        for i, x in enumerate(xs):
            if x.shape != xs[0].shape:
                raise _stack.misfit(f'shape {xs[0].shape} of all arrays', f'{x.shape} of array {i}')
    return stacked(*xs, axis=_stack.axis(axis, xs[0].ndim + 1))
