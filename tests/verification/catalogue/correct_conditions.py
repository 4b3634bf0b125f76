"""Right functions at ill-conditioned points: where rounding errors are large, or cancel what is to be measured."""

from __future__ import annotations

import numpy as np
import scipy.linalg

import minichainer.functions as F
from tests.verification.catalogue import bases as b
from tests.verification.catalogue.correct import around, between, near, one, right
from tests.verification.catalogue.entry import Case, Correct, as_dtype, generator

UNDECIDED = ('pass', 'unresolved')


def of_package(name, why, draw, func, forward=None, tolerance=1e-8, **more):
    """A function of the package, proved by the complex step of ``forward``, or by differences."""

    def build(shape, dtype, seed):
        return Case(func, as_dtype(draw(shape, generator(name, seed)), dtype), func, forward)

    more.setdefault('dtypes', 'd')
    return Correct(name, why, build, tolerance=tolerance if forward else 1e-6, **more)


def _hilbert(s, r):
    return (scipy.linalg.hilbert(7),)


def _hilbert_and_rows(s, r):
    return scipy.linalg.hilbert(7), r.normal(size=(7, 2))


def _with_values(gap):
    """A matrix whose singular values are 1, 1 + gap and 3."""

    def draw(s, r):
        u, v = (np.linalg.qr(r.normal(size=(3, 3)))[0] for _ in range(2))
        return (u * np.array([1, 1 + gap, 3]) @ v.T,)

    return draw


def _symmetric(gap):
    def draw(s, r):
        u = np.linalg.qr(r.normal(size=(3, 3)))[0]
        return (u * np.array([1, 1 + gap, 3]) @ u.T,)

    return draw


def of_matrix(*args, **more):
    return of_package(*args, stretches=False, **more)


MATRICES = [
    of_matrix('inverse of a Hilbert matrix', 'condition 5e8', _hilbert, F.inv, np.linalg.inv, tolerance=1e-5),
    of_matrix('determinant of a Hilbert matrix', 'of 5e-25', _hilbert, F.det, np.linalg.det, tolerance=1e-6),
    of_matrix(
        'log determinant of a Hilbert matrix',
        'condition 5e8',
        _hilbert,
        F.logdet,
        lambda x: np.log(np.linalg.det(x)),
        tolerance=1e-6,
    ),
    of_matrix(
        'system of a Hilbert matrix', 'condition 5e8', _hilbert_and_rows, F.solve, np.linalg.solve, tolerance=1e-5
    ),
    of_matrix('inverse, order 2', 'gradients of gradients', _symmetric(1e-2), F.inv, np.linalg.inv, order=2),
    of_matrix(
        'singular values 1e-4 apart', 'nearly equal', _with_values(1e-4), lambda x: F.svd(x)[1], tolerance=1e-6
    ),
    of_matrix(
        'eigenvalues 1e-4 apart',
        'nearly equal',
        _symmetric(1e-4),
        lambda x: F.eigh((x + F.transpose(x)) / 2)[0],
        tolerance=1e-6,
    ),
    of_matrix(
        'singular vectors, values 1e-2 apart',
        'gradients of 100',
        _with_values(1e-2),
        lambda x: F.svd(x)[0] ** 2,
        tolerance=1e-6,
    ),
]


def _spread(low, high):
    """Numbers of either sign, whose logarithms are evenly spread."""
    return lambda s, r: np.where(r.rand(*s) < 0.5, -1, 1) * 10 ** r.uniform(low, high, s)


def _expanded(x):
    """(x - 1)**5, written out."""
    return x**5 - 5 * x**4 + 10 * x**3 - 10 * x**2 + 5 * x - 1


