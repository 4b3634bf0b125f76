"""Arithmetic of Variables: what ``+ - * / // ** @ abs()`` do."""
from __future__ import annotations

import numbers
from typing import Any

import numpy

from minichainer import ops
from minichainer._checks import array_types
from minichainer.functions._constants import number
from minichainer.functions._define import elementwise
from minichainer.variable import Variable, as_variable

_NUMERIC = 'fiub'


@elementwise(
    lambda m, gy: gy, lambda m, gy: gy, name='Add', label='_ + _', kinds=_NUMERIC
)  # fmt: skip
def add_arrays(xp: Any, lhs: Any, rhs: Any) -> Any:
    return xp.add(lhs, rhs)


@elementwise(
    lambda m, gy: gy, lambda m, gy: -gy, name='Sub', label='_ - _', kinds=_NUMERIC
)  # fmt: skip
def subtract_arrays(xp: Any, lhs: Any, rhs: Any) -> Any:
    return xp.subtract(lhs, rhs)


@elementwise(
    lambda m, gy, lhs, rhs: gy * rhs, lambda m, gy, lhs, rhs: gy * lhs, name='Mul', label='_ * _', kinds=_NUMERIC
)  # fmt: skip
def multiply_arrays(xp: Any, lhs: Any, rhs: Any) -> Any:
    return xp.multiply(lhs, rhs)


@elementwise(
    lambda m, gy, lhs, rhs: gy / rhs,
    lambda m, gy, lhs, rhs: -gy * lhs / rhs / rhs,
    name='Div', label='_ / _', kinds=_NUMERIC,
)  # fmt: skip
def divide_arrays(xp: Any, lhs: Any, rhs: Any) -> Any:
    return xp.divide(lhs, rhs)


@elementwise(
    lambda m, gy, lhs, rhs: gy * rhs * m.power_arrays(lhs, rhs - m.one(rhs)),
    lambda m, gy, lhs, rhs, y: gy * m.log_of_base(lhs, y) * y,
    name='PowVarVar', label='_ ** _', kinds=_NUMERIC,
)  # fmt: skip
def power_arrays(xp: Any, lhs: Any, rhs: Any) -> Any:
    return xp.power(lhs, rhs)


@elementwise(lambda m, gy: gy, name='AddConstant', label=lambda value, shown: f'_ + {_shown(shown)}', kinds=_NUMERIC)
def add_constant(xp: Any, x: Any, value: Any, shown: Any) -> Any:
    return xp.add(x, value)


@elementwise(lambda m, gy: -gy, name='SubFromConstant', label=lambda value, shown: f'{_shown(shown)} - _', kinds=_NUMERIC)
def subtract_from_constant(xp: Any, x: Any, value: Any, shown: Any) -> Any:
    return xp.subtract(value, x)


@elementwise(
    lambda m, gy, value, shown: m.multiply_constant(gy, value, shown),
    name='MulConstant', label=lambda value, shown: f'_ * {_shown(shown)}', kinds=_NUMERIC,
)  # fmt: skip
def multiply_constant(xp: Any, x: Any, value: Any, shown: Any) -> Any:
    return xp.multiply(x, value)


@elementwise(
    lambda m, gy, y, x: -gy * y / x,
    name='DivFromConstant', label=lambda value, shown: f'{_shown(shown)} / _',
)  # fmt: skip
def divide_constant(xp: Any, x: Any, value: Any, shown: Any) -> Any:
    return xp.divide(value, x)


@elementwise(
    lambda m, gy, x, shown: gy * (shown * m.power(x, shown - 1)),
    name='PowVarConst', label=lambda value, shown: f'_ ** {_shown(shown)}',
)  # fmt: skip
def power_constant(xp: Any, x: Any, value: Any, shown: Any) -> Any:
    return xp.square(x) if shown == 2 else xp.power(x, value)


@elementwise(
    lambda m, gy, y, value, shown: m.multiply_constant(gy * y, *m.log_constant(value)),
    name='PowConstVar', label=lambda value, shown: f'{_shown(shown)} ** _',
)  # fmt: skip
def constant_power(xp: Any, x: Any, value: Any, shown: Any) -> Any:
    return xp.power(value, x)


@elementwise(lambda m, gy: -gy, name='Neg', label='__neg__', kinds=_NUMERIC)
def negative(xp: Any, x: Any) -> Any:
    """Elementwise negation, :math:`y = -x`."""
    return xp.negative(x)


@elementwise(lambda m, gy, x: gy * m.sign(x), name='Absolute', label='|_|')
def absolute(xp: Any, x: Any) -> Any:
    r"""Elementwise absolute value, :math:`y = |x|`; its derivative at 0 is taken as 0.

    Args:
        x: Variable or array of any shape.

    Returns:
        Variable of the same shape and dtype.

    >>> import numpy as np, minichainer.functions as F
    >>> F.absolute(np.array([-1., 2.]))
    variable([1., 2.])
    """
    return xp.absolute(x)


def _sign(xp: Any, x: Any) -> Any:
    return xp.sign(x)


def _one(xp: Any, x: Any) -> Any:
    return xp.ones((), x.dtype)


def _log_constant(xp: Any, value: Any) -> tuple[Any, Any]:
    log = xp.asarray(xp.log(value), value.dtype)
    return log, float(log)


ops.register_constant('sign', _sign)
ops.register_constant('one', _one)
ops.register_constant('log_constant', _log_constant)


def _log_of_base(xp: Any, base: Any, y: Any) -> Any:
    """log(base), and 0 where base ** exponent is 0: there the derivative is 0 and not 0 * -inf."""
    return xp.log(xp.where(y == 0, 1, base)).astype(base.dtype, copy=False)


