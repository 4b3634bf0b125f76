"""C++ from formulas in NumPy's functions: a formula is called with names in the place of arrays, and its steps noted.

So a formula is written once, and is the same on the host and on a device. It must be a straight sequence of the
operations below; what it does otherwise raises :class:`Untraceable`, and the formula is then evaluated on arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any


class Untraceable(Exception):
    """A formula does something that has no form in C++ here."""


#: C++ of NumPy's functions, with NumPy's rules for NaN. C is the type of the computation.
FORMS = {
    'add': '{0} + {1}',
    'subtract': '{0} - {1}',
    'multiply': '{0} * {1}',
    'divide': '{0} / {1}',
    'true_divide': '{0} / {1}',
    'negative': '-{0}',
    'positive': '{0}',
    'square': '{0} * {0}',
    'reciprocal': '(C)1 / {0}',
    'sqrt': 'sqrt({0})',
    'exp': 'exp({0})',
    'expm1': 'expm1({0})',
    'log': 'log({0})',
    'log1p': 'log1p({0})',
    'tanh': 'tanh({0})',
    'power': 'pow({0}, {1})',
    'absolute': 'fabs({0})',
    'abs': 'fabs({0})',
    'sign': '{0} > 0 ? (C)1 : {0} < 0 ? (C)-1 : {0} == 0 ? (C)0 : {0}',
    'maximum': '({0} >= {1} || {0} != {0}) ? {0} : {1}',
    'minimum': '({0} <= {1} || {0} != {0}) ? {0} : {1}',
    'clip': '{0} < {1} ? {1} : {0} > {2} ? {2} : {0}',
}


def _operator(function: str) -> Any:
    return lambda self, other: self.trace.call(function, self, other)


def _reflected(function: str) -> Any:
    return lambda self, other: self.trace.call(function, other, self)


def _in_place(function: str) -> Any:
    return lambda self, other: self.trace.call(function, self, other, out=self)


class Name:
    """A variable of the C++ body."""

    __array_ufunc__ = None  # NumPy's functions raise TypeError

    def __init__(self, trace: Trace, name: str) -> None:
        self.trace, self.name = trace, name

    __add__, __radd__, __iadd__ = _operator('add'), _reflected('add'), _in_place('add')
    __sub__, __rsub__, __isub__ = _operator('subtract'), _reflected('subtract'), _in_place('subtract')
    __mul__, __rmul__, __imul__ = _operator('multiply'), _reflected('multiply'), _in_place('multiply')
    __truediv__, __rtruediv__, __itruediv__ = _operator('divide'), _reflected('divide'), _in_place('divide')

    def __neg__(self) -> Any:
        return self.trace.call('negative', self)

    def __bool__(self) -> bool:
        raise Untraceable('a formula depends on the truth of a number')


class Trace:
    """Takes the place of ``xp``, and collects the statements of a formula."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self._count = 0

    def call(self, function: str, *args: Any, out: Any = None) -> Any:
        """Notes ``out = function(*args)``; makes a variable where ``out`` is None."""
        wanted = 1 + max(k for k in range(3) if f'{{{k}}}' in FORMS[function])
        if len(args) == wanted + 1:
            args, out = args[:-1], args[-1]
        if len(args) != wanted:
            raise Untraceable(f'{function} of {len(args)} arguments')
        value = FORMS[function].format(*map(_written, args))
        if out is None:
            self._count += 1
            out = Name(self, f'_v{self._count}')
            self.statements.append(f'C {out.name} = {value};')
        elif isinstance(out, Name):
            self.statements.append(f'{out.name} = {value};')
        else:
            raise Untraceable(f'{function} writes to {type(out)}')
        return out

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in FORMS:
            raise Untraceable(f'a formula uses xp.{name}')
        return lambda *args, **kwargs: self.call(name, *args, **kwargs)


def _written(value: Any) -> str:
    if isinstance(value, Name):
        return value.name
    if isinstance(value, (bool, int, float)) and math.isfinite(value):
        return f'(C){float(value)!r}'
    raise Untraceable(f'a formula uses {value!r}')


def statements(
    formula: Callable[..., Any], coefficients: Sequence[str | None], temporaries: Sequence[str], arrays: Sequence[str]
) -> list[str] | None:
    """The C++ of ``formula(xp, coefficients, temporaries, *arrays)``; None if it cannot be written so.

    Args:
        formula: changes its arrays in place.
        coefficients: names of the coefficients, or None for those that are None.
        temporaries: names of the scratch variables.
        arrays: names of the elements that it reads and writes.
    """
    trace = Trace()
    named = [None if name is None else Name(trace, name) for name in coefficients]
    try:
        formula(trace, tuple(named), [Name(trace, t) for t in temporaries], *[Name(trace, a) for a in arrays])
    except (Untraceable, AttributeError, TypeError):
        return None  # evaluated on arrays it raises its own error, if it has one
    return trace.statements
