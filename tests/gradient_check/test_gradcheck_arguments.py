"""The arguments of gradcheck and gradgradcheck: order, inputs without gradients, questions that are left out."""

from __future__ import annotations

import inspect
import itertools

import numpy as np
import pytest

import minichainer
import minichainer.functions as F
from minichainer import autograd, gradcheck, gradgradcheck, gradient_check
from minichainer.errors import GradientToleranceWarning
from minichainer.function_node import FunctionNode
from minichainer.gradient_check import GradcheckError, check_backward, check_gradients
from minichainer.variable import Variable

X = np.array([0.3, -0.7, 1.1])


# --- order ---


def options_of(monkeypatch, *args, **kwargs):
    """The options that gradcheck hands on."""
    seen = []

    def check(func, inputs, given, options, **_):
        seen.append(options)
        raise StopIteration

    monkeypatch.setattr(gradient_check, 'check', check)
    with pytest.raises(StopIteration):
        gradcheck(F.tanh, (X,), *args, **kwargs)
    return seen[0]


DOCUMENT = (1e-6, 1e-5, 1e-3, True)


@pytest.mark.parametrize(
    ('more', 'keywords', 'expected'),
    [
        ((1e-4,), {}, {'nondet_tol': 1e-4}),
        ((0,), {}, {'nondet_tol': 0}),
        ((np.float64(1e-4), False), {}, {'nondet_tol': 1e-4, 'check_undefined_grad': False}),
        ((0.0, True, True), {}, {'check_undefined_grad': True, 'check_grad_dtypes': True}),
        (
            (0.0, True, False, True, False, False, True, True),
            {},
            {'check_batched_grad': True, 'full_jacobian': False},
        ),
        ((1e-4,), {'check_undefined_grad': False}, {'nondet_tol': 1e-4, 'check_undefined_grad': False}),
        ((None, 1e-4), {}, {'nondet_tol': 1e-4}),
        ((None, 1e-4, False), {}, {'nondet_tol': 1e-4, 'check_undefined_grad': False}),
        ((), {'nondet_tol': 1e-4}, {'nondet_tol': 1e-4}),
    ],
)
def test_the_order_of_gradcheck(more, keywords, expected, monkeypatch):
    options = options_of(monkeypatch, *DOCUMENT, *more, **keywords)
    assert {name: getattr(options, name) for name in expected} == expected


def test_check_sparse_nnz_is_the_seventh_of_the_document(monkeypatch):
    assert list(inspect.signature(gradcheck).parameters)[6:8] == ['check_sparse_nnz', 'nondet_tol']
    with pytest.warns(DeprecationWarning, match='check_sparse_nnz'):
        assert options_of(monkeypatch, *DOCUMENT, True, 1e-4).nondet_tol == 1e-4
    with pytest.warns(DeprecationWarning, match='check_sparse_nnz'), pytest.raises(TypeError, match='nondet_tol'):
        gradcheck(F.tanh, (X,), *DOCUMENT, False, True)


def test_there_is_one_gradcheck():
    assert autograd.gradcheck is minichainer.gradcheck is gradient_check.gradcheck
    assert autograd.gradgradcheck is minichainer.gradgradcheck is gradient_check.gradgradcheck


# --- inputs without a gradient ---

WITHOUT = {
    'a constant': (Variable(X, requires_grad=False),),
    'integers': (np.arange(3),),
    'booleans': Variable(np.ones(3, bool)),
    'numbers': (3, 2.0),
    'nothing': (),
    'nested': ([Variable(X, requires_grad=False)], {'a': np.arange(2)}),
}


@pytest.mark.parametrize('check', [gradcheck, gradgradcheck])
@pytest.mark.parametrize('raises', [True, False])
@pytest.mark.parametrize('name', WITHOUT)
def test_without_an_input_that_requires_a_gradient(check, raises, name):
    with pytest.raises(ValueError, match='at least one input that requires a gradient'):
        check(lambda *xs: Variable(X) * 2, WITHOUT[name], raise_exception=raises)


@pytest.mark.parametrize('check', [gradcheck, gradgradcheck])
def test_parameters_and_refused_gradients_are_something_to_check(check):
    p = minichainer.Parameter(X)
    assert check(lambda n: p * n.array, (np.arange(3),), params=(p,)) is True


def test_no_grads_is_something_to_check():
    with pytest.warns(UserWarning, match='nothing to check'):
        assert gradcheck(lambda x: Variable(x.array) * 2, (X,), no_grads=[True]) is True


def test_the_other_entry_points_warn():
    constant = Variable(X, requires_grad=False)
    with pytest.warns(UserWarning, match='nothing to check'):
        assert check_gradients(lambda x: x * 2, (constant,))
    with pytest.warns(UserWarning, match='nothing to check'):
        check_backward(lambda n: Variable(X) * 2, np.arange(3), X)


