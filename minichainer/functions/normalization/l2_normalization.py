"""Normalization to length one."""

from __future__ import annotations

from typing import Any

from minichainer.functions._arguments import Arguments
from minichainer.functions._define import primitive
from minichainer.functions._reduce import kept_shape
from minichainer.functions.normalization._common import check_eps, check_float
from minichainer.variable import Variable, as_variable

_LABEL = 'NormalizeL2'


def _lengths(xp: Any, x: Any, axis: Any) -> Any:
    """Euclidean lengths along axes, which stay; scaled so that squares do not overflow."""
    if not x.size:
        return xp.zeros(kept_shape(x.shape, axis), x.dtype)
    top = abs(x).max(axis=axis, keepdims=True)
    top = xp.where((top > 0) & xp.isfinite(top), top, xp.ones_like(top))
    scaled = x / top
    return xp.sqrt((scaled * scaled).sum(axis=axis, keepdims=True)) * top


@primitive(rule=(lambda m, g, x, y, axis: g * x / (y + m.equal(y, 0)),), name='Lengths', kinds='f')
def lengths(xp: Any, x: Any, axis: Any) -> Any:
    """Lengths along axes, which stay; the gradient at zero is taken as zero."""
    return _lengths(xp, x, axis)


def _gradient(m: Any, gy: Any, x: Any, eps: float, axis: Any) -> Any:
    dtype = 'f' if x.dtype.char == 'e' else x.dtype
    gy, x = m.cast(gy, dtype), m.cast(x, dtype)
    length = m.lengths(x, axis)
    over = (length + eps) ** -1.0
    direction = x / (length + m.equal(length, 0))
    return (gy - direction * (m.sum(gy * direction, axis, True) * (length * over))) * over


@primitive(rule=(_gradient,), name=_LABEL, kinds='f')
def unit_vectors(xp: Any, x: Any, eps: float, axis: Any) -> Any:
    """Vectors over their lengths plus eps."""
    wide = x.astype('f') if x.dtype.char == 'e' else x
    return (wide / (_lengths(xp, wide, axis) + eps)).astype(x.dtype, copy=False)


def normalize(x: Any, eps: float = 1e-5, axis: Any = 1) -> Variable:
    r"""Vectors over their Euclidean lengths.

    .. math:: y = \frac{x}{\lVert x \rVert_2 + \epsilon}

    The gradient at zero is that of :math:`x / \epsilon`.

    Args:
        x: Variable or float array; float16 is computed in float32.
        eps: added to the length.
        axis: an int or a tuple of ints, the axes along which vectors lie; None for all.

    Returns:
        Variable of ``x``'s shape and dtype.

    Raises:
        InvalidType: ``x`` is no float array, or an axis is out of range.
        TypeError: ``axis`` is no int or tuple of ints.
        ValueError: an axis appears twice, or ``eps`` is negative.

    >>> import numpy as np, minichainer.functions as F
    >>> F.normalize(np.array([[3., 4.]]), eps=0)
    variable([[0.6, 0.8]])
    """
    x = as_variable(x)
    check_float(_LABEL, x=x)
    check_eps(_LABEL, eps)
    axes = Arguments(_LABEL).axes(axis, x.shape)
    if axes is None:
        axes = tuple(range(x.ndim))
    y: Variable = unit_vectors(x, eps, axes)
    return y
