"""Right at first order, wrong at second: what is saved as an array is a constant to the second derivative."""

from __future__ import annotations

import numpy as np

import minichainer.functions as F
from minichainer.variable import Variable
from tests.verification.catalogue import bases as b
from tests.verification.catalogue.causes import (
    DETACHED,
    FACTOR,
    LINEAR,
    NONE,
    SECOND,
    SIGN,
    SINGLE,
    TERM,
    TRANSPOSED,
    UNKNOWN,
)
from tests.verification.catalogue.entry import Case, FastPlan, Planted, as_dtype, function, generator, twice
from tests.verification.catalogue.planting import put

ANY = (SECOND, DETACHED, TERM, FACTOR, UNKNOWN, SINGLE, NONE)


def detached(x):
    """What ``backward`` sees if forward has saved an array."""
    return Variable(x.array)


def of_ops(name, base, backward, right, *causes, needs='', **more):
    """A node whose backward is made of ops, beside one that is right."""

    def build(shape, dtype, seed):
        inputs = as_dtype(base.draw(shape, generator(name, seed)), dtype)
        return Case(function(base.forward, backward), inputs, function(base.forward, right), base.forward)

    return Planted(name, 'second order', build, None, causes or ANY, order=2, needs=needs, **more)


def _tanh(y):
    return lambda xs, gys: (gys[0] * (1 - y(F.tanh(xs[0])) ** 2),)


def _square(x, w):
    return lambda xs, gys: (
        2 * x(xs[0]) * F.broadcast_to(w(xs[1]), xs[0].shape) * gys[0],
        F.sum(x(xs[0]) ** 2 * gys[0], 0),
    )


def _softmax(y):
    def backward(xs, gys):
        s = y(F.softmax(xs[0], axis=1))
        return (s * (gys[0] - F.broadcast_to(F.sum(s * gys[0], 1, keepdims=True), s.shape)),)

    return backward


def _normalise(statistic):
    def backward(xs, gys):
        x, gy = xs[0], gys[0]
        c = x - _rows(F.mean(x, 1, keepdims=True), x)
        inv = statistic(1 / F.sqrt(F.mean(c * c, 1, keepdims=True) + 1e-5))
        y = c * _rows(inv, x)
        inner = _rows(F.mean(gy, 1, keepdims=True), x) + y * _rows(F.mean(y * gy, 1, keepdims=True), x)
        return (_rows(inv, x) * (gy - inner),)

    return backward


def _rows(v, x):
    return F.broadcast_to(v, x.shape)


def same(x):
    return x


PRODUCT = lambda xs, gys: (xs[1] * gys[0], xs[0] * gys[0])  # noqa: E731
SAVED = [
    of_ops('tanh from a saved array', b.TANH, _tanh(detached), _tanh(same)),
    of_ops('x from a saved array', b.SQUARE_TIMES, _square(detached, same), _square(same, same)),
    of_ops('weight from a saved array', b.SQUARE_TIMES, _square(same, detached), _square(same, same)),
    of_ops('softmax from a saved array', b.SOFTMAX, _softmax(detached), _softmax(same)),
    of_ops('deviation from a saved array', b.NORMALISE, _normalise(detached), _normalise(same)),
    of_ops('one factor from a saved array', b.PRODUCT, lambda xs, g: (detached(xs[1]) * g[0], xs[0] * g[0]), PRODUCT),
    of_ops(
        'exp from a saved array',
        b.EXP,
        lambda xs, g: (detached(F.exp(xs[0])) * g[0],),
        lambda xs, g: (F.exp(xs[0]) * g[0],),
    ),
    of_ops(
        'upstream gradient from a saved array',
        b.EXP,
        lambda xs, g: (F.exp(xs[0]) * detached(g[0]),),
        lambda xs, g: (F.exp(xs[0]) * g[0],),
    ),
    of_ops(
        'everything an array',
        b.PRODUCT,
        lambda xs, g: (Variable(xs[1].array * g[0].array), Variable(xs[0].array * g[0].array)),
        PRODUCT,
    ),
    of_ops(
        'matrices from saved arrays',
        b.MATMUL,
        lambda xs, g: (F.matmul(g[0], detached(xs[1]), transb=True), F.matmul(detached(xs[0]), g[0], transa=True)),
        lambda xs, g: (F.matmul(g[0], xs[1], transb=True), F.matmul(xs[0], g[0], transa=True)),
    ),
    of_ops(
        'divisor from a saved array',
        b.QUOTIENT,
        lambda xs, g: (g[0] / detached(xs[1]), -g[0] * xs[0] / xs[1] ** 2),
        lambda xs, g: (g[0] / xs[1], -g[0] * xs[0] / xs[1] ** 2),
    ),
]


def _second(g, xs, gys, ggxs):
    """The right second order of the sine: of ``2 cos(2x) gy``."""
    x, gy, ggx = xs[0], gys[0], ggxs[0]
    return [-4 * np.sin(2 * x) * gy * ggx, 2 * np.cos(2 * x) * ggx]


