"""Nodes of leaves know their Variables, as tools need that walk through graphs; they do not keep them alive."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import Parameter, Variable


def ones(*shape: int) -> Variable:
    return Variable(np.ones(shape, np.float32))


class Product(chainer.FunctionNode):
    """A function of a user's own."""

    def forward(self, inputs: Any) -> Any:
        self.retain_inputs((0, 1))
        return (inputs[0] * inputs[1],)


class OldProduct(chainer.Function):
    """The same in the old style."""

    def forward(self, inputs: Any) -> Any:
        return (inputs[0] * inputs[1],)


def _layer(link: Any, x: Variable) -> tuple[Variable, list[Variable]]:
    return link(x), [x, link.W, link.b]


def _applied(function: Any, *inputs: Variable) -> tuple[Variable, list[Variable]]:
    return function(*inputs), [*inputs]


APPLICATIONS: dict[str, Any] = {
    'linear': lambda: _layer(L.Linear(3, 2), ones(4, 3)),
    'linear of a lazy link': lambda: _layer(L.Linear(2), ones(4, 3)),
    'convolution': lambda: _layer(L.Convolution2D(3, 2, 1), ones(4, 3, 2, 2)),
    'elementwise': lambda: _applied(F.tanh, ones(2)),
    'operator': lambda: _applied(lambda x, y: x * y, ones(2), Parameter(2.0, (2,))),
    'variadic': lambda: _applied(lambda *xs: F.concat(xs, 0), ones(2), ones(3), ones(1)),
    'several outputs': lambda: _applied(lambda x: F.separate(x)[1], ones(2)),
    'a constant': lambda: _applied(
        lambda x, c: x * c, ones(2), Variable(np.ones(2, np.float32), requires_grad=False)
    ),
    'twice': lambda: (lambda x: (x * x, [x, x]))(ones(2)),
    'node': lambda: _applied(lambda *xs: Product().apply(xs)[0], ones(2), ones(2)),
    'old function': lambda: _applied(OldProduct(), ones(2), ones(2)),
    'autograd': lambda: _applied(lambda x: Twice.apply(x), ones(2)),
}


