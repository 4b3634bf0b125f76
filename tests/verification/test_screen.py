"""The screen on plain arrays: planted bugs are caught at every size, correct functions are left in peace."""

from __future__ import annotations

import numpy as np
import pytest

from minichainer.verification.screen import Screen


def forward(x, w):
    return (x * x * w,)


def right(x, w, gy):
    return 2 * x * w * gy, (x * x * gy).sum(0)


def put(array, index, value):
    array = array.copy()
    array.flat[index] = value(array.flat[index])
    return array


BUGS = {
    'gx doubled': lambda x, w, gy: (4 * x * w * gy, right(x, w, gy)[1]),
    'gx halved': lambda x, w, gy: (x * w * gy, right(x, w, gy)[1]),
    'gx negated': lambda x, w, gy: (-2 * x * w * gy, right(x, w, gy)[1]),
    'gx times 1.0005': lambda x, w, gy: (1.0005 * 2 * x * w * gy, right(x, w, gy)[1]),
    'gx zero': lambda x, w, gy: (0 * x, right(x, w, gy)[1]),
    'gx None': lambda x, w, gy: (None, right(x, w, gy)[1]),
    'gw None': lambda x, w, gy: (right(x, w, gy)[0], None),
    'gw mean': lambda x, w, gy: (right(x, w, gy)[0], (x * x * gy).mean(0)),
    'gw first row': lambda x, w, gy: (right(x, w, gy)[0], (x * x * gy)[0]),
    'gw reversed': lambda x, w, gy: (right(x, w, gy)[0], right(x, w, gy)[1][::-1]),
    'gx without w': lambda x, w, gy: (2 * x * gy, right(x, w, gy)[1]),
    'gx without x': lambda x, w, gy: (2 * w * gy + 0 * x, right(x, w, gy)[1]),
    'gx of |x|': lambda x, w, gy: (2 * abs(x) * w * gy, right(x, w, gy)[1]),
    'gx only for x > 0': lambda x, w, gy: (2 * np.maximum(x, 0) * w * gy, right(x, w, gy)[1]),
    'gx rolled': lambda x, w, gy: (np.roll(2 * x * w * gy, 1, 0), right(x, w, gy)[1]),
    'gx one element 0': lambda x, w, gy: (put(2 * x * w * gy, 5, lambda g: 0), right(x, w, gy)[1]),
    'gx one element 1.1': lambda x, w, gy: (put(2 * x * w * gy, 5, lambda g: 1.1 * g), right(x, w, gy)[1]),
    'gx one element 1.001': lambda x, w, gy: (put(2 * x * w * gy, 5, lambda g: 1.001 * g), right(x, w, gy)[1]),
    'gx one element NaN': lambda x, w, gy: (put(2 * x * w * gy, 5, lambda g: np.nan), right(x, w, gy)[1]),
    'gx one element infinite': lambda x, w, gy: (put(2 * x * w * gy, 5, lambda g: np.inf), right(x, w, gy)[1]),
    'plus 1e-6': lambda x, w, gy: (2 * x * w * gy + 1e-6, right(x, w, gy)[1]),
    '|gy|': lambda x, w, gy: right(x, w, abs(gy)),
    'relu(gy)': lambda x, w, gy: right(x, w, np.maximum(gy, 0)),
    'gy squared': lambda x, w, gy: right(x, w, gy * gy),
    'gy ignored': lambda x, w, gy: right(x, w, np.ones_like(gy)),
    'gy clipped': lambda x, w, gy: right(x, w, np.clip(gy, -1, 1)),
}


def screen_for(vjp, shape, seed):
    rng = np.random.RandomState(seed)
    x, w = rng.normal(size=shape), rng.normal(size=shape[1])
    return Screen(forward, lambda xs, gys: vjp(*xs, gys[0]), [x, w], seed=seed)


@pytest.mark.parametrize('name', BUGS)
@pytest.mark.parametrize('shape', [(3, 4), (4, 4), (30, 40)])
def test_planted_bugs_are_caught(name, shape):
    for seed in range(20):
        screen = screen_for(BUGS[name], shape, seed)
        caught = bool(screen.nonlinear()) or any(f.verdict == 'fail' for f in screen.compare())
        assert caught, seed


@pytest.mark.parametrize('shape', [(3, 4), (4, 4), (30, 40), (0, 3)])
def test_the_right_gradient_passes(shape):
    for seed in range(20):
        screen = screen_for(right, shape, seed)
        assert screen.nonlinear() == []
        assert {f.verdict for f in screen.compare()} == {'pass'}


