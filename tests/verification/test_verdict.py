"""Verdicts from slopes, one-sided slopes, and the rate of the Taylor remainder."""

from __future__ import annotations

import numpy as np
import pytest

from minichainer.verification.extrapolation import slopes
from minichainer.verification.verdict import between_slopes, judge, taylor_rate

DOUBLE = 2.0**-52


def found_for(f, precision=DOUBLE):
    def curve(t):
        with np.errstate(all='ignore'):
            y = np.array([float(f(t))])
        return y, abs(y)

    return slopes(curve, precision)


COS1 = np.cos(1)
CASES = {
    'right': (lambda t: np.sin(1 + t), COS1, {}, 'pass'),
    'off by 5e-4': (lambda t: np.sin(1 + t), COS1 * 1.0005, {}, 'fail'),
    'off by 1e-6': (lambda t: np.sin(1 + t), COS1 + 1e-6, {}, 'fail'),
    'zero': (lambda t: np.sin(1 + t), 0.0, {}, 'fail'),
    'NaN': (lambda t: np.sin(1 + t), np.nan, {}, 'fail'),
    'infinity': (lambda t: np.sin(1 + t), np.inf, {}, 'fail'),
    'widened': (lambda t: np.sin(1 + t), COS1 + 1e-6, {'widened': 1e-5}, 'pass'),
    'not widely enough': (lambda t: np.sin(1 + t), COS1 * 1.0005, {'widened': 1e-4 * COS1}, 'fail'),
    'constant': (lambda t: 3.0, 0.0, {}, 'pass'),
    'kink': (abs, 0.0, {}, 'nondifferentiable'),
    'kink, one of the slopes': (abs, 1.0, {}, 'nondifferentiable'),
    'jump': (lambda t: np.floor(1 + t), 0.0, {}, 'nondifferentiable'),
    'pole': (lambda t: 1 / t if t else np.inf, 0.0, {}, 'not_finite'),
    'NaN on both sides': (lambda t: np.nan, np.nan, {}, 'not_finite'),
    'drowned in an offset': (lambda t: 1e12 + np.sin(1 + t), COS1, {}, 'unresolved'),
    'drowned, wrong': (lambda t: 1e12 + np.sin(1 + t), 2 * COS1, {}, 'unresolved'),
    'drowned, utterly wrong': (lambda t: 1e12 + np.sin(1 + t), 1e6, {}, 'fail'),
    'drowned, very wrong': (lambda t: 1e12 + np.sin(1 + t), 200.0, {}, 'fail'),
    'drowned, wide tolerance': (lambda t: 1e12 + np.sin(1 + t), COS1, {'widened': 10.0}, 'pass'),
}


@pytest.mark.parametrize('name', CASES)
def test_verdicts(name):
    f, analytic, options, expected = CASES[name]
    with np.errstate(all='ignore'):
        found = found_for(f)
    assert judge(found, np.array([analytic]), np.zeros(1), np.array([abs(analytic)]), **options)[0] == expected


def test_the_rounding_of_the_backward_pass_counts():
    found = found_for(lambda t: np.sin(1 + t))
    analytic = np.array([np.float64(np.float32(COS1))])
    assert judge(found, analytic, np.zeros(1), abs(analytic))[0] == 'fail'
    assert judge(found, analytic, 2.0**-23 * abs(analytic), abs(analytic))[0] == 'pass'


@pytest.mark.parametrize(('analytic', 'expected'), [(-1.1, False), (-1, True), (0, True), (1, True), (1.01, False)])
def test_between_the_slopes_of_a_kink(analytic, expected):
    assert between_slopes(found_for(abs), np.array([analytic]))[0] == expected
    assert between_slopes(found_for(lambda t: -abs(t)), np.array([analytic]))[0] == expected


@pytest.mark.parametrize(('analytic', 'rate'), [(COS1, 2), (1.01 * COS1, 1), (-COS1, 1)])
def test_taylor_rate(analytic, rate):
    assert abs(taylor_rate(found_for(lambda t: np.sin(1 + t)), np.array([analytic]))[0] - rate) < 0.2


def test_taylor_rate_of_a_linear_function_is_unknown():
    assert np.isnan(taylor_rate(found_for(lambda t: 1 + 3 * t), np.array([3.0]))[0])
    assert abs(taylor_rate(found_for(lambda t: 1 + 3 * t), np.array([3.1]))[0] - 1) < 1e-6


def test_taylor_rate_of_a_single_step_is_unknown():
    found = slopes(lambda t: (np.array([np.sin(1 + t)]), np.ones(1)), DOUBLE, max_calls=3)
    assert len(found.steps) == 1
    assert np.isnan(taylor_rate(found, np.array([COS1]))).all()
