"""Slopes at 50 digits: what they find, what they settle, and where they give way to differences of float64."""

from __future__ import annotations

import math

import numpy as np
import pytest

import minichainer.functions as F
from minichainer.errors import GradientToleranceWarning
from minichainer.function_node import FunctionNode
from minichainer.gradient_check import check_backward, check_gradients, gradcheck
from minichainer.variable import Variable
from tests.verification.planting import node, split_seeds, square, uniform

X = uniform(3, 4)
HILBERT = 1 / (np.arange(6)[:, None] + np.arange(6) + 1.0)


def eliminated(a):
    """The inverse of a matrix by our own elimination, without pivoting."""
    rows = np.concatenate([a, np.zeros_like(a) + np.eye(len(a))], axis=1)
    for k in range(len(a)):
        rows[k] = rows[k] / rows[k, k]
        for other in range(len(a)):
            if other != k:
                rows[other] = rows[other] - rows[other, k] * rows[k]
    return rows[:, len(a) :]


def inverse(factor=1.0):
    def backward(xs, gy):
        y = eliminated(xs[0])
        return -factor * (y.T @ gy @ y.T)

    return node(eliminated, backward)


def reciprocal(factor=1.0):
    return node(lambda x: 1 / x, lambda xs, gy: -factor * gy / xs[0] ** 2)


def exponential(factor=1.0):
    return node(np.exp, lambda xs, gy: factor * np.exp(xs[0]) * gy)


def offset(factor=1.0):
    return node(lambda x: 1e12 + np.sin(x), lambda xs, gy: factor * np.cos(xs[0]) * gy)


def softplus(factor=1.0):
    return node(lambda x: np.log(1 + np.exp(x)), lambda xs, gy: factor * gy / (1 + np.exp(-xs[0])))


#: Functions with a factor in their backward, and points at which differences see little.
FUNCTIONS = {
    'exponential': (exponential, X),
    'Hilbert matrix': (inverse, HILBERT),
    'reciprocal of 1e-8': (reciprocal, np.array([1e-8, 2e-8])),
    'reciprocal of all sizes': (reciprocal, np.array([1e-8, 1.0, 1e3])),
    'large offset': (offset, X),
    'softplus at -30': (softplus, X - 30),
}


@pytest.mark.parametrize('seed', range(5))
@pytest.mark.parametrize('name', FUNCTIONS)
def test_right_gradients_pass_at_any_conditioning(name, seed):
    function, x = FUNCTIONS[name]
    report = check_gradients(function(), x, seed=seed)
    assert report and report.accuracy is not None and not report.not_precise, report
    assert 'at 50 digits' in str(report)


def test_the_report_says_how_inaccurate_backward_in_float64_is():
    assert 1e-13 < check_gradients(inverse(), HILBERT, seed=0).accuracy < 1e-6
    assert check_gradients(exponential(), X, seed=0).accuracy < 1e-14


def factors():
    """Each function with several sizes of a fault; the matrix, which takes seconds, with one."""
    for name in FUNCTIONS:
        for size in (1e-6, 1e-9, 1e-12, -1e-12):
            slow = name == 'Hilbert matrix' and size != 1e-12
            yield pytest.param(name, size, marks=[pytest.mark.slow] * slow)


@pytest.mark.parametrize(('name', 'size'), list(factors()))
def test_factors_close_to_one_are_found_at_any_conditioning(name, size):
    function, x = FUNCTIONS[name]
    report = check_gradients(function(1 + size), x, seed=0)
    assert report.verdict == 'fail'
    assert report.failures[0].analytic / report.failures[0].numeric - 1 == pytest.approx(size, rel=0.05)


@pytest.mark.parametrize('order', [1, 2])
def test_functions_of_the_package_pass_at_50_digits(order):
    w, b = uniform(5, 4, seed=2), uniform(5, seed=3)
    for func, inputs in ((F.tanh, X), (F.softmax, X), (F.linear, (X, w, b)), (lambda x: F.max(x, axis=1), X)):
        report = check_gradients(func, inputs, order=order, seed=0)
        assert report and report.accuracy < 1e-13, report


def test_an_element_close_to_right_is_found_and_named():
    def one_element(x, gy):
        gx = 2 * x * gy
        gx[1, 2] = gx[1, 2] * (1 + 1e-10)
        return gx

    report = check_gradients(square(one_element), X, seed=0)
    assert [f.index for f in report.failures] == [(1, 2)] and report.complete


def test_second_order_alone():
    """The first order is right; the rule for Variables has a factor close to 1."""

    def exp(x):
        return Exp().apply((x,))[0]

    class Exp(FunctionNode):
        def forward(self, inputs):
            self.retain_inputs((0,))
            return (np.exp(inputs[0]),)

        def backward(self, indexes, grad_outputs):
            (x,), (gy,) = self.get_retained_inputs(), grad_outputs
            return (gy * almost_exp(x),)

    def almost_exp(x):
        return node(np.exp, lambda xs, gy: (1 + 1e-11) * np.exp(xs[0]) * gy)(x)

    assert check_gradients(exp, X, seed=0)
    report = check_gradients(exp, X, order=2, seed=0)
    assert report.verdict == 'fail' and {f.order for f in report.failures} == {2}


