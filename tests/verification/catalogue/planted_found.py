"""Faults that this package has had itself, each planted into a small function or link."""

from __future__ import annotations

import dataclasses

import numpy as np

from minichainer.configuration import config
from minichainer.differentiate import grad
from minichainer.function_node import FunctionNode
from minichainer.link import Link
from minichainer.variable import Parameter, Variable
from tests.verification.catalogue import bases as b
from tests.verification.catalogue.causes import FINITE, NONE, STALE, TERM, TWICE
from tests.verification.catalogue.entry import Case, Planted, as_dtype, function, generator, raw
from tests.verification.catalogue.planting import bug

EITHER = ('fail', 'nondeterministic')


def entry(name, build, proof, causes=(), verdicts=('fail',), **more):
    return Planted(
        name, 'found', build, None, causes, verdicts=verdicts, where='any', proof=proof, alone=True, **more
    )


# --- a second pass over the forward computation ---


class Drop(FunctionNode):
    """Dropout whose backward draws its mask anew, as where random numbers are not restored for a second pass."""

    def forward(self, inputs):
        return (inputs[0] * (np.random.random_sample(inputs[0].shape) < 0.5),)

    def backward(self, indexes, gys):
        return (gys[0] * (np.random.random_sample(gys[0].shape) < 0.5).astype(gys[0].dtype),)


def _dropout(shape, dtype, seed):
    inputs = as_dtype(b.SINE.draw(shape, generator('dropout', seed)), dtype)
    return Case(lambda x: Drop().apply((x,))[0], inputs)


def _drops_others(case):
    xs = [Variable(np.ones((20, 20))) for _ in case.inputs]
    y = case.func(*xs)
    (g,) = grad([y], xs, [Variable(np.ones_like(y.array))])
    return not np.array_equal(g.array, y.array)


class Rescaled(Link):
    """Columns divided by running deviations, which forward updates; backward takes them as they are by then."""

    def __init__(self, size):
        super().__init__()
        self.scale = np.full(size, 2.0)
        self.register_persistent('scale')

    def forward(self, x):
        link = self

        def forward(x):
            y = x / link.scale.astype(x.dtype)
            link.scale = 0.75 * link.scale + 0.25 * np.sqrt((x.astype('d') ** 2).mean(0))
            return y

        def backward(xs, gys):
            return (gys[0] / np.broadcast_to(link.scale.astype(xs[0].dtype), xs[0].shape),)

        return function(forward, backward)(x)


def _rescaled(shape, dtype, seed):
    inputs = as_dtype(b.SINE.draw(shape, generator('statistics', seed)), dtype)
    return Case(Rescaled(shape[1]), inputs)


def _divides_by_others(case):
    x, before = Variable(case.inputs[0].copy()), case.func.scale.copy()
    y = case.func(x)
    (g,) = grad([y], [x], [Variable(np.ones_like(y.array))])
    return not np.allclose(g.array, np.broadcast_to(1 / before, x.shape))


class Counted(Link):
    """``x * k`` whose backward returns the gradient of k and adds it to the parameter, too."""

    def __init__(self, k):
        super().__init__()
        with self.init_scope():
            self.k = Parameter(k)

    def forward(self, x):
        link = self

        def backward(xs, gys):
            gk = gys[0] * xs[0]
            link.k.grad = gk.array if link.k.grad is None else link.k.grad + gk.array
            return gys[0] * xs[1], gk

        return function(lambda x, k: x * k, backward)(x, self.k)


def _counted(shape, dtype, seed):
    x, k = as_dtype(b.PRODUCT.draw(shape, generator('counted', seed)), dtype)
    return Case(Counted(k), (x,), options={'params': 'all'})


def _counts_twice(case):
    x, k = Variable(case.inputs[0].copy()), case.func.k
    k.cleargrad()
    y = case.func(x)
    y.grad = np.ones_like(y.array)
    y.backward()
    twice = np.allclose(k.grad, 2 * x.array)
    k.cleargrad()
    return twice


RECOMPUTED = [
    entry('backward draws another mask', _dropout, _drops_others, verdicts=EITHER, dtypes='fd'),
    entry('backward takes statistics that forward has updated', _rescaled, _divides_by_others, (STALE,), EITHER),
    entry("a parameter's gradient stored and returned", _counted, _counts_twice, (TWICE,)),
]


# --- gradients that depend on whether they are recorded ---


