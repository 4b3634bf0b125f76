"""Gradients that are wrong at some points only: found where the check is made at such a point, and nowhere else."""

from __future__ import annotations

import dataclasses

import numpy as np

from tests.verification.catalogue import bases as b
from tests.verification.catalogue.conditional import conditional, turns
from tests.verification.catalogue.planting import bug
from tests.verification.catalogue.situations import Situation


def spoilt_where(condition):
    """Gradients half as large again at points of a kind."""
    return lambda g, xs, gys: [1.5 * a for a in g] if condition(xs[0]) else g


def drawn_at(base, change):
    """The base at inputs that are changed first."""
    return dataclasses.replace(base, draw=lambda s, r: _first(change, base.draw(s, r)))


def _first(change, inputs):
    return change(inputs[0]), *inputs[1:]


def has_repeated(x):
    return np.unique(x).size < x.size


def repeated(x):
    """The second element is the first one again."""
    x = x.copy()
    x.flat[1] = x.flat[0]
    return x


def one_row(x):
    return x[:1]


def counted_once(g, xs, gys):
    """Equal inputs get the gradient once, as where they are looked up in a set."""
    kept = np.zeros(xs[0].size, bool)
    kept[np.unique(xs[0], return_index=True)[1]] = True
    return [np.where(kept.reshape(xs[0].shape), g[0], 0), *g[1:]]


#: What is done to x, and the fault that then shows.
POINTS = {
    'one row': (one_row, spoilt_where(lambda x: len(x) == 1)),
    'repeated values': (repeated, spoilt_where(has_repeated)),
    'repeated values counted once': (repeated, counted_once),
    'positive inputs': (abs, spoilt_where(lambda x: bool((x > 0).all()))),
    'inputs beyond 20': (lambda x: 40 * x, spoilt_where(lambda x: float(abs(x).max()) > 20)),
    'inputs below 1e-6': (lambda x: 1e-8 * x, spoilt_where(lambda x: float(abs(x).max()) < 1e-6)),
    'a zero among the inputs': (
        lambda x: np.where(x == x.flat[0], 0, x),
        spoilt_where(lambda x: bool((x == 0).any())),
    ),
}
FUNCTIONS = [('sine', b.SINE), ('x*y', b.PRODUCT), ('matrix product', b.MATMUL), ('x*x*w', b.SQUARE_TIMES)]


def fits(point, name):
    """Inputs of several rows each have to be changed together, and a wave of 40 has no digits left."""
    return not (point == 'one row' and name == 'x*y') and not (point == 'inputs beyond 20' and name == 'sine')


ENTRIES = [
    bug(
        f'wrong at {point}: {name}',
        drawn_at(base, change),
        wrong,
        family='condition',
        at=None,
        where='any',
        dtypes='d',
        alone=True,
    )
    for point, (change, wrong) in POINTS.items()
    for name, base in FUNCTIONS
    if fits(point, name)
]
#: The same faults, checked at ordinary points, where the gradient is right.
BEYOND = [
    conditional(
        f'wrong at {point}, checked elsewhere: {name}', 'condition', base, wrong, Situation(inputs=change), cases
    )
    for (point, (change, wrong)), (name, base, cases) in zip(
        [(p, how) for p, how in POINTS.items() if p != 'positive inputs'], turns(6), strict=True
    )
]
