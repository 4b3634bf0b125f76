"""Faults of conduct: noise, writing in place, caches that go stale, upstream gradients that are missing."""

from __future__ import annotations

import numpy as np

import minichainer.functions as F
from minichainer.function_node import FunctionNode
from minichainer.variable import Variable
from tests.verification.catalogue import bases as b
from tests.verification.catalogue.causes import LINEAR, UNDEFINED
from tests.verification.catalogue.entry import Case, Planted, as_dtype, generator, raw

NONDETERMINISTIC = ('nondeterministic',)
MODIFIED = ('input_modified',)
STALE = ('fail', 'nondeterministic')


def conduct(name, family, base, make, proof, verdicts, **more):
    """``make(rng, inputs)`` gives the function; ``proof(case)`` says whether it misbehaves."""

    def build(shape, dtype, seed):
        rng = generator(name, seed)
        inputs = as_dtype(base.draw(shape, rng), dtype)
        return Case(make(rng, inputs), inputs, raw(base.forward, base.vjp), base.forward)

    more.setdefault('at', None)
    return Planted(name, family, build, verdicts=verdicts, where='any', proof=proof, **more)


def gradients(case, times=1):
    """First-order gradients of ones, ``times`` over the same graph."""
    xs = [Variable(x.copy()) for x in case.inputs]
    ys = case.func(*xs)
    ys = ys if isinstance(ys, tuple) else (ys,)
    gys = [Variable(np.ones_like(y.array)) for y in ys]
    return [_arrays(_grad(ys, xs, gys)) for _ in range(times)]


def _grad(ys, xs, gys):
    from minichainer.differentiate import grad

    return grad(list(ys), xs, gys)


def _arrays(variables):
    return [None if v is None else v.array.copy() for v in variables]


def _backwards_differ(case):
    passes = gradients(case, 8)
    return any(not np.array_equal(passes[0][0], p[0]) for p in passes)


def _forwards_differ(case):
    values = [case.func(*map(Variable, case.inputs)).array for _ in range(8)]
    return any(not np.array_equal(values[0], v) for v in values)


def _noisy_backward(change):
    def make(rng, inputs):
        def vjp(xs, gys):
            g = b.SQUARE_TIMES.vjp(xs, gys)
            return [change(g[0].copy(), rng), *g[1:]]

        return raw(b.SQUARE_TIMES.forward, vjp)

    return make


def _noisy_forward(change):
    def make(rng, inputs):
        return raw(lambda x: (change(np.exp(x), rng),), b.EXP.vjp)

    return make


def _one_noisy(g, rng):
    g.flat[3] *= 1 + 1e-3 * rng.uniform(0.5, 1)
    return g


def _own_rng(y, rng):
    return y * (np.random.random_sample(y.shape) < 0.5)


class _Alternating:
    """Right every other time."""

    def __init__(self):
        self.calls = 0

    def __call__(self, g, rng):
        self.calls += 1
        return g if self.calls % 2 else 2 * g


def _dropout(rng, inputs):
    return lambda x: F.dropout(F.exp(x), 0.5)


def _ulp(g, rng):
    return np.where(rng.rand(*g.shape) < 0.5, np.nextafter(g, np.inf, dtype=g.dtype), g)


NOISE = [
    conduct(
        'noise of 1e-7 in backward',
        'nondeterministic',
        b.SQUARE_TIMES,
        _noisy_backward(lambda g, rng: g * (1 + rng.uniform(-1, 1, g.shape) * 2e-7).astype(g.dtype)),
        _backwards_differ,
        NONDETERMINISTIC,
    ),
    conduct(
        'noise in one element of backward',
        'nondeterministic',
        b.SQUARE_TIMES,
        _noisy_backward(_one_noisy),
        _backwards_differ,
        NONDETERMINISTIC,
    ),
    conduct(
        'last bits of backward vary',
        'nondeterministic',
        b.SQUARE_TIMES,
        _noisy_backward(_ulp),
        _backwards_differ,
        NONDETERMINISTIC,
    ),
    conduct(
        'backward right every other time',
        'nondeterministic',
        b.SQUARE_TIMES,
        lambda rng, inputs: _noisy_backward(_Alternating())(rng, inputs),
        _backwards_differ,
        NONDETERMINISTIC,
    ),
    conduct(
        'noise in forward',
        'nondeterministic',
        b.EXP,
        _noisy_forward(lambda y, rng: y * (1 + 1e-3 * rng.rand(*y.shape)).astype(y.dtype)),
        _forwards_differ,
        NONDETERMINISTIC,
    ),
    conduct(
        'a random mask in forward',
        'nondeterministic',
        b.EXP,
        _noisy_forward(lambda y, rng: y * (rng.rand(*y.shape) < 0.5)),
        _forwards_differ,
        NONDETERMINISTIC,
    ),
    conduct(
        "a mask from NumPy's global generator",
        'nondeterministic',
        b.EXP,
        _noisy_forward(_own_rng),
        _forwards_differ,
        NONDETERMINISTIC,
    ),
    conduct('dropout', 'nondeterministic', b.EXP, _dropout, _forwards_differ, NONDETERMINISTIC),
]


