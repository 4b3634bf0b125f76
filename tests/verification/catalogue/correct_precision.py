"""Right functions that look suspicious at 50 digits: rounded constants, lost digits, kinks, other code paths."""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg
import scipy.special

import minichainer.functions as F
import minichainer.links as L
from tests.verification.catalogue import bases as b
from tests.verification.catalogue.correct import around, between, near
from tests.verification.catalogue.correct import one as right_one
from tests.verification.catalogue.correct import right as right_of_arrays
from tests.verification.catalogue.correct_conditions import of_package
from tests.verification.catalogue.entry import Case, Correct, as_dtype, generator, raw
from tests.verification.catalogue.planted_precision import HILBERT, NEWTON, hilbert

KINK = ('nondifferentiable',)


def one(name, why, *args, **more):
    return right_one(f'at 50 digits: {name}', why, *args, **{'dtypes': 'd', **more})


def right(name, why, *args, **more):
    return right_of_arrays(f'at 50 digits: {name}', why, *args, **{'dtypes': 'd', **more})


def package(name, why, draw, func, **more):
    return of_package(f'at 50 digits: {name}', why, draw, func, **more)


def by_differences(name, why, draw, forward, slope, **more):
    """Elementwise, of a forward that complex numbers do not pass through."""
    name = f'at 50 digits: {name}'

    def build(shape, dtype, seed):
        inputs = as_dtype(draw(shape, generator(name, seed)), dtype)
        return Case(raw(lambda x: forward(x), lambda xs, gys: [gys[0] * slope(xs[0])]), inputs)

    return Correct(name, why, build, **{'dtypes': 'd', 'tolerance': 1e-6, **more})


def one_input(x):
    return lambda s, r: (x(s, r),)


# --- rounded constants and cancelling rules -------------------------------------------------------------------------


