"""Exponential, logarithm, roots and powers."""
from __future__ import annotations

from typing import Any

from minichainer.functions._define import elementwise


@elementwise(lambda m, gy, y: gy * y, label='exp', ufunc='exp')
def exp(xp: Any, x: Any) -> Any:
    r"""Elementwise exponential, :math:`y = e^x`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype.

    >>> import numpy as np, minichainer.functions as F
    >>> F.exp(np.array([0., 1.])).array.round(4)
    array([1.    , 2.7183])
    """
    return xp.exp(x)


@elementwise(lambda m, gy, x: gy / x, label='log', ufunc='log')
def log(xp: Any, x: Any) -> Any:
    r"""Elementwise natural logarithm, :math:`y = \ln x`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype; -inf at 0, NaN below.

    >>> import numpy as np, minichainer.functions as F
    >>> F.log(np.array([1., np.e]))
    variable([0., 1.])
    """
    return xp.log(x)


@elementwise(lambda m, gy, y: gy / (y + y), label='sqrt', ufunc='sqrt')
def sqrt(xp: Any, x: Any) -> Any:
    r"""Elementwise square root, :math:`y = \sqrt x`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype; NaN below 0. The derivative at 0 is infinite.

    >>> import numpy as np, minichainer.functions as F
    >>> F.sqrt(np.array([4., 9.]))
    variable([2., 3.])
    """
    return xp.sqrt(x)


@elementwise(lambda m, gy, x: gy * (x + x), ufunc='square')
def square(xp: Any, x: Any) -> Any:
    r"""Elementwise square, :math:`y = x^2`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype.

    >>> import numpy as np, minichainer.functions as F
    >>> F.square(np.array([2., -3.]))
    variable([4., 9.])
    """
    return xp.square(x)
