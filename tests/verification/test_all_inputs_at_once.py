"""Several inputs moved at once: cheaper, and no fault of a single one may hide among the others."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import minichainer.functions as F
from minichainer.gradient_check import check_gradients, gradcheck
from minichainer.variable import Variable
from tests.verification.planting import node, split_seeds, uniform

X, W, B = uniform(4, 5), uniform(3, 5, seed=2), uniform(3, seed=3)


def three_factors(spoil=lambda g: g):
    """``a * b * c``, with a fault in the gradient of the last one."""

    def backward(xs, gy):
        a, b, c = xs
        return b * c * gy, a * c * gy, spoil(a * b * gy)

    return node(lambda a, b, c: a * b * c, backward)


def inputs(scale=1.0):
    return uniform(30, 40), uniform(30, 40, seed=2), scale * uniform(30, 40, seed=3)


def test_three_inputs_cost_little_more_than_one():
    report = check_gradients(F.linear, (X, W, B), precise=False)
    assert report and report.forward_calls == 16 and report.backward_calls == 16


def put(g, factor):
    g = g.copy()
    g[5, 7] *= factor
    return g


def scales_and_factors():
    """All of them; in the short run each scale once, and each factor."""
    for scale in (1e-12, 1e-6, 1.0, 1e6, 1e12):
        for factor in (0.0, 1.1, 1.001):
            yield pytest.param(scale, factor, marks=[pytest.mark.slow] * (factor != 1.1 and scale != 1.0))


@pytest.mark.parametrize(('scale', 'factor'), list(scales_and_factors()))
def test_one_wrong_element_of_one_input(scale, factor):
    report = check_gradients(three_factors(lambda g: put(g, factor)), inputs(scale), seed=0)
    assert report.verdict == 'fail'
    assert [(f.input, f.index) for f in report.failures] == [(2, (5, 7))]


@pytest.mark.parametrize('seeds', split_seeds(2, 8))
def test_a_wrong_element_of_an_input_that_hardly_counts(seeds):
    func = node(lambda a, b, c: a * b + c, lambda xs, gy: (xs[1] * gy, xs[0] * gy, put(gy, 1.1)))
    for seed in seeds:
        report = check_gradients(func, inputs(1e-8), seed=seed)
        assert [(f.input, f.index) for f in report.failures] == [(2, (5, 7))]


@pytest.mark.parametrize('scale', [1e-12, 1.0, 1e12])
def test_right_gradients_of_inputs_of_any_size(scale):
    assert check_gradients(three_factors(), inputs(scale), seed=0)


def test_a_zero_gradient_of_one_input_is_no_agreement():
    report = check_gradients(three_factors(lambda g: g * 0), inputs(), seed=0)
    assert report.failures[0].input == 2 and report.failures[0].cause.startswith('detached')


def two_outputs(lost):
    """Each input moves an output of its own; the second moves the first output, too, but backward does not say so."""
    return lambda x, b: (F.tanh(x) + lost * b.array, F.tanh(b))


def test_inputs_that_move_some_of_the_outputs_cost_few_calls():
    assert check_gradients(two_outputs(0.0), (X, X.copy()), precise=False, seed=0).forward_calls <= 24
    assert check_gradients(two_outputs(0.0), (X, X.copy()), seed=0)


@pytest.mark.parametrize('lost', [1.0, 1e-6, 1e-12])
@pytest.mark.parametrize(
    'check',
    [check_gradients, functools.partial(check_gradients, precise=False)]
    + [functools.partial(gradcheck, fast_mode=fast, raise_exception=False) for fast in (False, True)],
)
def test_a_zero_gradient_for_one_of_the_outputs_is_no_agreement(check, lost):
    assert not check(two_outputs(lost), (X, X.copy()), seed=0)


def test_errors_of_two_inputs_do_not_cancel():
    def backward(xs, gy):
        return xs[1] * gy + 1e-6 * gy, xs[0] * gy - 1e-6 * gy

    report = check_gradients(node(np.multiply, backward), (X, X.copy()), seed=0)
    assert report.verdict == 'fail' and {f.input for f in report.failures} == {0, 1}


@pytest.mark.parametrize('seed', range(8))
def test_a_kink_of_one_input_beside_the_bend_of_a_product(seed):
    x, y = uniform(20, 20), uniform(20, 20, seed=2)
    x += np.copysign(0.1, x)
    x[3, 4] = 0
    report = check_gradients(lambda x, y: F.absolute(x) + 100 * x * y, (x, y), seed=seed)
    assert report.verdict == 'nondifferentiable'
    assert [(f.input, f.index) for f in report.failures] == [(0, (3, 4))]


def test_an_input_that_does_not_count_costs_no_try_of_all_together():
    assert check_gradients(lambda x, y: x + 0 * y, (X, X)).forward_calls <= 30


def test_a_function_may_use_the_gradients_of_its_inputs():
    def slope_times(x, y):
        z = F.sum(x * x * y)
        z.backward(enable_double_backprop=True)
        return x.grad_var * y.grad_var

    assert check_gradients(slope_times, (X, X.copy()), order=1, seed=0)
    assert check_gradients(lambda x, y: slope_times(x, y) + F.absolute(x), (X, X.copy()), seed=0)


def test_parameters_move_together_with_inputs_and_come_back():
    w = Variable(W.copy())
    assert check_gradients(lambda x: F.tanh(F.linear(x, w)), X, params=w, seed=0)
    assert (w.array == W).all()
