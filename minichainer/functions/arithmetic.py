"""Operators of Variables: ``+ - * / // ** @ abs()``."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy

from minichainer import ops
from minichainer._checks import array_types
from minichainer.backend import on_device_of_arguments
from minichainer.functions._arguments import Arguments
from minichainer.functions._constants import number_like
from minichainer.functions._define import Op, elementwise, primitive
from minichainer.kernels import bounds, repeated
from minichainer.recorder import check_arrays
from minichainer.variable import Variable, as_variable

_Operator: TypeAlias = Callable[[Any, Any], Variable]
_NUMERIC = 'fiubc'
_SIGNED = 'fiuc'  # NumPy does not subtract bools


@elementwise(
    lambda m, gy: gy,
    lambda m, gy: gy,
    mixed=lambda lhs, rhs: _add_mixed(lhs, rhs),
    name='Add',
    label='_ + _',
    kinds=_NUMERIC,
    on_numpy=repeated.add,
)
def add_arrays(xp: Any, lhs: Any, rhs: Any) -> Any:
    return xp.add(lhs, rhs)


@elementwise(
    lambda m, gy: gy,
    lambda m, gy: -gy,
    mixed=lambda lhs, rhs: _subtract_mixed(lhs, rhs),
    name='Sub',
    label='_ - _',
    kinds=_SIGNED,
    on_numpy='subtract',
)
def subtract_arrays(xp: Any, lhs: Any, rhs: Any) -> Any:
    return xp.subtract(lhs, rhs)


@elementwise(
    lambda m, gy, lhs, rhs: gy * rhs,
    lambda m, gy, lhs, rhs: gy * lhs,
    mixed=lambda lhs, rhs: _multiply_mixed(lhs, rhs),
    name='Mul',
    label='_ * _',
    kinds=_NUMERIC,
    on_numpy=repeated.multiply,
)
def multiply_arrays(xp: Any, lhs: Any, rhs: Any) -> Any:
    return xp.multiply(lhs, rhs)


@elementwise(
    lambda m, gy, lhs, rhs: gy / rhs,
    lambda m, gy, lhs, rhs: -(lhs / rhs * gy / rhs),  # 1 / rhs / rhs, a part of its gradient, may be out of range
    mixed=lambda lhs, rhs: _divide_mixed(lhs, rhs),
    name='Div',
    label='_ / _',
    kinds=_NUMERIC,
    on_numpy='divide',
)
def divide_arrays(xp: Any, lhs: Any, rhs: Any) -> Any:
    return xp.divide(lhs, rhs)


@elementwise(lambda m, gy, w, x: gy * x, lambda m, gy, w, x: gy * w)
def weighted(xp: Any, w: Any, x: Any) -> Any:
    """w x, and 0 where w is 0 even if x is infinite."""
    with numpy.errstate(invalid='ignore'):
        return xp.where(w == 0, xp.zeros((), x.dtype), w * x)


@elementwise(
    lambda m, gy, lhs, rhs: gy * m.weighted(rhs, m.power_arrays(lhs, rhs - m.one_or_at_origin_zero(lhs, rhs))),
    lambda m, gy, lhs, rhs, y: gy * _log_of_base(m, lhs, y) * y,
    mixed=lambda lhs, rhs: _power_mixed(lhs, rhs),
    name='PowVarVar',
    label='_ ** _',
)
def power_arrays(xp: Any, lhs: Any, rhs: Any) -> Any:
    return xp.power(lhs, rhs)


@elementwise(lambda m, gy: gy, name='AddConstant', label=lambda value, shown: f'_ + {_shown(shown)}', kinds=_NUMERIC)
def add_constant(xp: Any, x: Any, value: Any, shown: Any) -> Any:
    return xp.add(x, value)


@elementwise(
    lambda m, gy: -gy, name='SubFromConstant', label=lambda value, shown: f'{_shown(shown)} - _', kinds=_SIGNED
)
def subtract_from_constant(xp: Any, x: Any, value: Any, shown: Any) -> Any:
    return xp.subtract(value, x)


@elementwise(
    lambda m, gy, value: gy * value,
    name='MulConstant',
    label=lambda value, shown: f'_ * {_shown(shown)}',
    kinds=_NUMERIC,
)
def multiply_constant(xp: Any, x: Any, value: Any, shown: Any) -> Any:
    return xp.multiply(x, value)


@elementwise(
    lambda m, gy, y, x: -gy * y / x,
    name='DivFromConstant',
    label=lambda value, shown: f'{_shown(shown)} / _',
    kinds='fc',
)
def divide_constant(xp: Any, x: Any, value: Any, shown: Any) -> Any:
    return xp.divide(value, x)


@elementwise(
    lambda m, gy, x, shown: gy * (shown * m.power(x, shown - 1 if shown else 0)),
    name='PowVarConst',
    label=lambda value, shown: f'_ ** {_shown(shown)}',
)
def power_constant(xp: Any, x: Any, value: Any, shown: Any) -> Any:
    return xp.square(x) if shown == 2 else xp.power(x, value)


@elementwise(
    lambda m, gy, y, value, shown: gy * y * (m.log_constant(value) if shown else _log_of_base(m, value, y)),
    name='PowConstVar',
    label=lambda value, shown: f'{_shown(shown)} ** _',
)
def constant_power(xp: Any, x: Any, value: Any, shown: Any) -> Any:
    return xp.power(value, x)


@elementwise(lambda m, gy: -gy, name='Neg', label='__neg__', kinds=_SIGNED, on_numpy='negative')
def negative(xp: Any, x: Any) -> Any:
    """Elementwise negation, :math:`y = -x`."""
    return xp.negative(x)


@elementwise(
    lambda m, gy, x: gy * m.sign(x), fast=(bounds.sign_gradient,), name='Absolute', label='|_|', on_numpy='absolute'
)
def absolute(xp: Any, x: Any) -> Any:
    r"""Elementwise absolute value, :math:`y = |x|`; the derivative at 0 is 0.

    Args:
        x: Variable or array of any shape.

    Returns:
        Variable of the same shape and dtype.

    >>> import numpy as np, minichainer.functions as F
    >>> F.absolute(np.array([-1., 2.]))
    variable([1., 2.])
    """
    return xp.absolute(x)


def _one_or_at_origin_zero(xp: Any, base: Any, exponent: Any) -> Any:
    """The amount by which the derivative lowers the exponent: 1, but 0 at base 0 and exponent 0, to avoid 0 / 0."""
    return xp.logical_or(base, exponent)


def _log_constant(xp: Any, value: Any) -> Any:
    return value.dtype.type(numpy.log(value))


ops.register_constant('sign', bounds.sign)
ops.register_constant('one_or_at_origin_zero', _one_or_at_origin_zero)
ops.register_constant('log_constant', _log_constant)


def _log_of_base(m: Any, base: Any, y: Any) -> Any:
    """log(base), or 0 where base ** exponent is 0 and this infinite: there the derivative is 0 and not 0 * inf."""
    is_infinite = m.equal(base, 0) | m.equal(base, math.inf)
    return m.log(m.where(m.equal(y, 0) & is_infinite, base.dtype.type(1), base))


def _shown(value: Any) -> str:
    compared: Any = value if isinstance(value, numbers.Real) else 0
    return str(value) if compared >= 0 else f'({value})'


# --- an operand that is not a Variable: numbers use other ops, arrays take the dtype of the Variable --------------
def _is_number(value: Any) -> bool:
    return isinstance(value, (float, int, numpy.number, numpy.bool_))


def _operand(value: Any, partner: Any) -> Variable:
    """An array operand as a constant of the partner's dtype; complex arrays stay complex."""
    if isinstance(value, Variable):
        return value
    if isinstance(value, complex) and partner.dtype.kind == 'c':
        value = partner.xp.asarray(value, partner.dtype)
    if not isinstance(value, array_types()):
        raise TypeError(f'An operand must be a number, an array or a Variable\nActual: {type(value).__name__}')
    array: Any = value
    if array.dtype.kind != 'c':
        array = array.astype(partner.dtype, copy=False)
    return Variable(array, requires_grad=False)


