"""The graph's nodes and the backward pass over them; no op, no Variable is known here.

An edge of the graph is a node: a :class:`LeafNode`, a function with one output (the function is its own edge), or
an :class:`OutputNode`, one of several outputs of a function. Every node has

``edges``    the nodes its gradient flows on to; None for a leaf and for what has been cut off by ``unchain``
``level``    0 for a leaf, else one more than the highest level among its edges, given when the function is applied;
             backward goes from high to low (Chainer's order, so hooks see functions in the same order)
``requires_grad``, ``shape``, ``dtype``, ``name``   of the array that stood here
``grad_value``  the gradient kept here: None, an array, or a Variable

A pass owns one table ``{node: gradient}``, which is also its set of visited nodes. So passes may nest and run in
several threads, and an exception leaves every ``.grad`` as it was: leaves are written once, at the end.
"""

from __future__ import annotations

import bisect
import sys
import threading
from collections.abc import Iterable
from typing import Any

import numpy

from minichainer._checks import as_raw
from minichainer._observers import observers
from minichainer.backend import copied
from minichainer.backends import cuda

_commit_lock = threading.Lock()


class Node:
    """What an edge of the graph leads to."""

    __slots__ = ()

    edges: tuple[Node, ...] | None
    level: int
    requires_grad: bool
    shape: Any
    dtype: Any
    name: str | None
    grad_value: Any
    loss_scale: Any
    view: Any

    def receive(self, gradient: Any, table: dict[Node, Any], owned: set[Node]) -> None:
        """Passes the gradient of an ordinary (first-order) pass on to the edges."""
        raise NotImplementedError

    def receive_variable(self, gradient: Any, table: dict[Node, Any]) -> None:
        """Passes the gradient of a differentiable pass, a Variable, on to the edges."""
        raise NotImplementedError


class LeafNode(Node):
    """The node of a Variable that no function made."""

    __slots__ = ('requires_grad', 'shape', 'dtype', 'name', 'grad_value', 'loss_scale', 'view', '__weakref__')

    edges = None
    level = 0

    def __init__(self, array: Any, requires_grad: bool, name: str | None = None) -> None:
        self.requires_grad = requires_grad
        self.name = name
        self.grad_value = self.loss_scale = self.view = None
        self.describe(array)

    def describe(self, array: Any) -> None:
        """Takes shape and dtype of ``array``; both are None while there is none."""
        self.shape, self.dtype = (None, None) if array is None else (array.shape, array.dtype)


class OutputNode(Node):
    """One of several outputs of a function; it collects its gradient on the function's behalf."""

    __slots__ = (
        'edges', 'level', 'index', 'shape', 'dtype', 'name', 'grad_value', 'loss_scale', 'view', '__weakref__'
    )  # fmt: skip

    requires_grad = True

    def __init__(self, function: Any, index: int, array: Any) -> None:
        self.edges = (function,)
        self.index = index
        self.level = function.level
        self.shape, self.dtype = array.shape, array.dtype
        self.name = self.grad_value = self.loss_scale = self.view = None

    def receive(self, gradient: Any, table: dict[Node, Any], owned: set[Node]) -> None:
        self.receive_variable(gradient, table)

    def receive_variable(self, gradient: Any, table: dict[Node, Any]) -> None:
        function: Any = self.edges[0]  # type: ignore[index]
        if function in table:
            if table[function] is None:
                table[function] = [None] * function.output_count
            table[function][self.index] = gradient


def deposit(gradient: Any, node: Node, table: dict[Node, Any], owned: set[Node]) -> None:
    """Adds a gradient array to what has reached ``node`` so far.

    The first one may be somebody else's array and is kept by reference; the second makes a new array, which the
    pass owns; from the third on that one is added to in place.
    """
    present = table[node]
    if present is None:
        table[node] = gradient
    elif cuda.available:
        with cuda.get_device_from_array(gradient):
            _add(gradient, present, node, table, owned)
    else:
        _add(gradient, present, node, table, owned)


def _add(gradient: Any, present: Any, node: Node, table: dict[Node, Any], owned: set[Node]) -> None:
    if node in owned:
        present += gradient
    else:
        table[node] = total(present, gradient)
        owned.add(node)