def _unless(recorded):
    """``x * y``; the gradient of y is None in a pass that is recorded, or in one that is not."""

    def backward(xs, gys):
        return gys[0] * xs[1], None if config.enable_backprop is recorded else gys[0] * xs[0]

    def build(shape, dtype, seed):
        inputs = as_dtype(b.PRODUCT.draw(shape, generator('recorded', seed)), dtype)
        return Case(function(lambda x, y: x * y, backward), inputs)

    return build


def _is_none(recorded):
    def proof(case):
        xs = [Variable(x.copy()) for x in case.inputs]
        y = case.func(*xs)
        gy = [Variable(np.ones_like(y.array))]
        found = [grad([y], xs, gy, enable_double_backprop=double)[1] for double in (recorded, not recorded)]
        return found[0] is None and found[1] is not None

    return proof


RECORDED = [
    entry('None unless the pass is recorded', _unless(False), _is_none(False), (NONE,)),
    entry('None if the pass is recorded', _unless(True), _is_none(True), (NONE,)),
]


# --- edges ---

_NORM = 1e-3


def tiny(base):
    return dataclasses.replace(base, draw=lambda s, r: tuple([1e-4 * x / np.linalg.norm(x) for x in base.draw(s, r)]))


TIMES_EXP = b.Base(
    'x exp x', b.SINE.draw, lambda x: (x * np.exp(x),), lambda xs, g: [g[0] * np.exp(xs[0]) * (1 + xs[0])]
)
DECAYED = b.Base(
    'exp x + |x|^2 / 2',
    b.SINE.draw,
    lambda x: (np.exp(x) + (x * x).sum() / 2,),
    lambda xs, g: [g[0] * np.exp(xs[0]) + xs[0] * g[0].sum()],
)


def without_small(term):
    """A term of the gradient is left out where the norm of x is not above a limit."""
    return lambda g, xs, gys: g[0] - term(xs[0], gys[0]) * float(np.linalg.norm(xs[0]) <= _NORM)


def zero_power(name):
    """``x ** 0``, whose rule ``0 * x ** -1`` is NaN at 0."""
    base = b.Base(name, _with_zero, lambda x: (x**0.0,), lambda xs, g: [0 * g[0]])

    def wrong(g, xs, gys):
        with np.errstate(all='ignore'):
            return gys[0] * 0.0 * xs[0] ** -1.0

    return bug(f'NaN: {name}', base, wrong, FINITE, family='found', dtypes='fd')


def _with_zero(shape, rng):
    x = rng.uniform(0.5, 1.5, shape)
    x[0, 1] = 0
    return (x,)


EDGES = [
    bug(
        'a term left out below a norm: x exp x',
        tiny(TIMES_EXP),
        without_small(lambda x, gy: gy * x * np.exp(x)),
        TERM,
        family='found',
        dtypes='d',
    ),
    bug(
        'a term left out below a norm: a decay',
        tiny(DECAYED),
        without_small(lambda x, gy: x * gy.sum()),
        TERM,
        family='found',
        dtypes='d',
    ),
    zero_power('x to the 0 at 0'),
]

ENTRIES = RECOMPUTED + RECORDED + EDGES


# --- what a check cannot see: infinite numbers ---


def _infinite(shape, dtype, seed):
    """The largest element of each row, of which -inf is none; the gradient of -inf alone is lost."""
    inputs = as_dtype(b.SINE.draw(shape, generator('infinite', seed)), dtype)

    def vjp(xs, gys):
        return [gys[0][:, None] * ((xs[0] == xs[0].max(1, keepdims=True)) & ~np.isneginf(xs[0]))]

    return Case(raw(lambda x: x.max(1), vjp), inputs)


def _loses(case):
    x = Variable(np.full((2, 3), -np.inf))
    y = case.func(x)
    (g,) = grad([y], [x], [Variable(np.ones_like(y.array))])
    return not g.array.any()


def _masked(shape, dtype, seed):
    """A rectifier that multiplies by its mask: NaN where the upstream gradient is infinite."""
    inputs = as_dtype(b.SINE.draw(shape, generator('masked', seed)), dtype)
    return Case(raw(lambda x: np.maximum(x, 0), lambda xs, gys: [gys[0] * (xs[0] > 0)]), inputs)


def _is_nan(case):
    x = Variable(-abs(case.inputs[0]))
    y = case.func(x)
    with np.errstate(all='ignore'):
        (g,) = grad([y], [x], [Variable(np.full_like(y.array, np.inf))])
    return bool(np.isnan(g.array).all())


#: No slope can be measured where values are infinite, and no infinite upstream gradient is fed.
BEYOND = [
    entry('the gradient of a maximum that is -inf lost', _infinite, _loses),
    entry('an infinite upstream gradient times a mask', _masked, _is_nan),
]