# --- questions that are left out ---


class Two(FunctionNode):
    """x * x and 3 * x."""

    rule = None

    def forward(self, inputs):
        self.retain_inputs((0,))
        return (inputs[0] ** 2, 3 * inputs[0])

    def backward(self, indexes, grad_outputs):
        return (self.rule(*self.get_retained_inputs(), *grad_outputs),)


def two(rule):
    def func(x):
        node = Two()
        node.rule = rule
        return node.apply((x,))

    return func


def needs_both(x, a, b):
    return 2 * x * a + 3 * b


def wrong(x, a, b):
    return 2 * x * a + 3.1 * b


CHECKS = {
    'gradcheck': gradcheck,
    'fast': lambda *a, **k: gradcheck(*a, fast_mode=True, **k),
    'gradgradcheck': gradgradcheck,
    'gradgradcheck fast': lambda *a, **k: gradgradcheck(*a, fast_mode=True, **k),
    'check_gradients': lambda f, x, **k: bool(check_gradients(f, x, **k)),
    'full': lambda f, x, **k: bool(check_gradients(f, x, order=2, full_jacobian=True, **k)),
    'differences': lambda f, x, **k: bool(check_gradients(f, x, order=2, precise=False, **k)),
}


@pytest.mark.parametrize('name', CHECKS)
def test_undefined_gradients_are_asked_for_or_not(name):
    check = CHECKS[name]
    quiet = {} if name in ('check_gradients', 'full', 'differences') else {'raise_exception': False}
    assert check(two(needs_both), (X,), check_undefined_grad=False) is True
    assert check(two(needs_both), (X,), **quiet) is False
    assert check(two(wrong), (X,), check_undefined_grad=False, **quiet) is False


def test_a_single_output_never_gets_none():
    class Product(FunctionNode):
        def forward(self, inputs):
            return (2 * inputs[0],)

        def backward(self, indexes, grad_outputs):
            return (2 * grad_outputs[0],)

    assert gradcheck(lambda x: Product().apply((x,))[0], (X,), check_undefined_grad=True)


class Cast(autograd.Function):
    """The square, with a gradient that is rounded to another dtype."""

    @staticmethod
    def forward(ctx, x, dtype, factor):
        ctx.save_for_backward(x)
        ctx.dtype, ctx.factor = dtype, factor
        return x * x

    @staticmethod
    def backward(ctx, gy):
        (x,) = ctx.saved_tensors
        return F.cast(ctx.factor * x * gy, ctx.dtype), None, None


def cast(dtype, factor=2.0):
    return lambda x: Cast.apply(x, dtype, factor)


@pytest.mark.parametrize('dtype', ['float16', 'float32'])
@pytest.mark.parametrize('fast', [True, False])
def test_gradients_of_fewer_digits_pass_with_a_warning(dtype, fast):
    with pytest.warns(GradientToleranceWarning, match=f'digits of {dtype} only.*measured.*off by'):
        assert gradcheck(cast(dtype), (X,), fast_mode=fast) is True
    with pytest.warns(GradientToleranceWarning, match=f'digits of {dtype} only'):
        assert check_gradients(cast(dtype), X, check_grad_dtypes=False)
    with pytest.raises(GradcheckError):
        gradcheck(cast(dtype), (X,), fast_mode=fast, check_grad_dtypes=True)
    assert not check_gradients(cast(dtype), X)


@pytest.mark.parametrize('dtype', ['float16', 'float32'])
@pytest.mark.parametrize('factor', [2.2, -2.0, 0.0, 2 + 2e-3])
def test_wrong_gradients_of_fewer_digits_fail(dtype, factor):
    assert gradcheck(cast(dtype, factor), (X,), raise_exception=False) is False
    assert check_gradients(cast(dtype, factor), X, check_grad_dtypes=False).verdict == 'fail'


@pytest.mark.parametrize('asked', [True, False])
def test_a_function_node_must_return_the_dtype_of_its_input(asked):
    """As in training, where the graph refuses such a gradient."""
    for dtype, fast in itertools.product(['float16', 'float32'], [True, False]):

        class Node(FunctionNode):
            def forward(self, inputs):
                return (2 * inputs[0],)

            def backward(self, indexes, grad_outputs):
                return (F.cast(2 * grad_outputs[0], self.dtype_of_gradient),)

            dtype_of_gradient = dtype

        with pytest.raises(GradcheckError, match='dtype: backward of Node returned a wrong gradient'):
            gradcheck(lambda x, N=Node: N().apply((x,))[0], (X,), check_grad_dtypes=asked, fast_mode=fast)
