"""Small networks with one fault each: the right gradient of everything else surrounds it."""

from __future__ import annotations

import numpy as np

import minichainer.functions as F
from minichainer.configuration import using_config
from minichainer.link import Chain
from minichainer.links.connection.linear import Linear
from minichainer.variable import Variable
from tests.verification.catalogue import bases as b
from tests.verification.catalogue.causes import DETACHED, FACTOR, NONE, SIGN, SINGLE
from tests.verification.catalogue.entry import Case, Planted, as_dtype, function, generator
from tests.verification.catalogue.mutations import OPS, Mutant

OP = {op.name: op for op in OPS}


def detached(x):
    return Variable(x.array)


def faulty(op, change):
    """An op whose first gradient is ``change(gradient, xs, gy)``."""
    return lambda *xs: Mutant(OP[op], lambda g, v, gy, rule: [change(g[0], v, gy), *g[1:]]).apply(xs)[0]


def passing(change):
    """The identity, with a changed gradient."""
    return function(lambda x: x.copy(), lambda xs, gys: (change(gys[0]),))


def _rows(v, x):
    return F.broadcast_to(v, x.shape)


# --- the networks: each takes the place where the fault goes as its first argument, the identity if there is none ---


def lstm(fault, x, h, c, w, u, bias):
    """One step of a long short-term memory; ``fault`` replaces the sigmoid of the forget gate."""
    a = F.linear(x, w, bias) + F.linear(h, u)
    i, f, o, z = F.split_axis(a, 4, 1)
    c = fault(f) * c + F.sigmoid(i) * F.tanh(z)
    return F.sigmoid(o) * F.tanh(c), c


def batch_normalization(fault, x, gamma, beta):
    """In train mode, over rows; ``fault`` sees the two statistics."""
    mean = fault(F.mean(x, 0, keepdims=True), 'mean')
    centred = x - _rows(mean, x)
    variance = fault(F.mean(centred * centred, 0, keepdims=True), 'variance')
    return centred / _rows(F.sqrt(variance + 2e-5), x) * gamma + beta


def convolution(fault, x, w, bias, w2):
    """Two convolutions with a rectifier that leaks between them."""
    h = F.convolution_2d(x, w, bias, pad=1)
    return F.convolution_2d(fault(F.leaky_relu(h, 0.2)), w2)


def attention(fault, q, k, v):
    """Scaled dot-product attention; ``fault`` replaces the softmax."""
    scores = F.matmul(q, k, transb=True) * float(1 / np.sqrt(q.shape[1]))
    return F.matmul(fault(scores), v)


def residual(fault, x, w1, w2):
    """A block with a skip connection, normalised."""
    h = F.tanh(F.linear(x, w1))
    return F.softmax(fault(F.linear(h, w2)) + x, axis=1)


def gru(fault, x, h, w, u):
    """One step of a gated recurrent unit."""
    r, z, n = F.split_axis(F.linear(x, w), 3, 1)
    s, y, m = F.split_axis(F.linear(h, u), 3, 1)
    z = fault(F.sigmoid(z + y))
    return z * h + (1.0 - z) * F.tanh(n + F.sigmoid(r + s) * m)


def loss(fault, x, w, bias):
    """A linear classifier with its loss."""
    t = (np.arange(len(x.array)) % w.shape[0]).astype('i')
    return F.softmax_cross_entropy(fault(F.linear(x, w, bias)), t)


def _draw_lstm(s, r):
    r_, c = s
    return (
        b.normal(r, r_, c),
        b.normal(r, r_, 3),
        b.normal(r, r_, 3),
        b.normal(r, 12, c),
        b.normal(r, 12, 3),
        b.normal(r, 12),
    )


def _draw_normalization(s, r):
    return b.normal(r, *s), b.positive(r, s[1]), b.normal(r, s[1])


def _draw_convolution(s, r):
    return b.normal(r, 2, 2, *s), b.normal(r, 3, 2, 3, 3), b.normal(r, 3), b.normal(r, 2, 3, 2, 2)


def _draw_attention(s, r):
    return b.normal(r, *s), b.normal(r, s[0] + 1, s[1]), b.normal(r, s[0] + 1, 3)


def _draw_residual(s, r):
    return b.normal(r, *s), b.normal(r, 5, s[1]), b.normal(r, s[1], 5)


def _draw_gru(s, r):
    return b.normal(r, *s), b.normal(r, s[0], 3), b.normal(r, 9, s[1]), b.normal(r, 9, 3)


def _draw_loss(s, r):
    return b.normal(r, *s), b.normal(r, 4, s[1]), b.normal(r, 4)


def same(x, *_):
    return x


#: Network, how its inputs are drawn, and what stands at the place of the fault in the right one.
NETWORKS = {
    'LSTM': (lstm, _draw_lstm, F.sigmoid),
    'batch normalization': (batch_normalization, _draw_normalization, same),
    'convolution': (convolution, _draw_convolution, same),
    'attention': (attention, _draw_attention, lambda x: F.softmax(x, axis=1)),
    'residual block': (residual, _draw_residual, same),
    'GRU': (gru, _draw_gru, same),
    'classifier': (loss, _draw_loss, same),
}


