"""Gradients that are wrong once something else requires none."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer.gradient_check import (
    check_backward,
    check_double_backward,
    check_gradients,
    gradcheck,
    gradgradcheck,
)
from minichainer.verification.frozen import sets_to_freeze
from tests.verification.catalogue.planted_leaves import product as product_with
from tests.verification.planting import uniform

X, W = uniform(3, 4), uniform(3, 4, seed=1)


def product(when_frozen):
    """A product whose rule for one factor does something else if the other one requires no gradient."""

    def rule(needs, gx, gw):
        return (gx if needs[1] else when_frozen(gx)), (gw if needs[0] else when_frozen(gw))

    return product_with(rule)


FAULTS = {
    'lost': (lambda g: None, 'backward gives None'),
    'factor': (lambda g: 1.5 * g, 'backward gives another gradient'),
    'small factor': (lambda g: g * (1 + 1e-6), 'backward gives another gradient'),
    'exception': (lambda g: 1 / 0, 'backward raises ZeroDivisionError: division by zero'),
}
ENTRIES = {
    'check_gradients': lambda f, x, w: bool(check_gradients(f, (x, w), seed=0)),
    'gradcheck': lambda f, x, w: gradcheck(f, (x, w), raise_exception=False),
    'gradgradcheck': lambda f, x, w: gradgradcheck(f, (x, w), raise_exception=False),
    'check_backward': lambda f, x, w: check_backward(f, (x, w), x * w),
    'check_double_backward': lambda f, x, w: check_double_backward(f, (x, w), x * w, (x, w)),
}


@pytest.mark.parametrize('name', FAULTS)
def test_a_rule_that_looks_at_the_partner(name):
    when_frozen, words = FAULTS[name]
    report = check_gradients(product(when_frozen), (X, W), seed=0)
    assert report.verdict == 'fail'
    assert report.failures[0].cause.startswith('depends on what requires a gradient: with inputs[')
    assert words in report.failures[0].cause, report
    assert check_gradients(product(lambda g: g), (X, W), order=2, seed=0)


@pytest.mark.parametrize('dtype', 'fd')
@pytest.mark.parametrize('name', ENTRIES)
def test_every_entry_point(name, dtype):
    with pytest.raises(AssertionError):
        assert ENTRIES[name](product(lambda g: None), X.astype(dtype), W.astype(dtype))
    assert ENTRIES[name](product(lambda g: g), X.astype(dtype), W.astype(dtype)) in (True, None)


def test_the_fast_mode_leaves_it_out():
    assert gradcheck(product(lambda g: None), (X, W), fast_mode=True)


class Scaled(chainer.Link):
    """The input times a parameter, and minus another one."""

    def __init__(self, when_frozen):
        super().__init__()
        self.product = product(when_frozen)
        with self.init_scope():
            self.w, self.b = chainer.Parameter(W.copy()), chainer.Parameter(X.copy())

    def forward(self, x):
        return self.product(x, self.w) - self.b


def test_parameters_are_frozen_and_restored():
    link = Scaled(lambda g: None)
    report = check_gradients(link, X, params='all', seed=0)
    assert {f.input for f in report.failures} <= {0, '/w'} and report.verdict == 'fail'
    assert check_gradients(Scaled(lambda g: g), X, params='all', order=2, seed=0)
    assert link.w.requires_grad and link.b.requires_grad


def test_a_function_that_raises_leaves_parameters_as_they_were():
    def raising(g):
        raise KeyError('frozen')

    link = Scaled(raising)
    assert not check_gradients(link, X, params='all', seed=0)
    assert link.w.requires_grad


@pytest.mark.parametrize('place', [0, 1])
def test_arrays_in_place_of_variables(place):
    def function(*xs):
        if isinstance(xs[place], np.ndarray):
            return F.sin(xs[1 - place].array) * xs[place] if place else xs[0] * F.sin(xs[1].array)
        return xs[place] * F.sin(xs[1 - place])

    report = check_gradients(function, (X, W), seed=0)
    assert f'with inputs[{place}] frozen (given as an array), backward gives None' in report.message


def test_functions_that_take_no_arrays():
    assert check_gradients(lambda x, w: x * F.exp(w) + x.array.sum() * w.array.sum() * 0, (X, W), seed=0).notes == []
    assert check_gradients(lambda x, w: (x * 2, w.cos() if hasattr(w, 'cos') else F.cos(w)), (X, W), seed=0)


def test_values_that_depend_on_it():
    def function(x, w):
        return x * w * (1 if w.requires_grad else 2)

    report = check_gradients(function, (X, W), seed=0)
    assert report and report.notes == ['Output 0 has another value if inputs[1] requires no gradient.']


def test_a_function_that_differentiates():
    def slope(x, y):
        z = F.sum(x * x * y)
        z.backward(enable_double_backprop=True)
        return x.grad_var * y

    report = check_gradients(slope, (X, W), seed=0)
    assert report and 'slope does not take inputs[0] with requires_grad=False: ' in report.notes[0]


@pytest.mark.parametrize('count', [3, 8, 9, 20])
@pytest.mark.parametrize('order', [1, 2])
def test_one_pair_among_many(count, order):
    wrong, right = product(lambda g: None), product(lambda g: g)
    xs = tuple(uniform(2, seed=k) for k in range(count))
    pair = count - 2, 0

    def function(*xs, f=wrong):
        return sum(x * x for i, x in enumerate(xs) if i not in pair) + f(xs[pair[0]], xs[pair[1]])

    report = check_gradients(function, xs, order=order, seed=0)
    assert report.verdict == 'fail' and report.failures[0].input in pair
    assert check_gradients(lambda *xs: function(*xs, f=right), xs, order=order, seed=0)


@pytest.mark.parametrize('count', [2, 5, 8, 9, 16, 17, 100])
def test_any_two_are_separated(count):
    sets = [set(chosen) for chosen in sets_to_freeze(range(count))]
    assert all(0 < len(chosen) < count for chosen in sets) and len(sets) <= max(8, 2 * count.bit_length())
    for i, j in itertools.permutations(range(count), 2):
        assert any(i in chosen and j not in chosen for chosen in sets)


def test_an_upstream_gradient_that_is_frozen_at_the_second_order():
    class Square(chainer.FunctionNode):
        def forward(self, inputs):
            self.retain_inputs((0,))
            return (inputs[0] ** 2,)

        def backward(self, indexes, grad_outputs):
            x, gy = self.get_retained_inputs()[0], grad_outputs[0]
            if not gy.requires_grad:
                return (2 * chainer.Variable(x.array) * gy,)
            return (2 * x * gy,)

    report = check_gradients(lambda x: Square().apply((x,))[0], X, order=2, seed=0)
    assert (report.verdict, report.failures[0].order, report.failures[0].input) == ('fail', 2, 0)
    assert 'with grad_outputs[0] frozen, backward gives None' in report.failures[0].cause


RIGHT = {
    'linear': (L.Linear(4, 2).copy('init'), (X.astype('f'),), {'params': 'all', 'order': 2}),
    'layer normalization': (F.layer_normalization, (X, W[0], X[0]), {'order': 2}),
    'bilinear': (F.bilinear, (X, W, uniform(4, 4, 2)), {'order': 2}),
    'separate outputs': (lambda x, w: (F.exp(x), F.sin(w)), (X, W), {'order': 2}),
    'complex': (lambda x, w: x * F.exp(w), (X + 1j * W, W - 1j * X), {'order': 2}),
    'containers': (lambda d: d['a'] * d['b'][0], ({'a': X, 'b': [W]},), {}),
    'sparse': (F.sparse_matmul, (chainer.utils.to_coo(np.eye(3)), X), {}),
    'float32': (lambda x, w: x * F.exp(w), (X.astype('f'), W.astype('f')), {'order': 2}),
    'float16': (lambda x, w: x * F.exp(w), (X.astype('e'), W.astype('e')), {}),
    'third order': (lambda x, w: x**3 * w**3, (X, W), {'order': 3}),
    'a given upstream gradient': (lambda x, w: (x * w, x + w), (X, W), {'grad_outputs': (X, None), 'order': 2}),
}


@pytest.mark.parametrize('name', RIGHT)
def test_right_functions(name):
    func, inputs, options = RIGHT[name]
    report = check_gradients(func, inputs, seed=0, **options)
    assert report, report
