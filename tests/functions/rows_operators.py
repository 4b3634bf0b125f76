"""Rows of arithmetic: every operator of Variable, with Variables, numbers and arrays on either side."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import minichainer as chainer
import minichainer.functions as F
from minichainer.utils.type_check import InvalidType
from tests.functions.row import ANY, AWAY_FROM_0, POSITIVE, Bad, Case, Domain, Row, Special, case, grid
from tests.functions.rows_elementwise import (
    BROADCAST,
    INF,
    INTEGERS,
    NAN,
    SHAPES,
    refuses_integers,
    refuses_shapes,
    refuses_two_dtypes,
)

V = chainer.Variable
INTEGERS_TOO = {'wrong kind': 'integers are added, multiplied and divided too; see test_operators.py'}
NUMBERS = {'special values': 'the row with two Variables has them', **INTEGERS_TOO}
CONSTANTS = Domain(values=(0.5, 1.5, 2.0))


def shown(number: Any) -> str:
    """How a number stands in a label."""
    return str(number) if number >= 0 else f'({number})'


@dataclass
class Operator:
    """A binary operator, where its operands lie, and its labels."""

    symbol: str
    name: str
    function: Callable[[Any, Any], Any]
    label_right: Callable[[Any], str]
    label_left: Callable[[Any], str]
    left: Domain = ANY
    right: Domain = ANY
    rights: tuple[Any, ...] = (2, -2.5, np.float32(1.5))
    lefts: tuple[Any, ...] = (2, -2.5, np.float64(1.5))
    special: tuple[Special, ...] = ()


def at(lhs: list[float], rhs: list[float], d_lhs: list[float], d_rhs: list[float]) -> tuple[Special, ...]:
    """Special points and both derivatives."""
    return (Special((np.array(lhs, 'd'), np.array(rhs, 'd')), gradients=(np.array(d_lhs), np.array(d_rhs))),)


OPERATORS = [
    Operator(
        '+', 'add', operator.add, lambda c: f'_ + {shown(c)}', lambda c: f'_ + {shown(c)}',
        special=at([NAN, INF, INF, 1e30], [1, 1, -INF, 1e30], [1, 1, 1, 1], [1, 1, 1, 1]),
    ),
    Operator(
        '-', 'sub', operator.sub, lambda c: f'_ + {shown(-c)}', lambda c: f'{shown(c)} - _',
        special=at([NAN, INF, INF, 1e30], [1, 1, INF, 1e30], [1, 1, 1, 1], [-1, -1, -1, -1]),
    ),
    Operator(
        '*', 'mul', operator.mul, lambda c: f'_ * {shown(c)}', lambda c: f'_ * {shown(c)}',
        special=at([NAN, INF, INF, 1e30], [1, 1, 0, 2], [1, 1, 0, 2], [NAN, INF, INF, 1e30]),
    ),
    Operator(
        '/', 'truediv', operator.truediv, lambda c: f'_ * {shown(1.0 / float(c))}', lambda c: f'{shown(c)} / _',
        right=Domain(avoid=(0.0,), margin=0.5),
        special=at([NAN, 1, 0, 1], [1, 0, 0, INF], [1, INF, INF, 0], [NAN, -INF, NAN, 0]),
    ),
    Operator(
        '**', 'pow', operator.pow, lambda c: f'_ ** {shown(c)}', lambda c: f'{shown(c)} ** _',
        left=POSITIVE, lefts=(2, 0.5, np.float64(1.5)), rights=(2, 3, 1, 0, -1, 0.5, -1.5, np.float32(2)),
        special=at([0, 0, 2, 1], [2, 1, 0, INF], [0, 1, 0, INF], [0, 0, np.log(2), 0]),
    ),
]  # fmt: skip


def binary(op: Operator) -> Row:
    """Two Variables."""
    label = f'_ {op.symbol} _'

    def of_arrays(x: Any, y: Any) -> Any:
        return op.function(V(x), V(y))

    return Row(
        f'__{op.name}__', op.function, op.function, (op.left, op.right), BROADCAST, order=3, label=label,
        special=op.special, errors=(refuses_two_dtypes(of_arrays, label), refuses_shapes(of_arrays, label)),
        except_from=INTEGERS_TOO,
    )  # fmt: skip


def number_right(op: Operator) -> Row:
    """Variable with a number."""
    refusals = (
        Bad(
            'wrong type',
            lambda: op.function(V(np.ones(2)), [1, 2]),
            TypeError,
            ('number', 'array', 'Variable', 'list'),
        ),
    )
    return Row(
        f'__{op.name}__', lambda x, c: op.function(x, c), lambda x, c: op.function(x, c), (op.left,),
        (*grid((3, 4), c=list(op.rights)), *[case(c.shapes[0], c=2) for c in SHAPES[1:]]),
        variant='number', order=3, label=op.label_right, errors=refusals, except_from=NUMBERS,
    )  # fmt: skip


def number_left(op: Operator) -> Row:
    """A number with a Variable."""
    return Row(
        f'__r{op.name}__', lambda x, c: op.function(c, x), lambda x, c: op.function(c, x), (op.right,),
        (*grid((3, 4), c=list(op.lefts)), *[case(c.shapes[0], c=2) for c in SHAPES[1:]]),
        variant='number', order=3, label=op.label_left, except_from=NUMBERS,
    )  # fmt: skip


def array_right(op: Operator) -> Row:
    """Variable with a raw array, which gets no gradient."""
    return Row(
        f'__{op.name}__', op.function, op.function, (op.left, CONSTANTS), BROADCAST, variant='array',
        label=f'_ {op.symbol} _', except_from=NUMBERS,
    )  # fmt: skip


def array_left(op: Operator) -> Row:
    """A raw array with a Variable: NumPy leaves it to the Variable."""
    return Row(
        f'__r{op.name}__', lambda x, c: op.function(c, x), lambda x, c: op.function(c, x), (op.right, CONSTANTS),
        BROADCAST, variant='array', label=f'_ {op.symbol} _', except_from=NUMBERS,
    )  # fmt: skip


FLOOR = {
    'special values': 'NumPy has the special cases of floor division',
    'wrong kind': 'integers are divided too; see test_operators.py',
    'wrong dtype': 'the result has no gradient: dtypes follow NumPy as in Chainer',
    'label': 'a step function: the result has no node, as in Chainer',
}
FLOOR_ONE = {key: reason for key, reason in FLOOR.items() if key != 'wrong dtype'}
floor = operator.floordiv


def floor_division(name: str, variant: str, call: Any, domains: tuple[Domain, ...], cases: tuple[Case, ...]) -> Row:
    """A use of ``//``, without gradient."""
    excuses = FLOOR if variant == '' else FLOOR_ONE
    return Row(name, call, call, domains, cases, variant=variant, order=0, dtypes='fd', except_from=excuses)