def _pair(lhs: Any, rhs: Any) -> tuple[Variable, Variable]:
    if isinstance(lhs, Variable):
        return lhs, _operand(rhs, lhs)
    if isinstance(rhs, Variable):
        return _operand(lhs, rhs), rhs
    return as_variable(lhs), as_variable(rhs)


def _mixed(op: _Operator, number_on_the_right: _Operator, number_on_the_left: _Operator) -> _Operator:
    """What an operator does if one of its operands is not a Variable."""

    def call(lhs: Any, rhs: Any) -> Variable:
        if _is_number(rhs):
            return number_on_the_right(as_variable(lhs), _plain(rhs))
        if _is_number(lhs):
            return number_on_the_left(as_variable(rhs), _plain(lhs))
        return op(*_pair(lhs, rhs))

    return call


def _plain(value: Any) -> Any:
    """A Python number: NumPy's scalars overflow (``-uint8(3)``) and lose digits (``1 / float32(3)``)."""
    return (
        value
        if type(value) is float or type(value) is int
        else value.item()
        if hasattr(value, 'item')
        else int(value)
    )


def _add_number(x: Variable, value: Any) -> Variable:
    return add_constant(x, number_like(value, x), value)


_add_mixed: _Operator = _mixed(add_arrays, _add_number, _add_number)


def _multiply_number(x: Variable, value: Any) -> Variable:
    return multiply_constant(x, number_like(value, x), value)


