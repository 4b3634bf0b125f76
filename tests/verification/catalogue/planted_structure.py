"""Right numbers in the wrong place: axes, inputs, outputs, broadcasting; and gradients that are None or no fit."""

from __future__ import annotations

import numpy as np

from tests.verification.catalogue import bases as b
from tests.verification.catalogue.causes import (
    AXIS,
    DETACHED,
    DTYPE,
    FACTOR,
    IGNORED,
    LEFT_OUT,
    NONE,
    SHAPE,
    SHIFTED,
    SLICE,
    SUMMED,
    SWAPPED,
    TERM,
    TRANSPOSED,
    UNKNOWN,
)
from tests.verification.catalogue.entry import SQUARE, fast
from tests.verification.catalogue.planting import bug


def structure(name, base, wrong, *causes, **more):
    return bug(name, base, wrong, *causes, family='structure', **more)


PLACES = [
    structure('transposed', b.MATMUL, lambda g, xs, gys: g[0].T, TRANSPOSED, needs=SQUARE),
    structure('transposed second factor', b.MATMUL, lambda g, xs, gys: g[1].T, TRANSPOSED, needs=SQUARE, at=1),
    structure('transposed and reshaped', b.SQUARE_TIMES, lambda g, xs, gys: g[0].T.reshape(g[0].shape), TRANSPOSED),
    structure('columns first', b.TANH, lambda g, xs, gys: g[0].ravel('F').reshape(g[0].shape), TRANSPOSED),
    structure(
        'upstream gradient not transposed',
        b.TRANSPOSE,
        lambda g, xs, gys: 2 * xs[0] * gys[0],
        TRANSPOSED,
        needs=SQUARE,
    ),
    structure('factor not transposed', b.MATMUL, lambda g, xs, gys: gys[0] @ xs[1], TRANSPOSED, needs=SQUARE),
    structure('shifted by a row', b.SQUARE_TIMES, lambda g, xs, gys: np.roll(g[0], 1, 0), SHIFTED),
    structure('shifted by a column', b.TANH, lambda g, xs, gys: np.roll(g[0], -1, 1), SHIFTED),
    structure(
        'shifted by two columns',
        b.SINE,
        lambda g, xs, gys: np.roll(g[0], 2, 1),
        SHIFTED,
    ),
    structure('rows reversed', b.SQUARE_TIMES, lambda g, xs, gys: g[0][::-1], SHIFTED),
    structure('columns reversed', b.TANH, lambda g, xs, gys: g[0][:, ::-1], SHIFTED),
    structure('weight reversed', b.SQUARE_TIMES, lambda g, xs, gys: g[1][::-1], SHIFTED, at=1),
    structure('cumsum in the same direction', b.CUMSUM, lambda g, xs, gys: np.cumsum(gys[0], -1), UNKNOWN),
    structure('cumsum without the element itself', b.CUMSUM, lambda g, xs, gys: g[0] - gys[0], TERM, UNKNOWN),
    structure('maximum: to all elements', b.GREATEST, lambda g, xs, gys: g[0] * 0 + gys[0][:, None], UNKNOWN),
    structure(
        'maximum: to the first',
        b.GREATEST,
        lambda g, xs, gys: _first(xs[0]) * gys[0][:, None],
        UNKNOWN,
        proof=lambda case: bool((case.inputs[0].argmax(-1) != 0).any()),
    ),
    structure(
        'maximum: to the smallest', b.GREATEST, lambda g, xs, gys: b.top(-xs[0]) * gys[0][:, None], UNKNOWN, SHIFTED
    ),
    structure('repeated rows not added', b.GATHER, lambda g, xs, gys: _assigned(xs[0], gys[0]), LEFT_OUT),
    structure('kernel reversed', b.WINDOWS, lambda g, xs, gys: b._windows_vjp([xs[0], xs[1][::-1]], gys)[0], SHIFTED),
    structure('border of a window forgotten', b.WINDOWS, lambda g, xs, gys: _no_border(g[0]), SLICE),
    structure('kernel gradient reversed', b.WINDOWS, lambda g, xs, gys: g[1][::-1], SHIFTED, at=1),
]
INPUTS = [
    structure('swapped factors', b.PRODUCT, lambda g, xs, gys: [g[1], g[0]], SWAPPED, at=None),
    structure('one factor for the other', b.PRODUCT, lambda g, xs, gys: g[1], SWAPPED),
    structure('cyclic exchange of three', b.THREE, lambda g, xs, gys: [g[1], g[2], g[0]], SWAPPED, at=None),
    structure('swapped matrices', b.MATMUL, lambda g, xs, gys: [g[1], g[0]], SWAPPED, at=None, needs=SQUARE),
    structure('dividend and divisor swapped', b.QUOTIENT, lambda g, xs, gys: [g[1], g[0]], SWAPPED, at=None),
    structure('None for x', b.SQUARE_TIMES, lambda g, xs, gys: None, NONE, where='whole'),
    structure('None for a weight', b.SQUARE_TIMES, lambda g, xs, gys: None, NONE, at=1, where='whole'),
    structure('None for everything', b.PRODUCT, lambda g, xs, gys: [None, None], NONE, at=None, where='whole'),
    structure('zero for x', b.SQUARE_TIMES, lambda g, xs, gys: 0 * g[0], DETACHED),
    structure('zero for a weight', b.SQUARE_TIMES, lambda g, xs, gys: 0 * g[1], DETACHED, at=1),
    structure('zero for a second matrix', b.MATMUL, lambda g, xs, gys: 0 * g[1], DETACHED, at=1),
]
BROADCASTS = [
    structure(
        'first row instead of the sum', b.SQUARE_TIMES, lambda g, xs, gys: (xs[0] * xs[0] * gys[0])[0], SUMMED, at=1
    ),
    structure('last row instead of the sum', b.BIAS, lambda g, xs, gys: gys[0][-1], SUMMED, at=1),
    structure('mean instead of the sum', b.SQUARE_TIMES, lambda g, xs, gys: g[1] / len(xs[0]), FACTOR, SUMMED, at=1),
    structure(
        'summed over the other axis', b.BIAS, lambda g, xs, gys: gys[0].sum(1), SUMMED, TRANSPOSED, at=1, needs=SQUARE
    ),
    structure('first column instead of the sum', b.COLUMN, lambda g, xs, gys: (xs[0] * gys[0])[:, :1], SUMMED, at=1),
    structure(
        'sum of all instead of one axis',
        b.COLUMN,
        lambda g, xs, gys: 0 * g[1] + (xs[0] * gys[0]).sum(),
        SUMMED,
        UNKNOWN,
        at=1,
    ),
    structure(
        'upstream gradient along the wrong axis',
        b.MEAN,
        lambda g, xs, gys: 2 * xs[0] * gys[0][:, None] / len(xs[0]),
        AXIS,
        needs=SQUARE,
    ),
    structure(
        'outer product, factors exchanged',
        b.OUTER,
        lambda g, xs, gys: gys[0].T @ xs[1],
        TRANSPOSED,
        SUMMED,
        needs=SQUARE,
    ),
]
OUTPUTS = [
    structure(
        'second output ignored', b.TWO, lambda g, xs, gys: b.TWO.vjp(xs, [gys[0], 0 * gys[1]]), IGNORED, at=None
    ),
    structure(
        'first output ignored', b.TWO, lambda g, xs, gys: b.TWO.vjp(xs, [0 * gys[0], gys[1]]), IGNORED, at=None
    ),
    structure(
        'outputs exchanged', b.TWO, lambda g, xs, gys: b.TWO.vjp(xs, gys[::-1]), UNKNOWN, SWAPPED, FACTOR, at=None
    ),
    structure(
        'second output ignored by one input',
        b.TWO,
        lambda g, xs, gys: b.TWO.vjp(xs, [gys[0], 0 * gys[1]])[1],
        IGNORED,
        at=1,
    ),
    structure(
        'second output counted twice',
        b.TWO,
        lambda g, xs, gys: b.TWO.vjp(xs, [gys[0], 2 * gys[1]]),
        FACTOR,
        UNKNOWN,
        at=None,
    ),
]


