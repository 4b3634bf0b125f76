"""Faults of functions that refuse float64: all that can be seen is what differences of float32 show."""

from __future__ import annotations

import numpy as np

from tests.verification.catalogue import bases as b
from tests.verification.catalogue.causes import DETACHED, FACTOR, LINEAR, NONE, SIGN, SINGLE, TERM, UNKNOWN
from tests.verification.catalogue.entry import native
from tests.verification.catalogue.planting import bug, put


def alone(name, base, wrong, *causes, **more):
    return bug(
        f'native float32: {name}', base, wrong, *causes, UNKNOWN, TERM, make=native, dtypes='f', native=True, **more
    )


ENTRIES = [
    alone('negated', b.SQUARE_TIMES, lambda g, xs, gys: -g[0], SIGN),
    alone('doubled', b.TANH, lambda g, xs, gys: 2 * g[0], FACTOR),
    alone('times 1.05', b.EXP, lambda g, xs, gys: 1.05 * g[0], FACTOR),
    alone('zero', b.SQUARE_TIMES, lambda g, xs, gys: 0 * g[1], DETACHED, at=1),
    alone('None', b.SQUARE_TIMES, lambda g, xs, gys: None, NONE, at=1, where='whole'),
    alone('second term missing', b.TANH, lambda g, xs, gys: gys[0]),
    alone('|gy|', b.MATMUL, lambda g, xs, gys: b.MATMUL.vjp(xs, [abs(gys[0])])[0], LINEAR, where='whole'),
    alone('1e-6 added', b.EXP, lambda g, xs, gys: g[0] + 1e-6, LINEAR, where='whole'),
    alone('an element 0', b.SINE, lambda g, xs, gys: put(g[0], 5, lambda v: 0), SINGLE, FACTOR, DETACHED),
    alone(
        'an element times 1.1',
        b.SQUARE_TIMES,
        lambda g, xs, gys: put(g[0], 5, lambda v: 1.1 * v),
        SINGLE,
        FACTOR,
        unseen='the element is off by 0.1 of 2xw, which is 0.02 for ordinary and 0.002 for small x and w; values of '
        'order 1 to 5 are rounded by 1e-7 to 3e-7 each, n of them by sqrt(n) as much, and a step of 5e-3 divides by '
        'that: 2e-4 at 12 elements and 2e-3 at 1200, and a check must stay several times above its noise',
    ),
    alone('shifted', b.TANH, lambda g, xs, gys: np.roll(g[0], 1, 0), 'shifted'),
]