def test_the_finding_names_the_pair():
    screen = screen_for(BUGS['gw mean'], (3, 4), 0)
    assert {(f.output, f.input) for f in screen.compare() if f.verdict == 'fail'} == {(0, 1)}


@pytest.mark.parametrize('n', [10, 1000, 100_000])
@pytest.mark.parametrize('factor', [0, 1.1, 1.001])
def test_one_wrong_element_of_many_at_constant_cost(n, factor):
    def vjp(xs, gys):
        g = 2 * xs[0] * gys[0]
        g[n // 2] *= factor
        return [g]

    for seed in range(3):
        screen = Screen(lambda x: (x * x,), vjp, [np.random.RandomState(seed).normal(size=n)], seed=seed)
        assert screen.nonlinear() == []
        assert any(f.verdict == 'fail' for f in screen.compare())
        assert screen.forward_calls <= 30 and screen.backward_calls <= 6


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def softmax_vjp(x, gy):
    y = softmax(x)
    return y * (gy - (gy * y).sum(-1, keepdims=True))


N = np.random.RandomState(7).normal(size=(3, 5))
CORRECT = {
    'exp': (np.exp, lambda x, gy: np.exp(x) * gy, N),
    'huge inputs': (np.square, lambda x, gy: 2 * x * gy, 1e8 * N),
    'tiny inputs': (np.square, lambda x, gy: 2 * x * gy, 1e-12 * N),
    'huge and tiny inputs': (np.square, lambda x, gy: 2 * x * gy, 10.0 ** (4 * N)),
    'tiny outputs': (lambda x: 1e-200 * np.sin(x), lambda x, gy: 1e-200 * np.cos(x) * gy, N),
    'offset 1e6': (lambda x: 1e6 + np.sin(x), lambda x, gy: np.cos(x) * gy, N),
    'logarithm near 0': (np.log, lambda x, gy: gy / x, np.array([1e-5, 1e-3, 1.0, 10.0])),
    'reciprocal': (lambda x: 1 / x, lambda x, gy: -gy / x**2, N),
    'linear': (lambda x: 3 * x, lambda x, gy: 3 * gy, N),
    'constant': (lambda x: 0 * x + 7, lambda x, gy: 0 * gy, N),
    'large constant': (lambda x: 0 * x + 1e9, lambda x, gy: None, N),
    'softmax': (softmax, softmax_vjp, N),
    'softmax of large logits': (softmax, softmax_vjp, 30 * N),
    'sum of a softmax': (lambda x: softmax(x).sum(-1), lambda x, gy: softmax_vjp(x, gy[:, None] + 0 * x), N),
    'relu away from 0': (lambda x: np.maximum(x, 0), lambda x, gy: (x > 0) * gy, N),
    'relu, kink at 1e-4': (lambda x: np.maximum(x, 0), lambda x, gy: (x > 0) * gy, np.array([1e-4, -1.0, 2.0])),
    'sqrt': (np.sqrt, lambda x, gy: gy / (2 * np.sqrt(x)), abs(N) + 1e-3),
    'zero at 0': (np.square, lambda x, gy: 2 * x * gy, np.zeros(4)),
    '0-d': (np.sin, lambda x, gy: np.cos(x) * gy, np.array(0.3)),
}


@pytest.mark.parametrize('name', CORRECT)
def test_correct_functions_do_not_fail(name):
    f, vjp, x = CORRECT[name]
    for seed in range(10):
        screen = Screen(lambda x: (np.asarray(f(x)),), lambda xs, gys: [vjp(xs[0], gys[0])], [x], seed=seed)
        assert screen.nonlinear() == []
        assert {finding.verdict for finding in screen.compare()} == {'pass'}
        assert screen.forward_calls <= 50


def test_several_outputs_are_told_apart():
    def vjp(xs, gys):
        return [2 * xs[0] * gys[0] + 0 * np.exp(xs[0]) * gys[1]]

    found = Screen(lambda x: (x * x, np.exp(x)), vjp, [N]).compare()
    assert {f.output for f in found if f.verdict == 'fail'} == {1}
    assert {f.output for f in found if f.verdict == 'pass'} == {0}


def test_kinks_and_values_that_are_not_finite():
    kink = Screen(lambda x: (abs(x),), lambda xs, gys: [np.sign(xs[0]) * gys[0]], [np.array([0.0, 1.0])])
    assert 'nondifferentiable' in {f.verdict for f in kink.compare()}
    nan = Screen(lambda x: (x * np.nan,), lambda xs, gys: [np.nan * gys[0]], [N])
    assert {f.verdict for f in nan.compare()} == {'not_finite'}


def test_one_seed_gives_one_result():
    assert screen_for(right, (3, 4), 5).compare() == screen_for(right, (3, 4), 5).compare()
