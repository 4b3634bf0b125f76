"""Calls that Chainer 7.8.1 refuses, which here must not compute something else in silence."""

from __future__ import annotations

import re
from operator import add, floordiv, mul, sub, truediv
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer import Parameter, Variable
from minichainer.compat.nodes import node_class
from minichainer.utils.type_check import InvalidType


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


class Twice(chainer.FunctionNode):
    def forward(self, inputs: Any) -> Any:
        return tuple([2 * x for x in inputs])


# --- a forgotten tuple -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    'node',
    [Twice, lambda: type(F.relu(Variable(ones(2))).creator)(), lambda: node_class('activation.relu', 'ReLU')()],
    ids=['of a user', 'of the package', 'of Chainer'],
)
@pytest.mark.parametrize(
    'one',
    [ones(2, 3), Variable(ones(1, 3)), Parameter(ones(1)), Variable(None)],
    ids=['array', 'Variable', 'Parameter', 'empty'],
)
def test_one_input_without_a_tuple_is_refused(node: Any, one: Any) -> None:
    """Its rows would be taken for inputs."""
    with pytest.raises(TypeError, match=re.escape('Write apply((x,))')):
        node().apply(one)


@pytest.mark.parametrize('several', [tuple, list, iter])
def test_any_sequence_of_inputs_is_taken(several: Any) -> None:
    assert [y.shape for y in Twice().apply(several([ones(2, 3), ones(4)]))] == [(2, 3), (4,)]


@pytest.mark.parametrize('name', 'concat stack hstack vstack dstack pad_sequence transpose_sequence'.split())
@pytest.mark.parametrize(
    'one', [ones(2, 3), Variable(ones(2, 3)), Variable(ones())], ids=['array', 'Variable', '0-d']
)
def test_one_array_is_not_a_sequence_of_them(name: str, one: Any) -> None:
    with pytest.raises(TypeError, match=rf'{name}: a tuple or list of arrays expected.*{name}\(\(x,\)\)'):
        getattr(F, name)(one)


# --- hooks, operators, copies ------------------------------------------------------------------------------------
class Named:
    """What looks like a hook."""

    name = 'named'
    added = deleted = forward_preprocess = forward_postprocess = lambda *_: None


class Old(chainer.Function):
    def forward(self, inputs: Any) -> Any:
        return inputs


@pytest.mark.parametrize('function', [Twice, Old], ids=['FunctionNode', 'Function'])
@pytest.mark.parametrize('hook', [3, print, Named(), chainer.LinkHook(), chainer.FunctionHook])
def test_hooks_of_functions_are_function_hooks(function: Any, hook: Any) -> None:
    added = function()
    with pytest.raises(TypeError, match=f'{function.__name__}.add_hook: expected a FunctionHook'):
        added.add_hook(hook)
    node = getattr(added, 'node', added)
    assert not node.local_function_hooks


def test_a_class_of_hooks_is_told_from_a_hook() -> None:
    with pytest.raises(TypeError, match=re.escape('write TimerHook()')):
        Twice().add_hook(chainer.function_hooks.TimerHook)


OPERATORS = {'+': add, '-': sub, '*': mul, '/': truediv, '//': floordiv, '**': pow}
DTYPES = [('f', 'd'), ('d', 'f'), ('e', 'f'), ('f', 'i'), ('l', 'i')]


@pytest.mark.parametrize('sign', OPERATORS)
@pytest.mark.parametrize(('left', 'right'), DTYPES, ids=['-'.join(pair) for pair in DTYPES])
def test_two_variables_have_one_dtype(sign: str, left: str, right: str) -> None:
    x, y = Variable(np.ones(3, left)), Variable(np.ones(3, right))
    with pytest.raises(InvalidType, match='dtype'):
        OPERATORS[sign](x, y)


@pytest.mark.parametrize('left', ['f', 'd', 'e'])
def test_floor_division_casts_arrays_to_the_dtype_of_the_variable(left: str) -> None:
    x = Variable(np.full(3, 7, left))
    for other in (np.full(3, 2.0), np.full(3, 2), 2, 2.0, np.float64(2)):
        assert (x // other).dtype == (other // x).dtype == np.dtype(left)


@pytest.mark.parametrize('other', [None, [1.0], 'x', 2])
def test_a_product_of_matrices_has_two_arrays(other: Any) -> None:
    x = Variable(ones(2, 2))
    for product in (lambda: x @ other, lambda: other @ x):
        with pytest.raises(TypeError, match='_ @ _: an array or a Variable expected as operand'):
            product()


def empty() -> Variable:
    return Variable(None)


@pytest.mark.parametrize('target', [Variable(ones(3)), Parameter(ones(3))], ids=['Variable', 'Parameter'])
@pytest.mark.parametrize('error', [RuntimeError, AttributeError])
def test_nothing_is_copied_from_an_empty_variable(target: Variable, error: Any) -> None:
    with pytest.raises(error, match='copydata: the source has no array'):
        target.copydata(empty())
    assert (target.array == 1).all()


def test_an_empty_variable_is_copied_to_an_empty_one() -> None:
    for target, source in ((empty(), empty()), (Parameter(), empty()), (empty(), Parameter())):
        target.copydata(source)
        assert target.array is None
