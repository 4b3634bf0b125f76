"""Nodes of programs own all names that Chainer's nodes have not: they mean there what the program says."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer._node_parts import FOR_CLASSES, OF_GRAPH
from minichainer.backprop import Node

#: Chainer's own names, public and private, and those by which the node of the graph is found.
CHAINERS = set(
    """
    _backward_target_inputs _check_data_type_forward _get_error_message _impl_name _input_indexes_to_retain
    _input_layouts _output_count _output_indexes_to_retain _output_layouts _retained_output_data add_hook apply
    backward backward_accumulate check_layout_forward check_type_forward delete_hook forward forward_cpu forward_gpu
    get_retained_inputs get_retained_outputs input_layouts inputs is_elementwise label lazy_grad_sum
    local_function_hooks output_data output_layouts outputs rank retain_inputs retain_outputs stack unchain
    _apart _in_graph _is_users _has_own_names _local_hooks _seq
    """.split()
)
NAMES = sorted(OF_GRAPH)


def test_all_names_of_a_node_are_chainers_or_listed() -> None:
    found = {name for name in {*dir(chainer.FunctionNode), *Node.__annotations__} if not name.startswith('__')}
    assert found - CHAINERS == OF_GRAPH


def applied(node: Any, x: Any) -> Any:
    """The gradients of the first and the second order of a function of two outputs or one."""
    ys = node.apply((F.exp(x),))
    assert ys[0].creator is node
    assert node.rank == 1 and len(node.inputs) == 1 and len(node.outputs) == len(ys)
    loss = F.sum(sum(y * y for y in ys))
    (gx,) = chainer.grad([loss], [x], enable_double_backprop=True)
    F.sum(gx * gx).backward()
    return gx.array.tolist(), x.grad.tolist()


def node_class(name: str, when: str, count: int, value: Any) -> Any:
    """The class of a node that sets a name when it is made, in forward, or for the class."""

    class Scaled(chainer.FunctionNode):
        def __init__(self) -> None:
            if when == 'made':
                setattr(self, name, value)

        def forward(self, inputs: Any) -> Any:
            if when == 'forward':
                setattr(self, name, value)
            self.retain_inputs((0,))
            self.retain_outputs((0,))
            assert getattr(self, name) is value
            return tuple(inputs[0] * k for k in range(2, 2 + count))

        def backward(self, indexes: Any, gys: Any) -> Any:
            assert getattr(self, name) is value
            (x,), (y,) = self.get_retained_inputs(), self.get_retained_outputs()
            np.testing.assert_array_equal(y.array, 2 * x.array)
            return (sum(gy * k for k, gy in enumerate(gys, 2) if gy is not None),)

    if when == 'class':
        setattr(Scaled, name, value)
        return type('Scaled', (Scaled,), {name: value})
    return Scaled


@pytest.mark.parametrize('count', [1, 2])
@pytest.mark.parametrize('when', ['made', 'forward', 'class'])
@pytest.mark.parametrize('name', NAMES)
def test_a_name_is_the_programs(name: str, when: str, count: int) -> None:
    if when == 'class' and name in FOR_CLASSES:
        pytest.skip('classes define it in the meaning that it has here')
    x = np.array([0.1, 0.2], np.float32)
    expected = applied(node_class('quite_another', when, count, None)(), chainer.Variable(x))
    value = object()
    node = node_class(name, when, count, value)()
    assert applied(node, chainer.Variable(x)) == expected
    assert getattr(node, name) is value


def test_a_node_with_own_names_is_applied_twice() -> None:
    node = node_class('shape', 'made', 1, (9,))()
    a, b = (chainer.Variable(np.full(2, v, 'f')) for v in (1, 2))
    y, z = node.apply((a,))[0], node.apply((b,))[0]
    assert y.creator is node and z.creator is not node and z.creator.shape == (9,)
    F.sum(y * z).backward()
    assert a.grad.tolist() == [8, 8] and b.grad.tolist() == [4, 4]


def test_without_a_graph() -> None:
    node = node_class('saved', 'made', 1, 'mine')()
    with chainer.no_backprop_mode():
        (y,) = node.apply((chainer.Variable(np.ones(2, 'f')),))
    assert y.creator is None and node.saved == 'mine'


def test_hooks_debug_mode_and_unchaining() -> None:
    class Hook(chainer.FunctionHook):
        name = 'Hook'

        def forward_postprocess(self, function: Any, in_data: Any) -> None:
            seen.append(function.label)

        backward_postprocess: Any = lambda self, function, in_data, gys: seen.append(function.label)

    seen: list[str] = []
    node = node_class('level', 'made', 1, 'high')()
    assert type(node._apart()).__name__ == 'Scaled'
    node = node_class('level', 'made', 1, 'high')()
    node.add_hook(Hook())
    x = chainer.Variable(np.ones(2, 'f'))
    with chainer.using_config('debug', True):
        (y,) = node.apply((x,))
        F.sum(y).backward()
    assert seen == ['Scaled', 'Scaled'] and node.stack is not None
    node.delete_hook('Hook')
    assert not node.local_function_hooks
    node.unchain()
    assert y.creator is None and node.level == 'high'


def test_a_node_that_adds_gradients_itself() -> None:
    class Adding(node_class('dtype', 'made', 1, 'mine')):  # type: ignore[misc]
        def backward_accumulate(self, indexes: Any, gys: Any, gxs: Any) -> Any:
            called.append(self.dtype)
            return super().backward_accumulate(indexes, gys, gxs)

    called: list[str] = []
    x = chainer.Variable(np.ones(2, 'f'))
    F.sum(Adding().apply((x,))[0] + x).backward()
    assert x.grad.tolist() == [3, 3] and called == ['mine']


def test_the_graph_is_freed_without_the_collector_of_cycles() -> None:
    node = node_class('shape', 'made', 1, 3)()
    gc.disable()
    try:
        (y,) = node.apply((chainer.Variable(np.ones(2, 'f')),))
        array = weakref.ref(y.array)
        del y
        assert array() is None
    finally:
        gc.enable()
    with pytest.raises(RuntimeError, match='keep one of its outputs'):
        _ = node.inputs