NUMBER_CASES = (*grid((3, 4), c=[2, -1.5]), case((), c=2), case((0, 3), c=2))
ROWS = [make(op) for op in OPERATORS for make in (binary, number_right, number_left, array_right, array_left)]
ROWS += [
    floor_division('__floordiv__', '', floor, (ANY, AWAY_FROM_0), BROADCAST),
    floor_division('__floordiv__', 'number', lambda x, c: floor(x, c), (ANY,), NUMBER_CASES),
    floor_division('__floordiv__', 'array', floor, (ANY, CONSTANTS), BROADCAST),
    floor_division('__rfloordiv__', 'number', lambda x, c: floor(c, x), (AWAY_FROM_0,), NUMBER_CASES),
    floor_division('__rfloordiv__', 'array', lambda x, c: floor(c, x), (AWAY_FROM_0, CONSTANTS), BROADCAST),
    Row(
        '__neg__', operator.neg, operator.neg, (ANY,), SHAPES, order=3, label='__neg__',
        special=(Special((np.array([NAN, INF, 0]),), gradients=(np.array([-1.0, -1, -1]),)),),
        except_from=INTEGERS_TOO,
    ),
    Row(
        '__abs__', operator.abs, operator.abs, (AWAY_FROM_0,), SHAPES, label='|_|',
        errors=(refuses_integers(lambda x: abs(V(x)), '|_|'),),
        except_from={'special values': 'the row of absolute has them'},
    ),
    Row(
        'add', F.add, operator.add, (ANY, ANY), BROADCAST, label='_ + _',
        errors=(refuses_two_dtypes(lambda x, y: F.add(V(x), V(y)), '_ + _'), refuses_shapes(F.add, '_ + _')),
        except_from=NUMBERS,
    ),
    Row(
        'add', F.add, lambda *xs: xs[0] + xs[1] + xs[2], (ANY, ANY, ANY),
        (case((3, 4), (3, 4), (3, 4)), case((3, 1), (), (1, 4)), case((), (), ()), case((0,), (0,), (1,))),
        variant='three', label='MultiAdd',
        errors=(
            refuses_two_dtypes(lambda x, y: F.add(V(x), V(x), V(y)), ''),
            Bad('none', F.add, TypeError, ('add', 'at least')),
            Bad('a text', lambda: F.add(V(np.ones(2)), 'a'), TypeError, ('number', 'array', 'Variable', 'str')),
        ),
        except_from=NUMBERS,
    ),
]  # fmt: skip


def _integer_power() -> Any:
    return V(INTEGERS) ** V(INTEGERS.astype('f'))


ROWS.append(
    Row(
        '__pow__',
        lambda x: x**2 + x**3,
        lambda x: x**2 + x**3,
        (Domain(low=-3.0, high=-1.0),),
        SHAPES,
        variant='negative base',
        order=3,
        label='_ + _',
        special=(Special((np.array([0.0, -1.0]),), gradients=(np.array([0.0, 1.0]),)),),
        errors=(Bad('wrong kind', _integer_power, InvalidType, ('_ ** _', 'int32', 'float32')),),
    )
)
