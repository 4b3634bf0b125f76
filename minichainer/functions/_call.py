"""The ways to call an op and to go backward through it, cheapest first.

Each does what ``FunctionNode.apply`` and ``DefinedNode.receive`` do, for the usual case of NumPy arrays with nothing
watching; for anything else it calls them. These lines run once per op of every model: they are written out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from minichainer import configuration
from minichainer.backend import get_array_module
from minichainer.backends import cuda
from minichainer.backprop import Node, deposit
from minichainer.configuration import config
from minichainer.function_hook import get_function_hooks
from minichainer.function_node import check_arrays
from minichainer.functions._node import DefinedNode, Spec, conform, rule_names
from minichainer.variable import Variable, as_variable

_new = object.__new__
_missing: Any = object()
_ndarray = numpy.ndarray
_float32, _float64 = numpy.dtype('f'), numpy.dtype('d')


def caller(spec: Spec, cls: type[DefinedNode]) -> Callable[..., Any]:
    """The function that applies an op."""
    if spec.arguments == ['x']:
        return _static_unary_caller(spec, cls) if spec.static_parameters else _unary_caller(spec, cls)
    if len(spec.rules) == 2 and not spec.static_parameters:
        return _binary_caller(spec, cls)
    return _general_caller(spec, cls)


def _apply(spec: Spec, cls: type[DefinedNode], inputs: tuple[Any, ...], static: tuple[Any, ...]) -> Variable:
    """The full way: first time, hooks, debug mode, GPU arrays; and no graph where ``enable_backprop`` is off."""
    if spec.is_new:
        spec.check_names()
    variables = [as_variable(x) for x in inputs]
    if configuration.nondefault and not (config.enable_backprop or config.debug or get_function_hooks()):
        arrays = tuple([x._data for x in variables])
        check_arrays(arrays, spec.label(static))
        if cuda.available:
            with cuda.get_device_from_array(*arrays):
                y = spec.compute(arrays, static)
        else:
            y = spec.compute(arrays, static)
        return _without_graph(y, any([x.requires_grad for x in variables]))
    node = _new(cls)
    if static:
        node.static = static
    return node.apply(variables)[0]


def _without_graph(array: Any, requires_grad: bool = False) -> Variable:
    if not requires_grad:
        return Variable(array, requires_grad=False)
    result = _new(Variable)
    result._data = array
    return result


def _general_caller(spec: Spec, cls: type[DefinedNode]) -> Callable[..., Any]:
    count = len(spec.rules)

    def call(*args: Any, **kwargs: Any) -> Variable:
        if len(args) < count:
            args = spec.arrays_of(args, kwargs)
        static = spec.static_values(args[count:], kwargs)
        variables = [x if type(x) is Variable else as_variable(x) for x in args[:count]]
        if configuration.nondefault or spec.is_new:
            return _apply(spec, cls, tuple(variables), static)
        arrays = [x._data for x in variables]
        for array in arrays:
            if type(array) is not _ndarray:
                return _apply(spec, cls, tuple(variables), static)
        y = spec.compute(arrays, static)
        edges = tuple([x._node or x.edge for x in variables])
        for edge in edges:
            if edge.requires_grad:
                break
        else:
            return _without_graph(y)
        node = _new(cls)
        node.edges = edges
        level = 0
        for edge in edges:
            if edge.level > level:
                level = edge.level
        node.level = level + 1
        node.shape = y.shape
        node.dtype = y.dtype
        node.static = static
        if spec.kept:
            node.saved = spec.keep(arrays, y, static)
        result = _new(Variable)
        result._data = y
        result._node = node
        return result

    return call


def _unary_caller(spec: Spec, cls: type[DefinedNode]) -> Callable[..., Any]:
    compute, kept, kinds = spec.on_numpy, spec.kept, spec.kinds
    keeps_x = kept == spec.arguments
    keeps_y = kept == ['y']

    def call(x: Any) -> Variable:
        if x.__class__ is not Variable:
            x = as_variable(x)
        array = x._data
        if configuration.nondefault or spec.is_new or type(array) is not _ndarray:
            return _apply(spec, cls, (x,), ())
        dtype = array.dtype
        if dtype is not _float32 and dtype is not _float64 and dtype.kind not in kinds:
            raise spec.wrong_kind(dtype, ())
        y = compute(array)
        if type(y) is not _ndarray or y.dtype is not dtype:
            y = spec.as_result(y, dtype)
        source = x._node
        if source is None:
            source = x.edge
        if not source.requires_grad:
            return _without_graph(y)
        node = _new(cls)
        node.edges = (source,)
        node.level = source.level + 1
        node.shape = y.shape
        node.dtype = y.dtype
        if keeps_y:
            node.saved = (y,)
        elif keeps_x:
            node.saved = (array,)
        elif kept:
            node.saved = spec.keep((array,), y, ())
        result = _new(Variable)
        result._data = y
        result._node = node
        return result

    return call


def _static_unary_caller(spec: Spec, cls: type[DefinedNode]) -> Callable[..., Any]:
    compute, kept, kinds, count = spec.on_numpy, spec.kept, spec.kinds, len(spec.static_parameters)

    def call(x: Any, *static: Any, **kwargs: Any) -> Variable:
        if kwargs or len(static) != count:
            static = spec.static_values(static, kwargs)
        if type(x) is not Variable:
            x = as_variable(x)
        array = x._data
        if configuration.nondefault or spec.is_new or type(array) is not _ndarray:
            return _apply(spec, cls, (x,), static)
        dtype = array.dtype
        if dtype is not _float32 and dtype is not _float64 and dtype.kind not in kinds:
            raise spec.wrong_kind(dtype, static)
        y = compute(array, *static)
        if type(y) is not _ndarray or y.dtype is not dtype:
            y = spec.as_result(y, dtype)
        source = x._node
        if source is None:
            source = x.edge
        if not source.requires_grad:
            return _without_graph(y)
        node = _new(cls)
        node.edges = (source,)
        node.level = source.level + 1
        node.shape = y.shape
        node.dtype = y.dtype
        node.static = static
        if kept:
            node.saved = spec.keep((array,), y, static)
        result = _new(Variable)
        result._data = y
        result._node = node
        return result

    return call


def _binary_caller(spec: Spec, cls: type[DefinedNode]) -> Callable[..., Any]:
    compute, mixed, elementwise = spec.on_numpy, spec.mixed, spec.elementwise
    keeps, keeps_both = bool(spec.kept), spec.kept == spec.arguments

    def call(x0: Any = _missing, x1: Any = _missing, **named: Any) -> Variable:
        if x0.__class__ is not Variable or x1.__class__ is not Variable:
            if x0 is _missing or x1 is _missing or named:
                x0, x1 = spec.arrays_of(tuple([x for x in (x0, x1) if x is not _missing]), named)
            if mixed is not None and not (isinstance(x0, Variable) and isinstance(x1, Variable)):
                return mixed(x0, x1)
            x0, x1 = as_variable(x0), as_variable(x1)
        array0, array1 = x0._data, x1._data
        if configuration.nondefault or spec.is_new or type(array0) is not _ndarray or type(array1) is not _ndarray:
            return _apply(spec, cls, (x0, x1), ())
        dtype = array0.dtype
        if dtype is not array1.dtype or (dtype is not _float32 and dtype is not _float64):
            spec.check_dtypes((array0, array1), ())
        unequal = not elementwise or array0.shape != array1.shape
        if unequal and elementwise:
            spec.check_shapes((array0, array1), ())
        y = compute(array0, array1)
        if type(y) is not _ndarray or y.dtype is not dtype:
            y = spec.as_result(y, dtype)
        source0 = x0._node or x0.edge
        source1 = x1._node or x1.edge
        if not (source0.requires_grad or source1.requires_grad):
            return _without_graph(y)
        node = _new(cls)
        node.edges = (source0, source1)
        level0, level1 = source0.level, source1.level
        node.level = (level0 if level0 > level1 else level1) + 1
        node.shape = y.shape
        node.dtype = y.dtype
        if keeps_both:
            node.saved = (array0, array1)
        elif keeps:
            node.saved = spec.keep((array0, array1), y, ())
        if unequal:
            node.broadcasts = True
        result = _new(Variable)
        result._data = y
        result._node = node
        return result

    return call


def unary_receive(spec: Spec) -> Callable[..., None]:
    """Ordinary backward of an op with one array, whose rule takes what is saved and nothing else."""
    rule: Any = spec.rules[0]
    evaluators, reshapes, saves_one = spec.evaluators[0], not spec.elementwise, len(spec.kept) == 1
    on_numpy = evaluators.on_numpy

    def receive(self: Any, gradient: Any, table: dict[Node, Any], owned: set[Node]) -> None:
        m = on_numpy if type(gradient) is _ndarray else evaluators.on(get_array_module(gradient))
        saved = self.saved
        gx = rule(m, gradient, saved[0]) if saves_one else rule(m, gradient, *saved)
        (edge,) = self.edges
        if type(gx) is not _ndarray or gx.dtype is not edge.dtype or (reshapes and gx.shape != edge.shape):
            gx = conform(gx, edge, self)
        if table[edge] is None:
            table[edge] = gx
        else:
            deposit(gx, edge, table, owned)

    return receive


def binary_receive(spec: Spec) -> Callable[..., None]:
    """Ordinary backward of an op with two arrays, whose rules take what is saved and nothing else."""
    rule0, rule1 = (_on_saved(spec, index) for index in range(2))
    evaluators0, evaluators1 = spec.evaluators
    on_numpy0, on_numpy1 = evaluators0.on_numpy, evaluators1.on_numpy

    def receive(self: Any, gradient: Any, table: dict[Node, Any], owned: set[Node]) -> None:
        xp = None if type(gradient) is _ndarray else get_array_module(gradient)
        edge0, edge1 = self.edges
        saved, broadcasts = self.saved, self.broadcasts
        if edge0 in table:
            gx = rule0(on_numpy0 if xp is None else evaluators0.on(xp), gradient, *saved)
            if broadcasts or type(gx) is not _ndarray or gx.dtype is not edge0.dtype:
                gx = conform(gx, edge0, self)
            if table[edge0] is None:
                table[edge0] = gx
            else:
                deposit(gx, edge0, table, owned)
        if edge1 in table:
            gx = rule1(on_numpy1 if xp is None else evaluators1.on(xp), gradient, *saved)
            if broadcasts or type(gx) is not _ndarray or gx.dtype is not edge1.dtype:
                gx = conform(gx, edge1, self)
            if table[edge1] is None:
                table[edge1] = gx
            else:
                deposit(gx, edge1, table, owned)

    return receive


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