# Kinks and ties


def test_beside_a_kink_there_is_none():
    x = np.array([1e-12, -1e-12, 0.5])
    assert check_gradients(F.relu, x, seed=0).accuracy is not None
    wrong = node(lambda x: x * (x > 0), lambda xs, gy: gy * (xs[0] > 0) * (1 + 1e-9))
    assert check_gradients(wrong, x, seed=0).verdict == 'fail'


@pytest.mark.parametrize('func', [F.relu, F.absolute, lambda x: F.max(x)])
def test_at_a_kink_there_is_one(func):
    report = check_gradients(func, np.zeros(3), seed=0)
    assert report.verdict == 'nondifferentiable'


def test_curvature_is_no_kink():
    assert check_gradients(reciprocal(), np.array([1e-13]), seed=0).accuracy is not None


# Where it does not reach


def in_single_precision(x):
    return np.tanh(x.astype(np.float32)).astype(np.float64)


def test_lost_digits_are_no_kink():
    """Beside a probability of 1, slopes of 1e-23 have few digits even of 50."""
    x = np.array([[-65.1, 414.4, -277.6, 362.6]])
    for seed in range(5):
        assert check_gradients(F.softmax, x, seed=seed).verdict == 'pass'


def test_functions_that_convert_to_float_are_measured_by_differences():
    single = node(in_single_precision, lambda xs, gy: gy * (1 - in_single_precision(xs[0]) ** 2))
    report = check_gradients(single, X, seed=0)
    assert report and report.accuracy is None and 'lose digits' in report.not_precise
    assert 'Measured by differences of float64, not at 50 digits: ' in str(report)


def test_many_elements_are_measured_by_differences_unless_asked_for():
    x = uniform(20, 20)
    assert check_gradients(F.tanh, x, seed=0).not_precise == 'there are many elements; precise=True asks for it'
    assert check_gradients(F.tanh, x, seed=0, precise=True).accuracy is not None


def test_other_values_at_50_digits_are_not_trusted():
    """A function that takes another way for arrays that are no plain arrays."""
    other = node(lambda x: np.square(x) if type(x) is np.ndarray else np.square(x) * 3, lambda xs, gy: 2 * xs[0] * gy)
    report = check_gradients(other, X, seed=0)
    assert report and 'values there differ' in report.not_precise


def test_it_can_be_left_out():
    report = check_gradients(F.tanh, X, seed=0, precise=False)
    assert report and report.accuracy is None and not report.not_precise


def test_a_step_of_the_caller_does_not_replace_it():
    assert check_gradients(F.tanh, X, seed=0, eps=1e-6).accuracy < 1e-14


def test_tolerances_widen_it():
    almost = exponential(1 + 1e-9)
    assert not gradcheck(almost, (X,), raise_exception=False)
    with pytest.warns(GradientToleranceWarning, match='1e-09 of it'):
        assert gradcheck(almost, (X,), rtol=1e-8)


def test_rules_made_for_single_precision_pass_in_single_precision():
    """A constant of eight digits is as good as any for float32."""
    rule = node(lambda x: x * math.sqrt(2 / math.pi), lambda xs, gy: gy * np.asarray(0.79788456, gy.dtype))
    assert check_gradients(rule, X.astype(np.float32), seed=0)
    assert check_gradients(rule, X, seed=0).verdict == 'fail'


def test_parameters_get_their_arrays_back():
    w = Variable(uniform(5, 4, seed=2))
    array = w.array
    assert check_gradients(lambda x: F.linear(x, w), X, params=w, seed=0).accuracy is not None
    assert w.array is array and w.array.dtype == np.float64 and type(w.array) is np.ndarray


# What the catalogue has found


def test_backward_that_loses_digits_is_judged_by_its_rounding():
    """The rule makes floats of its numbers, so that it cannot be repeated at 50 digits."""

    def rule(factor):
        return lambda xs, gy: gy * np.array([factor * math.cos(v) for v in xs[0].ravel()]).reshape(xs[0].shape)

    assert check_gradients(node(np.sin, rule(1.0)), X, seed=0)
    assert check_gradients(node(np.sin, rule(1 + 1e-10)), X, seed=0).verdict == 'fail'


