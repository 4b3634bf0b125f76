"""The contract of ``no_grad``, ``enable_grad``, ``set_grad_enabled``, ``inference_mode``, with Chainer's modes."""

from __future__ import annotations

import contextlib
import inspect
import threading

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer import autograd

MODES = {
    'no_grad': (autograd.no_grad, False),
    'enable_grad': (autograd.enable_grad, True),
    'inference_mode': (autograd.inference_mode, False),
    'inference_mode(False)': (lambda: autograd.inference_mode(False), True),
    'set_grad_enabled(False)': (lambda: autograd.set_grad_enabled(False), False),
    'set_grad_enabled(True)': (lambda: autograd.set_grad_enabled(True), True),
}
modes = pytest.mark.parametrize(('mode', 'records'), MODES.values(), ids=MODES)


@pytest.fixture(autouse=True)
def default():
    yield
    left = autograd.is_grad_enabled(), chainer.config.constant_results
    autograd.set_grad_enabled(True)
    assert left == (True, False), 'a test has left its mode on'


def leaf():
    return autograd.Variable(np.array(2.0), requires_grad=True)


def opposite(records):
    return autograd.no_grad() if records else autograd.enable_grad()


# --- context managers ----------------------------------------------------------------------------------------------
@modes
def test_a_block(mode, records):
    with opposite(records):
        with mode():
            assert autograd.is_grad_enabled() is records
            y = leaf() * 2
            assert y.requires_grad is records
            assert (y.grad_fn is not None) is records and y.is_leaf is not records
        assert autograd.is_grad_enabled() is not records


@modes
def test_exceptions_end_a_block(mode, records):
    with opposite(records):
        with pytest.raises(KeyError), mode():
            raise KeyError
        assert autograd.is_grad_enabled() is not records


@pytest.mark.parametrize('mode', [autograd.no_grad, autograd.enable_grad, autograd.inference_mode])
def test_one_object_may_be_entered_again(mode):
    made, records = mode(), mode is autograd.enable_grad
    with opposite(records):
        for _ in range(2):
            with made:
                with made:
                    assert autograd.is_grad_enabled() is records
                assert autograd.is_grad_enabled() is records
            assert autograd.is_grad_enabled() is not records


def test_leaves_can_be_made_under_no_grad():
    with autograd.no_grad():
        x = leaf()
        parameter = chainer.Parameter(1.0, (2,))
        assert x.requires_grad and parameter.requires_grad and x.is_leaf
    (x * x).backward()
    assert x.grad == 4


APPLIED = {
    'operator': lambda x: x * 2,
    'with a constant': lambda x: x + np.array(1.0),
    'elementwise': F.tanh,
    'reduction': F.sum,
    'composition': F.softplus,
    'several outputs': lambda x: F.separate(F.reshape(x, (1,)))[0],
    'variadic': lambda x: F.stack([x, x]),
    'Function': lambda x: Twice.apply(x),
    'checkpoint': lambda x: autograd.checkpoint(lambda v: v * v, x),
    'forget': lambda x: F.forget(lambda v: v * v, x),
}


class Twice(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


@pytest.mark.parametrize('function', APPLIED.values(), ids=APPLIED)
def test_results_of_anything_require_no_gradient_under_no_grad(function):
    with autograd.no_grad():
        y = function(leaf())
    assert not y.requires_grad and y.creator is None and y.is_leaf
    with chainer.no_backprop_mode():
        z = function(leaf())
    assert z.creator is None
    assert function(leaf()).requires_grad


def test_what_is_computed_from_results_is_constant_afterwards():
    with autograd.no_grad():
        y = leaf() * 2
    x = leaf()
    assert not (y * 3).requires_grad
    (y * x).backward()
    assert x.grad == 4 and y.grad is None


# --- nesting with Chainer's ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ('outer', 'inner', 'records', 'requires_grad'),
    [
        (chainer.no_backprop_mode, autograd.enable_grad, True, True),
        (chainer.no_backprop_mode, autograd.no_grad, False, False),
        (autograd.no_grad, chainer.force_backprop_mode, True, True),
        (autograd.no_grad, chainer.no_backprop_mode, False, False),
        (autograd.enable_grad, chainer.no_backprop_mode, False, True),
        (chainer.force_backprop_mode, autograd.no_grad, False, False),
        (contextlib.nullcontext, chainer.no_backprop_mode, False, True),
    ],
)
def test_nested_in_chainers_modes(outer, inner, records, requires_grad):
    with outer():
        before = chainer.config.enable_backprop
        with inner():
            y = leaf() * 2
            assert autograd.is_grad_enabled() is chainer.config.enable_backprop is records
            assert ((y.creator is not None), y.requires_grad) == (records, requires_grad)
        assert chainer.config.enable_backprop is before
    assert autograd.is_grad_enabled()


