"""Rows of the functions that flip, stack, repeat, pad, gather and sample arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

import minichainer as chainer
import minichainer.functions as F
from minichainer.errors import LabelError
from minichainer.utils.type_check import InvalidType
from tests.functions.row import ANY, Domain, Row, beside, case, grid
from tests.functions.rows_array import ANY_KIND, MOVES, X, bad, moving
from tests.functions.rows_elementwise import refuses_integers, refuses_two_dtypes

NO_AXIS = {'zero-d': 'a 0-d array has no axis: an error'}
FLOATS_MOVE = {'special values': MOVES}
IMAGES = {'zero-d': 'images have four axes', 'special values': MOVES}


def in_debug(call: Any) -> Any:
    def run() -> None:
        with chainer.using_config('debug', True):
            call()

    return run


def _strided(x: Any, shape: Any, strides: Any, storage_offset: Any = None) -> Any:
    x = np.ascontiguousarray(x).reshape(-1)
    steps = [stride * x.itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(x[storage_offset or 0 :], shape, steps).copy()


def _depth2space(x: Any, r: int) -> Any:
    b, c, h, w = x.shape
    y = np.zeros((b, c // r**2, h * r, w * r))
    for i, j in np.ndindex(r, r):
        first = (i * r + j) * (c // r**2)
        y[:, :, i::r, j::r] = x[:, first : first + c // r**2]
    return y


def _space2depth(x: Any, r: int) -> Any:
    return np.concatenate([x[:, :, i::r, j::r] for i, j in np.ndindex(r, r)], 1)


def _permutate(x: Any, indices: Any, axis: int = 0, inv: bool = False) -> Any:
    return np.take(x, np.argsort(indices) if inv else indices, axis)


def _pad_sequence(*xs: Any, length: Any = None, padding: Any = 0) -> Any:
    y = np.full((len(xs), length or max(map(len, xs)), *xs[0].shape[1:]), float(padding))
    for i, x in enumerate(xs):
        y[i, : len(x)] = x
    return y


def _transpose_sequence(*xs: Any) -> Any:
    return [np.stack([x[t] for x in xs if len(x) > t]) for t in range(len(xs[0]))]


def _scatter_add(a: Any, b: Any, slices: Any) -> Any:
    y = a.copy()
    np.add.at(y, slices, b)
    return y


def _resize(x: Any, output_shape: Any, mode: str = 'bilinear', align_corners: bool = True) -> Any:
    y = np.zeros((*x.shape[:2], *output_shape))
    for i, j in np.ndindex(*output_shape):
        (v0, v1, v), (u0, u1, u) = (
            _place(n, size, new, mode, align_corners)
            for n, size, new in zip((i, j), x.shape[2:], output_shape, strict=True)
        )
        top = (1 - u) * x[:, :, v0, u0] + u * x[:, :, v0, u1]
        y[:, :, i, j] = (1 - v) * top + v * ((1 - u) * x[:, :, v1, u0] + u * x[:, :, v1, u1])
    return y


def _place(n: int, size: int, new: int, mode: str, align_corners: bool) -> tuple[int, int, float]:
    if mode == 'nearest':
        return n * size // new, n * size // new, 0.0
    place = n * (size - 1) / max(new - 1, 1) if align_corners else (n + 0.5) * size / new - 0.5
    place = min(max(place, 0), size - 1)
    return int(place), min(int(place) + 1, size - 1), place - int(place)


def _grid(theta: Any, output_shape: Any) -> Any:
    h, w = output_shape
    y = np.zeros((len(theta), 2, h, w))
    for i, j in np.ndindex(h, w):
        y[:, :, i, j] = theta @ np.array([np.linspace(-1, 1, w)[j], np.linspace(-1, 1, h)[i], 1])
    return y


def _sample(x: Any, points: Any) -> Any:
    b, c, h, w = x.shape
    y = np.zeros((b, c, *points.shape[2:]))
    for n, i, j in np.ndindex(b, *points.shape[2:]):
        u, v = (points[n, :, i, j] + 1) * (np.array([w, h]) - 1) / 2
        for row, column in np.ndindex(h, w):
            y[n, :, i, j] += x[n, :, row, column] * max(0, 1 - abs(u - column)) * max(0, 1 - abs(v - row))
    return y


#: Coordinates on an image of 3 x 5 pixels, on both sides of its border, with no point on the border of a pixel.
COORDINATES = Domain(low=-1.6, high=1.6, avoid=tuple(np.linspace(-1.5, 1.5, 7)), margin=0.05)


def _two(name: str, label: str, reference: Any, cases: Any, *, bad_shapes: Any) -> Row:
    """A function that stacks arrays."""
    function = getattr(F, name)
    return Row(
        name, lambda *xs: function(xs), lambda *xs: reference(xs), (ANY, ANY), cases, order=3, label=label,
        except_from=ANY_KIND,
        errors=(
            refuses_two_dtypes(lambda x, y: function([x, y]), label),
            bad('none', lambda: function([]), InvalidType, label, 'at least one'),
            bad('misfit', lambda: function(bad_shapes), InvalidType, label, *[str(x.shape) for x in bad_shapes],
                'array 1'),
            bad('axes', lambda: function([X, X[None, None]]), InvalidType, label, '(2, 3)', '(1, 1, 2, 3)'),
        ),
    )  # fmt: skip


FLIPS = [
    moving(
        'flip', np.flip, [*grid((2, 3), axis=[0, 1, -2]), case((0, 3), axis=1)], 'Flip', order=3, except_from=NO_AXIS,
        errors=(
            bad('out of range', lambda: F.flip(X, 2), InvalidType, 'Flip', 'axis', '2'),
            bad('no int', lambda: F.flip(X, (0, 1)), TypeError, 'flip', 'int', '(0, 1)'),
            bad('0-d', lambda: F.flip(np.array(1.0), 0), InvalidType, 'Flip', 'axis = 0'),
        ),
    ),
    moving(
        'fliplr', np.fliplr, [case((2, 3)), case((2, 3, 2)), case((0, 3))], 'FlipLR', except_from=NO_AXIS,
        errors=(bad('axes', lambda: F.fliplr(X[0]), InvalidType, 'FlipLR', 'ndim >= 2', '1'),),
    ),
    moving(
        'flipud', np.flipud, [case((2, 3)), case((4,)), case((0, 3))], 'FlipUD', except_from=NO_AXIS,
        errors=(bad('axes', lambda: F.flipud(np.array(1.0)), InvalidType, 'FlipUD', 'ndim >= 1', '0'),),
    ),
    moving(
        'moveaxis', np.moveaxis, [
            *grid((2, 3, 4), source=[0, -1], destination=[2, 1, -3]), case((2, 3, 4), source=(0, 1), destination=(2,
                0)),
            case((2, 3, 4), source=[-1, 0, 1], destination=[0, 2, 1]), case((0, 3), source=0, destination=1),
        ], 'Moveaxis', order=3, except_from=NO_AXIS,
        errors=(
            bad('out of range', lambda: F.moveaxis(X, 2, 0), InvalidType, 'Moveaxis', 'source', '2'),
            bad('place', lambda: F.moveaxis(X, 0, -3), InvalidType, 'Moveaxis', 'destination', '-3'),
            bad('twice', lambda: F.moveaxis(X, (0, 1), (1, 1)), ValueError, 'moveaxis', 'destination', '(1, 1)'),
            bad('source twice', lambda: F.moveaxis(X, (0, -2), (0, 1)), ValueError, 'source', '(0, -2)'),
            bad('count', lambda: F.moveaxis(X, (0, 1), 0), ValueError, 'moveaxis', '(0, 1)'),
            bad('text', lambda: F.moveaxis(X, 'a', 1), TypeError, 'moveaxis', 'int', "'a'"),
            bad('float', lambda: F.moveaxis(X, (0.0,), 1), TypeError, 'moveaxis', 'int', '0.0'),
        ),
    ),
    moving(
        'rollaxis', np.rollaxis, [
            *grid((2, 3, 4), axis=[0, 1, -1], start=[0, 1, 3, -2]), case((2, 3), axis=1), case((0, 3), axis=1),
        ], 'Rollaxis', order=3, except_from=NO_AXIS,
        errors=(
            bad('out of range', lambda: F.rollaxis(X, 2), InvalidType, 'Rollaxis', 'axis = 2'),
            bad('start', lambda: F.rollaxis(X, 1, 3), InvalidType, 'Rollaxis', 'start = 3'),
            bad('low start', lambda: F.rollaxis(X, 1, -3), InvalidType, 'Rollaxis', 'start = -3'),
            bad('float', lambda: F.rollaxis(X, 1.0), TypeError, 'rollaxis', 'int', '1.0'),
            bad('float start', lambda: F.rollaxis(X, 1, 2.0), TypeError, 'rollaxis', 'start', '2.0'),
        ),
    ),
    moving(
        'swapaxes', np.swapaxes, [
            *grid((2, 3, 4), axis1=[0, -1], axis2=[0, 1]), case((0, 3), axis1=0, axis2=1),
        ], 'Swapaxes', order=3, except_from=NO_AXIS,
        errors=(
            bad('out of range', lambda: F.swapaxes(X, 0, 2), InvalidType, 'Swapaxes', 'axis2 = 2'),
            bad('float', lambda: F.swapaxes(X, 0.0, 1), TypeError, 'swapaxes', 'axis1', '0.0'),
        ),
    ),
    Row(
        'depth2space', F.depth2space, _depth2space, (ANY,),
        (case((2, 8, 2, 3), r=2), case((1, 9, 1, 2), r=3), case((0, 4, 2, 2), r=2)),
        label='Depth2Space', order=3, except_from=IMAGES,
        errors=(
            bad('wrong kind', lambda: F.depth2space(np.ones((1, 4, 1, 1), 'i'), 2), InvalidType, 'Depth2Space',
                'int32'),
            bad('channels', lambda: F.depth2space(np.ones((1, 3, 2, 2)), 2), InvalidType, 'Depth2Space', '% 4',
                '(1, 3, 2, 2)'),
            bad('axes', lambda: F.depth2space(X, 2), InvalidType, 'Depth2Space', 'ndim == 4', '2'),
            bad('r', lambda: F.depth2space(np.ones((1, 3, 2, 2)), 0), ValueError, 'depth2space', 'at least 1', '0'),
        ),
    ),
    Row(
        'space2depth', F.space2depth, _space2depth, (ANY,),
        (case((2, 2, 4, 6), r=2), case((1, 1, 3, 6), r=3), case((0, 4, 2, 2), r=2)),
        label='Space2Depth', order=3, except_from=IMAGES,
        errors=(
            bad('wrong kind', lambda: F.space2depth(np.ones((1, 1, 2, 2), 'i'), 2), InvalidType, 'Space2Depth',
                'int32'),
            bad('height', lambda: F.space2depth(np.ones((1, 1, 3, 2)), 2), InvalidType, 'Space2Depth', '% 2',
                '(1, 1, 3, 2)'),
            bad('axes', lambda: F.space2depth(X, 2), InvalidType, 'Space2Depth', 'ndim == 4', '2'),
        ),
    ),
]  # fmt: skip

STACKS = [
    _two('hstack', 'Hstack', np.hstack, (
        case((2, 3), (2, 1)), case((2, 3, 2), (2, 1, 2)), case((2,), (3,)), case((), ()), case((0, 2), (0, 1)),
    ), bad_shapes=[X, X.T]),
    _two('vstack', 'Vstack', np.vstack, (
        case((2, 3), (1, 3)), case((2, 3, 2), (1, 3, 2)), case((3,), (3,)), case((), ()), case((0, 2), (1, 2)),
    ), bad_shapes=[X, X.T]),
    _two('dstack', 'Dstack', np.dstack, (
        case((2, 3), (2, 3)), case((2, 3, 2), (2, 3, 1)), case((3,), (3,)), case((), ()), case((0, 2), (0, 2)),
    ), bad_shapes=[X, X.T]),
    moving('vstack', lambda x: np.atleast_2d(x), [case((3,)), case((0,))], 'Vstack', variant='one',
        call=lambda x: F.vstack([x]),
           except_from={'zero-d': 'in the row of two'}),
    moving(
        'separate', lambda x, axis=0: [np.take(x, i, axis) for i in range(x.shape[axis])], [
            *grid((2, 3, 2), axis=[0, 1, -1]), case((3,)), case((1, 3)), case((3, 0)),
        ], 'Separate', order=3, except_from=NO_AXIS,
        errors=(
            bad('out of range', lambda: F.separate(X, 2), InvalidType, 'Separate', 'axis = 2'),
            bad('no int', lambda: F.separate(X, None), TypeError, 'separate', 'int expected as axis', 'None'),
        ),
    ),
    moving(
        'separate', lambda x: x[1], [case((3, 2)), case((2,)), case((3, 0))], 'Separate',
            variant='one of its results',
        call=lambda x: F.separate(x)[1], except_from=NO_AXIS,
    ),
    Row(
        'broadcast', lambda *xs: F.broadcast(*xs), lambda *xs: np.broadcast_arrays(*xs), (ANY, ANY, ANY),
        (case((3, 1), (4,), ()), case((2, 3), (2, 3), (1, 3)), case((0, 3), (1, 3), (3,))), order=3,
            label='Broadcast',
        except_from={**ANY_KIND, 'wrong dtype': 'its arguments keep their dtypes'},
        errors=(
            bad('misfit', lambda: F.broadcast(X, X[:, 0]), InvalidType, 'Broadcast', '(2, 3)', '(2,)'),
            bad('none', lambda: F.broadcast(), InvalidType, 'Broadcast', 'at least one'),
        ),
    ),
    moving(
        'broadcast', lambda x: np.broadcast_arrays(x, X)[0], [case((2, 1)), case(()), case((0, 1, 3))], 'Broadcast',
        variant='one of its results', call=lambda x: F.broadcast(x, x, beside(x, X))[1],
    ),
]  # fmt: skip

REPEATS = [
    moving(
        'repeat', np.repeat, [
            *grid((2, 3), repeats=[2, (3,), 0], axis=[None, 0, -1]), case((2, 3), repeats=(1, 0, 2), axis=1),
            case((2, 3), repeats=(0, 1, 2, 0, 3, 1)), case((), repeats=2), case((), repeats=3, axis=0), case((0, 3),
                repeats=2, axis=1),
        ], 'Repeat', order=3,
        errors=(
            bad('negative', lambda: F.repeat(X, -1), ValueError, 'repeat', 'zero or larger', '-1'),
            bad('one negative', lambda: F.repeat(X, (1, -2), 0), ValueError, 'repeat', '(1, -2)'),
            bad('no int', lambda: F.repeat(X, 1.5), TypeError, 'repeat', 'repeats', '1.5'),
            bad('axis', lambda: F.repeat(X, 2, (0,)), TypeError, 'repeat', 'axis', '(0,)'),
            bad('out of range', lambda: F.repeat(X, 2, 2), InvalidType, 'Repeat', 'axis = 2'),
            bad('count', lambda: F.repeat(X, (1, 2), 1), ValueError, 'repeat', '3', '(2, 3)', '2'),
        ),
    ),
    moving(
        'tile', np.tile, [
            *grid((2, 3), reps=[2, (2,), (2, 1), (0, 1), (), (2, 1, 3)]), case((), reps=(2, 2)), case((), reps=()),
            case((0, 3), reps=2), case((2, 1, 2), reps=(3, 1)),
        ], 'Tile', order=3,
        errors=(
            bad('negative', lambda: F.tile(X, -1), ValueError, 'tile', 'zero or larger', '-1'),
            bad('no int', lambda: F.tile(X, 1.5), TypeError, 'tile', 'reps', '1.5'),
            bad('list', lambda: F.tile(X, [2]), TypeError, 'tile', 'reps', '[2]'),
        ),
    ),
]  # fmt: skip

PADDED = [
    *grid((3, 4), pad_width=[1, (1, 2), ((0, 2), (1, 0))], mode=['constant', 'edge', 'reflect', 'symmetric', 'wrap']),
    *grid((3, 2), pad_width=[((1, 2), (2, 0))], mode=['mean', 'linear_ramp', 'maximum', 'minimum']),
    case((3, 2), pad_width=1, mode='constant', constant_values=((1, 2), (3, 4))),
    case((3, 2), pad_width=4, mode='reflect'), case((3, 2), pad_width=(2, 1), mode='reflect', reflect_type='odd'),
    case((3, 2), pad_width=2, mode='symmetric', reflect_type='odd'),
    case((4, 2), pad_width=2, mode='mean', stat_length=((1, 3), (2, 1))),
    case((4, 3), pad_width=2, mode='maximum', stat_length=2), case((4, 3), pad_width=2, mode='linear_ramp',
        end_values=7),
    case((), pad_width=1, mode='constant'), case((0, 3), pad_width=1, mode='constant'),
]  # fmt: skip
PADS = [
    Row(
        'pad', F.pad, lambda x, **kw: np.pad(x, **kw), (Domain(distinct=True),), tuple(PADDED), order=3, label='Pad',
        except_from=FLOATS_MOVE,
        errors=(
            refuses_integers(lambda x: F.pad(x, 1, 'constant'), 'Pad'),
            bad('mode', lambda: F.pad(X, 1, 'median'), ValueError, 'pad', "'median'", 'constant'),
            bad('negative', lambda: F.pad(X, -1, 'constant'), ValueError, 'pad', 'at least 0', 'pad_width', '-1'),
            bad('widths', lambda: F.pad(X, [(1, 1)] * 3, 'constant'), ValueError, 'pad_width', '2 axes'),
        ),
    ),
    Row(
        'pad_sequence', lambda *xs, **kw: F.pad_sequence(xs, **kw), _pad_sequence, (ANY, ANY, ANY),
        (
            case((3,), (2,), (4,)), case((1, 2), (3, 2), (2, 2), padding=-1.5), case((2,), (1,), (2,), length=4),
            case((2,), (0,), (1,)), case((1, 0), (2, 0), (1, 0)),
        ),
        order=3, label='PadSequence', except_from={**ANY_KIND, **NO_AXIS},
        errors=(
            refuses_two_dtypes(lambda x, y: F.pad_sequence([x, y]), 'PadSequence'),
            bad('none', lambda: F.pad_sequence([]), InvalidType, 'PadSequence', 'at least one'),
            bad('misfit', lambda: F.pad_sequence([X, X.T]), InvalidType, 'PadSequence', '(2, 3)', '(3, 2)'),
            bad('long', lambda: F.pad_sequence([X], 1), InvalidType, 'PadSequence', '<= 1', '2'),
            bad('0-d', lambda: F.pad_sequence([np.array(1.0)]), InvalidType, 'PadSequence', 'axis'),
        ),
    ),
    Row(
        'transpose_sequence', lambda *xs: F.transpose_sequence(xs), _transpose_sequence, (ANY, ANY, ANY),
        (case((3,), (2,), (2,)), case((3, 2), (2, 2), (1, 2)), case((2,), (1,), (0,)), case((2, 0), (1, 0), (1, 0))),
        order=3, label='TransposeSequence', except_from={**ANY_KIND, **NO_AXIS},
        errors=(
            refuses_two_dtypes(lambda x, y: F.transpose_sequence([x, y]), 'TransposeSequence'),
            bad('misfit', lambda: F.transpose_sequence([X, X[:1, :2]]), InvalidType, 'TransposeSequence', '(2, 3)',
                '(1, 2)'),
            bad('order', lambda: F.transpose_sequence([X[:1], X]), InvalidType, 'TransposeSequence', 'decreasing',
                '[1, 2]'),
        ),
    ),
    Row(
        'transpose_sequence', lambda *xs: F.transpose_sequence(xs)[1], lambda *xs: _transpose_sequence(*xs)[1], (ANY,
            ANY),
        (case((3,), (2,)), case((2, 0), (1, 0))), variant='one of its results', label='TransposeSequence',
        except_from={**ANY_KIND, **NO_AXIS, 'wrong dtype': 'in the row of all results'},
    ),
]  # fmt: skip

GATHERS = [
    moving(
        'as_strided', _strided, [
            case((4, 3), shape=(4, 3), strides=(1, 1), storage_offset=0), case((4,), shape=(3, 4), strides=(0, 1)),
            case((5,), shape=(5,), strides=(-1,), storage_offset=4), case((2, 3), shape=(), strides=(),
                storage_offset=3),
            case((6,), shape=(2, 2), strides=(3, 2)), case((), shape=(2,), strides=(0,)), case((0,), shape=(0, 2),
                strides=(1, 1)),
        ], 'AsStrided', order=3,
        errors=(
            bad('beyond', lambda: F.as_strided(X, (4,), (2,)), ValueError, 'as_strided', '0 to 5', 'to 6'),
            bad('below', lambda: F.as_strided(X, (2,), (-1,)), ValueError, 'as_strided', 'from -1'),
            bad('strides', lambda: F.as_strided(X, (2,), (1, 1)), ValueError, 'as_strided', '(2,)', '(1, 1)'),
        ),
    ),
    moving(
        'diagonal', np.diagonal, [
            *grid((3, 4), offset=[0, 1, -2, 5]), case((2, 3, 4), axis1=2, axis2=0), case((2, 3, 4), offset=1,
                axis1=-1, axis2=-2),
            case((0, 3)), case((3, 3)),
        ], 'Diagonal', order=3, except_from=NO_AXIS,
        errors=(
            bad('axes', lambda: F.diagonal(X[0]), InvalidType, 'Diagonal', 'ndim >= 2', '1'),
            bad('out of range', lambda: F.diagonal(X, 0, 0, 2), InvalidType, 'Diagonal', 'axis2 = 2'),
            bad('same', lambda: F.diagonal(X, 0, 1, -1), ValueError, 'diagonal', 'axis1 = 1', 'axis2 = -1'),
        ),
    ),
    moving(
        'permutate', _permutate, [
            *grid((3, 2), indices=[np.array([2, 0, 1])], inv=[False, True]), case((2, 3), indices=np.array([1, 2,
                0]), axis=-1),
            case((0, 2), indices=np.array([1, 0]), axis=1),
            case((2, 3), indices=np.array([1, 2, 0]), axis=1, inv=True), case((3,), indices=np.array([1, 2, 0], 'i')),
        ], 'Permutate', order=3, except_from=NO_AXIS,
        errors=(
            bad('axis', lambda: F.permutate(X, np.array([0, 1]), 2), InvalidType, 'Permutate', 'axis = 2'),
            bad('float', lambda: F.permutate(X, np.array([0.0, 1.0])), ValueError, 'permutate', 'int', 'float64'),
            bad('list', lambda: F.permutate(X, [0, 1]), ValueError, 'permutate', 'int', 'list'),
            bad('beyond', lambda: F.permutate(X, np.array([0, 2])), IndexError, 'got 2 at position', '[0, 2)'),
            bad('inverse', lambda: F.permutate(X, np.array([0, 0]), inv=True), ValueError, 'permutate', '[0, 0]'),
            bad('debug', in_debug(lambda: F.permutate(X, np.array([0, 2]))), ValueError, 'permutate', '[0, 2]'),
        ),
    ),
    Row(
        'select_item', F.select_item, lambda x, t: x[np.arange(len(x)), t], (ANY, Domain(labels=3)),
        (case((4, 3), (4,)), case((1, 5), (1,)), case((0, 3), (0,))), order=3, label='SelectItem',
        except_from={**ANY_KIND, 'zero-d': 'x has two axes'},
        errors=(
            bad('sizes', lambda: F.select_item(X, np.zeros(3, 'i')), InvalidType, 'SelectItem', '(2, 3)', '(3,)'),
            bad('float t', lambda: F.select_item(X, np.zeros(2)), InvalidType, 'SelectItem', 'int', 'float64'),
            bad('beyond', lambda: F.select_item(X, np.array([0, 3])), IndexError, 'select_item', '[0, 3)',
                'got 3 at position [1]'),
            bad('debug', in_debug(lambda: F.select_item(X, np.array([0, -1]))), LabelError, 'select_item', '-1'),
        ),
    ),
    Row(
        'scatter_add', lambda a, b, slices: F.scatter_add(a, slices, b), _scatter_add, (ANY, ANY),
        (
            case((3,), (3,), slices=[0, 0, 2]), case((2, 3), (3,), slices=1), case((2, 3), (2,), slices=([0, 0], [1,
                1])),
            case((2, 3), (2, 2), slices=(Ellipsis, slice(0, 2))), case((3,), (), slices=-1), case((), (), slices=()),
            case((3,), (2,), slices=np.array([True, False, True])), case((2, 3), (0, 3), slices=slice(2, 2)),
            case((2, 3), (1, 2, 3), slices=None), case((2, 2), (3,), slices=np.array([[True, True], [False, True]])),
        ),
        order=3, label='ScatterAdd', except_from={**ANY_KIND, 'wrong dtype': 'b is cast to the dtype of a'},
        errors=(
            bad('shape', lambda: F.scatter_add(X, 0, np.ones(2)), ValueError, 'scatter_add', '(3,)', '(2,)'),
            bad('many', lambda: F.scatter_add(X, (0, 0, 0), np.ones(())), InvalidType, 'ScatterAdd', 'at most 2',
                '3'),
            bad('beyond', lambda: F.scatter_add(X, 2, X[0]), IndexError, '2', 'out of bounds'),
            bad('ellipses', lambda: F.scatter_add(X, (..., ...), X), IndexError, 'ellipsis'),
            bad('a Variable', lambda: F.scatter_add(X, chainer.Variable(np.array(0)), X[0]), TypeError,
                'scatter_add', 'array'),
        ),
    ),
]  # fmt: skip

B3 = np.ones((1, 1, 3, 3))
SAMPLES = [
    Row(
        'resize_images', F.resize_images, _resize, (ANY,),
        (
            *grid((2, 2, 3, 4), output_shape=[(5, 6), (2, 3), (3, 4), (1, 1)], align_corners=[True, False]),
            *grid((1, 2, 3, 4), output_shape=[(5, 7), (2, 2)], mode=['nearest']), case((0, 1, 2, 2), output_shape=(3,
                3)),
            case((1, 1, 1, 3), output_shape=(2, 2)),
        ),
        order=3, label='ResizeImages', except_from=IMAGES,
        errors=(
            bad('wrong kind', lambda: F.resize_images(B3.astype('i'), (2, 2)), InvalidType, 'ResizeImages', 'float',
                'int32'),
            bad('axes', lambda: F.resize_images(X, (2, 2)), InvalidType, 'ResizeImages', 'ndim == 4', '2'),
            bad('mode', lambda: F.resize_images(B3, (2, 2), mode='cubic'), AssertionError, 'resize_images',
                "'cubic'"),
            bad('no pixels', lambda: F.resize_images(B3, (0, 2)), ValueError, 'resize_images', '(0, 2)', '(3, 3)'),
        ),
    ),
    Row(
        'spatial_transformer_grid', F.spatial_transformer_grid, _grid, (ANY,),
        (*grid((2, 2, 3), output_shape=[(3, 4), (1, 2), (2, 1)]), case((0, 2, 3), output_shape=(2, 2)), case((1, 2,
            3), output_shape=(0, 2))),
        order=3, label='SpatialTransformerGrid', except_from=IMAGES,
        errors=(
            bad('wrong kind', lambda: F.spatial_transformer_grid(np.ones((1, 2, 3), 'i'), (2, 2)), InvalidType,
                'float', 'int32'),
            bad('shape', lambda: F.spatial_transformer_grid(B3[0], (2, 2)), InvalidType, 'SpatialTransformerGrid',
                '(B, 2, 3)', '(1, 3, 3)'),
            bad('use_cudnn', lambda: F.spatial_transformer_grid(B3, (2, 2), use_cudnn=True), ValueError, 'use_cudnn',
                'using_config'),
            bad('unknown', lambda: F.spatial_transformer_grid(B3, (2, 2), what=1), TypeError, 'what'),
        ),
    ),
    Row(
        'spatial_transformer_sampler', F.spatial_transformer_sampler, _sample, (ANY, COORDINATES),
        (
            case((2, 2, 3, 5), (2, 2, 2, 3)), case((1, 1, 3, 3), (1, 2, 4, 3)), case((0, 1, 3, 5), (0, 2, 2, 2)),
            case((1, 2, 3, 5), (1, 2, 0, 2)), case((1, 1, 1, 1), (1, 2, 1, 2)),
        ),
        dtypes='fd', label='SpatialTransformerSampler', except_from=IMAGES,
        errors=(
            bad('wrong kind', lambda: F.spatial_transformer_sampler(B3.astype('i'), B3.astype('i')), InvalidType,
                'float', 'int32'),
            bad('wrong dtype', lambda: F.spatial_transformer_sampler(B3, np.ones((1, 2, 2, 2), 'f')), InvalidType,
                'SpatialTransformerSampler', 'float64', 'float32'),
            bad('shape', lambda: F.spatial_transformer_sampler(B3, B3), InvalidType, 'SpatialTransformerSampler',
                '(1, 1, 3, 3)'),
            bad('empty', lambda: F.spatial_transformer_sampler(B3[..., :0], np.ones((1, 2, 2, 2))), InvalidType,
                'pixel', '(1, 1, 3, 0)'),
            bad('use_cudnn', lambda: F.spatial_transformer_sampler(B3, B3, use_cudnn=True), ValueError, 'use_cudnn',
                'using_config'),
        ),
    ),
]  # fmt: skip
ROWS = [*FLIPS, *STACKS, *REPEATS, *PADS, *GATHERS, *SAMPLES]
