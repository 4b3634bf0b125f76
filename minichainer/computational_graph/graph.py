"""Which nodes a graph has, and its description in the DOT language."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from minichainer.computational_graph import graphviz
from minichainer.computational_graph.svg import to_svg
from minichainer.function_node import FunctionNode
from minichainer.variable import Variable
from minichainer.variable_node import VariableNode

RANKDIRS = ('TB', 'BT', 'LR', 'RL')
#: Attributes of nodes in the DOT language, if no style is given.
VARIABLE_STYLE = {'shape': 'octagon', 'fillcolor': '#E0E0E0', 'style': 'filled'}
FUNCTION_STYLE = {'shape': 'record', 'fillcolor': '#6495ED', 'style': 'filled'}
#: Characters that give a record's label fields.
_FIELDS = str.maketrans({char: f'\\{char}' for char in '{}|<>'})
#: Larger graphs are drawn by our own layout in notebooks: Graphviz takes minutes for them.
MANY_NODES = 2000


class DotNode:
    """A node of a graph as a statement of the DOT language.

    Args:
        node: VariableNode or FunctionNode.
        attribute: attributes of the DOT language, a dict.
        show_name: whether the label of a Variable includes its name.

    Attributes:
        node: the node.
        id_: its number in the text, which is the ``id`` of the node.
        attribute: the attributes, with ``label`` and ``shape``.

    Raises:
        TypeError: ``node`` is something else.

    >>> import numpy as np, minichainer as chainer
    >>> from minichainer.computational_graph import DotNode
    >>> x = chainer.Variable(np.zeros((2, 3), 'f'), name='x')
    >>> DotNode(x.node, {'shape': 'box'}).label
    '... [label="x: (2, 3), float32",shape="box"];'
    """

    def __init__(self, node: Any, attribute: Mapping[str, Any] | None = None, show_name: bool = True) -> None:
        if not isinstance(node, (VariableNode, FunctionNode)):
            raise TypeError(f'DotNode: expected a VariableNode or a FunctionNode, got {type(node).__name__}')
        self.node = node
        self.id_ = id(node)
        shape = 'oval' if isinstance(node, VariableNode) else 'box'
        self.attribute: dict[str, Any] = {'label': label_of(node, show_name), 'shape': shape, **(attribute or {})}

    @property
    def label(self) -> str:
        """The statement: the number of the node and its attributes."""
        is_record = 'record' in str(self.attribute['shape']).lower()
        pairs = (
            f'{key}="{_quoted(str(value), is_record and key == "label")}"' for key, value in self.attribute.items()
        )
        return f'{self.id_} [{",".join(pairs)}];'


def label_of(node: Any, show_name: bool) -> str:
    """The label of a node: that of a function, or name, shape and dtype of a Variable."""
    if show_name and isinstance(node, VariableNode) and node.name is not None:
        return f'{node.name}: {node.label}'
    return str(node.label)


def _quoted(text: str, is_record: bool) -> str:
    text = text.replace('\\', '\\\\').replace('"', '\\"').replace('\n', '\\n')
    return text.translate(_FIELDS) if is_record else text


class ComputationalGraph:
    """A graph that can be drawn; :func:`build_computational_graph` makes it.

    Notebooks show it as a picture.

    Args:
        nodes: VariableNodes and FunctionNodes.
        edges: pairs of nodes.
        variable_style: attributes of Variables in the DOT language, a dict; ``'default'`` for grey octagons, None
            for plain ovals.
        function_style: attributes of functions; ``'default'`` for blue boxes, None for plain boxes.
        rankdir: the direction of the graph: ``'TB'`` (top to bottom), ``'BT'``, ``'LR'`` or ``'RL'``.
        remove_variable: whether to draw functions only, joined where one uses an output of the other.
        show_name: whether labels of Variables include their names.

    Raises:
        ValueError: ``rankdir`` is something else.
        TypeError: a style is neither a dict, ``'default'`` nor None.

    >>> import numpy as np, minichainer as chainer, minichainer.functions as F
    >>> from minichainer.computational_graph import build_computational_graph
    >>> y = F.tanh(chainer.Variable(np.zeros(3, 'f'), name='x'))
    >>> graph = build_computational_graph([y], remove_variable=True)
    >>> graph.dump()
    'digraph graphname{rankdir=TB;... [label="Tanh",shape="record",fillcolor="#6495ED",style="filled"];}'
    """

    def __init__(
        self, nodes: Iterable[Any], edges: Iterable[tuple[Any, Any]], variable_style: Any = 'default',
        function_style: Any = 'default', rankdir: str = 'TB', remove_variable: bool = False, show_name: bool = True,
    ) -> None:  # fmt: skip
        if rankdir not in RANKDIRS:
            raise ValueError(f'rankdir must be in TB, BT, LR or RL, got {rankdir!r}')
        self.variable_style = _style('variable_style', variable_style, VARIABLE_STYLE)
        self.function_style = _style('function_style', function_style, FUNCTION_STYLE)
        self.nodes = list(nodes)
        self.edges = list(edges)
        self.rankdir = rankdir
        self.remove_variable = remove_variable
        self.show_name = show_name

    def dump(self, format: str = 'dot') -> str:
        """The graph as text.

        Args:
            format: ``'dot'``, the language of Graphviz; or ``'svg'``, a picture of our own layout.

        Raises:
            NotImplementedError: another format.
        """
        if format == 'dot':
            return self._to_dot()
        if format == 'svg':
            return self._to_svg()
        raise NotImplementedError(
            f"dump: only the formats 'dot' and 'svg' are supported, got {format!r}; render(path) writes others"
        )

    def render(self, path: str | os.PathLike[str]) -> str:
        """Writes a picture; its format follows from the end of the path.

        Graphviz (the program ``dot``) draws it where it is installed. Where it is not, an SVG of our own layout is
        written; if another format was asked for, the end of the path becomes ``.svg``, with a warning.

        Args:
            path: such as ``'graph.svg'``, ``'graph.png'`` or ``'graph.pdf'``; ``'graph.dot'`` for the text.

        Returns:
            The path of the file.

        Raises:
            ValueError: the path has no extension.
            RuntimeError: Graphviz does not know the format, or fails.
        """
        return graphviz.render(os.fspath(path), self._to_dot(), self._to_svg)

    def _repr_svg_(self) -> str:
        """The picture that notebooks show."""
        text = graphviz.try_svg(self._to_dot()) if len(self.nodes) <= MANY_NODES else None
        return self._to_svg() if text is None else text

    def _to_dot(self) -> str:
        nodes, edges = self._drawn()
        return ''.join([
            f'digraph graphname{{rankdir={self.rankdir};',
            *(DotNode(node, self._style_of(node), self.show_name).label for node in nodes),
            *(f'{id(tail)} -> {id(head)};' for tail, head in edges),
            '}',
        ])  # fmt: skip

    def _to_svg(self) -> str:
        nodes, edges = self._drawn()
        attributes = [DotNode(node, self._style_of(node), self.show_name).attribute for node in nodes]
        numbers = {id(node): i for i, node in enumerate(nodes)}
        pairs = [(numbers[id(a)], numbers[id(b)]) for a, b in edges if id(a) in numbers and id(b) in numbers]
        return to_svg(attributes, pairs, self.rankdir)

    def _style_of(self, node: Any) -> dict[str, Any]:
        return self.variable_style if isinstance(node, VariableNode) else self.function_style

    def _drawn(self) -> tuple[list[Any], list[tuple[Any, Any]]]:
        """The nodes and edges to draw."""
        if not self.remove_variable:
            return self.nodes, self.edges
        functions = [node for node in self.nodes if not isinstance(node, VariableNode)]
        return functions, list(dict.fromkeys(self._between_functions()))

    def _between_functions(self) -> Iterator[tuple[Any, Any]]:
        """Pairs of functions of which the second uses an output of the first."""
        makers = {id(head): tail for tail, head in self.edges if isinstance(head, VariableNode)}
        for tail, head in self.edges:
            if isinstance(tail, VariableNode) and id(tail) in makers:
                yield makers[id(tail)], head


def _style(name: str, style: Any, default: dict[str, Any]) -> dict[str, Any]:
    if style is None:
        return {}
    if isinstance(style, str) and style == 'default':
        return dict(default)
    if not isinstance(style, Mapping):
        raise TypeError(f"{name}: expected a dict, 'default' or None, got {style!r}")
    return dict(style)


def build_computational_graph(
    outputs: Any, remove_split: bool = True, variable_style: Any = 'default', function_style: Any = 'default',
    rankdir: str = 'TB', remove_variable: bool = False, show_name: bool = True,
) -> ComputationalGraph:  # fmt: skip
    """The graph that leads to given outputs, for drawing; it takes linear time.

    Args:
        outputs: a Variable, VariableNode or FunctionNode, or a sequence of these.
        remove_split: True; kept for old code.
        variable_style, function_style, rankdir, remove_variable, show_name: see :class:`ComputationalGraph`.

    Returns:
        ComputationalGraph, with inputs before outputs.

    Raises:
        TypeError: an output is something else.
        ValueError: ``remove_split`` is False, which is not supported, or ``rankdir`` is unknown.

    >>> import numpy as np, minichainer as chainer, minichainer.functions as F
    >>> from minichainer.computational_graph import build_computational_graph
    >>> x = chainer.Variable(np.zeros((2, 3), 'f'), name='x')
    >>> graph = build_computational_graph([F.sum(F.relu(x))])
    >>> [node.label for node in graph.nodes]
    ['(2, 3), float32', 'ReLU', '(2, 3), float32', 'Sum', 'float32']
    """
    if not remove_split:
        raise ValueError('build_computational_graph: remove_split=False is not supported anymore')
    nodes, edges = _reached([_node_of(output) for output in _as_sequence(outputs)])
    return ComputationalGraph(
        nodes, edges, variable_style, function_style, rankdir, remove_variable, show_name
    )  # fmt: skip


def _as_sequence(outputs: Any) -> Sequence[Any]:
    if isinstance(outputs, (Variable, VariableNode, FunctionNode)):
        return (outputs,)
    if not isinstance(outputs, Iterable):
        raise _not_an_output(outputs)
    return tuple(outputs)


def _node_of(output: Any) -> Any:
    if isinstance(output, Variable):
        return output.node
    if not isinstance(output, (VariableNode, FunctionNode)):
        raise _not_an_output(output)
    return output


def _not_an_output(value: Any) -> TypeError:
    return TypeError(
        'build_computational_graph: element of outputs must be either Variable, VariableNode, or FunctionNode, '
        f'got {type(value).__name__}'
    )


def _reached(roots: list[Any]) -> tuple[list[Any], list[tuple[Any, Any]]]:
    """All nodes before some nodes and with them, and the edges between them, in the order of computation."""
    nodes = dict.fromkeys(roots)
    edges: dict[tuple[Any, Any], None] = {}
    stack = list(nodes)
    while stack:
        node = stack.pop()
        for before in _before(node):
            edges[before, node] = None
            if before not in nodes:
                nodes[before] = None
                stack.append(before)
    return sorted(nodes, key=_rank), sorted(edges, key=lambda edge: _rank(edge[1]))


def _before(node: Any) -> Sequence[Any]:
    """What a node was made from: the inputs of a function, the function of a Variable."""
    if isinstance(node, VariableNode):
        creator = node.creator_node
        return () if creator is None else (creator,)
    return [x for x in node.inputs or () if x is not None]


def _rank(node: Any) -> int:
    rank: int = node.rank
    return 2 * rank + isinstance(node, FunctionNode)