def test_the_page_example_of_set_grad_enabled_nests_in_chainers_mode():
    with chainer.no_backprop_mode():
        autograd.set_grad_enabled(True)
        assert (leaf() * 2).creator is not None
    assert (leaf() * 2).creator is not None
    assert autograd.is_grad_enabled()


# --- set_grad_enabled ----------------------------------------------------------------------------------------------
def test_set_grad_enabled_as_a_call():
    autograd.set_grad_enabled(False)
    assert not (leaf() * 2).requires_grad
    autograd.set_grad_enabled(True)
    assert (leaf() * 2).requires_grad


def test_set_grad_enabled_as_a_block_restores_what_was_before_the_call():
    with autograd.no_grad():
        switch = autograd.set_grad_enabled(True)
        assert autograd.is_grad_enabled()
        with switch:
            assert autograd.is_grad_enabled()
        assert not autograd.is_grad_enabled()


def test_a_call_in_a_block_ends_with_the_block():
    with autograd.no_grad():
        autograd.set_grad_enabled(True)
    assert autograd.is_grad_enabled()
    with autograd.enable_grad():
        autograd.set_grad_enabled(False)
    assert autograd.is_grad_enabled() and not chainer.config.constant_results


def test_as_a_decorator_it_changes_nothing_before_the_function_is_called():
    @autograd.set_grad_enabled(False)
    def function():
        return autograd.is_grad_enabled()

    assert autograd.is_grad_enabled()
    assert not function()
    assert autograd.is_grad_enabled()


def _seen(*names):
    """What is set inside and behind blocks of one object; ``call`` sets the opposite by another one."""
    mode, seen = autograd.set_grad_enabled(False), []

    def block(inner):
        with mode:
            seen.append(autograd.is_grad_enabled())
            inner()
        seen.append(autograd.is_grad_enabled())

    for name in names:
        if name == 'call':
            autograd.set_grad_enabled(True)
        elif name == 'decorate':
            mode(lambda: None)
        else:
            block({'block': lambda: None, 'nested': lambda: block(lambda: None)}[name])
    return seen


@pytest.mark.parametrize(
    ('uses', 'expected'),
    [
        (['block'], [False, True]),
        (['block', 'block', 'block'], [False, True] * 3),
        (['call', 'block'], [False, True]),
        (['nested'], [False, False, False, True]),  # torch: True behind the inner block
        (['block', 'nested', 'block'], [False, True, False, False, False, True, False, True]),
        (['decorate', 'block', 'block'], [False, True] * 2),
    ],
)
def test_one_object_of_set_grad_enabled_in_several_blocks(uses, expected):
    assert _seen(*uses) == expected
    assert autograd.is_grad_enabled() and not chainer.config.constant_results


def test_a_later_block_restores_what_is_around_it():
    with autograd.no_grad():
        records = autograd.set_grad_enabled(True)
    assert autograd.is_grad_enabled()
    with records:
        assert autograd.is_grad_enabled()
    assert not autograd.is_grad_enabled()  # as before the call
    with records:
        assert autograd.is_grad_enabled()
    assert not autograd.is_grad_enabled()
    autograd.set_grad_enabled(True)
    with records, autograd.no_grad(), records:
        assert (leaf() * 2).requires_grad
    assert autograd.is_grad_enabled() and not chainer.config.constant_results


@pytest.mark.parametrize('mode', [True, False])
def test_set_grad_enabled_does_not_end_inference_mode(mode):
    with autograd.inference_mode():
        autograd.set_grad_enabled(mode)
        with autograd.enable_grad(), autograd.set_grad_enabled(mode):
            assert not (leaf() * 2).requires_grad
        assert not (leaf() * 2).requires_grad
    assert autograd.is_grad_enabled() and not chainer.config.constant_results


# --- decorators ----------------------------------------------------------------------------------------------------
@modes
def test_functions(mode, records):
    @mode()
    def function(a, *, b):
        """Says so."""
        return autograd.is_grad_enabled(), a, b

    with opposite(records):
        assert function(1, b=2) == (records, 1, 2)
        assert autograd.is_grad_enabled() is not records
    assert function.__name__ == 'function' and function.__doc__ == 'Says so.'
    assert list(inspect.signature(function).parameters) == ['a', 'b']


