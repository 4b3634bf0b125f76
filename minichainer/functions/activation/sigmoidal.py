"""Smooth bounded activations."""

from __future__ import annotations

from typing import Any

from minichainer.functions._define import elementwise


@elementwise(lambda m, gy, y: gy - gy * y * y, on_numpy='tanh')
def tanh(xp: Any, x: Any) -> Any:
    r"""Elementwise hyperbolic tangent, :math:`y = \tanh x`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype, between -1 and 1.

    >>> import numpy as np, minichainer.functions as F
    >>> F.tanh(np.array([0., 100.]))
    variable([0., 1.])
    """
    return xp.tanh(x)


@elementwise(lambda m, gy, y: gy * (y - y * y))
def sigmoid(xp: Any, x: Any) -> Any:
    r"""Elementwise logistic sigmoid, :math:`y = 1 / (1 + e^{-x})`.

    It is computed as :math:`\tfrac12 \tanh \tfrac x2 + \tfrac12`, which cannot overflow.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype, between 0 and 1.

    >>> import numpy as np, minichainer.functions as F
    >>> F.sigmoid(np.array([0., 1000.]))
    variable([0.5, 1. ])
    """
    half = xp.asarray(0.5, x.dtype)
    y = xp.asarray(x * half)
    xp.tanh(y, y)
    y *= half
    y += half
    return y
