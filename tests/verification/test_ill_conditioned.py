"""Points at which the function bends on a scale far below that of its inputs."""

from __future__ import annotations

import numpy as np
import pytest

import minichainer.functions as F
from minichainer.gradient_check import check_gradients
from tests.verification.planting import node, split_seeds, uniform

HILBERT = 1 / (np.arange(7)[:, None] + np.arange(7) + 1.0)


def spread_out(seed):
    rng = np.random.RandomState(seed)
    return np.exp(rng.uniform(np.log(1e-8), np.log(1e8), (4, 4))) * rng.choice([-1, 1], (4, 4))


POINTS = {
    'inv': (F.inv, lambda seed: HILBERT),
    'log of det': (lambda a: F.log(F.det(a)), lambda seed: HILBERT),
    'reciprocal': (lambda x: 1 / x, lambda seed: np.array([1e-8, 1e8])),
    'reciprocal of many': (lambda x: 1 / x, spread_out),
    'reciprocal in float32': (lambda x: 1 / x, lambda seed: spread_out(seed).astype('f')),
    'large exponential': (F.exp, lambda seed: 700 + uniform(3, 4, seed=seed)),
    'slopes below all rounding': (
        lambda x: F.softmax_cross_entropy(x, np.zeros(3, 'i')),
        lambda seed: np.array([[1086.0, 708.0, -139.0, 368.0]] * 3) + seed,
    ),
    'near the edge of the domain': (F.arccos, lambda seed: 1 - 1e-8 * (0.5 + abs(uniform(3, 4, seed=seed)))),
}


@pytest.mark.parametrize('seeds', split_seeds(1, 10))
@pytest.mark.parametrize('name', POINTS)
def test_right_gradients(name, seeds):
    func, point = POINTS[name]
    for seed in seeds:
        report = check_gradients(func, point(seed), seed=seed)
        assert report, report


def inverse(rule):
    def backward(xs, gy):
        y = np.linalg.inv(xs[0])
        return rule(-y.T @ gy @ y.T)

    return node(np.linalg.inv, backward)


def one_element(g):
    g = g.copy()
    g[3, 4] *= 1.1
    return g


WRONG = {
    'sign': lambda g: -g,
    'too large': lambda g: 2 * g,
    'much too large': lambda g: 1e6 * g,
    'much too small': lambda g: 1e-6 * g,
    'zero': lambda g: 0 * g,
    'slightly': lambda g: 1.05 * g,
    'one element': one_element,
    'transposed': lambda g: g[::-1],
}


@pytest.mark.parametrize('seeds', split_seeds(1, 10))
@pytest.mark.parametrize('size', [6, pytest.param(7, marks=pytest.mark.slow)])
@pytest.mark.parametrize('name', WRONG)
def test_wrong_gradients_of_an_inverse(name, size, seeds):
    for seed in seeds:
        report = check_gradients(inverse(WRONG[name]), HILBERT[:size, :size], seed=seed)
        # So large a gradient asks for steps so small that nothing can be measured.
        assert report.verdict in ({'fail', 'unresolved'} if name == 'much too large' else {'fail'}), report


@pytest.mark.parametrize('factor', [-1, 2, 1e4, 1e-4, 1.001])
@pytest.mark.parametrize('seeds', split_seeds(1, 5))
def test_wrong_reciprocals(factor, seeds):
    func = node(lambda x: 1 / x, lambda xs, gy: -factor * gy / xs[0] ** 2)
    for seed in seeds:
        assert check_gradients(func, spread_out(seed), seed=seed).verdict == 'fail'


def test_slopes_are_added_up_though_some_of_them_overflow_together():
    x = np.full(40, 705.0)
    x[::2] = 704.9
    for seed in range(30):
        report = check_gradients(F.exp, x, precise=False, seed=seed)
        assert report.verdict != 'fail', report


@pytest.mark.parametrize('seed', [0, 1])
def test_elements_smaller_than_a_step_of_the_others_have_their_own(seed):
    """That of the others leads from 200 to 1e5: neither wrong nor a kink is what is seen there."""
    rng = np.random.RandomState(seed)
    x = rng.permutation(10 ** rng.uniform(-15, 10, 400))
    assert check_gradients(F.digamma, x, seed=seed)

    def rule(xs, gy):
        gx = gy * F.polygamma(np.ones(400, 'i'), xs[0]).array
        return np.where(xs[0] < 1e-12, 1.5 * gx, gx)

    report = check_gradients(node(lambda x: F.digamma(x).array, rule), x, seed=seed)
    assert report.verdict == 'fail' and all(x[f.index] < 1e-12 for f in report.failures if f.index), report
