"""Faults that rounding hides: functions that compute in a low precision inside, and small elements beside large ones.

A function that computes in float32 is constant between two of its numbers: differences with small steps are zero, and
a lost gradient looks right there. A small element adds so little to a sum that an error in its gradient drowns.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tests.verification.catalogue import bases as b
from tests.verification.catalogue.causes import DETACHED, FACTOR, NONE, SIGN, TERM, UNKNOWN
from tests.verification.catalogue.entry import Case, Correct, Planted, fast, generator, raw
from tests.verification.catalogue.planting import put

INSIDE = {'float32': 'f', 'float16': 'e'}


def coarse(base, dtype):
    """The base function, computed in another dtype inside."""

    def forward(*xs):
        return tuple(np.asarray(y).astype('d') for y in base.forward(*[x.astype(dtype) for x in xs]))

    return dataclasses.replace(base, forward=forward)


SUM_OF_TANH = b.Base(
    'sum of tanh', b._one, lambda x: (np.tanh(x).sum(),), lambda xs, g: [g[0] * (1 - np.tanh(xs[0]) ** 2)]
)
COARSE = [b.TANH, b.SINE, SUM_OF_TANH, b.PRODUCT, b.SOFTMAX, b.MEAN]

#: Name, gradient of the first input from the right one, causes.
WRONG = [
    ('zeros', lambda g: 0 * g, (DETACHED,)),
    ('None', lambda g: None, (NONE,)),
    ('opposite sign', lambda g: -g, (SIGN,)),
    ('times 1.5', lambda g: 1.5 * g, (FACTOR, UNKNOWN, TERM)),
]


def plateau(base, inside, name, wrong, causes):
    """A fault in a function that computes in a low precision inside.

    A sum of numbers of float16 moves in steps of up to 1 % of the slopes that are summed: where the parts of a slope
    cancel, nobody can tell. There, with ``strict=True``, "unresolved" is right, and a pass is not.
    """
    verdicts = ('fail', 'unresolved') if inside == 'float16' else ('fail',)
    inner, title = coarse(base, INSIDE[inside]), f'{base.name} in {inside}: {name}'

    def vjp(xs, gys):
        first, *rest = base.vjp(xs, gys)
        return [wrong(first), *rest]

    def build(shape, dtype, seed):
        inputs = base.draw(shape, generator(title, seed))
        return Case(fast(inner.forward, vjp), inputs, raw(inner.forward, base.vjp), options={'strict': True})

    return Planted(title, 'plateau', build, 0, causes, where='any', dtypes='d', verdicts=verdicts)


PLATEAUS = [plateau(base, inside, *wrong) for base in COARSE for inside in INSIDE for wrong in WRONG]


def right(base, inside):
    """The same with the right gradient: steps between the plateaus must not make it wrong."""

    def build(shape, dtype, seed):
        inner = coarse(base, INSIDE[inside])
        return Case(raw(inner.forward, base.vjp), base.draw(shape, generator(base.name, seed)), None, base.forward)

    verdicts = ('pass',) if inside == 'float32' else ('pass', 'unresolved')
    why = 'differences with small steps are all rounding, or zero'
    return Correct(f'{base.name} in {inside}', why, build, dtypes='d', verdicts=verdicts, stretches=False)


RIGHT = [right(base, inside) for base in COARSE for inside in INSIDE]


# --- small elements beside large ones ---

SMALL_TANH = b.Base(
    'tanh', lambda s, r: (b.normal(r, *s),), lambda x: (np.tanh(x),), lambda xs, g: [g[0] / np.cosh(xs[0]) ** 2]
)
SQUARES = b.Base('squares', b._one, lambda x: (x * x,), lambda xs, g: [2 * xs[0] * g[0]])
RECIPROCALS = b.Base('reciprocals', b._one, lambda x: (1 / x,), lambda xs, g: [-g[0] / xs[0] ** 2])
SUM_OF_SQUARES = b.Base('sum of squares', b._one, lambda x: ((x * x).sum(),), lambda xs, g: [2 * xs[0] * g[0]])

#: Base, sizes of the small element: in a sum of float64, its part has to be above the rounding.
BESIDE = [
    (SMALL_TANH, (1e-6, 1e-15, 1e-22)),
    (SQUARES, (1e-6, 1e-10)),
    (RECIPROCALS, (1e-6, 1e-15, 1e-22)),
    (SUM_OF_SQUARES, (1e-2, 1e-4)),
]
#: Name and the gradient of the small element from the right one.
CHANGES = [('doubled', lambda g: 2 * g), ('lost', lambda g: 0 * g), ('opposite sign', lambda g: -g)]
PLACE = 1  # of the small element


def beside(base, size, name, change):
    """A fault in the gradient of one small element."""
    title = f'{base.name}: gradient of an element of {size:g} {name}'

    def vjp(xs, gys):
        (g,) = base.vjp(xs, gys)
        return [put(g, PLACE, change)]

    def build(shape, dtype, seed):
        (x,) = base.draw(shape, generator(title, seed))
        x.flat[PLACE] = size
        return Case(raw(base.forward, vjp), (x.astype(dtype),), raw(base.forward, base.vjp), base.forward)

    def misbehaves(case):
        x = case.inputs[0].astype('d')
        gys = [np.ones_like(y) for y in base.forward(x)]
        found, wanted = vjp([x], gys)[0].flat[PLACE], base.vjp([x], gys)[0].flat[PLACE]
        return abs(found - wanted) >= abs(wanted) > 0

    return Planted(title, 'small', build, 0, where='any', dtypes='d', proof=misbehaves)


SMALL = [beside(base, size, *change) for base, sizes in BESIDE for size in sizes for change in CHANGES]
ENTRIES = PLATEAUS + SMALL
