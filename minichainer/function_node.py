"""FunctionNode: a differentiable function, applied once, as a node of the graph."""

from __future__ import annotations

import copy
import functools
import weakref
from collections.abc import Container, Sequence
from typing import Any

from minichainer import _tangents, recorder
from minichainer._forgotten import explained
from minichainer._leaf_owners import OfConstants
from minichainer._node_parts import (
    FOR_CLASSES,
    OF_APPLICATION,
    OF_GRAPH,
    GraphNode,
    LocalHooks,
    Unreferenced,
    as_gradient_variable,
    contiguous_gradient,
    kept_inputs,
    kept_outputs,
    sum_of,
    with_numbers,
)
from minichainer._pass_table import Parts, Stored
from minichainer._push import by_double_backward
from minichainer._saved import Freed, has_arrays
from minichainer.backends import cuda, number_arrays
from minichainer.backprop import Node, OutputNode
from minichainer.configuration import config, using_config
from minichainer.differentiate import grad as grad
from minichainer.errors import ReturnedGradientError
from minichainer.function_hook import FunctionHook, add_counted_hook, delete_counted_hook
from minichainer.utils import type_check
from minichainer.variable import Variable, variable_on
from minichainer.variable_node import cut, depth_of, view_of

_PACKAGE = f'{__name__.partition(".")[0]}.'


