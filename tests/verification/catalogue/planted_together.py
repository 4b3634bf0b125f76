"""Several outputs: the gradient is right for each of them alone, and wrong for both together."""

from __future__ import annotations

import numpy as np

from tests.verification.catalogue import bases as b
from tests.verification.catalogue.bases import Base
from tests.verification.catalogue.conditional import conditional, of_function, of_link, planted
from tests.verification.catalogue.entry import Case, as_dtype, generator, twice
from tests.verification.catalogue.situations import ORDINARY, Situation


def alone(k):
    """An upstream gradient for output ``k`` only."""
    return Situation(upstream=lambda gys: [gy if i == k else None for i, gy in enumerate(gys)])


def _statistics(x):
    c, inv = b.centred(x)
    return c * inv, x.mean(-1, keepdims=True)


def _statistics_vjp(xs, gys):
    return [b.NORMALISE.vjp(xs, gys)[0] + gys[1] / xs[0].shape[-1]]


def _filtered(x, k):
    return b._windows(x, k)[0], (x * x).sum(0)


def _filtered_vjp(xs, gys):
    gx, gk = b._windows_vjp(xs, gys)
    return [gx + 2 * xs[0] * gys[1], gk]


TANH_AND_EXP = Base(
    'tanh(x) and exp(x)',
    b._one,
    lambda x: (np.tanh(x), np.exp(x)),
    lambda xs, g: [b.TANH.vjp(xs, g)[0] + g[1] * np.exp(xs[0])],
)
MATMUL_AND_SQUARE = Base(
    'x @ w and x*x',
    b.MATMUL.draw,
    lambda x, w: (x @ w, x * x),
    lambda xs, g: [g[0] @ xs[1].T + 2 * xs[0] * g[1], xs[0].T @ g[0]],
)
STATISTICS = Base('normalised rows and their means', b._one, _statistics, _statistics_vjp)
FILTERED = Base('a filter and the energy', b.WINDOWS.draw, _filtered, _filtered_vjp)
DIFFERENT_AND_SUM = Base(
    'x*y and x + 2y',
    b._pair,
    lambda x, y: (x * y, x + 2 * y),
    lambda xs, g: [xs[1] * g[0] + g[1], xs[0] * g[0] + 2 * g[1]],
)
PAIRS = [
    ('tanh and exp', TANH_AND_EXP, of_function),
    ('x*y and x + y*y', b.TWO, of_function),
    ('matrix product and square', MATMUL_AND_SQUARE, of_function),
    ('filter link', FILTERED, of_link),
    ('normalised rows and means', STATISTICS, of_function),
    ('product and sum', DIFFERENT_AND_SUM, of_function),
]


def parts(base, xs, gys):
    """The gradients that each output alone would give."""
    zeros = [np.zeros_like(gy) for gy in gys]
    return [base.vjp(xs, [gy if i == k else zeros[i] for i, gy in enumerate(gys)]) for k in range(len(gys))]


def merged(rule):
    """A fault: ``rule(a, c, gys)`` instead of the sum of two parts, where both outputs have a gradient."""

    def of_base(base):
        def wrong(g, xs, gys):
            if not all(gy.any() for gy in gys):
                return g
            return [np.asarray(rule(a, c, gys), a.dtype) for a, c in zip(*parts(base, xs, gys), strict=True)]

        return wrong

    return of_base


#: Where each output has the only upstream gradient.
ALONE = (alone(0), alone(1))


def family(what, rule, start, situation=ORDINARY, ordinary=ALONE, count=3):
    """The rule in some of the functions."""
    chosen = [PAIRS[(start + i) % len(PAIRS)] for i in range(count)]
    return [
        conditional(
            f'{what}: {name}', 'together', base, merged(rule)(base), situation, cases=cases, ordinary=ordinary
        )
        for name, base, cases in chosen
    ]


def _alike(gys):
    return gys[0].shape == gys[1].shape and bool((gys[0] == gys[1]).all())


def _sizes(gys):
    return [float(abs(gy).max()) for gy in gys]


def where_both(gys, a):
    """Where the two upstream gradients agree in sign, if they have the shape of the part."""
    same_shape = gys[0].shape == gys[1].shape == a.shape
    return (gys[0] > 0) == (gys[1] > 0) if same_shape else np.ones(a.shape, bool)


ones = Situation(upstream=lambda gys: [np.ones_like(gy) for gy in gys])


def times(first, second):
    return Situation(upstream=lambda gys: [gys[0] * first, gys[1] * second])


