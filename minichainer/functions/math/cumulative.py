"""Cumulative sums and products, and the product over axes.

The derivative of a product is the product of the other factors. It is computed from cumulative products and a linear
recurrence, without a division, so that factors may be zero, at any order of differentiation. If all factors are
finite, an infinite product is an overflow, and ``absorb`` is true: then 0 times infinity is 0.
"""

from __future__ import annotations

import math
from typing import Any

from minichainer import ops
from minichainer.functions._arguments import Arguments
from minichainer.functions._define import linear_map, primitive
from minichainer.functions._reduce import kept_shape
from minichainer.functions.array.shape import flatten
from minichainer.kernels import reductions
from minichainer.kernels import running as kernels
from minichainer.kernels.running import along
from minichainer.variable import Variable, as_variable

_cumsum, _cumprod, _prod = Arguments('Cumsum', 'cumsum'), Arguments('Cumprod', 'cumprod'), Arguments('Prod', 'prod')


@linear_map(
    lambda m, gy, axis, flip: m.running_sum(gy, axis, not flip),
    name='Cumsum',
    kinds='f',
    on_numpy=kernels.running_sum,
)
def running_sum(xp: Any, x: Any, axis: int, flip: bool) -> Any:
    """Cumulative sum, from the end if ``flip``."""
    return kernels.running_sum(xp, x, axis, flip)


@linear_map(lambda m, gy, axis, flip: m.delayed(gy, axis, not flip), name='Delayed', kinds='f')
def delayed(xp: Any, x: Any, axis: int, flip: bool) -> Any:
    """The previous element, or the next one if ``flip``; 0 where there is none."""
    y = xp.zeros_like(x)
    late, early = along(axis, slice(1, None)), along(axis, slice(None, -1))
    if flip:
        y[early] = x[late]
    else:
        y[late] = x[early]
    return y


@primitive(
    rule=(
        lambda m, gy, right: m.absorbing_product(gy, right),
        lambda m, gy, left: m.absorbing_product(gy, left),
    ),
    kinds='f',
    name='AbsorbingProduct',
    linear_in=('left', 'right'),
)
def absorbing_product(xp: Any, left: Any, right: Any) -> Any:
    """The product of two arrays of one shape, with 0 times infinity as 0."""
    return kernels.absorbing_product(xp, left, right)


def _product(m: Any, left: Any, right: Any, absorb: bool) -> Any:
    return m.absorbing_product(left, right) if absorb else left * right


def _recurrence_gradient(m: Any, gy: Any, a: Any, axis: int, flip: bool, absorb: bool) -> Any:
    return m.recurrence(gy, m.delayed(a, axis, not flip), axis, not flip, absorb)


def _factor_gradient(m: Any, gy: Any, a: Any, y: Any, axis: int, flip: bool, absorb: bool) -> Any:
    return _product(m, _recurrence_gradient(m, gy, a, axis, flip, absorb), m.delayed(y, axis, flip), absorb)


@primitive(rule=(_recurrence_gradient, _factor_gradient), kinds='f', name='Recurrence', linear_in=('g',))
def recurrence(xp: Any, g: Any, a: Any, axis: int, flip: bool, absorb: bool = False) -> Any:
    r"""The solution of :math:`s_k = g_k + a_k s_{k-1}`, or of :math:`s_k = g_k + a_k s_{k+1}` if ``flip``."""
    return (kernels.absorbing_recurrence if absorb else kernels.recurrence)(xp, g, a, axis, flip)


def _first_one(xp: Any, x: Any, axis: int, flip: bool) -> Any:
    y = xp.zeros_like(x)
    y[along(axis, slice(-1, None) if flip else slice(1))] = 1
    return y


ops.register_constant('first_one', _first_one)
ops.register_constant('all_finite', kernels.all_finite)


def _product_before(m: Any, y: Any, axis: int, flip: bool) -> Any:
    """Exclusive cumulative products, from inclusive ones."""
    return m.delayed(y, axis, flip) + m.first_one(y, axis, flip)


def _running_product_rule(m: Any, gy: Any, x: Any, y: Any, axis: int, flip: bool, absorb: bool) -> Any:
    finite = absorb or m.all_finite(x)
    if finite and not absorb and m.is_undefined(y):
        y = m.running_product(x, axis, flip, True)
    before = _product_before(m, y, axis, flip)
    return _product(m, before, _recurrence_gradient(m, gy, x, axis, flip, finite), finite)


def _is_undefined(xp: Any, y: Any) -> bool:
    return bool(xp.isnan(y).any())


ops.register_constant('is_undefined', _is_undefined)


