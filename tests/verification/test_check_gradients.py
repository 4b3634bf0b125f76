"""check_gradients, gradcheck and gradgradcheck: what they take, what they find, what they leave alone."""

from __future__ import annotations

import inspect
import json
import random
import subprocess
import sys
import warnings

import numpy as np
import pytest

import minichainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import gradient_check
from minichainer.configuration import no_backprop_mode
from minichainer.errors import GradientToleranceWarning
from minichainer.function_hook import FunctionHook, get_function_hooks
from minichainer.gradient_check import (
    GradcheckError,
    NondifferentiableError,
    UnresolvedError,
    check_backward,
    check_gradients,
    gradcheck,
    gradgradcheck,
)
from minichainer.variable import Parameter, Variable
from tests.verification.planting import node, square, uniform

X = uniform(3, 4)
WRONG = square(lambda x, gy: 3 * x * gy)


def only(report):
    """The one failure of a report."""
    (failure,) = report.failures
    return failure


# What it costs


@pytest.mark.parametrize('n', [10, 1000, 100_000])
@pytest.mark.parametrize('dtype', ['f', 'd'])
@pytest.mark.parametrize('func', [F.tanh, F.relu, F.softplus, lambda x: x * x * x, lambda x: 3 * x, F.sin])
def test_calls_do_not_depend_on_the_number_of_elements(func, n, dtype):
    x = uniform(n, dtype=dtype)
    x[abs(x) < 1e-3] = 0.5
    report = check_gradients(func, x)
    assert report.verdict == 'pass', report
    assert report.forward_calls <= 30 and report.backward_calls <= 11


@pytest.mark.parametrize('n', [10, 1000, 100_000])
def test_the_thin_layers_cost_no_more(n):
    calls = []

    def func(x):
        calls.append(x)
        return F.tanh(x)

    check_backward(func, uniform(n), uniform(n, seed=2))
    assert len(calls) <= 30
    calls.clear()
    assert gradcheck(func, uniform(n), fast_mode=True)
    assert len(calls) <= 30


def test_the_full_jacobian_is_counted_apart_and_left_out_where_it_is_large():
    report = check_gradients(F.softmax, X, full_jacobian=True)
    assert report and report.forward_calls <= 30 and report.jacobian_calls == 12
    report = check_gradients(F.softmax, uniform(11, 10), full_jacobian=True)
    assert report and report.jacobian_calls == 0
    assert 'has 12100 entries, more than 10000: screened' in str(report)


def test_only_the_full_jacobian_sees_an_entry_that_two_given_directions_cannot():
    def rule(xs, gy):
        gx = 2 * xs[0] * gy
        gx[0] += np.where(np.count_nonzero(gy) == 1, 1e-3 * gy[0], 0)
        return gx

    func = node(np.square, rule)
    assert gradcheck(func, X, fast_mode=True, check_undefined_grad=False) in (True, False)
    with pytest.raises(GradcheckError, match='entries of the Jacobian differ'):
        gradcheck(func, X)


# Reports and exceptions


def test_a_report_of_a_pass():
    report = check_gradients(F.tanh, X, seed=3)
    assert report and report.verdict == 'pass' and report.failures == [] and report.failure_count == 0
    assert report.seed == 3 and 'seed=3' in report.message


def test_a_report_of_a_failure():
    def rule(x, gy):
        gx = 2 * x * gy
        gx[1, 2] *= 1.1
        return gx

    failure = only(check_gradients(square(rule), X))
    assert (failure.order, failure.output, failure.input, failure.index) == (1, 0, 0, (1, 2))
    assert abs(failure.analytic / failure.numeric - 1.1) < 1e-6
    assert failure.cause.startswith('one element: ')
    assert failure.left_slope is None and failure.right_slope is None


@pytest.mark.parametrize('func', [F.tanh, WRONG])
def test_one_seed_gives_one_report_that_json_can_hold(func):
    texts = [json.dumps(check_gradients(func, X, seed=5).to_dict(), allow_nan=False) for _ in range(2)]
    assert texts[0] == texts[1]
    assert json.loads(texts[0])['seed'] == 5


def test_a_check_without_a_seed_says_the_same_again():
    for func in (F.tanh, WRONG):
        assert str(check_gradients(func, X)) == str(check_gradients(func, X))