POLES = [
    one('1/x from 1e-8 to 1e8', 'slopes from 1e-16 to 1e16', _spread(-8, 8), lambda x: 1 / x, lambda x: -1 / x / x),
    one('x**-3 from 0.01 to 100', 'steep', _spread(-2, 2), lambda x: 1 / x**3, lambda x: -3 / x**4),
    one(
        'log at 1e-270',
        'near the border of what is a number',
        between(1e-270, 3e-270),
        np.log,
        lambda x: 1 / x,
        dtypes='d',
    ),
    one('log near 1', 'values near 0', near(1, 1e-8), np.log, lambda x: 1 / x, dtypes='d'),
    one('exp at 700', 'almost too large', around(700, 1), np.exp, np.exp, dtypes='d'),
    one('exp at -700', 'almost too small', around(-700, 1), np.exp, np.exp, dtypes='d'),
    one('exp at 80', 'almost too large for float32', around(80, 1), np.exp, np.exp),
    one(
        'arccos 1e-8 from 1',
        'steep',
        lambda s, r: 1 - r.uniform(1e-8, 3e-8, s),
        np.arccos,
        lambda x: -1 / np.sqrt((1 - x) * (1 + x)),
        dtypes='d',
        tolerance=1e-6,
    ),
    one('x**50 at 1', 'steep', around(1, 0.1), lambda x: x**50, lambda x: 50 * x**49, dtypes='d'),
    right(
        'quotient of 1e-150s',
        'the square of the divisor is no number',
        lambda s, r: (1e-150 * b.normal(r, *s), 1e-150 * b.positive(r, *s)),
        lambda x, y: x / y,
        lambda xs, gy: [gy / xs[1], -gy * (xs[0] / xs[1]) / xs[1]],
        dtypes='d',
    ),
    right(
        'arctan2 at a distance of 1e-8',
        'steep',
        lambda s, r: (1e-8 * b.normal(r, *s), 1e-8 * b.positive(r, *s)),
        lambda y, x: np.arctan(y / x),
        lambda xs, gy: [gy * xs[1] / (xs[0] ** 2 + xs[1] ** 2), -gy * xs[0] / (xs[0] ** 2 + xs[1] ** 2)],
    ),
]
CANCELLATION = [
    right(
        'x - y, 1e-9 apart',
        'nearly equal',
        lambda s, r: (lambda x: (x, x * (1 + 1e-9 * r.normal(size=s))))(b.normal(r, *s)),
        lambda x, y: x - y,
        lambda xs, gy: [gy, -gy],
        dtypes='d',
    ),
    right(
        'x*x - y*y, 1e-6 apart',
        'nearly equal squares',
        lambda s, r: (lambda x: (x, x * (1 + 1e-6 * r.normal(size=s))))(b.normal(r, *s)),
        lambda x, y: x * x - y * y,
        lambda xs, gy: [2 * xs[0] * gy, -2 * xs[1] * gy],
        dtypes='d',
    ),
    right(
        'sum of 1e8, small numbers and -1e8',
        'the sum is small',
        lambda s, r: (np.concatenate([[1e8], r.normal(size=10), [-1e8]]),),
        lambda x: np.sin(x[1:-1]).sum() + x.sum(),
        lambda xs, gy: gy * (1 + np.concatenate([[0], np.cos(xs[0][1:-1]), [0]])),
        dtypes='d',
    ),
    right(
        'alternating sum of 1e6s',
        'the sum is small',
        lambda s, r: (1e6 + r.normal(size=(6, 4)),),
        lambda x: x[::2].sum(0) - x[1::2].sum(0),
        lambda xs, gy: gy * np.where(np.arange(6) % 2, -1.0, 1.0)[:, None],
        dtypes='d',
    ),
    right(
        'variance of numbers near 1e6',
        'cancellation',
        lambda s, r: (1e6 + r.normal(size=s),),
        lambda x: ((x - x.mean(-1, keepdims=True)) ** 2).mean(-1),
        lambda xs, gy: 2 / xs[0].shape[-1] * gy[..., None] * (xs[0] - xs[0].mean(-1, keepdims=True)),
        dtypes='d',
        rounding=1e-8,
    ),
    right(
        'mean square less square of the mean, near 1e3',
        'cancellation of all but ten digits',
        lambda s, r: (1e3 + r.normal(size=s),),
        lambda x: (x * x).mean(-1) - x.mean(-1) ** 2,
        lambda xs, gy: 2 / xs[0].shape[-1] * gy[..., None] * (xs[0] - xs[0].mean(-1, keepdims=True)),
        dtypes='d',
        rounding=1e-8,
        verdicts=UNDECIDED,
    ),
    one(
        '(x - 1)**5 written out',
        'all digits cancel',
        near(1, 1e-2),
        _expanded,
        lambda x: 5 * (x - 1) ** 4,
        dtypes='d',
        tolerance=1e-4,
        verdicts=UNDECIDED,
    ),
    one(
        '(exp(x) - 1) / x near 0',
        'cancellation',
        near(0, 1e-2),
        lambda x: (np.exp(x) - 1) / x,
        lambda x: (x * np.exp(x) - np.expm1(x)) / x**2,
        dtypes='d',
        tolerance=1e-7,
    ),
    one(
        'sin(x)/x near 0',
        'flat',
        near(0, 1e-2),
        lambda x: np.sin(x) / x,
        lambda x: (x * np.cos(x) - np.sin(x)) / x**2,
        dtypes='d',
        tolerance=1e-7,
    ),
    one(
        '(1 + x) - 1 at 1e-8',
        'half of the digits are lost',
        near(0, 1e-8),
        lambda x: (1 + x) - 1,
        lambda x: 1 + 0 * x,
        dtypes='d',
    ),
    right(
        'distance of rows 1e-6 apart',
        'a kink nearby',
        lambda s, r: (lambda x: (x, x + 1e-6 * b.normal(r, *s)))(r.normal(size=s)),
        lambda x, y: np.sqrt(((x - y) ** 2).sum(-1)),
        lambda xs, gy: (lambda g: [g, -g])(
            gy[..., None] * (xs[0] - xs[1]) / np.sqrt(((xs[0] - xs[1]) ** 2).sum(-1, keepdims=True))
        ),
        dtypes='d',
    ),
    one(
        'length of tiny rows',
        'a kink nearby',
        around(0, 1e-10),
        lambda x: np.sqrt(x * x + 1e-20),
        lambda x: x / np.sqrt(x * x + 1e-20),
        dtypes='d',
    ),
]


