"""Rows of the functions on shape and order, of joining, splitting, indexing, casting and copying."""

from __future__ import annotations

from typing import Any

import numpy as np

import minichainer as chainer
import minichainer.functions as F
from minichainer.utils.type_check import InvalidType
from tests.functions.row import ANY, Bad, Case, Row, case, grid
from tests.functions.rows_elementwise import refuses_two_dtypes

V = chainer.Variable
MOVES = 'the function moves elements and does not look at them'
ANY_KIND = {'wrong kind': 'elements of any kind are moved', 'special values': MOVES}
X = np.ones((2, 3))


def bad(name: str, call: Any, error: Any, *words: str) -> Bad:
    return Bad(name, call, error, words)


def moving(name: str, reference: Any, cases: list[Case], label: str | None, **more: Any) -> Row:
    """A function of one array that moves elements."""
    more.setdefault('call', getattr(F, name, None))
    excuses = {**ANY_KIND, **more.pop('except_from', {})}
    return Row(
        name, reference=reference, domains=(ANY,), cases=tuple(cases), label=label, except_from=excuses, **more
    )


def _reshape(x: Any, shape: Any) -> Any:
    return np.reshape(x, shape)  # its second argument has another name in NumPy 1.26


def _sum_to(x: Any, shape: Any) -> Any:
    lead = x.ndim - len(shape)
    x = x.sum(axis=tuple(range(lead)))
    return x.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)


SLICES: list[Any] = [
    1, -1, slice(None, None, -1), slice(1, None, 2), Ellipsis, None, (0, 1), (Ellipsis, 1), (slice(None), None, 0),
    [0, 2, 0], ([0, 1], [1, 1]), np.array([[0, 1], [2, 2]]), (slice(None), [1, 1, 0]), (None, [0, 0], Ellipsis, -1),
    np.array([True, False, True]), (np.array([[True, False, False, True]] * 3),), (), slice(2, 2),
    (0, 1, 2, Ellipsis)[:2],
    np.int64(1), (slice(None), np.array([], 'i')), [True, False, True], [-1, 2],
]  # fmt: skip
INDEX_CASES = [Case(((3, 4),), {'slices': s}) for n, s in enumerate(SLICES) if str(s) not in map(str, SLICES[:n])]
INDEX_CASES += [
    case((), slices=()),
    case((), slices=None),
    case((), slices=Ellipsis),
    case((0, 3), slices=(Ellipsis, 1)),
]
INDEX_ERRORS = (
    bad('out of range', lambda: F.get_item(X, 2), IndexError, '2', 'out of bounds'),
    bad('two Ellipses', lambda: F.get_item(X, (..., ...)), IndexError, 'get_item', 'ellipsis'),
    bad('too many', lambda: F.get_item(X, (0, 0, 0)), IndexError, 'too many indices'),
)

