"""Gradients that are right for random upstream gradients of one output, and wrong for others."""

from __future__ import annotations

import numpy as np
import pytest

import minichainer.functions as F
from minichainer.function_node import FunctionNode
from minichainer.gradient_check import check_gradients
from minichainer.variable import Variable
from tests.verification.planting import node, split_seeds, square, uniform

SHAPES = [(3, 4), (12,), (30, 40)]


def or_zero(gy):
    return 0 if gy is None else gy


def product_and_sum(rule):
    """``x * w`` and ``x + w``, with a rule that changes the two upstream gradients first."""

    def backward(xs, a, b):
        x, w = xs
        a, b = map(or_zero, rule(a, b))
        return a * w + b, a * x + b

    return node(lambda x, w: (x * w, x + w), backward)


def given(gy):
    return gy is not None and bool(gy.any())


OUTPUTS = {
    'second ignored beside the first': (lambda a, b: (a, None if given(a) else b), 'right for each output alone'),
    'both present': (lambda a, b: (a if a is None or b is None else 2 * a, b), 'undefined|right for each output'),
    'zeros for the second': (
        lambda a, b: (a if a is None or b is None or b.any() else 2 * a, b),
        'zeros for the other outputs give a different result than None',
    ),
    'zeros for the first': (
        lambda a, b: (a, b if a is None or given(a) or b is None else 0 * b),
        'zeros for the other',
    ),
    'equal to each other': (
        lambda a, b: (a, b if a is None or b is None or (a != b).any() else 2 * b),
        'equal',
    ),
}


@pytest.mark.parametrize('name', OUTPUTS)
@pytest.mark.parametrize('shape', SHAPES, ids=str)
def test_two_outputs(name, shape):
    rule, words = OUTPUTS[name]
    for seed in range(5):
        inputs = uniform(*shape, seed=seed), uniform(*shape, seed=seed + 100)
        report = check_gradients(product_and_sum(rule), inputs, seed=seed)
        assert report.verdict == 'fail'
        assert any(word in report.failures[0].cause for word in words.split('|')), report


SPECIAL = {
    'all equal': (
        lambda gy: (gy == gy.flat[0]).all() and gy.size > 1,
        'all elements of the upstream gradient are equal',
    ),
    'all positive': (lambda gy: (gy > 0).all(), 'all elements of the upstream gradient are positive'),
    'all negative': (lambda gy: (gy < 0).all(), 'all elements of the upstream gradient are negative'),
    'some zero': (lambda gy: (gy == 0).any(), 'some elements of the upstream gradient are zero'),
    'a single one': (lambda gy: (gy != 0).sum() == 1, 'only one element of the upstream gradient is not zero'),
    'tiny': (lambda gy: abs(gy).max() < 1e-10, 'the upstream gradient is tiny'),
    'huge': (lambda gy: abs(gy).max() > 1e10, '-2**50 times the upstream gradient'),
}


@pytest.mark.parametrize('name', SPECIAL)
@pytest.mark.parametrize('shape', SHAPES, ids=str)
@pytest.mark.parametrize('seeds', split_seeds(2, 5))
def test_special_upstream_gradients(seeds, name, shape):
    special, words = SPECIAL[name]
    func = square(lambda x, gy: 2 * x * gy * (1.5 if special(gy) else 1))
    for seed in seeds:
        report = check_gradients(func, uniform(*shape, seed=seed), seed=seed)
        assert report.verdict == 'fail' and words in report.failures[0].cause, report


def test_a_special_upstream_gradient_of_a_tiny_input_beside_another():
    """What one input over the other is no rounding of a first derivative."""

    def backward(xs, gy):
        x, w = xs
        return gy * w * (1.5 if (gy == gy.flat[0]).all() else 1), gy * x

    func = node(lambda x, w: x * w, backward)
    for seed in range(5):
        report = check_gradients(func, (1e-20 * uniform(12, seed=seed), uniform(12, seed=seed + 9)), seed=seed)
        assert report.verdict == 'fail' and 'are equal' in report.failures[0].cause, report


def test_the_wrong_elements_are_named():
    def rule(x, gy):
        gx = 2 * x * gy
        if (gy == gy[0, 0]).all():
            gx[1, 2] = 0
        return gx

    report = check_gradients(square(rule), uniform(3, 4), seed=0)
    assert [f.index for f in report.failures] == [(1, 2)]


# --- layouts ---


def laid_out(rule):
    """The square, with a rule that sees upstream gradients in whatever layout they have."""

    class Square(FunctionNode):
        takes_any_layout = True

        def forward(self, inputs):
            self.retain_inputs((0,))
            return (inputs[0] ** 2,)

        def backward(self, indexes, grad_outputs):
            (x,) = self.get_retained_inputs()
            return (Variable(np.asarray(rule(x.array, grad_outputs[0].array))),)

    return lambda x: Square().apply((x,))[0]


