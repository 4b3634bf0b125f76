"""``config.record_constants``: results of functions of constants have creators, as in Chainer, and no gradients.

Under the alias ``chainer`` it is on.
"""

from __future__ import annotations

import copy
import gc
import importlib
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import Variable, compat
from minichainer.computational_graph import build_computational_graph


@pytest.fixture(autouse=True)
def recorded() -> Iterator[None]:
    with chainer.using_config('record_constants', True, chainer.global_config):
        yield


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


class Marking(chainer.FunctionNode):
    """Two outputs; it keeps an attribute of its own."""

    def forward(self, inputs: Any) -> Any:
        self.retain_inputs((0,))
        self.retain_outputs((1,))
        self.mark = inputs[0].sum()
        return 2 * inputs[0], inputs[0] + 1


class Old(chainer.Function):
    def forward(self, inputs: Any) -> Any:
        self.mark = 3
        return (2 * inputs[0],)


#: For functions of constants: whether an input is one or not must make no difference to the node.
CALLS: dict[str, Callable[[Any], Any]] = {
    'relu': lambda v: F.relu(v(ones(2, 3))),
    'operators': lambda v: chainer.as_variable(v(ones(3))) * chainer.as_variable(v(ones(3))) + 1,
    'max_pooling_2d': lambda v: F.max_pooling_2d(v(ones(1, 1, 4, 4)), 2),
    'dropout': lambda v: F.dropout(v(ones(3))),
    'linear': lambda v: F.linear(v(ones(2, 3)), v(ones(4, 3)), v(ones(4))),
    'convolution_2d': lambda v: F.convolution_2d(v(ones(1, 2, 4, 4)), v(ones(3, 2, 2, 2))),
    'softmax_cross_entropy': lambda v: F.softmax_cross_entropy(v(ones(2, 3)), np.zeros(2, 'i')),
    'batch_normalization': lambda v: F.batch_normalization(v(ones(4, 3)), v(ones(3)), v(ones(3))),
    'embed_id': lambda v: F.embed_id(np.zeros(2, 'i'), v(ones(3, 4))),
    'concat': lambda v: F.concat([v(ones(2, 3)), v(ones(2, 3))]),
    'split_axis': lambda v: F.split_axis(v(ones(2, 4)), 2, 1)[1],
    'where': lambda v: F.where(np.ones((2, 3), bool), v(ones(2, 3)), v(ones(2, 3))),
    'get_item': lambda v: F.get_item(v(ones(2, 3)), 0),
    'sum of exp': lambda v: F.sum(F.exp(v(ones(3)))),
    'lstm': lambda v: F.lstm(v(ones(2, 3)), v(ones(2, 12)))[1],
    'FunctionNode': lambda v: Marking().apply((v(ones(3)),))[1],
    'Function': lambda v: Old()(v(ones(3))),
    'two links': lambda v: L.Linear(3, 2)(F.relu(v(ones(2, 3)))),
}


def described(y: Variable) -> list[Any]:
    """The functions before a Variable, and their inputs, with ranks, shapes and labels."""
    found: list[Any] = [y.rank]
    waiting: list[Any] = [y.creator_node]
    while waiting:
        node = waiting.pop(0)
        found.append((node.label, type(node).__name__, node.rank))
        found += [(x.shape, x.dtype, x.rank) for x in node.inputs]
        waiting += [x.creator_node for x in node.inputs if x.creator_node is not None]
    return found


@pytest.mark.parametrize('watched', [False, True], ids=['short form', 'in full'])
@pytest.mark.parametrize('name', CALLS)
def test_nodes_of_constants_are_like_others(name: str, watched: bool) -> None:
    with chainer.using_config('debug', watched):
        expected, found = CALLS[name](Variable), CALLS[name](lambda array: array)
    assert described(found) == described(expected)
    assert found.creator.label == expected.creator.label


def test_a_pooling_knows_its_indexes_and_dropout_its_mask() -> None:
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    np.testing.assert_array_equal(F.max_pooling_2d(x, 2).creator.indexes, [[[[3, 3], [3, 3]]]])
    y = F.dropout(ones(100), 0.25)
    np.testing.assert_array_equal(y.creator.mask, y.array)
    assert y.creator.dropout_ratio == 0.25


def test_a_users_node_has_its_attributes() -> None:
    node = Marking()
    first, second = node.apply((ones(3),))
    assert first.creator is second.creator is node and node.mark == 3
    assert [output() for output in node.outputs] == [first.node, second.node]
    assert node.outputs[0]().get_variable() is first
    function = Old()
    y = function(ones(2))
    assert y.creator is function and function.inputs[0].shape == (2,)


#: Nodes whose attributes are computed from the inputs when they are read; results or gates that are views.
KEEPING = {'max_pooling_2d', 'softmax_cross_entropy', 'split_axis', 'get_item', 'lstm'}


