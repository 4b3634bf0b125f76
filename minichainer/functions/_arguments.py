"""Checks of the arguments of ops, and their errors.

NumPy finds such mistakes too, but in the middle of a function and without naming it. Each module makes one
:class:`Arguments` per op, which knows the op's names:

    _arguments = Arguments('Concat', 'concat')
    axis = _arguments.axis(axis, x.ndim)
"""

from __future__ import annotations

import math
import numbers
import operator
import sys
import warnings
from typing import Any

import numpy

from minichainer._checks import array_types, native
from minichainer._frames import stacklevel
from minichainer._misfits import AxesError
from minichainer.backends import cuda
from minichainer.configuration import config
from minichainer.errors import CountError, DtypeWarning, array_remedy, number_remedy
from minichainer.functions._label_advice import advice_on_labels
from minichainer.utils.type_check import InvalidType
from minichainer.variable import Parameter, Variable, as_array

#: The largest size, stride or padding along an axis: numbers computed from these still fit an int of NumPy.
MOST = 2**31 - 1
#: The types of several arrays, and of one.
SEVERAL = (list, tuple)
ONE_ARRAY = (Variable, *array_types())
#: So many numbers are compared quicker as Python's.
_FEW = 32


class Arguments:
    """The checks of one op.

    Args:
        label: the op's label in graphs, for InvalidType.
        name: the name of the public function, for TypeError and ValueError; by default derived from the label.
    """

    def __init__(self, label: str, name: str | None = None) -> None:
        self.label = label
        self.name = label if name is None else name

    # --- errors ------------------------------------------------------------------------------------------------
    def misfit(self, expected: str, actual: str, error: type[InvalidType] = InvalidType) -> InvalidType:
        """The error for arrays that do not fit: what was expected, what was got (shapes and dtypes)."""
        where = f'Invalid operation is performed in: {self.label} (Forward)'
        return error(expected, actual, f'{where}\n\nExpect: {expected}\nActual: {actual}')

    def wrong_type(self, expected: str, name: str, value: Any, remedy: str = '') -> TypeError:
        """The error for an argument of a wrong type."""
        return TypeError(f'{self.name}: {expected} expected as {name}, got {value!r}{remedy}')

    def wrong_value(self, expected: str, name: str, value: Any) -> ValueError:
        """The error for an argument of a wrong value."""
        return ValueError(f'{self.name}: {expected} expected as {name}, got {value!r}')

    def wrong_labels(
        self, expected: str, scores: Any, labels: Any, error: type[InvalidType] = InvalidType
    ) -> InvalidType:
        """The error for scores and labels that do not fit, with what to write instead."""
        advice = advice_on_labels(self.name, scores, labels, are_readable(as_array(labels)))
        return self.misfit(expected, f'{described(scores, labels)}{advice and "; "}{advice}', error)

    def unequal(self, expected: str, x: Any, t: Any, names: tuple[str, str] = ('x0', 'x1')) -> InvalidType:
        """The error for two arrays that must be alike, with what to write instead."""
        if t.dtype.kind in 'iu' and x.dtype.kind == 'f' and x.ndim == 2 and x.shape[1] > 1 and t.shape == x.shape[:1]:
            remedy = f'for one class per row write F.softmax_cross_entropy({", ".join(names)})'
            return self.misfit(expected, f'{described(x, t)}; {remedy}')
        dtype = x.dtype if x.dtype.kind == 'f' else numpy.dtype('f')
        wrong = [name for name, array in zip(names, (x, t), strict=True) if array.dtype != dtype]
        advice = [f'write {name}.astype(np.{dtype})' for name in wrong]
        if x.shape != t.shape and x.size == t.size:
            advice.append(f'write {names[1]}.reshape({names[0]}.shape)')
        elif x.shape != t.shape:
            advice.insert(0, 'the shapes must be equal')
        return self.misfit(expected, '; '.join([described(x, t), *advice]))

    def out_of_range(
        self, name: str, values: Any, low: int, high: int, note: str = '', error: type[Exception] = IndexError,
        allowed: Any = None,
    ) -> Exception:  # fmt: skip
        """The error for indices that are not in ``[low, high)``; names the first wrong one and its position.

        Args:
            name: what the values are.
            values: array of indices, of which one is out of range.
            low: the smallest index; where that is ``-high``, as in NumPy, the message says 0.
            high: the number after the largest one.
            note: what else is allowed.
            error: class of the error.
            allowed: one value that is allowed besides.
        """
        wrong = (values < low) | (values >= high)
        if allowed is not None:
            wrong &= values != allowed
        position = tuple([int(places[0]) for places in wrong.nonzero()])
        got = f'got {int(values[position])} at position {list(position)} of {list(values.shape)}'
        return error(f'{self.name}: {name} must be in [{0 if low == -high else low}, {high}){note}, {got}')

    def in_range(
        self, name: str, values: Any, low: int, high: int, note: str = '', error: type[Exception] = IndexError,
        allowed: Any = None,
    ) -> None:  # fmt: skip
        """Raises :meth:`out_of_range`, which has the arguments; for values on a device in debug mode only."""
        if not values.size or not are_readable(values):
            return
        if type(values) is numpy.ndarray and values.size <= _FEW:
            few = values.reshape(-1).tolist()  # a fifth of the time of looking for extrema of an array
            smallest, largest = min(few), max(few)
        else:
            smallest, largest = values.min(), values.max()
        if smallest >= low and largest < high:
            return
        if allowed is None or ((values != allowed) & ((values < low) | (values >= high))).any():
            raise self.out_of_range(name, values, low, high, note, error, allowed)

    # --- arguments that are not arrays --------------------------------------------------------------------------
    def integer(self, value: Any, name: str, least: int | None = None) -> int:
        """An int of Python or NumPy; TypeError for anything else, ValueError if it is below ``least``."""
        number = value if type(value) is int else as_integer(value)
        if number is None:
            raise self.wrong_type('int', name, value, number_remedy(name, value, int))
        if least is not None and number < least:
            raise self.wrong_value(f'at least {least}', name, value)
        return number

    def number(self, value: Any, name: str) -> None:
        """Raises TypeError unless ``value`` is a real number: a scalar or a 0-d array."""
        if type(value) is float or type(value) is int or isinstance(value, numbers.Real):
            return
        if getattr(value, 'ndim', None) != 0 or value.dtype.kind not in 'fiub':
            raise self.wrong_type('number', name, value, number_remedy(name, value))

    def flag(self, value: Any, name: str) -> None:
        """Raises TypeError unless ``value`` is a bool, or an int used as one."""
        if value is not False and value is not True and not isinstance(value, (int, numpy.bool_, numpy.integer)):
            raise self.wrong_type('bool', name, value)

    def choice(self, value: Any, name: str, allowed: tuple[str, ...]) -> None:
        """Raises ValueError unless ``value`` is one of the allowed words."""
        if not isinstance(value, str) or value not in allowed:
            raise ValueError(f'{self.name}: {name} must be one of {", ".join(map(repr, allowed))}, got {value!r}')

    def axis(self, axis: Any, shape: tuple[int, ...] | int, name: str = 'axis') -> int:
        """One axis of an array (given by shape or number of axes) as a non-negative int.

        TypeError where it is not an int, InvalidType where it is out of range.
        """
        ndim = shape if isinstance(shape, int) else len(shape)
        if type(axis) is int and 0 <= axis < ndim:
            return axis
        number = axis if type(axis) is int else self.integer(axis, name)
        if not -ndim <= number < ndim:
            got = f'{name} = {axis}' if isinstance(shape, int) else f'{name} = {axis}, shape {shape}'
            raise self.misfit(f'-{ndim} <= {name} < {ndim}', got, AxesError)
        return number % ndim

    def axes(self, axis: Any, shape: tuple[int, ...] | int) -> tuple[int, ...] | None:
        """None as it is, an int or a tuple of ints as a tuple of non-negative ints; no axis may appear twice."""
        if axis is None:
            return None
        if type(axis) is int:
            return (self.axis(axis, shape),)
        given = axis if isinstance(axis, tuple) else (axis,)
        if any(as_integer(a) is None for a in given):
            remedy = '; write tuple(axis)' if isinstance(axis, list) else ''
            raise TypeError(f'{self.name}: None, int or tuple of int are required for axis, got {axis!r}{remedy}')
        positive = tuple([self.axis(a, shape) for a in given])
        if len(set(positive)) != len(positive):
            raise ValueError(f'{self.name}: duplicate value in axis: {axis}')
        return positive

    def shape(self, shape: Any, name: str = 'shape') -> tuple[int, ...]:
        """A shape, or one int, as a tuple of ints; TypeError for anything else."""
        if type(shape) is tuple and all([type(entry) is int for entry in shape]):
            return shape
        entries: Any = shape if type(shape) is tuple else tuple(shape) if hasattr(shape, '__iter__') else (shape,)
        try:
            return tuple([operator.index(entry) for entry in entries])
        except TypeError:
            raise self.wrong_type('tuple of ints', name, shape) from None

    def per_axis(self, value: Any, name: str, n: int, least: int = 1) -> tuple[int, ...]:
        """An int for all of ``n`` axes, or one int per axis, as a tuple. TypeError, ValueError."""
        values = entries_of(value, n)
        if len(values) != n:
            error = self.wrong_value(f'an int or {n} ints', name, value)
            raise CountError(f'{error}{number_remedy(name, value, int)}')
        try:
            ints = tuple([operator.index(v) for v in values])
        except TypeError:
            remedy = number_remedy(name, value, int)
            raise self.wrong_type(f'an int or {n} ints', name, value, remedy) from None
        if any(v < least for v in ints):
            raise self.wrong_value(f'at least {least}', name, value)
        if any(v > MOST for v in ints):
            raise self.wrong_value(f'at most {MOST}', name, value)
        return ints

    def addressable(self, shape: tuple[int, ...], itemsize: int = 8) -> None:
        """Raises ValueError if the array exceeds the address space, which NumPy does not always check."""
        if math.prod([n or 1 for n in shape]) * itemsize > sys.maxsize:
            raise ValueError(
                f'{self.name}: an array of shape {shape} is larger than the address space; use a smaller size'
            )

    # --- arrays and Variables ----------------------------------------------------------------------------------
    def several(self, xs: Any, second: Any = None) -> Any:
        """The sequence itself; TypeError for one array or Variable, whose rows would be taken for its entries.

        Args:
            xs: what must be a sequence.
            second: the next argument: if that is an array too, a sequence of both was meant.
        """
        if type(xs) not in SEVERAL and isinstance(xs, ONE_ARRAY):
            got = f'{type(xs).__name__} of shape {as_array(xs).shape}'
            meant = '(x, y)' if isinstance(second, ONE_ARRAY) else '(x,)'
            raise TypeError(
                f'{self.name}: a tuple or list of arrays expected as xs, got {got}; write {self.name}({meant})'
            )
        return xs

    def arrays(self, **values: Any) -> None:
        """Raises TypeError unless they are arrays or Variables."""
        for name, value in values.items():
            is_array = hasattr(value, 'dtype') and hasattr(value, 'shape')
            if not is_array or hasattr(type(value), 'iloc'):  # a series of pandas, whose brackets take labels
                got = f'got {type(value).__name__}{array_remedy(name, value)}'
                raise TypeError(f'{self.name}: an array expected as {name}, {got}')

    def array(self, value: Any, name: str) -> Any:
        """The array of a Variable, or the array, in the byte order of this machine; TypeError for anything else."""
        if type(value) is numpy.ndarray:
            return native(value)
        self.arrays(**{name: value})
        return native(as_array(value))

    def warn_of_wider(self, x: Any, W: Any) -> None:
        """Warns if data are of a wider dtype than a link's parameters, which is legal but rarely meant."""
        if isinstance(W, Parameter) and x.dtype.itemsize > W.dtype.itemsize:
            warnings.warn(
                f'{self.name}: {wider(x, W)}; the result is {x.dtype}', DtypeWarning, stacklevel=stacklevel()
            )

    def floats(self, *arrays: Any, name: str = 'x') -> None:
        """Raises InvalidType if an array is not a float array."""
        for x in arrays:
            if x.dtype.kind != 'f':
                remedy = 'convert it first, for example by x.astype(numpy.float32)'
                raise self.misfit(f'{name}.dtype of kind float', f'{x.dtype}; {remedy}')

    def one_dtype(self, *arrays: Any) -> None:
        """Raises InvalidType if there is no array or the dtypes differ."""
        if not arrays:
            raise self.misfit('at least one array', 'none')
        dtypes = [x.dtype for x in arrays]
        if dtypes.count(dtypes[0]) == len(dtypes):
            return
        for i, x in enumerate(arrays):
            if x.dtype != arrays[0].dtype:
                raise self.misfit(f'dtype {arrays[0].dtype} of all arrays', f'{x.dtype} of array {i}')


