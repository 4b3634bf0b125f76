"""Chainer's ``_backprop_utils``: one step of a backward pass, for programs that run their own passes."""

from __future__ import annotations

from typing import Any

from minichainer.function_node import FunctionNode
from minichainer.functions.arithmetic import add


class GradTable:
    """Gradients by VariableNode, summed when they are read.

    Args:
        accumulate_grad_inputs: begin with the gradients that leaves have, and take these from them.
    """

    def __init__(self, accumulate_grad_inputs: bool = False) -> None:
        self.grads: dict[Any, list[Any]] = {}
        self._takes_known = accumulate_grad_inputs

    def __setitem__(self, node: Any, grad: Any) -> None:
        self.grads[node] = [] if grad is None else [grad]

    def accumulate(self, node: Any, grad: Any) -> None:
        """Adds a gradient of a node."""
        self.get_as_list(node).append(grad)

    def get_as_list(self, node: Any) -> list[Any]:
        """The gradients of a node that are not summed yet."""
        if node not in self.grads:
            self[node] = self._known(node) if self._takes_known and node.creator_node is None else None
        return self.grads[node]

    def pop(self, node: Any) -> Any:
        """The sum of a node's gradients, which are removed; None if there are none."""
        if node is None:
            return None
        if node in self.grads:
            return _sum(self.grads.pop(node))
        return self._known(node) if self._takes_known else None

    def assert_no_grads(self) -> None:
        """Raises AssertionError if a gradient has not been used."""
        assert not any(self.grads.values()), 'gradients that have not been used'

    @staticmethod
    def _known(node: Any) -> Any:
        variable = node.get_variable_or_none()
        if variable is None:
            return None
        grad, variable.grad_var = variable.grad_var, None
        return grad


def _sum(grads: list[Any]) -> Any:
    return add(*grads) if len(grads) > 1 else grads[0] if grads else None


def backprop_step(
    func: FunctionNode,
    target_input_indexes: tuple[int, ...],
    grad_outputs: tuple[Any, ...],
    grad_inputs: Any,
    is_debug: bool = False,
) -> None:
    """Runs the backward of a function, and adds the gradients to those of its inputs.

    Args:
        func: the function, which has been applied.
        target_input_indexes: the inputs whose gradients are wanted, in ascending order.
        grad_outputs: gradients of its outputs, Variables or None.
        grad_inputs: a list of gradients for each input node, as a dict or a GradTable.
        is_debug: has no effect: backward is checked always.
    """
    lists = getattr(grad_inputs, 'get_as_list', None) or grad_inputs.__getitem__
    nodes = [func.inputs[i] for i in target_input_indexes]
    others = len(func.inputs) - len(func.edges or ())  # indices of embeddings, which are not inputs here
    target_input_indexes = tuple([i - others for i in target_input_indexes])
    inherited = type(func).backward_accumulate is FunctionNode.backward_accumulate
    if inherited and 'backward_accumulate' not in vars(func):
        for node, gx in zip(nodes, func._wanted_gradients(target_input_indexes, grad_outputs), strict=True):
            if gx is not None:
                lists(node).append(gx)
        return
    present = tuple([_sum(lists(node)) for node in nodes])
    found = func.backward_accumulate(target_input_indexes, grad_outputs, present)
    for node, gx in zip(nodes, found, strict=True):
        lists(node)[:] = [] if gx is None else [gx]