@pytest.mark.parametrize('watched', [False, True], ids=['short form', 'in full'])
@pytest.mark.parametrize('name', sorted(CALLS.keys() - KEEPING))
def test_inputs_and_outputs_are_not_kept(name: str, watched: bool) -> None:
    kept: list[Any] = []

    def taken(array: Any) -> Any:
        kept.append(array)
        return array

    with chainer.using_config('debug', watched):
        y = CALLS[name](taken)
    gc.collect()
    assert y.creator is not None
    for array in kept:  # the list, the loop's name, and the call's argument
        assert sys.getrefcount(array) <= 3, gc.get_referrers(array)


@pytest.mark.parametrize('name', [name for name in CALLS if name != 'two links'])
def test_no_gradient_flows_through_them(name: str) -> None:
    y = CALLS[name](lambda array: array)
    assert not y.requires_grad and y.is_leaf
    x = Variable(np.ones_like(y.array))
    loss = F.sum(x * y)
    loss.backward()
    np.testing.assert_allclose(x.grad, y.array)
    assert y.grad is None and y.creator.inputs[0].grad is None
    (gx,) = chainer.grad([F.sum(x * y)], [x], enable_double_backprop=True)
    np.testing.assert_allclose(gx.array, y.array)


def test_ranks_count_functions_of_constants() -> None:
    """The order in which graphs are drawn."""
    c = F.relu(F.exp(ones(3)))
    x = Variable(ones(3))
    y = F.sum(x * c)
    ranks = [node.rank for node in (c, y)] + [node.rank for node in y.creator.inputs[0].creator.inputs]
    assert ranks == [2, 4, 0, 2]
    drawn = build_computational_graph([y]).nodes
    assert [n.label for n in drawn if isinstance(n, chainer.FunctionNode)] == ['exp', 'ReLU', '_ * _', 'Sum']
    y.creator_node.rank = 9
    assert y.creator_node.rank == 9


def test_ranks_of_long_chains_take_no_recursion() -> None:
    y: Any = F.exp(ones(1))
    for _ in range(20_000):
        y = y * 0.5
    assert (y + Variable(ones(1))).rank == 20_002


CUTS: dict[str, Callable[[Any], Any]] = {
    'unchain': lambda y: y.unchain(),
    'of the node': lambda y: y.node.unchain(),
    'of the function': lambda y: y.creator_node.unchain(),
    'creator': lambda y: y.set_creator(None),
    'unchain_backward': lambda y: y.unchain_backward(),
}


@pytest.mark.parametrize('name', CUTS)
@pytest.mark.parametrize('make', [F.relu, lambda x: Marking().apply((x,))[0]], ids=['one output', 'two outputs'])
def test_they_can_be_cut_off(name: str, make: Any) -> None:
    before = F.exp(ones(3))
    y = make(before)
    node = weakref.ref(y.creator_node)
    CUTS[name](y)
    assert y.creator is None and y.array is not None and node() is None
    assert (before.creator is None) is (name == 'unchain_backward')


def test_unchain_backward_goes_from_a_graph_into_them() -> None:
    constant = F.exp(F.exp(ones(3)))
    before = constant.creator.inputs[0]
    (constant * Variable(ones(3))).unchain_backward()
    assert constant.creator is None and before.creator is None


def test_they_are_freed_with_their_results() -> None:
    y = F.exp(F.exp(ones(3)))
    nodes = [weakref.ref(y.creator_node), weakref.ref(y.creator.inputs[0].creator_node)]
    gc.disable()
    try:
        del y
        assert [node() for node in nodes] == [None, None]
    finally:
        gc.enable()


def test_hooks_of_one_function() -> None:
    node = Marking()
    node.add_hook(chainer.function_hooks.TimerHook())
    (y, _) = node.apply((ones(3),))
    assert y.creator is node and list(node.local_function_hooks) == ['TimerHook']
    del node, y, _
    assert chainer.configuration.nondefault == 0


def test_copies() -> None:
    y = F.relu(ones(3))
    assert copy.copy(y).creator is None and copy.deepcopy(y).creator is None
    assert y.detach().creator is None


# --- where it is on ----------------------------------------------------------------------------------------------
def test_modes_without_a_graph_record_nothing() -> None:
    with chainer.no_backprop_mode():
        assert F.relu(ones(3)).creator is None and Marking().apply((ones(3),))[0].creator is None


@pytest.mark.parametrize('everywhere', [False, True])
def test_a_thread_has_its_own_setting(everywhere: bool) -> None:
    with chainer.using_config('record_constants', everywhere, chainer.global_config):
        for here in (False, True):
            with chainer.using_config('record_constants', here):
                assert (F.relu(ones(3)).creator is not None) is here
                assert (Marking().apply((ones(3),))[0].creator is not None) is here
            assert chainer.configuration.nondefault == 0
        assert (F.relu(ones(3)).creator is not None) is everywhere


def test_it_is_off_by_default_and_on_under_the_alias() -> None:
    with chainer.using_config('record_constants', False, chainer.global_config):
        assert F.relu(ones(3)).creator is None
        compat.install()
        try:
            functions: Any = importlib.import_module('chainer.functions')
            assert functions.relu(ones(3)).creator.label == 'ReLU'
        finally:
            compat.uninstall()
        assert F.relu(ones(3)).creator is None
