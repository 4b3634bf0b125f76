"""The public view of a node in the graph: Chainer's ``VariableNode``."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from minichainer import backprop
from minichainer._checks import as_raw
from minichainer._leaf_owners import OfConstants, constants_creator
from minichainer.backprop import Node


class VariableNode:
    """The place of a Variable in the graph, which may outlive the Variable.

    It is a view made on demand, and stays the same object while it is referenced: ``y.creator.inputs[0] is x.node``.
    It keeps the graph before it alive, but not the Variable.

    Args:
        variable: the Variable to look at.
        name: the name that the place gets.
    """

    __slots__ = ('_target', '_variable', '_make', '_retained', '__weakref__')

    _target: Node
    _variable: Callable[[], Any]
    _make: Callable[[Any, Node], Any]
    #: The array, if a function retains it.
    _retained: Any

    def __init__(self, variable: Any, name: str | None, **kwargs: Any) -> None:
        if kwargs:
            raise TypeError(f'VariableNode() got unexpected keyword arguments {sorted(kwargs)}')
        self._target = target = variable.edge
        target.name = name
        self._variable = weakref.ref(variable)
        self._make, self._retained = variable.node._make, None

    @property
    def target(self) -> Node:
        """The graph's own node."""
        return self._target

    @property
    def creator_node(self) -> Any:
        """The FunctionNode whose output this is, or None."""
        maker = constants_creator(self._target)
        return creator_of(self._target) if maker is None else maker._as_creator()

    @property
    def creator(self) -> Any:
        """The FunctionNode, or the old-style Function, whose output this is, or None."""
        creator = self.creator_node
        return getattr(creator, 'function', creator)

    def set_creator(self, creator: Any) -> None:
        """Makes its Variable an output of an old-style Function or a FunctionNode."""
        self.set_creator_node(getattr(creator, 'node', creator))

    def set_creator_node(self, creator_node: Any) -> None:
        """Makes its Variable an output of a FunctionNode that has been applied."""
        self.get_variable().set_creator_node(creator_node)

    @property
    def data(self) -> Any:
        """The array if the Variable is alive, or if the function from which this was got retains it; else None."""
        variable = self._variable()
        return self._retained if variable is None else variable.array

    def retain_data(self) -> None:
        """Does nothing: functions keep the arrays that they retain."""

    @property
    def shape(self) -> Any:
        """Shape of the array."""
        return self._target.shape

    @property
    def dtype(self) -> Any:
        """Dtype of the array."""
        return self._target.dtype

    @property
    def name(self) -> str | None:
        """Name of the Variable."""
        return self._target.name

    @name.setter
    def name(self, name: str | None) -> None:
        target: Any = self._target
        target.name = name

    @property
    def label(self) -> str:
        """Shape and dtype as text, for drawings of graphs: ``(2, 3), float32``."""
        if self.shape is None:
            return 'uninitialized'
        sizes = ', '.join(map(str, self.shape))
        return f'({sizes}), {self.dtype}' if sizes else str(self.dtype)

    @property
    def rank(self) -> int:
        """The length of the longest path to it from a leaf."""
        return rank_of(self._target)

    @property
    def requires_grad(self) -> bool:
        """Whether it gets gradients."""
        return self._target.requires_grad

    @property
    def grad(self) -> Any:
        """The stored gradient array, or None."""
        return as_raw(self._target.grad_value)

    @property
    def grad_var(self) -> Any:
        """The stored gradient as a Variable, or None."""
        return self.get_variable().grad_var

    def get_variable(self) -> Any:
        """Its Variable; a new one, with the array if that is retained, if it is not alive."""
        variable = self._variable()
        return self._make(self._retained, self._target) if variable is None else variable

    def get_variable_or_none(self) -> Any:
        """Its Variable, or None if it is not alive."""
        return self._variable()

    def unchain(self) -> None:
        """Disconnects it from the function that made it."""
        cut(self._target)


def creator_of(node: Node) -> Any:
    """The FunctionNode whose output ``node`` is, and from which gradients come; None for leaves."""
    if node.edges is None:
        return None
    return _function_of(node)._as_creator()


def cut(node: Node) -> None:
    """Makes a node a leaf; what only it referenced is released."""
    if isinstance(node, backprop.OutputNode):
        node.edges = None
    elif node.edges is not None:
        node.unchain()  # type: ignore[attr-defined]
    elif isinstance(node, backprop.LeafNode) and constants_creator(node) is not None:
        owner = node.owner()
        node.owner = None if owner is None else weakref.ref(owner)


def all_before(roots: Sequence[Node]) -> set[Node]:
    """All nodes before some nodes, and these; also before functions of constants, which gradients do not reach."""
    found = backprop.reachable(roots)
    waiting = list(found) if OfConstants.exist else []
    while waiting:
        maker = constants_creator(waiting.pop())
        new = backprop.reachable(maker.edges or ()) - found if maker is not None else set()
        found |= new
        waiting += new
    return found


def rank_of(node: Node) -> int:
    """The length of the longest path to a node from a leaf; also through functions of constants."""
    if not OfConstants.exist:
        return node.level
    makers = _makers([node])
    return depth_of(makers[0]) if makers else node.level


def depth_of(function: Any) -> int:
    """One more than the rank of a function; stored with each function on the way, because graphs are sorted by it."""
    waiting = [function]
    while waiting:
        last = waiting[-1]
        before = _makers(last.edges or ())
        missing = [maker for maker in before if maker._depth is None] if last._depth is None else []
        if last._depth is None and not missing:
            last._depth = max([last.level, *[1 + maker._depth for maker in before]])
        if not missing:
            waiting.pop()
        waiting += missing
    depth: int = function._depth
    return depth


def _makers(nodes: Sequence[Node]) -> list[Any]:
    """The functions whose outputs nodes are."""
    found = [constants_creator(node) if node.edges is None else _function_of(node) for node in nodes]
    return [maker for maker in found if maker is not None]


def _function_of(node: Any) -> Any:
    edges: Any = node.edges
    return edges[0] if isinstance(node, backprop.OutputNode) else node


def _no_variable() -> None:
    return None


def view_of(node: Node, make: Callable[[Any, Node], Any], variable: Any = None, array: Any = None) -> VariableNode:
    """The VariableNode of a graph node; there is at most one.

    Args:
        node: the graph's own node.
        make: makes a Variable from an array and a node, if the original is not alive.
        variable: the Variable of the node, if known.
        array: its array, if a function retains it.
    """
    view: VariableNode | None = node.view and node.view()
    if view is None:
        view = VariableNode.__new__(VariableNode)
        view._target, view._make, view._variable, view._retained = node, make, _no_variable, None
        node.view = weakref.ref(view)
    if view._variable() is None:
        if variable is not None:
            view._variable = weakref.ref(variable)
        elif isinstance(node, backprop.LeafNode) and node.owner is not None:
            view._variable = node.owner
    if array is not None:
        view._retained = array
    return view
