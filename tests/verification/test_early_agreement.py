"""The common case at little cost: close agreement is proof, anything else is left to the ladder."""

from __future__ import annotations

import numpy as np
import pytest

from minichainer.verification.extrapolation import agrees

DOUBLE = 2.0**-52
FUNCTIONS = {
    'linear': (lambda t: 3 * t, 3.0),
    'sine': (lambda t: np.sin(1 + t) - np.sin(1), np.cos(1)),
    'exponential': (lambda t: np.exp(2 * t) - 1, 2.0),
    'cube': (lambda t: t**3, 0.0),
    'kink nearby': (lambda t: abs(t + 0.05) - 0.05, 1.0),
}
DOUBTFUL = {
    'kink': (abs, 0.0),
    'kink, one slope': (abs, 1.0),
    'jump': (np.sign, 0.0),
    'wrong': (lambda t: 3 * t, 3.0 + 1e-8),
    'not finite': (lambda t: np.sqrt(t) if t >= 0 else np.nan, 0.0),
    'NaN': (lambda t: 3 * t, np.nan),
    'many periods': (lambda t: np.sin(1e5 * t), 1e5),
}


def ask(f, slope, noise=1e-16):
    calls = []

    def curve(t):
        calls.append(t)
        return np.array([float(f(t))])

    return agrees(curve, [slope], [noise], [1e-10], [1.0], DOUBLE, 1e-2), len(calls)


@pytest.mark.parametrize('name', FUNCTIONS)
def test_agreement(name):
    answer, calls = ask(*FUNCTIONS[name])
    assert answer and calls <= 6


def test_a_linear_function_takes_two_calls():
    assert ask(*FUNCTIONS['linear']) == (True, 2)


@pytest.mark.parametrize('name', DOUBTFUL)
def test_doubt(name):
    assert ask(*DOUBTFUL[name]) == (False, 6)


def test_noise_as_large_as_the_slope_is_no_proof():
    assert ask(*FUNCTIONS['sine'], noise=1e-3) == (False, 6)
