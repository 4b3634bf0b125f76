"""How ops are called: arguments and checks by the number of arrays, then a short form of ``recorder.apply``.

The short form handles NumPy arrays, without hooks or debug mode; anything else goes to ``recorder.apply``. This code
runs once per op of every model. So each op has its own copy (:func:`own_copy`), and ``benchmarks/overhead.py``
measures it.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, TypeVar, cast

import numpy

from minichainer import _tangents, _trace, configuration, recorder
from minichainer.backends import cuda
from minichainer.configuration import config
from minichainer.function_hook import get_function_hooks
from minichainer.functions._compiled import compiled_form
from minichainer.functions._dual import applied as dual
from minichainer.functions._node import PrimitiveNode
from minichainer.functions._primitive import Primitive, rule_names
from minichainer.recorder import check_arrays, constant
from minichainer.variable import Variable, as_variable

F = TypeVar('F', bound=Callable[..., Any])
_missing: Any = object()
_new = object.__new__
_numbers = _trace.numbers
_recording = _trace.alone
_ndarray = numpy.ndarray
_float32, _float64 = numpy.dtype('f'), numpy.dtype('d')


def caller(spec: Primitive, cls: type[PrimitiveNode]) -> Callable[..., Any]:
    """The function that applies an op."""
    spec.has_short_form = not (spec.variadic or spec.several_outputs)
    spec.is_direct = _is_direct(spec)
    spec.call = _form(spec, cls)
    return spec.call


def _form(spec: Primitive, cls: type[PrimitiveNode]) -> Callable[..., Any]:
    if spec.several_outputs:
        return own_copy(_several(spec, cls))
    if spec.takes_complex and spec.variadic:
        return _in_full(spec, cls)
    if spec.variadic and not spec.has_numpy_form:
        return own_copy(_variadic(spec, cls))
    if len(spec.arguments) == 1 and not spec.has_residual:
        return own_copy(_unary_with_static(spec, cls) if spec.static_parameters else _unary(spec, cls))
    if len(spec.parameters) == 2 and spec.kinds is not None and not spec.has_residual:
        return own_copy(_binary(spec, cls))
    return own_copy(_general(spec, cls))


def _is_direct(spec: Primitive) -> bool:
    """Whether tangents of all arrays are computed by the rules or the op itself."""
    covered = {i for group in spec.linear_groups for i in group}
    names = {name for rule in spec.rules for name in rule_names(rule)}
    return 'wanted' not in names and any(spec.rules) and (spec.elementwise or len(covered) == len(spec.arguments))


def _unary(spec: Primitive, cls: type[PrimitiveNode]) -> Callable[..., Any]:
    """The call of an op with one array and no static parameters."""
    compute, record, kinds = _computing(spec), own_copy(recorder.record), spec.kinds
    keeps_y, keeps_x, pick = spec.kept == ['y'], spec.kept == spec.arguments, spec.pick
    compiled: Callable[..., Variable | None] | None = compiled_form(spec, cls)

    def call(x: Any) -> Variable:
        if compiled is not None and (result := compiled(x)) is not None:
            return result
        if x.__class__ is not Variable:
            x = as_variable(x)
        array = x._data
        if configuration.nondefault or type(array) is not _ndarray:
            return _apply(spec, cls, (x,), ())[0]
        dtype = array.dtype
        if dtype is not _float32 and dtype is not _float64 and kinds is not None:
            if dtype.kind not in kinds:
                raise spec.wrong_kind(dtype, ())
            if dtype.kind == 'c' and spec.takes_complex:
                return _in_general(cls, (x,), ())
        y = compute(array)
        if type(y) is not _ndarray or y.dtype is not dtype:
            y = spec.as_result(y, dtype)
        edge = x._node or x.edge
        saved = (y,) if keeps_y else (array,) if keeps_x else pick((array, y))
        level = edge.level
        return record(cls, (edge,), level, level, y, saved, ())

    return call


def _unary_with_static(spec: Primitive, cls: type[PrimitiveNode]) -> Callable[..., Any]:
    """The call of an op with one array and static parameters."""
    compute, record, kinds = _computing(spec), own_copy(recorder.record), spec.kinds
    keeps, keeps_y, keeps_x = bool(spec.kept), spec.kept == ['y'], spec.kept == spec.arguments
    pick, pick_static, elementwise = spec.pick, spec.static_picker, spec.elementwise
    count = len(spec.static_parameters)
    compiled: Callable[..., Variable | None] | None = compiled_form(spec, cls)

    def call(x: Any, *static: Any, **named: Any) -> Variable:
        if named or len(static) != count:
            static = spec.static_values(static, named)
        if compiled is not None and (result := compiled(x, *static)) is not None:
            return result
        if x.__class__ is not Variable:
            x = as_variable(x)
        array = x._data
        if configuration.nondefault or type(array) is not _ndarray:
            return _apply(spec, cls, (x,), static)[0]
        dtype = array.dtype
        if dtype is not _float32 and dtype is not _float64 and kinds is not None:
            if dtype.kind not in kinds:
                raise spec.wrong_kind(dtype, static)
            if dtype.kind == 'c' and spec.takes_complex:
                return _in_general(cls, (x,), static)
        y = compute(array, *static)
        if type(y) is not _ndarray or (elementwise and y.dtype is not dtype):
            y = spec.as_result(y, dtype)
        edge = x._node or x.edge
        if not keeps:
            saved = ()
        elif pick_static is not None:
            saved = pick_static(static)
        else:
            saved = (y,) if keeps_y else (array,) if keeps_x else pick((array, y, *static))
        level = edge.level
        return record(cls, (edge,), level, level, y, saved, static)

    return call


def _binary(spec: Primitive, cls: type[PrimitiveNode]) -> Callable[..., Any]:
    """The call of an op with two arrays and no static parameters."""
    compute, record, mixed, elementwise = _computing(spec), own_copy(recorder.record), spec.mixed, spec.elementwise
    keeps, keeps_both, pick = bool(spec.kept), spec.kept == spec.arguments, spec.pick
    compiled: Callable[..., Variable | None] | None = compiled_form(spec, cls)

    def call(x: Any = _missing, other: Any = _missing, **named: Any) -> Variable:
        if compiled is not None and (result := compiled(x, other)) is not None:
            return result
        if x.__class__ is not Variable or other.__class__ is not Variable:
            if other is _missing or named:
                x, other = spec.bound(tuple([v for v in (x, other) if v is not _missing]), named)
            if mixed is not None and not (isinstance(x, Variable) and isinstance(other, Variable)):
                return mixed(x, other)
            x, other = as_variable(x), as_variable(other)
        arrays = array, operand = x._data, other._data
        if configuration.nondefault or type(array) is not _ndarray or type(operand) is not _ndarray:
            return _apply(spec, cls, (x, other), ())[0]
        dtype = array.dtype
        if dtype is not operand.dtype or (dtype is not _float32 and dtype is not _float64):
            spec.check(arrays, ())
            if spec.takes_complex and 'c' in (dtype.kind, operand.dtype.kind):
                return _in_general(cls, (x, other), ())
        elif (
            elementwise
            and (shape := array.shape) != (repeated := operand.shape)
            and shape[len(shape) - len(repeated) :] != repeated  # the usual case, without a further call
        ):
            spec.check_shapes(arrays, ())
        y = compute(array, operand)
        if type(y) is not _ndarray or y.dtype is not dtype:
            y = spec.as_result(y, dtype)
        edge0, edge1 = x._node or x.edge, other._node or other.edge
        level, lowest = edge0.level, edge1.level
        if level < lowest:
            level, lowest = lowest, level
        saved = arrays if keeps_both else pick((array, operand, y)) if keeps else ()
        return record(cls, (edge0, edge1), level, lowest, y, saved, ())

    return call


def _general(spec: Primitive, cls: type[PrimitiveNode]) -> Callable[..., Any]:
    """The call of an op with any number of arrays and one output."""
    compute, record, checks = _computing(spec), own_copy(recorder.record), spec.kinds is not None
    takes_floats = 'f' in (spec.kinds or '')
    has_residual, keeps, keep = spec.has_residual, bool(spec.kept), spec.keep
    count, variadic = len(spec.static_parameters), spec.variadic
    arity, pick = -1 if variadic else len(spec.parameters), None if variadic else spec.input_picker
    pick_static = spec.static_picker
    compiled: Callable[..., Variable | None] | None = compiled_form(spec, cls)

    def call(*args: Any, **named: Any) -> Variable:
        if named or len(args) != arity:
            args = spec.bound(args, named)
        if compiled is not None and (result := compiled(*args)) is not None:
            return result
        split = len(args) - count
        inputs, static = args[:split], args[split:]
        if not inputs:
            return _apply(spec, cls, inputs, static)[0]
        arrays: list[Any] = []
        places, level, lowest = [], 0, 1
        dtype, shape, agree = None, None, takes_floats
        for x in inputs:
            if not isinstance(x, Variable):
                x = as_variable(x)
            array = x._data
            if type(array) is not _ndarray or configuration.nondefault:
                return _apply(spec, cls, inputs, static)[0]
            edge = x._node or x.edge
            if edge.level > level:
                level = edge.level
            elif not edge.level:
                lowest = 0
            if array.dtype is not dtype or array.shape != shape:
                agree = agree and dtype is None
                dtype, shape = array.dtype, array.shape
            arrays.append(array)
            places.append(edge)
        if checks and not (agree and (dtype is _float32 or dtype is _float64)):
            spec.check(arrays, static)
        dtype, residual = arrays[0].dtype, None
        y = compute(*arrays, *static)
        if has_residual:
            y, residual = y
        if type(y) is not _ndarray or y.dtype is not dtype:
            y = spec.as_result(y, dtype)
        if not keeps:
            saved = ()
        elif pick_static is not None:
            saved = pick_static(static)
        else:
            saved = pick(arrays) if pick is not None else keep(arrays, y, static, residual)
        return record(cls, tuple(places), level, lowest, y, saved, static)

    return call


def _variadic(spec: Primitive, cls: type[PrimitiveNode]) -> Callable[..., Any]:
    """The call of an op with any number of arrays, static parameters by name, and one output."""
    compute, record, names = functools.partial(spec.body, numpy), own_copy(recorder.record), spec.static_names
    checks, has_residual = spec.kinds is not None, spec.has_residual
    keeps, keep, pick_static = bool(spec.kept), spec.keep, spec.static_picker
    compiled: Callable[..., Variable | None] | None = compiled_form(spec, cls)

    def call(*inputs: Any, **named: Any) -> Any:
        if compiled is not None and (result := compiled(*inputs, **named)) is not None:
            return result
        if tuple(named) != names:
            named = dict(zip(names, spec.static_values((), named), strict=True))
        static, arrays, places, level, lowest = tuple(named.values()), [], [], 0, 1
        for x in inputs:
            if not isinstance(x, Variable):
                x = as_variable(x)
            array = x._data
            if type(array) is not _ndarray or configuration.nondefault:
                return _apply(spec, cls, inputs, static)[0]
            edge = x._node or x.edge
            if edge.level > level:
                level = edge.level
            elif not edge.level:
                lowest = 0
            arrays.append(array)
            places.append(edge)
        if spec.is_new or not inputs:
            return _apply(spec, cls, inputs, static)[0]
        if checks:
            spec.check(arrays, static)
        y, residual = compute(*arrays, **named), None
        if has_residual:
            y, residual = y
        if type(y) is not _ndarray:
            y = spec.as_result(y, arrays[0].dtype)
        saved = () if not keeps else pick_static(static) if pick_static else keep(arrays, y, static, residual)
        return record(cls, tuple(places), level, lowest, y, saved, static)

    return call


def _several(spec: Primitive, cls: type[PrimitiveNode]) -> Callable[..., Any]:
    """The call of an op with several outputs."""
    compute, record, checks = _computing(spec), own_copy(recorder.record_several), spec.kinds is not None
    has_residual, keeps, keep, pick_static = spec.has_residual, bool(spec.kept), spec.keep, spec.static_picker
    variadic, arity, count = spec.variadic, len(spec.parameters), len(spec.static_parameters)
    compiled: Callable[..., tuple[Variable, ...] | None] | None = compiled_form(spec, cls)

    def call(*args: Any, **named: Any) -> Any:
        if not variadic and (named or len(args) != arity):
            args, named = spec.bound(args, named), {}
        if compiled is not None and (results := compiled(*args, **named)) is not None:
            return results
        if variadic:
            args = spec.bound(args, named)
        split = len(args) - count
        inputs, static = args[:split], args[split:]
        arrays, places, level, lowest = [], [], 0, 1
        for x in inputs:
            if not isinstance(x, Variable):
                x = as_variable(x)
            array = x._data
            if type(array) is not _ndarray or configuration.nondefault:
                return _apply(spec, cls, inputs, static)
            edge = x._node or x.edge
            if edge.level > level:
                level = edge.level
            elif not edge.level:
                lowest = 0
            arrays.append(array)
            places.append(edge)
        if checks:
            spec.check(arrays, static)
        node = _new(cls)
        node.static = static
        outputs, residual = compute(*arrays, *static), None
        if has_residual:
            outputs, residual = outputs
        if not isinstance(outputs, tuple) or not all([type(y) is _ndarray for y in outputs]):
            outputs = recorder.as_outputs(node, outputs if isinstance(outputs, tuple) else (outputs,))
        saved = () if not keeps else pick_static(static) if pick_static else keep(arrays, outputs, static, residual)
        return record(node, tuple(places), level, lowest, outputs, saved)

    return call


def _in_full(spec: Primitive, cls: type[PrimitiveNode]) -> Callable[..., Any]:
    """The call of an op that has no short form."""

    def call(*args: Any, **named: Any) -> Any:
        args = spec.bound(args, named)
        split = len(args) - len(spec.static_parameters)
        return _apply(spec, cls, args[:split], args[split:])[0]

    return call


def own_copy(function: F) -> F:
    """A copy of the function with its own code object, so that the interpreter specializes the code for one op."""
    given: Any = function
    code = given.__code__.replace()
    copy = types.FunctionType(code, given.__globals__, given.__name__, given.__defaults__, given.__closure__)
    return cast('F', copy)


def _computing(spec: Primitive) -> Callable[..., Any]:
    """The forward body on NumPy arrays; the first call also looks up the names in the rules."""
    if not spec.is_new:
        return spec.on_numpy

    def compute(*args: Any) -> Any:
        if spec.is_new:
            spec.check_names()
        return spec.on_numpy(*args)

    return compute


class _Unwatched:
    """Takes the place of the module ``configuration`` in the short form that a profile calls."""

    nondefault = 0


_unwatched = {**globals(), 'configuration': _Unwatched, '_in_general': lambda *_: None}


def _timed(trace: Any, spec: Primitive, inputs: tuple[Any, ...], static: tuple[Any, ...]) -> Variable | None:
    """The op's short form with times, for a profile that asks for nothing else; None where there is none."""
    for x in inputs:
        if x.__class__ is not Variable or type(x._data) is not _ndarray:
            return None
    short = spec.short_form
    if short is None:
        call: Any = spec.call  # not the function that users call, which may be a wrapper of it
        short = spec.short_form = types.FunctionType(call.__code__, _unwatched, closure=call.__closure__)
    begin = perf_counter_ns()
    result: Variable | None = short(*inputs, *static)
    end = perf_counter_ns()
    if result is None:  # complex numbers
        return None
    seq = next(_numbers)
    trace.rows.append(('forward', spec.name, begin, end, seq))
    node: Any = result._node
    if node.level:
        node._seq = seq
    return result


