"""What the checker says about arguments that cannot be checked, and about common errors in functions."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import minichainer.functions as F
import minichainer.links as L
from minichainer.function_node import FunctionNode
from minichainer.gradient_check import check_gradients, gradcheck
from minichainer.verification.reporting.hints import add_hint
from tests.verification.planting import uniform

X = uniform(2)


class Square(FunctionNode):
    def forward(self, inputs):
        return (inputs[0] ** 2,)

    def backward(self, indexes, grad_outputs):
        (x,) = self.get_retained_inputs()
        return (2 * x * grad_outputs[0],)


class Product(FunctionNode):
    def forward(self, inputs):
        self.retain_inputs((0,))
        return (inputs[0] * inputs[1],)

    def backward(self, indexes, grad_outputs):
        x, w = self.get_retained_inputs()
        return w * grad_outputs[0], x * grad_outputs[0]


class Exp(FunctionNode):
    def forward(self, inputs):
        return (np.exp(inputs[0]),)

    def backward(self, indexes, grad_outputs):
        return (self.get_retained_outputs()[0] * grad_outputs[0],)


class Unpacking(FunctionNode):
    """An error that has nothing to do with retaining."""

    def forward(self, inputs):
        self.retain_inputs((0,))
        return (inputs[0] ** 2,)

    def backward(self, indexes, grad_outputs):
        (x,) = self.get_retained_inputs()
        first, second = (x,)
        return (first * second,)


FORGOTTEN = {
    'input': (
        lambda x: Square().apply((x,)),
        X,
        ValueError,
        'backward of Square',
        'in forward, write self.retain_inputs((0,))',
    ),
    'one of two': (
        lambda x, w: Product().apply((x, w)),
        (X, X),
        ValueError,
        'forward has kept 1',
        'in forward, write self.retain_inputs((0, 1))',
    ),
    'output': (lambda x: Exp().apply((x,)), X, IndexError, 'of Exp', 'in forward, write self.retain_outputs((0,))'),
}


@pytest.mark.parametrize('raise_exception', [False, True])
@pytest.mark.parametrize('name', FORGOTTEN)
def test_a_forgotten_retain_inputs_is_named(name, raise_exception):
    func, inputs, kind, *parts = FORGOTTEN[name]
    with pytest.raises(kind) as info:
        check_gradients(func, inputs, raise_exception=raise_exception)
    assert type(info.value) is kind
    text = '\n'.join([*map(str, info.value.args), *getattr(info.value, '__notes__', ())])
    assert all(part in text for part in parts), text


def test_other_errors_get_no_hint():
    with pytest.raises(ValueError, match='unpack') as info:
        check_gradients(lambda x: Unpacking().apply((x,)), X)
    assert not hasattr(info.value, '__notes__') and 'retain' not in str(info.value)


def test_where_exceptions_have_no_notes():
    class Old(TypeError):
        add_note = None  # as in Python 3.10

    error = Old('wrong')
    add_hint(error, lambda x, y: x, (X,), {})
    assert str(error) == 'wrong\ninputs has 1 entry: write a tuple with one entry per argument of the function'


# What is given, and what the error says to write
NUMBERS = {
    'list of floats': ([1.0, 2.0], 'a list or tuple means several arguments', 'np.array([1.0, 2.0])'),
    'list of lists': ([[1.0], [2.0]], '2 arguments that contain only numbers', 'np.array([[1.0], [2.0]])'),
    'list in a tuple': (([1.0, 2.0],), 'got a list of numbers', 'np.array([1.0, 2.0])'),
    'float': (1.0, 'got the number 1.0', 'np.array(1.0)'),
    'integer': (1, 'got the number 1', 'np.array(1.0)'),
    'ragged': ([[1.0], [2.0, 3.0]], '2 arguments that contain only numbers', 'np.array([...])'),
    'long': ([1.0] * 100, '100 arguments', 'np.array([...])'),
}


@pytest.mark.parametrize('check', [check_gradients, gradcheck])
@pytest.mark.parametrize('name', NUMBERS)
def test_numbers_instead_of_arrays(name, check):
    given, *parts = NUMBERS[name]
    with pytest.raises(TypeError) as info:
        check(F.tanh, given)
    assert all(part in str(info.value) for part in ('expected an array of floats', 'tanh', *parts)), info.value


def test_numbers_next_to_arrays_are_passed_on():
    assert check_gradients(lambda x, n: x * n, (X, 2.0))


def test_integer_arrays_are_not_differentiated():
    with pytest.warns(UserWarning, match=r'nothing to check.* the inputs are int64: convert them, .*x.astype'):
        check_gradients(lambda x: F.cast(x, np.float64), np.arange(2))


WRONG_NUMBERS = {
    'too many': (F.tanh, [X, X], 'inputs has 2 entries', 'one array np.array([x, y])'),
    'too few': (lambda x, y: x + y, X, 'inputs has 1 entry', 'one entry per argument'),
}


@pytest.mark.skipif(sys.version_info < (3, 11), reason='notes of exceptions came with Python 3.11')
@pytest.mark.parametrize('name', WRONG_NUMBERS)
def test_wrong_number_of_arguments(name):
    func, inputs, *parts = WRONG_NUMBERS[name]
    with pytest.raises(TypeError, match='argument') as info:
        check_gradients(func, inputs)
    assert all(part in info.value.__notes__[0] for part in parts)


WRONG_FUNCS = {
    'class of nodes': (Square, 'func is the class Square', 'lambda *xs: Square().apply(xs)'),
    'node': (Square(), 'func is a Square', 'can be applied only once'),
    'class of links': (L.Linear, 'func is the class Linear', 'such as Linear(...)'),
    'nothing': (None, 'func must be callable', 'not NoneType'),
}


@pytest.mark.parametrize('name', WRONG_FUNCS)
def test_classes_and_nodes_are_not_functions(name):
    func, *parts = WRONG_FUNCS[name]
    with pytest.raises(TypeError) as info:
        check_gradients(func, X)
    assert all(part in str(info.value) for part in parts)
