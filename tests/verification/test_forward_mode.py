"""Forward mode under the checker: tangents against backward and against differences."""

from __future__ import annotations

import re

import numpy as np
import pytest

import minichainer.functions as F
import minichainer.links as L
from minichainer import autograd
from minichainer.configuration import using_config
from minichainer.function_node import FunctionNode
from minichainer.gradient_check import GradcheckError, check_gradients, gradcheck, gradgradcheck
from minichainer.variable import Variable
from tests.verification.planting import node, uniform

X, W = uniform(3, 4), uniform(3, 4, seed=2)
Z = uniform(3, 4) + 1j * uniform(3, 4, seed=3)


def function(forward, gradient, jvp):
    """A function from rules on arrays: ``gradient(xs, gy)``, one per input, and ``jvp(xs, *tangents)``."""

    class Planted(autograd.Function):
        @staticmethod
        def forward(ctx, *xs):
            ctx.save_for_backward(*xs)
            ctx.save_for_forward(*xs)
            return forward(*[x.array for x in xs])

        @staticmethod
        def backward(ctx, gy):
            found = gradient([x.array for x in ctx.saved_tensors], gy.array)
            return tuple(Variable(g) for g in found)

        @staticmethod
        def jvp(ctx, *tangents):
            found = jvp([x.array for x in ctx.saved_tensors], *[t.array for t in tangents])
            return None if found is None else Variable(found)

    return Planted.apply


def product(jvp):
    """x * x * w with any rule for tangents."""
    return function(lambda x, w: x * x * w, lambda xs, gy: (2 * xs[0] * xs[1] * gy, xs[0] ** 2 * gy), jvp)


def right(xs, dx, dw):
    x, w = xs
    return 2 * x * w * dx + x * x * dw


def one(xs, dx, dw):
    found = right(xs, dx, dw)
    found[1, 2] *= 1 + 1e-9
    return found


WRONG = {
    'sign': (lambda xs, dx, dw: -right(xs, dx, dw), 'the opposite sign'),
    'factor': (lambda xs, dx, dw: 1.5 * right(xs, dx, dw), '1.5 times the tangent'),
    'zeros': (lambda xs, dx, dw: 0 * dx, 'detached'),
    'None': (lambda xs, dx, dw: None, 'detached'),
    'term missing': (lambda xs, dx, dw: 2 * xs[0] * xs[1] * dx, 'detached'),
    'not linear': (lambda xs, dx, dw: right(xs, abs(dx), dw), 'not linear'),
    'added': (lambda xs, dx, dw: right(xs, dx, dw) + 1e-6, 'not linear'),
    'threshold': (lambda xs, dx, dw: right(xs, dx * (abs(dx) > 1e-7), dw), 'not linear'),
    'one element': (one, 'wrong along'),
    'one element, much': (lambda xs, dx, dw: one(xs, dx, dw) + 0.1 * dx * np.eye(3, 4), 'wrong along'),
    'undefined': (
        lambda xs, dx, dw: right(xs, dx, dw) * (1 if dw.any() else 1.1),
        'not linear|the tangents for each',
    ),
    'shape': (lambda xs, dx, dw: right(xs, dx, dw)[0], 'jvp of Planted returned a wrong tangent'),
}


@pytest.mark.parametrize('backward', [True, False], ids=['both modes', 'forward mode only'])
@pytest.mark.parametrize('name', WRONG)
def test_wrong_tangents_fail_with_the_cause(name, backward):
    rule, cause = WRONG[name]
    report = check_gradients(product(rule), (X, W), check_forward_ad=True, check_backward_ad=backward, seed=5)
    assert report.verdict == 'fail'
    assert re.match(f'forward mode: ({cause})', report.failures[0].cause), report.message


def test_without_the_option_tangents_are_not_looked_at():
    assert check_gradients(product(WRONG['sign'][0]), (X, W), seed=5)
    assert gradcheck(product(WRONG['sign'][0]), (X, W))
    with pytest.raises(GradcheckError, match=r'(?s)forward mode: the opposite sign.*measured.*, forward mode'):
        gradcheck(product(WRONG['sign'][0]), (X, W), check_forward_ad=True)


