"""Gaussian error linear unit."""

from __future__ import annotations

import math
from typing import Any

from minichainer.functions._arguments import Arguments
from minichainer.functions._define import elementwise
from minichainer.functions._precision import in_float32
from minichainer.functions.activation.sigmoidal import tanh
from minichainer.functions.math.special import erf
from minichainer.kernels import gelu as kernels
from minichainer.variable import Variable, as_variable

_ROOT_2 = math.sqrt(2)
_gelu = Arguments('GELU', 'gelu')


def _rule(m: Any, gy: Any, x: Any, approximate: str) -> Any:
    x = in_float32(m, x)
    near = m.clip_between(x, -kernels.FAR, kernels.FAR)
    if approximate == 'none':
        return in_float32(m, gy) * (m.ndtr(near) + near * m.exp(-0.5 * near * near) * kernels.PEAK)
    twice = 2 * kernels.argument(near)
    return in_float32(m, gy) * (m.sigmoid_by_x(twice) + near * m.sigmoid_slope(twice) * kernels.slope(near))


@elementwise(_rule, fast=(kernels.gelu_gradient,), name='GELU')
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
        InvalidType: ``x`` is not a float array.
        ValueError: ``approximate`` is something else.

    Source: D. Hendrycks and K. Gimpel, Gaussian Error Linear Units, arXiv:1606.08415.

    >>> import numpy as np, minichainer.functions as F
    >>> F.gelu(np.array([-1., 0., 1.])).array.round(4)
    array([-0.1587,  0.    ,  0.8413])
    >>> F.gelu(np.array([-1., 0., 1.]), approximate='tanh').array.round(4)
    array([-0.1588,  0.    ,  0.8412])
    """
    _gelu.choice(approximate, 'approximate', ('none', 'tanh'))
    return kernels.gelu(xp, x, approximate)


def _reference(x: Any, approximate: str = 'none') -> Variable:
    """The plain composition: documentation, and reference for the tests."""
    z = as_variable(x)
    return 0.5 * z * (1 + (tanh(kernels.argument(z)) if approximate == 'tanh' else erf(z * (1 / _ROOT_2))))
