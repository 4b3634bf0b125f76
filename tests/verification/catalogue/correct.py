"""Right functions at points where other checkers cry wolf."""

from __future__ import annotations

import numpy as np

from tests.verification.catalogue import bases as b
from tests.verification.catalogue.entry import Case, Correct, as_dtype, generator, raw


def right(name, why, draw, forward, vjp, **more):
    """A right function of arrays: ``forward(*xs)`` and ``vjp(xs, gy)`` of its single output."""

    def build(shape, dtype, seed):
        inputs = as_dtype(draw(shape, generator(name, seed)), dtype)
        return Case(raw(forward, lambda xs, gys: _list(vjp(xs, gys[0]))), inputs, None, forward)

    return Correct(name, why, build, **more)


def one(name, why, x, forward, slope, **more):
    """An elementwise function of one input, ``x(shape, rng)``, with its derivative."""
    return right(name, why, lambda s, r: (x(s, r),), forward, lambda xs, gy: gy * slope(xs[0]), **more)


def _list(value):
    return value if isinstance(value, list) else [value]


def around(centre, spread=1.0):
    return lambda s, r: centre + spread * r.normal(size=s)


def between(low, high):
    return lambda s, r: r.uniform(low, high, s)


def near(point, distance):
    """On both sides of a point, at a distance between ``distance`` and three times as much."""
    return lambda s, r: point + np.where(r.rand(*s) < 0.5, -1, 1) * r.uniform(distance, 3 * distance, s)


def magnitude(x):
    """|x|, for the complex step too."""
    return np.where(x.real < 0, -x, x)


def larger(x, y):
    return np.where(x.real > y.real, x, y)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def sigmoid_slope(x):
    """Without overflow, for it is e^-|x| / (1 + e^-|x|)^2."""
    e = np.exp(-abs(x))
    return e / (1 + e) ** 2


def softplus(x):
    return larger(x, 0 * x) + np.log(1 + np.exp(-magnitude(x)))


