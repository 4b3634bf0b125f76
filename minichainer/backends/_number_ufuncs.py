"""Ufuncs of object arrays whose elements are numbers: by the operators and methods of the elements."""

from __future__ import annotations

import functools
from typing import Any

import numpy

#: Computed by the operators of the elements: these ufuncs have loops for objects.
_OPERATORS = frozenset(
    'add subtract multiply divide true_divide floor_divide remainder power negative positive absolute square '
    'reciprocal matmul vecdot matvec vecmat equal not_equal less less_equal greater greater_equal'.split()
)
_LOGICAL = frozenset('logical_and logical_or logical_xor logical_not'.split())
_PREDICATES = frozenset('isnan isinf isfinite signbit'.split())
_EXTREMA = frozenset('maximum minimum fmax fmin'.split())


def as_array(value: Any) -> Any:
    """An object array of a ufunc's result, which is a number if the operands are 0-d."""
    if isinstance(value, numpy.ndarray):
        return value
    array = numpy.empty((), object)
    array[()] = value
    return array


def computed(ufunc: Any, method: str, operands: list[Any], kwargs: dict[str, Any]) -> Any:
    """What a method of a ufunc, ``'__call__'`` or ``'reduce'``, computes on plain object arrays, or numbers."""
    with numpy.errstate(all='ignore'):  # the flags of floats do not concern numbers
        return _computed(ufunc, ufunc.__name__, method, operands, kwargs)


def _computed(ufunc: Any, name: str, method: str, operands: list[Any], kwargs: dict[str, Any]) -> Any:
    if name in _LOGICAL:
        return getattr(ufunc, method)(*[as_array(x).astype(bool) for x in operands], **kwargs)
    if name in _OPERATORS:
        return getattr(ufunc, method)(*operands, **kwargs)
    if method == 'reduce' and name in _EXTREMA:
        return _extremum(ufunc, operands[0], kwargs)
    if method in ('accumulate', 'outer') and ufunc.nout == 1:
        return getattr(_method(name, 2), method)(*operands, **kwargs)
    if method != '__call__' or ufunc.nout > 1:
        raise TypeError(f'{name}.{method}: not defined for arrays of numbers')
    y = by_method(name, *operands)
    if name in _PREDICATES:
        y = as_array(y).astype(bool)
    if 'out' not in kwargs:
        return y
    numpy.copyto(kwargs['out'][0], y, where=kwargs.get('where', True))
    return None


def by_method(name: str, *operands: Any) -> Any:
    """Calls the method of a name of each element of the first operand; the others are its arguments."""
    with numpy.errstate(all='ignore'):
        return _method(name, len(operands))(*operands)


@functools.cache
def _method(name: str, count: int) -> Any:
    def call(x: Any, *others: Any) -> Any:
        function = getattr(x, name, None)
        if function is None:
            raise TypeError(f'{name}: {type(x).__name__} has no such method')
        return function(*others)

    return numpy.frompyfunc(call, count, 1)


def _extremum(ufunc: Any, x: Any, kwargs: dict[str, Any]) -> Any:
    """A maximum or minimum over axes; NumPy's loop for objects does not spread NaN."""
    y = ufunc.reduce(x, **kwargs)
    unordered = numpy.not_equal(x, x).astype(bool)
    if ufunc.__name__ in ('fmax', 'fmin') or not unordered.any():
        return y
    places = {key: kwargs[key] for key in ('axis', 'keepdims') if key in kwargs}
    return numpy.where(unordered.any(**places), type(x.flat[0])(numpy.nan), y)
