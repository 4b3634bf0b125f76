"""Gradients that depend on where and when backward runs, on the layout of inputs, and on what else is asked for."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import minichainer.functions as F
from minichainer import configuration
from minichainer.configuration import config, using_config
from minichainer.function_node import FunctionNode
from minichainer.gradient_check import check_gradients, gradcheck
from minichainer.variable import Variable
from minichainer.verification.environment import in_another_thread
from tests.verification.planting import node, split_seeds, square, uniform

SHAPES = [(3, 4), (12,), (30, 40)]


def laid_out(rule):
    """The square, with a rule that sees inputs and upstream gradients in whatever layout they have."""

    class Square(FunctionNode):
        takes_any_layout = True

        def forward(self, inputs):
            self.retain_inputs((0,))
            return (inputs[0] ** 2,)

        def backward(self, indexes, grad_outputs):
            (x,) = self.get_retained_inputs()
            return (Variable(np.asarray(2 * grad_outputs[0].array * rule(x.array))),)

    return lambda x: Square().apply((x,))[0]


def backwards(x):
    return any(n < 0 for n in x.strides)


LAYOUTS = {
    'in the order of memory': lambda x: x.ravel('K').reshape(x.shape),
    'doubled in Fortran order': lambda x: x * (1 if x.flags.c_contiguous else 2),
    'doubled if it runs backwards': lambda x: x * (2 if backwards(x) else 1),
    'doubled if it cannot be written to': lambda x: x * (1 if x.flags.writeable else 2),
}


@pytest.mark.parametrize('name', LAYOUTS)
@pytest.mark.parametrize('shape', [(3, 4), (30, 40)], ids=str)
@pytest.mark.parametrize('seeds', split_seeds(1, 5))
def test_layouts_of_inputs(seeds, name, shape):
    for seed in seeds:
        report = check_gradients(laid_out(LAYOUTS[name]), uniform(*shape, seed=seed), seed=seed)
        assert report.verdict == 'fail' and report.failures[0].cause.startswith('depends on layout: '), report


def refusing(condition):
    def rule(x):
        if condition(x):
            raise ValueError('this layout is not supported')
        return x

    return rule


@pytest.mark.parametrize(
    'condition', [lambda x: not x.flags.c_contiguous, backwards, lambda x: not x.flags.writeable]
)
def test_a_function_may_refuse_layouts(condition):
    assert check_gradients(laid_out(refusing(condition)), uniform(3, 4), seed=0)


def here():
    return threading.current_thread() is threading.main_thread()


LOCAL = threading.local()


def kept_per_thread(x):
    LOCAL.x = x
    return x * x


SURROUNDINGS = {
    'thread': (square(lambda x, gy: 2 * x * gy * (1 if here() else 1.5)), 'depends on thread: '),
    'state of the thread': (
        node(kept_per_thread, lambda xs, gy: 2 * getattr(LOCAL, 'x', 0 * xs[0]) * gy),
        'depends on thread: |stale cache: ',
    ),
    'config': (square(lambda x, gy: 2 * x * gy * (1 if config.train else 1.5)), 'depends on config: '),
}


@pytest.mark.parametrize('name', SURROUNDINGS)
@pytest.mark.parametrize('shape', SHAPES, ids=str)
def test_surroundings(name, shape):
    func, words = SURROUNDINGS[name]
    for seed in range(5):
        report = check_gradients(func, uniform(*shape, seed=seed), seed=seed)
        assert report.verdict == 'fail' and report.failures[0].cause.startswith(tuple(words.split('|'))), report


@pytest.mark.parametrize('name', SURROUNDINGS)
def test_the_fast_mode_does_not_look_at_the_surroundings(name):
    func = SURROUNDINGS[name][0]
    assert not gradcheck(func, uniform(3, 4), raise_exception=False)
    assert gradcheck(func, uniform(3, 4), raise_exception=False, fast_mode=True) or name == 'state of the thread'


def test_right_functions_in_a_thread_with_other_settings():
    with using_config('train', False), using_config('dtype', np.float64):
        assert check_gradients(lambda x: F.tanh(F.dropout(x)), uniform(3, 4), order=2, seed=0)


def test_backward_may_refuse_other_threads():
    def rule(x, gy):
        if not here():
            raise RuntimeError('this object belongs to another thread')
        return 2 * x * gy

    assert check_gradients(square(rule), uniform(3, 4), seed=0)


def test_a_thread_that_waits_for_this_one_is_given_up(monkeypatch):
    monkeypatch.setattr('minichainer.verification.environment._PATIENCE', 0.05)
    lock = threading.RLock()

    def rule(x, gy):
        with lock:
            return 2 * x * gy

    begun = time.perf_counter()
    with lock:
        assert check_gradients(square(rule), uniform(3, 4), seed=0)
    assert time.perf_counter() - begun < 5
    while configuration.nondefault and time.perf_counter() - begun < 30:
        time.sleep(0.01)  # until the other thread, which has the lock now, ends its pass


def test_another_thread_has_the_settings_of_this_one():
    with using_config('train', False), using_config('debug', True):
        assert in_another_thread(lambda: (config.train, config.debug)) == (False, True)
        assert in_another_thread(lambda: config.train, train=True)
    with pytest.raises(ZeroDivisionError):
        in_another_thread(lambda: 1 / 0)


def test_backward_remembers_results_by_upstream_gradients():
    known = {}

    def rule(x, gy):
        return known.setdefault(gy.tobytes(), 2 * x * gy)

    assert check_gradients(square(rule), uniform(3, 4), seed=0).verdict == 'fail'


def product(rule):
    class Product(FunctionNode):
        def forward(self, inputs):
            self.retain_inputs((0, 1))
            return (inputs[0] * inputs[1],)

        def backward(self, indexes, grad_outputs):
            xs = [x.array for x in self.get_retained_inputs()]
            return tuple(Variable(g) for g in rule(indexes, xs, grad_outputs[0].array))

    return lambda *xs: Product().apply(xs)[0]


@pytest.mark.parametrize('alone', [0, 1])
def test_one_gradient_alone(alone):
    def rule(indexes, xs, gy):
        factor = 2 if tuple(indexes) == (alone,) else 1
        return [factor * gy * xs[1 - i] for i in indexes]

    report = check_gradients(product(rule), (uniform(3, 4), uniform(3, 4, seed=2)), seed=0)
    assert [f.input for f in report.failures[:1]] == [alone]
    assert report.failures[0].cause.startswith('depends on what is asked for: ')


def three(rule):
    def backward(xs, *gys):
        gys = rule(gys)
        return sum(k * (0 if gy is None else gy) for k, gy in zip((2, 3, 4), gys, strict=True))

    return node(lambda x: (x * 2, x * 3, x * 4), backward)


def halved(gys, together):
    present = tuple(k for k, gy in enumerate(gys) if gy is not None)
    return [gy if gy is None or present != together else gy / 2 for gy in gys]


@pytest.mark.parametrize('together', [(0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_some_of_three_outputs_together(together):
    assert check_gradients(three(lambda gys: halved(gys, together)), uniform(3, 4), seed=0).verdict == 'fail'


@pytest.mark.parametrize('ratio', [1e3, 1e6])
@pytest.mark.parametrize('small', [0, 1])
def test_a_small_upstream_gradient_beside_a_large_one(ratio, small):
    def backward(xs, *gys):
        sizes = [0 if gy is None else abs(gy).max() for gy in gys]
        gys = [np.zeros_like(xs[0]) if gy is None else gy for gy in gys]
        if 0 < ratio * sizes[small] < sizes[1 - small]:
            gys[small] = 0 * gys[small]
        return 2 * gys[0] + np.cos(xs[0]) * gys[1]

    report = check_gradients(node(lambda x: (2 * x, np.sin(x)), backward), uniform(3, 4), seed=0)
    assert report.verdict == 'fail' and 'differ much in size' in report.failures[0].cause
