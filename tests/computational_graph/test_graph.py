"""Graphs as text: which nodes and edges, styles, names, and what is refused."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer.computational_graph import ComputationalGraph, DotNode, build_computational_graph

STYLE = ',shape="record",fillcolor="#6495ED",style="filled"'


def _x(name: str | None = 'x', **kwargs: Any) -> chainer.Variable:
    return chainer.Variable(np.ones((2, 3), 'f'), name=name, **kwargs)


def labels(graph: ComputationalGraph) -> list[str]:
    return re.findall(r'label="((?:[^"\\]|\\.)*)"', graph.dump())


def named_edges(graph: ComputationalGraph) -> list[tuple[str, str]]:
    text = graph.dump()
    names = dict(re.findall(r'(\d+) \[label="((?:[^"\\]|\\.)*)"', text))
    return [(names[a], names[b]) for a, b in re.findall(r'(\d+) -> (\d+);', text)]


def _split() -> Any:
    return F.split_axis(_x(), [1], 1)


def _old_style() -> Any:
    class Twice(chainer.Function):
        label = 'two "x"'

        def forward(self, inputs: Any) -> Any:
            return (inputs[0] * 2,)

    return Twice()(_x())


def _without_graph() -> Any:
    with chainer.no_backprop_mode():
        return _x() * 2


def _concatenated() -> Any:
    a, b = _split()
    return F.concat([a, b])


SHAPE = '(2, 3), float32'
X = f'x: {SHAPE}'
# what leads to the outputs, labels, edges
GRAPHS: dict[str, tuple[Callable[[], Any], list[str], list[tuple[str, str]]]] = {
    'no outputs': (list, [], []),
    'a leaf': (_x, [X], []),
    'one output, not in a list': (lambda: F.relu(_x()), [X, 'ReLU', SHAPE], [(X, 'ReLU'), ('ReLU', SHAPE)]),
    'twice the same input': (lambda: [_x() ** 2], [X, '_ ** 2', SHAPE], [(X, '_ ** 2'), ('_ ** 2', SHAPE)]),
    'a VariableNode': (lambda: [F.relu(_x()).node], [X, 'ReLU', SHAPE], [(X, 'ReLU'), ('ReLU', SHAPE)]),
    'a function': (lambda: [F.relu(_x()).creator], [X, 'ReLU'], [(X, 'ReLU')]),
    'outputs from a generator': (lambda: (y for y in [_x(), _x('y')]), [X, f'y: {SHAPE}'], []),
    'one of two outputs': (
        lambda: [_split()[1]],
        [X, 'SplitAxis', '(2, 2), float32'],
        [(X, 'SplitAxis'), ('SplitAxis', '(2, 2), float32')],
    ),
    'no gradient required': (lambda: [_x(requires_grad=False) * 2], [SHAPE], []),
    'no graph': (lambda: [_without_graph()], [SHAPE], []),
    'old-style function': (
        lambda: [_old_style()],
        [X, 'two \\"x\\"', SHAPE],
        [(X, 'two \\"x\\"'), ('two \\"x\\"', SHAPE)],
    ),
    '0-d': (lambda: chainer.Variable(np.array(1.0), name='s'), ['s: float64'], []),
    'an empty name': (lambda: _x(''), [f': {SHAPE}'], []),
    'uninitialized': (lambda: chainer.Parameter(name='W'), ['W: uninitialized'], []),
    'quotes, backslashes, line breaks': (lambda: _x('"\\\n'), [f'\\"\\\\\\n: {SHAPE}'], []),
}  # fmt: skip


@pytest.mark.parametrize('name', GRAPHS)
def test_nodes_and_edges(name: str) -> None:
    outputs, expected, edges = GRAPHS[name]
    graph = build_computational_graph(outputs())
    assert labels(graph) == expected
    assert named_edges(graph) == edges


def test_nodes_are_those_of_the_graph_in_the_order_of_computation() -> None:
    a, b = _x('a'), _x('b')
    h = F.relu(a * 2)
    y = F.sum(h + b)
    graph = build_computational_graph([y, h])
    assert graph.nodes.count(h.node) == 1
    assert {a.node, b.node, y.node, y.creator, h.creator} < set(graph.nodes)
    place = {node: i for i, node in enumerate(graph.nodes)}
    assert len(place) == 10
    assert all(place[tail] < place[head] for tail, head in graph.edges)


def test_an_edge_is_drawn_once() -> None:
    x = _x()
    assert named_edges(build_computational_graph(x + x)) == [(X, '_ + _'), ('_ + _', SHAPE)]
    without = build_computational_graph(_concatenated(), remove_variable=True)
    assert named_edges(without) == [('SplitAxis', 'Concat')]


def test_without_variables() -> None:
    x = _x()
    graph = build_computational_graph(F.relu(x * 2) + F.exp(x), remove_variable=True)
    assert labels(graph) == ['exp', '_ * 2', 'ReLU', '_ + _']
    assert sorted(named_edges(graph)) == [('ReLU', '_ + _'), ('_ * 2', 'ReLU'), ('exp', '_ + _')]
    assert build_computational_graph(x, remove_variable=True).dump() == 'digraph graphname{rankdir=TB;}'


def test_names_can_be_hidden() -> None:
    assert labels(build_computational_graph(F.relu(_x()), show_name=False)) == [SHAPE, 'ReLU', SHAPE]


@pytest.mark.parametrize(
    ('style', 'text'),
    [
        ('default', STYLE),
        (None, ',shape="box"'),
        ({}, ',shape="box"'),
        ({'shape': 'star', 'fontsize': 12}, ',shape="star",fontsize="12"'),
        ({'tooltip': 'a "b"'}, ',shape="box",tooltip="a \\"b\\""'),
    ],
)
def test_styles(style: Any, text: str) -> None:
    graph = build_computational_graph(F.relu(_x()), function_style=style)
    assert f'[label="ReLU"{text}];' in graph.dump()


def test_a_style_of_the_user_is_not_changed() -> None:
    style = {'shape': 'star'}
    graph = build_computational_graph(F.relu(_x()), variable_style=style)
    graph.variable_style['shape'] = 'box'
    graph.dump()
    assert style == {'shape': 'star'}
    assert build_computational_graph(_x()).variable_style['shape'] == 'octagon'


def test_labels_in_records_are_no_fields() -> None:
    class Named(chainer.FunctionNode):
        label = '_ > {1}|<2>'

        def forward(self, inputs: Any) -> Any:
            return inputs

    graph = build_computational_graph(Named().apply((_x('{x}'),)))
    assert r'[label="_ \> \{1\}\|\<2\>",shape="record"' in graph.dump()
    assert f'[label="{{x}}: {SHAPE}",shape="octagon"' in graph.dump()


def test_a_node_as_a_statement() -> None:
    y = F.relu(_x())
    node = DotNode(y.creator, {'shape': 'oval', 'label': 'other'})
    assert (node.node, node.id_) == (y.creator, id(y.creator))
    assert node.label == f'{id(y.creator)} [label="other",shape="oval"];'
    assert DotNode(_x().node, show_name=False).attribute == {'label': SHAPE, 'shape': 'oval'}


def test_links_and_losses() -> None:
    model = L.Linear(3, 2)
    loss = F.softmax_cross_entropy(model(np.ones((2, 3), 'f')), np.zeros(2, 'i'))
    expected = ['(2), int32', SHAPE, 'W: (2, 3), float32', 'b: (2), float32', 'LinearFunction', '(2, 2), float32']
    assert sorted(labels(build_computational_graph(loss))) == sorted([*expected, 'SoftmaxCrossEntropy', 'float32'])


def test_a_graph_of_gradients() -> None:
    x = _x()
    (gx,) = chainer.grad([F.sum(x**3)], [x], enable_double_backprop=True)
    found = labels(build_computational_graph(gx))
    assert X in found and '_ ** 2' in found


def test_graphs_by_hand() -> None:
    y = F.relu(_x())
    graph = ComputationalGraph([y.node, y.creator], [(y.creator, y.node)], rankdir='LR')
    assert graph.dump().startswith('digraph graphname{rankdir=LR;')
    assert named_edges(graph) == [('ReLU', SHAPE)]
    alone = ComputationalGraph([y.node], [(y.creator, y.node)])  # an edge from a node that is not drawn
    assert f'{id(y.creator)} -> {id(y.node)};' in alone.dump()
    assert '<svg' in alone.dump('svg')


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({'outputs': 3}, TypeError, 'element of outputs must be either Variable, VariableNode, or FunctionNode, got int'),
    ({'outputs': [1]}, TypeError, 'element of outputs must be'),
    ({'outputs': [np.ones(2)]}, TypeError, 'got ndarray'),
    ({'outputs': [], 'remove_split': False}, ValueError, 'remove_split=False is not supported anymore'),
    ({'outputs': [], 'rankdir': 'XX'}, ValueError, "rankdir must be in TB, BT, LR or RL, got 'XX'"),
    ({'outputs': [], 'variable_style': 'x'}, TypeError, "variable_style: expected a dict, 'default' or None"),
    ({'outputs': [], 'function_style': 3}, TypeError, 'function_style: expected'),
]


@pytest.mark.parametrize(('arguments', 'error', 'message'), REFUSED)
def test_what_is_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        build_computational_graph(**arguments)


def test_other_formats_are_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"only the formats 'dot' and 'svg'.*got 'png'; render\(path\)"):
        build_computational_graph(_x()).dump('png')


@pytest.mark.parametrize('value', [3, None, 'x'])
def test_only_nodes_are_dot_nodes(value: Any) -> None:
    with pytest.raises(TypeError, match='expected a VariableNode or a FunctionNode, got'):
        DotNode(value)
    with pytest.raises(TypeError, match='got Variable'):
        DotNode(_x())


def _seconds(count: int) -> float:
    y = chainer.Variable(np.ones(1, 'f'))
    for _ in range(count):
        y = y * 1
    start = time.perf_counter()
    graph = build_computational_graph(y)
    seconds = time.perf_counter() - start
    assert len(graph.nodes) == 2 * count + 1
    return seconds


@pytest.mark.slow
def test_time_is_linear() -> None:
    """Of 10^5 ops; four times the ops would take 16 times as long if it were quadratic."""
    few = min(_seconds(25_000) for _ in range(3))
    many = min(_seconds(100_000) for _ in range(3))
    assert many < 7 * few
