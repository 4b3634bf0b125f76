"""How faults are planted that show in some circumstances only."""

from __future__ import annotations

import dataclasses

import numpy as np

from minichainer.link import Link
from minichainer.variable import Parameter
from tests.verification.catalogue import bases as b
from tests.verification.catalogue.entry import Case, Plan, Planted, as_dtype, generator, raw, twice
from tests.verification.catalogue.situations import ORDINARY, differs


class WithWeights(Link):
    """``op(x, k)``, of which ``k`` is a parameter."""

    def __init__(self, op, weights):
        super().__init__()
        self.op = op
        with self.init_scope():
            self.k = Parameter(weights)

    def forward(self, x):
        return self.op(x, self.k)


def of_link(base, make):
    """A builder of Cases of a Link: the last input of the base becomes its parameter."""

    def build(inputs, vjp):
        *xs, k = inputs
        func, right = (WithWeights(make(base.forward, rule), k.copy()) for rule in (vjp, base.vjp))
        return Case(func, tuple(xs), right, options={'params': 'all'})

    return build


def of_function(base, make):
    """A builder of Cases of a function."""

    def build(inputs, vjp):
        return Case(make(base.forward, vjp), inputs, raw(base.forward, base.vjp), base.forward)

    return build


def conditional(name, family, base, wrong, situation, cases=of_function, make=raw, verdicts=('fail',), **more):
    """``base`` with the gradients ``wrong(g, xs, gys)``; they differ from the right ones, g, in a situation only."""

    def build(shape, dtype, seed):
        inputs = as_dtype(base.draw(shape, generator(name, seed)), dtype)
        return cases(base, make)(inputs, lambda xs, gys: wrong(base.vjp(xs, gys), xs, gys))

    return planted(name, family, build, situation, 1, verdicts, more)


def of_second_order(name, family, wrong, situation, node=Plan, verdicts=('fail',), remembers=False, **more):
    """The sine whose second order is ``wrong(g, x, gy, ggx)``; if it remembers, ``wrong()`` gives that anew."""

    def build(shape, dtype, seed):
        rule = wrong() if remembers else wrong

        def vjp2(xs, gys, ggxs):
            return rule(second_order_of_sine(xs, gys, ggxs), xs[0], gys[0], ggxs[0])

        inputs = as_dtype(b.SINE.draw(shape, generator(name, seed)), dtype)
        right = twice(b.SINE.forward, b.SINE.vjp, second_order_of_sine)
        return Case(twice(b.SINE.forward, b.SINE.vjp, vjp2, node), inputs, right, b.SINE.forward)

    return planted(name, family, build, situation, 2, verdicts, more)


def second_order_of_sine(xs, gys, ggxs):
    """The right second order of the sine: of ``2 cos(2x) gy``."""
    x, gy, ggx = xs[0], gys[0], ggxs[0]
    return [-4 * np.sin(2 * x) * gy * ggx, 2 * np.cos(2 * x) * ggx]


def planted(name, family, build, situation, order, verdicts, more):
    """An entry that proves itself: wrong in one situation, right in all ``ordinary`` ones."""
    ordinary = more.pop('ordinary', (ORDINARY,))

    def misbehaves(case):
        return not any(differs(case.again, o, order) for o in ordinary) and differs(case.again, situation, order)

    def build_with_memory(*where):
        return dataclasses.replace(build(*where), again=lambda: build(*where))

    more.setdefault('dtypes', 'd')
    return Planted(
        name,
        family,
        build_with_memory,
        at=None,
        order=order,
        verdicts=verdicts,
        where='any',
        proof=misbehaves,
        alone=True,
        **more,
    )


#: One function after another takes its turn.
TURNS = [
    ('tanh', b.TANH, of_function),
    ('matrix product', b.MATMUL, of_function),
    ('filter link', b.WINDOWS, of_link),
    ('normalised rows', b.NORMALISE, of_function),
    ('x*y', b.PRODUCT, of_function),
]


def turns(count, start=0):
    """So many of the functions."""
    return [TURNS[(start + i) % len(TURNS)] for i in range(count)]
