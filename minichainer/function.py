"""Old-style functions: backward on raw arrays, differentiable once."""

from __future__ import annotations

import weakref
from typing import Any

import numpy

from minichainer.backends import cuda
from minichainer.configuration import config, force_backprop_mode, no_backprop_mode
from minichainer.function_hook import FunctionHook
from minichainer.function_node import FunctionNode
from minichainer.variable import Variable, variable_on

__all__ = ['Function', 'FunctionAdapter', 'FunctionHook', 'force_backprop_mode', 'no_backprop_mode']


class FunctionAdapter(FunctionNode):
    """The node of the graph for an old-style :class:`Function`.

    Args:
        function: the Function that it calls.
    """

    _function: Function

    def __init__(self, function: Function) -> None:
        self._function = function

    @property
    def function(self) -> Function:
        """The old-style Function."""
        return self._function

    @property
    def label(self) -> str:
        return self._function.label

    @property
    def _impl_name(self) -> str:
        return type(self._function).__name__

    def check_type_forward(self, in_types: Any) -> None:
        self._function.check_type_forward(in_types)

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.retain_inputs(range(len(inputs)))
        return self._function.forward(inputs)

    def backward(self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...]) -> Any:
        inputs = self.input_arrays()
        gradients = tuple([None if g is None else g._data for g in grad_outputs])
        found = self._function.backward(inputs, gradients)
        if not isinstance(found, (tuple, list)) or len(found) != len(inputs):
            count = len(found) if isinstance(found, (tuple, list)) else type(found).__name__
            raise ValueError(
                f'backward of {self.label} returned a wrong number of gradients\n'
                f'Expect: a tuple or list of {len(inputs)}\nActual: {count}'
            )
        return tuple([self._once(found[i]) for i in target_input_indexes])

    def _once(self, gradient: Any) -> Variable | None:
        """The gradient as the output of a function that cannot be differentiated again.

        Its inputs include the function's inputs, so that a second differentiation reaches it and raises.
        """
        if gradient is None:
            return None
        gradient = numpy.asarray(gradient) if isinstance(gradient, numpy.generic) else gradient
        if not config.enable_backprop:
            return Variable(gradient)
        places = [variable_on(gradient, edge) for edge in self._applied_edges()]
        return _Once(self.label).apply((gradient, *places))[0]


class _Once(FunctionNode):
    """Marks where an old-style Function in a graph of gradients cannot be differentiated a second time."""

    def __init__(self, name: str) -> None:
        self._name = name

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        return (inputs[0],)

    def backward(self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...]) -> Any:
        raise RuntimeError(
            f'cannot twice-differentiate an old-style Function: "{self._name}"\n'
            'Rewrite it as a FunctionNode whose backward computes on Variables'
        )