@pytest.mark.parametrize('seed', range(5))
def test_a_factor_below_the_error_of_differences_is_found_beside_backward(seed):
    func = product(lambda xs, dx, dw: right(xs, dx, dw) * (1 + 1e-12))
    report = check_gradients(func, (X, W), check_forward_ad=True, seed=seed)
    assert report.verdict == 'fail'
    assert re.match('forward mode: .*(wrong along|disagree with backward by .*e-13)', report.failures[0].cause)


def test_the_worst_element_is_named():
    report = check_gradients(product(WRONG['one element, much'][0]), (X, W), check_forward_ad=True, seed=5)
    (failure,) = report.failures
    assert '4 of 12 elements of the tangent of output 0' in failure.cause
    assert failure.input == 0 and failure.numeric != failure.analytic


RIGHT = {
    'planted': (product(right), (X, W)),
    'elementwise': (lambda x, w: F.tanh(x) * F.exp(w), (X, W)),
    'linear map': (lambda x: F.transpose(x)[1:], (X,)),
    'product': (lambda x, w: F.matmul(x, w, transb=True), (X, W)),
    'reduction': (lambda x: F.logsumexp(x, axis=1), (X,)),
    'two backward passes': (lambda x: F.softmax(x, axis=1), (X,)),
    'two outputs': (lambda x: (x * x, F.sum(F.sin(x))), (X,)),
    'an output of integers': (lambda x: (F.argmax(x), x * x), (X,)),
    'an input of integers': (lambda x, i: x[i.array], (X, np.array([0, 2, 2]))),
    'an unused input': (lambda x, w: x * x, (X, W)),
    'float32': (lambda x, w: F.tanh(x) * w, (X.astype('f'), W.astype('f'))),
    'float16': (lambda x, w: F.tanh(x) * w, (X.astype('e'), W.astype('e'))),
    'complex': (lambda z: F.exp(z) * F.conj(z), (Z,)),
    'real of complex': (lambda z: F.real(z * z), (Z,)),
    'float32 only': (lambda x: as_float32(x) * x, (X.astype('f'),)),
    'nothing': (F.tanh, (np.zeros((0, 3)),)),
    'constant': (lambda x: x * 0 + 3, (X,)),
    'ill-conditioned': (F.inv, (1 / (np.arange(6.0)[:, None] + np.arange(6.0) + 1),)),
}


def as_float32(x):
    if x.dtype != np.float32:
        raise TypeError('float32 only')
    return x


@pytest.mark.parametrize('backward', [True, False], ids=['both modes', 'forward mode only'])
@pytest.mark.parametrize('name', RIGHT)
def test_right_tangents_pass(name, backward):
    func, inputs = RIGHT[name]
    if name == 'ill-conditioned' and not backward:
        inputs = (inputs[0] + np.eye(6),)
    report = check_gradients(func, inputs, check_forward_ad=True, check_backward_ad=backward, seed=5)
    assert report, report.message
    if not backward:
        assert report.backward_calls == 0


def test_forward_mode_only_runs_no_backward():
    def refuses(xs, gy):
        raise AssertionError('backward was run')

    func = function(lambda x: x * x, refuses, lambda xs, dx: 2 * xs[0] * dx)
    assert gradcheck(func, (X,), check_forward_ad=True, check_backward_ad=False)


def test_functions_without_a_rule_are_noted():
    report = check_gradients(F.softmax, X, check_forward_ad=True, seed=5)
    assert any('Forward mode of Softmax differentiates backward' in note for note in report.notes)
    assert 'Forward mode of Softmax' in report.message