def shape(name, base, wrong, **more):
    return bug(name, base, wrong, SHAPE, SUMMED, family='shape', where='whole', **more)


def dtype(name, wrong, **more):
    return bug(name, b.SQUARE_TIMES, wrong, DTYPE, family='dtype', where='whole', make=fast, **more)


SHAPES = [
    shape(
        'broadcast weight not summed, checked by the node',
        b.SQUARE_TIMES,
        lambda g, xs, gys: xs[0] * xs[0] * gys[0],
        at=1,
    ),
    shape('broadcast weight not summed', b.SQUARE_TIMES, lambda g, xs, gys: xs[0] * xs[0] * gys[0], at=1, make=fast),
    shape('an axis too many', b.SQUARE_TIMES, lambda g, xs, gys: g[1][None], at=1, make=fast),
    shape('flat', b.TANH, lambda g, xs, gys: g[0].ravel(), make=fast),
    shape('an axis lost', b.COLUMN, lambda g, xs, gys: g[1][:, 0], at=1, make=fast),
    shape('summed to a number', b.TANH, lambda g, xs, gys: g[0].sum(), make=fast),
    shape('axes exchanged', b.TANH, lambda g, xs, gys: np.ascontiguousarray(g[0].T)[:, :, None], make=fast),
    shape('one row too few', b.TANH, lambda g, xs, gys: g[0][1:], make=fast),
]
DTYPES = [
    dtype('float32 for float64', lambda g, xs, gys: g[0].astype('f'), dtypes='d'),
    dtype('float32 for a float64 weight', lambda g, xs, gys: g[1].astype('f'), dtypes='d', at=1),
    dtype('float64 for float32', lambda g, xs, gys: g[0].astype('d'), dtypes='f'),
    dtype('float16 for all', lambda g, xs, gys: np.clip(g[0], -6e4, 6e4).astype('e')),
    dtype('complex', lambda g, xs, gys: g[0] + 0j),
    dtype('integers', lambda g, xs, gys: g[0].astype('i')),
    bug(
        'integers, checked by the node',
        b.SQUARE_TIMES,
        lambda g, xs, gys: g[0].astype('i'),
        DTYPE,
        family='dtype',
        where='whole',
    ),
]


def _first(x):
    mask = np.zeros_like(x)
    mask[..., 0] = 1
    return mask


def _assigned(x, gy):
    gx = np.zeros_like(x)
    gx[b.rows_of(x)] = gy
    return gx


def _no_border(g):
    g = g.copy()
    g[:, -1] = 0
    return g


ENTRIES = PLACES + INPUTS + BROADCASTS + OUTPUTS + SHAPES + DTYPES