OFFSETS = [
    one(
        'x*x + 1e8',
        'a large offset eats the digits of a difference',
        around(0),
        lambda x: x * x + 1e8,
        lambda x: 2 * x,
        dtypes='d',
    ),
    one(
        'x*x + 1e12',
        'a larger one',
        around(0),
        lambda x: x * x + 1e12,
        lambda x: 2 * x,
        dtypes='d',
        verdicts=('pass', 'unresolved'),
    ),
    one('x + 1e4', 'offset', around(0), lambda x: x + 1e4, lambda x: 1 + 0 * x),
    one(
        'x*x at 1e8',
        'a step of 1e-6 is below the resolution of x',
        around(1e8, 1e7),
        lambda x: x * x * 1e-8,
        lambda x: 2e-8 * x,
    ),
    one('sin(x) at 1e4', 'large argument, small wave', around(1e4, 100), np.sin, np.cos, dtypes='d'),
    one(
        'sin(100x)',
        'fast oscillation',
        around(0),
        lambda x: np.sin(100 * x),
        lambda x: 100 * np.cos(100 * x),
        dtypes='d',
    ),
    one(
        'sin(1000x)',
        'very fast oscillation',
        around(0),
        lambda x: np.sin(1000 * x),
        lambda x: 1000 * np.cos(1000 * x),
        dtypes='d',
    ),
    one(
        '(x + 1e6) - 1e6',
        'cancellation: the values are multiples of 1e-10',
        around(0),
        lambda x: (x + 1e6) - 1e6,
        lambda x: 1 + 0 * x,
        dtypes='d',
    ),
    one('exp(x) - 1 near 0', 'cancellation', near(0, 1e-4), lambda x: np.exp(x) - 1, np.exp, dtypes='d'),
    one(
        '1 - cos(x) near 0',
        'cancellation',
        near(0, 1e-3),
        lambda x: 1 - np.cos(x),
        np.sin,
        dtypes='d',
        tolerance=1e-6,
    ),
    one(
        'sqrt(x*x + 1) - 1',
        'cancellation',
        near(0, 1e-3),
        lambda x: np.sqrt(x * x + 1) - 1,
        lambda x: x / np.sqrt(x * x + 1),
        dtypes='d',
    ),
]
SCALES = [
    one(
        '3x at 1e-150',
        'far below any fixed step',
        around(0, 1e-150),
        lambda x: 3 * x,
        lambda x: 3 + 0 * x,
        dtypes='d',
    ),
    one(
        '3x at 1e150', 'far above any fixed step', around(0, 1e150), lambda x: 3 * x, lambda x: 3 + 0 * x, dtypes='d'
    ),
    one(
        'exp(1e-6 x)',
        'nearly constant',
        around(0),
        lambda x: np.exp(1e-6 * x),
        lambda x: 1e-6 * np.exp(1e-6 * x),
        dtypes='d',
    ),
    one('1e-30 tanh(x)', 'tiny results', around(0), lambda x: 1e-30 * np.tanh(x), lambda x: 1e-30 / np.cosh(x) ** 2),
    one('1e30 tanh(x)', 'huge results', around(0), lambda x: 1e30 * np.tanh(x), lambda x: 1e30 / np.cosh(x) ** 2),
    one(
        'tanh(1e6 x) at 1e-6',
        'the scale of x is 1e-6',
        around(0, 1e-6),
        lambda x: np.tanh(1e6 * x),
        lambda x: 1e6 / np.cosh(1e6 * x) ** 2,
    ),
    one('x**2 at 1e-20', 'tiny inputs', around(0, 1e-20), lambda x: x * x * 1e20, lambda x: 2e20 * x, dtypes='d'),
    right(
        'leaves of 1e6 and 1e-6',
        'one input drowns the other',
        lambda s, r: (1e6 * r.normal(size=s), 1e-6 * r.normal(size=s)),
        lambda x, y: (1e-6 * x) ** 2 + (1e6 * y) ** 2,
        lambda xs, gy: [gy * 2e-12 * xs[0], gy * 2e12 * xs[1]],
    ),
    right(
        'elements from 1e-6 to 1e6',
        'no step suits all',
        lambda s, r: (10 ** r.uniform(-6, 6, s),),
        lambda x: np.log(x),
        lambda xs, gy: gy / xs[0],
    ),
    right(
        'weights from 1e-8 to 1e8',
        'no tolerance suits all',
        lambda s, r: (r.normal(size=s), 10 ** r.uniform(-8, 8, s)),
        lambda x, w: x * w,
        lambda xs, gy: [gy * xs[1], gy * xs[0]],
        dtypes='d',
    ),
    right(
        'log of a product of 200',
        'products that nearly vanish',
        lambda s, r: (r.uniform(0.5, 3, s),),
        lambda x: np.log(x).sum(-1) * 200,
        lambda xs, gy: 200 * gy[..., None] / xs[0],
    ),
]
DOMAINS = [
    one('log at 1e-2', 'curvature near the border', between(1e-2, 3e-2), np.log, lambda x: 1 / x),
    one('log at 1e-5', 'a step of 1e-3 leaves the domain', between(1e-5, 3e-5), np.log, lambda x: 1 / x),
    one('log at 1e-12', 'a step of 1e-6 leaves the domain', between(1e-12, 3e-12), np.log, lambda x: 1 / x),
    one('sqrt at 1e-8', 'steep', between(1e-8, 3e-8), np.sqrt, lambda x: 0.5 / np.sqrt(x)),
    one('1/x at 1e-3', 'a pole nearby', near(0, 1e-3), lambda x: 1 / x, lambda x: -1 / x**2),
    one('x**0.3 at 1e-4', 'steep', between(1e-4, 3e-4), lambda x: x**0.3, lambda x: 0.3 * x**-0.7),
    one(
        'arctanh near 1', 'a pole nearby', between(0.99, 0.995), np.arctanh, lambda x: 1 / (1 - x * x), tolerance=1e-7
    ),
    one('arcsin near 1', 'a border nearby', between(0.9, 0.95), np.arcsin, lambda x: 1 / np.sqrt(1 - x * x)),
    one('tan near 1.5', 'steep', between(1.45, 1.52), np.tan, lambda x: 1 + np.tan(x) ** 2, dtypes='d'),
    one('x log x at 1e-6', 'steep', between(1e-6, 3e-6), lambda x: x * np.log(x), lambda x: np.log(x) + 1),
    right(
        'logit of a probability near 1',
        'a pole nearby',
        lambda s, r: (r.uniform(0.999, 0.9995, s),),
        lambda p: np.log(p / (1 - p)),
        lambda xs, gy: gy / (xs[0] * (1 - xs[0])),
        dtypes='d',
        tolerance=1e-7,
    ),
]
KINKS = [
    one(
        f'{name} {distance:g} from its kink', 'a step crosses the kink', near(0, distance), forward, slope, dtypes='d'
    )
    for distance in (1e-1, 1e-2, 1e-3, 1e-5)
    for name, forward, slope in (
        ('relu', lambda x: larger(x, 0 * x), lambda x: (x > 0) * 1.0),
        ('|x|', magnitude, np.sign),
    )
] + [
    one(
        '|x - 1|, near its kink',
        'a step crosses the kink',
        near(1, 3e-2),
        lambda x: magnitude(x - 1),
        lambda x: np.sign(x - 1),
    ),
    one(
        'leaky relu 1e-3 from its kink',
        'a step crosses the kink',
        near(0, 1e-3),
        lambda x: b._leaky(x)[0],
        lambda x: np.where(x < 0, 0.2, 1).astype(x.dtype),
        dtypes='d',
    ),
    one(
        'clip, 1e-3 inside',
        'both kinks nearby',
        near(1.0, 1e-3),
        lambda x: np.where(x.real < 1, x, 1 + 0 * x),
        lambda x: (x < 1) * 1.0,
        dtypes='d',
    ),
    one(
        'Huber loss near delta',
        'the second derivative jumps',
        near(1.0, 1e-2),
        lambda x: np.where(magnitude(x).real < 1, 0.5 * x * x, magnitude(x) - 0.5),
        lambda x: np.clip(x, -1, 1),
    ),
    one('x|x|', 'the second derivative jumps at 0', around(0), lambda x: x * magnitude(x), lambda x: 2 * abs(x)),
    one(
        'elu',
        'the second derivative jumps at 0',
        around(0),
        lambda x: np.where(x.real < 0, np.exp(np.where(x.real < 0, x, 0)) - 1, x),
        lambda x: np.where(x < 0, np.exp(np.minimum(x, 0)), 1),
    ),
    right(
        'maximum of rows, 1e-3 apart',
        'ties nearby',
        lambda s, r: (_ladder(s, r, 1e-3),),
        lambda x: (x * b.top(x)).sum(-1),
        lambda xs, gy: b.top(xs[0]) * gy[..., None],
        dtypes='d',
    ),
    right(
        'larger of two, 1e-3 apart',
        'ties nearby',
        lambda s, r: _pair_apart(s, r, 1e-3),
        larger,
        lambda xs, gy: [gy * (xs[0] > xs[1]), gy * (xs[0] <= xs[1])],
        dtypes='d',
    ),
    right(
        'sorted rows',
        'ties',
        lambda s, r: (_ladder(s, r, 0.3),),
        lambda x: np.take_along_axis(x, x.real.argsort(-1), -1),
        lambda xs, gy: np.take_along_axis(gy, xs[0].argsort(-1).argsort(-1), -1),
    ),
]
FLAT = [
    one('constant', 'the gradient is zero everywhere', around(0), lambda x: 3 + 0 * x, lambda x: 0 * x),
    one(
        'sign',
        'zero away from the step',
        lambda s, r: b.normal(r, *s),
        lambda x: np.sign(x.real) + 0 * x,
        lambda x: 0 * x,
    ),
    one(
        'floor',
        'zero away from the steps',
        lambda s, r: r.randint(-5, 5, s) + r.uniform(0.3, 0.7, s),
        lambda x: np.floor(x.real) + 0 * x,
        lambda x: 0 * x,
    ),
    one('x*x at 0', 'zero gradient, positive curvature', lambda s, r: np.zeros(s), lambda x: x * x, lambda x: 2 * x),
    one('x**3 at 0', 'zero gradient and curvature', lambda s, r: np.zeros(s), lambda x: x**3, lambda x: 3 * x * x),
    one('x**4 near 0', 'almost flat', near(0, 1e-3), lambda x: x**4, lambda x: 4 * x**3),
    one('cosh at 0', 'even', lambda s, r: np.zeros(s), np.cosh, np.sinh),
    one(
        'exp(-x*x) at 8', 'all but zero', around(8, 0.1), lambda x: np.exp(-x * x), lambda x: -2 * x * np.exp(-x * x)
    ),
    one('sigmoid at 40', 'saturated: the gradient is 4e-18', around(40, 1), sigmoid, sigmoid_slope, tolerance=1e-7),
    one('sigmoid at -40', 'saturated', around(-40, 1), sigmoid, sigmoid_slope),
    one('tanh at 20', 'saturated', around(20, 1), np.tanh, lambda x: 4 * sigmoid_slope(2 * x)),
    one('softplus at -30', 'all but zero', around(-30, 1), softplus, sigmoid),
    one('softplus at 30', 'all but linear', around(30, 1), softplus, sigmoid),
    right(
        'unused input',
        'None is the right gradient',
        lambda s, r: (r.normal(size=s), r.normal(size=s)),
        lambda x, y: x * x,
        lambda xs, gy: [2 * xs[0] * gy, None],
    ),
    right(
        'zero weight',
        'one input has no influence here',
        lambda s, r: (r.normal(size=s), np.zeros(s)),
        lambda x, w: x * w,
        lambda xs, gy: [gy * xs[1], gy * xs[0]],
    ),
    right(
        'gradients that cancel',
        'the sum over the mean is zero',
        lambda s, r: (r.normal(size=s),),
        lambda x: x - x.mean(-1, keepdims=True),
        lambda xs, gy: gy - gy.mean(-1, keepdims=True),
    ),
]
LINEAR = [
    one('identity', 'the difference is exact at every step', around(0), lambda x: x + 0, lambda x: 1 + 0 * x),
    one('-x', 'linear', around(0), lambda x: -x, lambda x: -1 + 0 * x),
    one('affine', 'linear', around(0), lambda x: 0.1 * x + 7, lambda x: 0.1 + 0 * x),
    right('sum', 'linear', lambda s, r: (r.normal(size=s),), lambda x: x.sum(), lambda xs, gy: gy + 0 * xs[0]),
    right(
        'matrix product',
        'bilinear',
        lambda s, r: (r.normal(size=s), r.normal(size=s[::-1])),
        lambda x, w: x @ w,
        lambda xs, gy: [gy @ xs[1].T, xs[0].T @ gy],
    ),
    right(
        'matrix product of 1e4',
        'bilinear, large',
        lambda s, r: (1e4 * r.normal(size=s), 1e4 * r.normal(size=s[::-1])),
        lambda x, w: x @ w,
        lambda xs, gy: [gy @ xs[1].T, xs[0].T @ gy],
    ),
    right(
        'cumulative sum',
        'linear',
        lambda s, r: (r.normal(size=s),),
        lambda x: np.cumsum(x, -1),
        lambda xs, gy: b._cumsum_vjp(xs, [gy]),
    ),
    right(
        'rows taken twice',
        'gradients are added up',
        lambda s, r: (r.normal(size=s),),
        lambda x: x[b.rows_of(x)],
        lambda xs, gy: b._gather_vjp(xs, [gy]),
    ),
]


