"""Losses of the difference of two arrays."""

from __future__ import annotations

from typing import Any

from minichainer import ops
from minichainer.functions._arguments import Arguments, described
from minichainer.functions._define import primitive
from minichainer.functions.loss._common import reduced_array, spread, without_axis_1
from minichainer.kernels import losses as kernels
from minichainer.kernels.precision import in_float32
from minichainer.kernels.softmax import total
from minichainer.variable import Variable, as_variable

_absolute_error = Arguments('AbsoluteError', 'absolute_error')
_mean_absolute_error = Arguments('MeanAbsoluteError', 'mean_absolute_error')
_squared_error = Arguments('SquaredError', 'squared_error')
_huber_loss = Arguments('HuberLoss', 'huber_loss')


def _pair(x0: Any, x1: Any, arguments: Arguments) -> tuple[Variable, Variable]:
    x0, x1 = as_variable(x0), as_variable(x1)
    if x0.shape != x1.shape or x0.dtype != x1.dtype or x0.dtype.kind != 'f':
        raise arguments.unequal('two float arrays of one shape and dtype', x0, x1)
    return x0, x1


@primitive(
    rule=(lambda m, gy, x0, x1: gy * m.sign(x0 - x1), lambda m, gy, x0, x1: gy * m.sign(x1 - x0)),
    kinds='f',
    name='AbsoluteError',
)
def absolute_difference(xp: Any, x0: Any, x1: Any) -> Any:
    return xp.absolute(x0 - x1)


def absolute_error(x0: Any, x1: Any) -> Variable:
    r"""Elementwise absolute difference, :math:`y = |x_0 - x_1|`; its derivative at 0 is taken as 0.

    Args:
        x0: Variable or float array.
        x1: Variable or array of the same shape and dtype.

    Returns:
        Variable of that shape and dtype.

    Raises:
        InvalidType: shapes or dtypes differ, or the arrays are not float.

    >>> import numpy as np, minichainer.functions as F
    >>> F.absolute_error(np.array([1., 2.]), np.array([3., 1.]))
    variable([2., 1.])
    """
    return absolute_difference(*_pair(x0, x1, _absolute_error))


@primitive(
    rule=(lambda m, gy, x0, x1: spread(m, gy, x0.shape, 'mean') * m.sign(x0 - x1),
    lambda m, gy, x0, x1: spread(m, gy, x0.shape, 'mean') * m.sign(x1 - x0)), kinds='f',
    name='MeanAbsoluteError',
)  # fmt: skip
def mean_of_absolute_difference(xp: Any, x0: Any, x1: Any) -> Any:
    return reduced_array(xp, xp.absolute(in_float32(x0) - in_float32(x1)), 'mean', x0.dtype)


def mean_absolute_error(x0: Any, x1: Any) -> Variable:
    r"""Mean of absolute differences, :math:`\frac1N \sum_i |x_{0i} - x_{1i}|`.

    Args:
        x0: Variable or float array.
        x1: Variable or array of the same shape and dtype.

    Returns:
        Variable of shape ``()``.

    Raises:
        InvalidType: shapes or dtypes differ, or the arrays are not float.

    >>> import numpy as np, minichainer.functions as F
    >>> F.mean_absolute_error(np.array([1., 2.]), np.array([4., 1.]))
    variable(2.)
    """
    return mean_of_absolute_difference(*_pair(x0, x1, _mean_absolute_error))


@primitive(
    rule=(lambda m, gy, x0, x1: gy * (x0 - x1) * 2, lambda m, gy, x0, x1: gy * (x1 - x0) * 2),
    kinds='f',
    name='SquaredError',
)
def square_of_error(xp: Any, x0: Any, x1: Any) -> Any:
    return xp.square(x0 - x1)


def squared_error(x0: Any, x1: Any) -> Variable:
    r"""Elementwise squared difference, :math:`y = (x_0 - x_1)^2`.

    Args:
        x0: Variable or float array.
        x1: Variable or array of the same shape and dtype.

    Returns:
        Variable of that shape and dtype.

    Raises:
        InvalidType: shapes or dtypes differ, or the arrays are not float.

    >>> import numpy as np, minichainer.functions as F
    >>> F.squared_error(np.array([1., 2.]), np.array([3., 1.]))
    variable([4., 1.])
    """
    return square_of_error(*_pair(x0, x1, _squared_error))


def _limited_difference(xp: Any, gy: Any, x: Any, t: Any, delta: float) -> Any:
    y = xp.asarray(x - t)
    xp.clip(y, xp.asarray(-delta, y.dtype), xp.asarray(delta, y.dtype), y)
    y *= gy
    return y


ops.register(
    'limited_difference',
    lambda gy, x, t, delta: gy * ops.clip_between(x - t, -delta, delta),
    _limited_difference,
)


def _huber_rule(m: Any, gy: Any, x: Any, t: Any, delta: float, reduce: str) -> Any:
    shape = x.shape if reduce == 'no' else without_axis_1(x.shape)
    return m.limited_difference(m.reshape(gy, shape), x, t, delta)


@primitive(
    rule=(_huber_rule,
    lambda m, gy, x, t, delta, reduce: -_huber_rule(m, gy, x, t, delta, reduce)), kinds='f',
    name='HuberLoss',
)  # fmt: skip
def huber(xp: Any, x: Any, t: Any, delta: float, reduce: str) -> Any:
    losses = kernels.huber(xp, x, t, delta)
    if reduce == 'no':
        return xp.asarray(losses, x.dtype)
    sums = total(xp, losses, 1)[:, 0]
    return xp.asarray(sums, x.dtype)


def huber_loss(x: Any, t: Any, delta: float, reduce: str = 'sum_along_second_axis') -> Variable:
    r"""Huber loss: half the squared difference near 0, and linear beyond.

    With :math:`a = x - t` it is :math:`\frac12 a^2` where :math:`|a| \le \delta`, else
    :math:`\delta (|a| - \frac12 \delta)`. P. J. Huber, Robust Estimation of a Location Parameter (1964).

    Args:
        x: Variable or float array.
        t: Variable or array of the same shape and dtype.
        delta: where the loss becomes linear.
        reduce: ``'sum_along_second_axis'`` or ``'no'``.

    Returns:
        Variable of x's shape, without the second axis if that is summed over.

    Raises:
        InvalidType: shapes or dtypes differ, the arrays are not float, or there is no second axis to sum over.
        ValueError: ``reduce`` is unknown.

    >>> import numpy as np, minichainer.functions as F
    >>> F.huber_loss(np.array([[0., 3.]]), np.array([[1., 0.]]), delta=1.)
    variable([3.])
    """
    _huber_loss.choice(reduce, 'reduce', ('sum_along_second_axis', 'no'))
    _huber_loss.number(delta, 'delta')
    x, t = _pair(x, t, _huber_loss)
    if reduce != 'no' and x.ndim < 2:
        raise _huber_loss.misfit('at least two axes to sum along the second one', described(x, t))
    return huber(x, t, delta, reduce)
