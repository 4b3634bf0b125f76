"""Gradients that are almost right, by 1e-6 to 1e-12: seen where slopes are computed at 50 digits."""

from __future__ import annotations

import numpy as np

from minichainer.differentiate import grad
from minichainer.variable import Variable
from tests.verification.catalogue import bases as b
from tests.verification.catalogue.bases import Base
from tests.verification.catalogue.conditional import WithWeights
from tests.verification.catalogue.entry import Case, FastPlan, Planted, function, generator, raw, twice
from tests.verification.catalogue.planting import put
from tests.verification.catalogue.truth import gradients

#: With two inputs, or two outputs, there may be more than the 256 elements of the default.
PRECISE = {'precise': True}


def inner(shape):
    """At most 10 rows and 12 columns: input and output together have at most the 256 elements of the default."""
    return min(shape[0], 10), min(shape[1], 12)


def almost(name, base, wrong, at=0, make=raw, **more):
    """``base`` whose gradient of input ``at`` is ``wrong(g, xs, gys)``, g the right one of that input."""
    name = f'almost right: {name}'

    def vjp(xs, gys):
        g = base.vjp(xs, gys)
        return [wrong(gradient, xs, gys) if i == at else gradient for i, gradient in enumerate(g)]

    def build(shape, dtype, seed):
        inputs = base.draw(inner(shape), generator(name, seed))
        return Case(make(base.forward, vjp), inputs, raw(base.forward, base.vjp), base.forward, PRECISE)

    return planted(name, build, at, **more)


def planted(name, build, at=None, order=1, **more):
    more.setdefault('proof', lambda case: _is_apart(case, order))
    return Planted(name, 'precision', build, at, order=order, dtypes='d', **more)


def _is_apart(case, order):
    """Whether some element of some gradient is off by more than rounding, relative to itself."""
    found, wanted = (gradients(func, case, order, 0) for func in (case.func, case.right))
    return any((abs(g - w) > 2e-13 * abs(w)).any() for g, w in zip(found, wanted, strict=True) if w is not None)


def times(size):
    return lambda g, xs, gys: (1 + size) * g


def element(index, size):
    return lambda g, xs, gys: put(g, index, lambda v: (1 + size) * v)


def rows_times(rows, size):
    def wrong(g, xs, gys):
        g = g.copy()
        g[rows] = g[rows] * (1 + size)
        return g

    return wrong


FACTORS = [
    almost('exp times 1 + 1e-6', b.EXP, times(1e-6)),
    almost('second matrix times 1 + 1e-8', b.MATMUL, times(1e-8), at=1),
    almost('softmax times 1 + 1e-9', b.SOFTMAX, times(1e-9)),
    almost('normalised rows times 1 + 1e-10', b.NORMALISE, times(1e-10)),
    almost('weights of a window times 1 + 1e-11', b.WINDOWS, times(1e-11), at=1),
    almost('tanh times 1 + 1e-12', b.TANH, times(1e-12)),
    almost('logarithms of a softmax times 1 - 1e-12', b.LOG_SOFTMAX, times(-1e-12)),
]
PARTS = [
    almost('an element times 1 + 1e-9', b.TANH, element(5, 1e-9)),
    almost('the last element times 1 + 1e-11', b.EXP, element(-1, 1e-11)),
    almost('an element of a broadcast weight times 1 + 1e-12', b.SQUARE_TIMES, element(1, 1e-12), at=1),
    almost('a row times 1 + 1e-10', b.PRODUCT, rows_times(1, 1e-10), at=1),
    almost(
        'a row counted 1 + 1e-9 times in a sum',
        b.SQUARE_TIMES,
        lambda g, xs, gys: g + 1e-9 * xs[0][0] ** 2 * gys[0][0],
        at=1,
    ),
    almost('the part of the second output times 1 + 1e-11', b.TWO, lambda g, xs, gys: g + 1e-11 * gys[1]),
]


def _softmax_term(size):
    """The sum in the rule of the softmax has another factor."""

    def wrong(g, xs, gys):
        y = b._softmax(xs[0])
        return g - size * y * (y * gys[0]).sum(-1, keepdims=True)

    return wrong


def _deviation_term(g, xs, gys):
    c, inv = b.centred(xs[0])
    return g + 1e-10 * inv * c * inv * (c * inv * gys[0]).mean(-1, keepdims=True)