@pytest.mark.parametrize('bare', [autograd.no_grad, autograd.enable_grad, autograd.inference_mode])
def test_without_brackets(bare):
    records = bare is autograd.enable_grad
    with opposite(records):
        assert bare(autograd.is_grad_enabled)() is records


def test_methods_classmethods_and_staticmethods():
    class Model:
        @autograd.no_grad()
        def method(self):
            return self, autograd.is_grad_enabled()

        @classmethod
        @autograd.no_grad()
        def of_class(cls):
            return cls, autograd.is_grad_enabled()

        @staticmethod
        @autograd.no_grad
        def static():
            return autograd.is_grad_enabled()

        @property
        @autograd.no_grad
        def value(self):
            return autograd.is_grad_enabled()

    model = Model()
    assert model.method() == (model, False)
    assert Model.of_class() == (Model, False)
    assert (Model.static(), model.value, autograd.is_grad_enabled()) == (False, False, True)


def test_recursion_and_exceptions():
    @autograd.no_grad()
    def down(n):
        if not n:
            raise KeyError
        with autograd.enable_grad():
            down(n - 1)

    with pytest.raises(KeyError):
        down(3)
    assert autograd.is_grad_enabled()


# --- generators ----------------------------------------------------------------------------------------------------
@modes
def test_a_generator_runs_in_the_mode_and_its_caller_does_not(mode, records):
    seen = []

    @mode()
    def generate(n):
        for i in range(n):
            sent = yield i, autograd.is_grad_enabled()
            seen.append((sent, autograd.is_grad_enabled()))
        return 'end'

    with opposite(records):
        steps = generate(2)
        assert inspect.isgeneratorfunction(generate)
        assert next(steps) == (0, records) and autograd.is_grad_enabled() is not records
        assert steps.send('a') == (1, records) and autograd.is_grad_enabled() is not records
        with pytest.raises(StopIteration) as end:
            next(steps)
        assert end.value.value == 'end'
        assert autograd.is_grad_enabled() is not records
    assert seen == [('a', records), (None, records)]


def test_throw_and_close():
    seen = []

    @autograd.no_grad()
    def generate():
        try:
            yield 1
        except KeyError:
            seen.append(('caught', autograd.is_grad_enabled()))
        try:
            yield 2
        finally:
            seen.append(('finally', autograd.is_grad_enabled()))

    steps = generate()
    assert next(steps) == 1
    assert steps.throw(KeyError()) == 2
    steps.close()
    steps = generate()
    next(steps)
    with pytest.raises(IndexError):
        steps.throw(IndexError())
    assert seen == [('caught', False), ('finally', False)]
    assert autograd.is_grad_enabled()


def test_generators_in_turns_and_yield_from():
    @autograd.no_grad()
    def off():
        yield autograd.is_grad_enabled()
        yield autograd.is_grad_enabled()

    @autograd.enable_grad()
    def on():
        yield autograd.is_grad_enabled()
        yield from off()
        yield autograd.is_grad_enabled()

    assert list(on()) == [True, False, False, True]
    assert list(zip(on(), off(), strict=False)) == [(True, False), (False, False)]
    assert autograd.is_grad_enabled()


# --- threads -------------------------------------------------------------------------------------------------------
def in_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


@modes
def test_modes_belong_to_their_thread(mode, records):
    with mode():
        assert in_thread(autograd.is_grad_enabled) is True
        assert in_thread(lambda: (leaf() * 2).requires_grad) is True


def test_a_call_in_one_thread_does_not_leak_to_another():
    in_thread(lambda: autograd.set_grad_enabled(False))
    assert autograd.is_grad_enabled() and (leaf() * 2).requires_grad


def test_one_decorated_function_in_two_threads():
    inside, go_on = threading.Barrier(2), []

    @autograd.no_grad()
    def function(first):
        inside.wait(5)
        go_on.append(autograd.is_grad_enabled())
        inside.wait(5)
        return first

    def run(first):
        function(first)
        return autograd.is_grad_enabled()

    other = threading.Thread(target=lambda: go_on.append(run(False)))
    other.start()
    assert run(True) is True
    other.join()
    assert sorted(go_on) == [False, False, True]