_multiply_mixed: _Operator = _mixed(multiply_arrays, _multiply_number, _multiply_number)
_subtract_mixed: _Operator = _mixed(
    subtract_arrays,
    lambda x, value: _add_number(x, -value),
    lambda x, value: subtract_from_constant(x, number_like(value, x), value),
)


def _divide_by_number(x: Variable, value: Any) -> Variable:
    if not value:
        raise ZeroDivisionError(f'_ / _: an array of shape {x.shape} is divided by the number {value}')
    return _multiply_number(x, 1.0 / value)


_divide_mixed: _Operator = _mixed(
    divide_arrays,
    _divide_by_number,
    lambda x, value: divide_constant(x, number_like(value, x), value),
)


def _power_with_number(op: Op[...], x: Variable, value: Any) -> Variable:
    try:
        constant = number_like(value, x)
    except OverflowError:
        raise op.node_class.spec.wrong_kind(x.dtype, (value, value)) from None
    return op(x, constant, value)


_power_mixed: _Operator = _mixed(
    power_arrays,
    lambda x, value: _power_with_number(power_constant, x, value),
    lambda x, value: _power_with_number(constant_power, x, value),
)


@primitive(rule=lambda m, gy, xs_shape: (gy,) * len(xs_shape), name='MultiAdd', linear_in=('xs',))
def add_all(xp: Any, *xs: Any) -> Any:
    total = xs[0]
    for x in xs[1:]:
        total = total + x
    return total


def add(*xs: Any) -> Variable:
    r"""Elementwise sum of two or more arrays, :math:`y = x_0 + x_1 + \dots`, with broadcasting.

    Args:
        xs: Variables or arrays of one dtype, or numbers; an array takes the dtype of a Variable.

    Returns:
        Variable.

    Raises:
        InvalidType: dtypes differ, or the shapes cannot be broadcast together.

    >>> import numpy as np, minichainer.functions as F
    >>> F.add(np.ones(2), np.ones(2), np.ones(2))
    variable([3., 3.])
    """
    if not xs:
        raise TypeError('add() takes at least one argument: an array or a Variable')
    if len(xs) == 2:
        return add_arrays(*xs)
    first = as_variable(xs[0])
    variables = [first if x is xs[0] else _operand(x, first) for x in xs]
    check = add_arrays.node_class.spec
    for x in variables:
        check_arrays((x._data,), 'MultiAdd')
        check.check((first._data, x._data), ())
    check.check_shapes([x._data for x in variables], ())
    total: Variable = add_all(*variables)
    return total


@on_device_of_arguments
def floor_divide(lhs: Any, rhs: Any) -> Variable:
    """Elementwise floor division: ``lhs // rhs``; a step function, so the result has no graph.

    Args:
        lhs, rhs: Variables, arrays or numbers. An array takes the dtype of a Variable, two Variables must have one.

    Raises:
        InvalidType: dtypes differ, or the shapes cannot be broadcast together.
    """
    for operand in (lhs, rhs):
        if isinstance(operand, Variable):
            check_arrays((operand._data,), '_ // _')
        dtype = getattr(operand, 'dtype', None)
        if isinstance(operand, complex) or (dtype is not None and dtype.kind == 'c'):
            raise TypeError(f'_ // _: real numbers expected, got {dtype or operand}')
    if _is_number(rhs):
        quotient = as_variable(lhs)._data // number_like(rhs, lhs)
    elif _is_number(lhs):
        quotient = number_like(lhs, rhs) // rhs._data
    else:
        left, right = _pair(lhs, rhs)
        if left.dtype != right.dtype:
            raise Arguments('_ // _').misfit('lhs.dtype == rhs.dtype', f'{left.dtype} != {right.dtype}')
        quotient = _quotient(left._data, right._data)
    return Variable(numpy.asarray(quotient) if isinstance(quotient, numpy.generic) else quotient, requires_grad=False)


def _quotient(lhs: Any, rhs: Any) -> Any:
    try:
        numpy.broadcast_shapes(lhs.shape, rhs.shape)
    except ValueError:
        expected = 'shapes that can be broadcast together'
        raise Arguments('_ // _').misfit(expected, f'{lhs.shape} and {rhs.shape}') from None
    return lhs // rhs


def _power_raw(xp: Any, x: Any, exponent: Any) -> Any:
    return xp.power(x, xp.asarray(exponent, x.dtype))


# Variable's operators and the rules call these; the registry uses NumPy's names.
for _name, _op in (
    ('add', add_arrays),
    ('subtract', subtract_arrays),
    ('multiply', multiply_arrays),
    ('divide', divide_arrays),
    ('floor_divide', floor_divide),
):
    ops.register(_name, _op, lambda xp, lhs, rhs, _name=_name: getattr(xp, _name)(lhs, rhs))
ops.register('power', power_arrays, _power_raw)
