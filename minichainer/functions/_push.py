"""Tangents of ops, from the same rule as their gradients.

    elementwise ops    the Jacobian is diagonal: the rules, with the tangent in place of the upstream gradient
    linear maps        the op itself, applied to the tangent; products are linear in each array, given the others
    reductions         the gradient for an upstream gradient of ones, times the tangent, is summed in the same way

Everything else is differentiated twice (``minichainer/_push.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minichainer import ops
from minichainer.backend import get_array_module
from minichainer.variable import Variable, variable_on


def elementwise(node: Any, tangents: Sequence[Any], variables: bool) -> list[Any]:
    """The tangent of an elementwise op."""
    spec, total = node.spec, None
    node.wanted_inputs = tuple([t is not None for t in tangents])
    for i, tangent in enumerate(tangents):
        if tangent is None or spec.rules[i] is None:
            continue
        if tangent.shape != node.shape:
            tangent = _ops(tangent).broadcast_to(tangent, node.shape)
        part = node.scaled(i, tangent, variables)
        total = part if total is None else total + part
    return [None if total is None else _fitted(node, total)]


def reduction(node: Any, tangents: Sequence[Any], variables: bool) -> list[Any]:
    """The tangent of a reduction, whose elements depend on different elements of the input."""
    (tangent,) = tangents
    axis, keepdims = node.static
    node.wanted_inputs = (True,)
    ones: Any = get_array_module(tangent).ones(node.shape, node.dtype)
    slope = node.scaled(0, Variable(ones, requires_grad=False) if variables else ones, variables)
    return [_fitted(node, _ops(tangent).sum(slope * tangent, axis, keepdims))]


def linear(node: Any, tangents: Sequence[Any], variables: bool) -> Sequence[Any]:
    """The tangents of an op that is linear in groups of its arrays, given the others."""
    waiting = {i for i, t in enumerate(tangents) if t is not None}
    arrays, totals = node.input_arrays(), [None] * node.output_count
    for group in groups_of(node):
        moving = waiting.intersection(group)
        waiting -= moving
        if moving:
            xs = [_argument(node, i, group, tangents, arrays, i in moving, variables) for i in range(len(tangents))]
            parts = _applied(node, xs, variables)
            totals = [_sum_of(a, b) for a, b in zip(totals, parts, strict=True)]
    return totals


def is_linear_in(node: Any, tangents: Sequence[Any]) -> bool:
    """Whether an op is linear in all arrays that have a tangent."""
    covered = {i for group in groups_of(node) for i in group}
    return all([t is None or i in covered for i, t in enumerate(tangents)])


def groups_of(node: Any) -> list[Any]:
    """The groups of arrays, by number, in which an op is linear; all arrays at once where it takes any number."""
    spec = node.spec
    if not spec.variadic:
        groups: list[Any] = spec.linear_groups
        return groups
    every = range(len(node.edges))
    return [[i] for i in every] if spec.is_product else [every] if spec.linear_groups else []


def _argument(
    node: Any, i: int, group: Any, tangents: Sequence[Any], arrays: Sequence[Any], moves: bool, variables: bool
) -> Any:
    """What stands in the place of an array: its tangent, zeros if only others of its group move, or itself."""
    if moves:
        return tangents[i]
    edge = node.edges[i]
    if i in group:
        xp = get_array_module(next(getattr(t, '_data', t) for t in tangents if t is not None))
        zeros = xp.zeros(edge.shape, edge.dtype)
        return Variable(zeros, requires_grad=False) if variables else zeros
    return variable_on(arrays[i], edge) if variables else arrays[i]


def _applied(node: Any, xs: Sequence[Any], variables: bool) -> Sequence[Any]:
    """The op of a node, with the same static arguments, applied to other arrays."""
    if variables:
        other = object.__new__(type(node))
        other.static = node.static
        return tuple(other.apply(xs))
    y, _ = node.spec.compute(xs, node.static)
    return y if isinstance(y, tuple) else (y,)


def _sum_of(x: Any, y: Any) -> Any:
    if x is None:
        return y
    total = x + y
    return numpy.asarray(total) if isinstance(total, numpy.generic) else total


def _ops(value: Any) -> Any:
    """The ops for a Variable, or for arrays."""
    return ops.built_in.on_variables if isinstance(value, Variable) else ops.raw(get_array_module(value))


def _fitted(node: Any, tangent: Any) -> Any:
    """A tangent with the dtype of the result; an array where NumPy gave a scalar."""
    if isinstance(tangent, numpy.generic):
        tangent = numpy.asarray(tangent)
    return tangent if tangent.dtype == node.dtype else _ops(tangent).cast(tangent, node.dtype)
