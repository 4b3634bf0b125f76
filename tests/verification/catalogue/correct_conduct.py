"""Right functions of awkward kinds: shapes, dtypes, layouts, containers, many outputs, networks, second order."""

from __future__ import annotations

import numpy as np

import minichainer.functions as F
from minichainer.variable import Variable
from tests.verification.catalogue import bases as b
from tests.verification.catalogue import networks, planted_second_order
from tests.verification.catalogue.correct import around, one, right
from tests.verification.catalogue.entry import Case, Correct, as_dtype, function, generator, native, raw


def of_ops(name, why, draw, func, **more):
    """A right function of the package's own ops; proved by differences of the fifth order."""

    def build(shape, dtype, seed):
        return Case(func, as_dtype(draw(shape, generator(name, seed)), dtype), func)

    return Correct(name, why, build, tolerance=1e-6, **more)


def fixed(shape):
    """The draw of one input whose shape does not depend on the case's."""
    return lambda s, r: (b.normal(r, *shape),)


def _two(s, r):
    return b.normal(r, *s), b.normal(r, *s)


def _native(shape, dtype, seed):
    func = native(lambda a: a * a, lambda xs, gys: [2 * xs[0] * gys[0]])
    return Case(func, (b.normal(generator('native', seed), *shape).astype('f'),), None, lambda x: x * x)


def _seeded(x):
    """Draws random numbers, always the same."""
    mask = np.random.RandomState(3).rand(*x.shape) < 0.5
    return x * x * mask.astype(x.dtype)