TERMS = [
    almost(
        'second term of tanh times 1 + 1e-10', b.TANH, lambda g, xs, gys: g - 1e-10 * gys[0] * np.tanh(xs[0]) ** 2
    ),
    almost('sum of the softmax times 1 + 1e-9', b.SOFTMAX, _softmax_term(1e-9)),
    almost('deviation of normalised rows times 1 - 1e-10', b.NORMALISE, _deviation_term),
    almost('cube times 1 + 1e-9', b.POLYNOMIAL, lambda g, xs, gys: g + 3e-9 * xs[0] ** 2 * gys[0]),
    almost('1e-10 of gy added', b.SINE, lambda g, xs, gys: g + 1e-10 * gys[0]),
    almost('1e-10 of the neighbour added', b.EXP, lambda g, xs, gys: g + 1e-10 * np.roll(g, 1, -1)),
    almost('1e-9 of the other input added', b.QUOTIENT, lambda g, xs, gys: g + 1e-9 * g * xs[1]),
]

# --- constants and methods ------------------------------------------------------------------------------------------


def elementwise(name, forward, slope, draw=b._one):
    return Base(name, draw, lambda x: (forward(x),), lambda xs, gys: [gys[0] * slope(xs[0])])


def _of_gelu(c):
    """Value and slope of the gelu by tanh with the constant c."""

    def value(x):
        return 0.5 * x * (1 + np.tanh(c * (x + 0.044715 * x**3)))

    def slope(x):
        t = np.tanh(c * (x + 0.044715 * x**3))
        return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x)

    return value, slope


GELU = elementwise('gelu by tanh', *_of_gelu(np.sqrt(2 / np.pi)))
WAVE = elementwise('sin(pi x)', lambda x: np.sin(np.pi * x), lambda x: np.pi * np.cos(np.pi * x))
SMOOTH = elementwise('sqrt(x*x + 1e-10)', lambda x: np.sqrt(x * x + 1e-10), lambda x: x / np.sqrt(x * x + 1e-10))
SMALL_SINE = elementwise('sin near 0.02', np.sin, np.cos, lambda s, r: (r.uniform(0.01, 0.03, s),))

THIRD = elementwise('x / 3', lambda x: x / 3, lambda x: 1 / 3)


def _iterates(x, count):
    """Square roots of numbers between 1/2 and 3, by Newton."""
    y = 0.5 + 0.5 * x
    for _ in range(count):
        y = 0.5 * (y + x / y)
    return y


NEWTON = elementwise('square root by Newton', lambda x: _iterates(x, 6), lambda x: 0.5 / _iterates(x, 6), b.SQRT.draw)


def _quotient_of_differences(g, xs, gys):
    return gys[0] * (np.tanh(xs[0] + 1e-4) - np.tanh(xs[0] - 1e-4)) / 2e-4


def _a_third_far_out(s, r):
    chosen = r.permutation(int(np.prod(s))).reshape(s) % 3 == 0
    return (np.where(chosen, -25, 1.0) * r.uniform(0.85, 1, s),)


METHODS = [
    almost('sqrt(2 / pi) of 8 digits', GELU, lambda g, xs, gys: gys[0] * _of_gelu(0.79788456)[1](xs[0])),
    almost('pi of 10 digits', WAVE, lambda g, xs, gys: g * (3.141592654 / np.pi)),
    almost('1/3 in float32', THIRD, times(3 * float(np.float32(1 / 3)) - 1)),
    almost('smoothing left out', SMOOTH, lambda g, xs, gys: gys[0] * np.where(xs[0] < 0, -1.0, 1.0)),
    almost('series cut off', SMALL_SINE, lambda g, xs, gys: gys[0] * (1 - xs[0] ** 2 / 2)),
    almost('a quotient of differences', b.TANH, _quotient_of_differences),
    almost('the iterate before the last', NEWTON, lambda g, xs, gys: gys[0] * 0.5 / _iterates(xs[0], 3)),
    almost(
        'input kept in float32',
        b.PRODUCT,
        lambda g, xs, gys: gys[0] * xs[1].astype('f').astype('d'),
    ),
    almost(
        'exponentials below e**-20 are 0',
        elementwise(
            'exp from -25 to 1',
            np.exp,
            np.exp,
            _a_third_far_out,
        ),
        lambda g, xs, gys: np.where(xs[0] < -20, 0, g),
    ),
]

# --- points at which differences see little -------------------------------------------------------------------------


def eliminated(a):
    """The inverse of a matrix by elimination, without pivoting."""
    rows = np.concatenate([a, np.zeros_like(a) + np.eye(len(a))], axis=1)
    for k in range(len(a)):
        rows[k] = rows[k] / rows[k, k]
        for other in range(len(a)):
            if other != k:
                rows[other] = rows[other] - rows[other, k] * rows[k]
    return rows[:, len(a) :]


