"""The ways to call an op and to go backward through it, cheapest first.

Each does what ``FunctionNode.apply`` and ``DefinedNode.pullback`` do, for the usual case of NumPy arrays with nothing
watching; for anything else it calls them. These lines run once per op of every model: they are written out.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

import types
import numpy

from minichainer import configuration, ops
from minichainer.backend import get_array_module
from minichainer.backprop import Node
from minichainer.configuration import config
from minichainer.function_hook import get_function_hooks
from minichainer.functions._node import DefinedNode, Spec, rule_names
from minichainer.recorder import check_arrays, constant, record
from minichainer.variable import Variable, as_variable

_missing: Any = object()
_new = object.__new__
_ndarray = numpy.ndarray
_float32, _float64 = numpy.dtype('f'), numpy.dtype('d')


def caller(spec: Spec, cls: type[DefinedNode]) -> Callable[..., Any]:
    """The function that applies an op: the short way to a node, for NumPy arrays with nothing watching.

    It does what ``FunctionNode.apply`` does then; for anything else it calls that.
    """
    compute, mixed, elementwise = spec.on_numpy, spec.mixed, spec.elementwise
    count, arity = len(spec.rules), len(spec.parameters)
    keeps_y, keeps_inputs, keeps = spec.kept == ['y'], spec.kept == spec.arguments, bool(spec.kept)

    def call(*args: Any, **kwargs: Any) -> Variable:
        if kwargs or len(args) != arity:
            args = spec.bound(args, kwargs)
        if count == 1:
            x = args[0]
            if x.__class__ is not Variable:
                x = as_variable(x)
            array = x._data
            if configuration.nondefault or type(array) is not _ndarray:
                return _apply(spec, cls, (x,), args[1:])
            dtype = array.dtype
            if dtype is not _float32 and dtype is not _float64:
                spec.check((array,), args[1:])
            y = compute(array) if arity == 1 else compute(array, *args[1:])
            inputs: tuple[Any, ...] = (array,)
            edges: tuple[Any, ...] = (x._node or x.edge,)
            level = edges[0].level
        elif count == 2:
            x, other = args[0], args[1]
            if x.__class__ is not Variable or other.__class__ is not Variable:
                if mixed is not None and not (isinstance(x, Variable) and isinstance(other, Variable)):
                    return mixed(x, other)
                x, other = as_variable(x), as_variable(other)
            inputs = array, operand = x._data, other._data
            if configuration.nondefault or type(array) is not _ndarray or type(operand) is not _ndarray:
                return _apply(spec, cls, (x, other), args[2:])
            dtype = array.dtype
            if dtype is not operand.dtype or (dtype is not _float32 and dtype is not _float64):
                spec.check(inputs, args[2:])
            elif elementwise and array.shape != operand.shape:
                spec.check_shapes(inputs, args[2:])
            y = compute(array, operand) if arity == 2 else compute(array, operand, *args[2:])
            edges = (x._node or x.edge, other._node or other.edge)
            level, level1 = edges[0].level, edges[1].level
            if level1 > level:
                level = level1
        else:
            variables = [as_variable(x) for x in args[:count]]
            inputs = tuple([x._data for x in variables])
            if configuration.nondefault or any([type(x) is not _ndarray for x in inputs]):
                return _apply(spec, cls, tuple(variables), args[count:])
            dtype = inputs[0].dtype
            spec.check(inputs, args[count:])
            y = compute(*inputs, *args[count:])
            edges = tuple([x._node or x.edge for x in variables])
            level = max([edge.level for edge in edges])
        if type(y) is not _ndarray or y.dtype is not dtype:
            y = spec.as_result(y, dtype)
        if not level and not any([edge.requires_grad for edge in edges]):
            return constant(y)
        node = _new(cls)
        node.edges = edges
        node.level = level + 1
        node.shape = y.shape
        node.dtype = y.dtype
        if keeps_y:
            node.saved = (y,)
        elif keeps_inputs:
            node.saved = inputs
        elif keeps:
            node.saved = spec.keep(inputs, y, args[count:])
        if arity > count:
            node.static = args[count:]
        result = _new(Variable)
        result._data = y
        result._node = node
        return result

    return own_copy(call)


def own_copy(function: Any) -> Any:
    """The function with code of its own: the interpreter adapts code to what passes through it, here to one op."""
    code = function.__code__.replace()
    return types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)


def _apply(spec: Spec, cls: type[DefinedNode], inputs: tuple[Any, ...], static: tuple[Any, ...]) -> Variable:
    """The full way: hooks, debug mode, GPU arrays; and no graph where ``enable_backprop`` is off."""
    variables = [as_variable(x) for x in inputs]
    if configuration.nondefault and not (config.enable_backprop or config.debug or get_function_hooks()):
        arrays = tuple([x._data for x in variables])
        check_arrays(arrays, spec.label(static))
        return constant(spec.compute(arrays, static), any([x.requires_grad for x in variables]))
    node = _new(cls)
    if static:
        node.static = static
    return node.apply(variables)[0]


def unary_pullback(spec: Spec) -> Callable[..., Any]:
    """Ordinary backward of an op with one array, whose rule takes what is saved and nothing else."""
    rule: Any = spec.rules[0]
    on_numpy, reshapes, saves_one = ops.on_numpy, not spec.elementwise, len(spec.kept) == 1

    def pullback(self: Any, gradient: Any, wanted: Container[Node] | None, table: Any) -> Sequence[Any]:
        m = on_numpy if type(gradient) is _ndarray else ops.raw(get_array_module(gradient))
        saved = self.saved
        gx = rule(m, gradient, saved[0]) if saves_one else rule(m, gradient, *saved)
        return (self.conform(gx, self.edges[0]) if reshapes else gx,)

    return own_copy(pullback)


def binary_pullback(spec: Spec) -> Callable[..., Any]:
    """Ordinary backward of an op with two arrays, whose rules take what is saved and nothing else."""
    rule0, rule1 = (_on_saved(spec, index) for index in range(2))
    on_numpy = ops.on_numpy

    def pullback(self: Any, gradient: Any, wanted: Container[Node] | None, table: Any) -> Sequence[Any]:
        m = on_numpy if type(gradient) is _ndarray else ops.raw(get_array_module(gradient))
        edge0, edge1 = self.edges
        saved = self.saved
        g0 = g1 = None
        if edge0.level or edge0.requires_grad if wanted is None else edge0 in wanted:
            g0 = rule0(m, gradient, *saved)
            if g0.shape != edge0.shape:
                g0 = self.conform(g0, edge0)
        if edge1.level or edge1.requires_grad if wanted is None else edge1 in wanted:
            g1 = rule1(m, gradient, *saved)
            if g1.shape != edge1.shape:
                g1 = self.conform(g1, edge1)
        return g0, g1

    return own_copy(pullback)


def _on_saved(spec: Spec, index: int) -> Any:
    """A rule as a function of ``(m, gy, *saved)``."""
    rule: Any = spec.rules[index]
    if spec.takes_saved[index]:
        return rule
    places = [spec.kept.index(name) for name in rule_names(rule)]
    if places == [0] and len(spec.kept) == 2:
        return lambda m, gy, first, second: rule(m, gy, first)
    if places == [1] and len(spec.kept) == 2:
        return lambda m, gy, first, second: rule(m, gy, second)
    return lambda m, gy, *saved: rule(m, gy, *[saved[place] for place in places])