def test_another_process_draws_another_seed():
    code = 'from minichainer.verification.arguments import process_seed; print(process_seed(), process_seed())'
    drawn = {subprocess.check_output([sys.executable, '-c', code], text=True) for _ in range(2)}
    assert len(drawn) == 2 and all(len(set(line.split())) == 1 for line in drawn)


def test_failures_are_limited_and_counted():
    report = check_gradients(WRONG, uniform(10, 20), max_failures=7)
    assert len(report.failures) == 7 and report.failure_count == 200
    ratios = [f.ratio for f in report.failures]
    assert ratios == sorted(ratios, reverse=True)


#: A constant that hides all digits, in a function that takes floats only.
NEEDS_FLOATS = node(lambda x: 1e12 + np.sin(np.array(x, float)), lambda xs, gy: np.cos(xs[0]) * gy)
OUTCOMES = {
    'fail': (WRONG, X, GradcheckError),
    'nondifferentiable': (F.absolute, np.zeros(3), NondifferentiableError),
    'unresolved': (NEEDS_FLOATS, X, UnresolvedError),
    'nondeterministic': (lambda x: x * np.random.rand(), X, GradcheckError),
    'not_finite': (F.log, np.zeros(3), GradcheckError),
    'input_modified': (node(lambda x: np.square(x, out=x), lambda xs, gy: 2 * xs[0] * gy), X, GradcheckError),
}


@pytest.mark.parametrize('verdict', OUTCOMES)
def test_verdicts_and_their_exceptions(verdict):
    func, x, kind = OUTCOMES[verdict]
    report = check_gradients(func, x, precise=False)
    assert report.verdict == verdict and not report
    with pytest.raises(kind) as error:
        check_gradients(func, x, precise=False, raise_exception=True)
    assert type(error.value) is kind and error.value.report.verdict == verdict
    assert isinstance(error.value, AssertionError) and isinstance(error.value, RuntimeError)
    if verdict not in ('unresolved', 'nondifferentiable'):  # these two are left to torch's comparison
        assert gradcheck(func, x, raise_exception=False) is False


def test_an_unresolved_check_says_what_would_resolve_it():
    with pytest.raises(UnresolvedError, match='What would resolve it: inputs of moderate size, an output without'):
        check_gradients(NEEDS_FLOATS, X, raise_exception=True)


