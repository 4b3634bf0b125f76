"""Wrong tangents of functions whose backward is right, and batches that mix up their entries."""

from __future__ import annotations

import numpy as np

from minichainer.autograd import Function, forward_ad, grad
from minichainer.autograd.functional import jacobian
from minichainer.function_node import FunctionNode
from minichainer.variable import Variable
from tests.verification.catalogue import bases as b
from tests.verification.catalogue.entry import Case, Correct, Planted, as_dtype, generator
from tests.verification.catalogue.planting import put

BOTH = {'check_forward_ad': True}
ALONE = {'check_forward_ad': True, 'check_backward_ad': False}


def derivative(base, xs, ds):
    """The tangent of the first output, from the imaginary part of ``f(x + ih)``."""
    moved = [x.astype('D') + 1e-30j * d for x, d in zip(xs, ds, strict=True)]
    return (np.asarray(base.forward(*moved)[0]).imag / 1e-30).astype(xs[0].dtype)


def function(base, tangent):
    """``base`` with ``tangent(t, xs, ds, ctx)`` in place of the right tangent t."""

    class Pushed(Function):
        @staticmethod
        def forward(ctx, *xs):
            ctx.save_for_backward(*xs)
            ctx.save_for_forward(*xs)
            ctx.met = []
            return np.asarray(base.forward(*[x.array for x in xs])[0])

        @staticmethod
        def backward(ctx, gy):
            xs = [x.array for x in ctx.saved_tensors]
            return tuple(
                [Variable(np.asarray(g, x.dtype)) for g, x in zip(base.vjp(xs, [gy.array]), xs, strict=True)]
            )

        @staticmethod
        def jvp(ctx, *ds):
            xs, arrays = [x.array for x in ctx.saved_tensors], [d.array for d in ds]
            found = tangent(derivative(base, xs, arrays), xs, arrays, ctx)
            return None if found is None else Variable(np.asarray(found, xs[0].dtype))

    return Pushed.apply


def _case(name, base, tangent, options):
    def build(shape, dtype, seed):
        inputs = as_dtype(base.draw(shape, generator(name, seed)), dtype)
        return Case(function(base, tangent), inputs, None, base.forward, options)

    return build


def _differs(base):
    """A proof: along some direction the tangent is not the right one."""

    def proof(case):
        xs = [x.astype('d') for x in case.inputs]
        for scale in (1.0, 1e-9):
            for only in (None, *range(len(xs))):
                rng = np.random.RandomState(0)
                ds = [rng.normal(size=x.shape) * scale * (only in (None, i)) for i, x in enumerate(xs)]
                found, right = _pushed(case.func, xs, ds), derivative(base, xs, ds)
                if not abs(found - right).max() <= 1e-11 * abs(right).max():
                    return True
        return False

    return proof


def _pushed(func, xs, ds):
    """The tangent of the output; an input whose direction is zero has none."""
    with forward_ad.dual_level():
        pairs = zip(xs, ds, strict=True)
        found = forward_ad.unpack_dual(
            func(*[forward_ad.make_dual(x, d) if d.any() else Variable(x) for x, d in pairs])
        )
    return np.zeros(found.primal.shape) if found.tangent is None else found.tangent.array


def wrong(name, base, tangent, options=BOTH, dtypes='fd'):
    name = f'forward mode{"" if options is BOTH else " alone"}: {name}'
    build = _case(name, base, tangent, options)
    more = {'proof': _differs(base), 'where': 'any', 'alone': True, 'dtypes': dtypes}
    return Planted(name, 'forward mode', build, None, (), **more)


