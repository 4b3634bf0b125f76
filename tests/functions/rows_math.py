"""Rows of the further mathematical functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as special

import minichainer as chainer
import minichainer.functions as F
from minichainer.backends.cuda import to_cpu
from minichainer.functions.math.scaling import RepeatedShapeError
from minichainer.utils.type_check import InvalidType
from tests.functions.row import ANY, AWAY_FROM_0, POSITIVE, Bad, Domain, Row, Special, beside, case
from tests.functions.rows_elementwise import (
    BROADCAST,
    INF,
    INTEGERS,
    NAN,
    SHAPES,
    at,
    refuses_integers,
    refuses_shapes,
    refuses_two_dtypes,
    unary,
)

X = np.ones((2, 3))
INSIDE = Domain(low=-0.8, high=0.8)
MIDDLE = Domain(low=0.25, high=0.75)
PART = Domain(low=0.1, high=0.9)
STEPS = Domain(low=-2.4, high=2.4, avoid=(-2.0, -1.0, 0.0, 1.0, 2.0))
PAIRS = (case((3, 4), (3, 4)), case((), ()), case((0, 3), (0, 3)))
ROOT_PI = np.sqrt(np.pi)


def step(name: str, reference: Any, expected: list[float]) -> Row:
    """A step function: it takes integers, and no gradient passes."""
    return Row(
        name, getattr(F, name), reference, (STEPS,), SHAPES, order=0,
        special=(Special((np.array([NAN, INF, -INF, -0.5, 0.0, 1.0]),), expected=np.array(expected)),),
        except_from={'wrong kind': 'integers stay what they are', 'label': 'the result has no graph'},
    )  # fmt: skip


def binary(name: str, call: Any, reference: Any, label: str, domains: Any, cases: Any, more: Any) -> Row:
    """Of two float arrays."""
    return Row(
        name, call, reference, domains, cases, label=label,
        errors=(
            Bad('wrong kind', lambda: call(INTEGERS, INTEGERS), InvalidType, (label, 'float', 'int32')),
            refuses_two_dtypes(call, label), *more.get('errors', ()),
        ),
        special=more['special'],
    )  # fmt: skip


def differing(call: Any, label: str, *shapes: Any) -> Bad:
    """Arrays that must have one shape."""
    xs = [np.ones(shape) for shape in shapes]
    return Bad('wrong shapes', lambda: call(*xs), InvalidType, (label, 'one shape', *[str(s) for s in shapes]))


def extremum(name: str, reference: Any) -> Row:
    """The place of an extremum."""
    call, label = getattr(F, name), {'argmax': 'ArgMax', 'argmin': 'ArgMin'}[name]

    def place(x: Any, axis: int | None = None) -> Any:
        return np.asarray(reference(x, axis=axis)).astype('i')

    return Row(
        name, call, place, (Domain(distinct=True),),
        (case((3, 4)), case((3, 4), axis=0), case((2, 3, 2), axis=-2), case(()), case((0, 3), axis=1)),
        order=0, result='i', label=label,
        special=(Special((np.array([1.0, 3, 3, 1]),), dtypes='d'), Special((np.array([1.0, NAN, 3]),), dtypes='d')),
        errors=(
            refuses_integers(call, label),
            Bad('axis too high', lambda: call(X, axis=2), InvalidType, (label, 'axis', '2', '(2, 3)')),
            Bad('axis a tuple', lambda: call(X, axis=(0,)), TypeError, (name, 'axis', 'int', '(0,)')),
            Bad('nothing there', lambda: call(X[:0]), ValueError, ('empty',)),
        ),
    )  # fmt: skip


def running(name: str, reference: Any, label: str, more: Any) -> Row:
    """A running sum or product."""
    call = getattr(F, name)
    return Row(
        name, call, reference, (ANY,),
        (
            case((3, 4)), case((5,), axis=0), case((2, 3, 2), axis=1), case((2, 3, 2), axis=-1), case((7, 1), axis=0),
            case(()), case((0, 3)), case((0, 3), axis=0), case((2, 0), axis=0),
        ),
        order=3, label=label, special=more,
        errors=(
            refuses_integers(call, label),
            Bad('axis too high', lambda: call(X, axis=2), InvalidType, (label, 'axis', '2', '(2, 3)')),
            Bad('axis of a number', lambda: call(np.array(1.0), 0), InvalidType, (label, 'axis', '0', '()')),
            Bad('axis a tuple', lambda: call(X, axis=(0,)), TypeError, (name, 'axis', 'int', '(0,)')),
        ),
    )  # fmt: skip


def _with_constant(call: Any) -> Any:
    def with_constant(constant: Any, x: Any) -> Any:
        dtype = constant.dtype if constant.dtype.kind in 'iu' else x.dtype
        return call(beside(x, to_cpu(constant).astype(dtype)), x)

    return with_constant


def _interpolation(p: Any, x: Any, y: Any) -> Any:
    return p * x + (1 - p) * y


def _along(op: Any) -> Any:
    def reference(x: Any, y: Any, axis: int = 1) -> Any:
        return op(x, np.broadcast_to(y.reshape(y.shape + (1,) * (x.ndim - axis - y.ndim if y.ndim else 0)), x.shape))

    return reference


def repeated(name: str, op: Any, label: str) -> Row:
    """Bias and scale."""
    call = getattr(F, name)
    return Row(
        name, call, _along(op), (ANY, ANY),
        (
            case((2, 3), (3,)), case((2, 3, 2), (3, 2)), case((2, 3, 2), (3,)), case((2, 3), (2,), axis=0),
            case((2, 3), ()), case((), ()), case((0, 3), (3,)),
        ),
        label=label,
        errors=(
            Bad('misfit', lambda: call(X, X[:, 0]), RepeatedShapeError, (name, '(2, 3)', '(2,)', 'axis = 1')),
            Bad('negative axis', lambda: call(X, X[0], axis=-1), RepeatedShapeError, (name, 'axis = -1')),
            Bad('wrong dtype', lambda: call(X, X[0].astype('f')), InvalidType, (label, 'float32', 'float64')),
        ),
        except_from={
            'special values': 'a sum or product with broadcasting', 'wrong kind': 'integers may be added too',
        },
    )  # fmt: skip


def _prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.asarray(np.prod(x, axis=axis, keepdims=keepdims))


ROWS = [
    unary('tan', np.tan, 'tan', at([NAN, INF, 0], [NAN, NAN, 1]), Domain(low=-1.2, high=1.2)),
    unary('arcsin', np.arcsin, 'arcsin', at([NAN, 2, 1, 0], [NAN, NAN, INF, 1]), INSIDE),
    unary('arccos', np.arccos, 'arccos', at([NAN, 2, 1, 0], [NAN, NAN, -INF, -1]), INSIDE),
    unary('arctan', np.arctan, 'arctan', at([NAN, INF, -INF, 0], [NAN, 0, 0, 1])),
    unary('sinh', np.sinh, 'sinh', at([NAN, INF, -INF, 0], [NAN, INF, INF, 1])),
    unary('cosh', np.cosh, 'cosh', at([NAN, INF, -INF, 0], [NAN, INF, -INF, 0])),
    unary('arctanh', np.arctanh, 'Arctanh', at([NAN, 1, 0, 0.5], [NAN, INF, 1, 4 / 3]), INSIDE),
    unary('expm1', np.expm1, 'expm1', at([NAN, INF, -INF, 1e-30], [NAN, INF, 0, 1])),
    unary('log1p', np.log1p, 'log1p', at([NAN, INF, -1, 1e-30], [NAN, 0, INF, 1]), POSITIVE),
    unary('log2', np.log2, 'log2', at([NAN, INF, 0, 4], [NAN, 0, INF, 0.25 / np.log(2)]), POSITIVE),
    unary('log10', np.log10, 'log10', at([NAN, INF, 0, 4], [NAN, 0, INF, 0.25 / np.log(10)]), POSITIVE),
    Row(
        'rsqrt', F.rsqrt, lambda x: 1 / np.sqrt(x), (POSITIVE,), SHAPES, order=3, label='1.0 / _',
        special=at([NAN, -1, 4], [NAN, NAN, -1 / 16]), errors=(refuses_integers(F.rsqrt, 'sqrt'),),
    ),
    unary('erf', special.erf, 'erf', at([NAN, INF, -INF, 0], [NAN, 0, 0, 2 / ROOT_PI])),
    unary('erfc', special.erfc, 'erfc', at([NAN, INF, -INF, 0], [NAN, 0, 0, -2 / ROOT_PI])),
    unary('erfcx', special.erfcx, 'erfcx', at([NAN, 0], [NAN, -2 / ROOT_PI])),
    unary('erfinv', special.erfinv, 'erfinv', at([NAN, 1, -1, 2, 0], [NAN, INF, INF, NAN, ROOT_PI / 2]), INSIDE),
    unary(
        'erfcinv', special.erfcinv, 'erfcinv', at([NAN, 0, 2, 3, 1], [NAN, -INF, -INF, NAN, -ROOT_PI / 2]),
        Domain(low=0.3, high=1.7),
    ),
    unary('ndtr', special.ndtr, 'ndtr', at([NAN, INF, -INF, 0], [NAN, 0, 0, 1 / np.sqrt(2 * np.pi)])),
    unary('log_ndtr', special.log_ndtr, 'log_ndtr', at([NAN, INF, 0], [NAN, 0, np.sqrt(2 / np.pi)])),
    unary('ndtri', special.ndtri, 'ndtri', at([NAN, 0, 1, 2, 0.5], [NAN, INF, INF, NAN, np.sqrt(2 * np.pi)]), MIDDLE),
    unary('lgamma', special.gammaln, 'lgamma', at([NAN, INF, 1], [NAN, INF, -np.euler_gamma]), POSITIVE),
    unary('digamma', special.digamma, 'digamma', at([NAN, INF, 1], [NAN, 0, np.pi**2 / 6]), POSITIVE),
    Row(
        'polygamma', F.polygamma, special.polygamma, (Domain(labels=3), POSITIVE),
        (*PAIRS, case((4,), (3, 4)), case((), (3, 4)), case((2, 3), (3,))), order=3, label='polygamma',
        special=(Special((np.array([0, 1, 2], 'i'), np.array([NAN, INF, 1.0]))),),
        errors=(
            Bad('wrong kind', lambda: F.polygamma(INTEGERS, INTEGERS), InvalidType, ('polygamma', 'float', 'int32')),
            Bad('float order', lambda: F.polygamma(X, X), InvalidType, ('polygamma', 'n.dtype', 'int', 'float64')),
            Bad('shapes', lambda: F.polygamma(INTEGERS, X[:, :2]), InvalidType, ('polygamma', '(2, 3)', '(2, 2)')),
        ),
    ),
    Row(
        'zeta', _with_constant(F.zeta), special.zeta, (Domain(values=(2.0, 2.5, 3.0)), POSITIVE),
        (*PAIRS, case((4,), (3, 4)), case((), (3, 4)), case((2, 3), (3,))), order=3, label='zeta',
        special=(Special((np.array([2.0, 1.0, 3.0]), np.array([NAN, 1.0, 1.0]))),),
        errors=(
            Bad('wrong kind', lambda: F.zeta(X, INTEGERS), InvalidType, ('zeta', 'float', 'int32')),
            Bad('a Variable', lambda: F.zeta(chainer.Variable(X), X), TypeError, ('zeta', 'no gradient', 'x.array')),
            Bad('shapes', lambda: F.zeta(X, X[:, :2]), InvalidType, ('zeta', '(2, 3)', '(2, 2)')),
        ),
    ),
    step('ceil', np.ceil, [NAN, INF, -INF, 0, 0, 1]),
    step('floor', np.floor, [NAN, INF, -INF, -1, 0, 1]),
    step('fix', np.trunc, [NAN, INF, -INF, 0, 0, 1]),
    step('sign', np.sign, [NAN, 1, -1, -1, 0, 1]),
    binary(
        'fmod', F.fmod, np.fmod, 'fmod', (Domain(low=5.1, high=5.7), Domain(low=2.0, high=2.5)), BROADCAST,
        {
            'errors': (refuses_shapes(F.fmod, 'fmod'),),
            'special': (Special((np.array([5.0, -5, 1]), np.array([3.0, 3, 0])),
            gradients=([1, 1, 1], [-1, 1, -INF])),),
        },
    ),
    binary(
        'arctan2', F.arctan2, np.arctan2, 'arctan2', (AWAY_FROM_0, AWAY_FROM_0), BROADCAST,
        {
            'errors': (refuses_shapes(F.arctan2, 'arctan2'),),
            'special': (Special((np.array([0.0, 2, NAN]), np.array([-1.0, 0, 1])),
            gradients=([-1, 0, NAN], [0, -0.5, NAN])),),
        },
    ),
    binary(
        'squared_difference', F.squared_difference, lambda x, y: (x - y) ** 2, 'SquaredError', (ANY, ANY), PAIRS,
        {
            'errors': (differing(F.squared_difference, 'SquaredError', (2, 3), (3,)),),
            'special': (Special((np.array([3.0, INF]), np.array([1.0, 1])), gradients=([4, INF], [-4, -INF])),),
        },
    ),
    Row(
        'linear_interpolate', F.linear_interpolate, _interpolation, (PART, ANY, ANY),
        (case((3, 4), (3, 4), (3, 4)), case((), (), ()), case((0, 3), (0, 3), (0, 3))), order=3,
        label='LinearInterpolate',
        special=(
            Special(tuple(map(np.array, ([0.0, 1], [3.0, 3], [5.0, 5]))), gradients=([-2, -2], [0, 1], [1, 0])),
        ),
        errors=(
            Bad(
                'wrong kind', lambda: F.linear_interpolate(INTEGERS, INTEGERS, INTEGERS), InvalidType,
                ('LinearInterpolate', 'float', 'int32'),
            ),
            Bad(
                'wrong dtype', lambda: F.linear_interpolate(X, X, X.astype('f')), InvalidType,
                ('LinearInterpolate', 'float64', 'float32'),
            ),
            differing(F.linear_interpolate, 'LinearInterpolate', (2, 3), (2, 3), (3,)),
        ),
    ),
    repeated('bias', np.add, '_ + _'),
    repeated('scale', np.multiply, '_ * _'),
    Row(
        'batch_l2_norm_squared', F.batch_l2_norm_squared, lambda x: (x**2).sum(axis=tuple(range(1, x.ndim))), (ANY,),
        (case((3, 4)), case((2, 3, 2)), case((0, 3)), case((2, 0))), order=3, label='BatchL2NormSquared',
        special=(Special((np.array([[INF, 1], [3, 4]]),), gradients=([[INF, 2], [6, 8]],)),),
        errors=(
            refuses_integers(F.batch_l2_norm_squared, 'BatchL2NormSquared'),
            Bad('a vector', lambda: F.batch_l2_norm_squared(X[0]), InvalidType, ('BatchL2NormSquared', '(3,)')),
        ),
        except_from={'zero-d': 'there must be a batch axis'},
    ),
    running('cumsum', np.cumsum, 'Cumsum', at([1.0, INF, 2], [3, 2, 1])),
    running(
        'cumprod', np.cumprod, 'Cumprod',
        (*at([2.0, 0, 3, 4], [1, 2 * (1 + 3 + 12), 0, 0]), *at([0.0, 2, 0], [3, 0, 0])),
    ),
    Row(
        'prod', F.prod, _prod, (ANY,),
        (
            case((2, 3)), case((2, 3, 2), axis=1), case((2, 3, 2), axis=(0, -1)),
            case((2, 3, 2), axis=(2, 0), keepdims=True),
            case((2, 3), axis=()), case(()), case((0, 3)), case((0, 3), axis=0), case((0, 3), axis=1),
        ),
        order=3, label='Prod',
        special=(*at([2.0, 0, 3], [0, 6, 0]), *at([0.0, 0, 3], [0, 0, 0]), *at([2.0, 3], [3, 2])),
        errors=(
            refuses_integers(F.prod, 'Prod'),
            Bad('axis too high', lambda: F.prod(X, axis=2), InvalidType, ('Prod', 'axis = 2', '(2, 3)')),
            Bad('axis twice', lambda: F.prod(X, axis=(0, -2)), ValueError, ('prod', 'duplicate', '(0, -2)')),
            Bad('axis a text', lambda: F.prod(X, axis='a'), TypeError, ('prod', 'axis', 'int', "'a'")),
        ),
    ),
    extremum('argmax', np.argmax),
    extremum('argmin', np.argmin),
]  # fmt: skip
