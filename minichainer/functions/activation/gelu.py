"""Gaussian error linear unit."""

from __future__ import annotations

import math
from typing import Any

import numpy

from minichainer import ops
from minichainer.functions._define import elementwise
from minichainer.functions.activation.sigmoidal import tanh
from minichainer.functions.math.special import erf
from minichainer.kernels import gelu as kernels
from minichainer.kernels._scipy import special
from minichainer.variable import Variable, as_variable

_ROOT_2 = math.sqrt(2)
_SLOPE, _CUBIC = math.sqrt(2 / math.pi), 0.044715
_PEAK = 1 / math.sqrt(2 * math.pi)
_FAR = 40.0  # the share of what is less than -40 is 0, and of what is more 1; 0 times infinity would be NaN


@elementwise(lambda m, gy, x, y, approximate: m.gelu_gradient(gy, x, y, approximate), name='GELU')
def gelu(xp: Any, x: Any, approximate: str = 'none') -> Any:
    r"""Gaussian error linear unit, :math:`y = x \Phi(x)` with the normal distribution function :math:`\Phi`.

    With ``approximate='tanh'`` it is :math:`y = \frac{x}{2} (1 + \tanh(\sqrt{2 / \pi}\, (x + 0.044715 x^3)))`,
    which differs by at most 5e-4.

    Args:
        x: Variable or float array of any shape.
        approximate: ``'none'`` for the exact form, or ``'tanh'``.

    Returns:
        Variable of the same shape and dtype. float64 is precise to the last digits; float32 (and float16, which is
        computed in it) to about 2e-7 of the larger of 1 and the result.

    Raises:
        InvalidType: ``x`` is no float array.
        ValueError: ``approximate`` is something else.

    Source: D. Hendrycks and K. Gimpel, Gaussian Error Linear Units, arXiv:1606.08415.

    >>> import numpy as np, minichainer.functions as F
    >>> F.gelu(np.array([-1., 0., 1.])).array.round(4)
    array([-0.1587,  0.    ,  0.8413])
    >>> F.gelu(np.array([-1., 0., 1.]), approximate='tanh').array.round(4)
    array([-0.1588,  0.    ,  0.8412])
    """
    if approximate not in ('none', 'tanh'):
        raise ValueError(f"gelu: approximate must be 'none' or 'tanh', got {approximate!r}")
    wide = x.astype('f') if x.dtype.char == 'e' else x
    if xp is numpy and wide.dtype.char == 'f':
        return kernels.gelu(wide, approximate).astype(x.dtype, copy=False)
    near = xp.maximum(wide, -_FAR)
    share = special(xp).ndtr(near) if approximate == 'none' else ops.raw(xp).sigmoid(2 * _argument(near))
    return (near * share).astype(x.dtype, copy=False)


def _argument(x: Any) -> Any:
    """What the tanh form takes the tanh of; works on arrays and Variables."""
    return (x + x * x * x * _CUBIC) * _SLOPE


def _gradient_of_arrays(xp: Any, gy: Any, x: Any, y: Any, approximate: str) -> Any:
    if x.dtype.char == 'e':
        wide = _gradient_of_arrays(xp, gy.astype('f'), x.astype('f'), y.astype('f'), approximate)
        return wide.astype('e')
    if xp is numpy and x.dtype.char == 'f':
        return kernels.gelu_gradient(gy, x, y, approximate)
    return gy * _derivative(ops.raw(xp), x, approximate)


def _gradient(gy: Variable, x: Variable, y: Variable, approximate: str) -> Variable:
    """The same as a differentiable composition, of x alone."""
    if x.dtype.char == 'e':
        wide = _gradient(ops.cast(gy, 'f'), ops.cast(x, 'f'), y, approximate)
        return ops.cast(wide, 'e')
    return gy * _derivative(ops, x, approximate)


def _derivative(m: Any, x: Any, approximate: str) -> Any:
    """In raw arrays or differentiable, as with rules."""
    near = m.clip_between(x, -_FAR, _FAR)
    if approximate == 'none':
        return m.ndtr(near) + near * m.exp(-0.5 * near * near) * _PEAK
    argument = 2 * _argument(near)
    return m.sigmoid_by_x(argument) + near * m.sigmoid_slope(argument) * _slope(near)


def _slope(x: Any) -> Any:
    """Twice the derivative of :func:`_argument`."""
    return (1 + 3 * _CUBIC * x * x) * (2 * _SLOPE)


ops.register('gelu_gradient', _gradient, _gradient_of_arrays)


def _reference(x: Any, approximate: str = 'none') -> Variable:
    """The plain composition: documentation, and oracle of the tests."""
    x = as_variable(x)
    return 0.5 * x * (1 + (tanh(_argument(x)) if approximate == 'tanh' else erf(x * (1 / _ROOT_2))))