RULES = {
    'negated': (b.TANH, lambda t, xs, ds, ctx: -t),
    'doubled': (b.SQUARE_TIMES, lambda t, xs, ds, ctx: 2 * t),
    'zeros': (b.EXP, lambda t, xs, ds, ctx: 0 * t),
    'None': (b.MATMUL, lambda t, xs, ds, ctx: None),
    'the factor of the rule missing': (b.SINE, lambda t, xs, ds, ctx: ds[0]),
    'the second input forgotten': (b.SQUARE_TIMES, lambda t, xs, ds, ctx: 2 * xs[0] * xs[1] * ds[0]),
    'the first input forgotten': (b.SQUARE_TIMES, lambda t, xs, ds, ctx: xs[0] ** 2 * ds[1]),
    'an element 0': (b.TANH, lambda t, xs, ds, ctx: put(t, 5, lambda v: 0 * v)),
    'an element times 1.001': (b.EXP, lambda t, xs, ds, ctx: put(t, 5, lambda v: 1.001 * v)),
    'shifted': (b.TANH, lambda t, xs, ds, ctx: np.roll(t, 1, -1)),
    'absolute values': (b.EXP, lambda t, xs, ds, ctx: abs(t)),
    '1e-6 added': (b.TANH, lambda t, xs, ds, ctx: t + 1e-6),
    'small directions dropped': (b.SINE, lambda t, xs, ds, ctx: t * (abs(ds[0]) > 1e-6)),
    'clipped': (b.EXP, lambda t, xs, ds, ctx: np.clip(t, -0.3, 0.3)),
    'the gradient in place of the tangent': (
        b.SOFTMAX, lambda t, xs, ds, ctx: b.SOFTMAX.vjp(xs, [ds[0] * np.arange(ds[0].shape[-1])])[0],
    ),
    'transposed weights': (b.MATMUL, lambda t, xs, ds, ctx: t + 0.01 * (ds[0] @ abs(xs[1]))),
}  # fmt: skip


class Mixed(FunctionNode):
    """The square, whose backward caches by the memory of the upstream gradient, which slices share."""

    def forward(self, inputs):
        self.retain_inputs((0,))
        self.known = {}
        return (inputs[0] ** 2,)

    def backward(self, indexes, gys):
        (x,), gy = self.get_retained_inputs(), gys[0].array
        memory = gy if gy.base is None else gy.base
        if id(memory) not in self.known:
            self.known[id(memory)] = memory, 2 * x.array * gy
        return (Variable(self.known[id(memory)][1].copy()),)


def _first(t, xs, ds, ctx):
    """The tangent for the first direction that this application has met."""
    ctx.met.append(t)
    return ctx.met[0]


def _square(x):
    return Mixed().apply((x,))[0]


def _batch(name, make, options, proof):
    def build(shape, dtype, seed):
        inputs = as_dtype(b.TANH.draw(shape, generator(name, seed)), dtype)
        return Case(make(), inputs, options=options)

    return Planted(name, 'batched', build, None, (), proof=proof, where='any', alone=True)


def _mixes_gradients(case):
    x = Variable(case.inputs[0])
    y = case.func(x)
    gys = np.stack([np.ones(y.shape, y.dtype), 2 * np.ones(y.shape, y.dtype)])
    (found,) = grad(y, x, gys, is_grads_batched=True)
    return not np.array_equal(found.array[1], 2 * found.array[0])


def _mixes_tangents(case):
    x = case.inputs[0][:1, :3]
    found = jacobian(case.func, x, vectorize=True, strategy='forward-mode').array.reshape(3, 3)
    return abs(found - np.diag(np.diag(found))).max() > 0


ENTRIES = [
    *[wrong(name, base, rule) for name, (base, rule) in RULES.items()],
    *[wrong(name, base, rule, ALONE) for name, (base, rule) in RULES.items()],
    wrong('times 1 + 1e-9', b.TANH, lambda t, xs, ds, ctx: (1 + 1e-9) * t, dtypes='d'),
    _batch(
        'batched: gradients cached by memory', lambda: _square, {'check_batched_grad': True}, _mixes_gradients
    ),
    _batch(
        'batched: the tangent of the first direction',
        lambda: function(b.TANH, _first),
        {'check_forward_ad': True, 'check_batched_forward_grad': True},
        _mixes_tangents,
    ),
]  # fmt: skip


def _right(base, options, suffix):
    name = f'forward mode{suffix}: {base.name}'
    return Correct(
        name, 'its jvp is the complex step', _case(name, base, lambda t, xs, ds, ctx: t, options), alone=True
    )


RIGHT = [
    _right(base, options, suffix)
    for base in (b.TANH, b.EXP, b.SINE, b.SQUARE_TIMES, b.MATMUL, b.SOFTMAX)
    for options, suffix in ((BOTH, ''), (ALONE, ' alone'))
]