def _in_place(base, forward=None, vjp=None):
    def make(rng, inputs):
        return raw(forward or base.forward, vjp or base.vjp)

    return make


def _doubling(x, w):
    y = x * x * w
    x *= 2
    return (y,)


def _relu_in_place(x):
    x[x < 0] *= 0.2
    return (x.copy(),)


def _writing_to_x(xs, gys):
    g = b.SQUARE_TIMES.vjp(xs, gys)
    xs[0] += 1
    return g


def _writing_to_w(xs, gys):
    g = b.SQUARE_TIMES.vjp(xs, gys)
    xs[1].flat[0] = 0
    return g


def _writing_to_gy(xs, gys):
    gys[0] *= np.exp(xs[0])
    return [gys[0]]


def _writing_one_element(xs, gys):
    g = b.TANH.vjp(xs, gys)
    gys[0].flat[-1] = 0
    return g


def _forward_modifies(case):
    xs = [Variable(x.copy()) for x in case.inputs]
    case.func(*xs)
    return any(not np.array_equal(v.array, x) for v, x in zip(xs, case.inputs, strict=True))


def _backward_modifies(case):
    xs = [Variable(x.copy()) for x in case.inputs]
    y = case.func(*xs)
    gy = Variable(np.full_like(y.array, 0.5))
    before = [v.array.copy() for v in [*xs, gy]]
    _grad([y], xs, [gy])
    return any(not np.array_equal(v.array, a) for v, a in zip([*xs, gy], before, strict=True))


IN_PLACE = [
    conduct(
        'forward doubles x',
        'in place',
        b.SQUARE_TIMES,
        _in_place(b.SQUARE_TIMES, _doubling),
        _forward_modifies,
        MODIFIED,
    ),
    conduct(
        'leaky relu in place', 'in place', b.LEAKY, _in_place(b.LEAKY, _relu_in_place), _forward_modifies, MODIFIED
    ),
    conduct(
        'backward adds to x',
        'in place',
        b.SQUARE_TIMES,
        _in_place(b.SQUARE_TIMES, vjp=_writing_to_x),
        _backward_modifies,
        MODIFIED,
    ),
    conduct(
        'backward writes one weight',
        'in place',
        b.SQUARE_TIMES,
        _in_place(b.SQUARE_TIMES, vjp=_writing_to_w),
        _backward_modifies,
        MODIFIED,
    ),
    conduct(
        'backward multiplies the upstream gradient',
        'in place',
        b.EXP,
        _in_place(b.EXP, vjp=_writing_to_gy),
        _backward_modifies,
        MODIFIED,
    ),
    conduct(
        'backward clears one element of the upstream gradient',
        'in place',
        b.TANH,
        _in_place(b.TANH, vjp=_writing_one_element),
        _backward_modifies,
        MODIFIED,
    ),
]


def _last_forward(rng, inputs):
    """Backward uses what the latest forward of the class has seen."""
    seen = {}

    def forward(x):
        seen['y'] = np.exp(x)
        return (seen['y'],)

    return raw(forward, lambda xs, gys: [gys[0] * seen['y']])


def _first_forward(rng, inputs):
    """Backward uses what the first forward of that shape has seen."""
    seen = {}

    def forward(x):
        seen.setdefault((x.shape, x.dtype), np.exp(x))
        return (np.exp(x),)

    return raw(forward, lambda xs, gys: [gys[0] * seen[xs[0].shape, xs[0].dtype]])


