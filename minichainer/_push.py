"""Tangents of one function: the entry, and the general method; most ops have another (``functions/_push.py``).

And tangents of a recorded graph, for any number of directions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from minichainer import _tangents
from minichainer._checks import as_raw
from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.backprop import LeafNode, Node, OutputNode, between
from minichainer.configuration import using_config
from minichainer.differentiate import grad
from minichainer.variable import Variable, as_variable


@on_device_of_arguments
def push(node: Any, tangents: Sequence[Any], variables: bool, lenient: bool = False) -> list[Any]:
    """The tangents of a function's outputs.

    Args:
        node: the function, applied.
        tangents: those of its inputs: arrays or Variables; None for an input without.
        variables: the computation is recorded, and the results are Variables; else they are arrays.
        lenient: a user's function without ``jvp`` is differentiated twice.

    Returns:
        One per output; None for an output without.

    Raises:
        NotImplementedError: a user's function has no ``jvp``.
    """
    convert: Any = as_variable if variables else as_raw
    given = [None if t is None else convert(t) for t in tangents]
    with using_config('enable_backprop', variables):
        try:
            found = node._pushforward(given, variables)
        except NotImplementedError:
            if not lenient:
                raise
            found = by_double_backward(node, given, variables)
    return [None if t is None else convert(t) for t in found]


def pushed_through(
    outputs: Sequence[Node], inputs: Sequence[Node], directions: Iterable[Sequence[Any]], variables: bool
) -> Iterator[list[Any]]:
    """For each direction, the tangents of the outputs of a recorded graph; None for an output that does not move.

    Args:
        outputs: the nodes where the graph ends.
        inputs: the nodes where it begins.
        directions: in each a tangent for every input, or None for an input that does not move.
        variables: as in :func:`push`.
    """
    nodes = between(outputs, inputs, inputs)
    functions: list[Any] = [node for node in nodes if node.edges is not None and node.__class__ is not OutputNode]
    functions = sorted(set(functions).difference(inputs), key=lambda node: node.level)
    for direction in directions:
        table = {x: t for x, t in zip(inputs, direction, strict=True) if t is not None}
        for node in functions:
            _push_through(node, table, variables)
        yield [table.get(y) for y in outputs]


def _push_through(node: Any, table: dict[Any, Any], variables: bool) -> None:
    """Adds the tangents of a function's outputs to those in the table."""
    given = [table.get(edge) for edge in node.edges]
    if any([t is not None for t in given]):
        places = [node] if node.output_count == 1 else [place() for place in node._output_nodes]
        for place, tangent in zip(places, push(node, given, variables, True), strict=True):
            if tangent is not None and place is not None:
                table[place] = tangent


def by_double_backward(node: Any, tangents: Sequence[Any], variables: bool) -> list[Any]:
    """The tangents of a function's outputs, by two backward passes.

    The gradients :math:`J^T u` are linear in :math:`u`, so their own gradient with respect to :math:`u`, for upstream
    gradients :math:`v`, is :math:`J v`. Any :math:`u` would do; it is 1, because 0 times an infinite slope is NaN.

    Raises:
        RuntimeError: backward is not differentiable.
    """
    _tangents.note_double_backward(node.label)
    xp = get_array_module(*[as_raw(t) for t in tangents if t is not None])
    places = [node] if node.output_count == 1 else [place() for place in node._output_nodes]
    us = [_ones(xp, place) if place is not None and place.dtype.kind in 'fc' else None for place in places]
    edges = node.edges
    # A rule may differentiate a composition of its inputs, so these must require gradients.
    pairs = list(zip(edges, tangents, strict=True))
    node.edges = tuple([e if t is None or e.requires_grad else LeafNode(e, requires_grad=True) for e, t in pairs])
    try:
        moving = {edge for edge, t in zip(node.edges, tangents, strict=True) if t is not None}
        pulled = node.pullback_variables(us if len(us) > 1 else us[0], moving, {})
    finally:
        node.edges = edges
    pairs = [(g, as_variable(t)) for g, t in zip(pulled, tangents, strict=True) if g is not None and t is not None]
    given = [u for u in us if u is not None]
    found = grad([g for g, _ in pairs], given, [t for _, t in pairs], enable_double_backprop=variables)
    if all([t is None for t in found]) and any([bool((g._data != 0).any()) for g, _ in pairs]):
        raise RuntimeError(
            f'forward mode: backward of {node.label} is not differentiable, so its tangents are unknown\n'
            'Rewrite it so that backward computes on Variables (an old-style Function as a FunctionNode), or as an '
            'autograd.Function with jvp'
        )
    results = iter(found)
    return [None if u is None else next(results) for u in us]


def _ones(xp: Any, place: Any) -> Variable:
    return Variable(xp.ones(place.shape, place.dtype))
