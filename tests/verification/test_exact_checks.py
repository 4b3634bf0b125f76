"""What is found without any tolerance: structure, linearity, repetition, changes in place, None as gradient."""

from __future__ import annotations

import contextlib
import re

import numpy as np
import pytest

import minichainer as chainer
from minichainer.errors import GradientCheckLeniencyWarning
from minichainer.function import Function
from minichainer.gradient_check import GradcheckError, check_backward, check_double_backward, check_gradients
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


@pytest.mark.parametrize(
    'layout', [lambda x: x, np.transpose, lambda x: x[::-1], lambda x: np.repeat(x, 2, 1)[:, ::2]]
)
@pytest.mark.parametrize('name', ['input in forward', 'input in backward', 'upstream gradient'])
def test_changes_in_place_are_seen_in_any_layout(name, layout):
    func, x, verdict, cause = FAULTS[name]
    x, gy = layout(x), layout(uniform(3, 4, seed=3))
    report = check_gradients(func, x, gy)
    assert (report.verdict, bool(re.match(cause, report.failures[0].cause))) == (verdict, True)
    assert check_gradients(square(lambda x, gy: 2 * x * gy), x, gy, order=1)


def outputs(count, factor=1.0):
    """Multiples of x ** 2 by a node that does not take None as an upstream gradient; one gradient may be wrong."""
    factors = [factor, *[1.0] * (count - 1)]

    def rule(xs, *gys):
        (x,) = xs
        gx = 0
        for k, (c, gy) in enumerate(zip(factors, gys, strict=True)):
            gx = gx + 2 * (k + 1) * c * x * gy.copy()
        return gx

    return node(lambda x: tuple((k + 1) * x * x for k in range(count)), rule)


class Powers(chainer.FunctionNode):
    """x ** 2 and x ** 3, differentiable any number of times, with all upstream gradients only."""

    factor = 1.0

    def forward(self, inputs):
        self.retain_inputs((0,))
        return inputs[0] ** 2, inputs[0] ** 3

    def backward(self, indexes, grad_outputs):
        (x,) = self.get_retained_inputs()
        return (2 * x * grad_outputs[0] + 3 * self.factor * x * x * grad_outputs[1],)


@pytest.mark.parametrize('dtype', ['f', 'd'])
@pytest.mark.parametrize('strictness', ['strict', 'chainer'])
@pytest.mark.parametrize('count', [2, 3, 4, 5])
def test_none_that_backward_does_not_take_is_a_warning_in_calls_of_chainer(count, strictness, dtype):
    x = X.astype(dtype)
    gys = tuple(uniform(3, 4, seed=5 + k).astype(dtype) for k in range(count))
    with pytest.warns(GradientCheckLeniencyWarning, match='output 0 backward raises AttributeError') as caught:
        check_backward(outputs(count), x, gys, strictness=strictness)
    assert len(caught) == 1 and caught[0].filename == __file__
    with pytest.warns(GradientCheckLeniencyWarning), pytest.raises(GradcheckError, match='a gradient is wrong'):
        check_backward(outputs(count, 1.01), x, gys, strictness=strictness)
    assert check_gradients(outputs(count), x).verdict == 'fail'
    with pytest.raises(GradcheckError, match='undefined upstream gradient: '):
        chainer.gradcheck(outputs(count), x.astype('d'))


@pytest.mark.parametrize('factor', [1.0, 1.01])
def test_the_same_at_the_second_order(factor):
    def powers(x):
        made = Powers()
        made.factor = factor
        return made.apply((x,))

    gys, ggx = (uniform(3, 4, seed=5), uniform(3, 4, seed=6)), uniform(3, 4, seed=7)
    expected = pytest.raises(GradcheckError, match='wrong') if factor != 1 else contextlib.nullcontext()
    with pytest.warns(GradientCheckLeniencyWarning, match='None means zero'), expected:
        check_double_backward(powers, X, gys, ggx)
    with pytest.raises(GradcheckError, match='undefined upstream gradient: '):
        chainer.gradgradcheck(powers, X)


def test_none_taken_for_something_else_is_wrong_in_calls_of_chainer_too():
    func = FAULTS['None as one'][0]
    with pytest.raises(GradcheckError, match=r'not linear|undefined upstream gradient'):
        check_backward(func, X, (uniform(3, 4, seed=5),) * 3)


def test_other_errors_of_a_backward_are_raised():
    def rule(xs, a, b):
        raise LookupError('not here')

    with pytest.raises(LookupError, match='not here'):
        check_backward(node(lambda x: (x * 2, x * 3), rule), X, (X, X + 1))