def _memoised_forward(rng, inputs):
    """Forward remembers results by shape alone, as a cache with a poor key does."""
    seen = {}

    def forward(x):
        return (seen.setdefault((x.shape, x.dtype), np.tanh(x)).copy(),)

    return raw(forward, b.TANH.vjp)


def _cached_mask(rng, inputs):
    seen = {}

    def forward(x):
        seen['mask'] = x < 0
        return b.LEAKY.forward(x)

    return raw(forward, lambda xs, gys: [np.where(seen['mask'], 0.2 * gys[0], gys[0]).astype(gys[0].dtype)])


def _stale_backward(case):
    """Whether a forward on other data in between changes the gradient."""
    x = Variable(case.inputs[0].copy())
    y = case.func(x)
    case.func(Variable(-2 * case.inputs[0]))
    found = _arrays(_grad([y], [x], [Variable(np.ones_like(y.array))]))[0]
    return not np.allclose(found, case_right(case))


def case_right(case):
    x = Variable(case.inputs[0].copy())
    y = case.right(x)
    return _arrays(_grad([y], [x], [Variable(np.ones_like(y.array))]))[0]


def _stale_forward(case):
    case.func(Variable(case.inputs[0]))
    return np.array_equal(case.func(Variable(case.inputs[0])).array, case.func(Variable(-2 * case.inputs[0])).array)


def _stale_second(case):
    """Whether a first forward on other data spoils all later gradients."""
    case.func(Variable(-2 * case.inputs[0]))
    x = Variable(case.inputs[0].copy())
    y = case.func(x)
    return not np.allclose(_arrays(_grad([y], [x], [Variable(np.ones_like(y.array))]))[0], case_right(case))


CACHES = [
    conduct('result of the last forward', 'stale', b.EXP, _last_forward, _stale_backward, STALE),
    conduct('mask of the last forward', 'stale', b.LEAKY, _cached_mask, _stale_backward, STALE),
    conduct('forward remembers by shape', 'stale', b.TANH, _memoised_forward, _stale_forward, STALE),
]


class _NeedsAll(FunctionNode):
    """Two outputs; backward takes for granted that both have a gradient."""

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        return b.TWO.forward(*inputs)

    def backward(self, indexes, gys):
        x, y = self.get_retained_inputs()
        return gys[0] * y + gys[1], gys[0] * x + 2 * y * gys[1]


class _WrongWithoutFirst(_NeedsAll):
    """Treats a missing upstream gradient as ones."""

    def backward(self, indexes, gys):
        x, y = self.get_retained_inputs()
        g, h = (Variable(np.ones_like(x.array)) if gy is None else gy for gy in gys)
        return g * y + h, g * x + 2 * y * h


def _node(cls):
    return lambda rng, inputs: lambda x, y: cls().apply((x, y))


def _fails_without_one(case):
    xs = [Variable(x.copy()) for x in case.inputs]
    ys = case.func(*xs)
    wanted = case.right(*[Variable(x.copy()) for x in case.inputs])
    try:
        found = _arrays(_grad([ys[1]], xs, [Variable(np.ones_like(ys[1].array))]))
    except TypeError:
        return True
    right = [Variable(x.copy()) for x in case.inputs]
    wanted = case.right(*right)
    return not np.allclose(found[0], _arrays(_grad([wanted[1]], right, [Variable(np.ones_like(ys[1].array))]))[0])


MISSING = [
    conduct(
        'backward needs all upstream gradients',
        'structure',
        b.TWO,
        _node(_NeedsAll),
        _fails_without_one,
        ('fail',),
        causes=(UNDEFINED,),
        alone=True,
    ),
    conduct(
        'a missing upstream gradient taken for ones',
        'structure',
        b.TWO,
        _node(_WrongWithoutFirst),
        _fails_without_one,
        ('fail',),
        causes=(UNDEFINED, LINEAR),
        alone=True,
    ),
]

#: The gradient at the checked point is right, for the cache was filled there; another point would tell.
BEYOND = [conduct('result of the first forward', 'stale', b.EXP, _first_forward, _stale_second, STALE)]

ENTRIES = NOISE + IN_PLACE + CACHES + MISSING
