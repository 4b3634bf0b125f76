"""After a mismatch: the exact elements, at a bounded cost, and the cause."""

from __future__ import annotations

import re

import numpy as np
import pytest

import minichainer.functions as F
from minichainer.function_node import FunctionNode
from minichainer.gradient_check import check_gradients
from tests.verification.planting import node, split_seeds, square, uniform


def apart_from_zero(*shape, seed=1):
    x = uniform(*shape, seed=seed)
    return x + np.copysign(0.1, x)


def changed(where, change):
    """The square, wrong at some places."""

    def rule(x, gy):
        gx = 2 * x * gy
        gx[where] = change(gx[where])
        return gx

    return square(rule)


@pytest.mark.parametrize('n', [10, 1000, 100_000])
@pytest.mark.parametrize('factor', [0, 1.1, 1.001])
def test_one_wrong_element_of_many(n, factor):
    place = n // 3
    report = check_gradients(changed(place, lambda g: factor * g), apart_from_zero(n))
    assert [f.index for f in report.failures] == [(place,)] and report.failure_count == 1 and report.complete
    assert report.failures[0].cause.startswith('one element: ')
    assert report.forward_calls <= 1500


@pytest.mark.parametrize('size', [300, 100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize('factor', [0, 1.001])
def test_one_wrong_element_of_a_function_of_single_elements_takes_few_calls(size, factor):
    """One difference has the slopes of all elements: they need not be halved."""
    report = check_gradients(changed(size // 3, lambda g: factor * g), apart_from_zero(size), seed=0)
    assert [f.index for f in report.failures] == [(size // 3,)] and report.complete
    assert report.forward_calls <= 40 + 10 * (size == 300)  # few elements are looked at with many digits, too


def test_suspects_are_only_suspects():
    """Here outputs depend on other elements than those at their own place."""

    def mixed(xs, gy):
        gx = 2 * xs[0] * gy[::-1]
        gx[100] *= 1.5
        return gx

    report = check_gradients(node(lambda x: np.square(x)[::-1].copy(), mixed), apart_from_zero(300), seed=0)
    assert [f.index for f in report.failures] == [(100,)] and report.complete


def test_a_few_wrong_elements_of_many():
    places = [3, 500, 501, 70_000]
    report = check_gradients(changed(places, lambda g: 1.2 * g), apart_from_zero(100_000))
    assert sorted(f.index[0] for f in report.failures) == places


@pytest.mark.parametrize('shape', [(4, 5), (30, 40)])
@pytest.mark.parametrize('where', [(slice(None), 1), (2,)])
def test_a_wrong_row_or_column(shape, where):
    report = check_gradients(changed(where, lambda g: 0 * g), apart_from_zero(*shape))
    expected = np.zeros(shape, bool)
    expected[where] = True
    assert {f.index for f in report.failures} == {tuple(i) for i in np.argwhere(expected).tolist()}
    assert report.failure_count == expected.sum() and report.failures[0].cause.startswith('one slice: ')
    assert report.forward_calls <= 6000


WHOLE = {
    'sign': (lambda x, gy: -2 * x * gy, 'sign: '),
    'factor': (lambda x, gy: 2.0001 * x * gy, 'factor: '),
    'factor of the input': (lambda x, gy: 2 * gy, 'factor: the factor the input is missing'),
    'transposed': (lambda x, gy: (2 * x * gy).T.copy().reshape(x.shape), 'transposed: '),
    'shifted': (
        lambda x, gy: np.roll(2 * x * gy, 2, axis=0),
        'shifted: backward gives the gradient shifted by -?[12] along axis 0',
    ),
    'reversed': (lambda x, gy: (2 * x * gy)[::-1].copy(), 'shifted: .* reversed along axis 0'),
    'half': (
        lambda x, gy: np.where(x > 0, 6 * x * gy, 2 * x * gy),
        'wrong where x > 0: there backward gives 3 times',
    ),
    'detached': (lambda x, gy: 0 * gy, 'detached: '),
    'missing': (lambda x, gy: None, 'missing: '),
}


def whole():
    """Names and shapes; in the short run squares, where an array has the shape of its transpose, only for that."""
    for name in WHOLE:
        for shape in [(3, 4), (4, 4), (30, 40), (300, 400)]:
            slow = shape == (300, 400) or (shape == (4, 4) and name != 'transposed')
            yield pytest.param(name, shape, marks=[pytest.mark.slow] * slow)


@pytest.mark.parametrize(('name', 'shape'), list(whole()))
def test_everything_is_wrong(name, shape):
    rule, cause = WHOLE[name]
    x = apart_from_zero(*shape)
    report = check_gradients(square(rule), x)
    assert re.match(cause, report.failures[0].cause), report.failures[0].cause
    assert len(report.failures) <= 64 and report.failure_count >= min(x.size // 4, 64)
    assert report.forward_calls <= 3000


def test_a_gradient_that_is_wrong_in_its_own_dtype_alone():
    def rule(x, gy):
        return 2 * x * gy * (1.01 if x.dtype == np.float32 else 1)

    report = check_gradients(square(lambda x, gy: rule(x, gy).astype(x.dtype)), uniform(3, 4, dtype='f'))
    assert report.failures[0].cause.startswith('dtype: in float32 the gradient differs from that in float64')
    assert check_gradients(F.softmax, 30 * uniform(3, 4, dtype='f'))


def test_a_function_that_refuses_float64_is_measured_in_its_own_dtype():
    def func(x):
        if x.dtype != np.float32:
            raise TypeError('float32 only')
        return x * x

    report = check_gradients(func, uniform(3, 4, dtype='f'))
    assert report and 'measured in the dtype of the inputs' in report.message
    wrong = square(lambda x, gy: (3 * x * gy).astype('f'))

    def broken(x):
        return func(x) * 0 + wrong(x)

    assert check_gradients(broken, uniform(3, 4, dtype='f')).verdict == 'fail'


def single(rule):
    """The square in single precision, and in no other."""

    def forward(x):
        if x.dtype != np.float32:
            raise TypeError('float32 only')
        return x * x

    return node(forward, lambda xs, gy: rule(2 * xs[0] * gy).astype('f'))


def without(g, *places):
    g = g.copy()
    g.flat[list(places)] = 0
    return g


@pytest.mark.parametrize('seeds', split_seeds(1, 4))
def test_elements_stand_out_though_all_others_are_rounded(seeds):
    places = range(3, 600, 50)
    for seed in seeds:
        x = apart_from_zero(100, 100, seed=seed).astype('f')
        report = check_gradients(single(lambda g: 0.5 * (g + without(g, *places))), x, seed=seed)
        assert {f.index for f in report.failures} == {divmod(place, 100) for place in places}, report
        x = apart_from_zero(30, 40, seed=seed).astype('f')
        report = check_gradients(single(lambda g: without(g, 5)), x, seed=seed)
        assert [f.index for f in report.failures] == [(0, 5)] and report.failures[0].cause.startswith('one element: ')


@pytest.mark.parametrize('seed', [0, 2, 5, 9])
def test_a_factor_near_1_is_no_explanation_for_one_element(seed):
    x = apart_from_zero(30, 40, seed=seed).astype('f')
    report = check_gradients(single(lambda g: g + 0.1 * (g - without(g, 5))), x, seed=seed)
    assert [f.index for f in report.failures] == [(0, 5)] and report.failures[0].cause.startswith('one element: ')


@pytest.mark.parametrize(('factor', 'said'), [(2, 'gives 2 times'), (1.05, 'gives 1.05 times'), (-1, 'sign: ')])
@pytest.mark.parametrize('seeds', split_seeds(2, 6))
def test_factors_are_said_as_exactly_as_they_are_known(seeds, factor, said):
    for seed in seeds:
        shape = [(3, 4), (30, 40)][seed % 2]
        report = check_gradients(single(lambda g: factor * g), uniform(*shape, dtype='f', seed=seed), seed=seed)
        assert said in report.failures[0].cause


def test_rules_on_variables_are_checked_at_first_order():
    class Inconsistent(FunctionNode):
        def forward(self, inputs):
            self.retain_inputs((0,))
            return (inputs[0] ** 2,)

        def backward_arrays(self, indexes, grad_outputs):
            return (2 * self.input_arrays()[0] * grad_outputs[0],)

        def backward(self, indexes, grad_outputs):
            (x,) = self.get_retained_inputs()
            return (3 * x * grad_outputs[0],)

    report = check_gradients(lambda x: Inconsistent().apply((x,))[0], uniform(3, 4))
    assert report.failures[0].cause.startswith('factor: backward gives 1.5 times the gradient')
    assert 'only in the backward pass that can itself be differentiated' in report.failures[0].cause


def test_one_slice_of_the_upstream_gradient_for_the_sum():
    func = node(lambda x, w: x * w, lambda xs, gy: (xs[1] * gy, (xs[0] * gy)[0]))
    report = check_gradients(func, (uniform(3, 4), uniform(4)))
    assert report.failures[0].cause.startswith('not summed over a broadcast axis: backward uses index 0 of axis 0')


NOISY = {
    'offset': lambda x: 1e6 + F.sin(x),
    'cancellation': lambda x: (x + 1e6) - 1e6,
    'quantised': lambda x: F.log(1 + F.exp(x - 30)),
    'saturated': lambda x: F.tanh(20 + x),
    'many periods': lambda x: F.sin(1e4 * (1 + x)),
    'through float32': lambda x: F.cast(F.exp(F.cast(x, 'f')), 'd'),
    'tiny': lambda x: 1e-200 * F.sin(x),
    'huge': lambda x: 1e200 * F.sin(x),
}


@pytest.mark.parametrize('name', NOISY)
@pytest.mark.parametrize('seed', range(6))
def test_rounding_errors_inside_the_function_are_no_fault(name, seed):
    report = check_gradients(NOISY[name], uniform(3, 4, seed=seed), seed=seed)
    assert report.verdict in ('pass', 'unresolved'), report


EDGES = {
    'logarithm near 0': (F.log, np.array([1e-12, 1e-5, 1.0, 1e5]), 'pass'),
    'maximum of equals': (F.max, np.ones(3), 'nondifferentiable'),
    'step': (F.floor, np.array([1.0, 2.5]), 'nondifferentiable'),
    'edge of relu': (F.relu, np.array([0.0, 1.0]), 'nondifferentiable'),
    'near the edge of relu': (F.relu, np.array([1e-6, 1.0]), 'pass'),
}


@pytest.mark.parametrize('name', EDGES)
@pytest.mark.parametrize('seed', range(5))
def test_edges(name, seed):
    func, x, verdict = EDGES[name]
    report = check_gradients(func, x, seed=seed)
    assert report.verdict == verdict, report
