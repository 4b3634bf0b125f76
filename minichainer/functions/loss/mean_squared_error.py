"""Mean squared error."""

from __future__ import annotations

from typing import Any

from minichainer.functions._arguments import Arguments
from minichainer.functions._define import primitive
from minichainer.functions._precision import in_float32 as wide
from minichainer.kernels import reductions
from minichainer.kernels.precision import in_float32
from minichainer.variable import Variable, as_variable

_mean_squared_error = Arguments('MeanSquaredError', 'mean_squared_error')


def _rule(m: Any, gy: Any, x0: Any, x1: Any) -> Any:
    difference, gy = wide(m, x0) - wide(m, x1), wide(m, gy)
    return m.broadcast_to(gy * (2.0 / max(difference.size, 1)), difference.shape) * difference


@primitive(
    rule=(_rule, lambda m, gy, x0, x1: -_rule(m, gy, x0, x1)), kinds='f', name='MeanSquaredError'
)  # fmt: skip
def mean_square_of_difference(xp: Any, x0: Any, x1: Any) -> Any:
    difference = (in_float32(x0) - in_float32(x1)).ravel()
    total = reductions.square_of_length(xp, difference) / (difference.size or float('nan'))
    return xp.asarray(total, x0.dtype)


def mean_squared_error(x0: Any, x1: Any) -> Variable:
    r"""Mean of squared differences, :math:`\frac1N \sum_i (x_{0i} - x_{1i})^2`.

    Args:
        x0: Variable or float array.
        x1: Variable or array of the same shape and dtype.

    Returns:
        Variable of shape ``()``.

    Raises:
        InvalidType: shapes or dtypes differ, or the arrays are not float.

    >>> import numpy as np, minichainer.functions as F
    >>> F.mean_squared_error(np.array([1., 2.]), np.array([1., 4.]))
    variable(2.)
    """
    x0, x1 = as_variable(x0), as_variable(x1)
    if x0.shape != x1.shape or x0.dtype != x1.dtype or x0.dtype.kind != 'f':
        raise _mean_squared_error.unequal('two float arrays of one shape and dtype', x0, x1)
    return mean_square_of_difference(x0, x1)
