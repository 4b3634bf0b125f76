"""The errors of an op whose arguments do not fit, and the checks of arguments that are no arrays.

NumPy finds such mistakes as well, but in the middle of a function and in words that do not name it.
"""

from __future__ import annotations

import math
import numbers
import operator
import sys
from typing import Any

import numpy

from minichainer.utils.type_check import InvalidType

#: The largest size, stride or padding along an axis: what is computed of such numbers is still an int of NumPy.
MOST = 2**31 - 1


def invalid(expected: str, actual: str, where: str) -> InvalidType:
    """The InvalidType of an op: which one, what was expected, what came.

    Args:
        expected: what was expected.
        actual: what came, with shapes and dtypes.
        where: ``Invalid operation is performed in: NAME (Forward)``.
    """
    return InvalidType(expected, actual, f'{where}\n\nExpect: {expected}\nActual: {actual}')


def misfit(op: str, expected: str, actual: str) -> InvalidType:
    """The InvalidType of an op, by the name of its node."""
    return invalid(expected, actual, f'Invalid operation is performed in: {op} (Forward)')


def check_int(value: Any, op: str, name: str) -> None:
    """Raises TypeError where ``value`` is no int; a bool is none."""
    if type(value) is int:
        return
    try:
        is_int = not isinstance(value, (bool, numpy.bool_)) and operator.index(value) is not None
    except TypeError:
        is_int = False
    if not is_int:
        raise TypeError(f'{op}: int expected as {name}, came {value!r}')


def check_number(value: Any, op: str, name: str) -> None:
    """Raises TypeError where ``value`` is no real number: neither a scalar nor a 0-d array."""
    if type(value) is float or isinstance(value, numbers.Real):
        return
    if getattr(value, 'ndim', None) != 0 or value.dtype.kind not in 'fiub':
        raise TypeError(f'{op}: number expected as {name}, came {value!r}')


def check_size(op: str, shape: tuple[int, ...], itemsize: int = 8) -> None:
    """Raises ValueError where an array has more bytes than there are addresses: NumPy does not always look."""
    if math.prod([n or 1 for n in shape]) * itemsize > sys.maxsize:
        raise ValueError(f'{op}: an array of shape {shape} is too big for any memory; pass smaller numbers')


def check_flag(value: Any, op: str, name: str) -> None:
    """Raises TypeError where ``value`` is neither a bool nor an int that stands for one."""
    if value is not False and value is not True and not isinstance(value, (int, numpy.bool_, numpy.integer)):
        raise TypeError(f'{op}: bool expected as {name}, came {value!r}')


def entries_of(value: Any, n: int) -> tuple[Any, ...]:
    """What a sequence has; of anything else, n times the same."""
    return tuple(value) if hasattr(value, '__len__') and getattr(value, 'ndim', 1) > 0 else (value,) * n


def positive_tuple(op: str, name: str, value: Any, n: int, least: int = 1) -> tuple[int, ...]:
    """An int, or one int per axis, as a tuple.

    Raises:
        TypeError: one is no int.
        ValueError: one is below ``least`` or above ``MOST``, or their number is wrong.
    """
    values = entries_of(value, n)
    if len(values) != n:
        raise ValueError(f'{op}: {name} as an int or {n} ints expected, came {value!r}')
    try:
        ints = tuple([operator.index(v) for v in values])
    except TypeError:
        raise TypeError(f'{op}: {name} as an int or {n} ints expected, came {value!r}') from None
    if any(v < least for v in ints):
        raise ValueError(f'{op}: {name} of at least {least} expected, came {value!r}')
    if any(v > MOST for v in ints):
        raise ValueError(f'{op}: {name} of at most {MOST} expected, came {value!r}')
    return ints


def checked_axis(axis: Any, ndim: int, op: str, name: str = 'axis') -> int:
    """One axis as a non-negative int.

    Raises:
        TypeError: it is no int.
        InvalidType: it is out of range.
    """
    if not isinstance(axis, int):
        check_int(axis, op, name)
    if not -ndim <= axis < ndim:
        raise misfit(op, f'-{ndim} <= {name} < {ndim}', f'{name} = {axis}')
    return operator.index(axis) % ndim


def checked_shape(shape: Any, op: str, name: str = 'shape') -> tuple[int, ...]:
    """A shape as a tuple of ints; raises TypeError for anything else."""
    try:
        entries = tuple(shape)
    except TypeError:
        entries = (shape,)
    try:
        return tuple([operator.index(entry) for entry in entries])
    except TypeError:
        raise TypeError(f'{op}: tuple of ints expected as {name}, came {shape!r}') from None
