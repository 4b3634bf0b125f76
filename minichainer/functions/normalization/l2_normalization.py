"""Normalization to unit length."""

from __future__ import annotations

from typing import Any

from minichainer.functions._define import primitive
from minichainer.functions._precision import in_float32
from minichainer.functions.normalization._common import NormalizationArguments
from minichainer.kernels import sample_normalization as kernels
from minichainer.variable import Variable, as_variable

_arguments = NormalizationArguments('NormalizeL2', 'normalize')


@primitive(rule=(lambda m, g, x, y, axis: g * x / (y + m.equal(y, 0)),), name='Lengths', kinds='f')
def lengths(xp: Any, x: Any, axis: Any) -> Any:
    """Lengths along axes, which are kept; the gradient at zero is zero."""
    return kernels.lengths(xp, x, axis)


def _gradient(m: Any, gy: Any, x: Any, eps: float, axis: Any) -> Any:
    gy, x = in_float32(m, gy), in_float32(m, x)
    length = m.lengths(x, axis)
    whole = length + eps
    direction = x / (length + m.equal(length, 0))
    return (gy - direction * (m.sum(gy * direction, axis, True) * (length / whole))) / whole


@primitive(rule=(_gradient,), name='NormalizeL2', kinds='f')
def unit_vectors(xp: Any, x: Any, eps: float, axis: Any) -> Any:
    """Vectors divided by their lengths plus eps."""
    return kernels.unit_vectors(xp, x, eps, axis)


def normalize(x: Any, eps: float = 1e-5, axis: Any = 1) -> Variable:
    r"""Vectors divided by their Euclidean lengths.

    .. math:: y = \frac{x}{\lVert x \rVert_2 + \epsilon}

    The gradient at zero is the gradient of :math:`x / \epsilon`.

    Args:
        x: Variable or float array; float16 is computed in float32.
        eps: added to the length.
        axis: an int or a tuple of ints, the axes of the vectors; None for all.

    Returns:
        Variable of ``x``'s shape and dtype.

    Raises:
        InvalidType: ``x`` is not a float array, or an axis is out of range.
        TypeError: ``axis`` is not an int or tuple of ints.
        ValueError: an axis appears twice, or ``eps`` is negative.

    >>> import numpy as np, minichainer.functions as F
    >>> F.normalize(np.array([[3., 4.]]), eps=0)
    variable([[0.6, 0.8]])
    """
    x = as_variable(x)
    _arguments.floats(x)
    _arguments.eps(eps)
    axes = _arguments.axes(axis, x.shape)
    y: Variable = unit_vectors(x, eps, tuple(range(x.ndim)) if axes is None else axes)
    return y
