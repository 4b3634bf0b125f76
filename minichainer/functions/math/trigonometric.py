"""Trigonometric functions."""
from __future__ import annotations

from typing import Any

from minichainer.functions._define import elementwise


@elementwise(lambda m, gy, x: gy * m.cos(x), label='sin', ufunc='sin')
def sin(xp: Any, x: Any) -> Any:
    r"""Elementwise sine, :math:`y = \sin x`, of angles in radians.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype.

    >>> import numpy as np, minichainer.functions as F
    >>> F.sin(np.array([0., np.pi / 2]))
    variable([0., 1.])
    """
    return xp.sin(x)


@elementwise(lambda m, gy, x: -gy * m.sin(x), label='cos', ufunc='cos')
def cos(xp: Any, x: Any) -> Any:
    r"""Elementwise cosine, :math:`y = \cos x`, of angles in radians.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype.

    >>> import numpy as np, minichainer.functions as F
    >>> F.cos(np.array([0., np.pi]))
    variable([ 1., -1.])
    """
    return xp.cos(x)