def are_readable(values: Any) -> bool:
    """Whether values may be tested: on a device in debug mode only, because a test waits for the device."""
    return not isinstance(values, cuda.ndarray) or bool(config.debug)


def as_integer(value: Any) -> int | None:
    """An int of Python or NumPy as an int of Python; None for anything else, including a bool."""
    if isinstance(value, (bool, numpy.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def entries_of(value: Any, n: int) -> tuple[Any, ...]:
    """The elements of a sequence; any other value repeated n times."""
    return tuple(value) if hasattr(value, '__len__') and getattr(value, 'ndim', 1) > 0 else (value,) * n


def wider(x: Any, parameters: Any) -> str:
    """What to write if data and parameters differ in dtype."""
    remedy = f'x.astype(np.{parameters.dtype})'
    return f'x is {x.dtype}, the parameters are {parameters.dtype}: write {remedy}'


def as_floats(x: Any, W: Any) -> str:
    """What to write for data of another kind than the float parameters."""
    return f'; write x.astype(np.{W.dtype})' if x.dtype.kind in 'biu' and W.dtype.kind == 'f' else ''


def described(*arrays: Any) -> str:
    """Dtypes and shapes for an error: ``float32 (2, 3) and float64 (3,)``."""
    return ' and '.join(f'{x.dtype} {x.shape}' for x in arrays)
