"""The document of lucid's gradgradcheck, as a row of its own: what it promises, and what it leaves out."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import minichainer
import minichainer.functions as F
from minichainer import autograd, gradient_check
from minichainer.function_node import FunctionNode
from minichainer.gradient_check import check_gradients
from minichainer.variable import Variable
from tests.verification.planting import split_seeds, uniform

X, W = uniform(3, 4), uniform(3, 4, seed=2)


def test_the_example_of_the_document():
    x = minichainer.Variable(np.random.RandomState(0).normal(size=3))

    def f(x):
        return F.sum(x**3)

    assert autograd.gradgradcheck(f, [x]) is True


@pytest.mark.parametrize('dtype', [np.float16, np.float32, np.float64])
@pytest.mark.parametrize('name', ['scalar', 'array', 'tuple'])
def test_outputs_and_dtypes(name, dtype):
    func = {
        'scalar': lambda x, w: F.sum(x * x * w),
        'array': lambda x, w: F.tanh(x) * w,
        'tuple': lambda x, w: (F.sum(x * w), x * x),
    }[name]
    assert autograd.gradgradcheck(func, [X.astype(dtype), W.astype(dtype)]) is True
    assert autograd.gradgradcheck(func, (Variable(X.astype(dtype)), Variable(W.astype(dtype)))) is True


def test_the_order_of_arguments():
    """That of torch's documents; a call with seven arguments, the seventh a flag, is one of lucid's."""
    names = ['func', 'inputs', 'grad_outputs', 'eps', 'atol', 'rtol']
    torch = [*names, 'gen_non_contig_grad_outputs', 'raise_exception', 'nondet_tol']
    assert list(inspect.signature(minichainer.gradgradcheck).parameters)[:9] == torch
    assert minichainer.gradgradcheck(F.tanh, [X], [0.5 * W], 1e-6, 1e-5, 1e-3, True) is True


WRONG_ORDER_2 = ([X[0]], None, 1e-6, 1e-5, 1e-3)


@pytest.mark.parametrize(
    ('more', 'keywords', 'raises'),
    [
        ((False,), {}, False), ((True,), {}, True), ((False,), {'seed': 0}, False), ((), {}, True),
        ((False, True), {}, True), ((True, True), {}, True), ((False, False), {}, False), ((True, False), {}, False),
        ((False,), {'raise_exception': True}, True), ((False,), {'raise_exception': False}, False),
        ((False,), {'fast_mode': True}, True), ((False,), {'nondet_tol': 0.0}, True),
        ((False, True, 0.0, True), {}, True), ((), {'gen_non_contig_grad_outputs': False}, True),
        ((), {'raise_exception': False}, False),
    ],
)  # fmt: skip
def test_who_raises(more, keywords, raises):
    wrong = quadratic(lambda a: 1.1 * a)
    if raises:
        with pytest.raises(AssertionError):
            minichainer.gradgradcheck(wrong, *WRONG_ORDER_2, *more, **keywords)
    else:
        assert minichainer.gradgradcheck(wrong, *WRONG_ORDER_2, *more, **keywords) is False


@pytest.mark.parametrize(('arguments', 'spread'), [((True,), True), ((False, True), False), ((True, True), True)])
def test_upstream_gradients_that_are_not_contiguous(arguments, spread, monkeypatch):
    seen = []

    def check(func, inputs, given, options, **_):
        seen.append(options)
        raise StopIteration

    monkeypatch.setattr(gradient_check, 'check', check)
    with pytest.raises(StopIteration):
        minichainer.gradgradcheck(F.tanh, [X], None, 1e-6, 1e-5, 1e-3, *arguments)
    assert [options.non_contiguous for options in seen] == [spread]


def test_a_failure_raises_an_assertion_error_or_returns_false():
    wrong = quadratic(lambda a: a + np.diag(np.ones(4)))
    with pytest.raises(AssertionError, match='second order only'):
        autograd.gradgradcheck(wrong, [X[0]])
    assert autograd.gradgradcheck(wrong, [X[0]], raise_exception=False) is False


# --- every entry of the Hessian, where lucid compares row sums ---

A = np.arange(16.0).reshape(4, 4) / 8 - 0.7
A = A + A.T


class Gradient(FunctionNode):
    """The gradient A x of a quadratic form, whose own backward multiplies by another matrix."""

    def __init__(self, matrix):
        self.matrix = matrix

    def forward(self, inputs):
        return (A @ inputs[0],)

    def backward(self, indexes, grad_outputs):
        return (F.matmul(Variable(self.matrix), grad_outputs[0]),)


class Quadratic(FunctionNode):
    """x A x / 2."""

    def __init__(self, matrix):
        self.matrix = matrix

    def forward(self, inputs):
        self.retain_inputs((0,))
        (x,) = inputs
        return (np.asarray(x @ A @ x / 2),)

    def backward(self, indexes, grad_outputs):
        (x,) = self.get_retained_inputs()
        (gradient,) = Gradient(self.matrix).apply((x,))
        return (gradient * F.broadcast_to(grad_outputs[0], gradient.shape),)


def quadratic(change):
    return lambda x: Quadratic(change(A)).apply((x,))[0]


def rotated():
    """An antisymmetric matrix whose rows sum to 0."""
    error = np.zeros((4, 4))
    for i, j in ((0, 1), (1, 2), (2, 0)):
        error[i, j], error[j, i] = 1.0, -1.0
    return 1e-3 * error


ERRORS = {
    'antisymmetric': np.array([[0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0.0]]) * 1e-3,
    'antisymmetric with zero row sums': rotated(),
    'zero row sums': np.array([[1, -1, 0, 0], [-1, 1, 0, 0], [0, 0, 1, -1], [0, 0, -1, 1.0]]) * 1e-3,
    'zero column sums': np.array([[1, 1, 0, 0], [-1, -1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0.0]]) * 1e-3,
}


@pytest.mark.parametrize('fast_mode', [True, False])
@pytest.mark.parametrize('name', ERRORS)
def test_errors_that_vanish_in_row_sums_are_found(name, fast_mode):
    error = ERRORS[name]
    assert autograd.gradgradcheck(quadratic(lambda a: a), [X[0]])
    wrong = quadratic(lambda a: a + error)
    assert not autograd.gradgradcheck(wrong, [X[0]], raise_exception=False, fast_mode=fast_mode)


@pytest.mark.parametrize('name', ERRORS)
@pytest.mark.parametrize('seeds', split_seeds(2, 10))
def test_the_checker_finds_errors_that_vanish_in_row_sums(seeds, name):
    wrong = quadratic(lambda a: a + ERRORS[name])
    for seed in seeds:
        report = check_gradients(wrong, X[0], order=2, seed=seed)
        assert report.verdict == 'fail' and report.failures[0].order == 2


def test_what_row_sums_see_of_these_errors():
    """The proof: with upstream gradients of ones, as lucid has them, half of these are invisible."""
    ones = np.ones(4)
    assert not (ones @ ERRORS['antisymmetric with zero row sums']).any()
    assert not (ones @ ERRORS['zero row sums']).any() and not (ones @ ERRORS['zero column sums']).any()


# --- upstream gradients, which lucid ignores ---


class Moody(FunctionNode):
    """x * x, whose second derivative is right for upstream gradients of ones alone."""

    def forward(self, inputs):
        self.retain_inputs((0,))
        return (inputs[0] ** 2,)

    def backward(self, indexes, grad_outputs):
        (x,) = self.get_retained_inputs()
        (gy,) = grad_outputs
        return (2 * x * Variable(gy.array) + 0 * gy,)


def test_the_dependence_on_the_upstream_gradient_is_checked():
    assert not autograd.gradgradcheck(lambda x: Moody().apply((x,))[0], [X], raise_exception=False)


def test_upstream_gradients_that_are_given_are_where_gradients_are_differentiated():
    seen = []

    class Looks(FunctionNode):
        def forward(self, inputs):
            return (inputs[0] * 2,)

        def backward(self, indexes, grad_outputs):
            seen.append(grad_outputs[0].array.copy())
            return (grad_outputs[0] * 2,)

    assert autograd.gradgradcheck(lambda x: Looks().apply((x,))[0], [X], [W])
    assert sum(gy.shape == W.shape and (gy == W).all() for gy in seen) >= 2
    with pytest.raises(ValueError, match='differ in shape or dtype'):
        autograd.gradgradcheck(F.tanh, [X], [W[0]])
