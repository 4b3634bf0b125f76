"""Wrong numbers: signs, factors, terms, points of evaluation, and single elements."""

from __future__ import annotations

import numpy as np

from tests.verification.catalogue import bases as b
from tests.verification.catalogue.causes import (
    ADDED,
    DETACHED,
    DTYPE,
    FACTOR,
    FINITE,
    HALF,
    IGNORED,
    LEFT_OUT,
    LINEAR,
    PERMUTED,
    SHIFTED,
    SIGN,
    SINGLE,
    SLICE,
    SWAPPED,
    TERM,
    UNKNOWN,
)
from tests.verification.catalogue.planting import bug, put
from tests.verification.catalogue.truth import gradients

OTHER = (UNKNOWN, TERM, FACTOR)  # wrong in a way for which there is no word
HALVES = 'half of the rounding of float16, 2**-11 = 5e-4 at most'


def _ratio(case):
    """The most that an element of the gradient is off in the case's own dtype, as a factor."""
    found, wanted = (gradients(func, case, 1, 0)[0].astype('d') for func in (case.func, case.right))
    return (found / wanted).max()


def rounded(array, dtype):
    with np.errstate(over='ignore'):
        return array.astype(dtype).astype(array.dtype)


FACTORS = [
    bug('sign of x', b.SQUARE_TIMES, lambda g, xs, gys: -g[0], SIGN),
    bug('sign of a broadcast weight', b.SQUARE_TIMES, lambda g, xs, gys: -g[1], SIGN, at=1),
    bug('sign of a divisor', b.QUOTIENT, lambda g, xs, gys: -g[1], SIGN, at=1),
    bug('twice', b.SQUARE_TIMES, lambda g, xs, gys: 2 * g[0], FACTOR),
    bug('half', b.SQUARE_TIMES, lambda g, xs, gys: g[0] / 2, FACTOR),
    bug('factor 1.0005', b.SQUARE_TIMES, lambda g, xs, gys: 1.0005 * g[0], FACTOR),
    bug('factor 0.999 of a matrix product', b.MATMUL, lambda g, xs, gys: 0.999 * g[1], FACTOR, at=1),
    bug('mean treated as a sum', b.MEAN, lambda g, xs, gys: g[0] * len(xs[0]), FACTOR),
    bug('mean of the wrong axis', b.MEAN, lambda g, xs, gys: g[0] * len(xs[0]) / (xs[0].shape[1] + 1), FACTOR),
    bug('sum treated as a mean', b.TOTAL, lambda g, xs, gys: g[0] / xs[0].size, FACTOR),
    bug('derivative of sqrt without its half', b.SQRT, lambda g, xs, gys: 2 * g[0], FACTOR),
    bug('degrees', b.SINE, lambda g, xs, gys: g[0] * (np.pi / 180), FACTOR),
    bug('chain rule forgotten', b.SINE, lambda g, xs, gys: np.cos(2 * xs[0]) * gys[0], FACTOR),
]
POINTS = [
    bug('x forgotten', b.SQUARE_TIMES, lambda g, xs, gys: 2 * xs[1] * gys[0] + 0 * xs[0], *OTHER),
    bug('weight forgotten', b.SQUARE_TIMES, lambda g, xs, gys: 2 * xs[0] * gys[0], *OTHER),
    bug('|x| for x', b.SQUARE_TIMES, lambda g, xs, gys: 2 * abs(xs[0]) * xs[1] * gys[0], HALF),
    bug('nothing where x < 0', b.SQUARE_TIMES, lambda g, xs, gys: g[0] * (xs[0] > 0), HALF),
    bug('twice where x > 0', b.SQUARE_TIMES, lambda g, xs, gys: np.where(xs[0] > 0, 2 * g[0], g[0]), HALF),
    bug('leaky relu without its leak', b.LEAKY, lambda g, xs, gys: np.where(xs[0] < 0, 0 * gys[0], gys[0]), HALF),
    bug(
        'leaky relu the wrong way round',
        b.LEAKY,
        lambda g, xs, gys: np.where(xs[0] > 0, 0.2 * gys[0], gys[0]),
        *OTHER,
    ),
    bug('leaky relu of -x', b.LEAKY, lambda g, xs, gys: np.where(xs[0] < 0, -g[0], g[0]), HALF),
    bug('exponent one too small', b.TOTAL, lambda g, xs, gys: 3 * xs[0] * gys[0], *OTHER),
    bug('divisor not squared', b.QUOTIENT, lambda g, xs, gys: -gys[0] * xs[0] / xs[1], *OTHER, at=1),
    bug('cosine without its factor inside', b.SINE, lambda g, xs, gys: 2 * np.cos(xs[0]) * gys[0], *OTHER),
    bug('logarithm without its offset', b.LOG, lambda g, xs, gys: gys[0] / xs[0], *OTHER),
    bug('tanh at its input', b.TANH, lambda g, xs, gys: gys[0] * (1 - xs[0] ** 2), *OTHER),
    bug('exp of the input forgotten', b.EXP, lambda g, xs, gys: gys[0] * xs[0], *OTHER),
    bug('rounded to float16', b.EXP, lambda g, xs, gys: rounded(g[0], 'e'), *OTHER, LINEAR),  # it overflows
    bug('rounded to float32', b.EXP, lambda g, xs, gys: rounded(g[0], 'f'), *OTHER, dtypes='d'),
]
TERMS = [
    bug('tanh without its second term', b.TANH, lambda g, xs, gys: gys[0], FACTOR, TERM, UNKNOWN),
    bug(
        'softmax without the sum', b.SOFTMAX, lambda g, xs, gys: np.exp(b._log_softmax(xs[0])) * gys[0], TERM, UNKNOWN
    ),
    bug('softmax with its diagonal alone', b.SOFTMAX, lambda g, xs, gys: _diagonal(xs[0]) * gys[0], TERM, UNKNOWN),
    bug('log_softmax without the sum', b.LOG_SOFTMAX, lambda g, xs, gys: gys[0], TERM, UNKNOWN),
    bug(
        'normalisation, mean taken for a constant',
        b.NORMALISE,
        lambda g, xs, gys: _norm(xs, gys, 0, 1),
        TERM,
        UNKNOWN,
    ),
    bug(
        'normalisation, deviation taken for a constant',
        b.NORMALISE,
        lambda g, xs, gys: _norm(xs, gys, 1, 0),
        TERM,
        UNKNOWN,
    ),
    bug(
        'normalisation, both taken for constants', b.NORMALISE, lambda g, xs, gys: _norm(xs, gys, 0, 0), TERM, UNKNOWN
    ),
    bug('polynomial without its cube', b.POLYNOMIAL, lambda g, xs, gys: (1 + 2 * xs[0]) * gys[0], TERM, UNKNOWN),
    bug('polynomial without its square', b.POLYNOMIAL, lambda g, xs, gys: (1 + 3 * xs[0] ** 2) * gys[0], TERM),
    bug(
        'polynomial without its x',
        b.POLYNOMIAL,
        lambda g, xs, gys: (2 * xs[0] + 3 * xs[0] ** 2) * gys[0],
        TERM,
        UNKNOWN,
    ),
    bug(
        'one term with the wrong sign',
        b.POLYNOMIAL,
        lambda g, xs, gys: (1 - 2 * xs[0] + 3 * xs[0] ** 2) * gys[0],
        *OTHER,
    ),
    bug('a tenth of the upstream gradient added', b.SQUARE_TIMES, lambda g, xs, gys: g[0] + 0.1 * gys[0], *OTHER),
    bug(
        'y*y forgotten in the second output', b.TWO, lambda g, xs, gys: xs[0] * gys[0], TERM, DETACHED, IGNORED, at=1
    ),
]
ELEMENTS = [
    bug(
        'first element 0',
        b.SQUARE_TIMES,
        lambda g, xs, gys: put(g[0], 0, lambda v: 0),
        SINGLE,
        DETACHED,
        FACTOR,
        family='element',
    ),
    bug(
        'an element times 1.1',
        b.SQUARE_TIMES,
        lambda g, xs, gys: put(g[0], 5, lambda v: v * 1.1),
        SINGLE,
        FACTOR,
        family='element',
    ),
    bug(
        'an element times 1.001',
        b.SQUARE_TIMES,
        lambda g, xs, gys: put(g[0], 5, lambda v: v * 1.001),
        SINGLE,
        FACTOR,
        family='element',
    ),
    bug(
        'last element times 1.001',
        b.SQUARE_TIMES,
        lambda g, xs, gys: put(g[0], -1, lambda v: v * 1.001),
        SINGLE,
        FACTOR,
        family='element',
    ),
    bug(
        'an element of a broadcast weight 0',
        b.SQUARE_TIMES,
        lambda g, xs, gys: put(g[1], 2, lambda v: 0),
        SINGLE,
        FACTOR,
        DETACHED,
        at=1,
        family='element',
    ),
    bug(
        'an element negated',
        b.TANH,
        lambda g, xs, gys: put(g[0], 7, lambda v: -v),
        SINGLE,
        SIGN,
        FACTOR,
        family='element',
    ),
    bug(
        'an element is NaN',
        b.SQUARE_TIMES,
        lambda g, xs, gys: put(g[0], 5, lambda v: np.nan),
        FINITE,
        family='element',
        verdicts=('fail', 'not_finite'),
    ),
    bug(
        'an element is infinite',
        b.SQUARE_TIMES,
        lambda g, xs, gys: put(g[0], 5, lambda v: np.inf),
        FINITE,
        family='element',
        verdicts=('fail', 'not_finite'),
    ),
    bug(
        'two elements exchanged',
        b.SQUARE_TIMES,
        lambda g, xs, gys: _exchanged(g[0]),
        *OTHER,
        PERMUTED,
        SHIFTED,
        SWAPPED,
        family='element',
    ),
    bug(
        'two errors that cancel',
        b.SQUARE_TIMES,
        lambda g, xs, gys: _cancelling(g[0], gys[0]),
        *OTHER,
        family='element',
    ),
    bug(
        'NaN where x < 0',
        b.SQRT,
        lambda g, xs, gys: np.where(xs[0] < 1.2, np.nan, g[0]),
        FINITE,
        family='element',
        verdicts=('fail', 'not_finite'),
        proof=lambda case: bool((case.inputs[0] < 1.2).any()),
    ),
    bug(
        'a row forgotten',
        b.SQUARE_TIMES,
        lambda g, xs, gys: _without_row(g[0], 0),
        SLICE,
        HALF,
        DETACHED,
        FACTOR,
        family='element',
    ),
    bug(
        'the last column forgotten',
        b.SQUARE_TIMES,
        lambda g, xs, gys: _without_row(g[0].T, -1).T,
        SLICE,
        HALF,
        FACTOR,
        family='element',
    ),
    bug(
        'the second half of the rows forgotten',
        b.SQUARE_TIMES,
        lambda g, xs, gys: _first_half(g[0]),
        *OTHER,
        LEFT_OUT,
        SLICE,
        DETACHED,
        HALF,
        family='element',
    ),
    bug(
        'a gradient of 1e-3 missing',
        b.SQUARE_TIMES,
        lambda g, xs, gys: put(g[0], 3, lambda v: v + 1e-3 * gys[0].flat[3]),
        SINGLE,
        FACTOR,
        family='element',
    ),
]
ENTRIES_OF_JACOBIANS = [
    bug(
        'one entry of a Jacobian that is full',
        b.MATMUL,
        lambda g, xs, gys: put(g[0], 3, lambda v: v + 0.01 * gys[0].flat[2]),
        *OTHER,
        SINGLE,
        family='element',
    ),
    bug(
        'one entry of a Jacobian that should be diagonal',
        b.TANH,
        lambda g, xs, gys: put(g[0], 3, lambda v: v + 0.01 * gys[0].flat[8]),
        *OTHER,
        SINGLE,
        family='element',
    ),
    bug('mean of the upstream gradient added', b.TANH, lambda g, xs, gys: g[0] + 0.01 * gys[0].mean(), *OTHER, ADDED),
    bug(
        'error of rank one, 1e-4',
        b.SOFTMAX,
        lambda g, xs, gys: g[0] + 1e-4 * np.cos(xs[0]) * (np.sin(3 * xs[0]) * gys[0]).sum(),
        *OTHER,
    ),
    bug(
        'doubled in float32 alone',
        b.TANH,
        lambda g, xs, gys: g[0] * (2 if xs[0].dtype.char == 'f' else 1),
        *OTHER,
        DTYPE,
        dtypes='f',
        where='any',
        proof=lambda case: _ratio(case) == 2,
    ),
    bug(
        'an element wrong in float32 alone',
        b.SQUARE_TIMES,
        lambda g, xs, gys: put(g[0], 4, lambda v: v * (1.01 if xs[0].dtype.char == 'f' else 1)),
        *OTHER,
        SINGLE,
        DTYPE,
        dtypes='f',
        where='any',
        proof=lambda case: abs(_ratio(case) - 1.01) < 1e-6,
    ),
]
CONSTANTS = [
    bug(
        '1e-6 added', b.SQUARE_TIMES, lambda g, xs, gys: g[0] + 1e-6, LINEAR, ADDED, family='linearity', where='whole'
    ),
    bug(
        '1e-6 of the upstream gradient added',
        b.SQUARE_TIMES,
        lambda g, xs, gys: g[0] + 1e-6 * gys[0],
        *OTHER,
        ADDED,
    ),
    bug(
        '0.01 added to one element',
        b.TANH,
        lambda g, xs, gys: put(g[0], 1, lambda v: v + 0.01),
        LINEAR,
        ADDED,
        SINGLE,
        family='linearity',
        where='whole',
    ),
]


def _diagonal(x):
    y = np.exp(b._log_softmax(x))
    return y * (1 - y)


def _norm(xs, gys, mean, deviation):
    c, inv = b.centred(xs[0])
    y, gy = c * inv, gys[0]
    return inv * (gy - mean * gy.mean(-1, keepdims=True) - deviation * y * (y * gy).mean(-1, keepdims=True))


def _exchanged(g):
    g = g.copy()
    g.flat[[1, 6]] = g.flat[[6, 1]]
    return g


def _cancelling(g, gy):
    """Two elements are wrong by the same amount, one up, one down: invisible to directions of ones."""
    g = g.copy()
    g.flat[2] += 0.05 * gy.flat[2]
    g.flat[9] -= 0.05 * gy.flat[9]
    return g


def _without_row(g, row):
    g = g.copy()
    g[row] = 0
    return g


def _first_half(g):
    return np.concatenate([g[: len(g) // 2], 0 * g[len(g) // 2 :]])


ENTRIES = FACTORS + POINTS + TERMS + ELEMENTS + ENTRIES_OF_JACOBIANS + CONSTANTS