def _in_general(cls: type[PrimitiveNode], inputs: tuple[Any, ...], static: tuple[Any, ...]) -> Variable:
    """The general form for complex arrays; the node finds that they are."""
    node = _new(cls)
    if static:
        node.static = static
    return node.apply(inputs)[0]


def _recorded(node: PrimitiveNode, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """The outputs of a node that is not in the graph; a recording of this thread gets a row."""
    trace = _trace.current()
    if trace is None:
        return node.forward(arrays)
    return trace.forward(node, arrays, lambda: node.forward(arrays))


def _apply(
    spec: Primitive, cls: type[PrimitiveNode], inputs: tuple[Any, ...], static: tuple[Any, ...]
) -> tuple[Variable, ...]:
    """The general form: hooks, debug mode, GPU arrays, several outputs; no graph if ``enable_backprop`` is off."""
    trace = _recording() if spec.has_short_form else None
    if trace is not None and (result := _timed(trace, spec, inputs, static)) is not None:
        return (result,)
    level = _tangents.current()
    if level is not None and spec.is_direct and (results := dual(spec, inputs, static, level)) is not None:
        return results
    node = _new(cls)
    if static:
        node.static = static
    if configuration.nondefault and not (config.enable_backprop or config.debug or get_function_hooks() or level):
        variables = [as_variable(x) for x in inputs]
        arrays = tuple([x._data for x in variables])
        check_arrays(arrays, node.label)
        needs_grad = any([x.requires_grad for x in variables])
        with cuda.get_device_from_array(*arrays):
            needs_grad = needs_grad and not config.constant_results
            return tuple([constant(y, needs_grad) for y in _recorded(node, arrays)])
    return node.apply(inputs)
