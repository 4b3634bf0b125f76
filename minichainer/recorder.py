"""The recorder: makes an applied function a node of the graph.

There are two entries. :func:`apply` is the general one: any function, any arrays, hooks and debug mode.
:func:`record` is a shorter one for built-in functions on NumPy arrays, without hooks and debug mode; it omits what
cannot occur then, and is measured by ``benchmarks/overhead.py``.

    apply            inputs as Variables, one kind of array, layout, type checks, forward (device, hooks, debug mode)
    assemble         saved arrays, edges, level, outputs, Variables
    record           assemble, inlined for one output
    record_several   the same for several outputs

No other module adds nodes to the graph. Whatever watches the recording is called here: hooks, debug mode, tracing,
forward mode, the packing of saved arrays (``assemble``), and the prints that detect modified arrays.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minichainer import _inplace, _tangents, _tape, _trace, backprop, configuration
from minichainer._checks import array_types
from minichainer._inplace import prints_of, whole_prints_of
from minichainer._leaf_owners import OfConstants
from minichainer._observers import call_hook, hooks_of, is_nan, nan_error, records_stacks, users_stack
from minichainer._push import push
from minichainer._saved import Packed
from minichainer.backend import copied
from minichainer.backends import cuda, number_arrays
from minichainer.backprop import OutputNode
from minichainer.configuration import config, put_counted
from minichainer.variable import Variable, as_variable, variable_on

_new, _reference = object.__new__, weakref.ref
_arrays = array_types()
_exposed = _inplace.exposed
_settings = vars(configuration.global_config)


def apply(node: Any, inputs: Sequence[Any]) -> tuple[Variable, ...]:
    """Applies a function to Variables or arrays; documented in ``FunctionNode.apply``."""
    if node.edges is not None or '_in_graph' in node.__dict__:
        node = node._unapplied()
    if inputs.__class__ is not tuple and isinstance(inputs, (Variable, *_arrays)):  # not its rows
        raise _not_a_tuple(node.label, inputs)
    if node._is_users:
        node = node._apart()
    variables = [as_variable(x) for x in inputs]
    arrays = tuple([x._data for x in variables])
    check_arrays(arrays, node.label, inputs)
    if not node.takes_any_layout:
        arrays = tuple([x if x is None or x.flags.c_contiguous else copied(x) for x in arrays])
    node._check_types(arrays)
    if cuda.several:
        with cuda.get_device_from_array(*arrays):
            outputs = forward(node, arrays)
    else:
        outputs = forward(node, arrays)
    if node._is_users:
        node = node._apart()  # forward has set names of the graph
    variables += node.closed_over
    level = _tangents.current() if configuration.nondefault else None
    if level is not None:
        tangents = _tangents.tangents_of([x.edge for x in variables])
        if tangents is not None:
            return _apply_in_forward_mode(level, tangents, node, variables, arrays, outputs)
    needs_grad = any([x.requires_grad for x in variables])
    if not configuration.nondefault or config.enable_backprop:
        if needs_grad:
            return assemble(node, variables, arrays, outputs)
        if config.record_constants if configuration.nondefault else _settings['record_constants']:
            saved = node._keep_own(arrays, outputs)
            node._release()
            return of_constants(node, [x.edge for x in variables], outputs, saved)
    node._release()
    needs_grad = needs_grad and not config.constant_results
    return tuple([constant(y, needs_grad) for y in outputs])


def _apply_in_forward_mode(
    level: Any, tangents: list[Any], node: Any, variables: Sequence[Variable], arrays: Any, outputs: Any
) -> tuple[Variable, ...]:
    """The last part of :func:`apply` where an input has a tangent."""
    needs_grad = any([x.requires_grad for x in variables])
    records = needs_grad and config.enable_backprop
    results = assemble(node, variables, arrays, outputs)
    on_variables = records or (config.enable_backprop and any([getattr(t, 'requires_grad', False) for t in tangents]))
    with _tangents.computing():
        found = push(node, tangents, on_variables)
    if not records:
        needs_grad = needs_grad and not config.constant_results
        results = tuple([constant(y, needs_grad) for y in outputs])
    if not on_variables:
        node.edges = None
        node._release()
    for y, tangent in zip(results, found, strict=True):
        if tangent is not None and y._data.dtype.kind in 'fc':
            level.put(y.edge, tangent)
    return results


def assemble(
    node: Any, variables: Sequence[Variable], arrays: Sequence[Any], outputs: Sequence[Any]
) -> tuple[Variable, ...]:
    """Adds a function to the graph, between its inputs and the Variables of its outputs.

    Args:
        node: the function.
        variables: its inputs.
        arrays: the arrays that forward got.
        outputs: the arrays that forward returned.
    """
    node.edges = tuple([x.edge for x in variables])
    saved = node.saved = node.keep(arrays, outputs)
    if saved:
        pack = _packing.hooks[-1] if configuration.nondefault and _packing.hooks else None
        if pack is not None:
            node.saved = Packed(saved, *pack)
        elif configuration.nondefault and _checks_all():
            node._prints = whole_prints_of(saved)
        else:
            node._prints = prints_of(saved, node.edges, node._input_places)
    node.level = 1 + max([edge.level for edge in node.edges], default=0)
    return _results_of(node, outputs)


def _results_of(node: Any, outputs: Sequence[Any]) -> tuple[Variable, ...]:
    """The Variables of a function's outputs; where there are several, each has a node of its own."""
    node.output_count = len(outputs)
    if len(outputs) == 1:
        y = outputs[0]
        node.shape, node.dtype = getattr(y, 'shape', None), getattr(y, 'dtype', None)
        result = variable_on(y, node)
        node._owners = (_reference(result),)
        return (result,)
    edges, level = (node,), node.level
    results, places, kinds, owners = [], [], [], []
    for i, y in enumerate(outputs):
        kind = (None, None) if y is None else (y.shape, y.dtype)
        place = OutputNode(edges, level, i, kind)
        result = _new(Variable)
        result._data = y
        result._node = place
        results.append(result)
        places.append(_reference(place))
        kinds.append(kind)
        owners.append(_reference(result))
    node._output_nodes, node._output_kinds, node._owners = tuple(places), tuple(kinds), tuple(owners)
    return tuple(results)


