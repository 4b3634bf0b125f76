"""Places of extrema."""

from __future__ import annotations

from typing import Any

from minichainer.function_node import FunctionNode
from minichainer.functions._checks import check_int, invalid
from minichainer.variable import Variable, as_variable


class _Place(FunctionNode):
    """Finds a place along an axis, or in the flattened array; nothing flows back through it."""

    method = ''

    def __init__(self, axis: int | None) -> None:
        self.axis = axis

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        shape = inputs[0].shape
        if not (inputs[0].size if self.axis is None else shape[self.axis]):
            raise ValueError(f'{self.method}: x is empty, of shape {shape}, axis = {self.axis}')
        return (getattr(inputs[0], self.method)(axis=self.axis).astype('i'),)

    def backward_arrays(self, indexes: Any, grad_outputs: Any) -> Any:
        return [None]

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        return (None,)


class ArgMax(_Place):
    method = 'argmax'


class ArgMin(_Place):
    method = 'argmin'


def argmax(x: Any, axis: int | None = None) -> Variable:
    """Place of the maximum, the first where several are equal.

    Args:
        x: Variable or float array.
        axis: an int; None to look through the flattened array.

    Returns:
        Variable of dtype int32, without the axis; it has no gradient.

    Raises:
        InvalidType: ``x`` is no float array, or the axis is out of range.
        TypeError: ``axis`` is something else.
        ValueError: nothing is there to look through.

    >>> import numpy as np, minichainer.functions as F
    >>> F.argmax(np.array([[1., 4.], [3., 2.]]), axis=1)
    variable([1, 0])
    """
    return _place(ArgMax, x, axis)


def argmin(x: Any, axis: int | None = None) -> Variable:
    """Place of the minimum, the first where several are equal.

    Args:
        x: Variable or float array.
        axis: an int; None to look through the flattened array.

    Returns:
        Variable of dtype int32, without the axis; it has no gradient.

    Raises:
        InvalidType: ``x`` is no float array, or the axis is out of range.
        TypeError: ``axis`` is something else.
        ValueError: nothing is there to look through.

    >>> import numpy as np, minichainer.functions as F
    >>> F.argmin(np.array([[1., 4.], [3., 2.]]), axis=1)
    variable([0, 1])
    """
    return _place(ArgMin, x, axis)


def _place(cls: type[_Place], x: Any, axis: int | None) -> Variable:
    x = as_variable(x)
    where = f'Invalid operation is performed in: {cls.__name__} (Forward)'
    if axis is not None:
        check_int(axis, cls.method, 'axis')
    if x.dtype.kind != 'f':
        raise invalid('x.dtype of kind float', f'{x.dtype}', where)
    if axis is not None and not -x.ndim <= axis < x.ndim:
        raise invalid(f'-{x.ndim} <= axis < {x.ndim}', f'axis = {axis}, shape {x.shape}', where)
    return cls(axis).apply((x,))[0]