def _inverse_vjp(xs, gys):
    y = eliminated(xs[0])
    return [-(y.T @ gys[0] @ y.T)]


def hilbert(s, r):
    return (1 / (np.arange(6)[:, None] + np.arange(6) + 1.0),)


HILBERT = Base('inverse of a Hilbert matrix', hilbert, lambda a: (eliminated(a),), _inverse_vjp)
TINY = elementwise('1/x at 1e-8', lambda x: 1 / x, lambda x: -1 / x**2, lambda s, r: (r.uniform(1e-8, 3e-8, s),))
SPREAD = elementwise(
    '1/x from 1e-8 to 1e8', lambda x: 1 / x, lambda x: -1 / x**2, lambda s, r: (10 ** r.uniform(-8, 8, s),)
)
OFFSET = elementwise('sin(x) + 1e12', lambda x: 1e12 + np.sin(x), np.cos)
WRITTEN_OUT = elementwise(
    '(x - 1)**5 written out',
    lambda x: x**5 - 5 * x**4 + 10 * x**3 - 10 * x**2 + 5 * x - 1,
    lambda x: 5 * (x - 1) ** 4,
    lambda s, r: (1 + 0.01 * b.normal(r, *s),),
)
BELL = elementwise(
    'exp(-x*x) at 8', lambda x: np.exp(-x * x), lambda x: -2 * x * np.exp(-x * x), lambda s, r: (r.uniform(7, 9, s),)
)
STEEP = elementwise(
    'arccos 1e-8 from 1',
    np.arccos,
    lambda x: -1 / np.sqrt((1 - x) * (1 + x)),
    lambda s, r: (1 - r.uniform(1e-8, 3e-8, s),),
)
UNEVEN = Base(
    'x*x + y*y with y of 1e-6',
    lambda s, r: (b.normal(r, *s), 1e-6 * b.normal(r, *s)),
    lambda x, y: (x * x + y * y,),
    lambda xs, gys: [2 * xs[0] * gys[0], 2 * xs[1] * gys[0]],
)
ILL_CONDITIONED = [
    almost('Hilbert matrix, times 1 + 1e-6', HILBERT, times(1e-6)),
    almost('Hilbert matrix, times 1 + 1e-9', HILBERT, times(1e-9)),
    almost('Hilbert matrix, times 1 + 1e-12', HILBERT, times(1e-12)),
    almost('Hilbert matrix, an element times 1 + 1e-8', HILBERT, element(-1, 1e-8)),
    almost('1/x at 1e-8, times 1 + 1e-12', TINY, times(1e-12)),
    almost('1/x from 1e-8 to 1e8, times 1 - 1e-12', SPREAD, times(-1e-12)),
    almost('large offset, times 1 + 1e-12', OFFSET, times(1e-12)),
    almost('large offset, an element times 1 + 1e-8', OFFSET, element(3, 1e-8)),
    almost('cancelling terms, times 1 + 1e-9', WRITTEN_OUT, times(1e-9)),
    almost('tiny values, times 1 + 1e-10', BELL, times(1e-10)),
    almost('steep, times 1 + 1e-11', STEEP, times(1e-11)),
    almost('a tiny input beside another, times 1 + 1e-9', UNEVEN, times(1e-9), at=1),
]


def beside_kink(distance):
    return lambda s, r: (np.where(r.rand(*s) < 0.5, -1, 1) * r.uniform(distance, 3 * distance, s),)


def _some_beside_kink(s, r):
    x = b.normal(r, *s)
    x.flat[::3] = abs(x.flat[::3]) * 1e-12
    return (x,)


def _two_close(s, r):
    x = b._distinct(s, r)[0]
    x[:, 0] = x.max(-1) + 1
    x[:, 1] = x[:, 0] - 1e-12
    return (x,)


LEAKY = elementwise(
    'leaky relu', lambda x: np.where(x < 0, 0.2 * x, x), lambda x: np.where(x < 0, 0.2, 1.0), beside_kink(1e-12)
)
RELU = elementwise(
    'relu', lambda x: np.where(x < 0, 0 * x, x), lambda x: np.where(x < 0, 0.0, 1.0), _some_beside_kink
)
CLOSE = Base('max of rows, 1e-12 apart', _two_close, b.GREATEST.forward, b.GREATEST.vjp)
KINKS = [
    almost('1e-12 from a kink, times 1 + 1e-9', LEAKY, times(1e-9)),
    almost(
        'times 1 + 1e-8 within 1e-9 of a kink',
        RELU,
        lambda g, xs, gys: np.where(abs(xs[0]) < 1e-9, (1 + 1e-8) * g, g),
    ),
    almost('a maximum 1e-12 from a tie, times 1 + 1e-11', CLOSE, times(1e-11)),
    almost(
        '1e-9 of the gradient to the second of a near tie', CLOSE, lambda g, xs, gys: g + 1e-9 * np.roll(g, 1, -1)
    ),
]

