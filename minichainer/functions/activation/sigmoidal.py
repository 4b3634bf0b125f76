"""Smooth bounded activations.

``tanh`` and ``sigmoid`` compute their derivative from their result, which is already saved. Near an asymptote of 1
that derivative has only a small absolute error, not a small relative one. Rules of other functions call ``tanh_by_x``
and ``sigmoid_by_x`` instead: their derivatives of all orders are computed from x, and are accurate even where they
are tiny.
"""

from __future__ import annotations

from typing import Any

from minichainer.functions._define import elementwise
from minichainer.kernels import gates


@elementwise(lambda m, gy, y: gy - gy * y * y, kinds='fc', on_numpy='tanh')
def tanh(xp: Any, x: Any) -> Any:
    r"""Elementwise hyperbolic tangent, :math:`y = \tanh x`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype, between -1 and 1. The derivative is computed from it: where it rounds to
        1, from 9.02 on in float32, the derivative is 0.

    >>> import numpy as np, minichainer.functions as F
    >>> F.tanh(np.array([0., 100.]))
    variable([0., 1.])
    """
    return xp.tanh(x)


@elementwise(lambda m, gy, y: gy * (y * (1 - y)), fast=(gates.sigmoid_gradient,), on_numpy=gates.sigmoid)
def sigmoid(xp: Any, x: Any) -> Any:
    r"""Elementwise logistic sigmoid, :math:`y = 1 / (1 + e^{-x})`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype, between 0 and 1; precise where it is tiny too. The derivative is
        computed from it: where it rounds to 1, from 17.33 on in float32, the derivative is 0.

    >>> import numpy as np, minichainer.functions as F
    >>> F.sigmoid(np.array([0., 1000.]))
    variable([0.5, 1. ])
    """
    return gates.sigmoid(xp, x)


@elementwise(lambda m, gy, x: gy * m.sigmoid_slope(x), name='Sigmoid', on_numpy=gates.sigmoid)
def sigmoid_by_x(xp: Any, x: Any) -> Any:
    return gates.sigmoid(xp, x)


@elementwise(lambda m, gy, x, y: -gy * y * m.tanh_by_x(x * 0.5), name='SigmoidGrad')
def sigmoid_slope(xp: Any, x: Any) -> Any:
    return gates.sigmoid_slope(xp, x)


@elementwise(lambda m, gy, x: gy * m.sigmoid_slope(x + x) * 4, name='Tanh')
def tanh_by_x(xp: Any, x: Any) -> Any:
    return xp.tanh(x)