@pytest.mark.parametrize('seed', [1, 2, 39])
def test_a_constant_of_a_rule_that_is_rounded_to_float64_is_no_fault(seed):
    """The mean is a product with 1 / 3 in backward; where the terms of an element cancel, its last digits show."""
    rng = np.random.RandomState(seed)
    x, gy = np.array([[10 * rng.randn(), 1e-10, -1e-10]]), rng.uniform(-1, 1, (1, 3))
    normalize = lambda x: F.layer_normalization(x, np.ones(3), np.zeros(3))  # noqa: E731
    check_backward(normalize, (x,), (gy,), dtype=np.float64)
    for third in (np.float32(1 / 3).item(), 0.333333333333):
        rule = node(lambda x: x - x.sum() / 3, lambda xs, gy, third=third: gy - gy.sum() * third)
        with pytest.raises(AssertionError, match='wrong'):
            check_backward(rule, (x,), (gy,), dtype=np.float64)


def test_tiny_slopes_are_no_rounding():
    bell = node(lambda x: np.exp(-x * x), lambda xs, gy: -2 * (1 + 1e-10) * xs[0] * np.exp(-(xs[0] ** 2)) * gy)
    assert check_gradients(bell, 8 + X, seed=0).verdict == 'fail'


def test_a_fault_of_a_tiny_input_is_not_hidden_by_another_input():
    squares = node(lambda x, y: x * x + y * y, lambda xs, gy: (2 * xs[0] * gy, (2 + 2e-9) * xs[1] * gy))
    for seed in range(5):
        assert check_gradients(squares, (X, 1e-6 * X), seed=seed).verdict == 'fail'


def test_rounding_that_differences_have_measured_does_not_count():
    written_out = node(
        lambda x: x**5 - 5 * x**4 + 10 * x**3 - 10 * x**2 + 5 * x - 1,
        lambda xs, gy: (1 + 1e-9) * 5 * (xs[0] - 1) ** 4 * gy,
    )
    assert check_gradients(written_out, 1 + 0.01 * X, seed=0).verdict == 'fail'


def test_elements_too_close_to_right_for_differences_are_named_beside_others():
    def two_elements(x, gy):
        gx = 2 * x * gy
        gx[0, 0] = gx[0, 0] * 1.1
        gx[1, 2] = gx[1, 2] * (1 + 1e-11)
        return gx

    report = check_gradients(square(two_elements), X, seed=0)
    assert sorted(f.index for f in report.failures) == [(0, 0), (1, 2)]


def test_a_tie_nearby_is_none_among_the_wrong_elements():
    x = np.array([1.0, 1 - 1e-12, 0.5])
    wrong = node(np.max, lambda xs, gy: (1 + 1e-9) * gy * (xs[0] == xs[0].max()))
    report = check_gradients(wrong, x, seed=0)
    assert [(f.index, f.verdict) for f in report.failures] == [((0,), 'fail')]


def test_many_elements_that_are_almost_right_are_a_failure():
    almost = exponential(1 + 1e-12)
    assert check_gradients(almost, uniform(20, 20), seed=0, precise=True).verdict == 'fail'


def test_an_iteration_that_stops_at_a_tolerance_needs_one():
    """Its slopes are those of the iteration, and backward has those of the limit; the message says what to do."""

    def cube_root(x):
        y = np.ones_like(x)
        while np.max(abs(y**3 - x)) > 1e-9:
            y = 0.5 * (y + x / y**2) * 0.8 + 0.2 * y
        return y

    func = node(cube_root, lambda xs, gy: gy / (3 * cube_root(xs[0]) ** 2))
    x = uniform(2, 2) + 2
    report = check_gradients(func, x, seed=0)
    assert report.verdict == 'fail' and 'stops an iteration at a tolerance' in str(report)
    with pytest.warns(GradientToleranceWarning, match='rtol=1e-06'):
        assert check_gradients(func, x, rtol=1e-6, seed=0)
    assert check_gradients(func, x, precise=False, seed=0).verdict in ('pass', 'unresolved')


def test_the_report_says_where_50_digits_do_not_settle_it():
    report = check_gradients(F.relu, np.array([0.0, 1.0]), subgradient=True, seed=0)
    assert report and 'could not be told apart' in report.not_precise


# --- rules that were made for float32 ---


def _logarithm(constant):
    return node(np.log10, lambda xs, gy: gy / (xs[0] * xs[0].dtype.type(constant)))


@pytest.mark.parametrize('precise', [None, False])
@pytest.mark.parametrize('shape', [(4, 4), pytest.param((30, 40), marks=pytest.mark.slow)])
@pytest.mark.parametrize('seeds', split_seeds(1, 4))
def test_constants_of_a_rule_need_the_digits_of_the_given_dtype(seeds, shape, precise):
    for seed in seeds:
        x = np.random.RandomState(seed).uniform(0.5, 3, shape)
        assert check_gradients(_logarithm(2.3025851), x.astype('f'), precise=precise, seed=seed)
        assert not check_gradients(_logarithm(2.3025851), x, precise=precise, seed=seed)
        assert not check_gradients(_logarithm(2.30259 * 1.0001), x.astype('f'), precise=precise, seed=seed)
