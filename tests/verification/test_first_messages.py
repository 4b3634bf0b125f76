"""Mistakes as they are made when a function is written for the first time, and what the report says about them."""

from __future__ import annotations

import numpy as np
import pytest

from minichainer.function_node import FunctionNode
from minichainer.gradient_check import check_gradients
from minichainer.variable import Variable
from tests.verification.planting import node, square


def drawn(*shapes, seed=0):
    rng = np.random.RandomState(seed)
    return tuple(rng.normal(size=shape) for shape in shapes)


class Scale(FunctionNode):
    """x * w, with rules on Variables."""

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        return (inputs[0] * inputs[1],)

    def backward(self, indexes, grad_outputs):
        x, w = self.get_retained_inputs()
        return self.rule(x, w, grad_outputs[0])


def scale(rule):
    class Planted(Scale):
        def rule(self, x, w, gy):
            return rule(x, w, gy)

    return lambda x, w: Planted().apply((x, w))[0]


class CubeOnArrays(FunctionNode):
    """The rule of the first order is right, and leaves the graph in one of its factors."""

    def forward(self, inputs):
        self.retain_inputs((0,))
        return (inputs[0] ** 3,)

    def backward(self, indexes, grad_outputs):
        (x,) = self.get_retained_inputs()
        return (3 * x * Variable(x.array) * grad_outputs[0],)


class AllFromArrays(CubeOnArrays):
    def backward(self, indexes, grad_outputs):
        (x,) = self.get_retained_inputs()
        return (Variable(3 * x.array**2 * grad_outputs[0].array),)


def single(array):
    return array.astype(np.float32).astype(np.float64)


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def softmax_rule(x, gy, axis=1):
    y = softmax(x)
    return y * (gy - (y * gy).sum(axis, keepdims=True))


def bias(sum_of):
    return node(lambda x, b: x + b, lambda xs, gy: (gy, sum_of(gy)))


#: The function, its inputs, options, and parts of the message in this order.
MISTAKES = {
    'gy forgotten': (
        square(lambda x, gy: 2 * x),
        drawn((3, 4)),
        {},
        'not linear in the upstream gradient: these are the gradients for -2 times the upstream gradient, '
        'the same as for itself: does backward use it?',
        'index expected backward',
    ),
    'not summed over the batch': (
        bias(lambda gy: gy),
        drawn((5, 3), (3,)),
        {},
        'inputs[1]',
        'not summed over a broadcast axis: backward of Node returned a wrong gradient for input 1, '
        'Expect: shape (3,), Actual: shape (5, 3)',
    ),
    'summed over the wrong axis': (
        bias(lambda gy: gy.sum(1)),
        drawn((3, 3), (3,)),
        {},
        'inputs[1] (3,) float64: 3 of 3 elements are wrong',
        'transposed: backward uses the upstream gradient transposed, or sums it along another axis',
    ),
    'the other input': (
        scale(lambda x, w, gy: (x * gy, w * gy)),
        drawn((3, 4), (3, 4)),
        {},
        'swapped inputs: what backward gives for inputs[1] would be right here',
        'swapped inputs: what backward gives for inputs[0] would be right here',
    ),
    'softmax along another axis': (
        node(softmax, lambda xs, gy: softmax_rule(xs[0], gy, 0)),
        drawn((4, 4)),
        {},
        '16 of 16 elements are wrong',
        'wrong axis: ',
    ),
    'float32 inside': (
        square(lambda x, gy: single(2 * x * gy)),
        drawn((3, 4)),
        {},
        'inaccurate: right to 7 digits; all its numbers are those of float32',
        'If that is accurate enough: rtol=',
    ),
    'one row too few': (
        square(lambda x, gy: np.concatenate([2 * x[:-1] * gy[:-1], 0 * x[-1:]])),
        drawn((5, 3)),
        {},
        '3 of 15 elements are wrong',
        'one slice: backward gives zeros at index 4 of axis 0; the rest is right',
    ),
    'mask of the other input': (
        node(lambda x, w: np.where(w > 0, x, 0.0) + w, lambda xs, gy: (gy * (xs[0] > 0), gy)),
        drawn((6, 7), (6, 7), seed=1),
        {},
        'inputs[0]',
        'wrong mask: the gradient is 0 where inputs[1] < 0, that from backward where x < 0',
    ),
    'second order on arrays': (
        lambda x: AllFromArrays().apply((x,))[0],
        drawn((3, 4)),
        {'order': 2},
        'order 2',
        'second order only, detached: backward gives None',
        'does it compute on arrays, not on Variables?',
    ),
    'half of the second order': (
        lambda x: CubeOnArrays().apply((x,))[0],
        drawn((3, 4)),
        {'order': 2},
        'order 2',
        'second order only, factor: backward gives 0.5 times the gradient',
    ),
    'the sign of one input': (
        node(lambda x, w: x - w, lambda xs, gy: (gy, gy)),
        drawn((3, 4), (3, 4)),
        {},
        'inputs[1] (3, 4) float64: 12 of 12 elements are wrong',
        'sign: backward gives the gradient with the opposite sign',
    ),
    'another shape': (
        square(lambda x, gy: (2 * x * gy).ravel()),
        drawn((3, 4)),
        {},
        'shape: backward of Node returned a wrong gradient for input 0, Expect: shape (3, 4), Actual: shape (12,)',
    ),
    'an index off by one': (
        node(lambda x: x[:, 1:], lambda xs, gy: np.pad(gy, ((0, 0), (0, 1)))),
        drawn((3, 5)),
        {},
        'shifted: backward gives the gradient shifted by -1 along axis 1',
    ),
    'too few gradients': (
        node(lambda x, w: x * w, lambda xs, gy: (xs[1] * gy,)),
        drawn((3,), (3,)),
        {},
        'number: ',
    ),
}


@pytest.mark.parametrize('name', MISTAKES)
def test_messages(name):
    func, inputs, options, *parts = MISTAKES[name]
    report = check_gradients(func, inputs, seed=0, **options)
    text, at = ' '.join(report.message.split()), 0
    assert report.verdict == 'fail'
    for part in parts:
        assert part in text[at:], report.message
        at = text.index(part, at) + len(part)
