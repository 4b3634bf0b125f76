"""PrintHook: arrays of functions as text."""

from __future__ import annotations

import sys
from typing import Any

from minichainer.backend import get_array_module
from minichainer.function_hook import FunctionHook
from minichainer.variable import Variable


class PrintHook(FunctionHook):
    """Prints the label, the inputs and the upstream gradients of each function before it runs.

    Inputs that backward does not need have been released by then: they are printed as ``(removed)``.

    Args:
        sep, end, file, flush: arguments of :func:`print`; ``file=None`` is standard output.

    >>> import numpy as np, minichainer as chainer
    >>> with chainer.function_hooks.PrintHook():
    ...     y = chainer.Variable(np.ones(3, 'f')) * 2
    function	_ * 2
    input data
    <variable at 0x...>
    - device: ...
    - backend: <class 'numpy.ndarray'>
    - shape: (3,)
    - dtype: float32
    - statistics: mean=1.00000000, std=0.00000000
    - grad: None
    """

    name = 'PrintHook'

    def __init__(self, sep: str | None = None, end: str | None = '\n', file: Any = None, flush: bool = True) -> None:
        self.sep = sep
        self.end = end
        self.file = file
        self.flush = flush

    def forward_preprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        """Prints label and inputs."""
        self._print_inputs(function, in_data)

    def backward_preprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Prints label, inputs and upstream gradients."""
        self._print_inputs(function, in_data)
        self._print('output gradient')
        for gradient in out_grad:
            self._print(_described_gradient(gradient))

    def _print_inputs(self, function: Any, in_data: tuple[Any, ...]) -> None:
        self._print(f'function\t{function.label}')
        self._print('input data')
        for array in in_data:
            self._print('(removed)' if array is None else Variable(array).debug_print())

    def _print(self, text: str) -> None:
        file = sys.stdout if self.file is None else self.file
        print(text, sep=self.sep, end=self.end, file=file, flush=self.flush)


def _described_gradient(gradient: Any) -> str:
    """A gradient as that of a Variable of zeros: the value itself is not known any more."""
    if gradient is None:
        return '(none)'
    array = getattr(gradient, 'array', gradient)
    variable = Variable(get_array_module(array).zeros_like(array))
    variable.grad = array
    return variable.debug_print()
