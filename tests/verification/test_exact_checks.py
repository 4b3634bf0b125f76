"""What is found without any tolerance: structure, linearity, repetition, changes in place, None as gradient."""

from __future__ import annotations

import re

import numpy as np
import pytest

from minichainer.function import Function
from minichainer.gradient_check import check_gradients
from minichainer.variable import Variable
from tests.verification.planting import node, square, uniform

X, W = uniform(3, 4), uniform(4, seed=2)


def weighted(*gys):
    return sum(k * (1 if gy is None else gy) for k, gy in zip((2, 3, 4), gys, strict=True))


def scale(rule):
    return node(lambda x, w: x * w, lambda xs, gy: (xs[1] * gy, rule(*xs, gy)))


def spoil(array, result):
    array[...] = 0
    return result


STALE: dict[str, np.ndarray] = {}


def remember(x):
    STALE['x'] = x
    return x * x


class Twice(Function):
    """Gives one gradient too many."""

    def forward(self, inputs):
        return (2 * inputs[0],)

    def backward(self, inputs, grad_outputs):
        return 2 * grad_outputs[0], grad_outputs[0]


FAULTS = {
    'not summed': (scale(lambda x, w, gy: x * gy), (X, W), 'fail', 'not summed over a broadcast axis: '),
    'transposed shape': (
        square(lambda x, gy: (2 * x * gy).T),
        X,
        'fail',
        r'shape: .*transposed|shape: .*Expect: shape',
    ),
    'flat': (square(lambda x, gy: (2 * x * gy).ravel()), X, 'fail', 'shape: '),
    'dtype': (square(lambda x, gy: (2 * x * gy).astype('f')), X, 'fail', 'dtype: '),
    'number': (lambda x: Twice()(x), X, 'fail', 'number: '),
    'absolute': (square(lambda x, gy: 2 * x * abs(gy)), X, 'fail', 'not linear in the upstream gradient: '),
    'positive': (square(lambda x, gy: 2 * x * np.maximum(gy, 0)), X, 'fail', 'not linear'),
    'squared': (square(lambda x, gy: 2 * x * gy * gy), X, 'fail', 'not linear'),
    'ignored': (square(lambda x, gy: 2 * x), X, 'fail', 'not linear'),
    'constant added': (square(lambda x, gy: 2 * x * gy + 1e-12), X, 'fail', 'not linear'),
    'clipped': (square(lambda x, gy: 2 * x * np.clip(gy, -100, 100)), X, 'fail', 'not linear'),
    'NaN at zero': (
        square(lambda x, gy: 2 * x * gy * (gy / gy)),
        X,
        'fail',
        'not linear.*upstream gradient of zeros',
    ),
    'random backward': (
        square(lambda x, gy: 2 * x * gy * (1 + 1e-15 * np.random.choice([0, 4], x.shape))),
        X,
        'nondeterministic',
        'nondeterministic: two backward passes over one graph differ',
    ),
    'random forward': (
        lambda x: x * np.random.rand(),
        X,
        'nondeterministic',
        'nondeterministic: two calls on the same data differ; does the function draw random numbers',
    ),
    'stale cache': (node(remember, lambda xs, gy: 2 * STALE['x'] * gy), X, 'fail', 'stale cache: '),
    'input in forward': (
        node(lambda x: np.square(x, out=x), lambda xs, gy: 2 * gy),
        X,
        'input_modified',
        r'modified in place: the forward pass changes inputs\[0\]',
    ),
    'input in backward': (
        square(lambda x, gy: spoil(x, 2 * x * gy)),
        X,
        'input_modified',
        r'modified in place: the backward pass changes inputs\[0\]',
    ),
    'upstream gradient': (
        square(lambda x, gy: spoil(gy, 2 * x * gy)),
        X,
        'input_modified',
        'modified in place: backward changes the upstream gradient of output 0',
    ),
    'None refused': (
        node(lambda x: (x * 2, x * 3), lambda xs, a, b: 2 * a + 3 * b),
        X,
        'fail',
        'undefined upstream gradient: with only that of output 0 backward raises TypeError',
    ),
    'None as one': (
        node(lambda x: (x * 2, x * 3, x * 4), lambda xs, *gys: weighted(*gys)),
        X,
        'fail',
        'not linear|undefined upstream gradient',
    ),
}


@pytest.mark.parametrize('name', FAULTS)
def test_faults(name):
    func, inputs, verdict, cause = FAULTS[name]
    report = check_gradients(func, inputs)
    assert report.verdict == verdict
    assert re.match(cause, report.failures[0].cause), report.failures[0].cause


def test_a_gradient_of_another_dtype_may_be_allowed():
    class Loose(Function):
        def forward(self, inputs):
            return (2 * inputs[0],)

        def backward(self, inputs, grad_outputs):
            return (2 * grad_outputs[0],)

    assert check_gradients(lambda x: Loose()(x), X, check_grad_dtypes=False)


def test_missing_upstream_gradients_may_be_allowed_to_fail():
    func = node(lambda x: (x * 2, x * 3), lambda xs, a, b: 2 * a + 3 * b)
    assert check_gradients(func, X, check_undefined_grad=False)


def test_no_grads_refuses_a_gradient():
    report = check_gradients(lambda x, w: x * w, (X, W), no_grads=[False, True])
    assert report.failures[0].input == 1 and report.failures[0].cause.startswith('unwanted: ')
    assert check_gradients(lambda x, w: x * Variable(w.array), (X, W), no_grads=[False, True])


@pytest.mark.parametrize('dtype', ['e', 'f', 'd'])
@pytest.mark.parametrize('scale', [1, 1e-30, 1e30])
def test_huge_and_tiny_gradients_are_linear_all_the_same(dtype, scale):
    if dtype == 'e' and scale != 1:
        return
    factor = np.dtype(dtype).type(scale)
    report = check_gradients(node(lambda x: x * factor, lambda xs, gy: gy * factor), X.astype(dtype))
    assert report.verdict == 'pass', report


@pytest.mark.parametrize('x', [[-1.0, 2.0, -3.0], [0.5, -0.5, -0.5, 0.5], [-1.0, 2.0]])
def test_a_stale_mask_is_seen_also_where_the_signs_read_the_same_backwards(x):
    masks = {}

    def forward(x):
        masks['last'] = x > 0
        return np.maximum(x, 0)

    func = node(forward, lambda xs, gy: gy * masks['last'])
    report = check_gradients(func, np.array(x), seed=0)
    assert report.failures[0].cause.startswith('stale cache: ')
