"""Stacking arrays, separating them, and broadcasting several arrays together."""

from __future__ import annotations

from typing import Any

from minichainer.functions._arguments import Arguments
from minichainer.functions._define import Op, primitive
from minichainer.functions.array.joining import Shape, are_alike, ends_of, equal_but_for, slices
from minichainer.kernels import gathering
from minichainer.variable import Variable, as_variable

_separate, _broadcast = Arguments('Separate', 'separate'), Arguments('Broadcast', 'broadcast')
_stacks = {name: Arguments(name, name.lower()) for name in ('Hstack', 'Vstack', 'Dstack')}


def _joined(xp: Any, xs: Any, shapes: list[Shape], axis: int) -> Any:
    if xs[0].ndim < len(shapes[0]):
        xs = [x.reshape(shape) for x, shape in zip(xs, shapes, strict=True)]
    return xp.concatenate(xs, axis)


def _split(m: Any, gy: Any, xs_shape: Any, shapes: list[Shape], axis: int) -> Any:
    parts = m.parts(gy, ends_of(shapes, axis), axis)
    return tuple([m.reshape(part, shape) for part, shape in zip(parts, xs_shape, strict=True)])


@primitive(rule=_split, name='Hstack', linear_in=('xs',))
def stacked_in_a_row(xp: Any, *xs: Any, shapes: list[Shape], axis: int) -> Any:
    return _joined(xp, xs, shapes, axis)


@primitive(rule=_split, name='Vstack', linear_in=('xs',))
def stacked_in_a_column(xp: Any, *xs: Any, shapes: list[Shape], axis: int) -> Any:
    return _joined(xp, xs, shapes, axis)


@primitive(rule=_split, name='Dstack', linear_in=('xs',))
def stacked_in_depth(xp: Any, *xs: Any, shapes: list[Shape], axis: int) -> Any:
    return _joined(xp, xs, shapes, axis)


def hstack(xs: Any) -> Variable:
    """Joins arrays along axis 1, or along axis 0 where they have one axis or none.

    Args:
        xs: sequence of Variables or arrays, equal in dtype and in shape except for that axis.

    Returns:
        Variable.

    Raises:
        TypeError: ``xs`` is one array or Variable.
        InvalidType: shapes or dtypes do not fit together, or ``xs`` is empty.

    >>> import numpy as np, minichainer.functions as F
    >>> F.hstack([np.ones((2, 1)), np.ones((2, 3))]).shape
    (2, 4)
    """
    xs = [as_variable(x) for x in _stacks['Hstack'].several(xs)]
    axis = 0 if xs and xs[0].ndim < 2 else 1
    return _stacked(stacked_in_a_row, xs, [x.shape or (1,) for x in xs], axis)


def vstack(xs: Any) -> Variable:
    """Joins arrays along axis 0; arrays with one axis are rows.

    Args:
        xs: sequence of Variables or arrays, equal in dtype and in shape except for that axis.

    Returns:
        Variable with at least two axes.

    Raises:
        TypeError: ``xs`` is one array or Variable.
        InvalidType: shapes or dtypes do not fit together, or ``xs`` is empty.

    >>> import numpy as np, minichainer.functions as F
    >>> F.vstack([np.ones(3), np.zeros(3)])
    variable([[1., 1., 1.],
              [0., 0., 0.]])
    """
    xs = [as_variable(x) for x in _stacks['Vstack'].several(xs)]
    return _stacked(stacked_in_a_column, xs, [(1,) * (2 - x.ndim) + x.shape for x in xs], 0)


def dstack(xs: Any) -> Variable:
    """Joins arrays along axis 2; arrays with one axis are taken as (1, N, 1), matrices as (M, N, 1).

    Args:
        xs: sequence of Variables or arrays, equal in dtype and in shape except for that axis.

    Returns:
        Variable with at least three axes.

    Raises:
        TypeError: ``xs`` is one array or Variable.
        InvalidType: shapes or dtypes do not fit together, or ``xs`` is empty.

    >>> import numpy as np, minichainer.functions as F
    >>> F.dstack([np.ones((2, 3)), np.ones((2, 3))]).shape
    (2, 3, 2)
    """
    xs = [as_variable(x) for x in _stacks['Dstack'].several(xs)]
    matrices = [(1,) * (2 - x.ndim) + x.shape for x in xs]
    return _stacked(stacked_in_depth, xs, [shape + (1,) * (3 - len(shape)) for shape in matrices], 2)


def _stacked(op: Op[...], xs: list[Variable], shapes: list[Shape], axis: int) -> Variable:
    if are_alike(xs):
        return op(*xs, shapes=shapes, axis=axis)
    arguments = _stacks[op.node_class.__name__]
    arguments.one_dtype(*xs)
    first = shapes[0]
    for i, (x, shape) in enumerate(zip(xs, shapes, strict=True)):
        if x.ndim != xs[0].ndim or not equal_but_for(shape, first, axis):
            raise arguments.misfit(f'shape {xs[0].shape} except for one axis', f'{x.shape} of array {i}')
    return op(*xs, shapes=shapes, axis=axis)


def separate(x: Any, axis: int = 0) -> tuple[Variable, ...]:
    """Takes an array apart along an axis: the inverse of :func:`stack`.

    Args:
        x: Variable or array.
        axis: the axis, which vanishes.

    Returns:
        Tuple of ``x.shape[axis]`` Variables, views of ``x``.

    Raises:
        TypeError: ``axis`` is not an int.
        InvalidType: ``axis`` is out of range.

    >>> import numpy as np, minichainer.functions as F
    >>> F.separate(np.array([[1., 2.], [3., 4.]]), axis=1)
    (variable([1., 3.]), variable([2., 4.]))
    """
    x = as_variable(x)
    axis = _separate.axis(axis, x.shape)
    return slices(x, axis) if x.shape[axis] else ()


def _sums(m: Any, gy: Any, xs_shape: Any, given: tuple[bool, ...]) -> Any:
    triples = zip(gy, xs_shape, given, strict=True)
    return tuple([m.sum_to(g, shape) if is_given else None for g, shape, is_given in triples])


@primitive(rule=_sums, name='Broadcast', several_outputs=True, linear_in=('xs',))
def broadcast_together(xp: Any, *xs: Any, shape: Shape) -> Any:
    return tuple([gathering.expanded(xp, x, shape) for x in xs])


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
        raise _broadcast.misfit('at least one array', 'none')
    xs = [as_variable(x) for x in args]
    try:
        shape = gathering.common_shape(*[x.shape for x in xs])
    except ValueError:
        shapes = ' and '.join(str(x.shape) for x in xs)
        raise _broadcast.misfit('shapes that can be broadcast together', shapes) from None
    return broadcast_together(*xs, shape=shape) if len(xs) > 1 else xs[0]
