"""Stacking arrays, taking stacks apart, and broadcasting several arrays against each other."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.backend import get_array_module
from minichainer.function_node import FunctionNode
from minichainer.functions._checks import checked_axis, misfit
from minichainer.functions.array._checks import check_one_dtype
from minichainer.functions.array.joining import split_axis, stack
from minichainer.functions.array.shape import reshape, sum_to
from minichainer.utils.array import sum_to as sum_to_shape
from minichainer.variable import Variable, as_variable

Shape = tuple[int, ...]


class _Stacking(FunctionNode):
    """Joins arrays along an axis after giving each another shape."""

    def __init__(self, shapes: list[Shape], axis: int) -> None:
        self.shapes = shapes
        self.axis = axis
        self.sections = [int(end) for end in numpy.cumsum([shape[axis] for shape in shapes[:-1]])]

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        pairs = zip(inputs, self.shapes, strict=True)
        return (get_array_module(*inputs).concatenate([x.reshape(shape) for x, shape in pairs], self.axis),)

    def backward_arrays(self, indexes: Any, grad_outputs: Any) -> Any:
        parts = get_array_module(grad_outputs[0]).split(grad_outputs[0], self.sections, self.axis)
        return [parts[i].reshape(self._applied_edges()[i].shape) for i in indexes]

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        parts = split_axis(grad_outputs[0], self.sections, self.axis)
        return tuple([reshape(parts[i], self._applied_edges()[i].shape) for i in target_input_indexes])


class Hstack(_Stacking):
    """See :func:`hstack`."""


class Vstack(_Stacking):
    """See :func:`vstack`."""


class Dstack(_Stacking):
    """See :func:`dstack`."""


def hstack(xs: Any) -> Variable:
    """Joins arrays along axis 1, or along axis 0 where they have one axis or none.

    Args:
        xs: sequence of Variables or arrays, equal in dtype and in shape but for that axis.

    Returns:
        Variable.

    Raises:
        InvalidType: shapes or dtypes do not fit together, or ``xs`` is empty.

    >>> import numpy as np, minichainer.functions as F
    >>> F.hstack([np.ones((2, 1)), np.ones((2, 3))]).shape
    (2, 4)
    """
    xs = [as_variable(x) for x in xs]
    axis = 0 if xs and xs[0].ndim < 2 else 1
    return _stacked(Hstack, xs, [x.shape or (1,) for x in xs], axis)


def vstack(xs: Any) -> Variable:
    """Joins arrays along axis 0; arrays with one axis are rows.

    Args:
        xs: sequence of Variables or arrays, equal in dtype and in shape but for that axis.

    Returns:
        Variable with at least two axes.

    Raises:
        InvalidType: shapes or dtypes do not fit together, or ``xs`` is empty.

    >>> import numpy as np, minichainer.functions as F
    >>> F.vstack([np.ones(3), np.zeros(3)])
    variable([[1., 1., 1.],
              [0., 0., 0.]])
    """
    xs = [as_variable(x) for x in xs]
    return _stacked(Vstack, xs, [(1,) * (2 - x.ndim) + x.shape for x in xs], 0)


def dstack(xs: Any) -> Variable:
    """Joins arrays along axis 2; arrays with one axis are taken as (1, N, 1), matrices as (M, N, 1).

    Args:
        xs: sequence of Variables or arrays, equal in dtype and in shape but for that axis.

    Returns:
        Variable with at least three axes.

    Raises:
        InvalidType: shapes or dtypes do not fit together, or ``xs`` is empty.

    >>> import numpy as np, minichainer.functions as F
    >>> F.dstack([np.ones((2, 3)), np.ones((2, 3))]).shape
    (2, 3, 2)
    """
    xs = [as_variable(x) for x in xs]
    matrices = [(1,) * (2 - x.ndim) + x.shape for x in xs]
    return _stacked(Dstack, xs, [shape + (1,) * (3 - len(shape)) for shape in matrices], 2)


def _stacked(node: type[_Stacking], xs: list[Variable], shapes: list[Shape], axis: int) -> Variable:
    name = node.__name__
    check_one_dtype(xs, name)
    first = shapes[0]
    for i, shape in enumerate(shapes):
        others = shape[:axis] + shape[axis + 1 :]
        if xs[i].ndim != xs[0].ndim or others != first[:axis] + first[axis + 1 :]:
            raise misfit(name, f'shape {xs[0].shape} but for one axis', f'{xs[i].shape} of array {i}')
    return node(shapes, axis).apply(xs)[0]


class Separate(FunctionNode):
    """Takes an array apart along an axis, which vanishes; its gradient is a stack."""

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        lead = (slice(None),) * self.axis
        parts = tuple([inputs[0][lead + (i,)] for i in range(inputs[0].shape[self.axis])])
        self.part = parts[0].shape, parts[0].dtype
        return parts

    def backward_arrays(self, indexes: Any, grad_outputs: Any) -> Any:
        xp = get_array_module(*[g for g in grad_outputs if g is not None])
        return [xp.stack(self._filled(xp, grad_outputs), self.axis)]

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        xp = next(g.xp for g in grad_outputs if g is not None)
        return (stack(self._filled(xp, grad_outputs), self.axis),)

    def _filled(self, xp: Any, grad_outputs: Any) -> list[Any]:
        return [xp.zeros(*self.part) if g is None else g for g in grad_outputs]


def separate(x: Any, axis: int = 0) -> tuple[Variable, ...]:
    """Takes an array apart along an axis: the inverse of :func:`stack`.

    Args:
        x: Variable or array.
        axis: the axis, which vanishes.

    Returns:
        Tuple of ``x.shape[axis]`` Variables, views of ``x``.

    Raises:
        TypeError: ``axis`` is no int.
        InvalidType: ``axis`` is out of range.

    >>> import numpy as np, minichainer.functions as F
    >>> F.separate(np.array([[1., 2.], [3., 4.]]), axis=1)
    (variable([1., 3.]), variable([2., 4.]))
    """
    x = as_variable(x)
    axis = checked_axis(axis, x.ndim, 'Separate')
    return Separate(axis).apply((x,)) if x.shape[axis] else ()


class Broadcast(FunctionNode):
    """Broadcasts arrays against each other; gradients are summed."""

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(get_array_module(*inputs).broadcast_arrays(*inputs))

    def backward_arrays(self, indexes: Any, grad_outputs: Any) -> Any:
        return [self._summed(grad_outputs[i], self._applied_edges()[i].shape) for i in indexes]

    @staticmethod
    def _summed(gradient: Any, shape: Shape) -> Any:
        return gradient if gradient is None or gradient.shape == shape else sum_to_shape(gradient, shape)

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        pairs = [(grad_outputs[i], self._applied_edges()[i]) for i in target_input_indexes]
        return tuple([None if g is None else sum_to(g, edge.shape) for g, edge in pairs])


def broadcast(*args: Any) -> Any:
    """Broadcasts arrays against each other, so that all have one shape.

    Args:
        args: Variables or arrays.

    Returns:
        Tuple of Variables, whose arrays are read-only views; of one argument, that itself as a Variable.

    Raises:
        InvalidType: the shapes cannot be broadcast together, or nothing is given.

    >>> import numpy as np, minichainer.functions as F
    >>> x, y = F.broadcast(np.ones(3), np.ones((2, 1)))
    >>> x.shape, y.shape
    ((2, 3), (2, 3))
    """
    if not args:
        raise misfit('Broadcast', 'at least one array', 'none')
    xs = [as_variable(x) for x in args]
    try:
        numpy.broadcast_shapes(*[x.shape for x in xs])
    except ValueError:
        shapes = ' and '.join(str(x.shape) for x in xs)
        raise misfit('Broadcast', 'shapes that can be broadcast together', shapes) from None
    return Broadcast().apply(xs) if len(xs) > 1 else xs[0]