def total(present: Any, gradient: Any) -> Any:
    """The sum of two gradients, arrays or Variables; an array also where NumPy makes a scalar of two without axes."""
    added = present + gradient
    return numpy.asarray(added) if isinstance(added, numpy.generic) else added


def reachable(roots: Iterable[Node], ends: Iterable[Node] = ()) -> tuple[list[Node], dict[Node, Any]]:
    """Everything that gradients of ``roots`` can reach, in time proportional to it.

    Args:
        roots: where gradients begin.
        ends: places beyond which they do not go, as if those were leaves.

    Returns:
        The nodes with edges, those to go through first at the end; and the table, all of its values None.
    """
    table: dict[Node, Any] = dict.fromkeys(ends)
    # Only levels that occur: those of a graph whose beginning unchain has cut off are high, and get ever higher.
    levels: dict[int, list[Node]] = {}
    waiting: list[int] = []  # the keys not gone through yet, in ascending order
    outputs: dict[int, list[Node]] = {}
    for node in roots:
        if node not in table:
            table[node] = None
            if node.edges is not None:
                _enter(node, table, levels, waiting, outputs)
    nodes: list[Node] = []
    while waiting:
        number = waiting.pop()
        level = levels[number]
        for node in level:
            for edge in node.edges:  # type: ignore[union-attr]
                if edge in table:
                    continue
                if edge.edges is None:
                    if edge.requires_grad:
                        table[edge] = None
                    continue
                table[edge] = None
                if edge.level in levels and edge.__class__ is not OutputNode:
                    levels[edge.level].append(edge)
                else:
                    _enter(edge, table, levels, waiting, outputs)
        if number in outputs:
            nodes += reversed(outputs[number])
        nodes += level
    nodes.reverse()
    return nodes, table


def _enter(
    node: Node, table: dict[Node, Any], levels: dict[int, list[Node]], waiting: list[int],
    outputs: dict[int, list[Node]],
) -> None:  # fmt: skip
    """Puts a node on its level; for one of several outputs its function, after all outputs of the level."""
    if node.__class__ is OutputNode:
        outputs.setdefault(node.level, []).append(node)
        node = node.edges[0]  # type: ignore[index]
        if node in table:
            return
        table[node] = None
    number = node.level
    if number in levels:
        levels[number].append(node)
        return
    levels[number] = [node]
    if waiting and waiting[-1] > number:
        bisect.insort(waiting, number)
    else:
        waiting.append(number)


def leading_to(
    targets: Iterable[Node], nodes: list[Node], table: dict[Node, Any]
) -> tuple[list[Node], dict[Node, Any]]:
    """The part of :func:`reachable`'s result that lies on a way to one of ``targets``."""
    needed = {node for node in targets if node in table}
    on_way = []
    for node in nodes:
        if not needed.isdisjoint(node.edges):  # type: ignore[arg-type]
            needed.add(node)
            on_way.append(node)
    return on_way, {node: None for node in table if node in needed}


def run(nodes: list[Node], table: dict[Node, Any]) -> None:
    """An ordinary pass: raw arrays, nothing watched. Leaves alone remain in the table; ``nodes`` is used up."""
    if cuda.available:
        run_watched(nodes, table, False, None, [])
        return
    owned: set[Node] = set()
    while nodes:
        node = nodes.pop()
        gradient = table.pop(node)
        if gradient is not None:
            node.receive(gradient, table, owned)


def run_watched(
    nodes: list[Node], table: dict[Node, Any], variables: bool, keep: Any, watchers: list[Any]
) -> dict[Node, Any]:
    """A pass with anything beyond :func:`run`: Variables as gradients, gradients kept, hooks, debug mode, devices.

    A node and its watchers run on the device of its gradient.

    Args:
        nodes: as from :func:`reachable`; used up.
        table: as from :func:`reachable`, with the roots' gradients; leaves alone remain.
        variables: the gradients are Variables, and how they come about is recorded in the graph.
        keep: the nodes whose gradients are wanted; ``all`` for every one, None for none.
        watchers: called as ``watcher(node, gradient, table)`` before each step; each returns None or a function
            to be called after the step.

    Returns:
        The gradients of the nodes in ``keep``.
    """
    kept: dict[Node, Any] = {}
    owned: set[Node] = set()
    while nodes:
        node = nodes.pop()
        gradient = table.pop(node)
        if gradient is None:
            continue
        if keep is all or (keep is not None and node in keep):
            kept[node] = gradient
        if cuda.available:
            with cuda.get_device_from_array(*(gradient if type(gradient) is list else (gradient,))):
                _step(node, gradient, table, owned, variables, watchers)
        else:
            _step(node, gradient, table, owned, variables, watchers)
    return kept


