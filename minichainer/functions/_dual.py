"""The short form of an op in forward mode: NumPy arrays, nothing recorded, and no hooks.

Each op gets a plan when it is first called so. Anything else is done by ``recorder.apply``; this is a shorter way to
the same result, and measured by ``benchmarks/forward_mode.py``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minichainer import _tangents, configuration
from minichainer.backprop import LeafNode
from minichainer.functions._primitive import Primitive, rule_names
from minichainer.kernels._dispatch import Kernel
from minichainer.variable import Variable, as_variable

_new = object.__new__
_ndarray = numpy.ndarray


class Plan:
    """How results and tangents of an op are computed on NumPy arrays.

    Args:
        spec: an op with a short form.
    """

    __slots__ = ('_compute', '_forms', '_groups', '_is_elementwise', '_is_joint', '_spec')

    def __init__(self, spec: Primitive) -> None:
        self._spec, self._compute = spec, spec.on_numpy
        self._is_elementwise = spec.elementwise
        self._groups = spec.linear_groups
        #: Whether it is linear in all arrays at once.
        self._is_joint = not spec.is_product and any([len(g) == len(spec.arguments) for g in spec.linear_groups])
        self._forms: list[Any] = []
        if spec.elementwise:
            pairs = zip(spec.array_rules, spec.array_evaluators, strict=True)
            self._forms = [_form(spec, rule, evaluators.on_numpy) for rule, evaluators in pairs]

    def run(self, arrays: Sequence[Any], tangents: Sequence[Any], static: tuple[Any, ...]) -> list[tuple[Any, Any]]:
        """The results, each with its tangent or None."""
        spec = self._spec
        spec.check(arrays, static)
        y = self._compute(*arrays, *static)
        if spec.several_outputs:
            return list(zip(y, self._mapped(arrays, tangents, static), strict=True))
        residual = None
        if spec.has_residual:
            y, residual = y
        if type(y) is not _ndarray or y.dtype is not arrays[0].dtype:
            y = spec.as_result(y, arrays[0].dtype)
        if y.dtype.kind not in 'fc':
            return [(y, None)]
        if self._is_elementwise:
            tangent = self._scaled(tangents, (*arrays, y, *static, residual), y)
        else:
            tangent = self._mapped(arrays, tangents, static)
        if type(tangent) is not _ndarray:
            tangent = None if tangent is None else numpy.asarray(tangent, y.dtype)
        elif tangent.dtype is not y.dtype:
            tangent = tangent.astype(y.dtype, copy=False)
        return [(y, tangent)]

    def _scaled(self, tangents: Sequence[Any], values: tuple[Any, ...], y: Any) -> Any:
        """The rules' values for the tangents, summed."""
        total = None
        for tangent, form in zip(tangents, self._forms, strict=True):
            if tangent is not None and form is not None:
                if tangent.shape != y.shape:
                    tangent = numpy.broadcast_to(tangent, y.shape)
                rule, m, pick = form
                part = rule(m, tangent, *pick(values))
                total = part if total is None else total + part
        return total

    def _mapped(self, arrays: Sequence[Any], tangents: Sequence[Any], static: tuple[Any, ...]) -> Any:
        """The op's values for the tangents in place of arrays, summed; see ``functions/_push.py``."""
        if len(arrays) == 1:
            return self._compute(tangents[0], *static)
        if self._is_joint:  # the usual case: all arrays move
            return self._compute(
                *[numpy.zeros_like(x) if t is None else t for x, t in zip(arrays, tangents, strict=True)], *static
            )
        waiting, total = {i for i, t in enumerate(tangents) if t is not None}, None
        for group in [[i] for i in range(len(arrays))] if self._spec.is_product else self._groups:
            moving = waiting.intersection(group)
            waiting -= moving
            if moving:
                xs = [
                    tangents[i] if i in moving else numpy.zeros_like(x) if i in group else x
                    for i, x in enumerate(arrays)
                ]
                part = self._compute(*xs, *static)
                total = part if total is None else total + part
        return total


def _form(spec: Primitive, rule: Any, m: Any) -> Any:
    """A rule, its ``m``, and what selects its arguments from ``(*arrays, y, *static, residual)``."""
    if rule is None:
        return None
    names = rule_names(rule)
    places = [*spec.arguments, 'y', *[p.name for p in spec.static_parameters], 'residual']
    body = rule.body_for(numpy) if isinstance(rule, Kernel) else rule
    if set(names) <= set(places):
        indexes = [places.index(name) for name in names]
        if not indexes:
            return body, m, lambda values: ()
        if len(indexes) == 1:
            (index,) = indexes
            return body, m, lambda values: (values[index],)
        return body, m, _picker(indexes)
    getters = [_getter(spec, places, name) for name in names]
    return body, m, lambda values: [get(values) for get in getters]


def _picker(indexes: list[int]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    return operator.itemgetter(*indexes)


def _getter(spec: Primitive, places: list[str], name: str) -> Callable[[tuple[Any, ...]], Any]:
    if name in places:
        index = places.index(name)
        return lambda values: values[index]
    argument, _, what = name.rpartition('_')
    index = spec.arguments.index(argument)
    return lambda values: getattr(values[index], what)


def applied(
    spec: Primitive, inputs: tuple[Any, ...], static: tuple[Any, ...], level: Any
) -> tuple[Variable, ...] | None:
    """The results of an op with their tangents; None where the general form is needed."""
    silent = _tangents.passes_silently()
    if configuration.nondefault != 1 + silent:
        return None
    arrays, tangents, moves = [], [], False
    for x in inputs:
        if x.__class__ is not Variable:
            x = as_variable(x)
        array = x._data
        edge = x._node or x.edge
        tangent = edge._tangent
        if type(array) is not _ndarray or (edge.requires_grad and not silent):
            return None
        if tangent is not None:
            if type(tangent) is not _ndarray:
                return None
            moves = True
        arrays.append(array)
        tangents.append(tangent)
    if not moves:
        return None
    plan = spec.plan
    if plan is None:
        if spec.is_new:
            spec.check_names()
        plan = spec.plan = Plan(spec)
    found = plan.run(arrays, tangents, static)
    if len(found) == 1:
        ((y, tangent),) = found
        return (_result(y, tangent, level),)
    return tuple([_result(y, tangent, level) for y, tangent in found])


def _result(y: Any, tangent: Any, level: Any) -> Variable:
    """A constant with a tangent."""
    node = _new(LeafNode)  # 0.1 us quicker than LeafNode(y, False), of 4 for an op on a tiny array
    node.requires_grad = False
    node.shape = y.shape
    node.dtype = y.dtype
    node.name = node.grad_value = node.loss_scale = node.view = node._hooks = node.owner = None
    node._tangent, node.guard = None, 0
    if tangent is not None:
        level.put(node, tangent)
    result = _new(Variable)
    result._data = y
    result._node = node
    return result