def test_what_the_function_raises_propagates():
    with pytest.raises(ZeroDivisionError):
        gradcheck(lambda x: 1 // 0, X, raise_exception=False)


# Several inputs, outputs, orders


def test_containers_are_named_by_path():
    wrong = square(lambda x, gy: 2 * x * gy * 1.5)

    def func(batch, scale):
        return batch['a'] * batch['b'][0] + wrong(batch['b'][1]) * scale

    report = check_gradients(func, ({'a': X, 'b': [X, X + 2]}, 3.0))
    assert {f.input for f in report.failures} == {'0.b[1]'}
    assert 'inputs 0.b[1] (3, 4) float64' in str(report)


def test_kwargs_integers_none_and_constants_reach_the_function():
    seen = {}

    def func(x, i, mask, nothing, text, *, factor):
        seen.update(i=i, mask=mask, nothing=nothing, text=text)
        return x * Variable(np.where(mask.array, i.array, 1.0)) * factor

    inputs = (uniform(2), np.array([2, 3]), np.array([True, False]), None, 'text')
    assert check_gradients(func, inputs, kwargs={'factor': 2.0})
    assert not seen['i'].requires_grad and seen['mask'].dtype == bool
    assert seen['nothing'] is None and seen['text'] == 'text'


def test_a_variable_without_gradient_stays_one_and_is_not_compared():
    w = Variable(X, requires_grad=False)
    func = node(np.multiply, lambda xs, gy: (xs[1] * gy, None))
    assert check_gradients(func, (X, w))
    assert not check_gradients(func, (X, Variable(X)))


def test_one_array_as_two_inputs():
    assert check_gradients(lambda x, y: x * y * y, (X, X), order=2)
    x = uniform(12)
    assert check_gradients(lambda x, y: x * y * y, (x[:8], x[4:]), order=2)
    assert check_gradients(lambda x: x * x, np.lib.stride_tricks.as_strided(x, (5, 4), (8, 8)))


SHAPES = {'0-d': np.array(0.7), 'empty': uniform(0, 3), 'one': uniform(1), 'broadcast': np.broadcast_to(X[0], (5, 4))}


@pytest.mark.parametrize('name', SHAPES)
@pytest.mark.parametrize('order', [1, 2, 3])
def test_shapes(name, order):
    assert check_gradients(lambda x: x * x * x, SHAPES[name], order=order, full_jacobian=True)


def test_outputs_without_gradient_beside_others():
    def func(x):
        return (
            x * 2,
            Variable(x.array.argmax()[None]),
            None,
            Variable(np.ones(3)),
            Variable(x.array, requires_grad=False),
        )

    report = check_gradients(func, X, order=2)
    assert report and 'Output 4 does not require a gradient and is not checked.' in str(report)


def test_an_output_that_forgets_its_input_fails():
    report = check_gradients(lambda x: (x * 2, Variable(x.array * 2)), X)
    assert {f.output for f in report.failures} == {1}
    assert report.failures[0].cause.startswith("an output's gradient ignored")


def test_grad_outputs_are_honoured():
    def two(x):
        return x * x, WRONG(x)

    assert not check_gradients(two, X)
    assert check_gradients(two, X, (X, None))
    assert gradgradcheck(two, X, (X, None))
    seen = []

    def rule(x, gy):
        seen.append(gy.copy())
        return 2 * x * gy

    check_gradients(square(rule), X, grad_outputs=7 * X)
    assert (seen[0] == 7 * X).all()


def test_the_second_order_numbers_inputs_and_then_upstream_gradients():
    class Cube(minichainer.FunctionNode):
        def forward(self, inputs):
            self.retain_inputs((0,))
            return (inputs[0] ** 3,)

        def backward(self, indexes, grad_outputs):
            (x,) = self.get_retained_inputs()
            return (3 * x * x * Variable(grad_outputs[0].array),)

    report = check_gradients(lambda w, x: w * Cube().apply((x,))[0], (X, X + 2), order=2)
    assert {(f.order, f.output, f.input) for f in report.failures} >= {(2, 1, 2), (2, 1, 0)}
    assert all(f.cause.startswith('second order only, detached: ') for f in report.failures)
    assert not gradgradcheck(lambda x: Cube().apply((x,))[0], X, raise_exception=False)
    assert gradcheck(lambda x: Cube().apply((x,))[0], X)


def test_the_first_order_is_checked_inside_the_second():
    report = check_gradients(lambda x: WRONG(x) * 1.0, X, order=2)
    assert {f.order for f in report.failures} == {1}


@pytest.mark.parametrize('func', [F.tanh, F.exp, F.softmax, lambda x: F.matmul(x, x, transb=True)])
def test_the_third_order(func):
    assert check_gradients(func, X, order=3)


# Parameters


def test_params_all_names_those_of_a_link():
    link = L.Linear(4, 2)
    assert check_gradients(link, uniform(3, 4, dtype='f'), params='all', order=2)

    class Broken(minichainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l1 = L.Linear(4, 2)

        def forward(self, x):
            return F.linear(x, Variable(self.l1.W.array), self.l1.b)

    report = check_gradients(Broken(), uniform(3, 4, dtype='f'), params='all')
    assert {f.input for f in report.failures} == {'/l1/W'}
    assert report.failures[0].cause.startswith('missing: ')


def test_params_all_with_a_closure():
    with pytest.raises(
        TypeError, match='params="all" needs a Link as func, but <lambda> is a function: pass the param'
    ):
        check_gradients(lambda x: x, X, params='all')


# What is left as it was


class Spy(FunctionHook):
    name = 'spy'


@pytest.mark.parametrize('fails', [False, True])
def test_everything_is_restored(fails):
    bn, p = L.BatchNormalization(4), Parameter(uniform(4, dtype='f'))
    p.grad = uniform(4, dtype='f', seed=3)
    array, gradient = p.array, p.grad
    mean, count = bn.avg_mean.copy(), bn.N
    x = Variable(X.copy())
    x.grad = X.copy()
    np.random.seed(0)
    random.seed(0)
    states = np.random.get_state()[1].copy(), random.getstate()

    def func(x):
        np.random.rand()
        random.random()
        if 'spy' not in get_function_hooks():
            Spy().__enter__()
        if fails and x.dtype == np.float64 and (x.array != X).any():
            raise ArithmeticError
        return bn(x) * F.broadcast_to(F.cast(p, x.dtype), x.shape)

    if fails:
        with pytest.raises(ArithmeticError):
            check_gradients(func, x, params=p)
    else:
        assert check_gradients(func, x, params=p, order=2)
    assert p.array is array and p.grad is gradient and p.dtype == np.float32
    assert (x.array == X).all() and (x.grad == X).all()
    assert (bn.avg_mean == mean).all() and count == bn.N
    assert (np.random.get_state()[1] == states[0]).all() and random.getstate() == states[1]
    assert 'spy' not in get_function_hooks()


def test_the_global_random_state_is_not_used():
    np.random.seed(0)
    first = check_gradients(WRONG, X, seed=2).to_dict()
    np.random.seed(1)
    assert check_gradients(WRONG, X, seed=2).to_dict() == first


def test_inside_of_no_backprop_mode():
    with no_backprop_mode():
        assert check_gradients(F.tanh, X, order=2)
        assert not check_gradients(WRONG, X)


# Tolerances


def test_defaults_print_and_compare_as_their_numbers():
    parameters = inspect.signature(gradcheck).parameters
    assert [parameters[n].default for n in ('eps', 'atol', 'rtol')] == [1e-6, 1e-5, 1e-3]
    assert 'eps: float = 1e-06, atol: float = 1e-05, rtol: float = 0.001' in str(
        inspect.signature(gradcheck)
    ).replace("'", '')


SLIGHTLY = {'factor': lambda x, gy: 2 * x * gy * 1.0005, 'constant': lambda x, gy: 2 * x * gy + 1e-6}


@pytest.mark.parametrize('fast', [False, True])
def test_only_a_given_tolerance_widens(fast):
    assert not gradcheck(square(SLIGHTLY['factor']), X, raise_exception=False, fast_mode=fast, seed=0)
    assert not gradcheck(square(SLIGHTLY['constant']), X, raise_exception=False, fast_mode=fast, seed=0)
    with pytest.warns(GradientToleranceWarning, match='rtol=0.001'):
        assert gradcheck(square(SLIGHTLY['factor']), X, rtol=1e-3, fast_mode=fast, seed=0)
    with pytest.warns(GradientToleranceWarning, match='rtol=0.001'):
        assert gradcheck(square(SLIGHTLY['factor']), X, 1e-6, 1e-5, 1e-3, fast_mode=fast, seed=0)
    assert not gradcheck(square(SLIGHTLY['factor']), X, rtol=1e-4, raise_exception=False, fast_mode=fast, seed=0)


def test_a_given_step_is_used_for_each_element_that_tolerances_must_allow():
    seen = []
    wrong = node(lambda x: seen.append(x.copy()) or x**3, lambda xs, gy: 3.0001 * xs[0] ** 2 * gy)
    with pytest.warns(GradientToleranceWarning, match='wrong by less than the tolerances'):
        assert gradcheck(wrong, X, eps=1e-4)
    alone = [x - X for x in seen if x.dtype == float and np.count_nonzero(x != X) == 1]
    assert sum(bool(np.isclose(abs(off).max(), 1e-4, rtol=1e-6)) for off in alone) >= 2 * X.size


def test_nondet_tol_widens_the_repeat_test_and_the_comparison():
    rng = np.random.default_rng(0)
    noisy = square(lambda x, gy: 2 * x * gy + 1e-7 * rng.uniform(-1, 1, x.shape))
    assert check_gradients(noisy, X).verdict == 'nondeterministic'
    assert check_gradients(noisy, X, nondet_tol=1e-6).verdict == 'pass'


def test_subgradient_accepts_what_lies_between_the_slopes():
    relu_at_0 = node(lambda x: np.maximum(x, 0), lambda xs, gy: 0.3 * gy)
    zero = np.zeros(2)
    failure = check_gradients(relu_at_0, zero).failures[0]
    slopes = sorted([abs(failure.left_slope), abs(failure.right_slope)])
    assert slopes[0] == 0 and abs(0.3 * slopes[1] - abs(failure.analytic)) < 1e-12
    assert failure.index in ((0,), (1,)) and failure.cause.startswith('kink: ')
    assert check_gradients(relu_at_0, zero, subgradient=True)
    outside = node(lambda x: np.maximum(x, 0), lambda xs, gy: 1.3 * gy)
    assert check_gradients(outside, zero, subgradient=True).verdict == 'fail'


def test_a_kink_among_many_is_named_and_a_kink_nearby_is_none():
    x = uniform(1000)
    x[abs(x) < 1e-3] = 0.5
    x[123] = 0
    report = check_gradients(F.absolute, x)
    assert report.verdict == 'nondifferentiable' and only(report).index == (123,)
    x[123] = 1e-6
    assert check_gradients(F.absolute, x)


def test_a_wrong_element_outranks_a_kink():
    x = np.array([0.0, 1.0, -2.0])
    report = check_gradients(node(abs, lambda xs, gy: np.sign(xs[0]) * gy * [1, 1, 2]), x)
    assert report.verdict == 'fail'
    assert {(f.index, f.verdict) for f in report.failures} == {((2,), 'fail'), ((0,), 'nondifferentiable')}


def test_tangent_directions():
    def symmetric(d):
        return (d + d.T) / 2

    func = node(lambda x: np.array((x * x.T).sum()), lambda xs, gy: 2 * gy * xs[0])
    x = uniform(3, 3)
    x = x + x.T
    assert check_gradients(func, x, tangent=symmetric)
    assert not check_gradients(
        node(lambda x: x[0, 1] + 0 * x[0], lambda xs, gy: np.eye(3) * gy.sum()), x, tangent=symmetric
    )


# Bad arguments: found before any numerics

ARGUMENTS = {
    'eps': ({'eps': 0.0}, ValueError, 'eps, the step of the finite difference, must be positive'),
    'eps infinite': ({'eps': np.inf}, ValueError, 'eps, the step'),
    'atol': ({'atol': -1.0}, ValueError, 'atol must not be negative or NaN, got -1.0'),
    'rtol': ({'rtol': np.nan}, ValueError, 'rtol must not be negative or NaN'),
    'atol type': ({'atol': '1'}, TypeError, 'atol must be a number, not str'),
    'nondet_tol': ({'nondet_tol': -1}, ValueError, 'nondet_tol must not'),
    'dtype': ({'dtype': int}, ValueError, '`dtype` is allowed only float type, not int64'),
    'order': ({'order': 0}, ValueError, 'order must be at least 1, got 0'),
    'order type': ({'order': 1.5}, TypeError, 'order must be an integer, not float'),
    'max_failures': ({'max_failures': 0}, ValueError, 'max_failures must be at least 1'),
    'no_grads': ({'no_grads': [True, False]}, ValueError, 'no_grads: one flag expected for each of the 1 inputs'),
    'no_grads type': ({'no_grads': True}, TypeError, 'no_grads must be a tuple or list of bool, not bool'),
    'seed': ({'seed': -1}, ValueError, 'seed must not be negative'),
    'seed type': ({'seed': 'x'}, TypeError, 'seed must be an integer, not str'),
    'tangent': ({'tangent': 3}, TypeError, 'tangent must be a function of a direction'),
    'params': ({'params': 'some'}, ValueError, 'params must be Variables or "all"'),
    'unknown': ({'epsilon': 1}, TypeError, 'epsilon'),
}


@pytest.mark.parametrize('name', ARGUMENTS)
def test_bad_arguments(name):
    options, kind, message = ARGUMENTS[name]
    calls = []
    with pytest.raises(kind, match=message):
        check_gradients(lambda x: calls.append(x) or x, X, **options)
    assert calls == []


RETURNS = {
    'None': (None, 'got NoneType'),
    'float': (1.0, 'got float'),
    'array': (X, 'got ndarray'),
    'empty': ((), 'got nothing'),
    'float in a tuple': ((Variable(X), 1.0), 'got float'),
}


@pytest.mark.parametrize('name', RETURNS)
def test_bad_results_of_the_function(name):
    value, message = RETURNS[name]
    calls = []
    with pytest.raises(TypeError, match=f'argument func. must return Variables.*{message}'):
        check_gradients(lambda x: calls.append(x) or value, X)
    assert len(calls) <= 2


def test_func_must_be_callable():
    with pytest.raises(TypeError, match='func must be callable, not int'):
        check_gradients(3, X)


def test_both_modes_off():
    with pytest.raises(ValueError, match='check_forward_ad and check_backward_ad are both False'):
        gradcheck(F.tanh, X, check_backward_ad=False)
    with pytest.raises(ValueError, match='check_fwd_over_rev and check_rev_over_rev are both False'):
        gradgradcheck(F.tanh, X, check_rev_over_rev=False)
    with pytest.raises(ValueError, match='check_batched_grad=True needs check_backward_ad=True'):
        gradcheck(F.tanh, X, check_forward_ad=True, check_backward_ad=False, check_batched_grad=True)


def test_every_option_of_torch_works():
    flags = ['check_batched_grad', 'check_batched_forward_grad', 'check_forward_ad', 'masked', 'check_grad_dtypes']
    assert gradcheck(F.tanh, X, **dict.fromkeys(flags, True))
    flags = ['check_batched_grad', 'check_fwd_over_rev', 'masked', 'gen_non_contig_grad_outputs', 'fast_mode']
    assert gradgradcheck(F.tanh, X, **dict.fromkeys(flags, True))


def test_check_sparse_nnz():
    with pytest.warns(DeprecationWarning, match='check_sparse_nnz is deprecated'):
        assert gradcheck(F.tanh, X, check_sparse_nnz=False)
    warns = pytest.warns(DeprecationWarning, match='check_sparse_nnz is deprecated')
    with warns, pytest.raises(ValueError, match='check_sparse_nnz=True and masked=False'):
        gradcheck(F.tanh, X, check_sparse_nnz=True, masked=False)


def test_warnings():
    with pytest.warns(UserWarning, match='nothing to check'):
        assert check_gradients(lambda i: Variable(i.array * 1.0), np.arange(3))
    with pytest.warns(UserWarning, match='nothing to check, no output of the function'):
        assert check_gradients(F.argmax, X)
    with pytest.warns(UserWarning, match='all upstream gradients given are zero'):
        assert not check_gradients(WRONG, X, grad_outputs=0 * X)


def test_numpy_warnings_of_our_own_steps_are_not_shown():
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert check_gradients(node(np.log, lambda xs, gy: gy / xs[0]), np.array([1e-9, 1.0]))


def test_upstream_gradients_that_do_not_match():
    with pytest.raises(ValueError, match='Output gradients must be as many as the outputs'):
        check_gradients(F.tanh, X, (X, X))
    with pytest.raises(ValueError, match='differ in shape or dtype'):
        check_gradients(F.tanh, X, X[0])


def test_the_names_of_the_root():
    assert minichainer.gradcheck is gradcheck and minichainer.gradgradcheck is gradgradcheck
    assert minichainer.gradcheck(F.tanh, (X,), 1e-6, 1e-5, 1e-3, True) is True
    assert gradgradcheck(F.tanh, (X,), X, 1e-6, 1e-4, 1e-3, True) is True


# --- parameters that are not passed ---

W32 = Variable(uniform(2, 3, dtype='f'))
HIDDEN_X = uniform(4, 3, dtype='f', seed=5)


def closing_over(value):
    return lambda x: F.linear(x, value)


def wrapped(link):
    inner = closing_over(link.W)
    return lambda x: F.tanh(inner(x)) + F.broadcast_to(link.b, (4, 2))


HIDDEN = {
    'link': L.Linear(3, 2),
    'method': L.Linear(3, 2).forward,
    'closure over a link': (lambda link: lambda x: link(x) ** 2)(L.Linear(3, 2)),
    'closure over its parameters': wrapped(L.Linear(3, 2)),
    'global Variable': lambda x: F.linear(x, W32),
    'closure over a Variable': closing_over(W32),
    'closure over an array': closing_over(W32.array),
    'default': lambda x, w=W32: F.linear(x, w),
}


@pytest.mark.parametrize('name', HIDDEN)
def test_parameters_that_are_not_passed_follow_into_the_other_dtype(name):
    func = HIDDEN[name]
    gy = uniform(4, 2, dtype='f', seed=6)
    gradient_check.check_backward(func, HIDDEN_X, gy, dtype=np.float64)
    gradient_check.check_double_backward(func, HIDDEN_X, gy, uniform(4, 3, dtype='f', seed=7), dtype=np.float64)
    assert check_gradients(func, HIDDEN_X, order=2, seed=0)
    assert W32.dtype == np.float32
    if isinstance(func, L.Linear):
        assert {p.dtype for p in func.params()} == {np.dtype('f')} and np.isnan(func.W.grad).all()


def test_a_wrong_gradient_of_a_link_whose_parameters_are_not_passed():
    link = L.Linear(3, 2)
    func = node(lambda x: x * 2, lambda xs, gy: 2.001 * gy)
    report = check_gradients(lambda x: link(func(x)), HIDDEN_X, seed=0)
    assert report.verdict == 'fail'
    (note,) = report.notes
    assert note.startswith('The gradients of link/W, link/b were not checked: ')


def test_a_parameter_that_is_not_passed_may_be_updated_by_the_function():
    link = L.Linear(3, 2)

    def counting(x):
        link.W.array[...] *= 1
        return link(x)

    assert check_gradients(counting, HIDDEN_X, seed=0)