def _ones_and_zeros(n):
    return np.ones(n), np.zeros(n)


def _normalised(x):
    n = x.shape[1]
    return F.batch_normalization(x, *map(lambda a: a.astype(x.dtype), _ones_and_zeros(n)))


def _normalised_arrays(x):
    c = x - x.mean(0)
    return c / np.sqrt((c * c).mean(0) + 2e-5)


STATISTICS = [
    of_package(
        'normalization of a constant batch',
        'the gradient is 0, and so is what backward rounds',
        lambda s, r: (b.normal(r, s[1]),),
        lambda x: _normalised(F.broadcast_to(x, (6, *x.shape))),
        order=2,
        dtypes='fd',
        rounding=1e-9,
    ),
    of_package(
        'weights before the normalization of equal rows',
        'the gradient is 0, and so is what backward rounds',
        lambda s, r: (b.normal(r, 5, s[1]),),
        lambda w: _normalised(F.linear(np.ones((6, w.shape[1]), w.dtype), w)),
        order=2,
        dtypes='fd',
        rounding=1e-9,
    ),
    of_package(
        'normalization of nearly constant columns',
        'a variance below epsilon',
        lambda s, r: (1 + 1e-4 * r.normal(size=(6, s[1])),),
        _normalised,
        _normalised_arrays,
        rounding=1e-8,
    ),
    of_package(
        'normalization of columns near 1e4',
        'cancellation',
        lambda s, r: (1e4 + r.normal(size=(6, s[1])),),
        _normalised,
        _normalised_arrays,
        rounding=1e-8,
    ),
    of_package(
        'normalization of two rows',
        'all but saturated: the gradient nearly cancels',
        lambda s, r: (r.normal(size=(2, s[1])),),
        _normalised,
        _normalised_arrays,
        rounding=1e-8,
    ),
    of_package(
        'softmax is blind to a shift',
        'the gradient of the shift is 0',
        lambda s, r: (r.normal(size=s), r.normal(size=(s[0], 1))),
        lambda x, c: F.softmax(x + F.broadcast_to(c, x.shape)),
        lambda x, c: b._softmax(x + c),
        dtypes='fd',
        rounding=1e-12,
    ),
    of_package(
        'softmax of logits from -1e3 to 1e3',
        'one hot',
        lambda s, r: (r.uniform(-1e3, 1e3, s),),
        F.softmax,
        b._softmax,
        rounding=1e-12,
    ),
    of_package(
        'logsumexp of logits from -1e4 to 1e4',
        'one hot',
        lambda s, r: (r.uniform(-1e4, 1e4, s),),
        lambda x: F.logsumexp(x, axis=1),
        lambda x: x.real.max(-1) + np.log(np.exp(x - x.real.max(-1, keepdims=True)).sum(-1)),
        rounding=1e-12,
    ),
    of_package(
        'cross entropy of logits of 1e3',
        'one hot',
        lambda s, r: (1e3 * r.normal(size=s),),
        lambda x: F.softmax_cross_entropy(x, np.zeros(len(x), 'i')),
        lambda x: -b._log_softmax(x)[:, 0].mean(),
        rounding=1e-12,
    ),
]

ENTRIES = MATRICES + POLES + CANCELLATION + STATISTICS