def _log_of_base_variable(base: Any, y: Any) -> Any:
    return ops.log(ops.where(ops.equal(y, 0), 1, base))


ops.register('log_of_base', _log_of_base_variable, _log_of_base)


def _shown(value: Any) -> str:
    return str(value) if not isinstance(value, numbers.Real) or value >= 0 else f'({value})'


# --- the operators: which of the ops above an operand calls for -----------------------------------------------------
def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, numpy.number, numpy.bool_))


def _operand(value: Any, partner: Any) -> Variable:
    """An array operand as a constant of the partner's dtype."""
    if isinstance(value, Variable):
        return value
    if not isinstance(value, array_types()):
        raise TypeError(
            'Value must be a scalar, `numpy.ndarray`, `cupy.ndarray` or a `Variable`.\n'
            f'Actual: {type(value).__name__}'
        )
    return Variable(value.astype(partner.dtype, copy=False), requires_grad=False)


def _pair(lhs: Any, rhs: Any) -> tuple[Variable, Variable]:
    if isinstance(lhs, Variable):
        return lhs, _operand(rhs, lhs)
    if isinstance(rhs, Variable):
        return _operand(lhs, rhs), rhs
    return as_variable(lhs), as_variable(rhs)


def add(*xs: Any) -> Variable:
    r"""Elementwise sum of two or more arrays, :math:`y = x_0 + x_1 + \dots`, with broadcasting.

    Args:
        xs: Variables or arrays of one dtype, or numbers; an array beside a Variable takes its dtype.

    Returns:
        Variable.

    Raises:
        InvalidType: dtypes differ, or the shapes cannot be broadcast together.

    >>> import numpy as np, minichainer.functions as F
    >>> F.add(np.ones(2), np.ones(2), np.ones(2))
    variable([3., 3.])
    """
    if len(xs) != 2:
        return _add_many(xs)
    lhs, rhs = xs
    if isinstance(lhs, Variable) and isinstance(rhs, Variable):
        return add_arrays(lhs, rhs)
    if _is_number(rhs):
        lhs = as_variable(lhs)
        return add_constant(lhs, number(rhs, lhs.dtype), rhs)
    if _is_number(lhs):
        return add_constant(rhs, number(lhs, rhs.dtype), lhs)
    return add_arrays(*_pair(lhs, rhs))


def _add_many(xs: tuple[Any, ...]) -> Variable:
    if not xs:
        raise TypeError('add() takes at least one argument: an array or a Variable')
    total = as_variable(xs[0])
    for x in xs[1:]:
        total = add(total, x)
    return total


def subtract(lhs: Any, rhs: Any) -> Variable:
    """Elementwise difference: ``lhs - rhs``."""
    if isinstance(lhs, Variable) and isinstance(rhs, Variable):
        return subtract_arrays(lhs, rhs)
    if _is_number(rhs):
        return add_constant(lhs, number(-rhs, lhs.dtype), -rhs)
    if _is_number(lhs):
        return subtract_from_constant(rhs, number(lhs, rhs.dtype), lhs)
    return subtract_arrays(*_pair(lhs, rhs))


def multiply(lhs: Any, rhs: Any) -> Variable:
    """Elementwise product: ``lhs * rhs``."""
    if isinstance(lhs, Variable) and isinstance(rhs, Variable):
        return multiply_arrays(lhs, rhs)
    if _is_number(rhs):
        return multiply_constant(lhs, number(rhs, lhs.dtype), rhs)
    if _is_number(lhs):
        return multiply_constant(rhs, number(lhs, rhs.dtype), lhs)
    return multiply_arrays(*_pair(lhs, rhs))


def divide(lhs: Any, rhs: Any) -> Variable:
    """Elementwise true division: ``lhs / rhs``."""
    if isinstance(lhs, Variable) and isinstance(rhs, Variable):
        return divide_arrays(lhs, rhs)
    if _is_number(rhs):
        inverse = 1.0 / rhs
        return multiply_constant(lhs, number(inverse, lhs.dtype), inverse)
    if _is_number(lhs):
        return divide_constant(rhs, number(lhs, rhs.dtype), lhs)
    return divide_arrays(*_pair(lhs, rhs))


def power(lhs: Any, rhs: Any) -> Variable:
    """Elementwise power: ``lhs ** rhs``."""
    if isinstance(lhs, Variable) and isinstance(rhs, Variable):
        return power_arrays(lhs, rhs)
    if _is_number(rhs):
        return power_constant(lhs, number(rhs, lhs.dtype), rhs)
    if _is_number(lhs):
        return constant_power(rhs, number(lhs, rhs.dtype), lhs)
    return power_arrays(*_pair(lhs, rhs))


def floor_divide(lhs: Any, rhs: Any) -> Variable:
    """Elementwise floor division: ``lhs // rhs``; a step function, so the result has no graph."""
    if _is_number(rhs):
        x = as_variable(lhs)
        return Variable(numpy.asarray(x.array // number(rhs, x.dtype)), requires_grad=False)
    if _is_number(lhs):
        return Variable(numpy.asarray(number(lhs, rhs.dtype) // rhs.array), requires_grad=False)
    left, right = _pair(lhs, rhs)
    return Variable(numpy.asarray(left.array // right.array), requires_grad=False)


def _power_raw(xp: Any, x: Any, exponent: Any) -> Any:
    return xp.power(x, xp.asarray(exponent, x.dtype))


for _name, _function in (('add', add), ('subtract', subtract), ('multiply', multiply), ('divide', divide),
                         ('floor_divide', floor_divide)):  # fmt: skip
    ops.register(_name, _function, lambda xp, lhs, rhs, _name=_name: getattr(xp, _name)(lhs, rhs))
ops.register('power', power, _power_raw)


