"""An exception of the function reaches the user in whichever call it occurs; refusals of unusual calls do not."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer.configuration import config
from minichainer.gradient_check import (
    check_backward,
    check_double_backward,
    check_gradients,
    gradcheck,
    gradgradcheck,
)
from minichainer.verification.refusals import Escaped, settle
from tests.verification.planting import node, square, uniform

X = uniform(2, 2)
GY = uniform(2, 2, seed=1)


def only_floats(x):
    """A function that refuses numbers of 50 digits, so that differences of float64 are measured."""
    return x * float(x.array.flat[0] * 0 + 1)


class Counted:
    """A function of two outputs that raises an exception of its own in one call, forwards or backwards."""

    def __init__(self, when, backwards=False, every=False, refuses=False):
        self.when, self.backwards, self.every, self.refuses = when, backwards, every, refuses
        self.calls, self.raised = 0, None

    def count(self):
        self.calls += 1
        if self.calls == self.when or (self.every and self.calls > self.when):
            self.raised = self.raised or KeyError(f'call {self.calls}')
            raise self.raised if self.calls == self.when else KeyError(f'call {self.calls}')

    def __call__(self, x):
        if not self.backwards:
            self.count()
        if self.refuses and not x.array.flags.c_contiguous:
            raise ValueError('C order, please')
        y = F.tanh(only_floats(x) if self.refuses else x)
        return Watched(self).apply((y,))[0] if self.backwards else y


class Watched(chainer.FunctionNode):
    """The identity; counts its backward passes."""

    def __init__(self, counter):
        self.counter = counter

    def forward(self, inputs):
        return (inputs[0].copy(),)

    def backward(self, indexes, grad_outputs):
        self.counter.count()
        return Watched(self.counter).apply(grad_outputs)


ENTRIES = {
    'check_gradients': lambda f: check_gradients(f, X, seed=0),
    'check_gradients, order 2': lambda f: check_gradients(f, X, order=2, seed=0),
    'check_gradients, float32': lambda f: check_gradients(f, X.astype('f'), seed=0),
    'gradcheck': lambda f: gradcheck(f, X, seed=0, raise_exception=False),
    'gradcheck, fast': lambda f: gradcheck(f, X, seed=0, fast_mode=True),
    'gradgradcheck': lambda f: gradgradcheck(f, X, seed=0, raise_exception=False),
    'check_backward': lambda f: check_backward(f, X, GY),
    'check_double_backward': lambda f: check_double_backward(f, X, GY, X),
    'strictness': lambda f: check_gradients(f, X, strictness='chainer', seed=0),
    'forward mode': lambda f: check_gradients(f, X, check_forward_ad=True, check_batched_grad=True, seed=0),
}


@pytest.mark.parametrize('refuses', [False, True], ids=['', 'refuses layouts'])
@pytest.mark.parametrize('backwards', [False, True], ids=['forward', 'backward'])
@pytest.mark.parametrize('name', ENTRIES)
@pytest.mark.parametrize('first', [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3))])
def test_an_exception_in_any_call_reaches_the_user(first, name, backwards, refuses):
    for when in range(first, 41, 3):
        for every in (False, True):
            function, caught = Counted(when, backwards, every, refuses), None
            try:
                ENTRIES[name](function)
            except KeyError as error:
                caught = error
            assert caught is function.raised or (every and caught), f'call {when}'


REFUSING = {
    'inputs in Fortran order': (lambda x: not x.flags.c_contiguous, 'does not take inputs in Fortran order'),
    'inputs backwards': (lambda x: min(x.strides) < 0, 'does not take inputs that run backwards through memory'),
    'read-only inputs': (lambda x: not x.flags.writeable, 'does not take inputs that run backwards through memory'),
    'float64': (lambda x: x.dtype == np.float64, 'does not take float64'),
}


@pytest.mark.parametrize('name', REFUSING)
def test_what_a_function_refuses_is_noted(name):
    condition, words = REFUSING[name]

    def refusing(x):
        if condition(x.array):
            raise ValueError('not supported')
        return only_floats(x) * x

    report = check_gradients(refusing, X.astype('f'), precise=False, seed=0)
    assert report and words in report.message


UPSTREAM = {
    'broadcast': (lambda gy: 0 in gy.strides, 'does not take upstream gradients that are broadcast: ValueError: no.'),
    'Fortran order': (lambda gy: gy.flags.f_contiguous, 'does not take upstream gradients in Fortran order'),
    'another thread': (
        lambda gy: threading.current_thread() is not threading.main_thread(),
        'Backward does not take another thread or another config.train',
    ),
    'another setting': (lambda gy: not config.train, 'Backward does not take another thread or another config.train'),
}


@pytest.mark.parametrize('name', UPSTREAM)
def test_what_backward_refuses_is_noted(name):
    condition, words = UPSTREAM[name]

    class Refusing(chainer.FunctionNode):
        takes_any_layout = True

        def forward(self, inputs):
            return (2 * inputs[0],)

        def backward(self, indexes, grad_outputs):
            if condition(grad_outputs[0].array):
                raise ValueError('no')
            return (2 * grad_outputs[0],)

    report = check_gradients(lambda x: Refusing().apply((x,))[0], uniform(3, 4), seed=0)
    assert report and words in report.message, report


def test_nothing_is_noted_where_other_data_are_refused():
    def positive(x):
        if (x.array < 0.3).any():
            raise ValueError('too small')
        return F.log(x)

    report = check_gradients(positive, np.array([0.30001, 0.5]), seed=0)
    assert report and not report.notes


def test_a_stale_cache_is_found_beside_a_refusal():
    last = {}

    def forward(x):
        last['x'] = x
        if x.flat[0] < 0.5:
            raise ValueError('after the cache was overwritten')
        return x**2

    report = check_gradients(node(forward, lambda xs, gy: 2 * last['x'] * gy), np.array([0.9, 0.2, 0.3]), seed=0)
    assert report.failures[0].cause.startswith('stale cache: ')


def test_the_cause_of_an_exception_stays():
    def chained(x):
        chained.calls += 1
        if chained.calls == 4:
            try:
                raise ValueError('inner')
            except ValueError as error:
                raise KeyError('outer') from error
        return x * 2

    chained.calls = 0
    with pytest.raises(KeyError, match='outer') as caught:
        check_gradients(chained, X, seed=0)
    assert str(caught.value.__cause__) == 'inner'
    assert caught.traceback[-1].name == 'chained'


def test_numbers_of_50_digits_that_a_function_keeps_are_not_its_fault():
    kept = []

    def forward(x):
        kept.append(x)
        return x**2

    def oldest_but_one(xs, gy):
        return 2 * np.asarray(kept[max(len(kept) - 3, 0)] * 1.0, float) * gy

    report = check_gradients(node(forward, oldest_but_one), X, seed=0)
    assert report.verdict == 'fail'


def raising(*errors):
    """A call that raises these, one after another, and None for nothing."""
    left = iter(errors)

    def call():
        error = next(left)
        if error is not None:
            raise error

    return call


A, B = ValueError('a'), ValueError('b')
OTHER, LATER = KeyError('other'), KeyError('later')
SETTLED = {
    'refused': (A, (None,), (B,), None),
    'by itself': (A, (None,), (None,), A),
    'the usual call raises': (A, (OTHER,), (), OTHER),
    'the first by itself': (OTHER, (None, None), (A, B), OTHER),
    'all from the second on': (A, (None, LATER), (OTHER, OTHER), LATER),
    'the second by itself': (A, (None,), (OTHER, B), OTHER),
}


@pytest.mark.parametrize('name', SETTLED)
def test_what_settles_an_exception(name):
    error, usual, again, escapes = SETTLED[name]
    if escapes is None:
        settle(error, raising(*usual), raising(*again))
        return
    with pytest.raises(Escaped) as caught:
        settle(error, raising(*usual), raising(*again))
    assert caught.value.error is escapes


def test_a_backward_that_raises_without_the_other_output_is_still_a_failure():
    def backward(xs, a, b):
        if b is None:
            raise TypeError('b is missing')
        return a + (0 if b is None else b)

    report = check_gradients(node(lambda x: (x * 1, x * 1), backward), X, seed=0)
    assert report.failures[0].cause.startswith('undefined upstream gradient: ')


def test_a_rule_that_raises_once_without_the_other_output_is_an_exception():
    calls = []

    def backward(xs, a, b):
        calls.append(0)
        if len(calls) == 1:
            raise TypeError('only once')
        return sum(g for g in (a, b) if g is not None)

    with pytest.raises(TypeError, match='only once'):
        check_gradients(node(lambda x: (x * 1, x * 1), backward), X, seed=0)


def test_a_wrong_rule_beside_refusals_is_found():
    def rule(x, gy):
        if not gy.flags.c_contiguous:
            raise ValueError('C order, please')
        return 3 * x * gy

    assert check_gradients(square(rule), uniform(3, 4), seed=0).verdict == 'fail'
