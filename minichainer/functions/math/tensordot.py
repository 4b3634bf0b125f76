"""Sums of products over any axes of two arrays."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.functions._arguments import Arguments, as_integer
from minichainer.functions._define import primitive
from minichainer.functions.array.conversion import as_dtype
from minichainer.kernels import products
from minichainer.variable import Variable, as_variable

_arguments = Arguments('TensorDot', 'tensordot')


def _free(ndim: int, summed: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([axis for axis in range(ndim) if axis not in summed])


def _a_gradient(m: Any, gy: Any, b: Any, a_axes: Any, b_axes: Any) -> Any:
    b_free = _free(b.ndim, b_axes)
    count = gy.ndim - len(b_free)
    gx = m.tensor_product(gy, b, tuple(range(count, gy.ndim)), b_free)
    return m.transpose(gx, _places(count, a_axes, b_axes, 0))


def _b_gradient(m: Any, gy: Any, a: Any, a_axes: Any, b_axes: Any) -> Any:
    a_free = _free(a.ndim, a_axes)
    count = gy.ndim - len(a_free)
    gx = m.tensor_product(a, gy, a_free, tuple(range(len(a_free))))
    return m.transpose(gx, _places(count, b_axes, a_axes, len(a_axes)))


def _places(count: int, axes: Any, partner_axes: Any, first_free: int) -> tuple[int, ...]:
    """The place of each axis of an operand in the gradient, where the partner's summed axes keep their order."""
    order = sorted(partner_axes)
    first_summed = 0 if first_free else count
    free = iter(range(first_free, first_free + count))
    summed = {axis: first_summed + order.index(p) for axis, p in zip(axes, partner_axes, strict=True)}
    return tuple([summed[axis] if axis in summed else next(free) for axis in range(count + len(axes))])


@primitive(rule=(_a_gradient, _b_gradient), kinds='f', name='TensorDot', linear_in=('a', 'b'))
def tensor_product(xp: Any, a: Any, b: Any, a_axes: Any, b_axes: Any) -> Any:
    return products.tensordot(xp, a, b, (a_axes, b_axes))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Variable:
    r"""Sum of products over axes of two arrays; the result has the free axes of ``a``, then those of ``b``.

    Args:
        a: Variable or float array.
        b: Variable or float array; the wider dtype is that of the result.
        axes: how many of the last axes of ``a`` are summed with as many first axes of ``b``; or a pair of
            sequences of ints, the axes of ``a`` and their partners in ``b``; or a pair of ints.

    Returns:
        Variable; float16 is accumulated in float32.

    Raises:
        InvalidType: an array is not of floats.
        ValueError: the sizes of the axes differ, their numbers differ, an axis is not there, or appears twice.
        TypeError: ``axes`` is something else.

    >>> import numpy as np, minichainer.functions as F
    >>> F.tensordot(np.ones((2, 3, 4)), np.ones((4, 3)), axes=([1, 2], [1, 0]))
    variable([12., 12.])
    """
    a, b = as_variable(a), as_variable(b)
    _arguments.floats(a, name='a')
    _arguments.floats(b, name='b')
    a_axes, b_axes = _pair(a, b, axes)
    dtype = numpy.promote_types(a.dtype, b.dtype)
    return tensor_product(as_dtype(a, dtype), as_dtype(b, dtype), a_axes, b_axes)


def _pair(a: Variable, b: Variable, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The summed axes of both arrays."""
    shapes = f'shapes {a.shape} and {b.shape}, axes = {axes}'
    count = as_integer(axes)
    if count is not None:
        if count > min(a.ndim, b.ndim):
            raise ValueError(f'tensordot: at least {count} axes are expected, got {shapes}')
        count = max(count, 0)
        pair = tuple(range(a.ndim - count, a.ndim)), tuple(range(count))
    elif not isinstance(axes, (tuple, list)):
        raise TypeError(f'tensordot: axes must be an int or a pair of sequences of ints, got {axes!r}')
    elif len(axes) != 2:
        raise ValueError(f'tensordot: axes must be a pair, got {len(axes)} of them: {axes}')
    else:
        pair = _positive(axes[0], a.ndim, shapes), _positive(axes[1], b.ndim, shapes)
    if len(pair[0]) != len(pair[1]):
        raise ValueError(f'tensordot: as many axes of a as of b are expected, got {shapes}')
    if any(a.shape[i] != b.shape[j] for i, j in zip(*pair, strict=True)):
        raise ValueError(f'tensordot: sizes of summed axes must be equal, got {shapes}')
    return pair


def _positive(axes: Any, ndim: int, shapes: str) -> tuple[int, ...]:
    given = (axes,) if as_integer(axes) is not None else tuple(axes)
    positive = tuple([axis + ndim if axis < 0 else axis for axis in given])
    if len(set(positive)) != len(positive) or not all(0 <= axis < ndim for axis in positive):
        raise ValueError(f'tensordot: different axes of an array of {ndim} are expected, got {given} ({shapes})')
    return positive
