"""Joining arrays and splitting them."""

from __future__ import annotations

import operator
from typing import Any

import numpy

from minichainer import ops
from minichainer.backend import get_array_module
from minichainer.function_node import FunctionNode
from minichainer.functions._checks import check_int, invalid
from minichainer.utils.type_check import InvalidType
from minichainer.variable import Variable, as_variable


class Concat(FunctionNode):
    """Joins arrays along an axis; its gradient is :class:`SplitAxis`."""

    takes_any_layout = True

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        xp = get_array_module(*inputs)
        self.sections = list(numpy.cumsum([x.shape[self.axis] for x in inputs[:-1]]))
        return (xp.concatenate(inputs, self.axis),)

    def backward_arrays(self, indexes: Any, grad_outputs: Any) -> Any:
        parts = get_array_module(grad_outputs[0]).split(grad_outputs[0], self.sections, self.axis)
        return [parts[i] for i in indexes]

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        parts = split_axis(grad_outputs[0], self.sections, self.axis)
        return tuple([parts[i] for i in target_input_indexes])


def concat(xs: Any, axis: int = 1) -> Variable:
    """Joins arrays along an existing axis.

    Args:
        xs: sequence of Variables or arrays, equal in dtype and in shape but for that axis.
        axis: the axis.

    Returns:
        Variable.

    Raises:
        InvalidType: there is no array, or shapes or dtypes do not fit together.

    >>> import numpy as np, minichainer.functions as F
    >>> F.concat((np.ones((2, 1)), np.zeros((2, 2)))).shape
    (2, 3)
    """
    xs = [as_variable(x) for x in xs]
    _check_joinable(xs, axis)
    return Concat(axis).apply(xs)[0]


def _check_joinable(xs: list[Variable], axis: int) -> None:
    if not xs:
        raise _misfit('Concat', 'at least one array', 'none')
    first = xs[0]
    check_int(axis, 'concat', 'axis')
    if not -first.ndim <= axis < first.ndim:
        raise _misfit('Concat', f'-{first.ndim} <= axis < {first.ndim}', f'axis = {axis}')
    place = axis % first.ndim
    for i, x in enumerate(xs):
        others = x.shape[:place] + x.shape[place + 1 :]
        if x.dtype != first.dtype:
            raise _misfit('Concat', f'dtype {first.dtype} of all arrays', f'{x.dtype} of array {i}')
        if x.ndim != first.ndim or others != first.shape[:place] + first.shape[place + 1 :]:
            raise _misfit('Concat', f'shape {first.shape} but for axis {place}', f'{x.shape} of array {i}')


def _misfit(op: str, expected: str, actual: str) -> InvalidType:
    return invalid(expected, actual, f'Invalid operation is performed in: {op} (Forward)')


class SplitAxis(FunctionNode):
    """Splits an array along an axis; its gradient is :class:`Concat`."""

    takes_any_layout = True

    def __init__(self, sections: Any, axis: int) -> None:
        self.sections = sections
        self.axis = axis

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        parts = get_array_module(*inputs).split(inputs[0], self.sections, self.axis)
        self.part_shapes = [part.shape for part in parts]
        self.part_dtype = inputs[0].dtype
        return tuple(parts)

    def backward_arrays(self, indexes: Any, grad_outputs: Any) -> Any:
        xp = get_array_module(*[g for g in grad_outputs if g is not None])
        return [xp.concatenate(self._filled(xp, grad_outputs), self.axis)]

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        xp = next(g.xp for g in grad_outputs if g is not None)
        return (concat(self._filled(xp, grad_outputs), self.axis),)

    def _filled(self, xp: Any, grad_outputs: Any) -> list[Any]:
        """The gradients, zeros for outputs that got none."""
        pairs = zip(grad_outputs, self.part_shapes, strict=True)
        return [xp.zeros(shape, self.part_dtype) if g is None else g for g, shape in pairs]