class _Counting:
    """Has state that changes nothing."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return F.tanh(x)


class _Caching:
    """Remembers its last result, with the right key."""

    def __init__(self):
        self.key = self.value = None

    def __call__(self, x):
        def forward(a):
            if self.key is None or not np.array_equal(self.key, a) or self.key.dtype != a.dtype:
                self.key, self.value = a.copy(), np.tanh(a)
            return (self.value.copy(),)

        return raw(forward, b.TANH.vjp)(x)


SHAPES = [
    one('0-d', 'no axis', lambda s, r: b.normal(r).reshape(()), np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    one('one element', 'no direction to choose', lambda s, r: b.normal(r, 1), np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    one('no element', 'nothing to check', lambda s, r: np.zeros((0, 3)), np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    right(
        'one input without elements',
        'nothing to check in one of two',
        lambda s, r: (b.normal(r, *s), np.zeros((0, s[1]))),
        lambda x, y: x * x + y.sum(0),
        lambda xs, gy: [2 * xs[0] * gy, 0 * xs[1]],
    ),
    one('five axes', 'many axes', lambda s, r: b.normal(r, 2, 1, 3, 1, 2), np.sin, np.cos),
    one('20 000 elements', 'the sum over a direction rounds', lambda s, r: b.normal(r, 100, 200), np.sin, np.cos),
    right(
        'sum of 20 000 squares',
        'the sum rounds',
        fixed((100, 200)),
        lambda x: (x * x).sum(),
        lambda xs, gy: 2 * xs[0] * gy,
    ),
    of_ops(
        'broadcasts both ways',
        'sums over axes',
        lambda s, r: (b.normal(r, s[0], 1), b.normal(r, 1, s[1])),
        lambda x, y: x * y + x,
    ),
    of_ops(
        'reshaped and transposed',
        'layouts',
        lambda s, r: (b.normal(r, *s),),
        lambda x: F.transpose(F.reshape(x, (x.shape[1], -1)) ** 2),
    ),
]


def laid_out(name, why, arrange, **more):
    """``x*x*w`` with inputs laid out in memory in some way."""

    def build(shape, dtype, seed):
        x, w = as_dtype(b.SQUARE_TIMES.draw(shape, generator(name, seed)), dtype)
        return Case(raw(b.SQUARE_TIMES.forward, b.SQUARE_TIMES.vjp), arrange(x, w), None, b.SQUARE_TIMES.forward)

    return Correct(name, why, build, alone=True, **more)


def _read_only(x, w):
    x.flags.writeable = w.flags.writeable = False
    return x, w


def _overlapping(x, w):
    store = np.concatenate([x.ravel(), w])
    return store[: x.size].reshape(x.shape), store[x.size - w.size : x.size]


def _stretched(x, w):
    return np.broadcast_to(x[:1], x.shape), w


LAYOUTS = [
    laid_out('columns first in memory', 'layout', lambda x, w: (np.asfortranarray(x), w)),
    laid_out('every other element', 'strides', lambda x, w: (np.repeat(x, 2, 1)[:, ::2], w[::-1])),
    laid_out('overlapping inputs', 'a perturbation in place changes both', _overlapping),
    laid_out('stride 0', 'a perturbation in place changes whole columns', _stretched),
    laid_out('read-only', 'inputs must not be written to', _read_only),
    laid_out('row of the other input', 'aliased', lambda x, w: (x, x[0])),
]


def _same_array(func):
    def build(shape, dtype, seed):
        x = b.normal(generator('same', seed), *shape).astype(dtype)
        return Case(func, (x, x), func)

    return build


def held(name, why, inputs_of, func, **more):
    """A function of Variables, integers, containers and None, of two float arrays."""

    def build(shape, dtype, seed):
        x, y = as_dtype(_two(shape, generator(name, seed)), dtype)
        return Case(func, inputs_of(x, y), func)

    return Correct(name, why, build, tolerance=1e-6, alone=True, **more)


def _mixed(x, y):
    return F.cast(x, 'd') * F.cast(y, 'd')


def _no_grad(x, y):
    return x * x, Variable(2 * y.array, requires_grad=False)


MIXED = [
    Correct(
        'the same array twice',
        'a perturbation in place changes both',
        _same_array(lambda x, y: x * x * y),
        tolerance=1e-6,
        alone=True,
    ),
    held(
        'integer input',
        'no gradient',
        lambda x, y: (x, np.arange(3, dtype='i')),
        lambda x, t: F.get_item(x * x, t.array[0]),
    ),
    held('boolean input', 'no gradient', lambda x, y: (x, y > 0), lambda x, mask: F.where(mask, x * x, 3 * x)),
    held('None among the inputs', 'passed as it is', lambda x, y: (x, None), lambda x, n: x * x),
    held(
        'a number and a text among the inputs',
        'passed as they are',
        lambda x, y: (x, 3, 'sum'),
        lambda x, k, how: k * x * x,
    ),
    held(
        'dictionary of a list',
        'nested',
        lambda x, y: ({'a': [x, y], 'n': 2},),
        lambda d: d['a'][0] * F.sin(d['a'][1]) * d['n'],
    ),
    held('tuple in a tuple', 'nested', lambda x, y: ((x, (y,)),), lambda p: F.exp(p[0]) + p[1][0]),
    held('float32 beside float64', 'two resolutions', lambda x, y: (x.astype('f'), y.astype('d')), _mixed),
    held('float16 beside float64', 'two resolutions', lambda x, y: (x.astype('e'), y.astype('d')), _mixed),
    held('an output of integers', 'has no gradient', lambda x, y: (x, y), lambda x, y: (F.argmax(x, 1), x * y)),
    held('an output without gradient', 'must be left alone', lambda x, y: (x, y), _no_grad),
    held(
        'an output that is an input',
        'the gradient goes straight through',
        lambda x, y: (x, y),
        lambda x, y: (x, x * y),
    ),
    held(
        'the same output twice', 'gradients are added up', lambda x, y: (x, y), lambda x, y: (lambda z: (z, z))(x * y)
    ),
    held(
        'a constant output',
        'depends on nothing',
        lambda x, y: (x, y),
        lambda x, y: (x * y, Variable(np.ones(3, x.dtype))),
    ),
    held('outputs in a list', 'a list is a sequence too', lambda x, y: (x, y), lambda x, y: [x + y, F.sin(x)]),
    held(
        'outputs of 1e6 and 1e-6',
        'one drowns the other',
        lambda x, y: (x, y),
        lambda x, y: (1e6 * F.sin(x), 1e-6 * F.cos(y * x)),
    ),
    held('five outputs', 'many pairs', lambda x, y: (x, y), lambda x, y: (x, x + y, x * y, F.sin(x), F.exp(y) * x)),
    Correct('float32 alone', 'refuses float64', _native, dtypes='f', alone=True, native=True, tolerance=1e-6),
    of_ops('draws the same numbers each time', 'uses random numbers', lambda s, r: (b.normal(r, *s),), _seeded),
    Correct(
        'counts its calls', 'has state', lambda s, d, seed: _of(_Counting(), 'counts', s, d, seed), tolerance=1e-6
    ),
    Correct(
        'remembers its last result',
        'has a cache',
        lambda s, d, seed: _of(_Caching(), 'remembers', s, d, seed),
        tolerance=1e-6,
    ),
]


def _of(func, name, shape, dtype, seed):
    return Case(func, as_dtype((b.normal(generator(name, seed), *shape),), dtype), func)


def whole(name):
    """A network without fault."""
    net, draw, same = networks.NETWORKS[name]
    return of_ops(f'{name} without fault', 'many ops', draw, lambda *xs: net(same, *xs))


def _perceptron(shape, dtype, seed):
    rng = generator('perceptron', seed)
    x = b.normal(rng, *shape).astype(dtype)
    model = networks.Perceptron(shape[1], rng, dtype, networks.same)
    return Case(model, (x,), model, options={'params': 'all'})


NETWORKS = [whole(name) for name in networks.NETWORKS] + [
    Correct('perceptron with its parameters', 'a Link', _perceptron, tolerance=1e-6, alone=True),
]


def low(name, why, x, forward, slope):
    return one(name, why, x, forward, slope, dtypes='e', tolerance=1e-2)


HALF = [
    low('float16: x*x', 'eleven bits', around(0), lambda x: x * x, lambda x: 2 * x),
    low('float16: tanh', 'eleven bits', around(0), np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    low('float16: x + 100', 'an offset that leaves four bits', around(0), lambda x: x + 100, lambda x: 1 + 0 * x),
    of_ops(
        'float16: softmax',
        'eleven bits',
        lambda s, r: (r.normal(size=s),),
        lambda x: F.softmax(x, axis=1),
        dtypes='e',
    ),
    of_ops(
        'float16: matrix product',
        'eleven bits',
        lambda s, r: (r.normal(size=s), r.normal(size=s[::-1])),
        F.matmul,
        dtypes='e',
    ),
]


def second(name, func, draw):
    def build(shape, dtype, seed):
        return Case(func, as_dtype(draw(shape, generator(name, seed)), dtype), func)

    return Correct(f'second order: {name}', 'gradients of gradients', build, tolerance=1e-5, order=2)


SECOND = [
    second(name, function(base.forward, rule), base.draw)
    for name, base, rule in (
        ('tanh', b.TANH, planted_second_order._tanh(planted_second_order.same)),
        ('x*x*w', b.SQUARE_TIMES, planted_second_order._square(planted_second_order.same, planted_second_order.same)),
        ('softmax', b.SOFTMAX, planted_second_order._softmax(planted_second_order.same)),
        ('normalised rows', b.NORMALISE, planted_second_order._normalise(planted_second_order.same)),
        ('x*y', b.PRODUCT, planted_second_order.PRODUCT),
    )
] + [
    second('linear', lambda x, w: F.linear(x, w), lambda s, r: (b.normal(r, *s), b.normal(r, 5, s[1]))),
    second('sum', lambda x: F.sum(x), lambda s, r: (b.normal(r, *s),)),
    second('relu', F.relu, lambda s, r: (b.normal(r, *s),)),
    second('unused input', lambda x, y: x * x, lambda s, r: (b.normal(r, *s), b.normal(r, *s))),
    second('LSTM', lambda *xs: networks.lstm(F.sigmoid, *xs), networks._draw_lstm),
]

ENTRIES = SHAPES + LAYOUTS + MIXED + NETWORKS + HALF + SECOND