def record(
    cls: Any, edges: tuple[Any, ...], level: int, lowest: int, y: Any, saved: tuple[Any, ...], static: tuple[Any, ...]
) -> Variable:
    """The short form: makes the Variable of an output that is already computed.

    Args:
        cls: the function's class; no ``__init__`` is called.
        edges: where its inputs stand.
        level: the highest level among these.
        lowest: the lowest level among these.
        y: the output, a NumPy array.
        saved: what backward needs, in the order that the class wants.
        static: the arguments that are not arrays.
    """
    if not level:  # outputs of functions always require a gradient
        for edge in edges:
            if edge.requires_grad:
                break
        else:
            if not _settings['record_constants']:
                return Variable(y, requires_grad=False)
            node = _new(cls)
            node.static = static
            return of_constants(node, edges, (y,), node._own(saved))[0]
    node = _new(cls)
    node.edges = edges
    node.level = level + 1
    node.shape = y.shape
    node.dtype = y.dtype
    if saved:
        node.saved = saved
        if not lowest or _exposed:
            node._prints = prints_of(saved, edges, cls._input_places)
    if static:
        node.static = static
    result = _new(Variable)
    result._data = y
    result._node = node
    return result


def record_several(
    node: Any, edges: tuple[Any, ...], level: int, lowest: int, outputs: Sequence[Any], saved: tuple[Any, ...]
) -> tuple[Variable, ...]:
    """The short form for several outputs; the function exists already, the rest is as in :func:`record`."""
    if not level and not any([edge.requires_grad for edge in edges]):
        if _settings['record_constants']:
            return of_constants(node, edges, outputs, node._own(saved))
        return tuple([Variable(y, requires_grad=False) for y in outputs])
    node.edges = edges
    node.level = level + 1
    if saved:
        node.saved = saved
        if not lowest or _exposed:
            node._prints = prints_of(saved, edges, node._input_places)
    return _results_of(node, outputs)


def of_constants(
    node: Any, edges: Sequence[Any], outputs: Sequence[Any], saved: tuple[Any, ...]
) -> tuple[Variable, ...]:
    """Makes a function of constants known to its results, which stay leaves: passes do not notice it.

    Args:
        node: the function.
        edges: the leaves of its inputs.
        outputs: its outputs, arrays.
        saved: what its attributes are read from.
    """
    results, places = [], []
    for y in outputs:
        result = Variable(y, requires_grad=False)
        leaf: Any = result._node
        leaf.owner = OfConstants.made_by(node, result)
        results.append(result)
        places.append(_reference(leaf))
    node.edges, node.level, node.saved = tuple(edges), 1, saved  # ranks are computed when somebody asks
    node.output_count, node._output_nodes = len(places), tuple(places)
    node._owners = tuple(map(_reference, results))
    kinds = [(y.edge.shape, y.edge.dtype) for y in results]
    if len(kinds) == 1:
        ((node.shape, node.dtype),) = kinds
    else:
        node._output_kinds = kinds
    return tuple(results)


class _Packing(threading.local):
    """The hooks of a thread that pack saved arrays: pairs of functions (pack, unpack); the last one counts."""

    def __init__(self) -> None:
        self.hooks: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = []


_packing = _Packing()


def packing_depth() -> int:
    """How many pairs of hooks that pack saved arrays this thread has."""
    return len(_packing.hooks)


