"""The step ladder: derivatives within their own error, kinks, jumps, domains, and what they cost."""

from __future__ import annotations

import numpy as np
import pytest

from minichainer.verification.extrapolation import first_step, slopes

DOUBLE, SINGLE = 2.0**-52, 2.0**-23


def curve(f, dtype=np.float64):
    """One function of t, computed in ``dtype``, as the ladder wants it."""

    def both(t):
        with np.errstate(all='ignore'):
            y = np.asarray(f(dtype(t)), dtype)
        return np.array([float(y)]), np.array([abs(float(y))])

    return both


SMOOTH = {
    'sine': (lambda t: np.sin(1 + t), np.cos(1), 9),
    'fast exponential': (lambda t: np.exp(30 * t), 30, 11),
    'fast sine': (lambda t: np.sin(1000 * t + 0.3), 1000 * np.cos(0.3), 13),
    'huge': (lambda t: 1e200 * np.sin(1 + t), 1e200 * np.cos(1), 9),
    'tiny': (lambda t: 1e-200 * np.sin(1 + t), 1e-200 * np.cos(1), 9),
    'constant': (lambda t: 0 * t + 3, 0, 5),
    'zero': (lambda t: 0 * t, 0, 5),
    'linear': (lambda t: 3 * t, 3, 5),
    'square': (lambda t: t * t, 0, 5),
    'cube': (lambda t: t**3, 0, 9),
    'pole nearby': (lambda t: np.tan(1.5 + t), 1 / np.cos(1.5) ** 2, 13),
    'logarithm close to its edge': (lambda t: np.log(1e-5 + t), 1e5, 25),
    'power 3/2': (lambda t: abs(t) ** 1.5, 0, 13),
    'kink closer than the first steps': (lambda t: abs(t + 1e-7), 1, 25),
    'kink nearby': (lambda t: abs(t + 1e-4), 1, 17),
}


@pytest.mark.parametrize('name', SMOOTH)
def test_smooth_functions(name):
    f, expected, most_calls = SMOOTH[name]
    found = slopes(curve(f), DOUBLE)
    assert abs(found.value[0] - expected) <= found.error[0] <= 1e-4 * max(abs(expected), 1e-6)
    assert found.finite[0] and not found.kink[0]
    assert found.calls <= most_calls


def test_an_offset_shows_in_the_error():
    found = slopes(curve(lambda t: 1e8 + np.sin(1 + t)), DOUBLE)
    assert abs(found.value[0] - np.cos(1)) <= found.error[0]
    assert 1e-7 < found.error[0] < 1e-3


@pytest.mark.parametrize(('dtype', 'precision', 'limit'), [(np.float32, SINGLE, 1e-3), (np.float16, 2.0**-10, 1.0)])
@pytest.mark.parametrize('name', ['sine', 'linear', 'constant', 'cube', 'zero'])
def test_low_precision(name, dtype, precision, limit):
    f, expected, _ = SMOOTH[name]
    found = slopes(curve(f, dtype), precision)
    assert abs(found.value[0] - expected) <= found.error[0] <= limit
    assert not found.kink[0]


def test_the_error_estimate_holds_for_random_functions():
    rng = np.random.RandomState(0)
    for _ in range(300):
        a, b, c = rng.normal(size=(3, 5)) * 10 ** rng.uniform(-1, 1.5)
        found = slopes(lambda t: _waves(a, b, c, t), DOUBLE)  # noqa: B023
        truth = (a * b * np.cos(c)).sum()
        assert abs(found.value[0] - truth) <= found.error[0]


def _waves(a, b, c, t):
    terms = a * np.sin(b * t + c)
    return np.array([terms.sum()]), np.array([abs(terms).sum()])


KINKS = {
    'absolute value': (abs, -1, 1),
    'scaled absolute value': (lambda t: 1e-6 * abs(t), -1e-6, 1e-6),
    'ramp': (lambda t: max(t, 0), 0, 1),
    'ramp with a slope': (lambda t: np.sin(1 + t) + max(t, 0), np.cos(1), np.cos(1) + 1),
    'jump': (lambda t: np.floor(1 + t), np.inf, 0),
    'symmetric jump': (np.sign, np.inf, np.inf),
    'cusp': (lambda t: abs(t) ** 0.5, -np.inf, np.inf),
}


@pytest.mark.parametrize('name', KINKS)
def test_kinks(name):
    f, left, right = KINKS[name]
    found = slopes(curve(f), DOUBLE)
    assert found.kink[0] and found.finite[0] and found.calls <= 25 + 16  # these where a kink is confirmed
    for actual, expected in ((found.left[0], left), (found.right[0], right)):
        assert actual == expected or abs(actual - expected) < 0.05 * abs(expected) + 1e-4


NOT_FINITE = {
    'at the point': lambda t: 1 / t if t else np.inf,
    'everywhere': lambda t: np.nan,
    'on one side': lambda t: np.sqrt(t),
}


@pytest.mark.parametrize('name', NOT_FINITE)
def test_not_finite(name):
    found = slopes(curve(NOT_FINITE[name]), DOUBLE)
    assert not found.finite[0] and not found.kink[0] and found.error[0] == np.inf


def test_a_function_that_is_never_finite_costs_three_calls():
    assert slopes(curve(lambda t: np.nan), DOUBLE).calls == 3


def test_several_functions_share_their_calls():
    fs = [np.sin, np.exp, abs]
    found = slopes(lambda t: (np.array([f(t) for f in fs]), np.ones(3)), DOUBLE)
    np.testing.assert_allclose(found.value, [1, 1, 0], atol=1e-7)
    np.testing.assert_array_equal(found.kink, [False, False, True])
    assert found.samples.shape == (len(found.steps), 3, 3) and found.calls == 13 + 16  # 16 confirm the kink


def test_a_target_saves_calls():
    assert slopes(curve(lambda t: np.exp(30 * t)), DOUBLE, target=np.array([10.0])).calls == 5


def test_first_step_suits_the_precision():
    assert first_step(DOUBLE) == 1e-2
    assert 0.03 < first_step(SINGLE) < 0.05
    assert 0.2 < first_step(2.0**-10) < 0.3


def rounded(seed):
    """A cubic with rounding errors of 1e-9 that its magnitude does not tell of; the same at equal steps."""
    draws = {}

    def curve(t):
        noise = draws.setdefault(t, np.random.RandomState(hash((seed, t)) & 0xFFFFFFFF).normal())
        return np.array([1e-3 * t + t**3 + 1e-9 * noise]), np.array([1e-3])

    return curve


@pytest.mark.parametrize('draws', [60, pytest.param(300, marks=pytest.mark.slow)])
def test_rounding_errors_that_nobody_expects_are_no_kink(draws):
    found = [slopes(rounded(seed), DOUBLE).kink[0] for seed in range(draws)]
    assert sum(found) <= draws / 15, 'without asking neighbouring steps 289 of 300 are taken for kinks'


@pytest.mark.parametrize('slope', [1e-6, 1.0, 1e6])
@pytest.mark.parametrize('name', ['abs', 'root', 'jump', 'bent line'])
def test_kinks_show_again_at_neighbouring_steps(name, slope):
    functions = {
        'abs': abs,
        'root': lambda t: abs(t) ** 0.5,
        'jump': lambda t: float(t > 0),
        'bent line': lambda t: t + 0.01 * abs(t),
    }
    assert slopes(lambda t: (np.array([slope * functions[name](t)]), np.array([slope])), DOUBLE).kink[0]