ROWS = [
    moving(
        'reshape', _reshape, [
            *grid((3, 4), shape=[(4, 3), (12,), (2, -1, 3), -1]), case((), shape=(1, 1)), case((1, 1), shape=()),
            case((0, 3), shape=(3, 0)), case((0, 3), shape=(2, 0, 7)),
        ], 'Reshape', order=3,
        errors=(
            bad('wrong size', lambda: F.reshape(X, (4,)), InvalidType, 'Reshape', '(4,)', '6', '(2, 3)'),
            bad('no divisor', lambda: F.reshape(X, (4, -1)), InvalidType, 'Reshape', '(4, -1)', '6'),
            bad('two unknown', lambda: F.reshape(X, (-1, -1)), AssertionError, 'reshape', '-1'),
        ),
    ),
    moving(
        'reshape', _reshape, [case((3, 4), shape=(3, 4)), case((), shape=()), case((0, 3), shape=(0, 3))], None,
        variant='same shape', except_from={'label': 'the Variable itself comes back'},
    ),
    moving(
        'reshape', lambda x, shape: x.reshape(shape), [
            case((3, 4), shape=(2, -1)), case((0, 3), shape=(3, -1)), case((), shape=(-1,))
        ], 'Reshape', variant='method', call=lambda x, shape: x.reshape(*shape),
    ),
    moving(
        'transpose', np.transpose, [
            *grid((2, 3, 4), axes=[None, (0, 2, 1), (-1, 0, 1), (2, 1, 0), (1, 2, -3)]), case((2, 3)), case((3,)),
            case(()), case((0, 3), axes=(1, 0)),
        ], 'Transpose', order=3,
        errors=(
            bad('too few', lambda: F.transpose(X, (0,)), InvalidType, 'Transpose', 'permutation', '(0,)'),
            bad('repeated', lambda: F.transpose(X, (0, 0)), InvalidType, 'Transpose', 'permutation', '(0, 0)'),
            bad('out of range', lambda: F.transpose(X, (0, 2)), InvalidType, 'Transpose', 'permutation', '(0, 2)'),
        ),
    ),
    moving(
        'transpose', np.transpose, [case((2, 3, 4)), case((0, 3)), case(())], 'Transpose', variant='T',
        call=lambda x: x.T,
    ),
    moving(
        'transpose', lambda x, axes: x.transpose(*axes), [
            case((2, 3, 4), axes=(2, 0, 1)), case((2, 3, 4), axes=((2, 0, 1),)), case((2, 3), axes=()),
            case((), axes=()),
            case((0, 3), axes=(None,)),
        ], 'Transpose', variant='method', call=lambda x, axes: x.transpose(*axes),
    ),
    moving(
        'broadcast_to', np.broadcast_to, [
            case((3, 1), shape=(3, 4)), case((3,), shape=(2, 1, 3)), case((2, 1, 1), shape=(2, 2, 3)),
            case((), shape=(2, 2)),
            case((), shape=(0,)), case((1, 3), shape=(0, 3)), case((0, 1), shape=(0, 2)),
        ], 'BroadcastTo', order=3,
        errors=(
            bad('misfit', lambda: F.broadcast_to(X, (2, 4)), InvalidType, 'BroadcastTo', '(2, 4)', '(2, 3)'),
            bad('fewer axes', lambda: F.broadcast_to(X, (3,)), InvalidType, 'BroadcastTo', '(3,)', '(2, 3)'),
        ),
    ),
    moving(
        'sum_to', _sum_to, [
            case((2, 3, 4), shape=(3, 1)), case((2, 3), shape=(1, 3)), case((2, 3), shape=()), case((3,), shape=(1,)),
            case((1, 3), shape=(3,)), case((2, 0), shape=(2, 1)), case((0, 3), shape=(3,)), case((1,), shape=()),
        ], 'SumTo', order=3, except_from={'zero-d': 'a 0-d array has that shape already: the row same shape'},
        errors=(
            bad('misfit', lambda: F.sum_to(X, (2, 2)), InvalidType, 'SumTo', '(2, 2)', '(2, 3)'),
            bad('more axes', lambda: F.sum_to(X, (1, 2, 3)), InvalidType, 'SumTo', '(1, 2, 3)', '(2, 3)'),
        ),
    ),
    moving(
        'sum_to', _sum_to, [case((2, 3), shape=(2, 3)), case((), shape=()), case((0,), shape=(0,))], None,
        variant='same shape', except_from={'label': 'the Variable itself comes back'},
    ),
    moving(
        'squeeze', np.squeeze, [
            *grid((1, 3, 1), axis=[None, 0, 2, -1, (0, 2), (-1, 0)]), case((2, 3)), case((1,)), case(()),
            case((0, 1), axis=1),
            case((2, 1), axis=()),
        ], 'Squeeze', order=3,
        errors=(
            bad('not 1', lambda: F.squeeze(X, 0), ValueError, 'squeeze', 'x.shape[0]', '(2, 3)'),
            bad('out of range', lambda: F.squeeze(X, 2), InvalidType, 'Squeeze', 'axis = 2', '(2, 3)'),
            bad('twice', lambda: F.squeeze(X[None], (0, -3)), ValueError, 'squeeze', 'duplicate', 'axis'),
            bad('no int', lambda: F.squeeze(X, 'a'), TypeError, 'squeeze', 'int', "'a'"),
        ),
    ),
    moving(
        'expand_dims', np.expand_dims, [*grid((2, 3), axis=[0, 1, 2, -1, -3]), case((), axis=0), case((0,), axis=1)],
        'ExpandDims', order=3,
        errors=(
            bad('too high', lambda: F.expand_dims(X, 3), InvalidType, 'ExpandDims', 'axis = 3', 'axis < 3'),
            bad('too low', lambda: F.expand_dims(X, -4), InvalidType, 'ExpandDims', 'axis = -4', '-3'),
        ),
    ),
    moving('flatten', np.ravel, [case((2, 3)), case((2, 1, 2)), case(()), case((0, 3))], 'Reshape'),
    moving('get_item', lambda x, slices: x[slices], INDEX_CASES, 'GetItem', order=3, errors=INDEX_ERRORS),
    moving(
        '__getitem__', lambda x, slices: x[slices], INDEX_CASES, 'GetItem', call=lambda x, slices: x[slices],
        errors=(bad('a Variable', lambda: V(X)[V(np.array(1))], TypeError, 'Variable', 'index', 'array'),),
    ),
    moving(
        'cast', lambda x, typ: x.astype(typ),
        [*grid((2, 3), typ=['d', np.float64]), case((), typ='d'), case((0,), typ='d')],
        'Cast', result='d', errors=(bad('no dtype', lambda: F.cast(X, 'what'), TypeError, 'what', 'not understood'),),
    ),
    moving(
        'identity', lambda x: x.copy(), [case((2, 3)), case(()), case((0, 3))], 'Identity', order=3,
    ),
    Row(
        'identity', F.identity, lambda x, y: (x, y), (ANY, ANY), (case((2, 3), (3,)), case((), (0,))), variant='two',
        label='Identity', except_from={**ANY_KIND, 'wrong dtype': 'its arguments have nothing to do with each other'},
    ),
    moving(
        'copy', lambda x, dst: x.copy(),
        [*grid((2, 3), dst=[-1, '@numpy']), case((), dst=-1), case((0, 3), dst=-1)], 'Copy',
        errors=(
            bad('unknown device', lambda: F.copy(X, '@what'), ValueError, 'what'),
        ),
    ),
    Row(
        'concat', lambda *xs, axis=1: F.concat(xs, axis), lambda *xs, axis=1: np.concatenate(xs, axis),
        (ANY, ANY, ANY),
        (
            case((2, 3), (2, 1), (2, 2)), case((2, 3), (1, 3), (2, 3), axis=0), case((1, 2), (1, 2), (1, 2), axis=-2),
            case((2, 0), (2, 3), (2, 1)), case((0, 2), (0, 3), (0, 1)), case((2, 1, 2), (2, 2, 2), (2, 1, 2)),
        ),
        order=3, label='Concat', except_from={**ANY_KIND, 'zero-d': 'a 0-d array has no axis'},
        errors=(
            refuses_two_dtypes(lambda x, y: F.concat([x, y]), 'Concat'),
            bad('none', lambda: F.concat([]), InvalidType, 'Concat', 'at least one'),
            bad('misfit', lambda: F.concat([X, X.T]), InvalidType, 'Concat', '(2, 3)', '(3, 2)', 'array 1'),
            bad('axes', lambda: F.concat([X, X[0]]), InvalidType, 'Concat', '(2, 3)', '(3,)', 'array 1'),
            bad('out of range', lambda: F.concat([X, X], 2), InvalidType, 'Concat', 'axis', '2'),
            bad('too low', lambda: F.concat([X, X], -3), InvalidType, 'Concat', 'axis', '-3'),
            bad('0-d', lambda: F.concat([np.array(1.0)], 0), InvalidType, 'Concat', 'axis', '0'),
        ),
    ),
    Row(
        'concat', lambda x, axis: F.concat([x], axis), lambda x, axis: x.copy(), (ANY,),
        (case((2, 3), axis=0), case((0, 3), axis=1)), variant='one', label='Concat',
        except_from={**ANY_KIND, 'zero-d': 'a 0-d array has no axis'},
    ),
    Row(
        'stack', lambda *xs, axis=0: F.stack(xs, axis), lambda *xs, axis=0: np.stack(xs, axis), (ANY, ANY),
        (*grid((2, 3), (2, 3), axis=[0, 1, 2, -1, -3]), case((), ()), case((0, 3), (0, 3)), case((0,), (0,), axis=1)),
        order=3, label='Stack', except_from=ANY_KIND,
        errors=(
            refuses_two_dtypes(lambda x, y: F.stack([x, y]), ''),
            bad('none', lambda: F.stack([]), InvalidType, 'Stack', 'at least one'),
            bad('misfit', lambda: F.stack([X, X.T]), InvalidType, 'Stack', '(2, 3)', '(3, 2)', 'array 1'),
            bad('out of range', lambda: F.stack([X, X], 3), InvalidType, 'axis', '3'),
        ),
    ),
    Row(
        'split_axis', lambda x, sections, axis: F.split_axis(x, sections, axis),
        lambda x, sections, axis: np.split(x, sections, axis), (ANY,),
        (
            *grid((6, 2), sections=[1, 2, 3, [1, 4], np.array([2, 2, 5]), (6,), [], np.array(6)], axis=[0]),
            case((2, 4), sections=2, axis=-1), case((2, 0), sections=2, axis=1), case((0, 3), sections=[1], axis=1),
            case((3, 2), sections=np.int64(3), axis=0),
        ),
        order=3, label='SplitAxis', except_from={**ANY_KIND, 'zero-d': 'a 0-d array has no axis'},
        errors=(
            bad('unequal', lambda: F.split_axis(X, 2, 1), InvalidType, 'SplitAxis', '% 2 == 0', '= 3'),
            bad('out of range', lambda: F.split_axis(X, 1, 2), InvalidType, 'SplitAxis', 'axis < 2', 'axis = 2'),
            bad('beyond', lambda: F.split_axis(X, [4], 1), InvalidType, 'SplitAxis', '<= 3', '[4]'),
            bad('descending', lambda: F.split_axis(X, [2, 1], 1), ValueError, 'split_axis', 'ascending', '[2, 1]'),
            bad('none', lambda: F.split_axis(X, 0, 1), ValueError, 'split_axis', 'at least 1', 'got 0'),
            bad('text', lambda: F.split_axis(X, 'ab', 1), TypeError, 'split_axis', 'int', 'str'),
            bad('float', lambda: F.split_axis(X, np.array([1.5]), 1), TypeError, 'split_axis', 'int', 'float64'),
        ),
    ),
    Row(
        'split_axis', lambda x: F.split_axis(x, [1, 3], 0)[1], lambda x: x[1:3], (ANY,), (case((4, 2)), case((4, 0))),
        variant='one of its results', label='SplitAxis',
        except_from={**ANY_KIND, 'zero-d': 'a 0-d array has no axis'},
    ),
    Row(
        'split_axis', lambda x: F.split_axis(x, 1, 0, False), lambda x: x.copy(), (ANY,),
        (case((4, 2)), case((4, 0))),
        variant='force_tuple', label='SplitAxis', except_from={**ANY_KIND, 'zero-d': 'a 0-d array has no axis'},
    ),
]  # fmt: skip
