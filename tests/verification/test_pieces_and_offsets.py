"""Functions that need floats: kinks beside rounding, structure finer than steps, offsets; tied and shared memory."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import minichainer.functions as F
import minichainer.links as L
from minichainer.function_node import FunctionNode
from minichainer.gradient_check import (
    GradcheckError,
    check_backward,
    check_double_backward,
    check_gradients,
    gradcheck,
)
from minichainer.link import Chain
from minichainer.sequential import Sequential
from minichainer.variable import Parameter, Variable
from tests.verification.planting import node, split_seeds

DRAWN = np.random.RandomState(0).normal(size=50) * 3
SPREAD = np.concatenate([np.logspace(-3, 1.5, 15), -np.logspace(-3, 1.5, 15)])


def in_floats(function: Any, rule: Any, dtype: str = '') -> Any:
    """A function that converts its input to floats, or one that takes a single dtype, and its rule."""

    def forward(x: Any) -> Any:
        if dtype and x.dtype != dtype:
            raise TypeError(f'{dtype} only')
        return function(x if dtype else np.array(x, float))

    return node(forward, lambda xs, gy: (gy * rule(xs[0])).astype(xs[0].dtype))


class Times(FunctionNode):
    """The identity, with a gradient that is multiplied by a factor."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def forward(self, inputs: Any) -> Any:
        return inputs

    def backward(self, indexes: Any, gys: Any) -> Any:
        return (self.factor * gys[0],)


# --- kinks near the point, while values are rounded ---

PIECES = {
    'clip': (lambda x: F.clip(x, -1.0, 1.0), [[0.3, 1.001], [0.3, 1.001, 2, -0.4], DRAWN]),
    'relu': (F.relu, [SPREAD, [0.001, 1.0]]),
    'sqrt': (lambda x: F.sqrt(F.absolute(x)), [[-9.12885503e-04, -15.7176642]]),
}


@pytest.mark.parametrize(('name', 'number'), [(n, k) for n, (_, xs) in PIECES.items() for k in range(len(xs))])
@pytest.mark.parametrize('seeds', split_seeds(3, 12))
def test_a_kink_nearby_is_not_taken_for_rounding(seeds, name, number):
    inside, points = PIECES[name]
    for seed in seeds:
        report = check_gradients(
            lambda x: F.cast(inside(F.cast(x, 'f')), 'd'), np.array(points[number], float), seed=seed
        )
        assert report.verdict == 'pass', report


@pytest.mark.parametrize('name', PIECES)
@pytest.mark.parametrize('factor', [0.0, -1.0, 1.5])
@pytest.mark.parametrize('seeds', split_seeds(1, 4))
def test_wrong_rules_beside_kinks_are_found(seeds, name, factor):
    inside, points = PIECES[name]

    def func(x: Any) -> Any:
        return F.cast(inside(F.cast(Times(factor).apply((x,))[0], 'f')), 'd')

    for seed in seeds:
        assert check_gradients(func, np.array(points[0], float), seed=seed).verdict == 'fail'


@pytest.mark.parametrize(('size', 'frequency'), [(1e-6, 1e5), (1e-6, 1e6), (1e-4, 1e3)])
def test_what_is_finer_than_the_steps_is_no_fault(size, frequency):
    ripple = in_floats(
        lambda x: x + size * np.sin(frequency * x), lambda x: 1 + size * frequency * np.cos(frequency * x)
    )
    for seed in range(4):
        assert check_gradients(ripple, np.array([1.0, 2.0, 0.3]), seed=seed).verdict == 'pass'


# --- values so large that slopes are lost in their rounding ---

OFFSETS = [(1e7, 'f'), (1e8, 'f'), (1e14, ''), (1e16, ''), (1e20, ''), (1e30, '')]


@pytest.mark.parametrize(('offset', 'dtype'), OFFSETS)
@pytest.mark.parametrize('factor', [-1.0, 0.0, 2.0, 10.0])
@pytest.mark.parametrize('seeds', split_seeds(1, 3))
def test_slopes_that_are_lost_beside_an_offset_are_found_or_not_vouched_for(seeds, offset, dtype, factor):
    x = np.array([0.5, 1.5, 2], dtype or float)
    for seed in seeds:
        func = in_floats(lambda x: x**2 + x.dtype.type(offset), lambda x: 2 * factor * x, dtype)
        report = check_gradients(func, x, seed=seed)
        assert report.verdict != 'pass' or report.unvouched
        assert not check_gradients(func, x, seed=seed, strict=True)


@pytest.mark.parametrize('tiny', [1e-16, 1e-20, 1e-30, 1e-100, 1e-300])
def test_a_slope_that_only_far_larger_steps_show_is_not_called_wrong(tiny):
    func = in_floats(lambda x: np.log(1 + x), lambda x: 1 / (1 + x))
    lost = in_floats(lambda x: np.log(1 + x), lambda x: 0 * x)
    for seed in range(3):
        assert check_gradients(func, np.array([tiny]), seed=seed).verdict in ('pass', 'unresolved')
        report = check_gradients(lost, np.array([tiny]), seed=seed)
        assert report.verdict != 'pass' or report.unvouched


