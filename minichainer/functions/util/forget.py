"""Recomputation instead of memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minichainer.configuration import config, force_backprop_mode, no_backprop_mode, using_config
from minichainer.differentiate import backward
from minichainer.function_node import FunctionNode
from minichainer.variable import Variable, as_variable


class Forget(FunctionNode):
    """A function whose intermediate results are computed again in backward."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def _call(self, xs: tuple[Any, ...]) -> tuple[Variable, ...]:
        outputs = self.func(*xs)
        if isinstance(outputs, Variable):
            return (outputs,)
        if not isinstance(outputs, (tuple, list)) or not all(isinstance(y, Variable) for y in outputs):
            raise RuntimeError(
                f'forget: func must return a Variable or a tuple of Variables, came {type(outputs).__name__}'
            )
        return tuple(outputs)

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.retain_inputs(range(len(inputs)))
        with no_backprop_mode():
            outputs = self._call(tuple([Variable(x) for x in inputs]))
        return tuple([y.array for y in outputs])

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        if config.enable_backprop:
            raise RuntimeError(
                'double backpropagation in functions.forget is not allowed\n'
                'Call the function directly where its gradient is to be differentiated'
            )
        inputs = [Variable(x.array, requires_grad=i in target_input_indexes)
                  for i, x in enumerate(self.get_retained_inputs())]  # fmt: skip
        with force_backprop_mode(), using_config('in_recomputing', True):
            outputs = self._call(tuple(inputs))
        for y, gy in zip(outputs, grad_outputs, strict=True):
            y.grad_var = gy
        backward([y for y in outputs if y.grad is not None])
        return tuple([inputs[i].grad_var for i in target_input_indexes])


def forget(func: Callable[..., Any], *xs: Any) -> Any:
    """Calls a function without keeping its intermediate results; backward computes them a second time.

    Gradients of Parameters that ``func`` closes over are added to them as usual.

    Args:
        func: takes Variables, returns a Variable or a tuple of them; it must do the same at each call.
        xs: Variables or arrays.

    Returns:
        What ``func`` returns.

    Raises:
        RuntimeError: ``func`` returns something else, or the gradient is differentiated again.

    >>> import numpy as np, minichainer as chainer, minichainer.functions as F
    >>> x = chainer.Variable(np.array(2.))
    >>> F.forget(lambda v: v ** 3, x).backward()
    >>> x.grad
    array(12.)
    """
    outputs = Forget(func).apply([as_variable(x) for x in xs])
    return outputs[0] if len(outputs) == 1 else outputs


__all__ = ['Forget', 'forget']
