"""Expressions that record a comparison, for :mod:`minichainer.utils.type_check`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minichainer.errors import InvalidType

# Operator precedence, as in Python.
_ATOM, _POWER, _UNARY, _PRODUCT, _SUM, _SHIFT, _AND, _XOR, _OR, _COMPARISON = range(8, -2, -1)


def _wrap(value: Any) -> Any:
    return value if isinstance(value, Expr) else Constant(value)


def value_of(value: Any) -> Any:
    """The value of an expression, also inside lists, tuples and slices."""
    if isinstance(value, Expr):
        return value.eval()
    if isinstance(value, (list, tuple)):
        return type(value)([value_of(item) for item in value])
    if isinstance(value, slice):
        return slice(value_of(value.start), value_of(value.stop), value_of(value.step))
    return value


def _text(value: Any) -> str:
    """An expression or a value as source code."""
    if isinstance(value, Expr):
        return str(value)
    if isinstance(value, list):
        return f'[{", ".join(map(_text, value))}]'
    if isinstance(value, type) and issubclass(value, numpy.generic):
        return value.__name__
    return repr(value)


def _key_text(key: Any) -> str:
    if isinstance(key, tuple):
        return ', '.join(map(_key_text, key))
    if isinstance(key, slice):
        parts = ['' if part is None else _text(part) for part in (key.start, key.stop, key.step)]
        return ':'.join(parts[:2] if key.step is None else parts)
    return '...' if key is Ellipsis else _text(key)


def _shown(value: Any) -> str:
    """A value as shown after ``Actual:``."""
    return _text(value) if isinstance(value, type) else str(value)


def _binary(priority: int, exp: str, func: Callable[[Any, Any], Any], right_associative: bool = False) -> Any:
    """The method of an operator, and its reflected form."""

    def method(self: Any, other: Any) -> Any:
        return BinaryOperator(priority, self, _wrap(other), exp, func, right_associative)

    def reflected(self: Any, other: Any) -> Any:
        return BinaryOperator(priority, _wrap(other), self, exp, func, right_associative)

    return method, reflected


def _unary(exp: str, func: Callable[[Any], Any]) -> Any:
    return lambda self: UnaryOperator(_UNARY, self, exp, func)


def _comparison(exp: str, inv: str, func: Callable[[Any, Any], Any]) -> Any:
    return lambda self, other: BoolBinaryOperator(self, other, exp, inv, func)


class Expr:
    """An expression: operators, indexing, calls and attributes make larger expressions.

    Args:
        priority: how tightly it binds, for parentheses in texts.
    """

    # Makes a list of arrays or a NumPy scalar on the left defer the operator to this class.
    __array_ufunc__ = None

    def __init__(self, priority: int) -> None:
        self.priority = priority

    def eval(self) -> Any:
        """The value of the expression."""
        raise NotImplementedError(f'{type(self).__name__} must define eval')

    def __getattr__(self, name: str) -> Any:
        if name.startswith('__'):
            raise AttributeError(name)
        return GetAttr(self, name)

    def __getitem__(self, key: Any) -> Any:
        return GetItem(self, key)

    def __call__(self, *args: Any) -> Any:
        return Call(self, args)

    # Without this, __getitem__ would make an expression an infinite sequence.
    __iter__ = None

    def __bool__(self) -> bool:
        raise RuntimeError(
            f'the expression "{self}" has no truth value: pass it to type_check.expect, or take its value by '
            'type_check.eval'
        )

    __hash__ = None  # type: ignore[assignment]
    __eq__ = _comparison('==', '!=', operator.eq)
    __ne__ = _comparison('!=', '==', operator.ne)
    __lt__ = _comparison('<', '>=', operator.lt)
    __le__ = _comparison('<=', '>', operator.le)
    __gt__ = _comparison('>', '<=', operator.gt)
    __ge__ = _comparison('>=', '<', operator.ge)

    __add__, __radd__ = _binary(_SUM, '+', operator.add)
    __sub__, __rsub__ = _binary(_SUM, '-', operator.sub)
    __mul__, __rmul__ = _binary(_PRODUCT, '*', operator.mul)
    __truediv__, __rtruediv__ = _binary(_PRODUCT, '/', operator.truediv)
    __floordiv__, __rfloordiv__ = _binary(_PRODUCT, '//', operator.floordiv)
    __mod__, __rmod__ = _binary(_PRODUCT, '%', operator.mod)
    __pow__, __rpow__ = _binary(_POWER, '**', operator.pow, True)
    __lshift__, __rlshift__ = _binary(_SHIFT, '<<', operator.lshift)
    __rshift__, __rrshift__ = _binary(_SHIFT, '>>', operator.rshift)
    __and__, __rand__ = _binary(_AND, '&', operator.and_)
    __xor__, __rxor__ = _binary(_XOR, '^', operator.xor)
    __or__, __ror__ = _binary(_OR, '|', operator.or_)

    __neg__ = _unary('-', operator.neg)
    __pos__ = _unary('+', operator.pos)
    __invert__ = _unary('~', operator.invert)


class Atom(Expr):
    """An expression that never needs parentheses."""

    def __init__(self) -> None:
        super().__init__(_ATOM)


class Constant(Atom):
    """A plain value in an expression.

    Args:
        value: the value.
    """

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value

    def __str__(self) -> str:
        return _text(self.value)

    def eval(self) -> Any:
        return value_of(self.value)


class Variable(Atom):
    """A value with a name.

    Args:
        value: the value.
        name: how texts call it.
    """

    def __init__(self, value: Any, name: str) -> None:
        super().__init__()
        self.value = value
        self.name = name

    def __str__(self) -> str:
        return self.name

    def eval(self) -> Any:
        return self.value


class GetAttr(Atom):
    """An attribute of an expression.

    Args:
        obj: the expression.
        name: name of the attribute.
    """

    def __init__(self, obj: Any, name: str) -> None:
        super().__init__()
        self.obj = obj
        self.name = name

    def __str__(self) -> str:
        return f'{_inside(self.obj)}.{self.name}'

    def eval(self) -> Any:
        return getattr(value_of(self.obj), self.name)


class GetItem(Atom):
    """An item of an expression.

    Args:
        obj: the expression.
        key: index, slice or a tuple of these; may hold expressions.
    """

    def __init__(self, obj: Any, key: Any) -> None:
        super().__init__()
        self.obj = obj
        self.key = key

    def __str__(self) -> str:
        return f'{_inside(self.obj)}[{_key_text(self.key)}]'

    def eval(self) -> Any:
        return value_of(self.obj)[value_of(self.key)]


class Call(Atom):
    """A call of an expression.

    Args:
        obj: the expression that is called.
        args: its arguments; may hold expressions.
    """

    def __init__(self, obj: Any, args: Sequence[Any]) -> None:
        super().__init__()
        self.obj = obj
        self.args = args

    def __str__(self) -> str:
        return f'{_inside(self.obj)}({", ".join(map(_text, self.args))})'

    def eval(self) -> Any:
        return value_of(self.obj)(*[value_of(arg) for arg in self.args])


def _inside(term: Any, lowest: int = _ATOM) -> str:
    """Text of a part of an expression, in parentheses if its precedence is lower than ``lowest``."""
    return f'({term})' if getattr(term, 'priority', _ATOM) < lowest else _text(term)


class UnaryOperator(Expr):
    """An operator with one operand.

    Args:
        priority: how tightly it binds.
        term: the operand.
        exp: the operator's sign.
        func: what it computes.
    """

    def __init__(self, priority: int, term: Any, exp: str, func: Callable[[Any], Any]) -> None:
        super().__init__(priority)
        self.term = term
        self.exp = exp
        self.func = func

    def __str__(self) -> str:
        return self.exp + _inside(self.term, self.priority)

    def eval(self) -> Any:
        return self.func(value_of(self.term))


class BinaryOperator(Expr):
    """An operator with two operands.

    Args:
        priority: how tightly it binds.
        lhs, rhs: the operands.
        exp: the operator's sign.
        func: what it computes.
        right_associative: whether ``a op b op c`` means ``a op (b op c)``.
    """

    def __init__(
        self,
        priority: int,
        lhs: Any,
        rhs: Any,
        exp: str,
        func: Callable[[Any, Any], Any],
        right_associative: bool = False,
    ) -> None:
        super().__init__(priority)
        self.lhs = lhs
        self.rhs = rhs
        self.exp = exp
        self.func = func
        self.right_associative = right_associative

    def __str__(self) -> str:
        left = _inside(self.lhs, self.priority + self.right_associative)
        right = _inside(self.rhs, self.priority + (not self.right_associative))
        return f'{left} {self.exp} {right}'

    def eval(self) -> Any:
        return self.func(value_of(self.lhs), value_of(self.rhs))


class Testable:
    """A condition that :func:`expect` accepts."""

    def expect(self) -> None:
        """Raises :class:`InvalidType` if the condition does not hold."""
        raise NotImplementedError(f'{type(self).__name__} must define expect')


class BoolBinaryOperator(BinaryOperator, Testable):
    """A comparison.

    Args:
        lhs, rhs: what is compared.
        exp: the comparison's sign.
        inv: the sign of its opposite.
        func: what it computes.
    """

    def __init__(self, lhs: Any, rhs: Any, exp: str, inv: str, func: Callable[[Any, Any], Any]) -> None:
        super().__init__(_COMPARISON, lhs, _wrap(rhs), exp, func)
        self.inv = inv

    def expect(self) -> None:
        left, right = value_of(self.lhs), value_of(self.rhs)
        if not self.func(left, right):
            raise InvalidType(str(self), f'{_shown(left)} {self.inv} {_shown(right)}')