def test_a_function_without_tangents_fails():
    class NoTangent(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.array * 2

        @staticmethod
        def backward(ctx, gy):
            return gy * 2

    report = check_gradients(NoTangent.apply, X, check_forward_ad=True, seed=5)
    assert report.verdict == 'fail' and 'jvp' in report.failures[0].cause
    report = check_gradients(node(np.square, lambda xs, gy: 2 * xs[0] * gy), X, check_forward_ad=True, seed=5)
    assert (
        report.verdict == 'fail' and 'is not differentiable, so its tangents are unknown' in report.failures[0].cause
    )


def test_an_error_of_jvp_itself_is_raised():
    def jvp(xs, dx, dw):
        raise ValueError('my own')

    with pytest.raises(ValueError, match='my own'):
        check_gradients(product(jvp), (X, W), check_forward_ad=True, raise_exception=False)
    assert check_gradients(product(right), (X, W), check_forward_ad=True)  # the level has ended


def test_another_value_in_forward_mode_is_seen():
    def moody(x):
        return x * (2 if x.edge._tangent is None else 3)

    report = check_gradients(moody, X, check_forward_ad=True, seed=5)
    assert 'output 0 itself has another value' in report.failures[0].cause


def test_parameters_move_too():
    with using_config('dtype', np.float64):
        link = L.Linear(4, 2)
    assert check_gradients(link, X, params='all', check_forward_ad=True, seed=5)
    wrong = product(WRONG['term missing'][0])
    report = check_gradients(
        lambda x: wrong(x, link.W), uniform(2, 4), params=(link.W,), check_forward_ad=True, seed=5
    )
    assert report.failures[0].input == 'W'


def test_a_kink():
    x = np.array([1.0, 0.0, -1.0])
    assert check_gradients(F.relu, x, check_forward_ad=True, check_backward_ad=False).verdict == 'nondifferentiable'
    assert check_gradients(F.relu, x, check_forward_ad=True, check_backward_ad=False, subgradient=True)


def test_a_fixed_step_is_honoured():
    calls = {'check_forward_ad': True, 'check_backward_ad': False, 'eps': 1e-6}
    assert gradcheck(product(right), (X, W), **calls)
    assert not gradcheck(product(WRONG['factor'][0]), (X, W), raise_exception=False, **calls)
    assert gradcheck(product(lambda *a: right(*a) * 1.01), (X, W), atol=1.0, **calls)


# --- the second order ---


class Cube(FunctionNode):
    """x ** 3 whose second derivative has a factor."""

    def __init__(self, factor):
        self.factor = factor

    def forward(self, inputs):
        self.retain_inputs((0,))
        return (inputs[0] ** 3,)

    def backward(self, indexes, grad_outputs):
        (x,) = self.get_retained_inputs()
        if self.factor is None:
            return (3 * Variable(x.array) ** 2 * grad_outputs[0],)
        return (3 * x**2 * grad_outputs[0],)


SECOND = {'check_fwd_over_rev': True}
ONLY = {**SECOND, 'check_rev_over_rev': False}


@pytest.mark.parametrize('flags', [SECOND, ONLY], ids=['both', 'forward over reverse only'])
def test_forward_over_reverse(flags):
    assert gradgradcheck(F.tanh, (X,), **flags)
    assert gradgradcheck(lambda x, w: F.matmul(x, w, transb=True) ** 2, (X, W), **flags)
    assert gradgradcheck(lambda x: Cube(1).apply((x,))[0], (X,), **flags)
    assert gradgradcheck(lambda z: F.exp(z) * z, (Z,), **flags)
    report = check_gradients(lambda x: Cube(None).apply((x,))[0], X, order=2, seed=5, **flags)
    assert report.verdict == 'fail' and report.failures[0].order == 2
    if flags is ONLY:
        assert report.failures[0].cause.startswith('forward mode: ')


def test_contradictory_options():
    for flags, text in [
        ({'check_backward_ad': False}, 'check_forward_ad and check_backward_ad are both False'),
        ({'order': 2, 'check_rev_over_rev': False}, 'check_fwd_over_rev and check_rev_over_rev are both False'),
        ({'check_forward_ad': True, 'check_backward_ad': False, 'order': 2}, 'order=2 needs check_backward_ad=True'),
        (
            {'check_forward_ad': True, 'check_backward_ad': False, 'check_batched_grad': True},
            'check_batched_grad=True needs',
        ),
        ({'check_batched_forward_grad': True}, 'check_batched_forward_grad=True needs check_forward_ad=True'),
        ({'order': 2, 'check_batched_grad': True, **ONLY}, 'check_batched_grad=True needs check_rev_over_rev=True'),
    ]:
        with pytest.raises(ValueError, match=text):
            check_gradients(F.tanh, X, **flags)