def begin_packing(pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> None:
    """Makes functions save what ``pack`` makes of an array; backward calls ``unpack``.

    Args:
        pack: takes an array, returns anything.
        unpack: takes what ``pack`` returned, returns the array.
    """
    end = slice(packing_depth(), None)
    put_counted(_packing.hooks, end, ((pack, unpack),))


def end_packing(depth: int) -> None:
    """Removes the hooks that pack saved arrays, except for the first ``depth`` pairs."""
    put_counted(_packing.hooks, slice(depth, None), (), min(depth - packing_depth(), 0))


def _checks_all() -> bool:
    """Whether saved arrays are compared in full."""
    return bool(config.debug or config.check_inplace == 'error')


def constant(array: Any, requires_grad: bool = False) -> Variable:
    """The Variable of an array outside the graph; its leaf is made on demand if it may get a gradient."""
    if not requires_grad:
        return Variable(array, requires_grad=False)
    result = _new(Variable)
    result._data = array
    return result


# --- forward -------------------------------------------------------------------------------------------------------
def forward(node: Any, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """The outputs of a function, with hooks and debug mode."""
    if not configuration.nondefault:
        return _forward(node, arrays)
    if _tangents.current() is None:
        return _watched_forward(node, arrays)
    with _tangents.computing():  # a user's forward may apply functions, whose tangents are not wanted
        return _watched_forward(node, arrays)


def _forward(node: Any, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """Runs forward, and checks its outputs."""
    return as_outputs(node, node.forward(arrays))


def as_outputs(node: Any, outputs: Any) -> tuple[Any, ...]:
    """What a function's forward has returned, as arrays; TypeError for anything else."""
    if type(outputs) is not tuple:
        raise TypeError(
            f'forward output must be a tuple ({node.label})\nExpect: a tuple of arrays\n'
            f'Actual: {type(outputs).__name__}'
        )
    if not all([isinstance(y, _arrays) for y in outputs]):
        outputs = tuple([_as_output(node, y) for y in outputs])
    return tuple(map(number_arrays.adopted, outputs)) if number_arrays.in_use else outputs


def _as_output(node: Any, y: Any) -> Any:
    """An output as an array, or None: NumPy returns scalars for 0-d results."""
    if y is None:
        return None
    if isinstance(y, numpy.generic):
        return numpy.asarray(y)
    if not isinstance(y, _arrays):
        raise TypeError(
            f'forward outputs must be arrays ({node.label})\nExpect: numpy.ndarray or cupy.ndarray\n'
            f'Actual: {type(y).__name__}'
        )
    return y


def _watched_forward(node: Any, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """Runs forward with hooks and debug mode."""
    hooks, trace = hooks_of(node), _trace.current()
    for hook in hooks:
        call_hook(hook, 'forward_preprocess', node, arrays)
    compute = functools.partial(_forward, node, arrays)
    outputs = compute() if trace is None else trace.forward(node, arrays, compute)
    for hook in hooks:
        call_hook(hook, 'forward_postprocess', node, arrays)
    if records_stacks():
        node.stack = users_stack()
        if config.debug and any(is_nan(y) for y in outputs):
            raise nan_error(node, 'forward')
    return outputs


# --- inputs --------------------------------------------------------------------------------------------------------
def check_arrays(arrays: tuple[Any, ...], op: str, inputs: Sequence[Any] | None = None) -> None:
    """Raises TypeError if inputs of an op are not arrays, or are on CPU and GPU at once.

    Args:
        arrays: the arrays of the inputs.
        op: its name.
        inputs: the inputs as they were given, where None is allowed.
    """
    on_cpu = [isinstance(x, numpy.ndarray) for x in arrays]
    if all(on_cpu):
        return
    for i, x in enumerate(arrays):
        if x is None and (inputs is None or inputs[i] is not None):
            raise uninitialized(op, i)
    arrays = tuple([x for x in arrays if x is not None])
    on_cpu = [isinstance(x, numpy.ndarray) for x in arrays]
    if all(on_cpu):
        return
    if any(on_cpu) or not all(isinstance(x, cuda.ndarray) for x in arrays):
        kinds = ', '.join(f'{type(x).__module__}.{type(x).__name__}' for x in arrays)
        raise TypeError(
            f'inputs of {op} must be arrays of one kind\nExpect: all numpy.ndarray or all '
            f'cupy.ndarray\nActual: {kinds}\nMove them to one device, for example by x.to_device(model.device)'
        )


def _not_a_tuple(op: str, inputs: Any) -> TypeError:
    """The error for one input that is not in a tuple."""
    shape = inputs.shape if getattr(inputs, 'array', inputs) is not None else None
    return TypeError(
        f'{op}.apply: expected a tuple of Variables or arrays, got {type(inputs).__name__} of shape {shape}\n'
        'Write apply((x,)), the comma makes the tuple'
    )


def uninitialized(op: str, index: int) -> Exception:
    """The error for an input without an array."""
    from minichainer.errors import UninitializedParameterError

    return UninitializedParameterError(
        f'{op}\nExpect: an array as input {index}\nActual: an uninitialized Parameter or Variable(None)\n'
        'Call its initialize(shape), or call its link once with data'
    )


if _tape.native is not None:
    _tape.native.install(
        Variable, backprop.LeafNode, OutputNode, vars(configuration), _exposed, _inplace.clock, _inplace.check,
        backprop._AT_OUTPUTS, backprop._enter, backprop._sum_of,
    )  # fmt: skip
