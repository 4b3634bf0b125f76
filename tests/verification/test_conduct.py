"""What happens beside the numbers: no second derivative, shapes, exceptions, links, weak upstream gradients."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import autograd
from minichainer.errors import UpstreamGradientWarning
from minichainer.gradient_check import (
    GradcheckError,
    check_backward,
    check_double_backward,
    check_gradients,
    gradcheck,
    gradgradcheck,
)
from minichainer.variable import Variable
from tests.verification.planting import node, uniform

X = uniform(3, 4)


# --- no second derivative ---


class OldStyle(chainer.Function):
    def forward(self, inputs):
        return (inputs[0] ** 2,)

    def backward(self, inputs, grad_outputs):
        return (2 * inputs[0] * grad_outputs[0],)


class Once(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.array**2

    @staticmethod
    @autograd.function.once_differentiable
    def backward(ctx, gy):
        (x,) = ctx.saved_tensors
        return 2 * x.array * gy.array


ONCE = {
    'old style': (lambda x: OldStyle()(x), 'cannot twice-differentiate an old-style Function: "OldStyle"'),
    'marked': (Once.apply, 'Once: its backward is marked by once_differentiable'),
}


@pytest.mark.parametrize('name', ONCE)
def test_a_function_that_is_differentiable_once_fails_at_the_second_order(name):
    func, text = ONCE[name]
    assert gradcheck(func, X)
    report = check_gradients(func, X, order=2, seed=0)
    (failure,) = report.failures
    assert (report.verdict, failure.order, failure.input) == ('fail', 2, 0)
    assert failure.cause.startswith(f'not differentiable twice: {text}')
    assert gradgradcheck(func, X, raise_exception=False) is False
    with pytest.raises(GradcheckError, match='not differentiable twice'):
        gradgradcheck(func, X)
    with pytest.raises(RuntimeError, match=text):
        check_double_backward(func, X, 0.5 * X, X)


# --- shapes that depend on values ---


def selected(x):
    return x[x.array >= 0]


def test_a_shape_that_changes_at_the_point_is_the_cause():
    x = np.array([1.0, 0.0, -2.0])
    report = check_gradients(selected, x, seed=0)
    assert report.verdict == 'nondifferentiable'
    assert report.failures[0].cause.startswith('shape: the shape of output 0 depends on the values: (2,) here, (')
    assert not gradcheck(selected, x, raise_exception=False)


def test_a_shape_that_changes_near_the_point_is_noted():
    x = np.array([1.0, 1e-4, -2.0])
    report = check_gradients(selected, x, full_jacobian=True, precise=False, seed=0)
    assert report, report.message
    assert 'The shape of output 0 depends on the values: (2,) here, (' in report.message
    assert check_gradients(lambda x: selected(x) * 2, np.array([1.0, -2.0]), order=2, seed=0).notes == []


def test_a_wrong_gradient_beside_a_shape_that_changes():
    wrong = node(np.square, lambda xs, gy: 2.1 * xs[0] * gy)
    assert check_gradients(lambda x: wrong(selected(x)), np.array([1.0, 1e-4, -2.0]), seed=0).verdict == 'fail'


def test_shapes_that_change_from_call_to_call():
    calls = []

    def growing(x):
        calls.append(0)
        return F.concat([x] * (1 + len(calls) % 3), axis=0)

    report = check_gradients(growing, X, seed=0)
    assert report.verdict == 'nondeterministic' and 'different shapes' in report.failures[0].cause


# --- exceptions of the function ---


class MyError(Exception):
    pass


@pytest.mark.parametrize('raise_exception', [True, False])
@pytest.mark.parametrize('when', [1, 3, 5, 9])
def test_an_exception_of_the_function_is_raised_and_everything_restored(when, raise_exception):
    link = L.Linear(4, 2)
    before = link.W.array, link.W.array.copy()
    state = np.random.get_state()[1].copy()
    calls = []

    def failing(x):
        calls.append(0)
        np.random.uniform()
        if len(calls) >= when:
            raise MyError('in the middle')
        return link(x)

    with pytest.raises(MyError, match='in the middle'):
        check_gradients(
            failing, X.astype('f'), params=(link.W,), raise_exception=raise_exception, precise=False, seed=0
        )
    assert link.W.array is before[0] and (link.W.array == before[1]).all()
    assert (np.random.get_state()[1] == state).all()
    assert chainer.config.enable_backprop


def test_an_exception_escapes_every_face():
    def failing(x):
        raise MyError('at once')

    for face in (gradcheck, gradgradcheck):
        with pytest.raises(MyError):
            face(failing, X, raise_exception=False)
    with pytest.raises(MyError):
        check_backward(failing, X, X)


# --- links ---


class Network(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.first, self.norm, self.second = L.Linear(None, 5), L.BatchNormalization(5), L.Linear(None, 2)

    def forward(self, x):
        return self.second(F.tanh(self.norm(self.first(x))))


def test_a_link_is_initialized_by_a_call():
    link = L.Linear(None, 3)
    report = check_gradients(link, X.astype('f'), params='all', order=2, seed=0)
    assert report, report.message
    assert link.W.shape == (3, 4) and {f.name for f in link.params()} == {'W', 'b'}
    network = Network()
    report = check_gradients(network, uniform(6, 4, dtype='f'), params='all', seed=0)
    assert report, report.message
    assert network.norm.N == 0 and (network.norm.avg_mean == 0).all()


def test_the_call_that_initializes_gets_keyword_arguments_and_raises_its_errors():
    class Doubled(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.inner = L.Linear(None, 3)

        def forward(self, x, factor):
            return factor * self.inner(x)

    assert check_gradients(Doubled(), X.astype('f'), params='all', kwargs={'factor': 2.0}, seed=0)
    with pytest.raises(TypeError, match='factor'):
        check_gradients(Doubled(), X.astype('f'), params='all', seed=0)


# --- weak upstream gradients ---


@pytest.mark.parametrize('face', [
    lambda gy: check_backward(F.tanh, X, gy),
    lambda gy: check_double_backward(F.tanh, X, gy, X),
    lambda gy: check_gradients(F.tanh, X, gy),
    lambda gy: gradgradcheck(F.tanh, X, gy),
])  # fmt: skip
def test_ones_as_upstream_gradient_warn_in_their_own_category(face):
    with pytest.warns(UpstreamGradientWarning, match='is all ones: errors that cancel in sums stay hidden') as caught:
        face(np.ones_like(X))
    assert [w.filename for w in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', UpstreamGradientWarning)
        face(np.ones_like(X))
    face(0.5 * X)


def test_complex_ones_warn_too():
    with pytest.warns(UpstreamGradientWarning):
        check_gradients(lambda z: z * z, X + 1j, np.ones_like(X) + 0j)


def test_a_single_one_does_not_warn():
    check_backward(F.sum, X, np.array(1.0))
    check_backward(lambda x: x * 1, X[:1, 0], np.ones(1))
    check_gradients(F.tanh, X)


def test_a_rule_that_is_right_for_ones_only_is_caught_all_the_same():
    wrong = node(np.square, lambda xs, gy: 2 * xs[0] * gy.mean())
    with pytest.warns(UpstreamGradientWarning), pytest.raises(GradcheckError):
        check_backward(wrong, X, np.ones_like(X))


# --- layouts ---


def test_upstream_gradients_are_not_contiguous_if_that_is_wanted():
    seen = []

    class Linear(chainer.FunctionNode):
        takes_any_layout = True

        def forward(self, inputs):
            return (2 * inputs[0],)

        def backward(self, indexes, grad_outputs):
            seen.append(grad_outputs[0].array)
            return (2 * grad_outputs[0],)

    def func(x):
        return Linear().apply((x,))[0]

    def second_order(gradients):
        return [gy for gy in gradients if gy.shape == X.shape]

    assert gradgradcheck(func, X, gen_non_contig_grad_outputs=True, fast_mode=True)
    strided = [gy for gy in second_order(seen) if not (gy.flags.c_contiguous or gy.flags.f_contiguous)]
    seen.clear()
    assert gradgradcheck(func, X, fast_mode=True)
    assert len(strided) > 2 > len([gy for gy in seen if not (gy.flags.c_contiguous or gy.flags.f_contiguous)])


def test_a_backward_that_reads_the_memory_of_the_upstream_gradient_is_found():
    class Reads(chainer.FunctionNode):
        takes_any_layout = True

        def forward(self, inputs):
            return (2 * inputs[0],)

        def backward(self, indexes, grad_outputs):
            gy = grad_outputs[0]
            if gy.array.flags.c_contiguous:
                return (2 * gy,)
            return (3 * gy,)

    func = lambda x: Reads().apply((x,))[0]  # noqa: E731
    assert gradgradcheck(func, X, fast_mode=True)
    assert not gradgradcheck(func, X, fast_mode=True, gen_non_contig_grad_outputs=True, raise_exception=False)


def test_a_variable_is_an_input_too():
    assert gradcheck(F.tanh, Variable(X)) and gradgradcheck(F.tanh, (Variable(X),))