def _step(
    node: Node, gradient: Any, table: dict[Node, Any], owned: set[Node], variables: bool, watchers: list[Any]
) -> None:
    after = [watcher(node, gradient, table) for watcher in watchers]
    if variables:
        node.receive_variable(gradient, table)
    else:
        node.receive(gradient, table, owned)
    for done in filter(None, after):
        done()


# A gradient that nothing else refers to may become a leaf's own without a copy. How many references the
# interpreter itself holds to what one local name stands for is measured, because it differs between versions.
_references = getattr(sys, 'getrefcount', lambda _: sys.maxsize)


def _references_of_a_local(table: dict[int, Any]) -> int:
    _, gradient = table.popitem()
    references: int = _references(gradient)
    return references


_UNSHARED = _references_of_a_local({0: numpy.empty(1)}) if hasattr(sys, 'getrefcount') else 0


def take_own(table: dict[Node, Any], node: Node) -> Any:
    """Takes a gradient array out of the table; C-contiguous, and sharing memory with nothing."""
    gradient = table.pop(node)
    if gradient is None or type(gradient) is list:
        return gradient
    if _references(gradient) > _UNSHARED or gradient.base is not None or not gradient.flags.c_contiguous:
        return copied(gradient)
    return gradient


def commit_arrays(table: dict[Node, Any], loss_scale: Any = None) -> None:
    """Ends an ordinary pass: adds what has reached the leaves to their ``.grad``; uses the table up."""
    with _commit_lock:
        while table:  # once per parameter of every model: take_own, written out
            leaf, gradient = table.popitem()
            if gradient is None:
                continue
            if _references(gradient) > _UNSHARED or gradient.base is not None or not gradient.flags.c_contiguous:
                gradient = copied(gradient)
            present = leaf.grad_value
            leaf.grad_value = gradient if present is None else _added(as_raw(present), gradient)
            leaf.loss_scale = loss_scale


def _added(present: Any, gradient: Any) -> Any:
    with cuda.get_device_from_array(gradient):
        gradient += present  # the gradient is the pass's own by now, the present one may be the user's
    return gradient


def commit_variables(table: dict[Node, Any], loss_scale: Any = None) -> None:
    """Ends a differentiable pass."""
    with _commit_lock:
        for leaf, gradient in table.items():
            if gradient is not None:
                present = leaf.grad_value
                leaf.grad_value = gradient if present is None else present + gradient
                leaf.loss_scale = loss_scale


def propagate(
    roots: list[tuple[Node, Any]], retain_grad: bool = False, variables: bool = False, loss_scale: Any = None
) -> None:
    """Runs a whole pass from ``roots`` to the leaves, and adds what has reached them to their ``.grad``.

    Args:
        roots: nodes and their gradients: arrays, or Variables in a differentiable pass.
        retain_grad: nodes that are no leaves keep their gradients too.
        variables: make the pass differentiable.
        loss_scale: noted in the leaves, for optimizers.
    """
    nodes, table = reachable([node for node, _ in roots])
    seed(roots, table)
    watchers = observers()
    kept: dict[Node, Any] = {}
    if variables or retain_grad or watchers:
        kept = run_watched(nodes, table, variables, all if retain_grad else None, watchers)
    else:
        run(nodes, table)
    for root, _ in roots:
        root.grad_value = None
    keep(kept)
    (commit_variables if variables else commit_arrays)(table, loss_scale)


def seed(roots: list[tuple[Node, Any]], table: dict[Node, Any]) -> None:
    """Puts the initial gradients into the table; those of one node add up."""
    for node, gradient in roots:
        if node in table and gradient is not None:
            present = table[node]
            with cuda.get_device_from_array(gradient):
                table[node] = gradient if present is None else total(present, gradient)


def keep(gradients: dict[Node, Any]) -> None:
    """Stores the gradients of nodes that are no leaves."""
    for node, gradient in gradients.items():
        if not isinstance(gradient, list):  # the gradients of a function's outputs stand at the outputs
            node.grad_value = gradient
