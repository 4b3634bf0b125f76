"""Wrong for what a check may not look at: once another input is frozen, or in parameters that are not registered."""

from __future__ import annotations

import numpy as np

from minichainer.autograd import Function
from minichainer.differentiate import grad
from minichainer.link import Link
from minichainer.variable import Parameter, Variable
from tests.verification.catalogue import bases as b
from tests.verification.catalogue.entry import Case, Planted, as_dtype, generator, raw

# --- frozen partners ---


def product(rule):
    """A product whose backward sees which input needs a gradient: ``rule(needs, gx, gw)``."""

    class Product(Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x.array * w.array

        @staticmethod
        def backward(ctx, gy):
            x, w = ctx.saved_tensors
            return rule(ctx.needs_input_grad, gy * w, gy * x)

    return Product.apply


#: Name and rule; all are right if both inputs need a gradient.
PARTNERS = [
    ('lost', lambda needs, gx, gw: (gx if needs[1] else None, gw if needs[1] else None)),
    ('lost, for w', lambda needs, gx, gw: (gx if needs[0] else None, gw if needs[0] else None)),
    ('zeros', lambda needs, gx, gw: (gx if all(needs) else 0 * gx, gw)),
    ('doubled', lambda needs, gx, gw: (gx if all(needs) else 2 * gx, gw)),
    ('opposite sign', lambda needs, gx, gw: (gx, gw if all(needs) else -gw)),
    ('swapped', lambda needs, gx, gw: (gx, gw) if all(needs) else (gw, gx)),
]


class Weighted(Link):
    """A function of an input and of a parameter."""

    def __init__(self, func, weights):
        super().__init__()
        self.func = func
        with self.init_scope():
            self.w = Parameter(weights)

    def forward(self, x):
        return self.func(x, self.w)


def frozen(name, rule, as_link):
    """A fault in a gradient that shows once the partner needs none."""
    title = f'{name} once the partner is frozen' + ', a link' * as_link

    def build(shape, dtype, seed):
        x, w = as_dtype(b.PRODUCT.draw(shape, generator(title, seed)), dtype)
        if as_link:
            return Case(Weighted(product(rule), w), (x,), options={'params': 'all'})
        return Case(product(rule), (x, w))

    return Planted(
        title, 'frozen', build, None, where='any', dtypes='d', proof=lambda case: _differs(rule), alone=True
    )


def _differs(rule):
    """Whether a gradient is wrong once the other input is a constant, and right if none is."""
    x, w = np.array([1.5, -2.0]), np.array([0.5, 3.0])

    def wrong(flags):
        xs = [Variable(a, requires_grad=flag) for a, flag in zip((x, w), flags, strict=True)]
        y = product(rule)(*xs)
        asked = [v for v, flag in zip(xs, flags, strict=True) if flag]
        found = grad([y], asked, [Variable(np.ones(2))])
        wanted = [a for a, flag in zip((w, x), flags, strict=True) if flag]
        return any(g is None or not np.array_equal(g.array, a) for g, a in zip(found, wanted, strict=True))

    return not wrong((True, True)) and (wrong((True, False)) or wrong((False, True)))


FROZEN = [frozen(name, rule, as_link) for name, rule in PARTNERS for as_link in (False, True)]


# --- parameters that are not registered ---


class Keeping(Link):
    """A function of an input and of a parameter that is kept where nobody looks."""

    def __init__(self, func, weights, keep):
        super().__init__()
        self.func = func
        with self.init_scope():
            self.scale = Parameter(np.ones((), weights.dtype))
        self.kept = keep(Parameter(weights))

    def weights(self):
        """The parameter."""
        kept = self.kept
        return kept() if callable(kept) else kept['w'] if isinstance(kept, dict) else kept[0]

    def forward(self, x):
        return self.func(x, self.weights()) * self.scale


KEPT = {
    'a list': lambda w: [w],
    'a dict': lambda w: {'w': w},
    'a tuple': lambda w: (w,),
    'a closure': lambda w: lambda: w,
}
#: Name and the gradient of the weights from the right one.
CHANGES = [('times 1.5', lambda g: 1.5 * g), ('lost', lambda g: 0 * g), ('opposite sign', lambda g: -g)]


def unregistered(where, name, change):
    """A fault in the gradient of such a parameter."""
    title = f'{name} for a parameter in {where}'

    def vjp(xs, gys):
        gx, gw = b.PRODUCT.vjp(xs, gys)
        return [gx, change(gw)]

    def build(shape, dtype, seed):
        x, w = as_dtype(b.PRODUCT.draw(shape, generator(title, seed)), dtype)
        link = Keeping(raw(b.PRODUCT.forward, vjp), w, KEPT[where])
        return Case(link, (x,), options={'params': 'all'})

    def misbehaves(case):
        (x,), link = case.inputs, case.func
        y = link(Variable(x))
        (found,) = grad([y], [link.weights()], [Variable(np.ones_like(x))])
        registered = [p for _, p in link.namedparams()]
        return not np.allclose(found.array, x) and all(p is not link.weights() for p in registered)

    return Planted(title, 'unregistered', build, None, where='any', dtypes='d', proof=misbehaves, alone=True)


UNREGISTERED = [unregistered(where, *change) for where in KEPT for change in CHANGES]
ENTRIES = FROZEN + UNREGISTERED
