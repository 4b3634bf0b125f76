"""Softmax and its logarithm."""

from __future__ import annotations

from typing import Any

from minichainer.functions._arguments import Arguments
from minichainer.functions._define import primitive
from minichainer.kernels import softmax as kernels

_softmax, _log_softmax = Arguments('softmax'), Arguments('log_softmax')


@primitive(
    rule=(lambda m, gy, y, axis: y * (gy - m.sum(gy * y, axis, True)),),
    fast=(kernels.softmax_gradient,),
    name='Softmax',
    kinds='f',
)
def softmax(xp: Any, x: Any, axis: int = 1) -> Any:
    r"""Softmax along an axis, :math:`y_i = e^{x_i} / \sum_j e^{x_j}`.

    Args:
        x: Variable or float array with at least ``axis + 1`` axes.
        axis: the axis that sums to 1.

    Returns:
        Variable of the same shape and dtype.

    Raises:
        InvalidType: ``x`` is not a float array, or has too few axes.

    >>> import numpy as np, minichainer.functions as F
    >>> F.softmax(np.log(np.array([[1., 3.]])))
    variable([[0.25, 0.75]])
    """
    return kernels.softmax(xp, x, _softmax.axis(axis, x.shape))


@primitive(
    rule=(lambda m, gy, y, axis: -m.expm1(y) * gy - m.exp(y) * (m.sum(gy, axis, True) - gy),),
    fast=(kernels.log_softmax_gradient,),
    name='LogSoftmax',
    kinds='f',
)
def log_softmax(xp: Any, x: Any, axis: int = 1) -> Any:
    r"""Logarithm of softmax along an axis, :math:`y_i = x_i - \log \sum_j e^{x_j}`, without overflow.

    Args:
        x: Variable or float array with at least ``axis + 1`` axes.
        axis: the axis of the sum.

    Returns:
        Variable of the same shape and dtype.

    Raises:
        InvalidType: ``x`` is not a float array, or has too few axes.

    >>> import numpy as np, minichainer.functions as F
    >>> F.log_softmax(np.array([[0., 0.]])).array.round(4)
    array([[-0.6931, -0.6931]])
    """
    return kernels.log_softmax(xp, x, _log_softmax.axis(axis, x.shape))
