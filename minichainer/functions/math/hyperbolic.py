"""Hyperbolic functions."""

from __future__ import annotations

from typing import Any

from minichainer.functions._define import elementwise
from minichainer.kernels import transcendental as kernels


@elementwise(lambda m, gy, x: gy * m.cosh(x), label='sinh', kinds='fc', on_numpy=kernels.sinh)
def sinh(xp: Any, x: Any) -> Any:
    r"""Elementwise hyperbolic sine, :math:`y = (e^x - e^{-x}) / 2`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype.

    >>> import numpy as np, minichainer.functions as F
    >>> F.sinh(np.array([0., 1.])).array.round(4)
    array([0.    , 1.1752])
    """
    return kernels.sinh(xp, x)


@elementwise(lambda m, gy, x: gy * m.sinh(x), label='cosh', kinds='fc', on_numpy=kernels.cosh)
def cosh(xp: Any, x: Any) -> Any:
    r"""Elementwise hyperbolic cosine, :math:`y = (e^x + e^{-x}) / 2`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype.

    >>> import numpy as np, minichainer.functions as F
    >>> F.cosh(np.array([0., 1.])).array.round(4)
    array([1.    , 1.5431])
    """
    return kernels.cosh(xp, x)


@elementwise(lambda m, gy, x: gy / (1 - x * x), on_numpy=kernels.arctanh)
def arctanh(xp: Any, x: Any) -> Any:
    r"""Elementwise inverse hyperbolic tangent, :math:`y = \operatorname{artanh} x`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype; infinite at -1 and 1, NaN beyond.

    >>> import numpy as np, minichainer.functions as F
    >>> F.arctanh(np.array([0., 0.5])).array.round(4)
    array([0.    , 0.5493])
    """
    return kernels.arctanh(xp, x)
