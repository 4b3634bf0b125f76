"""Parts of :mod:`minichainer.function_node`: its names, gradients as Variables, hooks of one function."""

from __future__ import annotations

import weakref
from typing import Any

from minichainer._checks import as_raw
from minichainer.backend import copied
from minichainer.backends import number_arrays
from minichainer.configuration import count_nondefault
from minichainer.variable import Variable, variable_on

#: The attributes of an application, which a copy for another application does not get.
OF_APPLICATION = {
    'edges', 'level', 'shape', 'dtype', 'name', 'grad_value', 'loss_scale', 'view', '_hooks', '_tangent',
    'output_count', 'stack', '_seq', 'saved', '_prints', '_input_indexes_to_retain', '_output_indexes_to_retain',
    '_output_nodes', '_output_kinds', '_owners', '_input_views', '_depth', 'index_edge',
}  # fmt: skip


#: Names of the graph that a program may have for something of its own: those that Chainer's nodes have not.
OF_GRAPH = frozenset(
    """
    _applied_edges _as_creator _check_gradient _check_types _checked _depth _free _gradients _hooks _input_places
    _input_views _keep_own _kept_of_all _output_kinds _output_node _output_nodes _output_view _owners _per_edge
    _present _prints _pushforward _reads _release _saved_name _tangent _unapplied _upstream_variables
    _views_of_inputs _wanted _wanted_gradients backward_arrays closed_over dtype edges grad_value input_arrays keep
    level loss_scale name output_count pullback pullback_variables requires_grad saved shape take_from_outputs
    takes_any_layout view
    """.split()
)
#: Those that classes define in the meaning that they have here.
FOR_CLASSES = frozenset('_pushforward backward_arrays closed_over takes_any_layout'.split())


def kept_inputs(node: Any) -> Any:
    """What a node retains of its inputs."""
    return node.saved[: len(node._input_indexes_to_retain or ())]


def kept_outputs(node: Any) -> Any:
    """What a node retains of its outputs."""
    return node.saved[len(node._input_indexes_to_retain or ()) :]


def with_numbers(gradient: Any) -> Any:
    """A Variable that a user's backward has made from a plain array of numbers, with an array of their class."""
    if not isinstance(gradient, Variable) or number_arrays.adopted(gradient._data) is gradient._data:
        return gradient
    return Variable(number_arrays.adopted(gradient._data))


class GraphNode:
    """Finds the node of the graph from that of the program, without a cycle of references.

    Args:
        node: of the graph.
    """

    def __init__(self, node: Any) -> None:
        self._node = weakref.ref(node)

    def __call__(self) -> Any:
        node = self._node()
        if node is None:
            raise RuntimeError('the graph of this node has been freed: keep one of its outputs')
        return node


class Unreferenced:
    """Stands for an output that is not referenced; it is freed at once, so a weak reference to it is dead."""


class LocalHooks(dict):  # type: ignore[type-arg]
    """The hooks of one function; subtracts its share of the count when the function is freed."""

    def __del__(self) -> None:
        if self and count_nondefault is not None:
            count_nondefault(-len(self))


def contiguous_gradient(g: Any) -> Any:
    """The gradient, an array or a Variable in the graph, with a C-contiguous array."""
    array = as_raw(g)
    if array.flags.c_contiguous:
        return g
    array = copied(array)
    return variable_on(array, g.edge) if isinstance(g, Variable) else array


def as_gradient_variable(gradient: Any) -> Any:
    """A gradient as a Variable; None stays."""
    if gradient is None or isinstance(gradient, Variable):
        return gradient
    return Variable(gradient, requires_grad=False)


def sum_of(new: Any, present: Any) -> Any:
    """The sum of two gradients, of which one or both may be None."""
    if new is None or present is None:
        return present if new is None else new
    return present + new
