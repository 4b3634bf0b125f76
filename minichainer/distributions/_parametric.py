"""What the distributions of this package share: parameters, values that are computed once, and draws."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, overload

import numpy

from minichainer import configuration
from minichainer.backend import get_array_types
from minichainer.configuration import config
from minichainer.distribution import Distribution, register_kl
from minichainer.distributions._densities import quiet_log
from minichainer.functions._arguments import Arguments
from minichainer.functions.array.conversion import cast
from minichainer.functions.array.selection import where
from minichainer.functions.array.shape import broadcast_to
from minichainer.functions.math.exponential import log1p
from minichainer.variable import Variable, as_variable


class _Computing(Protocol):
    """A distribution with computed properties: their values by name, with a graph and without."""

    _computed: tuple[dict[str, Variable], dict[str, Variable]]

    def _evaluated(self, method: Any) -> Variable: ...


D = TypeVar('D', bound=_Computing)
R = TypeVar('R', bound=Callable[..., Any])


class parameter:
    """An attribute that is a parameter of a distribution, a Variable."""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> parameter: ...

    @overload
    def __get__(self, instance: Any, owner: type | None = None) -> Variable: ...

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else instance._parameters[self._name]


def computed(method: Callable[[D], Variable]) -> Callable[[D], Variable]:
    """Decorator of the method of a property that is computed once; once more without a graph if backprop is off."""
    name = method.__name__

    @functools.wraps(method)
    def read(self: D) -> Variable:
        values = self._computed[configuration.nondefault > 0 and not config.enable_backprop]
        value = values.get(name)
        if value is None:
            value = values[name] = self._evaluated(method)
        return value

    return read


#: The methods of values.
_OF_VALUES = ('log_prob', 'prob', 'cdf', 'log_cdf', 'survival_function', 'log_survival_function', 'icdf')


def _widening(method: Callable[[Any, Any], Variable]) -> Callable[[Any, Any], Variable]:
    """A method of values that computes in float32 for float16, and rounds once."""

    @functools.wraps(method)
    def call(self: Parametric, x: Any) -> Variable:
        if self._dtype.char != 'e' or not self._takes(x):
            return method(self, x)
        return cast(method(self._wide, _wide(x)), 'e')

    return call


def _wide(x: Any) -> Any:
    """A float16 array or Variable in float32; anything else unchanged."""
    if isinstance(x, Variable):
        return cast(x, 'f') if x.dtype.char == 'e' else x
    return x.astype('f') if getattr(x, 'dtype', None) == 'e' else x


def register_divergence(of: type[Parametric]) -> Callable[[R], R]:
    """As :func:`~minichainer.distribution.register_kl` for two of one class; computes in float32 for float16."""

    def register(function: R) -> R:
        @functools.wraps(function)
        def divergence(p: Any, q: Any) -> Variable:
            if p._dtype.char == q._dtype.char == 'e':
                return cast(function(p._wide, q._wide), 'e')
            value: Variable = function(p, q)
            return value

        register_kl(of, of)(divergence)
        return function

    return register


class Parametric(Distribution):
    """A distribution with float parameters of one dtype, whose shapes are broadcast together."""

    #: How many of the last axes of the parameters belong to a value.
    _event_ndim = 0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in _OF_VALUES:
            if not hasattr(getattr(cls, name), '__wrapped__'):
                setattr(cls, name, _widening(getattr(cls, name)))

    def __init__(self, **parameters: Any) -> None:
        self._computed: tuple[dict[str, Variable], dict[str, Variable]] = ({}, {})
        self._parameters: dict[str, Variable] = parameters
        shape: Any = None
        dtype: Any = None
        fits = True
        for name, value in parameters.items():
            if value.__class__ is not Variable or value._data is None:
                value = parameters[name] = self._variable(name, value)
            array = value._data
            if shape is None:
                shape, dtype = array.shape, array.dtype
            elif array.shape != shape or array.dtype is not dtype:
                fits = False
        if dtype.kind != 'f':
            self._arguments.floats(*parameters.values(), name=next(iter(parameters)))
        vars(self).update(parameters)  # read faster than by the descriptors
        self._dtype = dtype
        self._shape: tuple[int, ...] = shape
        if not fits:
            self._fit()
        if len(shape) < self._event_ndim:
            raise self._arguments.misfit(f'{self._event_ndim} axes or more', f'shape {shape}')

    @property
    def _arguments(self) -> Arguments:
        return Arguments(type(self).__name__)

    def _variable(self, name: str, value: Any) -> Variable:
        if not isinstance(value, (Variable, *get_array_types())):
            raise TypeError(
                f'{type(self).__name__}: {name} must be a Variable or a float array, got {type(value).__name__}; '
                f'write numpy.asarray({name}, numpy.float32)'
            )
        variable = as_variable(value)
        self._arguments.floats(variable, name=name)  # also raises if it is not initialized
        return variable

    def _fit(self) -> None:
        """Broadcasts the shapes of the parameters; raises InvalidType if shapes or dtypes do not fit."""
        values = self._parameters.values()
        for name, value in self._parameters.items():
            self._arguments.floats(value, name=name)
        if any(v.dtype != self._dtype for v in values):
            raise self._arguments.misfit('parameters of one dtype', ', '.join(str(v.dtype) for v in values))
        if any(v.shape != self._shape for v in values):
            self._shape = self._broadcast([v.shape for v in values])

    def _broadcast(self, shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
        try:
            return numpy.broadcast_shapes(*shapes)
        except ValueError:
            expected = 'parameters of shapes that can be broadcast together'
            raise self._arguments.misfit(expected, ', '.join(map(str, shapes))) from None

    @property
    def _wide(self) -> Any:
        """This distribution with parameters in float32; made once, and once more without a graph."""
        kept: Any = self._computed[configuration.nondefault > 0 and not config.enable_backprop]
        if '_wide' not in kept:
            wide = kept['_wide'] = object.__new__(type(self))
            parameters = {name: cast(value, 'f') for name, value in self._parameters.items()}
            vars(wide).update(vars(self), _computed=({}, {}), _parameters=parameters, _dtype=numpy.dtype('f'))
            vars(wide).update(parameters)
        return kept['_wide']

    def _evaluated(self, method: Any) -> Variable:
        """The value of a computed property; that of float16 is computed in float32, and rounded once."""
        if self._dtype.char != 'e':
            value: Variable = method(self)
            return value
        value = method(self._wide)
        for name, parameter in self._wide._parameters.items():
            if value is parameter:
                return self._parameters[name]
        return cast(value, 'e') if value.dtype.char == 'f' else value

    @property
    def params(self) -> dict[str, Variable]:
        return dict(self._parameters)

    @property
    def xp(self) -> Any:
        for value in self._parameters.values():
            return value.xp

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self._shape[: len(self._shape) - self._event_ndim]

    @property
    def event_shape(self) -> tuple[int, ...]:
        return self._shape[len(self._shape) - self._event_ndim :]

    def _takes(self, x: Any) -> bool:
        """Whether values are of a dtype that is converted, or that of the parameters."""
        return not isinstance(x, Variable) or x.dtype is self._dtype or x.dtype.kind != 'f'

    def _values(self, x: Any) -> Any:
        """Values in the dtype of the parameters; integers, as samples are, become floats without a gradient."""
        array = x._data if isinstance(x, Variable) else x
        dtype = getattr(array, 'dtype', None)
        if dtype is self._dtype and not isinstance(x, numpy.generic):
            return x
        if dtype is None:
            self._arguments.number(x, 'x')
        elif isinstance(x, Variable) and dtype.kind == 'f':
            return x  # of another dtype, which the op refuses
        elif dtype.kind not in 'fiub':
            raise self._arguments.misfit('x of numbers', f'{dtype}')
        return self.xp.asarray(array, self._dtype)

    def _variables(self, x: Any) -> Variable:
        """Values as a Variable."""
        return as_variable(self._values(x))

    def _if_possible(
        self, x: Any, impossible: Any, density: Callable[..., Variable], *parameters: Any, instead: float = 1.0
    ) -> Variable:
        """The logarithm of a density, and -inf at impossible values, where the gradient is 0.

        Args:
            x: values.
            impossible: bool array; False for NaN, so that this stays. On a GPU nothing waits for it.
            density: op of values and parameters.
            parameters: its arguments after the values.
            instead: some possible value.
        """
        if fails(impossible):
            return density(x, *parameters)
        y = density(where(impossible, instead, x), *parameters)
        return where(self.xp.broadcast_to(impossible, y.shape), -math.inf, y)

    def _unless(
        self, outside: Any, x: Variable, op: Callable[..., Variable], instead: Any, inner: float = 0.5
    ) -> Variable:
        """An op, and something else at values outside; ``inner`` is a value that is not. NaN is not outside."""
        if fails(outside):
            return op(x)
        y = op(where(outside, inner, x))
        return where(self.xp.broadcast_to(outside, y.shape), instead, y)

    def _full(self, x: Variable) -> Variable:
        """A property of the distribution, broadcast to the shape of the parameters."""
        return x if x.shape == self._shape else broadcast_to(x, self._shape)

    def _constant(self, value: Any) -> Variable:
        """A number for each element of the batch."""
        return Variable(self.xp.full(self._shape, value, self._dtype), requires_grad=False)

    def _size(self, n: Any) -> tuple[int, ...]:
        """The shape of n draws."""
        try:
            return (operator.index(n), *self._shape)
        except TypeError:
            raise self._arguments.wrong_type('int', 'n', n) from None

    def _constants(self, x: Any) -> Variable:
        """Draws or other numbers in the dtype of the parameters, without a gradient."""
        return Variable(self.xp.asarray(x, self._dtype), requires_grad=False)

    def _positive(self, draws: Any, scale: Any = 1.0) -> Variable:
        """Draws of positive numbers that are not rounded to 0, as torch's are not; their multiples neither.

        Below the least normal number a density of a small shape would be infinite, or its slope.
        """
        least = float(self.xp.finfo(self._dtype).tiny) if self._dtype.char != 'e' else 2.0**-24
        return self._constants(self.xp.maximum(draws, least / self.xp.clip(scale, least, 1.0)))

    def _drawn(self, draw: Callable[..., Any], *parameters: Variable, size: tuple[int, ...]) -> Any:
        """Draws of a generator that takes arrays of parameters; an error of it names the distribution."""
        try:
            return draw(*[p._data for p in parameters], size=size)
        except ValueError as error:
            raise ValueError(f'{type(self).__name__}: cannot draw samples: {error}') from None


def raw(x: Any) -> Any:
    """The array of a Variable, without being marked as one that the user may modify; anything else as it is."""
    return x._data if isinstance(x, Variable) else x


def holds(condition: Any) -> bool:
    """Whether a condition holds for all elements; False for arrays of a GPU, so that nothing waits for these."""
    return isinstance(condition, (numpy.ndarray, numpy.bool_)) and bool(condition.all())


def fails(condition: Any) -> bool:
    """Whether a condition holds for no element; False for arrays of a GPU, so that nothing waits for these."""
    return isinstance(condition, (numpy.ndarray, numpy.bool_)) and not condition.any()


def is_tiny(shape: Any) -> Any:
    """Where the shape of a gamma-distributed number is so small that its entropy is -1/k to all digits."""
    return (shape >= 0) & (shape < (1e-150 if shape.dtype.char == 'd' else 1e-18))


def at_least(x: Any, bound: float) -> bool:
    """Whether an array has no element below a bound; False also for arrays of a GPU."""
    return type(x) is numpy.ndarray and (not x.size or bool(x.min() >= bound))


def above(x: Any, bound: float) -> bool:
    """Whether an array has only elements above a bound; False also for arrays of a GPU."""
    return type(x) is numpy.ndarray and (not x.size or bool(x.min() > bound))


def log_of_probability(p: Variable, rest: Variable) -> Variable:
    """The logarithm of a probability, given also that of the opposite: it is precise where one of them is tiny."""
    is_small = p._data < rest._data
    return where(is_small, quiet_log(where(is_small, p, 1.0)), log1p(-where(is_small, 0.0, rest)))