@primitive(rule=(_running_product_rule,), name='Cumprod', kinds='f')
def running_product(xp: Any, x: Any, axis: int, flip: bool, absorb: bool = False) -> Any:
    """Cumulative product, from the end if ``flip``."""
    return (kernels.absorbing_running_product if absorb else kernels.running_product)(xp, x, axis, flip)


def cumsum(x: Any, axis: int | None = None) -> Variable:
    r"""Running sum along an axis, :math:`y_k = \sum_{j \le k} x_j`; float16 is accumulated in float32.

    Args:
        x: Variable or float array.
        axis: an int; None to flatten the array first.

    Returns:
        Variable of ``x``'s shape, or of shape ``(x.size,)``.

    Raises:
        InvalidType: ``x`` is not a float array, or the axis is out of range.
        TypeError: ``axis`` is something else.

    >>> import numpy as np, minichainer.functions as F
    >>> F.cumsum(np.array([[1., 2.], [3., 4.]]), axis=1)
    variable([[1., 3.],
              [3., 7.]])
    """
    return running_sum(*_line(_cumsum, x, axis), False)


def cumprod(x: Any, axis: int | None = None) -> Variable:
    r"""Running product along an axis, :math:`y_k = \prod_{j \le k} x_j`; factors may be 0.

    Args:
        x: Variable or float array.
        axis: an int; None to flatten the array first.

    Returns:
        Variable of ``x``'s shape, or of shape ``(x.size,)``.

    Raises:
        InvalidType: ``x`` is not a float array, or the axis is out of range.
        TypeError: ``axis`` is something else.

    >>> import numpy as np, minichainer.functions as F
    >>> F.cumprod(np.array([[1., 2.], [3., 4.]]), axis=1)
    variable([[ 1.,  2.],
              [ 3., 12.]])
    """
    return running_product(*_line(_cumprod, x, axis), False)


def _line(arguments: Arguments, x: Any, axis: int | None) -> tuple[Variable, int]:
    x = as_variable(x)
    return (flatten(x), 0) if axis is None else (x, arguments.axis(axis, x.shape))


def _product_of_others(m: Any, x: Any, axis: Any) -> Any:
    """For each element, the product of the other factors."""
    reduced = tuple(range(x.ndim)) if axis is None else axis
    order = tuple([i for i in range(x.ndim) if i not in reduced]) + tuple(reduced)
    moved = m.transpose(x, order)
    lines = m.reshape(moved, (*moved.shape[: x.ndim - len(reduced)], math.prod(moved.shape[x.ndim - len(reduced) :])))
    last = lines.ndim - 1
    absorb = m.all_finite(x)
    products = [m.running_product(lines, last, flip, absorb) for flip in (False, True)]
    before, after = (_product_before(m, y, last, flip) for y, flip in zip(products, (False, True), strict=True))
    back = sorted(range(x.ndim), key=order.__getitem__)
    return m.transpose(m.reshape(_product(m, before, after, absorb), moved.shape), tuple(back))


def _product_rule(m: Any, gy: Any, x: Any, axis: Any) -> Any:
    return m.reshape(gy, kept_shape(x.shape, axis)) * _product_of_others(m, x, axis)


def _product_gradient(xp: Any, gy: Any, x: Any, y: Any, axis: Any) -> Any:
    """The product divided by each factor, unless something is 0, infinite or too small to be accurate."""
    if not kernels.quotient_is_precise(xp, x, y):
        return _product_rule(ops.raw(xp), gy, x, axis)
    shape = kept_shape(x.shape, axis)
    return gy.reshape(shape) * (y.reshape(shape) / x)


@primitive(rule=(_product_rule,), fast=(_product_gradient,), name='Prod', kinds='f')
def product_over(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return reductions.product(xp, x, axis, keepdims)


def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Variable:
    r"""Product over axes, :math:`y = \prod x`; factors may be 0.

    Args:
        x: Variable or float array.
        axis: None (all axes), an int, or a tuple of ints.
        keepdims: keep the reduced axes with size 1.

    Returns:
        Variable.

    Raises:
        InvalidType: ``x`` is not a float array, or an axis is out of range.
        ValueError: an axis appears twice.
        TypeError: ``axis`` is something else.

    >>> import numpy as np, minichainer.functions as F
    >>> F.prod(np.array([[1., 4.], [3., 2.]]), axis=0)
    variable([3., 8.])
    """
    x = as_variable(x)
    _prod.flag(keepdims, 'keepdims')
    return product_over(x, _prod.axes(axis, x.shape), keepdims)
