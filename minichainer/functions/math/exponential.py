"""Exponential, logarithm, roots and powers."""

from __future__ import annotations

import math
from typing import Any

from minichainer.functions._arguments import Arguments
from minichainer.functions._define import elementwise
from minichainer.kernels import powers
from minichainer.kernels import transcendental as kernels
from minichainer.variable import Variable, as_variable

_rsqrt = Arguments('rsqrt')
_LOG2_E, _LOG10_E = math.log2(math.e), math.log10(math.e)


@elementwise(lambda m, gy, y: gy * y, label='exp', kinds='fc', on_numpy=kernels.exp)
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
    return kernels.exp(xp, x)


@elementwise(lambda m, gy, x: gy / x, label='log', kinds='fc', on_numpy=kernels.log)
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
    return kernels.log(xp, x)


@elementwise(lambda m, gy, y: gy / (y + y), label='sqrt', kinds='fc', on_numpy='sqrt')
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


def _twice_product(m: Any, gy: Any, x: Any) -> Any:
    """``2 gy x``, where ``x + x`` alone may be too large for the dtype."""
    product = gy * x
    return product + product


@elementwise(_twice_product, label='square', on_numpy='square')
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


@elementwise(lambda m, gy, x: gy * m.exp(x), label='expm1', on_numpy=kernels.expm1)
def expm1(xp: Any, x: Any) -> Any:
    r"""Elementwise exponential minus one, :math:`y = e^x - 1`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype, precise near 0 too.

    >>> import numpy as np, minichainer.functions as F
    >>> F.expm1(np.array([0., 1.])).array.round(4)
    array([0.    , 1.7183])
    """
    return kernels.expm1(xp, x)


@elementwise(lambda m, gy, x: gy / (x + 1), label='log1p', on_numpy=kernels.log1p)
def log1p(xp: Any, x: Any) -> Any:
    r"""Elementwise natural logarithm of one plus x, :math:`y = \ln (1 + x)`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype, precise near 0 too; -inf at -1, NaN below.

    >>> import numpy as np, minichainer.functions as F
    >>> F.log1p(np.array([0., 1.])).array.round(4)
    array([0.    , 0.6931])
    """
    return kernels.log1p(xp, x)


@elementwise(lambda m, gy, x: gy * _LOG2_E / x, label='log2', on_numpy=kernels.log2)
def log2(xp: Any, x: Any) -> Any:
    r"""Elementwise logarithm to base 2, :math:`y = \log_2 x`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype; -inf at 0, NaN below.

    >>> import numpy as np, minichainer.functions as F
    >>> F.log2(np.array([1., 8.])).array.round(4)
    array([0., 3.])
    """
    return kernels.log2(xp, x)


@elementwise(lambda m, gy, x: gy * _LOG10_E / x, label='log10', on_numpy=kernels.log10)
def log10(xp: Any, x: Any) -> Any:
    r"""Elementwise logarithm to base 10, :math:`y = \log_{10} x`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype; -inf at 0, NaN below.

    >>> import numpy as np, minichainer.functions as F
    >>> F.log10(np.array([1., 1000.])).array.round(4)
    array([0., 3.])
    """
    return kernels.log10(xp, x)


@elementwise(
    lambda m, gy, y: gy * y * y * y * -0.5,
    fast=(powers.rsqrt_gradient,),
    name='DivFromConstant',
    label='1.0 / _',
    kinds='fc',
    on_numpy=powers.rsqrt,
)
def reciprocal_root(xp: Any, x: Any) -> Any:
    """One node, with the name of the last one of Chainer's two."""
    return powers.rsqrt(xp, x)


def rsqrt(x: Any) -> Variable:
    r"""Elementwise reciprocal of the square root, :math:`y = 1 / \sqrt x`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype; infinite at 0, NaN below.

    >>> import numpy as np, minichainer.functions as F
    >>> F.rsqrt(np.array([4., 16.]))
    variable([0.5 , 0.25])
    """
    x = as_variable(x)
    if x.dtype.kind != 'c':
        _rsqrt.floats(x)
    return reciprocal_root(x)
