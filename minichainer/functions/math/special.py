"""Error functions and the normal distribution function."""

from __future__ import annotations

import math
from typing import Any

from minichainer.functions._define import elementwise
from minichainer.kernels import error_functions as kernels
from minichainer.kernels import tails
from minichainer.kernels._scipy import special

_ROOT_2 = math.sqrt(2)
_ROOT_PI = math.sqrt(math.pi)
_ROOT_2_PI = math.sqrt(2 * math.pi)


def _gaussian(of: str, a: float, b: float) -> Any:
    """The fast form of a rule ``gy * a * exp(b * x * x)``, of the argument ``'x'`` or of the result ``'y'``."""
    if of == 'x':
        return lambda xp, gy, x: kernels.times_gaussian(xp, gy, x, a, b)
    return lambda xp, gy, y: kernels.times_gaussian(xp, gy, y, a, b)


@elementwise(
    lambda m, gy, x: gy * (2 / _ROOT_PI) * m.exp(-x * x), fast=(_gaussian('x', 2 / _ROOT_PI, -1.0),), label='erf'
)
def erf(xp: Any, x: Any) -> Any:
    r"""Elementwise error function, :math:`y = \frac{2}{\sqrt\pi} \int_0^x e^{-t^2} dt`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype.

    >>> import numpy as np, minichainer.functions as F
    >>> F.erf(np.array([0., 1.])).array.round(4)
    array([0.    , 0.8427])
    """
    return kernels.erf(xp, x)


@elementwise(
    lambda m, gy, x: gy * (-2 / _ROOT_PI) * m.exp(-x * x), fast=(_gaussian('x', -2 / _ROOT_PI, -1.0),), label='erfc'
)
def erfc(xp: Any, x: Any) -> Any:
    r"""Elementwise complementary error function, :math:`y = 1 - \operatorname{erf} x`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype, precise for large x too.

    >>> import numpy as np, minichainer.functions as F
    >>> F.erfc(np.array([0., 1.])).array.round(4)
    array([1.    , 0.1573])
    """
    return kernels.erfc(xp, x)


@elementwise(lambda m, gy, x, n, y: gy * y * (m.tail_ratio(x, n + 1) - y))
def tail_ratio(xp: Any, x: Any, n: int) -> Any:
    r""":math:`n I_n(x) / I_{n-1}(x)`, where :math:`I_0 = \Phi` and :math:`I_n` is the integral of :math:`I_{n-1}`.

    With :math:`h = \Phi' / \Phi`, the derivative of :func:`log_ndtr`, the first ratio is :math:`h + x`. The rules
    below need it because this sum loses all digits for x far below 0.
    """
    return kernels.tail_ratio(xp, x, n).astype(x.dtype, copy=False)


@elementwise(lambda m, gy, x, y: -gy * y * m.tail_ratio(x, 1))
def ndtr_log_slope(xp: Any, x: Any) -> Any:
    r""":math:`\Phi'(x) / \Phi(x)`, the derivative of :func:`log_ndtr`."""
    return tails.ndtr_log_slope(xp, x)


@elementwise(
    lambda m, gy, x, y: gy * y * m.tail_ratio(x * -_ROOT_2, 1) * -_ROOT_2,
    fast=(tails.erfcx_gradient,),
    label='erfcx',
)
def erfcx(xp: Any, x: Any) -> Any:
    r"""Elementwise scaled complementary error function, :math:`y = e^{x^2} \operatorname{erfc} x`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype.

    >>> import numpy as np, minichainer.functions as F
    >>> F.erfcx(np.array([0., 1.])).array.round(4)
    array([1.    , 0.4276])
    """
    return tails.erfcx(xp, x)


@elementwise(
    lambda m, gy, y: gy * (_ROOT_PI / 2) * m.exp(y * y),
    fast=(_gaussian('y', _ROOT_PI / 2, 1.0),),
    name='ErfInv',
    label='erfinv',
)
def erfinv(xp: Any, x: Any) -> Any:
    r"""Elementwise inverse of the error function, :math:`y = \operatorname{erf}^{-1} x`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype; infinite at -1 and 1, NaN beyond.

    >>> import numpy as np, minichainer.functions as F
    >>> F.erfinv(np.array([0., 0.5])).array.round(4)
    array([0.    , 0.4769])
    """
    return kernels.erfinv(xp, x)


@elementwise(
    lambda m, gy, y: gy * (-_ROOT_PI / 2) * m.exp(y * y),
    fast=(_gaussian('y', -_ROOT_PI / 2, 1.0),),
    name='ErfcInv',
    label='erfcinv',
)
def erfcinv(xp: Any, x: Any) -> Any:
    r"""Elementwise inverse of the complementary error function, :math:`y = \operatorname{erfc}^{-1} x`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype; infinite at 0 and 2, NaN beyond.

    >>> import numpy as np, minichainer.functions as F
    >>> F.erfcinv(np.array([0.5, 1.5])).array.round(4)
    array([ 0.4769, -0.4769])
    """
    return kernels.erfcinv(xp, x)


@elementwise(
    lambda m, gy, x: gy * (1 / _ROOT_2_PI) * m.exp(-0.5 * x * x),
    fast=(_gaussian('x', 1 / _ROOT_2_PI, -0.5),),
    label='ndtr',
)
def ndtr(xp: Any, x: Any) -> Any:
    r"""Elementwise distribution function of the normal distribution, :math:`y = \Phi(x)`.

    It is :math:`\Phi(x) = \frac{1}{\sqrt{2 \pi}} \int_{-\infty}^x e^{-t^2 / 2} dt`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype.

    >>> import numpy as np, minichainer.functions as F
    >>> F.ndtr(np.array([0., 1.])).array.round(4)
    array([0.5   , 0.8413])
    """
    return kernels.ndtr(xp, x)


@elementwise(
    lambda m, gy, x: gy * m.ndtr_log_slope(x), fast=(tails.log_ndtr_gradient,), name='LogNdtr', label='log_ndtr'
)
def log_ndtr(xp: Any, x: Any) -> Any:
    r"""Elementwise logarithm of the distribution function of the normal distribution, :math:`y = \ln \Phi(x)`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype, precise for very negative x too.

    >>> import numpy as np, minichainer.functions as F
    >>> F.log_ndtr(np.array([0., -10.])).array.round(4)
    array([ -0.6931, -53.2313])
    """
    return tails.log_ndtr(xp, x)


@elementwise(
    lambda m, gy, y: gy * _ROOT_2_PI * m.exp(0.5 * y * y), fast=(_gaussian('y', _ROOT_2_PI, 0.5),), label='ndtri'
)
def ndtri(xp: Any, x: Any) -> Any:
    r"""Elementwise quantile function of the normal distribution, :math:`y = \Phi^{-1}(x)`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype; infinite at 0 and 1, NaN beyond.

    >>> import numpy as np, minichainer.functions as F
    >>> F.ndtri(np.array([0.5, 0.975])).array.round(4)
    array([0.  , 1.96])
    """
    return special(xp).ndtri(x)
