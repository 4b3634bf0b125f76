"""The exact test of linearity in the upstream gradient."""

from __future__ import annotations

import numpy as np
import pytest

import minichainer.functions as F
from minichainer.gradient_check import check_gradients
from minichainer.verification.linearity import FACTOR, breaks_scaling, breaks_zero, far_factor
from tests.verification.planting import node

X = np.random.RandomState(0).normal(size=(7, 5))
W = np.random.RandomState(1).normal(size=(5, 6))

LINEAR = {
    'product': lambda v, x: 3 * x * v,
    'sum of products': lambda v, x: (x * v) @ W.astype(v.dtype) @ W.T.astype(v.dtype),
    'softmax': lambda v, x: np.exp(x) * (v - (v * np.exp(x)).sum(1, keepdims=True)),
    'third': lambda v, x: v / 3 + v.mean(),
    'masked': lambda v, x: np.where(x > 0, v, 0),
    'huge': lambda v, x: v * v.dtype.type(np.finfo(v.dtype).max / 8),
    'subnormal': lambda v, x: v * x * v.dtype.type(np.finfo(v.dtype).smallest_subnormal * 20),
}


@pytest.mark.parametrize('name', LINEAR)
@pytest.mark.parametrize('dtype', [np.float16, np.float32, np.float64])
def test_linear_functions_pass(name, dtype):
    x = X.astype(dtype)
    for seed in range(20):
        v = np.random.RandomState(seed).normal(size=X.shape).astype(dtype)
        with np.errstate(over='ignore'):
            gradients = [LINEAR[name](a, x) for a in (v, dtype(FACTOR) * v, 0 * v)]
        assert not breaks_scaling(*gradients[:2]).any()
        assert not breaks_zero(gradients[2]).any()


NONLINEAR = {
    'absolute': lambda v, x: x * abs(v),
    'positive part': lambda v, x: x * np.maximum(v, 0),
    'square': lambda v, x: x * v * v,
    'ignored': lambda v, x: x + 0 * v,
    'plus 1e-6': lambda v, x: x * v + v.dtype.type(1e-6),
    'clipped': lambda v, x: x * np.clip(v, -1, 1),
    'NaN at zero': lambda v, x: x * v * (v / v),
}


@pytest.mark.parametrize('name', NONLINEAR)
@pytest.mark.parametrize('dtype', [np.float32, np.float64])
def test_nonlinear_functions_are_caught(name, dtype):
    x = X.astype(dtype)
    v = np.random.RandomState(5).normal(size=X.shape).astype(dtype)
    with np.errstate(invalid='ignore'):
        gradients = [NONLINEAR[name](a, x) for a in (v, dtype(FACTOR) * v, 0 * v)]
    assert breaks_scaling(*gradients[:2]).any() or breaks_zero(gradients[2]).any()


def test_which_elements():
    gradient = np.array([1.0, 2.0, np.nan, np.inf, 1e308])
    scaled = np.array([-2.0, -4.1, np.nan, -np.inf, -np.inf])
    np.testing.assert_array_equal(breaks_scaling(gradient, scaled), [False, True, False, False, False])
    np.testing.assert_array_equal(breaks_zero(np.array([0.0, -0.0, 1e-300, np.nan])), [False, False, True, True])


def test_a_finite_number_against_nan_is_a_difference():
    assert breaks_scaling(np.array([1.0]), np.array([np.nan])).all()


@pytest.mark.parametrize('dtype', [np.float32, np.float64])
def test_a_far_factor_finds_limits_that_a_near_one_does_not(dtype):
    v = X.astype(dtype)
    clipped = [np.clip(a, -100, 100) for a in (v, dtype(FACTOR) * v, dtype(-2048) * v)]
    assert not breaks_scaling(*clipped[:2]).any()
    assert breaks_scaling(clipped[0], clipped[2], -2048.0).any()


def test_the_far_factor_is_not_used_where_it_may_overflow():
    assert far_factor([X, None, np.zeros(0)]) == -(2.0**50) and far_factor([X.astype('f')]) == -(2.0**20)
    assert far_factor([X.astype('e')]) == far_factor([X, np.array([1e300])]) == far_factor([np.array([np.nan])]) == -2


HALF = {
    'arctan2': (F.arctan2, lambda r: (r.randn(3, 4), r.randn(3, 4))),
    'soft targets': (
        lambda x, t: F.softmax_cross_entropy(x, F.softmax(t), enable_double_backprop=True),
        lambda r: (4 * r.randn(3, 4), 4 * r.randn(3, 4)),
    ),
    'small products': (lambda x: x * np.float16(1e-3) * np.float16(1e-3), lambda r: (r.randn(3, 4),)),
}


@pytest.mark.parametrize('name', HALF)
@pytest.mark.parametrize('order', [1, 2])
def test_half_precision_underflows_on_the_way(name, order):
    func, draw = HALF[name]
    for seed in range(10):
        inputs = tuple(x.astype(np.float16) for x in draw(np.random.RandomState(seed)))
        report = check_gradients(func, inputs, order=order, seed=seed)
        assert report.verdict in ('pass', 'unresolved'), report


@pytest.mark.parametrize('scale', [1e-300, 1e300])
def test_a_far_factor_that_flows_over_on_the_way_proves_nothing(scale):
    assert check_gradients(lambda x: x * scale * (1 / scale), X, seed=0)


# --- None in place of an upstream gradient ---


def or_ones(gy):
    return 1.0 if gy is None else gy


def or_zero(gy):
    return 0.0 if gy is None else gy


def squares_and_sines(first, second):
    """Two outputs, and what their rules take None for."""
    return node(lambda x: (x * x, np.sin(x)), lambda xs, a, b: 2 * xs[0] * first(a) + np.cos(xs[0]) * second(b))


NONES = {
    'ones for both': (squares_and_sines(or_ones, or_ones), [(0, 1), (1, 0)], 'taken as ones; it means zeros'),
    'ones for one': (squares_and_sines(or_zero, or_ones), [(0, 1)], 'taken as ones; it means zeros'),
    'halves': (
        squares_and_sines(or_zero, lambda gy: 0.5 if gy is None else gy),
        [(0, None)],
        'undefined upstream gradient: None gives a different result than zeros, which it means',
    ),
}


@pytest.mark.parametrize('name', NONES)
def test_what_none_is_taken_for(name):
    func, pairs, text = NONES[name]
    failures = check_gradients(func, np.random.RandomState(0).normal(size=4), seed=0).failures
    assert {f.output for f in failures} == {o for o, _ in pairs}
    for output, other in pairs:
        cause = next(f.cause for f in failures if f.output == output)
        assert cause.endswith(text), cause
        assert other is None or cause.startswith(f'undefined upstream gradient: None for output {other} is')


def test_a_rule_that_is_not_linear_is_not_blamed_on_none():
    func = squares_and_sines(lambda gy: or_zero(gy) ** 2, or_zero)
    failures = check_gradients(func, np.random.RandomState(0).normal(size=4), seed=0).failures
    assert {f.output for f in failures} == {0} and failures[0].cause.startswith('not linear in the upstream gradient')