def split_axis(x: Any, indices_or_sections: Any, axis: int, force_tuple: bool = True) -> Any:
    """Splits an array along an axis.

    Args:
        x: Variable or array.
        indices_or_sections: number of equal parts, or the sequence of indexes at which parts begin.
        axis: the axis.
        force_tuple: return a tuple also where there is one part only.

    Returns:
        Tuple of Variables, views of ``x``.

    Raises:
        InvalidType: ``axis`` is out of range, or the parts are not equal.
        TypeError: ``indices_or_sections`` is something else.

    >>> import numpy as np, minichainer.functions as F
    >>> a, b = F.split_axis(np.arange(6.), [2], 0)
    >>> b
    variable([2., 3., 4., 5.])
    """
    x = as_variable(x)
    sections = _sections(indices_or_sections)
    check_int(axis, 'split_axis', 'axis')
    if not -x.ndim <= axis < x.ndim:
        raise _misfit('SplitAxis', f'x.ndim > {axis}', f'x.ndim = {x.ndim}')
    size = x.shape[axis]
    if isinstance(sections, int):
        if size % sections:
            raise _misfit('SplitAxis', f'x.shape[{axis}] % {sections} == 0', f'x.shape[{axis}] = {size}')
    elif any(a > b for a, b in zip(sections, sections[1:], strict=False)):
        raise ValueError(f'split_axis: indices in ascending order expected, came {sections}')
    elif sections and max(sections) > size:
        raise _misfit('SplitAxis', f'indices <= {size}', f'{sections}')
    parts = SplitAxis(sections, axis).apply((x,))
    return parts if force_tuple or len(parts) > 1 else parts[0]


def _sections(value: Any) -> Any:
    if isinstance(value, int) or getattr(value, 'ndim', None) == 0:
        check_int(value, 'split_axis', 'indices_or_sections')
        if value < 1:
            raise ValueError(f'split_axis: at least one section is needed, got {value}')
        return int(value)
    if getattr(value, 'shape', None) == (0,):
        return []  # np.cumsum([]) is of float64
    try:
        if getattr(value, 'ndim', 1) != 1:
            raise TypeError
        return [operator.index(v) for v in value]
    except TypeError:
        kind = getattr(value, 'dtype', type(value).__name__)
        raise TypeError(
            f'split_axis: int or sequence of ints expected as indices_or_sections, got {value!r} ({kind})'
        ) from None


class Stack(FunctionNode):
    """Joins arrays along a new axis."""

    takes_any_layout = True

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        return (get_array_module(*inputs).stack(inputs, self.axis),)

    def _part(self, index: int) -> tuple[Any, ...]:
        return (*[slice(None)] * self.axis, index)

    def backward_arrays(self, indexes: Any, grad_outputs: Any) -> Any:
        return [grad_outputs[0][(*self._part(i), Ellipsis)] for i in indexes]

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        return tuple([grad_outputs[0][self._part(i)] for i in target_input_indexes])


def stack(xs: Any, axis: int = 0) -> Variable:
    """Joins arrays along a new axis.

    Args:
        xs: sequence of Variables or arrays of one shape and dtype.
        axis: where the new axis is in the result.

    Returns:
        Variable.

    Raises:
        InvalidType: there is no array, shapes or dtypes differ, or ``axis`` is out of range.

    >>> import numpy as np, minichainer.functions as F
    >>> F.stack((np.ones(3), np.zeros(3))).shape
    (2, 3)
    """
    xs = [as_variable(x) for x in xs]
    if not xs:
        raise _misfit('Stack', 'at least one array', 'none')
    for i, x in enumerate(xs):
        if x.shape != xs[0].shape:
            raise _misfit('Stack', f'shape {xs[0].shape} of all arrays', f'{x.shape} of array {i}')
        if x.dtype != xs[0].dtype:
            raise _misfit('Stack', f'dtype {xs[0].dtype} of all arrays', f'{x.dtype} of array {i}')
    ndim = xs[0].ndim + 1
    check_int(axis, 'stack', 'axis')
    if not -ndim <= axis < ndim:
        raise _misfit('Stack', f'{-ndim} <= axis < {ndim}', f'axis = {axis}')
    return Stack(axis % ndim).apply(xs)[0]


ops.register('concat', concat, lambda xp, xs, axis=1: xp.concatenate(xs, axis))
