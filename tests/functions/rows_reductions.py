"""Rows of sums, extrema and means over axes, and of softmax."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

import minichainer.functions as F
from minichainer.utils.type_check import InvalidType
from tests.functions.row import ANY, DISTINCT, Bad, Domain, Row, Special, case, grid
from tests.functions.rows_elementwise import INF, INTEGERS, NAN, refuses_integers, refuses_two_dtypes

X = np.ones((2, 3))
AXES: list[Any] = [None, 0, 1, -1, (0, 2), (-1, 0), (), (2, 0, 1)]
SHAPES = (
    *grid((2, 3, 2), axis=AXES), *grid((2, 3, 2), axis=[None, 1, (0, 2)], keepdims=[True]), case((3,)), case(()),
    case((), axis=()), case((), keepdims=True),
)  # fmt: skip
EMPTY = (case((0, 3)), case((0, 3), axis=1), case((0, 3), axis=0), case((2, 0), axis=1, keepdims=True))


def axis_errors(name: str, label: str) -> tuple[Bad, ...]:
    """Axes that make no sense."""
    call = getattr(F, name)
    return (
        Bad('axis too high', lambda: call(X, axis=2), InvalidType, (label, 'axis = 2', '(2, 3)')),
        Bad('axis too low', lambda: call(X, axis=(0, -3)), InvalidType, (label, 'axis = -3', '(2, 3)')),
        Bad('axis twice', lambda: call(X, axis=(1, -1)), ValueError, (name, 'duplicate', 'axis', '(1, -1)')),
        Bad('axis a text', lambda: call(X, axis='a'), TypeError, (name, 'axis', 'int', "'a'")),
        Bad('axis a float', lambda: call(X, axis=(1.0,)), TypeError, (name, 'axis', 'int', '1.0')),
    )


def _average(x: Any, axis: Any = None, weights: Any = None, keepdims: bool = False) -> Any:
    if weights is None:
        return np.mean(x, axis=axis, keepdims=keepdims)
    if isinstance(axis, tuple) and len(axis) == 1:
        (axis,) = axis  # NumPy 1.26 takes one weight per element of an axis only where the axis is an int
    return np.asarray(np.average(x, axis=axis, weights=weights, keepdims=keepdims))


def _logsumexp(x: Any, axis: Any = None) -> Any:
    # Where the axis is (), SciPy gives 0-d arrays one axis.
    return np.reshape(scipy.special.logsumexp(x, axis), np.sum(x, axis).shape)


def _weighted(x: Any, weights: Any, **params: Any) -> Any:
    return F.average(x, weights=weights, **params)


def _weighted_reference(x: Any, weights: Any, **params: Any) -> Any:
    return _average(x, weights=weights, **params)


def at(points: Any, slopes: Any, **more: Any) -> Special:
    return Special((np.array(points),), gradients=(np.array(slopes),), **more)


def extremum(name: str, reference: Any, label: str, infinite: float) -> Row:
    """Every element that attains it gets the whole gradient."""
    return Row(
        name, getattr(F, name), reference, (DISTINCT,), (*SHAPES, case((0, 3), axis=1), case((2, 0), axis=0)),
        label=label,
        special=(
            at([[1.0, 2, 2], [1, 1, 2]], np.array([[1.0, 2, 2], [1, 1, 2]]) == reference([1, 2])),
            at([1.0, infinite, 3], [0.0, 1, 0]), Special((np.array([1.0, NAN]),)),
        ),
        errors=(
            refuses_integers(getattr(F, name), label), *axis_errors(name, label),
            Bad('nothing there', lambda: getattr(F, name)(np.ones((0, 3)), axis=0), ValueError, ('zero-size',)),
        ),
    )  # fmt: skip


def _softmax(x: Any, axis: int = 1) -> Any:
    return scipy.special.softmax(x, axis=axis) if x.size else x


def _log_softmax(x: Any, axis: int = 1) -> Any:
    return scipy.special.log_softmax(x, axis=axis) if x.size else x


SOFTMAX_CASES = (
    case((3, 4)), *grid((2, 3, 2), axis=[0, 1, 2, -1, -3]), case((3,), axis=0), case((0, 3)), case((3, 0)),
    case((2, 3, 0)),
)  # fmt: skip
HUGE = np.array([[1000.0, 1000, -1000], [-1000, -1000, -1001], [3e4, -3e4, 0]])


def softmax(name: str, reference: Any, label: str, gradient: Any) -> Row:
    """Along one axis; huge differences overflow nowhere."""
    call = getattr(F, name)
    return Row(
        name, call, reference, (ANY,), SOFTMAX_CASES, order=3, label=label,
        special=(
            Special((HUGE,), gradients=(gradient,)),
            Special((np.array([[0.0, -INF], [NAN, 1.0]]),)),
        ),
        errors=(
            refuses_integers(call, label),
            Bad('too few axes', lambda: call(X[0]), InvalidType, (name, '-1 <= axis < 1', 'axis = 1', '(3,)')),
            Bad('axis too low', lambda: call(X, -3), InvalidType, (name, '-3', '(2, 3)')),
        ),
        except_from={'zero-d': 'a 0-d array has no axis'},
    )  # fmt: skip


P = scipy.special.softmax(HUGE, axis=1)
WEIGHTS = Domain(low=0.5, high=2.0)
ROWS = [
    Row(
        'sum', F.sum, np.sum, (ANY,), (*SHAPES, *EMPTY), order=3, label='Sum',
        special=(at([NAN, INF, 1.0], [1.0, 1, 1]), at([1e30, 1e30, -1e30], [1.0, 1, 1])),
        errors=(refuses_integers(F.sum, 'Sum'), *axis_errors('sum', 'Sum')),
    ),
    extremum('max', np.max, 'Max', INF),
    extremum('min', np.min, 'Min', -INF),
    Row(
        'logsumexp', F.logsumexp, _logsumexp, (ANY,),
        (*grid((2, 3, 2), axis=AXES), case((3,)), case(()), case((0, 3), axis=1)), order=3, label='LogSumExp',
        special=(
            at([1000.0, 1000, -1000], [0.5, 0.5, 0], dtypes='d'),
            at([-1000.0, -1000, -INF], [0.5, 0.5, 0], dtypes='d'),
            Special((np.array([1000.0, 1000, -1000]),)),
            Special((np.array([1.0, NAN]),)), Special((np.array([-INF, 1e30]),)),
            at([-INF, -INF], [0, 0]), Special((np.array([INF, 1.0, -INF]),), expected=INF),
            Special(
                (np.array([[-INF, -INF], [0, 0]]),), {'axis': 1}, expected=np.array([-INF, np.log(2)]),
                gradients=(np.array([[0, 0], [0.5, 0.5]]),),
            ),
        ),
        errors=(refuses_integers(F.logsumexp, 'LogSumExp'), *axis_errors('logsumexp', 'LogSumExp')),
    ),
    Row(
        'average', F.average, _average, (ANY,), (*SHAPES, case((0, 3), axis=1), case((2, 0, 3), axis=0)),
        label='Mean',
        special=(at([NAN, INF, 1.0], [1 / 3] * 3),),
        errors=(refuses_integers(F.average, 'Mean'), *axis_errors('average', 'Mean')),
    ),
    Row(
        'mean', F.mean, _average, (ANY,), SHAPES, label='Mean',
        errors=(refuses_integers(F.mean, 'Mean'), Bad('axis', lambda: F.mean(X, axis=2), InvalidType, ('axis', '2'))),
        except_from={'special values': 'an alias of average', 'zero-size': 'an alias of average'},
    ),
    Row(
        'average', lambda x, axis: x.mean(axis), _average, (ANY,), tuple(grid((2, 3), axis=[None, 0])),
        variant='method',
        label='Mean',
        except_from={
            'special values': 'an alias of average', 'zero-size': 'an alias of average',
            'zero-d': 'an alias of average',
            'wrong kind': 'an alias of average',
        },
    ),
    Row(
        'average', _weighted, _weighted_reference, (ANY, WEIGHTS),
        (
            *grid((2, 3), (2, 3), axis=[None, 0, -1], keepdims=[False, True]),
            *grid((2, 3), (3,), axis=[1, -1, (1,)]),
            case((2, 3), (2,), axis=0, keepdims=True), case((), ()), case((3, 0), (3,), axis=0), case((3,), (3,)),
        ),
        variant='weights',
        errors=(
            refuses_two_dtypes(_weighted, ''),
            Bad('misfit', lambda: _weighted(X, X[0], axis=0), InvalidType, ('Mean', '(2, 3)', '(3,)', '0')),
            Bad('no axis', lambda: _weighted(X, X[0]), InvalidType, ('Mean', 'weights', '(2, 3)', '(3,)', 'None')),
            Bad('two axes', lambda: _weighted(X, X[0], axis=(0, 1)), ValueError, ('average', 'one axis', '(0, 1)')),
            Bad('wrong kind', lambda: _weighted(INTEGERS, INTEGERS), InvalidType, ('float', 'int32')),
        ),
        except_from={'special values': 'the row without weights has them', 'label': 'a composition'},
    ),
    softmax('softmax', _softmax, 'Softmax', np.zeros((3, 3))),
    softmax('log_softmax', _log_softmax, 'LogSoftmax', 1 - 3 * P),
]  # fmt: skip
