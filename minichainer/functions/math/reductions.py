"""Sums, extrema and means over axes."""

from __future__ import annotations

from typing import Any

from minichainer import ops
from minichainer.functions._arguments import Arguments
from minichainer.functions._define import linear_map
from minichainer.functions._reduce import kept_shape, reduction
from minichainer.kernels import bounds
from minichainer.kernels import reductions as kernels
from minichainer.variable import Variable, as_variable

_sum_arguments, _average = Arguments('Sum', 'sum'), Arguments('Mean', 'average')


def _equal(xp: Any, x: Any, y: Any) -> Any:
    return xp.equal(x, y)


ops.register_constant('equal', _equal)
ops.register_constant('attains', bounds.attains)


def _sum(xp: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The sum as an array or scalar of x's dtype; float16 is accumulated in float32."""
    return kernels.sums(xp, x, _sum_arguments.axes(axis, x.shape) if axis.__class__ is int else axis, keepdims)


@linear_map(
    lambda m, gy, x_shape, axis: m.broadcast_to(m.reshape(gy, kept_shape(x_shape, axis)), x_shape),
    name='Sum',
    kinds='fc',
)
def sum_over(xp: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _sum(xp, x, axis, keepdims)


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Variable:
    r"""Sum over axes, :math:`y = \sum x`; float16 is accumulated in float32.

    Args:
        x: Variable or float array.
        axis: None (all axes), an int, or a tuple of ints.
        keepdims: keep the summed axes with size 1.

    Returns:
        Variable.

    Raises:
        InvalidType: ``x`` is not a float array, or an axis is out of range.
        ValueError: an axis appears twice.
        TypeError: ``axis`` is something else.

    >>> import numpy as np, minichainer.functions as F
    >>> F.sum(np.ones((2, 3)), axis=1)
    variable([3., 3.])
    """
    if axis is not None:
        x = as_variable(x)
        axis = _sum_arguments.axes(axis, x.shape)
    if keepdims is not False and keepdims is not True:
        _sum_arguments.flag(keepdims, 'keepdims')
    return sum_over(x, axis, keepdims)


ops.register('sum', sum, _sum)


@reduction(lambda m, gy, x, y: m.masked(gy, m.attains(x, y)), name='Max')
def max(xp: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    r"""Maximum over axes; every element that attains it gets the whole gradient.

    If elements are NaN, the result is NaN, and they get the gradient.

    Args:
        x: Variable or float array.
        axis: None (all axes), an int, or a tuple of ints.
        keepdims: keep the reduced axes with size 1.

    Returns:
        Variable.

    Raises:
        InvalidType: ``x`` is not a float array, or an axis is out of range.
        ValueError: an axis appears twice, or nothing is there to reduce.
        TypeError: ``axis`` is something else.

    >>> import numpy as np, minichainer.functions as F
    >>> F.max(np.array([[1., 4.], [3., 2.]]), axis=0)
    variable([3., 4.])
    """
    _check_not_empty('max', x, axis)
    return kernels.maximum(xp, x, axis, keepdims)


@reduction(lambda m, gy, x, y: m.masked(gy, m.attains(x, y)), name='Min')
def min(xp: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    r"""Minimum over axes; every element that attains it gets the whole gradient.

    If elements are NaN, the result is NaN, and they get the gradient.

    Args:
        x: Variable or float array.
        axis: None (all axes), an int, or a tuple of ints.
        keepdims: keep the reduced axes with size 1.

    Returns:
        Variable.

    Raises:
        InvalidType: ``x`` is not a float array, or an axis is out of range.
        ValueError: an axis appears twice, or nothing is there to reduce.
        TypeError: ``axis`` is something else.

    >>> import numpy as np, minichainer.functions as F
    >>> F.min(np.array([[1., 4.], [3., 2.]]), axis=0)
    variable([1., 2.])
    """
    _check_not_empty('min', x, axis)
    return kernels.minimum(xp, x, axis, keepdims)


def _check_not_empty(op: str, x: Any, axis: Any) -> None:
    if not x.size and 0 in (x.shape if axis is None else [x.shape[a] for a in axis]):
        raise ValueError(f'{op}: zero-size array, nothing to reduce: x has shape {x.shape}, axis = {axis}')


def _above_minus_infinity(xp: Any, y: Any) -> Any:
    return y != -float('inf')


ops.register_constant('above_minus_infinity', _above_minus_infinity)


def _log_sum_exp_rule(m: Any, gy: Any, x: Any, y: Any) -> Any:
    """The share of each term in the sum; 0 where all terms are 0, so that the logarithm is minus infinity."""
    return gy * m.exp(x - m.masked(y, m.above_minus_infinity(y)))


@reduction(_log_sum_exp_rule, name='LogSumExp', public='logsumexp')
def log_sum_exp_over(xp: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    _check_not_empty('logsumexp', x, axis)
    return kernels.log_sum_exp(xp, x, axis, keepdims)


def logsumexp(x: Any, axis: Any = None) -> Variable:
    r"""Logarithm of the sum of exponentials, :math:`y = \log \sum e^{x}`, without overflow.

    It is minus infinity, with gradient 0, if all elements are, and infinity if one element is.

    Args:
        x: Variable or float array.
        axis: None (all axes), an int, or a tuple of ints.

    Returns:
        Variable.

    Raises:
        InvalidType: ``x`` is not a float array, or an axis is out of range.
        ValueError: an axis appears twice.
        TypeError: ``axis`` is something else.

    >>> import numpy as np, minichainer.functions as F
    >>> y = F.logsumexp(np.array([1000., 1000.]))
    >>> bool(np.isclose(y.array, 1000 + np.log(2)))
    True
    """
    return log_sum_exp_over(x, axis)


def average(x: Any, axis: Any = None, weights: Any = None, keepdims: bool = False) -> Variable:
    r"""(Weighted) mean over axes, :math:`y = \sum w x / \sum w`.

    Args:
        x: Variable or float array.
        axis: None (all axes), an int, or a tuple of ints.
        weights: None for equal weights, else a Variable or array: of ``x``'s shape, or one weight per element of the
            one axis that is given.
        keepdims: keep the reduced axes with size 1.

    Returns:
        Variable.

    Raises:
        InvalidType: ``x`` is not a float array, an axis is out of range, or the weights' shape does not fit.
        ValueError: an axis appears twice, or weights for one axis come with several.

    >>> import numpy as np, minichainer.functions as F
    >>> F.average(np.array([1., 3.]), weights=np.array([3., 1.]))
    variable(1.5)
    """
    x = as_variable(x)
    axis = _average.axes(axis, x.shape)
    _average.flag(keepdims, 'keepdims')
    if weights is None:
        return mean_over(x, axis, keepdims)
    if axis is not None and len(axis) > 1:
        raise ValueError(f'average: weights need one axis or all of them, got axis {axis}')
    weights = _fitting_weights(as_variable(weights), x, axis)
    total = sum(weights, axis, True)
    averaged = sum(x * weights, axis, True) / total
    return averaged if keepdims else ops.reshape(averaged, _without(averaged.shape, axis))


def _share(shape: tuple[int, ...], axis: Any) -> float:
    """One over the number of elements in a mean."""
    count = 1
    for i, size in enumerate(shape):
        count *= size if axis is None or i in axis else 1
    return 1.0 / count if count else float('nan')


def _mean(xp: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean as an array or scalar of x's dtype."""
    return kernels.mean(xp, x, axis, keepdims, _share(x.shape, axis))


@linear_map(
    lambda m, gy, x_shape, axis: m.broadcast_to(
        m.reshape(gy * _share(x_shape, axis), kept_shape(x_shape, axis)), x_shape
    ),
    name='Mean',
    kinds='f',
)
def mean_over(xp: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _mean(xp, x, axis, keepdims)


def _fitting_weights(weights: Variable, x: Variable, axis: Any) -> Variable:
    """Weights broadcast to the shape of ``x``."""
    if weights.shape == x.shape:
        return weights
    if axis and weights.shape == (x.shape[axis[0]],):
        shape = [1] * x.ndim
        shape[axis[0]] = -1
        fitting: Variable = ops.broadcast_to(ops.reshape(weights, tuple(shape)), x.shape)
        return fitting
    expected = f'weights of shape {x.shape}, or one per element of one axis'
    raise _average.misfit(expected, f'{weights.shape} with axis {axis}')


def _without(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    return () if axis is None else tuple([size for i, size in enumerate(shape) if i not in axis])


#: Alias of :func:`average`.
mean = average
ops.register('average', average)
