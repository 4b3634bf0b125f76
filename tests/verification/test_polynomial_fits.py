"""Slopes of functions that reject float64, by polynomials fitted to many values."""

from __future__ import annotations

import numpy as np
import pytest

from minichainer.gradient_check import check_gradients
from minichainer.verification.polynomial_fits import fitted
from tests.verification.catalogue.entry import native
from tests.verification.catalogue.everything import CORRECT

EPSILON = 2.0**-23
X = np.linspace(0.3, 1.7, 12, dtype='f').reshape(3, 4)


def single(func):
    """A curve that rounds to float32, as changes from its value at 0."""
    centre = np.float32(func(0.0))

    def curve(t):
        value = np.float32(func(t))
        return np.array([float(value) - float(centre)]), np.array([abs(float(value))])

    return curve


@pytest.mark.parametrize(
    ('func', 'slope'),
    [
        (lambda t: np.exp(0.7 + t), np.exp(0.7)),
        (lambda t: np.sin(3 + 2 * t), 2 * np.cos(3)),
        (lambda t: 1000 + 0.01 * t, 0.01),
        (lambda t: 5 * t, 5.0),
    ],
)
def test_the_error_bounds_the_distance(func, slope):
    found = fitted(single(func), EPSILON)
    size = max(abs(func(0.0)), abs(slope))
    assert abs(found.value[0] - slope) <= found.error[0] <= 1e-5 * size


def test_it_is_sharper_than_one_difference():
    found = fitted(single(lambda t: np.exp(0.7 + t)), EPSILON)
    assert found.error[0] < 100 * EPSILON * np.exp(0.7)


@pytest.mark.parametrize('place', [0.2, 0.1, 0.05, -0.15])
def test_a_kink_nearby_does_not_bend_the_slope(place):
    found = fitted(single(lambda t: t + max(0.0, (t - place) * np.sign(place))), EPSILON)
    assert abs(found.value[0] - 1) <= found.error[0] < 1e-2


@pytest.mark.parametrize('func', [abs, np.sign, lambda t: np.sqrt(abs(t)), lambda t: np.nan * t])
def test_no_slope_where_there_is_none(func):
    assert np.isinf(fitted(single(func), EPSILON).error).all()


SINGLE = {
    'exp': (np.exp, lambda xs, gys: [gys[0] * np.exp(xs[0])]),
    'tanh': (np.tanh, lambda xs, gys: [gys[0] * (1 - np.tanh(xs[0]) ** 2)]),
    'reciprocal': (np.reciprocal, lambda xs, gys: [-gys[0] / xs[0] ** 2]),
}


@pytest.mark.parametrize('name', SINGLE)
@pytest.mark.parametrize('seed', range(5))
def test_an_element_that_is_off_by_a_thousandth_is_named(name, seed):
    forward, vjp = SINGLE[name]

    def off(xs, gys):
        (g,) = vjp(xs, gys)
        g.flat[6] *= np.float32(1.002)
        return [g]

    assert check_gradients(native(forward, vjp), X, seed=seed)
    report = check_gradients(native(forward, off), X, seed=seed)
    assert report.verdict == 'fail' and {f.index for f in report.failures} == {(1, 2)}


@pytest.mark.parametrize('limit', ['clipped', 'dropped'])
def test_thresholds_of_the_upstream_gradient_show_in_single_precision(limit):
    def vjp(xs, gys):
        g = gys[0]
        g = np.clip(g, -1e5, 1e5) if limit == 'clipped' else np.where(abs(g) < 1e-5, 0, g)
        return [(g * np.cos(xs[0])).astype('f')]

    report = check_gradients(native(np.sin, vjp), X, seed=0)
    assert report.verdict == 'fail'


def test_kinks_everywhere_leave_a_right_gradient_right():
    rng = np.random.RandomState(0)
    w = rng.randn(200, 12).astype('f')

    def forward(x):
        return np.maximum(w @ x.ravel(), 0) @ w[:, :3]

    def vjp(xs, gys):
        h = w @ xs[0].ravel()
        return [((w[:, :3] @ gys[0]) * (h > 0) @ w).reshape(xs[0].shape)]

    for seed in range(5):
        assert check_gradients(native(forward, vjp), X, seed=seed).verdict == 'pass'


LARGE = np.linspace(0.3, 1.7, 1200, dtype='f').reshape(30, 40)


def normalized(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def normalized_vjp(xs, gys):
    y = normalized(xs[0])
    return [y * (gys[0] - (gys[0] * y).sum(axis=1, keepdims=True))]


@pytest.mark.parametrize('index', [(13, 20), *(pytest.param(i, marks=pytest.mark.slow) for i in [(0, 5), (29, 39)])])
@pytest.mark.parametrize(('forward', 'vjp'), [*SINGLE.values(), (normalized, normalized_vjp)])
def test_one_of_many_elements_that_is_off_by_little_is_named(forward, vjp, index):
    def off(xs, gys):
        (g,) = vjp(xs, gys)
        g[index] *= np.float32(1.001)
        return [g]

    assert check_gradients(native(forward, vjp), LARGE, seed=0).verdict == 'pass'
    report = check_gradients(native(forward, off), LARGE, seed=0)
    assert report.verdict == 'fail' and {f.index for f in report.failures} == {index}


def test_outputs_that_hide_their_change_below_their_rounding_count_as_rounded():
    """Probabilities near 1 move by less than the next number: their slope is not 0, only not seen."""
    logits = np.random.RandomState(0).normal(scale=30, size=(30, 40)).astype('f')
    for seed in range(3):
        assert check_gradients(native(normalized, normalized_vjp), logits, seed=seed).verdict == 'pass'


def test_kinks_of_hidden_layers_are_not_taken_for_errors_of_blocks():
    """Two convolutions with a rectifier between them: the errors of narrow intervals are not those of rounding."""
    case = next(e for e in CORRECT if e.name == 'convolution without fault').build((30, 40), 'f', 0)

    def single(*xs):
        if any(x.dtype != np.float32 for x in xs):
            raise TypeError('this function takes float32')
        return case.func(*xs)

    assert check_gradients(single, case.inputs, seed=0).verdict == 'pass'


def test_a_function_that_refuses_nan_is_checked_in_blocks_too():
    def forward(x):
        if not np.isfinite(x).all():
            raise ValueError('NaN')
        return np.tanh(x)

    def off(xs, gys):
        g = gys[0] * (1 - np.tanh(xs[0]) ** 2)
        g[13, 20] *= np.float32(1.001)
        return [g]

    assert check_gradients(native(forward, SINGLE['tanh'][1]), LARGE, seed=0).verdict == 'pass'
    assert check_gradients(native(forward, off), LARGE, seed=0).verdict == 'fail'