def _softmax_case(name, why, scale, **more):
    return right(
        name,
        why,
        lambda s, r: (scale * r.normal(size=s),),
        b._softmax,
        lambda xs, gy: b._softmax_vjp(xs, [gy]),
        **more,
    )


def _log_softmax_vjp(xs, gy):
    return gy - np.exp(b._log_softmax(xs[0])) * gy.sum(-1, keepdims=True)


PROBABILITIES = [
    _softmax_case('softmax of logits of 30', 'saturated', 30, rounding=1e-14),
    _softmax_case('softmax of logits of 1000', 'all but one hot', 1000, dtypes='d', rounding=1e-14),
    _softmax_case('softmax of logits of 1e-6', 'all but uniform', 1e-6),
    right(
        'log_softmax of logits of 1000',
        'one hot',
        lambda s, r: (1000 * r.normal(size=s),),
        b._log_softmax,
        _log_softmax_vjp,
        dtypes='d',
    ),
    right(
        'log_softmax of logits near 1e4',
        'offset',
        lambda s, r: (1e4 + r.normal(size=s),),
        b._log_softmax,
        _log_softmax_vjp,
        dtypes='d',
    ),
    right(
        'masked softmax',
        'scores of -1e9',
        lambda s, r: (r.normal(size=s),),
        lambda x: b._softmax(x + _mask(x)),
        lambda xs, gy: b._softmax_vjp([xs[0] + _mask(xs[0])], [gy]),
    ),
    right(
        'variance with a large mean',
        'cancellation',
        lambda s, r: (1e3 + r.normal(size=s),),
        lambda x: ((x - x.mean(-1, keepdims=True)) ** 2).mean(-1),
        lambda xs, gy: 2 / xs[0].shape[-1] * gy[..., None] * (xs[0] - xs[0].mean(-1, keepdims=True)),
        dtypes='d',
    ),
    right(
        'normalised rows with a large mean',
        'cancellation',
        lambda s, r: (100 + r.normal(size=s),),
        lambda x: b._normalise(x)[0],
        lambda xs, gy: b._normalise_vjp(xs, [gy]),
        dtypes='d',
    ),
    right(
        'length of rows',
        'a square root of a sum',
        lambda s, r: (r.normal(size=s),),
        lambda x: np.sqrt((x * x).sum(-1)),
        lambda xs, gy: gy[..., None] * xs[0] / np.sqrt((xs[0] ** 2).sum(-1, keepdims=True)),
    ),
    right(
        'arctan2',
        'two inputs, one branch',
        lambda s, r: (r.normal(size=s), r.uniform(0.5, 2, s)),
        lambda y, x: np.arctan(y / x),
        lambda xs, gy: [gy * xs[1] / (xs[0] ** 2 + xs[1] ** 2), -gy * xs[0] / (xs[0] ** 2 + xs[1] ** 2)],
    ),
    right(
        'x**y',
        'two inputs',
        lambda s, r: (r.uniform(0.5, 2, s), r.normal(size=s)),
        lambda x, y: x**y,
        lambda xs, gy: [gy * xs[1] * xs[0] ** (xs[1] - 1), gy * xs[0] ** xs[1] * np.log(xs[0])],
    ),
    right(
        'product of rows',
        'many factors',
        lambda s, r: (r.uniform(0.8, 1.2, s),),
        lambda x: x.prod(-1),
        lambda xs, gy: (gy * xs[0].prod(-1))[..., None] / xs[0],
    ),
    one('x**10', 'steep', around(1, 0.3), lambda x: x**10, lambda x: 10 * x**9),
    one('exp at 50', 'large', around(50, 1), np.exp, np.exp, dtypes='d'),
    one('exp at -100', 'tiny', around(-100, 1), np.exp, np.exp, dtypes='d'),
]


def _mask(x):
    return np.where(np.arange(x.shape[-1]) % 3 == 2, -1e9, 0).astype(x.real.dtype)


def _ladder(shape, rng, gap):
    return (rng.permutation(int(np.prod(shape))) * gap).reshape(shape) + 0.5


def _pair_apart(shape, rng, gap):
    x = rng.normal(size=shape)
    return x, x + np.where(rng.rand(*shape) < 0.5, -1, 1) * rng.uniform(gap, 3 * gap, shape)


ENTRIES = OFFSETS + SCALES + DOMAINS + KINKS + FLAT + LINEAR + PROBABILITIES