BOTH = [
    *family('second ignored beside the first', lambda a, c, gys: a, 0, count=6),
    *family('first ignored beside the second', lambda a, c, gys: c, 1),
    *family('the larger of both parts', lambda a, c, gys: np.where(abs(a) > abs(c), a, c), 2),
    *family('mean of both parts', lambda a, c, gys: (a + c) / 2, 3),
    *family('the first part twice', lambda a, c, gys: 2 * a, 4),
    *family('difference of both parts', lambda a, c, gys: a - c, 5),
    *family('the second part written over the first', lambda a, c, gys: np.where(c != 0, c, a), 0),
    *family('1.01 times the second part beside the first', lambda a, c, gys: a + 1.01 * c, 1),
    *family(
        'a product of both upstream gradients added', lambda a, c, gys: a + c + 1e-3 * gys[0].sum() * gys[1].sum(), 2
    ),
    *family('parts doubled where signs agree', lambda a, c, gys: np.where(where_both(gys, a), 2 * (a + c), a + c), 3),
    *family(
        'one element of the second part lost',
        lambda a, c, gys: a + np.where(np.arange(c.size).reshape(c.shape) == 1, 0, c),
        4,
    ),
    *family(
        'the part with the larger upstream gradient alone',
        lambda a, c, gys: a if _sizes(gys)[0] > _sizes(gys)[1] else c,
        5,
    ),
]
EACH = (*ALONE, ORDINARY)
EQUAL = [
    entry
    for start in (0, 1, 5)
    for entry in family(
        'dropped where both upstream gradients are equal',
        lambda a, c, gys: a if _alike(gys) else a + c,
        start,
        ones,
        EACH,
        1,
    )
]
SIZES = [
    *family(
        'second ignored beside a first a thousand times as large',
        lambda a, c, gys: a if _sizes(gys)[0] > 1e3 * _sizes(gys)[1] else a + c,
        0,
        times(1e4, 1),
        EACH,
    ),
    *family(
        'first ignored beside a second a million times as large',
        lambda a, c, gys: c if _sizes(gys)[1] > 1e6 * _sizes(gys)[0] else a + c,
        3,
        times(1, 1e7),
        EACH,
    ),
    *family(
        'second ignored beside one of ones', lambda a, c, gys: a if (gys[0] == 1).all() else a + c, 1, ones, EACH
    ),
]

THREE = Base(
    'x*y, x + y*y and sin(x)',
    b._pair,
    lambda x, y: (x * y, x + y * y, np.sin(x)),
    lambda xs, g: [xs[1] * g[0] + g[1] + np.cos(xs[0]) * g[2], xs[0] * g[0] + 2 * xs[1] * g[1]],
)


def without(k):
    return Situation(upstream=lambda gys: [None if i == k else gy for i, gy in enumerate(gys)])


def of_three(name, rule, ordinary, **more):
    def wrong(g, xs, gys):
        present = [bool(gy.any()) for gy in gys]
        return rule(g, parts(THREE, xs, gys), present)

    return conditional(name, 'together', THREE, wrong, more.pop('situation', ORDINARY), ordinary=ordinary)


def _sum(*parts):
    return [sum(gs) for gs in zip(*parts, strict=True)]


ANY_TWO = (alone(0), alone(1), alone(2), without(0), without(1), without(2))
TRIPLES = [
    of_three(
        'third of three ignored beside both others', lambda g, p, on: _sum(p[0], p[1]) if all(on) else g, ANY_TWO
    ),
    of_three(
        'second of three ignored beside the third',
        lambda g, p, on: _sum(p[0], p[2]) if on[1] and on[2] else g,
        (alone(0), alone(1), alone(2), without(1), without(2)),
    ),
    of_three(
        'first and third of three together halved',
        lambda g, p, on: [x / 2 for x in g] if on == [True, False, True] else g,
        (alone(0), alone(1), alone(2), ORDINARY),
        situation=without(1),
    ),
]


def _second_of_product(xs, gys, ggxs):
    """The right second order of ``x*y``: of ``y gy`` and ``x gy``."""
    (x, y), gy, (ggx, ggy) = xs, gys[0], ggxs
    return [gy * ggy, gy * ggx, y * ggx + x * ggy]


def of_second_order(name, rule):
    """``x*y``, whose gradients are two outputs to the second order."""

    def vjp2(xs, gys, ggxs):
        right = _second_of_product(xs, gys, ggxs)
        if not all(gg.any() for gg in ggxs):
            return right
        a = _second_of_product(xs, gys, [ggxs[0], 0 * ggxs[1]])
        c = _second_of_product(xs, gys, [0 * ggxs[0], ggxs[1]])
        return [rule(p, q) for p, q in zip(a, c, strict=True)]

    def build(shape, dtype, seed):
        inputs = as_dtype(b._pair(shape, generator(name, seed)), dtype)
        forward, vjp = b.PRODUCT.forward, b.PRODUCT.vjp
        return Case(twice(forward, vjp, vjp2), inputs, twice(forward, vjp, _second_of_product), forward)

    return planted(name, 'together', build, ORDINARY, 2, ('fail',), {'ordinary': ALONE})


SECOND = [
    of_second_order('second order: second ignored beside the first', lambda a, c: a),
    of_second_order('second order: first ignored beside the second', lambda a, c: c),
    of_second_order('second order: mean of both parts', lambda a, c: (a + c) / 2),
    of_second_order('second order: the larger of both parts', lambda a, c: np.where(abs(a) > abs(c), a, c)),
]

ENTRIES = BOTH + EQUAL + SIZES + TRIPLES + SECOND