class Function:
    """Base class of old-style functions: ``forward`` and ``backward`` on tuples of arrays.

    :class:`~minichainer.FunctionNode` is its successor, differentiable any number of times.

    >>> import numpy as np, minichainer as chainer
    >>> class Double(chainer.Function):
    ...     def forward(self, inputs):
    ...         return 2 * inputs[0],
    ...     def backward(self, inputs, grad_outputs):
    ...         return 2 * grad_outputs[0],
    >>> x = chainer.Variable(np.ones(2))
    >>> y = Double()(x)
    >>> y.grad = np.array([1., 3.])
    >>> y.backward()
    >>> x.grad
    array([2., 6.])
    """

    # The node keeps the function alive; the function keeps its node only until it is applied, which avoids a
    # reference cycle.
    _waiting_node: FunctionAdapter | None = None
    _applied_node: weakref.ref[FunctionAdapter] | None = None

    def __call__(self, *inputs: Any) -> Any:
        """Applies it to Variables or arrays; returns a Variable, or a tuple of them for several outputs.

        Args:
            inputs: Variables or arrays, as many as ``forward`` takes.
        """
        if self._waiting_node is None:
            self._waiting_node = FunctionAdapter(self)
        node = self._waiting_node
        outputs = node.apply(inputs)
        self._waiting_node, self._applied_node = None, weakref.ref(node)
        return outputs[0] if len(outputs) == 1 else outputs

    @property
    def node(self) -> FunctionAdapter:
        """The node of its latest application, or of the next one."""
        if self._waiting_node is None:
            node = None if self._applied_node is None else self._applied_node()
            if node is not None:
                return node
            self._waiting_node = FunctionAdapter(self)
        return self._waiting_node

    @property
    def label(self) -> str:
        """Name of the function in graphs, hooks and errors; the class's name by default."""
        return self.__class__.__name__

    @property
    def inputs(self) -> Any:
        """The VariableNodes of its inputs."""
        return self.node.inputs

    @property
    def outputs(self) -> Any:
        """Weak references to the VariableNodes of its outputs."""
        return self.node.outputs

    @property
    def output_data(self) -> Any:
        """The retained output arrays."""
        return self.node.output_data

    @property
    def rank(self) -> int:
        """The level of the function: one more than the highest level of its inputs."""
        return self.node.rank

    @property
    def stack(self) -> Any:
        """In debug mode, the stack where it was applied."""
        return self.node.stack

    @property
    def local_function_hooks(self) -> dict[str, Any]:
        """Hooks of this function alone."""
        return self.node.local_function_hooks

    def check_type_forward(self, in_types: Any) -> None:
        """Checks shapes and dtypes of the inputs before forward.

        Args:
            in_types: shapes and dtypes, for :func:`~minichainer.utils.type_check.expect`.
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

    def backward(self, inputs: tuple[Any, ...], grad_outputs: tuple[Any, ...], /) -> tuple[Any, ...]:
        """Computes the gradients of all inputs: a tuple of arrays or None.

        Args:
            inputs: the input arrays, a tuple.
            grad_outputs: the upstream gradients, a tuple; None for outputs without.
        """
        if any(isinstance(x, cuda.ndarray) for x in inputs + grad_outputs):
            return self.backward_gpu(inputs, grad_outputs)
        return self.backward_cpu(inputs, grad_outputs)

    def backward_cpu(self, inputs: tuple[Any, ...], grad_outputs: tuple[Any, ...], /) -> tuple[Any, ...]:
        """Computes the gradients from NumPy arrays.

        Args:
            inputs: the input arrays, a tuple.
            grad_outputs: the upstream gradients, a tuple; None for outputs without.
        """
        return (None,) * len(inputs)

    def backward_gpu(self, inputs: tuple[Any, ...], grad_outputs: tuple[Any, ...], /) -> tuple[Any, ...]:
        """Computes the gradients from CuPy arrays.

        Args:
            inputs: the input arrays, a tuple.
            grad_outputs: the upstream gradients, a tuple; None for outputs without.
        """
        return (None,) * len(inputs)

    def retain_inputs(self, indexes: Any) -> None:
        """Keeps only these inputs for backward (the default is all); call it in forward.

        Args:
            indexes: numbers of the inputs to keep.
        """
        self.node.retain_inputs(indexes)

    def retain_outputs(self, indexes: Any, retain_after_backward: bool = False) -> None:
        """Keeps outputs for backward; call it in forward.

        Args:
            indexes: numbers of the outputs to keep.
            retain_after_backward: kept for compatibility; has no effect.
        """
        self.node.retain_outputs(indexes)

    def add_hook(self, hook: Any, name: str | None = None) -> None:
        """Adds a hook to this function alone.

        Args:
            hook: a :class:`~minichainer.FunctionHook`.
            name: its name; the hook's own by default.
        """
        self.node.add_hook(hook, name)

    def delete_hook(self, name: str) -> None:
        """Removes a hook of this function.

        Args:
            name: the name of the hook.
        """
        self.node.delete_hook(name)

    def unchain(self) -> None:
        """Removes it from the graph."""
        self.node.unchain()
