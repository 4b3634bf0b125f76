"""Arrays whose elements are numbers of another kind than floats, such as numbers of 50 digits.

A :class:`NumberArray` is an ndarray of objects that functions take for an array of float64: its ``dtype`` says so.
Through NumPy's protocols for subclasses, ufuncs and functions of NumPy, and SciPy's ufuncs, call the operators and
methods of the elements, ``numpy.exp(x)`` calls ``x.exp()``, and raise TypeError where there is none. Code that takes
the array module as ``xp`` gets a :class:`NumberModule`, in which new float arrays are arrays of such numbers too.

An array of floats that takes part in a computation is converted, element by element; nothing converts numbers to
floats. :func:`using` must be active, so that ordinary arrays need not be tested for this class.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy

from minichainer._locks import lock_of
from minichainer.backends import _number_linalg, number_work
from minichainer.backends._number_ufuncs import as_array, by_method, computed

_FLOAT64 = numpy.dtype('d')
#: Functions that write to their first argument.
_WRITING = frozenset('copyto put place putmask fill_diagonal put_along_axis'.split())
_real_dtype = numpy.ndarray.dtype.__get__

#: How many :func:`using` are active, in all threads.
in_use = 0
_lock = lock_of(globals(), '_lock')


@contextlib.contextmanager
def using() -> Iterator[None]:
    """Context manager in which functions look for :class:`NumberArray` among their arrays."""
    _count(1)
    try:
        yield
    finally:
        _count(-1)


def _count(change: int) -> None:
    global in_use
    with _lock:
        in_use += change


class NumberArray(numpy.ndarray[Any, Any]):
    """An array of numbers; a subclass names their class as ``number``.

    The numbers have the operators of float, and methods of the names of NumPy's and SciPy's ufuncs.

    >>> import numpy as np
    >>> from fractions import Fraction
    >>> class FractionArray(NumberArray):
    ...     number = Fraction
    >>> x = FractionArray.of(np.array([0.5, 0.25]))
    >>> (x * x).sum()
    FractionArray(Fraction(5, 16))
    >>> x.dtype
    dtype('float64')
    >>> np.exp(x)
    Traceback (most recent call last):
    TypeError: exp: Fraction has no such method
    """

    number: ClassVar[Any]
    module: ClassVar[NumberModule]

    def __init_subclass__(cls) -> None:
        cls.module = NumberModule(cls)

    @classmethod
    def of(cls, values: Any) -> Any:
        """A new array of numbers of the values of an array, exactly."""
        plain = values.view(numpy.ndarray) if isinstance(values, numpy.ndarray) else numpy.asarray(values)
        return _numbers(cls, plain).view(cls)

    @classmethod
    def cost(cls, name: str, operands: Sequence[Any] = ()) -> float:
        """About how many additions one result of a ufunc or special function is worth."""
        return 1.0

    @property
    def dtype(self) -> Any:
        """float64, for which the numbers stand; that of indices and masks made from such arrays is their own."""
        real = _real_dtype(self)
        return _FLOAT64 if real.char == 'O' else real

    @dtype.setter
    def dtype(self, value: Any) -> None:
        if numpy.dtype(value) not in (_FLOAT64, numpy.dtype(object)):  # as_strided sets it
            raise TypeError('the dtype of an array of numbers cannot be changed')

    @property
    def real(self) -> Any:
        """The array itself, as its numbers have no imaginary part; NumPy 2.5 would ask each for its own."""
        return self

    @real.setter
    def real(self, value: Any) -> None:
        self[...] = value

    @property
    def imag(self) -> Any:
        return type(self).of(numpy.zeros(self.shape))

    @imag.setter
    def imag(self, value: Any) -> None:
        raise TypeError('the numbers of this array have no imaginary part to be set')

    def astype(  # type: ignore[override]
        self, dtype: Any, *args: Any, copy: bool = True, **kwargs: Any
    ) -> Any:
        wanted, plain = numpy.dtype(dtype), self.view(numpy.ndarray)
        if _real_dtype(self).char == 'O':
            if wanted in (_FLOAT64, numpy.dtype(object)):
                return self.copy() if copy else self
            if wanted.kind in 'iu':
                plain = _whole(plain)
        return plain.astype(wanted, *args, copy=copy, **kwargs)

    def dot(self, other: Any, out: Any = None) -> Any:
        return numpy.dot(self, other, out)

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        return _result(type(self), super().trace(*args, **kwargs), None)

    def fill(self, value: Any) -> None:
        self[...] = value

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return found if isinstance(found, numpy.ndarray) else _result(type(self), found, None)

    def view(self, *args: Any, **kwargs: Any) -> Any:
        if args and not isinstance(args[0], type) and numpy.dtype(args[0]) == self.dtype:
            return self
        return super().view(*args, **kwargs)

    def __setitem__(self, key: Any, value: Any) -> None:
        if _real_dtype(self).char == 'O':
            value = _operand(type(self), value)
            value = value.item() if isinstance(value, numpy.ndarray) and not value.ndim else value
        super().__setitem__(key, value)

    def __repr__(self) -> str:
        return f'{type(self).__name__}({self.tolist()!r})'

    __str__ = __repr__

    # --- NumPy's protocols -------------------------------------------------------------------------------------
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        cls = type(self)
        number_work.charge(number_work.results_of(ufunc.__name__, method, inputs), cls.cost(ufunc.__name__, inputs))
        if method == 'at':
            ufunc.at(_target(cls, inputs[0]), *[_plain(cls, x) for x in inputs[1:]])
            return None
        if 'initial' in kwargs:
            kwargs['initial'] = _operand(cls, kwargs['initial'])
        indices = inputs[1:] if method == 'reduceat' else ()
        operands = [_operand(cls, x) for x in inputs[: len(inputs) - len(indices)]]
        _keep_objects(kwargs, ufunc.__name__)
        if out is not None:
            kwargs['out'] = tuple([_target(cls, y) for y in out])
        value = computed(ufunc, method, [*operands, *indices], kwargs)
        return _result(cls, cls.number(value) if type(value) is int else value, out)  # a sum of nothing

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        cls, name = type(self), func.__name__
        own = _FUNCTIONS.get(func)
        if own is not None:
            return own(cls, *args, **kwargs)
        if (func.__module__ or '').startswith(('numpy.linalg', 'numpy.fft')) and name != 'norm':
            return _factorized(cls, name, args, kwargs)
        if name in _WRITING:
            kwargs = {key: _plain(cls, x) for key, x in kwargs.items()}
            return func(_target(cls, args[0]), *[_plain(cls, x) for x in args[1:]], **kwargs)
        args = tuple([_converted(cls, x) for x in args])
        kwargs = {key: x if key in ('out', 'where') else _converted(cls, x) for key, x in kwargs.items()}
        _keep_objects(kwargs, name)
        value = _result(cls, super().__array_function__(func, types, args, kwargs), None)
        if name in number_work.CONTRACTIONS:
            number_work.charge(number_work.contracted(args, value), cls.cost('multiply'))
        return value


# --- operands and results ------------------------------------------------------------------------------------------
def _numbers(cls: Any, plain: Any) -> Any:
    """A new object array of the numbers of the values of an array."""
    number = cls.number

    def convert(value: Any) -> Any:
        return number(value.item() if isinstance(value, numpy.ndarray) else value)

    with numpy.errstate(all='ignore'):
        return as_array(numpy.frompyfunc(convert, 1, 1)(plain))


def _whole(plain: Any) -> Any:
    """Whole numbers, such as results of floor, as floats; others would lose digits, and stay."""
    floats = numpy.array([x.rounded() for x in plain.flat], float).reshape(plain.shape)
    return floats if numpy.equal(plain, floats).all() and (floats == numpy.floor(floats)).all() else plain


def _operand(cls: Any, value: Any) -> Any:
    """A plain object array, or a number, of an operand; anything else than real numbers is unchanged."""
    if isinstance(value, NumberArray):
        return _checked(cls, value.view(numpy.ndarray))
    if isinstance(value, numpy.ndarray):
        return _numbers(cls, value) if value.dtype.kind in 'fiubO' else value
    if isinstance(value, (list, tuple)):
        return _operand(cls, numpy.asarray(value))
    return cls.number(value) if isinstance(value, (int, float, numpy.generic)) else value


def _checked(cls: Any, plain: Any) -> Any:
    """The array with all elements of the class of numbers: products of floats would be rounded."""
    if plain.dtype.char == 'O' and set(map(type, plain.ravel().tolist())) <= {cls.number}:
        return plain
    return _numbers(cls, plain) if plain.dtype.char != '?' else plain


def _plain(cls: Any, value: Any) -> Any:
    """An argument without this class: float arrays as object arrays of numbers; indices and masks are unchanged."""
    if isinstance(value, NumberArray) and _real_dtype(value).char != 'O':
        return value.view(numpy.ndarray)
    is_number = isinstance(value, (float, numpy.floating)) or getattr(value, 'dtype', numpy.dtype('?')).kind == 'f'
    return _operand(cls, value) if is_number else value


def _target(cls: Any, array: Any) -> Any:
    """The plain object array of an array to write to; a float array raises, because it would round."""
    if array is None or not isinstance(array, NumberArray):
        if array is not None and array.dtype.kind == 'f':
            raise TypeError(f'cannot write numbers of {cls.number.__name__} to an array of {array.dtype}')
        return array
    return array.view(numpy.ndarray)


def _converted(cls: Any, value: Any) -> Any:
    """An argument of a function: float arrays as arrays of numbers, also in lists."""
    if isinstance(value, NumberArray):
        plain = value.view(numpy.ndarray)
        checked = _checked(cls, plain) if plain.dtype.char == 'O' else plain
        return value if checked is plain else checked.view(cls)
    if isinstance(value, numpy.ndarray) and value.dtype.kind == 'f':
        return cls.of(value)
    return type(value)([_converted(cls, x) for x in value]) if type(value) in (list, tuple) else value


def _keep_objects(kwargs: dict[str, Any], name: str) -> None:
    """Replaces float64 as the dtype to compute in; another one raises."""
    if kwargs.get('dtype') is not None and numpy.dtype(kwargs['dtype']).kind not in 'bO':
        if numpy.dtype(kwargs['dtype']) != _FLOAT64:
            raise TypeError(f'{name}: cannot compute numbers as {numpy.dtype(kwargs["dtype"])}')
        kwargs['dtype'] = object


def _result(cls: Any, value: Any, out: Any) -> Any:
    """A result with object arrays, and numbers, as arrays of this class."""
    if out is not None:
        return out[0] if len(out) == 1 else out
    if type(value) in (tuple, list):
        return type(value)([_result(cls, x, None) for x in value])
    if isinstance(value, numpy.ndarray):
        if _real_dtype(value).char != 'O':
            return value.view(numpy.ndarray)
        return _checked(cls, value.view(numpy.ndarray)).view(cls)
    return as_array(value).view(cls) if isinstance(value, cls.number) else value


# --- functions of NumPy that are not made of ufuncs ----------------------------------------------------------------
def _factorized(cls: Any, name: str, args: Any, kwargs: Any) -> Any:
    """A function of ``numpy.linalg`` for which there is plain code."""
    function = _number_linalg.FUNCTIONS.get(name)
    if function is None:
        raise TypeError(f'{name}: not defined for arrays of numbers')
    number_work.charge(number_work.factorized(name, args[0]), cls.cost('multiply'))
    with numpy.errstate(all='ignore'):
        found = function(*[_operand(cls, x) for x in args], **kwargs)
    if isinstance(found, tuple):
        return type(found)(*[_result(cls, y, None) for y in found])
    return _result(cls, found, None)


def _full(cls: Any, shape: Any, value: Any, dtype: Any = None, order: Any = 'C', **_: Any) -> Any:
    if dtype is not None and numpy.dtype(dtype) not in (_FLOAT64, numpy.dtype(object)):
        return numpy.full(shape, value, dtype)
    array = numpy.empty(shape, object)
    array[...] = _operand(cls, value)
    return array.view(cls)


def _filled(value: float) -> Callable[..., Any]:
    def create(cls: Any, shape: Any, dtype: Any = None, order: Any = 'C', **_: Any) -> Any:
        return _full(cls, shape, value, dtype)

    return create


def _filled_like(value: float) -> Callable[..., Any]:
    def create(cls: Any, a: Any, dtype: Any = None, order: Any = 'K', subok: bool = True, shape: Any = None,
               **_: Any) -> Any:  # fmt: skip
        return _full(cls, a.shape if shape is None else shape, value, a.dtype if dtype is None else dtype)

    return create


def _full_like(cls: Any, a: Any, fill_value: Any, dtype: Any = None, order: Any = 'K', subok: bool = True,
               shape: Any = None) -> Any:  # fmt: skip
    return _full(cls, a.shape if shape is None else shape, fill_value, a.dtype if dtype is None else dtype)


def _array(cls: Any, values: Any, dtype: Any = None, copy: Any = True, **_: Any) -> Any:
    """``numpy.array`` with float64 as numbers; lists may contain numbers and such arrays."""
    if dtype is not None and numpy.dtype(dtype) not in (_FLOAT64, numpy.dtype(object)):
        return values.astype(dtype) if isinstance(values, NumberArray) else numpy.array(values, dtype)
    if isinstance(values, NumberArray):
        return values.copy() if copy else values
    array = as_array(values) if isinstance(values, cls.number) else numpy.asarray(values)
    return cls.of(array) if array.dtype.kind in 'fO' or dtype is not None else array


def _as_numbers(cls: Any, values: Any, dtype: Any = None, **_: Any) -> Any:
    return _array(cls, values, dtype, copy=False)


def _bincount(cls: Any, x: Any, weights: Any = None, minlength: int = 0) -> Any:
    x = numpy.asarray(x)
    totals = _full(cls, max(minlength, x.max(initial=-1) + 1), 0)
    numpy.add.at(totals, x, 1 if weights is None else weights)
    return totals


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    numpy.zeros_like: _filled_like(0),
    numpy.empty_like: _filled_like(0),
    numpy.ones_like: _filled_like(1),
    numpy.full_like: _full_like,
    numpy.bincount: _bincount,
}
#: Functions of the module that make arrays.
_CREATION: dict[str, Callable[..., Any]] = {
    'zeros': _filled(0),
    'empty': _filled(0),
    'ones': _filled(1),
    'full': _full,
    'array': _array,
    'asarray': _as_numbers,
    'asanyarray': _as_numbers,
    'ascontiguousarray': _as_numbers,
}


class NumberModule:
    """The array module of a class of arrays: NumPy, but float arrays that it makes are arrays of numbers.

    Args:
        cls: a subclass of :class:`NumberArray`.
    """

    def __init__(self, cls: type[NumberArray]) -> None:
        self.__name__ = cls.__name__
        self.array_class = cls
        #: The special functions, by the names that SciPy has for them.
        self.special = _Special()
        for name, function in _CREATION.items():
            setattr(self, name, functools.partial(function, cls))

    def __getattr__(self, name: str) -> Any:
        return getattr(numpy, name)


class _Special:
    """The functions of ``scipy.special``: each is the method of its name of the elements."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def function(*arrays: Any) -> Any:
            if name == 'polygamma':
                arrays = arrays[::-1]  # the order comes first
            cls = next(type(x) for x in arrays if isinstance(x, NumberArray))
            number_work.charge(number_work.results_of(name, '__call__', arrays), cls.cost(name, arrays))
            return _result(cls, by_method(name, *[_operand(cls, x) for x in arrays]), None)

        return function


def module_of(arrays: Any) -> Any:
    """The module of the first :class:`NumberArray` among arrays; None if there is none."""
    return next((x.module for x in arrays if isinstance(x, NumberArray)), None)


def adopted(array: Any) -> Any:
    """An array of numbers for a plain array of such numbers, as ``numpy.asarray`` gives; any other array as it is."""
    if type(array) is numpy.ndarray and array.dtype == object and array.size:
        for cls in NumberArray.__subclasses__():
            if isinstance(array.flat[0], cls.number):
                return array.view(cls)
    return array


def result_of(xp: Any, value: Any) -> Any:
    """What a body returned for arrays of a module; for a class of numbers, object and float arrays become such."""
    if not isinstance(xp, NumberModule):
        return value
    return _converted(xp.array_class, _result(xp.array_class, value, None))