def test_a_constant_function_has_no_slope():
    func = in_floats(lambda x: 0 * x + 3, lambda x: 0 * x + 1)
    assert check_gradients(func, np.array([1.0, 2.0])).verdict == 'fail'


@pytest.mark.parametrize('x', [12.0, 9.7, -15.0])
def test_saturated_float32_is_no_crash(x):
    func = in_floats(np.tanh, lambda x: 1 / np.cosh(x) ** 2, 'f')
    for seed in range(10):
        assert check_gradients(func, np.array([x], 'f'), seed=seed).verdict == 'pass'


def test_no_warning_of_numpy_reaches_the_user():
    func = in_floats(np.sin, lambda x: np.cos(x) * np.where(abs(x) > 1e4, 1.01, 1.0))
    with warnings.catch_warnings():
        warnings.simplefilter('error', RuntimeWarning)
        check_gradients(func, np.append(np.random.RandomState(0).normal(size=300), 1e5), seed=0)


# --- one parameter in several places ---


class Tied(Chain):
    """Two layers with one matrix."""

    def __init__(self, factor: float = 1.0) -> None:
        super().__init__()
        self.factor = factor
        with self.init_scope():
            self.W = Parameter(np.random.RandomState(0).normal(size=(4, 4)))
            self.V = self.W

    def forward(self, x: Any) -> Any:
        W = Times(self.factor).apply((self.W,))[0]
        return F.matmul(F.tanh(F.matmul(x, W)), self.V)


X, GY = np.random.RandomState(1).normal(size=(3, 4)), np.random.RandomState(2).normal(size=(3, 4))
TIED = {
    'all': lambda m: check_gradients(m, X, params='all', seed=0),
    'at order 2': lambda m: check_gradients(m, X, params='all', order=2, seed=0),
    'listed': lambda m: check_gradients(m, X, params=[m.W, m.V], seed=0),
    'gradcheck': lambda m: gradcheck(m, X, params='all', seed=0),
    'check_backward': lambda m: check_backward(m, X, GY, params=(m.W, m.V), dtype='d'),
    'check_double_backward': lambda m: check_double_backward(
        m, X, GY, X.copy(), params=(m.W, m.V), params_grad_grad=(np.eye(4), np.ones((4, 4)))
    ),
}


def passes(check: Any, model: Any) -> bool:
    """Whether an entry point takes a model for right; Chainer's ones return None then."""
    try:
        return check(model) in (None, True)
    except GradcheckError:
        return False


@pytest.mark.parametrize('check', TIED.values(), ids=TIED)
def test_a_tied_parameter_is_one_leaf(check):
    assert check(Tied()) in (None, True) or check(Tied()).verdict == 'pass'
    assert not passes(check, Tied(1.5))
    layer = L.Linear(4, 4, initialW=np.eye(4))
    assert check_gradients(Sequential(layer, F.tanh, layer), X, params='all', seed=0)


# --- memory that is written to again ---

MEMORY: dict[Any, Any] = {}


def reused(array: Any) -> Any:
    """The same memory for every array of a shape and dtype."""
    if type(array) is not np.ndarray:
        return array
    memory = MEMORY.setdefault((array.shape, array.dtype), np.empty_like(array))
    memory[...] = array
    return memory


class Reusing(FunctionNode):
    """A square that returns such memory from one of its passes."""

    def __init__(self, where: str) -> None:
        self.where = where

    def forward(self, inputs: Any) -> Any:
        self.retain_inputs((0,))
        y = inputs[0] ** 2
        return (reused(y) if self.where == 'forward' else y,)

    def backward(self, indexes: Any, gys: Any) -> Any:
        gx = 2 * self.get_retained_inputs()[0] * gys[0]
        return (Variable(reused(gx.array)) if self.where == 'backward' else gx,)


@pytest.mark.parametrize('where', ['forward', 'backward'])
@pytest.mark.parametrize('precise', [None, False])
def test_memory_that_another_call_overwrites_is_named(where, precise):
    func = lambda x: Reusing(where).apply((x,))[0]  # noqa: E731
    report = check_gradients(func, X, seed=0, precise=precise)
    assert report.failures[0].cause.startswith(f'shared memory: {where}')
    for check in (gradcheck, lambda f, x: check_backward(f, x, GY)):
        with pytest.raises(GradcheckError, match='shared memory'):
            check(func, X)


# --- many elements, with a tolerance ---


def test_a_tolerance_costs_few_calls_with_many_elements():
    func = node(np.sin, lambda xs, gy: gy * np.cos(xs[0]) * (1 + 5.6e-9))
    x = np.random.RandomState(0).normal(size=300) * 100
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        report = check_gradients(func, x, rtol=2e-8, seed=0)
    assert report and report.forward_calls < 6000