def _gelu_slope(x):
    t = np.tanh(0.7978845608028654 * (x + 0.044715 * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 0.134145 * x * x)


ROUNDED = [
    one('divided by 3', 'the rule multiplies by a rounded 1/3', around(0), lambda x: x / 3, lambda x: 0 * x + 1 / 3),
    one(
        'decimal logarithm',
        'the rule has a rounded ln 10',
        between(0.5, 3),
        np.log10,
        lambda x: 1 / (x * math.log(10)),
    ),
    one(
        'sin(pi x) at whole numbers',
        'pi is rounded',
        near(3, 1e-3),
        lambda x: np.sin(np.pi * x),
        lambda x: np.pi * np.cos(np.pi * x),
    ),
    one(
        'cos(pi x) at whole numbers',
        'the slope is the rounding of pi',
        near(3, 1e-9),
        lambda x: np.cos(np.pi * x),
        lambda x: -np.pi * np.sin(np.pi * x),
        tolerance=1e-6,
    ),
    one(
        'gelu with sqrt(2 / pi) of 16 digits',
        'a rounded constant',
        around(0),
        lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        _gelu_slope,
    ),
    one('mean times 1/n', 'n is no power of two', around(0), lambda x: (x * x) * (1 / 12), lambda x: x / 6),
    one(
        'two logarithms that cancel',
        'rounded constants are all that remains',
        between(0.5, 3),
        lambda x: x + np.log(x) / math.log(2) - np.log2(x),
        lambda x: 1 + 1 / (x * math.log(2)) - 1 / (x * math.log(2)),
        tolerance=1e-6,
    ),
    one(
        'rule that cancels',
        '(x + 1e4)**2 - x*x written out',
        around(0),
        lambda x: (x + 1e4) ** 2 - x * x,
        lambda x: 2 * (x + 1e4) - 2 * x,
    ),
    one(
        'rule of (x - 1)**5 written out',
        'cancels',
        near(1, 0.05),
        lambda x: (x - 1) ** 5,
        lambda x: 5 * x**4 - 20 * x**3 + 30 * x**2 - 20 * x + 5,
        tolerance=1e-6,
        rounding=1e-13,
    ),
    one(
        'tanh by exponentials',
        'another formula in the rule',
        around(0),
        np.tanh,
        lambda x: 4 / (np.exp(x) + np.exp(-x)) ** 2,
    ),
]


def _logistic(x):
    return 1 / (1 + np.exp(-x))


SATURATED = [
    one(
        'y (1 - y) at 30',
        'the rule cancels',
        around(30, 2),
        _logistic,
        lambda x: _logistic(x) * (1 - _logistic(x)),
        rounding=1e-15,
        verdicts=('pass', 'unresolved'),
    ),
    one(
        '1 - y*y of tanh at 12',
        'the rule cancels',
        around(12, 1),
        np.tanh,
        lambda x: 1 - np.tanh(x) ** 2,
        rounding=1e-14,
    ),
    one(
        '1 - y*y of tanh at 25',
        'the gradient is 0 in float64',
        around(25, 1),
        np.tanh,
        lambda x: 1 - np.tanh(x) ** 2,
        rounding=1e-14,
    ),
    one(
        'exp(-x*x) at 27',
        'below the smallest normal number',
        around(27, 0.02),
        lambda x: np.exp(-x * x),
        lambda x: -2 * x * np.exp(-x * x),
        tolerance=1e-2,
        verdicts=('pass', 'unresolved'),
    ),
    one(
        'exp(-x*x) at 40',
        'zero in float64',
        around(40, 0.1),
        lambda x: np.exp(-x * x),
        lambda x: -2 * x * np.exp(-x * x),
    ),
    one(
        'erf at 7',
        '1 in float64',
        around(7, 0.2),
        lambda x: scipy.special.erf(x),
        lambda x: 2 / math.sqrt(math.pi) * np.exp(-x * x),
        rounding=1e-15,
    ),
    package(
        'sigmoid at 36',
        'nearly 1',
        one_input(around(36, 1)),
        F.sigmoid,
        forward=_logistic,
        tolerance=1e-6,
        rounding=1e-15,
    ),
    package('softplus at -40', 'nearly 0', one_input(around(-40, 1)), F.softplus, tolerance=1e-6),
    package('log_ndtr at -30', 'a ratio of tiny numbers', one_input(around(-30, 1)), F.log_ndtr, order=2),
    package(
        'softmax of logits of 700',
        'some results are no normal numbers',
        one_input(around(0, 700)),
        F.softmax,
        forward=b._softmax,
        tolerance=1e-6,
        rounding=1e-15,
        verdicts=('pass', 'unresolved'),
    ),
]

# --- floats inside --------------------------------------------------------------------------------------------------


def _each(function):
    def forward(x):
        return np.array([function(float(v)) for v in x.ravel()]).reshape(x.shape)

    return forward


def _of_fft(x):
    return np.real(np.fft.ifft(np.fft.fft(x, axis=-1), axis=-1)) ** 2


def _in_a_new_array(x):
    y = np.empty(x.shape)
    y[...] = x * x
    return y


def _solved(x):
    return scipy.linalg.solve_triangular(np.eye(x.shape[0]) + np.tri(x.shape[0], k=-1) / 2, x, lower=True)


def _solved_vjp(xs, gy):
    return scipy.linalg.solve_triangular(np.eye(len(gy)) + np.tri(len(gy), k=-1) / 2, gy, lower=True, trans=1)


FLOATS = [
    by_differences('math.sin of each element', 'float() of each', one_input(around(0)), _each(math.sin), np.cos),
    by_differences(
        'rule by math.cos of each element', 'float() in the rule', one_input(around(0)), np.sin, _each(math.cos)
    ),
    by_differences(
        'a rule that goes through lists',
        'tolist',
        one_input(around(0)),
        np.sin,
        lambda x: np.array([math.cos(v) for v in x.ravel().tolist()]).reshape(x.shape),
    ),
    by_differences('Fourier transforms', 'no ufuncs', one_input(around(0)), _of_fft, lambda x: 2 * x),
    by_differences(
        'written to a new float array', 'numpy.empty', one_input(around(0)), _in_a_new_array, lambda x: 2 * x
    ),
    by_differences(
        'a special function of SciPy',
        'no method of numbers',
        one_input(between(1, 3)),
        scipy.special.j0,
        lambda x: -scipy.special.j1(x),
    ),
    right('solved by LAPACK', 'compiled code', one_input(around(0)), _solved, _solved_vjp),
    package(
        'inverse by LAPACK of a Hilbert matrix',
        'condition 1e7',
        hilbert,
        F.inv,
        forward=np.linalg.inv,
        stretches=False,
        tolerance=1e-5,
    ),
    by_differences(
        'memory read as floats',
        'tobytes',
        one_input(around(0)),
        lambda x: np.frombuffer(np.ascontiguousarray(x).tobytes()).reshape(x.shape) ** 2,
        lambda x: 2 * x,
    ),
]


def _memo():
    """The square, remembered by the bytes of the input."""
    known = {}

    def forward(x):
        key = x.tobytes()
        if key not in known:
            known[key] = np.square(x)
        return known[key].copy()

    return forward


def _remembered(shape, dtype, seed):
    x = generator('memo', seed).normal(size=shape)
    return Case(raw(_memo(), lambda xs, gys: [2 * xs[0] * gys[0]]), (x,))


# --- kinks ----------------------------------------------------------------------------------------------------------
def _half_at(point):
    """Every other element at the point, the rest away from it."""

    def draw(s, r):
        x = b.normal(r, *s)
        x.flat[::2] = point
        return x

    return draw


KINKS = [
    one(
        'relu 1e-12 from its kink',
        'steps of float64 reach it',
        near(0, 1e-12),
        lambda x: np.where(x.real < 0, 0 * x, x),
        lambda x: np.where(x < 0, 0.0, 1.0),
        stretches=False,
        verdicts=('pass', *KINK),
    ),
    one(
        '|x - 1|, the next number',
        '2e-16 from its kink',
        lambda s, r: np.nextafter(np.ones(s), r.choice([0, 2], s)),
        lambda x: np.where(x.real < 1, 1 - x, x - 1),
        lambda x: np.where(x < 1, -1.0, 1.0),
        verdicts=('pass', *KINK),
    ),
    one(
        'relu 1e-30 from its kink',
        'the step reaches it',
        near(0, 1e-30),
        lambda x: np.where(x.real < 0, 0 * x, x),
        lambda x: np.where(x < 0, 0.0, 1.0),
        verdicts=('pass', *KINK),
    ),
    one(
        'relu at 0',
        'at its kink',
        _half_at(0.0),
        lambda x: np.where(x.real < 0, 0 * x, x),
        lambda x: np.where(x < 0, 0.0, 1.0),
        verdicts=KINK,
    ),
    one(
        '|x - 1| at 1',
        'at its kink',
        _half_at(1.0),
        lambda x: np.where(x.real < 1, 1 - x, x - 1),
        lambda x: np.where(x < 1, -1.0, 1.0),
        verdicts=KINK,
    ),
    one(
        'x|x| at 0',
        'smooth, though its parts are not',
        _half_at(0.0),
        lambda x: np.where(x.real < 0, -x * x, x * x),
        lambda x: 2 * abs(x),
    ),
    one(
        'Huber loss at delta',
        'the second derivative jumps',
        _half_at(1.0),
        lambda x: np.where(abs(x.real) <= 1, 0.5 * x * x, np.where(x.real < 0, -x, x) - 0.5),
        lambda x: np.clip(x, -1, 1),
    ),
    one(
        'sin(x) / x at 0',
        'a branch for one number',
        _half_at(0.0),
        lambda x: np.where(x == 0, 1.0, np.sin(x) / np.where(x == 0, 1, x)),
        lambda x: np.where(x == 0, 0.0, (x * np.cos(x) - np.sin(x)) / np.where(x == 0, 1, x) ** 2),
    ),
    one(
        'x*x by squares of pieces',
        'pieces meet without a kink',
        around(0),
        lambda x: np.where(x.real < 0.3, x * x, (x - 0.3) ** 2 + 0.6 * (x - 0.3) + 0.09),
        lambda x: 2 * x,
    ),
]

# --- other ways, states and random numbers --------------------------------------------------------------------------


def _until_it_stands(x):
    """Square roots by Newton, until they change no more."""
    y = 0.5 + 0.5 * x
    for _ in range(200):
        z = 0.5 * (y + x / y)
        if (abs(z - y) <= 1e-14 * abs(y)).all():
            return z
        y = z
    return y


def _fixed_point(x):
    """y = cos(y) / 2 + x, iterated until it stands."""
    y = x
    for _ in range(300):
        z = np.cos(y) / 2 + x
        if (z == y).all():
            return z
        y = z
    return y


def _of_fixed_point(x):
    return 1 / (1 + np.sin(_fixed_point(x)) / 2)


OTHER_WAYS = [
    one(
        'square root by Newton until it stands',
        'more rounds at 50 digits',
        between(0.5, 3),
        _until_it_stands,
        lambda x: 0.5 / np.sqrt(x),
    ),
    one('fixed point until it stands', 'more rounds at 50 digits', around(0), _fixed_point, _of_fixed_point),
    one(
        'square root by six rounds of Newton',
        'as many rounds, more digits',
        between(0.5, 3),
        lambda x: NEWTON.forward(x)[0],
        lambda x: 0.5 / np.sqrt(x),
    ),
    one(
        '(1 + x) - 1 at 1e-12',
        'four digits remain in float64',
        between(1e-12, 3e-12),
        lambda x: (1 + x) - 1,
        lambda x: 0 * x + 1,
    ),
    by_differences(
        'another way for plain arrays',
        'type(x) is asked for',
        one_input(around(0)),
        lambda x: np.sin(x) if type(x) is np.ndarray else np.cos(x),
        np.cos,
    ),
    by_differences(
        'scaled by a power of two',
        'frexp',
        one_input(between(0.5, 3)),
        lambda x: (lambda m, e: np.ldexp(m * m, 2 * e))(*np.frexp(x)),
        lambda x: 2 * x,
    ),
    by_differences(
        'steps of 1e-17 added',
        'rounding hides them',
        one_input(around(0)),
        lambda x: x + 1e-17 * np.floor(x * 1e3),
        lambda x: 0 * x + 1,
    ),
    Correct(
        'at 50 digits: remembered by its bytes',
        'bytes of objects are addresses',
        _remembered,
        'd',
        tolerance=1e-6,
        stretches=False,
    ),
    right(
        'a sum of ten exponentials',
        'many roundings',
        one_input(around(0)),
        lambda x: sum(np.exp(-k * x * x) for k in range(1, 11)),
        lambda xs, gy: gy * sum(-2 * k * xs[0] * np.exp(-k * xs[0] ** 2) for k in range(1, 11)),
    ),
    right(
        'twenty rounds of a logistic map',
        'errors grow a millionfold',
        one_input(between(0.2, 0.8)),
        lambda x: _map(x)[0],
        lambda xs, gy: gy * _map(xs[0])[1],
        tolerance=1e-3,
        rounding=1e-3,
    ),
]


def _map(x):
    slope = 1 + 0 * x
    for _ in range(20):
        x, slope = 3.9 * x * (1 - x), slope * 3.9 * (1 - 2 * x)
    return x, slope


def _link(name, make, draw, **more):
    name = f'at 50 digits: {name}'

    def build(shape, dtype, seed):
        rng = generator(name, seed)
        return Case(make(shape), as_dtype(draw(shape, rng), dtype), options={'params': 'all'})

    return Correct(name, 'a link with a state', build, dtypes='d', alone=True, tolerance=1e-6, **more)


def _float64(link):
    """A link whose parameters are of float64."""
    for p in link.params():
        p.array = p.array.astype('d')
        p.cleargrad()
    return link


def _noisy(shape, dtype, seed):
    x = generator('noisy', seed).normal(size=shape)

    def forward(x):
        return x * np.random.RandomState(3).normal(size=x.shape) + x * x

    def rule(xs, gys):
        return [gys[0] * (np.random.RandomState(3).normal(size=xs[0].shape) + 2 * xs[0])]

    return Case(raw(forward, rule), (x,), None, forward)


STATES = [
    _link('batch normalization', lambda s: _float64(L.BatchNormalization(s[1], dtype='d')), one_input(around(0))),
    _link('linear', lambda s: _float64(L.Linear(s[1], 3)), one_input(around(0))),
    Correct('at 50 digits: random numbers with a seed', 'drawn again at each call', _noisy, 'd'),
]
SINGLE = [
    right_one(
        'at 50 digits: constants of 8 digits, in float32',
        'enough for float32',
        around(0),
        lambda x: x * math.sqrt(2 / math.pi),
        lambda x: x.dtype.type(0.79788456) + 0 * x,
        dtypes='f',
        tolerance=1e-7,
    ),
    right_one(
        'at 50 digits: log(10) of 8 digits, in float32',
        'enough for float32',
        between(0.5, 3),
        np.log10,
        lambda x: 1 / (x * x.dtype.type(2.3025851)),
        dtypes='f',
        tolerance=1e-7,
    ),
    right_one(
        'at 50 digits: rule in float32, for float32',
        'enough for float32',
        between(0.5, 3),
        np.sin,
        lambda x: np.cos(x),
        dtypes='f',
        tolerance=1e-7,
    ),
]
MATRICES = [
    right(
        'inverse by elimination of a Hilbert matrix',
        'condition 1e7',
        hilbert,
        lambda a: HILBERT.forward(a)[0],
        lambda xs, gy: HILBERT.vjp(xs, [gy])[0],
        tolerance=1e-6,
        stretches=False,
    ),
    package(
        'determinant of a nearly singular matrix',
        'cancels',
        lambda s, r: (_nearly_singular(r),),
        F.det,
        tolerance=1e-5,
        stretches=False,
    ),
    package(
        'variance by two means',
        'cancels',
        one_input(around(100)),
        lambda x: F.mean(x * x, axis=1) - F.mean(x, axis=1) ** 2,
        tolerance=1e-5,
    ),
]


def _nearly_singular(r):
    x = r.normal(size=(4, 4))
    x[3] = x[0] + 1e-7 * x[3]
    return x


ENTRIES = [*ROUNDED, *SATURATED, *FLOATS, *KINKS, *OTHER_WAYS, *STATES, *SINGLE, *MATRICES]
