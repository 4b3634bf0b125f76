"""Functions related to the gamma function."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.functions._arguments import Arguments
from minichainer.functions._define import elementwise
from minichainer.functions.array.shape import broadcast_to
from minichainer.kernels import gamma as kernels
from minichainer.kernels._scipy import special
from minichainer.variable import Variable, as_array, as_variable


@elementwise(lambda m, gy, x: gy * m.digamma(x), name='LGamma', label='lgamma')
def lgamma(xp: Any, x: Any) -> Any:
    r"""Elementwise logarithm of the absolute value of the gamma function, :math:`y = \ln |\Gamma(x)|`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype; infinite at 0 and the negative integers.

    >>> import numpy as np, minichainer.functions as F
    >>> F.lgamma(np.array([1., 5.])).array.round(4)
    array([0.    , 3.1781])
    """
    return kernels.lgamma(xp, x)


@elementwise(lambda m, gy, x: gy * m.polygamma_of(x, 1), name='DiGamma', label='digamma')
def digamma(xp: Any, x: Any) -> Any:
    r"""Elementwise digamma function, :math:`y = \Gamma'(x) / \Gamma(x)`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype.

    >>> import numpy as np, minichainer.functions as F
    >>> F.digamma(np.array([1., 2.])).array.round(4)
    array([-0.5772,  0.4228])
    """
    return special(xp).digamma(x)


@elementwise(lambda m, gy, x, n: gy * m.polygamma_of(x, n + 1), name='PolyGamma', label='polygamma')
def polygamma_of(xp: Any, x: Any, n: Any) -> Any:
    return kernels.polygamma(xp, n, x)


@on_device_of_arguments
def polygamma(n: Any, x: Any) -> Variable:
    r"""Elementwise polygamma function, the n-th derivative of the digamma function, :math:`y = \psi^{(n)}(x)`.

    Args:
        n: orders, int array or Variable, or an int; it has no gradient.
        x: Variable or float array; the shapes are broadcast.

    Returns:
        Variable of ``x``'s dtype.

    Raises:
        InvalidType: ``n`` is not of integers or ``x`` not of floats, or the shapes cannot be broadcast together.

    >>> import numpy as np, minichainer.functions as F
    >>> F.polygamma(np.array([0, 1]), np.array([1., 1.])).array.round(4)
    array([-0.5772,  1.6449])
    """
    x = as_variable(x)
    if type(n) is int:
        return polygamma_of(x, n)
    n = get_array_module(x._data).asarray(as_array(n))
    if n.dtype.kind not in 'iu':
        raise Arguments('polygamma').misfit('n.dtype of kind int', f'{n.dtype}')
    return polygamma_of(_broadcast(x, n, 'polygamma'), n)


@elementwise(lambda m, gy, q, x: -gy * x * m.zeta_of(q, x + x.dtype.type(1)), name='Zeta', label='zeta')
def zeta_of(xp: Any, q: Any, x: Any) -> Any:
    return kernels.zeta(xp, x, q)


@on_device_of_arguments
def zeta(x: Any, q: Any) -> Variable:
    r"""Elementwise Hurwitz zeta function, :math:`y = \sum_{k=0}^\infty (q + k)^{-x}`.

    Args:
        x: exponents, array or number; it has no gradient.
        q: Variable or float array; the shapes are broadcast.

    Returns:
        Variable of ``q``'s dtype; infinite for x = 1, NaN below.

    Raises:
        InvalidType: ``q`` is not of floats, or the shapes cannot be broadcast together.
        TypeError: ``x`` is a Variable.

    >>> import numpy as np, minichainer.functions as F
    >>> F.zeta(2., np.array([1., 2.])).array.round(4)
    array([1.6449, 0.6449])
    """
    if isinstance(x, Variable):
        raise TypeError('zeta: x has no gradient and must not be a Variable; pass an array, for example x.array')
    q = as_variable(q)
    Arguments('zeta').floats(q, name='q')
    x = get_array_module(q._data).asarray(x, q.dtype)
    return zeta_of(_broadcast(q, x, 'zeta'), x)


def _broadcast(x: Variable, constant: Any, name: str) -> Variable:
    if x.shape == constant.shape:
        return x
    try:
        return broadcast_to(x, numpy.broadcast_shapes(x.shape, constant.shape))
    except ValueError:
        expected = 'shapes that can be broadcast together'
        raise Arguments(name).misfit(expected, f'{constant.shape} and {x.shape}') from None