def network(which, fault_name, fault, *causes, **more):
    name = f'{which}: {fault_name}'
    net, draw, right = NETWORKS[which]

    def build(shape, dtype, seed):
        inputs = as_dtype(draw(shape, generator(name, seed)), dtype)
        return Case(lambda *xs: net(fault, *xs), inputs, lambda *xs: net(right, *xs))

    return Planted(name, 'network', build, more.pop('at', None), causes, **more)


def _only(kind):
    return lambda x, which: detached(x) if which == kind else x


def _first_alone(gy):
    mask = np.zeros(gy.shape, gy.dtype)
    mask[:1] = 1
    return gy * mask


def _one(gy):
    mask = np.ones(gy.shape, gy.dtype)
    mask.flat[1] = 1.01
    return gy * mask


FAULTY = [
    network('LSTM', 'forget gate without 1 - y', faulty('sigmoid', lambda g, xs, gy: F.sigmoid(xs[0]) * gy)),
    network('LSTM', 'forget gate negated', faulty('sigmoid', lambda g, xs, gy: -g)),
    network('LSTM', 'forget gate times 1.001', faulty('sigmoid', lambda g, xs, gy: g * 1.001)),
    network('batch normalization', 'mean taken for a constant', _only('mean')),
    network('batch normalization', 'variance taken for a constant', _only('variance')),
    network('convolution', 'gradient of the first image alone', passing(_first_alone)),
    network('convolution', 'an element of the hidden layer times 1.01', passing(_one)),
    network(
        'attention', 'softmax without its sum', faulty('softmax', lambda g, xs, gy: F.softmax(xs[0], axis=1) * gy)
    ),
    network('attention', 'softmax detached', lambda x: detached(F.softmax(x, axis=1))),
    network('residual block', 'branch not differentiated', detached),
    network('residual block', 'branch halved', passing(lambda gy: gy * 0.5)),
    network('GRU', 'update gate negated', passing(lambda gy: -gy)),
    network('classifier', 'gradient times 1.0005', passing(lambda gy: gy * 1.0005), FACTOR),
    network('classifier', 'gradient negated', passing(lambda gy: -gy), SIGN),
]


class Perceptron(Chain):
    """Two linear layers; ``fault`` takes the place of the first one's weight."""

    def __init__(self, size, rng, dtype, fault):
        super().__init__()
        self.fault = fault
        with self.init_scope(), using_config('dtype', np.dtype(dtype)):
            self.l1 = Linear(size, 4, initialW=b.normal(rng, 4, size).astype(dtype), initial_bias=np.zeros(4, dtype))
            self.l2 = Linear(4, 3, initialW=b.normal(rng, 3, 4).astype(dtype), initial_bias=np.ones(3, dtype))

    def forward(self, x):
        return self.l2(F.tanh(F.linear(x, self.fault(self.l1.W), self.l1.b)))


def link(fault_name, fault, at, *causes, **more):
    """A Chain whose parameters are checked with ``params='all'``."""
    name = f'perceptron: {fault_name}'

    def build(shape, dtype, seed):
        rng = generator(name, seed)
        x = as_dtype((b.normal(rng, *shape),), dtype)
        state = rng.get_state()
        model = Perceptron(shape[1], rng, dtype, fault)
        rng.set_state(state)
        return Case(model, x, Perceptron(shape[1], rng, dtype, same), options={'params': 'all'})

    return Planted(name, 'network', build, at, causes, alone=True, **more)


LINKS = [
    link('weight negated', passing(lambda gy: -gy), '/l1/W', SIGN),
    link('one element of a weight times 1.01', passing(_one), '/l1/W', SINGLE, FACTOR),
    link('weight detached', passing(lambda gy: gy * 0.0), '/l1/W', DETACHED),
    link('weight cut off', detached, '/l1/W', NONE, DETACHED, where='whole'),
]


def contained(name, inputs_of, call, at, *causes, **more):
    """The planted ``2x`` for ``-2x`` of one of several inputs in containers."""
    wrong, right = (function(lambda x: x * x, rule) for rule in (_minus, _plus))

    def build(shape, dtype, seed):
        rng = generator(name, seed)
        arrays = as_dtype((b.normal(rng, *shape), b.normal(rng, *shape)), dtype)
        return Case(lambda *a: call(wrong, *a), inputs_of(*arrays), lambda *a: call(right, *a))

    return Planted(name, 'structure', build, at, causes, alone=True, **more)


def _minus(xs, gys):
    return (-2.0 * xs[0] * gys[0],)


def _plus(xs, gys):
    return (2.0 * xs[0] * gys[0],)


LABELS = np.array([2, 0, 1])
CONTAINERS = [
    contained(
        'in a dictionary of lists',
        lambda x, y: ({'b': [x, y]},),
        lambda f, d: f(d['b'][1]) * d['b'][0],
        '0.b[1]',
        SIGN,
    ),
    contained('beside integers', lambda x, y: (LABELS, x, y), lambda f, t, x, y: f(y[t.array]) + x[t.array], 2, SIGN),
    contained('beside None and an unused input', lambda x, y: (x, None, y), lambda f, x, n, y: f(y), 2, SIGN),
    contained('beside an integer output', lambda x, y: (x, y), lambda f, x, y: (F.argmax(x, 1), x + f(y)), 1, SIGN),
]

ENTRIES = FAULTY + LINKS + CONTAINERS