class FunctionNode(Node):
    """Base class of differentiable functions.

    A subclass defines :meth:`forward` on arrays and :meth:`backward` on Variables; it is made for one application.

    >>> import numpy as np, minichainer as chainer
    >>> class Cube(chainer.FunctionNode):
    ...     def forward(self, inputs):
    ...         self.retain_inputs((0,))
    ...         x, = inputs
    ...         return x ** 3,
    ...     def backward(self, target_input_indexes, grad_outputs):
    ...         x, = self.get_retained_inputs()
    ...         gy, = grad_outputs
    ...         return 3 * x * x * gy,
    >>> x = chainer.Variable(np.array(2.))
    >>> y, = Cube().apply((x,))
    >>> y.backward()
    >>> x.grad
    array(12.)
    """

    # The state of a node before it is applied; subclasses need not call __init__.
    edges: tuple[Node, ...] | None = None
    level = 0
    requires_grad = True
    shape: Any = None
    dtype: Any = None
    name: str | None = None
    grad_value: Any = None
    loss_scale: Any = None
    view: Any = None
    _hooks: Any = None
    _tangent: Any = None
    output_count = 1
    #: In debug mode, the stack where the function was applied (:class:`traceback.StackSummary`).
    stack: Any = None
    #: Its number in recordings of a profiler; None if none was running when it was applied.
    _seq: int | None = None
    #: If False, :meth:`forward` and :meth:`backward` get C-contiguous arrays, whatever layout the kernels use.
    takes_any_layout = False
    is_elementwise = False
    lazy_grad_sum = False

    #: Further Variables that receive gradients: those on which forward found the outputs to depend.
    closed_over: Sequence[Variable] = ()
    #: What backward needs: the retained inputs, then the retained outputs.
    saved: Any = ()
    #: Some bytes of what is saved, to detect modifications (:mod:`minichainer._inplace`).
    _prints: Any = None
    #: Which saved values are inputs: pairs (place in :attr:`saved`, number of the input); None if that is not known.
    _input_places: Any = None
    _input_indexes_to_retain: tuple[int, ...] | None = None
    _output_indexes_to_retain: tuple[int, ...] | None = None
    _output_nodes: tuple[Any, ...] = ()
    #: Shapes and dtypes of several outputs.
    _output_kinds: Sequence[tuple[Any, Any]] = ()
    _owners: tuple[Any, ...] = ()
    _local_hooks: Any = None
    #: What :attr:`inputs` has returned.
    _input_views: Any = None
    #: One more than its rank; None if nobody has asked for that.
    _depth: int | None = None
    #: Whether a program defines its class, and whether that has names of the graph for something of its own.
    _is_users = False
    _has_own_names = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        known = [base for base in cls.__mro__ if f'{base.__module__}.'.startswith(_PACKAGE)]
        users = [base for base in cls.__mro__ if base not in known]
        # What decorators of the package make has the module of the program, and a base of the package.
        is_made = any(base not in (FunctionNode, Node) for base in known if '.compat.' not in base.__module__)
        cls._is_users = cls in users and not is_made
        cls._has_own_names = any(not OF_GRAPH.isdisjoint(vars(base).keys() - FOR_CLASSES) for base in users)

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Variable, ...]:
        """Applies the function; as :meth:`apply` of a tuple.

        Args:
            args: Variables or arrays.
        """
        return self.apply(args, **kwargs)

    @property
    def label(self) -> str:
        """Name of the function in graphs, hooks and errors; the class's name by default."""
        return self.__class__.__name__

    # --- methods of subclasses ---------------------------------------------------------------------------------
    def check_type_forward(self, in_types: Any) -> None:
        """Checks shapes and dtypes of the inputs before forward, by ``utils.type_check.expect``.

        Args:
            in_types: shapes and dtypes, for :func:`~minichainer.utils.type_check.expect`.
        """

    def check_layout_forward(self, inputs: Any) -> None:
        """Kept for subclasses that override it; memory layouts are chosen by the kernels.

        Args:
            inputs: the input arrays.
        """

    def forward(self, inputs: tuple[Any, ...], /) -> tuple[Any, ...]:
        """Computes the outputs: a tuple of arrays from a tuple of arrays.

        Args:
            inputs: the input arrays, a tuple.
        """
        if any(isinstance(x, cuda.ndarray) for x in inputs):
            return self.forward_gpu(inputs)
        return self.forward_cpu(inputs)

    def forward_cpu(self, inputs: tuple[Any, ...], /) -> tuple[Any, ...]:
        """Computes the outputs from NumPy arrays.

        Args:
            inputs: the input arrays, a tuple.
        """
        raise NotImplementedError(f'{self.label}: define forward, or forward_cpu')

    def forward_gpu(self, inputs: tuple[Any, ...], /) -> tuple[Any, ...]:
        """Computes the outputs from CuPy arrays.

        Args:
            inputs: the input arrays, a tuple.
        """
        raise NotImplementedError(f'{self.label}: define forward, or forward_gpu')

    def backward(self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...], /) -> Any:
        """Computes the gradients of the inputs.

        Args:
            target_input_indexes: the inputs whose gradients are wanted, in ascending order.
            grad_outputs: gradients of the outputs, Variables; None for an output that got none.

        Returns:
            A tuple of Variables (or None), one per wanted input or one per input.
        """
        return (None,) * len(target_input_indexes)

    def backward_accumulate(
        self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...], grad_inputs: tuple[Any, ...], /
    ) -> Any:
        """Computes the gradients of the wanted inputs and adds them to those accumulated so far.

        Args:
            target_input_indexes: the inputs whose gradients are wanted.
            grad_outputs: as in :meth:`backward`.
            grad_inputs: gradients that the wanted inputs have got so far, Variables or None.

        Returns:
            A tuple of sums, one per wanted input.
        """
        gradients = self._in_graph()._wanted_gradients(target_input_indexes, grad_outputs)
        pairs = zip(gradients, grad_inputs, strict=True)
        return tuple(sum_of(new, present) for new, present in pairs)

    # --- retaining ---------------------------------------------------------------------------------------------
    def retain_inputs(self, indexes: Any) -> None:
        """Keeps inputs for backward; call it in forward, then :meth:`get_retained_inputs` in backward.

        Args:
            indexes: numbers of the inputs to keep.
        """
        self._in_graph()._input_indexes_to_retain = tuple(indexes)

    def retain_outputs(self, indexes: Any) -> None:
        """Keeps outputs for backward; call it in forward, then :meth:`get_retained_outputs` in backward.

        Args:
            indexes: numbers of the outputs to keep.
        """
        self._in_graph()._output_indexes_to_retain = tuple(indexes)

    def keep(self, arrays: Sequence[Any], outputs: Sequence[Any]) -> tuple[Any, ...]:
        """The inputs and outputs that backward needs; the recorder stores them as :attr:`saved`.

        Args:
            arrays: the input arrays.
            outputs: the output arrays.
        """
        inputs = [arrays[i] for i in self._input_indexes_to_retain or ()]
        return (*inputs, *[outputs[i] for i in self._output_indexes_to_retain or ()])

    def _keep_own(self, arrays: Sequence[Any], outputs: Sequence[Any]) -> tuple[Any, ...]:
        """What a function of constants keeps for attributes of its node: neither inputs nor outputs."""
        return ()

    def get_retained_inputs(self) -> tuple[Variable | Any, ...]:
        """The retained inputs as Variables in the graph, or None, in the order of ``retain_inputs``."""
        node = self._in_graph()
        if not node._input_indexes_to_retain:
            return ()
        edges = node._applied_edges()
        places = [edges[i] for i in node._input_indexes_to_retain]
        pairs = zip(kept_inputs(node), places, strict=True)
        return tuple([None if x is None else variable_on(x, node) for x, node in pairs])

    def get_retained_outputs(self) -> tuple[Variable | Any, ...]:
        """The retained outputs as Variables in the graph, or None, in the order of ``retain_outputs``."""
        node = self._in_graph()
        if not node._output_indexes_to_retain:
            return ()
        pairs = zip(kept_outputs(node), node._output_indexes_to_retain, strict=True)
        return tuple([None if y is None else variable_on(y, node._output_node(i, y)) for y, i in pairs])

    def _applied_edges(self) -> tuple[Node, ...]:
        if self.edges is None:
            raise RuntimeError(f'{self.label} has not been applied, or it has been removed from the graph by unchain')
        return self.edges

    def _output_node(self, index: int, array: Any) -> Any:
        """The node of an output; made again if it has been freed."""
        if self.output_count == 1:
            return self
        node = self._output_nodes[index]()
        if node is None:  # this output is not referenced: make a new node for its array
            node = OutputNode((self,), self.level, index, self._output_kinds[index])
            known = self._output_nodes
            self._output_nodes = (*known[:index], weakref.ref(node), *known[index + 1 :])
        return node

    def input_arrays(self) -> tuple[Any, ...]:
        """The retained input arrays, None for the others."""
        kept = dict(zip(self._input_indexes_to_retain or (), kept_inputs(self), strict=True))
        return tuple(kept.get(i) for i in range(len(self.edges or ())))

    # --- inspecting the graph ----------------------------------------------------------------------------------
    def _as_creator(self) -> FunctionNode:
        """Itself, as users get it who ask a Variable for its creator."""
        return self

    @property
    def inputs(self) -> Any:
        """The VariableNodes of its inputs, a tuple; None if it is not applied.

        They stay the same objects, so that programs that walk through graphs can tell them by their ``id``. Tools
        that export graphs set other nodes in their place, of which passes take no notice.
        """
        node = self._in_graph()
        if node._input_views is None:
            if node.edges is None:
                return None
            node._input_views = tuple(node._views_of_inputs())
        return node._input_views

    @inputs.setter
    def inputs(self, nodes: Any) -> None:
        self._in_graph()._input_views = nodes

    def _views_of_inputs(self) -> list[Any]:
        pairs = zip(self._applied_edges(), self.input_arrays(), strict=True)
        return [view_of(edge, variable_on, array=x) for edge, x in pairs]

    @property
    def outputs(self) -> Any:
        """Weak references to the VariableNodes of its outputs; None if it is not applied."""
        node = self._in_graph()
        if node.edges is None:
            return None
        return tuple([weakref.ref(node._output_view(i)) for i in range(node.output_count)])

    def _output_view(self, index: int) -> Any:
        owner = self._owners[index]() if self._owners else None
        if owner is not None:
            return owner.node
        node = self._output_nodes[index]() if self._output_nodes else self
        return Unreferenced() if node is None else view_of(node, variable_on)

    @property
    def output_data(self) -> Any:
        """The retained output arrays, None for the others."""
        node = self._in_graph()
        kept = dict(zip(node._output_indexes_to_retain or (), kept_outputs(node), strict=True))
        return tuple(kept.get(i) for i in range(node.output_count))

    @property
    def input_layouts(self) -> tuple[None, ...]:
        """None for each input: layouts are not stored."""
        return (None,) * len(self.inputs or ())

    @property
    def output_layouts(self) -> tuple[None, ...]:
        """None for each output: layouts are not stored."""
        return (None,) * self._in_graph().output_count

    @property
    def rank(self) -> int:
        """The level of the function: the length of the longest path from a leaf."""
        node = self._in_graph()
        depth = depth_of(node) if OfConstants.exist else node.level
        return max(depth - 1, 0)

    @rank.setter
    def rank(self, rank: int) -> None:
        node = self._in_graph()
        node.level = node._depth = rank + 1

    def unchain(self) -> None:
        """Removes it from the graph: its outputs become leaves, and what it retained is released."""
        this = self._in_graph()
        for reference in this._output_nodes:
            node = reference()
            if node is not None:
                cut(node)
        this.edges = None
        this._release()

    def _free(self) -> None:
        """Drops the arrays that backward needs; another backward is an error. The graph stays as it is."""
        if self.saved and has_arrays(self.saved):
            self.saved, self._prints, self._input_views = Freed(self.label), None, None

    def _reads(self, variables: bool, wanted: Container[Node] | None) -> Any:
        """Which of the saved values backward reads, as a container of their numbers.

        Args:
            variables: in a differentiable pass.
            wanted: the nodes that need a gradient; None for all that require one.
        """
        return range(len(self.saved))

    def _saved_name(self, index: int) -> str:
        """What a saved value is, for messages."""
        inputs = self._input_indexes_to_retain or ()
        if index < len(inputs):
            return f'input {inputs[index]}'
        outputs = self._output_indexes_to_retain or ()
        return f'output {outputs[index - len(inputs)]}' if index < len(inputs) + len(outputs) else 'a saved array'

    def _release(self) -> None:
        self.saved, self._prints, self._input_views = (), None, None
        self._input_indexes_to_retain = self._output_indexes_to_retain = None

    # --- hooks -------------------------------------------------------------------------------------------------
    @property
    def local_function_hooks(self) -> dict[str, Any]:
        """Hooks of this function alone, ``{name: hook}``."""
        hooks = self._in_graph()._local_hooks
        return {} if hooks is None else hooks

    def add_hook(self, hook: Any, name: str | None = None) -> None:
        """Adds a hook to this function alone.

        Args:
            hook: a :class:`~minichainer.FunctionHook`.
            name: its name; the hook's own by default.

        Args:
            hook: a :class:`~minichainer.FunctionHook`.
            name: its name; the hook's own by default.

        Raises:
            TypeError: ``hook`` is not a FunctionHook.
            KeyError: there is a hook of that name.
        """
        if not isinstance(hook, FunctionHook):
            raise TypeError(f'{self.label}.add_hook: expected a FunctionHook, got {hook!r}{_instance(hook)}')
        name = hook.name if name is None else name
        if name in self.local_function_hooks:
            raise KeyError(f'{self.label}: a hook named {name} already exists')
        node = self._in_graph()
        if node._local_hooks is None:
            node._local_hooks = LocalHooks()
        add_counted_hook(node._local_hooks, name, hook, self)

    def delete_hook(self, name: str) -> None:
        """Removes a hook of this function.

        Args:
            name: the name of the hook.
        """
        if name not in self.local_function_hooks:
            raise KeyError(f'{self.label}: there is no hook named {name}')
        delete_counted_hook(self.local_function_hooks, name, self)

    # --- forward -----------------------------------------------------------------------------------------------
    def apply(self, inputs: Any) -> tuple[Variable, ...]:
        """Applies the function.

        Args:
            inputs: sequence of Variables or arrays; None stands for an input that is not there.

        Returns:
            Tuple of Variables. If the node has been applied before, they belong to a copy of it.

        Raises:
            InvalidType: :meth:`check_type_forward` refuses the inputs.
            TypeError: CPU and GPU arrays are mixed, or an input is neither Variable nor array.
        """
        return recorder.apply(self, inputs)

    def _unapplied(self) -> FunctionNode:
        """A copy for another application, with the attributes that are not of the graph; itself if that is unused."""
        if '_in_graph' in self.__dict__:
            clone = copy.copy(self)
            del clone.__dict__['_in_graph']
            return clone
        if self._is_users and '_owners' not in self.__dict__:
            return self  # it is not applied: edges are the program's
        clone = copy.copy(self)
        for name in OF_APPLICATION & clone.__dict__.keys():
            del clone.__dict__[name]
        return clone

    def _in_graph(self) -> FunctionNode:
        """The node of the graph: itself, unless the program has names of the graph for something of its own."""
        return self

    def _apart(self) -> FunctionNode:
        """The node of the graph for this application: another one if the program has names of the graph."""
        if not self._has_own_names and OF_GRAPH.isdisjoint(self.__dict__):
            return self
        kind: Any = type(self)
        node: FunctionNode = _class_apart(kind)(self)
        self.__dict__['_in_graph'] = GraphNode(node)
        return node

    def _check_types(self, arrays: tuple[Any, ...]) -> None:
        """Runs the type check of the function, if it has one: quickly first, and with messages after a failure."""
        checks = type(self).check_type_forward is not FunctionNode.check_type_forward
        if not (checks or 'check_type_forward' in self.__dict__) or not config.type_check:
            return
        try:
            with type_check.light_mode:  # ten times cheaper, but does not say what is wrong
                self.check_type_forward(type_check.get_light_types(arrays))
        except type_check.InvalidType:
            with type_check.get_function_check_context(self):
                self.check_type_forward(type_check.get_types(arrays, 'in_types', True))
            raise

    # --- backward ----------------------------------------------------------------------------------------------
    #: The internal interface of built-in functions: ``backward_arrays(indexes, grad_outputs)`` computes on raw arrays
    #: what :meth:`backward` computes on Variables; it returns one array or None per index.
    backward_arrays: Any = None

    def pullback(self, gradient: Any, wanted: Container[Node] | None, table: Any) -> list[Any]:
        gradients = tuple(gradient) if self.output_count > 1 else (gradient,)
        indexes = self._wanted(wanted)
        if self.backward_arrays is not None:
            return self._per_edge(indexes, self.backward_arrays(indexes, gradients))
        with using_config('enable_backprop', False):
            found = self._gradients(indexes, self._upstream_variables(gradients), table)
        return self._per_edge(indexes, [None if gx is None else gx._data for gx in found])

    def pullback_variables(self, gradient: Any, wanted: Container[Node] | None, table: Any) -> list[Any]:
        gradients = tuple(gradient) if self.output_count > 1 else (gradient,)
        indexes = self._wanted(wanted)
        with using_config('enable_backprop', _tangents.records_pass()):
            return self._per_edge(indexes, self._gradients(indexes, self._upstream_variables(gradients), table))

    def _pushforward(self, tangents: Sequence[Any], variables: bool) -> Sequence[Any]:
        """The tangents of its outputs, in forward mode; None for an output without.

        Args:
            tangents: those of its inputs, arrays; None for an input without.
            variables: the tangents are Variables, and the computation is recorded.
        """
        return by_double_backward(self, tangents, variables)

    def _wanted(self, wanted: Container[Node] | None) -> tuple[int, ...]:
        if wanted is None:
            return tuple([i for i, edge in enumerate(self._applied_edges()) if edge.requires_grad])
        return tuple([i for i, edge in enumerate(self._applied_edges()) if edge in wanted])

    def take_from_outputs(self, table: dict[Node, Any], watch: Any, stored: Stored | None) -> list[Any]:
        """Removes the gradients of its outputs from the table of a pass; None for an output without a gradient.

        Args:
            table: the gradients of the pass.
            watch: what watches it, or None.
            stored: notes the outputs that have a gradient of the program's, which is then used; None to use none.
        """
        gradients: list[Any] = [None] * self.output_count
        for i, reference in enumerate(self._output_nodes):
            node = reference()
            if node is None or node.edges is None:
                continue
            gradient = table.pop(node, None)
            if gradient is None and stored is not None:
                gradient = stored.take(node, self._owners[i]())
            if gradient is not None:
                gradients[i] = gradient if watch is None else watch.arrived(node, gradient)
        return gradients

    def _per_edge(self, indexes: tuple[int, ...], found: Any) -> list[Any]:
        """Gradients of the wanted inputs, with None for the others."""
        gradients: list[Any] = [None] * len(self.edges or ())
        for i, gx in zip(indexes, found, strict=True):
            gradients[i] = gx
        return gradients

    def _upstream_variables(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        """Upstream gradients as Variables, C-contiguous if the function requires it."""
        if not self.takes_any_layout:
            gradients = tuple([None if g is None else contiguous_gradient(g) for g in gradients])
        return tuple([as_gradient_variable(g) for g in gradients])

    def _gradients(self, indexes: Any, grad_outputs: Any, table: Any) -> Any:
        """Gradients of the wanted inputs; drops from the table what ``backward_accumulate`` has summed."""
        try:
            inherited = type(self).backward_accumulate is FunctionNode.backward_accumulate
            if inherited and 'backward_accumulate' not in self.__dict__:
                return self._wanted_gradients(indexes, grad_outputs)
            present = self._present(indexes, table)
            return self._checked(indexes, self.backward_accumulate(indexes, grad_outputs, present))
        except (ValueError, IndexError, TypeError, AttributeError) as error:
            reason = explained(error, self.label, self._kept_of_all())
            if reason is None:
                raise
            raise reason from error

    def _kept_of_all(self) -> dict[str, tuple[int, int]]:
        """How many inputs and outputs forward has kept, and how many there are."""
        outputs = len(self._output_indexes_to_retain or ()), self.output_count
        inputs = len(self._input_indexes_to_retain or ()), len(self.edges or ())
        return {'get_retained_inputs': inputs, 'get_retained_outputs': outputs, 'output_data': outputs}

    def _present(self, indexes: Any, table: Any) -> tuple[Any, ...]:
        """The sums that the wanted inputs have got so far, removed from the table of a pass."""
        edges = self._applied_edges()
        present = []
        if type(table) is Parts:
            table.complete()  # the user's function sees whole sums
            table = table.table
        for i in indexes:
            present.append(as_gradient_variable(table.pop(edges[i], None)))
        return tuple(present)

    def _wanted_gradients(self, indexes: tuple[int, ...], grad_outputs: tuple[Any, ...]) -> list[Any]:
        return self._checked(indexes, self.backward(indexes, grad_outputs))

    def _checked(self, indexes: tuple[int, ...], found: Any) -> list[Any]:
        """The gradients of the wanted inputs, from the result of a user's backward."""
        if isinstance(found, Variable):
            found = (found,)
        count = len(self.edges or ())
        found = list(found)
        if len(found) == count:
            found = [found[i] for i in indexes]
        elif len(found) != len(indexes):
            wanted = f'{count}' if count == len(indexes) else f'{count} or {len(indexes)}'
            raise ValueError(
                f'backward of {self.label} returned a wrong number of gradients\n'
                f'Expect: {wanted}\nActual: {len(found)}'
            )
        if number_arrays.in_use:
            found = [with_numbers(gx) for gx in found]
        for i, gx in zip(indexes, found, strict=True):
            self._check_gradient(i, gx)
        return [None if gx is None or gx._data is None else gx for gx in found]

    def _check_gradient(self, index: int, gx: Any) -> None:
        """Raises an error if a gradient does not fit its input."""
        if gx is None or (isinstance(gx, Variable) and gx._data is None):
            return
        where = f'backward of {self.label} returned a wrong gradient for input {index}'
        if not isinstance(gx, Variable):
            raise ReturnedGradientError(f'{where}\nExpect: Variable or None\nActual: {type(gx).__name__}')
        x = self._applied_edges()[index]
        if gx._data.shape != x.shape:
            raise ValueError(f'{where}\nExpect: shape {x.shape}\nActual: shape {gx._data.shape}')
        if gx._data.dtype != x.dtype:
            raise ReturnedGradientError(f'{where}\nExpect: dtype {x.dtype}\nActual: dtype {gx._data.dtype}')


class _Apart(FunctionNode):
    """The node of the graph for a node of a program that has names of the graph for something of its own.

    Such a program sets, say, ``self.shape`` in the constructor, and reads it in backward.

    Args:
        users: the node of the program.
    """

    def __init__(self, users: FunctionNode) -> None:
        self._users = users
        self._retain_as(users.__dict__)
        self._local_hooks = users.__dict__.get('_local_hooks')
        self.takes_any_layout = type(users).takes_any_layout is True

    def _retain_as(self, names: dict[str, Any]) -> None:
        for name in ('_input_indexes_to_retain', '_output_indexes_to_retain'):
            self.__dict__[name] = names.get(name)

    @property
    def label(self) -> str:
        return self._users.label

    @property
    def stack(self) -> Any:
        return self._users.stack

    @stack.setter
    def stack(self, stack: Any) -> None:
        self._users.stack = stack

    def _as_creator(self) -> FunctionNode:
        return self._users

    def check_type_forward(self, in_types: Any) -> None:
        self._users.check_type_forward(in_types)

    def forward(self, inputs: tuple[Any, ...], /) -> tuple[Any, ...]:
        return self._users.forward(inputs)

    def backward(self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...], /) -> Any:
        return self._users.backward(target_input_indexes, grad_outputs)


class _ApartAccumulating(_Apart):
    """The same for a node that adds gradients itself."""

    def backward_accumulate(
        self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...], grad_inputs: tuple[Any, ...], /
    ) -> Any:
        return self._users.backward_accumulate(target_input_indexes, grad_outputs, grad_inputs)


@functools.lru_cache(maxsize=256)
def _class_apart(cls: Any) -> Any:
    """The class of the nodes of the graph for a class of a program; it has the same name, for recordings."""
    adds = cls.backward_accumulate is not FunctionNode.backward_accumulate
    return type(cls.__name__, (_ApartAccumulating if adds else _Apart,), {'__module__': __name__})


def _instance(hook: Any) -> str:
    """What to write in place of a class of hooks."""
    return f'; write {hook.__name__}()' if isinstance(hook, type) and issubclass(hook, FunctionHook) else ''


def static_forward_optimizations(func: Any, inputs: Any) -> Any:
    """Runs the forward of a function; Chainer's experimental static graphs are not supported."""
    return func.forward(inputs)
