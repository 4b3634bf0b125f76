"""The base of recurrent nodes: kernels for ordinary backward, a plain composition for the differentiable one."""

from __future__ import annotations

from typing import Any

from minichainer.configuration import using_config
from minichainer.differentiate import grad
from minichainer.function_node import FunctionNode
from minichainer.functions.array.conversion import as_dtype, identity
from minichainer.variable import Variable


class FusedNode(FunctionNode):
    """A node that is computed by a kernel, and differentiated any number of times through its ``_reference``.

    A subclass retains all of its inputs, and defines ``forward``, ``backward_arrays`` and ``_reference``.
    """

    takes_any_layout = True
    #: Arrays of forward that ``backward_arrays`` needs; it must not change them.
    workspace: Any = None

    def _reference(self, *inputs: Variable) -> tuple[Variable, ...]:
        """The same results by plain ops, with the same random draws."""
        raise NotImplementedError(f'{type(self).__name__} must define _reference')

    def backward(self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...]) -> Any:
        with using_config('enable_backprop', True):
            # Places of their own: where one input is computed from another, that way is not this node's gradient.
            inputs = [identity(x) for x in self.get_retained_inputs()]
            wide = [as_dtype(x, 'f') if x.dtype.char == 'e' else x for x in inputs]
            results = [as_dtype(y, inputs[0].dtype) for y in self._reference(*wide)]
            known = [(y, g) for y, g in zip(results, grad_outputs, strict=True) if g is not None]
            ys, gys = zip(*known, strict=True)
            return tuple(grad(ys, [inputs[i] for i in target_input_indexes], gys, enable_double_backprop=True))

    def _release(self) -> None:
        self.workspace = None
        super()._release()
