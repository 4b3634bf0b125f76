"""Norms of vectors and matrices."""

from __future__ import annotations

from typing import Any

from minichainer import ops
from minichainer.backend import on_device_of_arguments
from minichainer.functions._arguments import Arguments
from minichainer.functions._define import primitive
from minichainer.functions._precision import in_float32
from minichainer.functions._reduce import kept_shape
from minichainer.functions.arithmetic import absolute
from minichainer.functions.array.order import moveaxis
from minichainer.functions.array.shape import reshape
from minichainer.functions.math.decompositions import svd
from minichainer.functions.math.reductions import max as max_
from minichainer.functions.math.reductions import min as min_
from minichainer.functions.math.reductions import sum as sum_
from minichainer.kernels import reductions as kernels
from minichainer.variable import Variable, as_variable

_arguments = Arguments('norm')
_INF = float('inf')


def _one_where_zero(xp: Any, x: Any) -> Any:
    return (x == 0).astype(x.dtype)


ops.register_constant('one_where_zero', _one_where_zero)


def _power_rule(m: Any, gy: Any, x: Any, y: Any, order: Any, axis: Any) -> Any:
    r""":math:`g \, \mathrm{sign}(x) (|x| / y)^{p-1}`; 0 where x is 0."""
    shape, x = kept_shape(x.shape, axis), in_float32(m, x)
    gy, y = m.reshape(in_float32(m, gy), shape), m.reshape(in_float32(m, y), shape)
    zero = m.one_where_zero(y)  # the gradient is 0 there, also beside an element 0 if the order is negative
    if order == 2:
        return x / (y + zero) * (gy * (1 - zero))
    ratio = (m.absolute(x) + m.one_where_zero(x)) / (y + zero)
    return gy * (1 - zero) * ratio ** (order - 1) * m.sign(x)


@primitive(rule=(_power_rule,), name='Norm', label='norm', kinds='f')
def power_norm(xp: Any, x: Any, order: float = 2, axis: Any = None, keepdims: bool = False) -> Any:
    """The p-norm over axes, p finite and not 0."""
    return kernels.norm(xp, x, order, axis, keepdims)


@on_device_of_arguments
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Variable:
    r"""Norm of vectors, :math:`(\sum |x|^p)^{1/p}`, or of matrices, as ``numpy.linalg.norm``.

    The gradient is 0 where no derivative exists because the norm or an element is 0.

    Args:
        x: Variable or float array.
        ord: order p. Vectors: a number, inf (largest absolute value), -inf (smallest) or 0 (number of elements that
            are not 0; without a gradient); None is 2. Matrices: ``'fro'`` (None is that), ``'nuc'`` (sum of the
            singular values), 2 and -2 (the largest and the smallest of them), 1, -1, inf and -inf (largest and
            smallest sum of absolute values of a column, of a row).
        axis: an int for vectors, a pair of ints for matrices. None: all elements where ``ord`` is None too, else
            the axes of an array that has one or two.
        keepdims: keep the axes with size 1.

    Returns:
        Variable.

    Raises:
        InvalidType: ``x`` is not a float array, or an axis is out of range.
        TypeError: ``axis`` is neither None, int nor tuple of ints.
        ValueError: the order is not known, or vectors and matrices need one or two axes.

    >>> import numpy as np, minichainer.functions as F
    >>> F.norm(np.array([3., 4.]))
    variable(5.)
    >>> F.norm(np.array([[3., -4.], [1., 0.]]), ord=1, axis=1)
    variable([7., 1.])
    """
    x = as_variable(x)
    _arguments.floats(x)
    axes = _arguments.axes(axis, x.shape)
    _arguments.flag(keepdims, 'keepdims')
    if axes is None and ord is None:
        return power_norm(x, 2, None, keepdims)
    axes = tuple(range(x.ndim)) if axes is None else axes
    if len(axes) == 1:
        return _vector_norm(x, 2 if ord is None else ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, 'fro' if ord is None else ord, axes, keepdims)
    raise ValueError(f'norm: one axis for vectors or two for matrices expected, got {axes} (x has shape {x.shape})')


def _vector_norm(x: Variable, order: Any, axes: tuple[int, ...], keepdims: bool) -> Variable:
    if isinstance(order, str):
        raise ValueError(f'norm: the order of vectors must be a number, got {order!r}')
    _arguments.number(order, 'ord')
    if order == _INF:
        return max_(absolute(x), axes, keepdims)
    if order == -_INF:
        return min_(absolute(x), axes, keepdims)
    if order == 0:
        counts = (x._data != 0).sum(axis=axes, keepdims=keepdims)
        return Variable(x.xp.asarray(counts, x.dtype), requires_grad=False)
    return power_norm(x, order, axes, keepdims) if order != 1 else sum_(absolute(x), axes, keepdims)


def _matrix_norm(x: Variable, order: Any, axes: tuple[int, ...], keepdims: bool) -> Variable:
    if not isinstance(order, str):
        _arguments.number(order, 'ord')
    if order == 'fro':
        return power_norm(x, 2, axes, keepdims)
    matrices = moveaxis(x, axes, (-2, -1))
    if order in (1, -1, _INF, -_INF):
        sums = sum_(absolute(matrices), -2 if abs(order) == 1 else -1)
        y = max_(sums, -1) if order > 0 else min_(sums, -1)
    elif order in ('nuc', 2, -2):
        values = svd(matrices)[1]
        y = sum_(values, -1) if order == 'nuc' else values[..., 0 if order > 0 else -1]
    else:
        raise ValueError(
            f"norm: the order of matrices must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got {order!r}"
        )
    return reshape(y, kept_shape(x.shape, axes)) if keepdims else y