# --- in one of the rules, of a parameter, of one sign, at second order ----------------------------------------------


def of_rule(on_variables):
    """A node that has the fault in one of its two rules, on arrays or on Variables."""

    def make(forward, vjp):
        def on_arrays(xs, gys):
            return vjp(xs, gys)

        def right(xs, gys):
            x = xs[0].array
            return (gys[0] * np.exp(x),)

        def wrong(xs, gys):
            return (gys[0] * (np.exp(xs[0].array) * (1 + 1e-11)),)

        return function(forward, wrong if on_variables else right, _fast(b.EXP.vjp if on_variables else on_arrays))

    return make


def _fast(rule):
    return lambda forward, backward: FastPlan(forward, backward, rule)


def _is_apart_recorded(case):
    """The same for gradients that are recorded, by the rules on Variables."""
    x = Variable(case.inputs[0])
    y = case.func(x)
    (g,) = grad([y], [x], [Variable(np.ones_like(y.array))], enable_double_backprop=True)
    return bool((abs(g.array - np.exp(x.array)) > 2e-13 * np.exp(x.array)).any())


def _link(shape, dtype, seed):
    name = 'almost right: a parameter times 1 + 1e-10'
    x, k = b.WINDOWS.draw(inner(shape), generator(name, seed))

    def wrong(xs, gys):
        gx, gk = b.WINDOWS.vjp(xs, gys)
        return [gx, (1 + 1e-10) * gk]

    func, right = (WithWeights(raw(b.WINDOWS.forward, rule), k.copy()) for rule in (wrong, b.WINDOWS.vjp))
    return Case(func, (x,), right, options={'params': 'all', **PRECISE})


ELSEWHERE = [
    almost('the rule on arrays times 1 + 1e-11', b.EXP, times(1e-11), make=of_rule(False)),
    almost(
        'the rule on Variables times 1 + 1e-11',
        b.EXP,
        times(1e-11),
        make=of_rule(True),
        where='any',
        proof=_is_apart_recorded,
    ),
    planted('almost right: a parameter times 1 + 1e-10', _link, at='/k'),
    almost(
        'negative gy times 1 + 1e-10',
        b.MATMUL,
        lambda g, xs, gys: b.MATMUL.vjp(xs, [np.where(gys[0] < 0, (1 + 1e-10) * gys[0], gys[0])])[0],
        where='whole',
    ),
    almost('1e-10 gy |gy| added', b.TANH, lambda g, xs, gys: g + 1e-10 * gys[0] * abs(gys[0]), where='whole'),
]


def _second(name, wrong, sine=True):
    """The sine, whose second order is ``wrong`` of the right gradients."""

    def right(xs, gys, ggxs):
        x, gy, ggx = xs[0], gys[0], ggxs[0]
        return [-4 * np.sin(2 * x) * gy * ggx, 2 * np.cos(2 * x) * ggx]

    def build(shape, dtype, seed):
        inputs = b.SINE.draw(inner(shape), generator(name, seed))
        func = twice(b.SINE.forward, b.SINE.vjp, lambda *args: wrong(*right(*args)))
        return Case(func, inputs, twice(b.SINE.forward, b.SINE.vjp, right), b.SINE.forward, PRECISE)

    return planted(f'almost right at second order: {name}', build, order=2)


SECOND_ORDER = [
    _second('times 1 + 1e-11', lambda gx, ggy: [(1 + 1e-11) * gx, ggy]),
    _second('of the upstream gradient, times 1 - 1e-12', lambda gx, ggy: [gx, (1 - 1e-12) * ggy]),
    _second('an element times 1 + 1e-10', lambda gx, ggy: [put(gx, 2, lambda v: (1 + 1e-10) * v), ggy]),
    _second('1e-9 of the other added', lambda gx, ggy: [gx + 1e-9 * ggy, ggy]),
]

ENTRIES = [*FACTORS, *PARTS, *TERMS, *METHODS, *ILL_CONDITIONED, *KINKS, *ELSEWHERE, *SECOND_ORDER]