LAYOUTS = {
    'not contiguous': lambda x, gy: 2 * x * gy * (1 if gy.flags.c_contiguous or 0 in gy.strides else 2),
    'in the order of memory': lambda x, gy: 2 * x * gy.ravel('K').reshape(x.shape),
    'broadcast': lambda x, gy: 2 * x * gy * (2 if 0 in gy.strides else 1),
}


@pytest.mark.parametrize('name', LAYOUTS)
def test_layouts_of_upstream_gradients(name):
    report = check_gradients(laid_out(LAYOUTS[name]), uniform(3, 4), seed=0)
    assert report.verdict == 'fail' and report.failures[0].cause.startswith('depends on layout: '), report


def test_a_rule_may_refuse_a_layout():
    def rule(x, gy):
        if not gy.flags.c_contiguous:
            raise ValueError('ndarray is not C-contiguous')
        return 2 * x * gy

    assert check_gradients(laid_out(rule), uniform(3, 4), seed=0)


# --- right ones ---


def single(x):
    return F.cast(F.tanh(F.cast(x, np.float32)) * 3, np.float64)


RIGHT = {
    'softmax of far logits': (F.softmax, 1e3 * uniform(4, 4)),
    'normalization of a constant batch': (
        lambda b: F.batch_normalization(F.broadcast_to(b, (6, 5)), np.ones(5), np.zeros(5)),
        uniform(5),
    ),
    'single precision inside': (single, uniform(4, 4)),
    'two outputs of very different size': (lambda x: (x * 1e12, x * 1e-12), uniform(4, 4)),
    'an offset': (lambda x: 1e8 + F.sin(x), uniform(4, 4)),
    'tiny gradients': (lambda x: x * 1e-290, uniform(4, 4)),
    'huge gradients': (lambda x: x * 1e290, uniform(4, 4)),
    'subnormal on the way': (lambda x: x * 1e-300 * 1e300, uniform(4, 4)),
    'no axis': (lambda x: (x * x, F.sin(x)), np.array(0.5)),
    'no element': (lambda x: (x * x, F.sin(x)), np.zeros((0, 3))),
}


@pytest.mark.parametrize('name', RIGHT)
@pytest.mark.parametrize('seeds', split_seeds(3, 10))
def test_right_gradients(seeds, name):
    func, x = RIGHT[name]
    for seed in seeds:
        report = check_gradients(func, x, seed=seed)
        assert report, report


@pytest.mark.parametrize('small', [1.0, 0.3])
def test_terms_that_cancel_inside_are_no_lack_of_linearity(small):
    """The second derivative of hypot beside a tiny number: both terms lose a thousand roundings."""
    x = np.array([-0.5696, -0.2727, 5.077e-21])
    y = np.array([-1.5043, -0.1982, 1.243e-22 * small])
    for seed in range(20):
        report = check_gradients(lambda x, y: F.sqrt(x * x + y * y), (x, y), order=2, subgradient=True, seed=seed)
        assert report.verdict == 'pass', str(report)


@pytest.mark.parametrize('x', [0.3458117, 0.0123])
def test_terms_that_cancel_wholly_are_no_lack_of_linearity(x):
    """A vector of one element has the gradient 0; for some upstream gradients, roundings of its terms are left."""
    for seed in range(40):
        shape = (1 + seed % 2, 1)
        report = check_gradients(lambda x: F.normalize(x, 1e-20), np.full(shape, x, 'f'), order=2, seed=seed)
        assert report.verdict == 'pass', str(report)


# --- terms that cancel inside an op, where no gradient shows their size ---
VALUES = np.array([[50.0, -49.0], [48.0, -50.0], [-50.0, 51.0]])


def certain(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def chosen(factor=1.0):
    """A softmax that chooses among rows, as one op; the gradient is times a factor where all of gy is positive."""

    def backward(xs, gy):
        p, g = certain(xs[0]), gy @ VALUES.T
        gx = p * (g - (g * p).sum(axis=1, keepdims=True))
        return gx * factor if (gy > 0).all() else gx

    return node(lambda x: certain(x) @ VALUES, backward)


@pytest.mark.parametrize('seed', [0, 6, 22, 30, 36])
def test_rounding_of_terms_that_cancel_inside_an_op_is_no_fault(seed):
    gap = np.random.RandomState(seed).uniform(24, 33)
    x = np.array([[0, -gap, -60.0], [0, -28.0, -31.0]])
    assert check_gradients(chosen(), x, seed=seed), seed
    report = check_gradients(chosen(1.5), x, seed=seed)
    assert report.verdict == 'fail', report