def of_sine(name, wrong, *causes, at=0, **more):
    """The sine whose second order goes through ``wrong(right gradients, ggx)``."""

    def vjp2(xs, gys, ggxs):
        return wrong(_second(None, xs, gys, ggxs), ggxs[0])

    def build(shape, dtype, seed):
        inputs = as_dtype(b.SINE.draw(shape, generator(name, seed)), dtype)
        right = twice(b.SINE.forward, b.SINE.vjp, lambda *a: _second(None, *a))
        return Case(twice(b.SINE.forward, b.SINE.vjp, vjp2), inputs, right, b.SINE.forward)

    return Planted(name, 'second order', build, at, (*causes, SECOND), order=2, **more)


RULES = [
    of_sine('second order negated', lambda g, ggx: [-g[0], g[1]], SIGN),
    of_sine('second order doubled', lambda g, ggx: [2 * g[0], g[1]], FACTOR),
    of_sine('second order times 1.0005', lambda g, ggx: [1.0005 * g[0], g[1]], FACTOR),
    of_sine('gradient of the upstream gradient halved', lambda g, ggx: [g[0], g[1] / 2], FACTOR, at=1),
    of_sine('gradient of the upstream gradient None', lambda g, ggx: [g[0], None], NONE, at=1, where='whole'),
    of_sine('second order None', lambda g, ggx: [None, g[1]], NONE, where='whole'),
    of_sine('second order zero', lambda g, ggx: [0 * g[0], g[1]], DETACHED),
    of_sine('second order transposed', lambda g, ggx: [g[0].T.reshape(g[0].shape), g[1]], TRANSPOSED),
    of_sine(
        'second order, one element times 1.001',
        lambda g, ggx: [put(g[0], 5, lambda v: 1.001 * v), g[1]],
        SINGLE,
        FACTOR,
    ),
    of_sine(
        'second order, one element 0', lambda g, ggx: [put(g[0], 5, lambda v: 0), g[1]], SINGLE, FACTOR, DETACHED
    ),
    of_sine('second order with |ggx|', lambda g, ggx: [g[0] * np.sign(ggx), g[1]], LINEAR, where='whole'),
    of_sine('second order plus 1e-6', lambda g, ggx: [g[0] + 1e-6, g[1]], LINEAR, where='whole'),
    of_sine('second order swapped', lambda g, ggx: [g[1], g[0]], 'swapped inputs', at=None),
]


def _two_faces(name, arrays, variables, *causes, **more):
    """The raw rule and the rule on Variables disagree: wrong only where the graph of the gradient is kept."""

    def build(shape, dtype, seed):
        inputs = as_dtype(b.EXP.draw(shape, generator(name, seed)), dtype)

        def call(x):
            return FastPlan(b.EXP.forward, variables, arrays).apply((x,))[0]

        return Case(call, inputs, function(b.EXP.forward, lambda xs, g: (F.exp(xs[0]) * g[0],)), b.EXP.forward)

    return Planted(name, 'second order', build, None, (*causes, *ANY), order=2, **more)


FACES = [
    _two_faces('rule on Variables doubled', b.EXP.vjp, lambda xs, g: (2 * F.exp(xs[0]) * g[0],), FACTOR, where='any'),
    _two_faces('rule on Variables negated', b.EXP.vjp, lambda xs, g: (-F.exp(xs[0]) * g[0],), SIGN, where='any'),
]


def _first_order(name, factor):
    """Wrong alike at both orders: a check of the second order against the first finds nothing."""

    def build(shape, dtype, seed):
        inputs = as_dtype(b.TANH.draw(shape, generator(name, seed)), dtype)
        wrong = function(b.TANH.forward, lambda xs, g: (factor * g[0] * (1 - F.tanh(xs[0]) ** 2),))
        return Case(wrong, inputs, function(b.TANH.forward, _tanh(same)), b.TANH.forward)

    return Planted(name, 'second order', build, None, (SIGN, FACTOR), order=2, wrong_at=1)


CONSISTENT = [_first_order('consistently doubled', 2), _first_order('consistently negated', -1)]


def _third(name):
    """Right twice, wrong at the third time."""

    def backward(saved):
        def rule(xs, gys):
            return (_cubed_gradient(saved)(xs[0], gys[0]),)

        return rule

    def build(shape, dtype, seed):
        inputs = as_dtype(b.TOTAL.draw(shape, generator(name, seed)), dtype)
        return Case(function(_cube, backward(detached)), inputs, function(_cube, backward(same)), _cube)

    return Planted(name, 'second order', build, None, ANY, order=3, where='any', alone=True)


def _cube(x):
    return x**3


def _cubed_gradient(saved):
    inner = function(
        lambda x, gy: 3 * x * x * gy,
        lambda xs, ggx: (6 * saved(xs[0]) * xs[1] * ggx[0], 3 * xs[0] * xs[0] * ggx[0]),
    )
    return inner


ENTRIES = SAVED + RULES + FACES + CONSISTENT + [_third('third order from a saved array')]
