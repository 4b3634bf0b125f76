"""Rows of the functions that act element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

import minichainer.functions as F
from minichainer.utils.type_check import InvalidType
from tests.functions.row import (
    ANY,
    AWAY_FROM_0,
    BETWEEN,
    DISTINCT,
    POSITIVE,
    Bad,
    Case,
    Domain,
    Row,
    Special,
    case,
    grid,
)

NAN, INF = np.nan, np.inf
INTEGERS = np.arange(1, 7, dtype='i').reshape(2, 3)
SHAPES = (case((3, 4)), case((2, 1, 3)), case(()), case((0, 3)))
BROADCAST = (
    case((3, 4), (3, 4)),
    case((3, 1), (1, 4)),
    case((4,), (2, 3, 4)),
    case((3,), ()),
    case((), ()),
    case((0, 3), (1, 3)),
    case((1,), (0,)),
)


def refuses_integers(call: Any, label: str) -> Bad:
    """Integer arrays are an error that names the op and both dtypes."""
    return Bad('wrong kind', lambda: call(INTEGERS), InvalidType, (label, 'float', 'int32'))


def refuses_two_dtypes(call: Any, label: str) -> Bad:
    """Arrays of two dtypes are an error that names the op and both dtypes."""
    xs = np.ones((2, 2), 'f'), np.ones((2, 2), 'd')
    return Bad('wrong dtype', lambda: call(*xs), InvalidType, (label, 'float32', 'float64'))


def refuses_shapes(call: Any, label: str) -> Bad:
    """Shapes that cannot be broadcast are an error that names the op and both."""
    xs = np.ones((2, 3)), np.ones((2,))
    return Bad('wrong shapes', lambda: call(*xs), InvalidType, (label, 'broadcast', '(2, 3)', '(2,)'))


def unary(
    name: str,
    reference: Any,
    label: str,
    special: tuple[Special, ...],
    domain: Domain = ANY,
    cases: tuple[Case, ...] = SHAPES,
    errors: tuple[Bad, ...] = (),
) -> Row:
    """A function of one array; third order is checked."""
    call = getattr(F, name)
    return Row(
        name, call, reference, (domain,), cases, order=3, label=label, special=special,
        errors=(refuses_integers(lambda x: call(x, **cases[0].params), label), *errors),
    )  # fmt: skip


def at(points: list[float], slopes: list[float], **params: Any) -> tuple[Special, ...]:
    """Special points of a function of one array, and its derivatives there."""
    return (Special((np.array(points),), params, gradients=(np.array(slopes),)),)


def _leaky(x: Any, slope: float = 0.2) -> Any:
    return np.where(x > 0, x, slope * x)


def _clip(x: Any, x_min: Any, x_max: Any) -> Any:
    return np.clip(x, x_min, x_max)


def extremum(name: str, reference: Any, label: str, slopes: tuple[list[float], list[float]]) -> Row:
    """Of two arrays; where they are equal the first gets the gradient, where one is NaN both."""
    call = getattr(F, name)
    points = np.array([1.0, 2.0, 0.0, INF, -INF, NAN, 1.0]), np.array([2.0, 1.0, 0.0, INF, 5.0, 1.0, NAN])
    return Row(
        name, call, reference, (DISTINCT, BETWEEN), BROADCAST, label=label,
        special=(Special(points, gradients=(np.array(slopes[0]), np.array(slopes[1]))),),
        errors=(
            Bad('wrong kind', lambda: call(INTEGERS, INTEGERS), InvalidType, (label, 'float', 'int32')),
            refuses_two_dtypes(call, label), refuses_shapes(call, label),
        ),
    )  # fmt: skip


def _chosen(x: Any, y: Any, condition: Any) -> Any:
    return F.where(condition, x, y)


X = np.ones((2, 3))
PARTS = {'wrong kind': 'numbers of any kind have a real and an imaginary part'}
ONES = at([INF, -INF, 0], [1, 1, 1])
ROWS = [
    # Of real numbers; tests/functions/test_complex.py has complex ones.
    Row('real', F.real, np.real, (ANY,), SHAPES, label='_ * 1', special=ONES, except_from=PARTS),
    Row('conj', F.conj, np.conj, (ANY,), SHAPES, label='_ * 1', special=ONES, except_from=PARTS),
    unary('exp', np.exp, 'exp', at([NAN, INF, -INF, 0, 1000, -1000], [NAN, INF, 0, 1, INF, 0])),
    unary('log', np.log, 'log', at([NAN, INF, 0, 1e-30, 4], [NAN, 0, INF, 1e30, 0.25]), POSITIVE),
    unary('sqrt', np.sqrt, 'sqrt', at([NAN, INF, 0, 1e30, -1], [NAN, 0, INF, 5e-16, NAN]), POSITIVE),
    unary('square', np.square, 'square', at([NAN, INF, -INF, 0, 1e30], [NAN, INF, -INF, 0, 2e30])),
    unary('sin', np.sin, 'sin', at([NAN, INF, 0, np.pi], [NAN, NAN, 1, -1])),
    unary('cos', np.cos, 'cos', at([NAN, INF, 0, np.pi / 2], [NAN, NAN, 0, -1])),
    unary('tanh', np.tanh, 'Tanh', at([NAN, INF, -INF, 0, 1000], [NAN, 0, 0, 1, 0])),
    unary(
        'sigmoid', scipy.special.expit, 'Sigmoid',
        at([NAN, INF, -INF, 0, 1000, -1000], [NAN, 0, 0, 0.25, 0, 0]),
    ),
    unary(
        'relu', lambda x: np.maximum(x, 0), 'ReLU',
        at([NAN, INF, -INF, 0, -0.0, 1e30], [1, 1, 0, 0, 0, 1]), AWAY_FROM_0,
    ),
    unary(
        'leaky_relu', _leaky, 'LeakyReLU', at([INF, -INF, 0, -0.0, -1e30], [1, 0.5, 0.5, 0.5, 0.5], slope=0.5),
        AWAY_FROM_0, (*SHAPES, *grid((3, 4), slope=[0.0, 0.5, 1.5, -0.3])),
    ),
    unary(
        'clip', _clip, 'Clip', at([NAN, INF, -INF, -1, 1, 0.5], [1, 0, 0, 1, 1, 1], x_min=-1.0, x_max=1.0),
        Domain(avoid=(-1.0, 0.7)),
        (
            *grid((3, 4), x_min=[-1.0, None], x_max=[0.7]), *grid((3, 4), x_min=[-1], x_max=[None]),
            case((), x_min=-1.0, x_max=0.7), case((0, 3), x_min=-1.0, x_max=0.7),
        ),
        (
            Bad('no limits', lambda: F.clip(X, None, None), ValueError, ('clip', 'x_min', 'x_max')),
            Bad('wrong order', lambda: F.clip(X, 2.0, 1.0), ValueError, ('clip', 'x_min < x_max', '2.0', '1.0')),
        ),
    ),
    unary(
        'absolute', np.abs, '|_|', at([NAN, INF, -INF, 0, -1e30], [NAN, 1, -1, 0, -1]), AWAY_FROM_0
    ),
    extremum(
        'maximum', np.maximum, 'Maximum', ([0, 1, 1, 1, 0, 1, 1], [1, 0, 0, 0, 1, 1, 1])
    ),
    extremum(
        'minimum', np.minimum, 'Minimum', ([1, 0, 1, 1, 1, 1, 1], [0, 1, 0, 0, 0, 1, 1])
    ),
    Row(
        'where', _chosen, lambda x, y, condition: np.where(condition, x, y), (ANY, ANY, Domain(mask=True)),
        (
            case((3, 4), (3, 4), (3, 4)), case((3, 1), (1, 4), (4,)), case((), (), ()), case((), (3,), (2, 1)),
            case((0, 3), (1, 3), (3,)), case((2,), (2,), (3, 1)),
        ),
        order=3, label='Where',
        special=(
            Special(
                (np.array([NAN, INF, 1.0]), np.array([1.0, NAN, -INF]), np.array([False, True, False])),
                expected=np.array([1.0, INF, -INF]), gradients=(np.array([0.0, 1, 0]), np.array([1.0, 0, 1])),
            ),
        ),
        errors=(
            refuses_two_dtypes(lambda x, y: F.where(np.ones(2, bool), x, y), 'Where'),
            refuses_shapes(lambda x, y: F.where(np.ones(3, bool), x, y), 'Where'),
            Bad('wrong condition', lambda: F.where(INTEGERS, X, X), InvalidType, ('Where', 'bool', 'int32')),
        ),
        except_from={'wrong kind': 'integers can be chosen from, as with numpy.where'},
    ),
]  # fmt: skip