class Twice(chainer.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2


@pytest.mark.parametrize('application', APPLICATIONS)
@pytest.mark.parametrize('debug', [False, True])
def test_nodes_of_leaves_know_their_variables(application: str, debug: bool) -> None:
    with chainer.using_config('debug', debug):
        y, inputs = APPLICATIONS[application]()
    for node, x in zip(y.creator_node.inputs, inputs, strict=True):
        assert node.get_variable() is x and node.get_variable_or_none() is x
        assert node is x.node
    assert [node.data is x.array for node, x in zip(y.creator_node.inputs, inputs, strict=True)] == [True] * len(
        inputs
    )


CHANGES = {
    'copy.copy': copy.copy,
    'deepcopy': copy.deepcopy,
    'pickle': lambda x: pickle.loads(pickle.dumps(x)),
    'detach': lambda x: x.detach(),
    'detach_': lambda x: (x * 2).detach_(),
    'cleared': lambda x: (x.cleargrad(), x)[1],
    'named': lambda x: (setattr(x, 'name', 'x'), x)[1],
    'another array': lambda x: (setattr(x, 'array', np.zeros(3, np.float32)), x)[1],
    'no graph': lambda x: chainer.no_backprop_mode()(lambda: x * 2)(),
    'grad_var': lambda x: (setattr(x, 'grad', x.array), x.grad_var)[1],
    'grad': lambda x: chainer.grad([x * 2], [x])[0],
    'Parameter': lambda x: Parameter(x.array),
    'initialized later': lambda x: (lambda p: (p.initialize((2,)), p)[1])(Parameter(1.0)),
}


@pytest.mark.parametrize('change', CHANGES)
def test_however_a_leaf_was_made(change: str) -> None:
    x = CHANGES[change](ones(2))
    y = F.tanh(Variable(x.array)) * x
    assert y.creator_node.inputs[1].get_variable() is x


@pytest.fixture
def no_collector() -> Any:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures('no_collector')
@pytest.mark.parametrize('is_looked_at', [False, True])
def test_a_node_does_not_keep_its_variable(is_looked_at: bool) -> None:
    x = ones(2)
    y, reference = x * 3, weakref.ref(x)
    if is_looked_at:
        assert y.creator_node.inputs[0].get_variable() is x
    del x
    assert reference() is None
    (node,) = y.creator_node.inputs
    assert node.get_variable_or_none() is None
    assert node.get_variable().node.target is node.target
    F.sum(y).backward()
    assert node.grad.tolist() == [3, 3]


def test_input_nodes_stay_the_same_objects() -> None:
    y = ones(2) * 2 + ones(2) * 3
    seen = [[id(node) for node in y.creator_node.inputs] for _ in range(3)]
    assert seen[0] == seen[1] == seen[2]
    assert seen[0][0] == id(y.creator_node.inputs[0].creator_node.outputs[0]())


@pytest.mark.usefixtures('no_collector')
@pytest.mark.parametrize('end', ['unchain', 'free', 'del'])
def test_input_nodes_do_not_keep_arrays(end: str) -> None:
    x = ones(2)
    h = F.exp(x)
    y = h * h
    reference = weakref.ref(h.array)
    assert y.creator_node.inputs[0].data is h.array
    del h
    if end == 'unchain':
        y.unchain_backward()
    elif end == 'free':
        F.sum(y).backward(retain_graph=False)
    else:
        del y
    assert reference() is None


def test_tools_may_replace_input_nodes() -> None:
    x, other = ones(2), ones(2)
    y = x * 2
    y.creator_node.inputs = (other.node,)
    assert y.creator_node.inputs == (other.node,)
    F.sum(y).backward()
    assert x.grad.tolist() == [2, 2] and other.grad is None


def test_a_second_application_has_input_nodes_of_its_own() -> None:
    function, xs = Product(), [ones(2) for _ in range(4)]
    (y,) = function.apply(xs[:2])
    assert y.creator_node.inputs[0] is xs[0].node
    (z,) = function.apply(xs[2:])
    assert all(n.get_variable() is x for n, x in zip(y.creator_node.inputs, xs[:2], strict=True))
    assert all(n.get_variable() is x for n, x in zip(z.creator_node.inputs, xs[2:], strict=True))


class Watching(chainer.LinkHook):
    """Sees the inputs of all functions, as Chainer's exporter of ONNX does: it replaces ``FunctionNode.apply``."""

    name = 'Watching'

    def __enter__(self) -> Any:
        self.seen: list[tuple[str, tuple[int, ...]]] = []
        self.kept: list[Variable] = []
        apply = self.original = chainer.FunctionNode.apply

        def watched(node: Any, inputs: Any) -> Any:
            results = apply(node, inputs)
            self.seen.append((type(node).__name__, tuple([len(x.shape) for x in node.inputs])))
            nodes = list(node.inputs)
            for i, x in enumerate(nodes):
                if x.get_variable_or_none() is None:
                    self.kept.append(chainer.as_variable(inputs[i]))
                    nodes[i] = self.kept[-1].node
            node.inputs = tuple(nodes)
            return results

        chainer.FunctionNode.apply = watched  # type: ignore[method-assign]
        return super().__enter__()

    def __exit__(self, *exception: Any) -> None:
        chainer.FunctionNode.apply = self.original  # type: ignore[method-assign]
        super().__exit__(*exception)


def test_a_hook_may_replace_apply() -> None:
    model = chainer.Sequential(L.Linear(3, 4), L.BatchNormalization(4), F.tanh, lambda x: F.separate(x)[0])
    x = ones(2, 3)
    before = chainer.configuration.nondefault
    for _ in range(2):
        with Watching() as hook, chainer.using_config('train', False):
            y = model(x)
        names = ['LinearFunction', 'FixedBatchNormalization', 'Tanh', 'Separate']
        assert [name for name, _ in hook.seen] == names
        assert hook.seen[1][1] == (2, 1, 1, 1, 1)
        assert chainer.configuration.nondefault == before
    y.grad = np.ones_like(y.array)
    y.backward()
    assert x.grad is not None


@pytest.mark.parametrize('as_given', [np.asarray, Variable])
@pytest.mark.parametrize('ignore_label', [None, 1])
def test_such_a_hook_sees_indices_of_embeddings(as_given: Any, ignore_label: int | None) -> None:
    x, link = as_given(np.array([1, 0])), L.EmbedID(2, 3, ignore_label=ignore_label)
    with Watching() as hook:
        y = link(x)
    assert hook.seen == [('EmbedIDFunction', (1, 2))] and not hook.kept
    assert y.creator_node.inputs[1] is link.W.node
    assert y.creator_node.ignore_label == ignore_label
    np.testing.assert_array_equal(y.array[1], link.W.array[0])
    np.testing.assert_array_equal(y.array[0], link.W.array[1] * (ignore_label is None))
