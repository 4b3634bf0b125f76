"""Parts of complex numbers.

Gradients with respect to complex Variables follow torch: for a real loss L of z = a + ib the gradient is
dL/da + i dL/db. So a holomorphic function multiplies an upstream gradient by the conjugate of its derivative
(``functions/_node.py``), and a step against the gradient descends.
"""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.functions._define import linear_map
from minichainer.functions.arithmetic import multiply_constant
from minichainer.variable import Variable, as_variable


@linear_map(lambda m, gy: m.with_zero_imaginary(gy), name='Real', kinds='c')
def real_part(xp: Any, x: Any) -> Any:
    return xp.ascontiguousarray(x.real) if x.ndim else xp.asarray(x.real)


@linear_map(lambda m, gy: m.real_part(gy), name='Complex', kinds='f')
def with_zero_imaginary(xp: Any, x: Any) -> Any:
    return x.astype(numpy.result_type(x.dtype, numpy.complex64))


@linear_map(lambda m, gy: m.conjugated(gy), name='Conj', kinds='c')
def conjugated(xp: Any, x: Any) -> Any:
    return xp.conjugate(x)


def real(x: Any) -> Variable:
    r"""Real part, :math:`y = \Re x`; of real numbers, these themselves.

    Args:
        x: Variable or array of floats or complex numbers.

    Returns:
        Variable of floats of the same shape.

    >>> import numpy as np, minichainer.functions as F
    >>> F.real(np.array([1 + 2j, 3]))
    variable([1., 3.])
    """
    x = as_variable(x)
    return real_part(x) if x.dtype.kind == 'c' else x * 1


def imag(x: Any) -> Variable:
    r"""Imaginary part, :math:`y = \Im x`.

    Args:
        x: Variable or array of complex numbers.

    Returns:
        Variable of floats of the same shape.

    Raises:
        InvalidType: the numbers are real.

    >>> import numpy as np, minichainer.functions as F
    >>> F.imag(np.array([1 + 2j, 3]))
    variable([2., 0.])
    """
    x = as_variable(x)
    if x.dtype.kind != 'c':
        raise real_part.node_class.spec.wrong_kind(x.dtype, ())
    turn = numpy.asarray(-1j, x.dtype)
    part: Variable = real_part(multiply_constant(x, turn, turn))
    return part


def conj(x: Any) -> Variable:
    r"""Complex conjugate, :math:`y = \bar x`; of real numbers, these themselves.

    Args:
        x: Variable or array of floats or complex numbers.

    Returns:
        Variable of the same shape and dtype.

    >>> import numpy as np, minichainer.functions as F
    >>> F.conj(np.array([1 + 2j, 3]))
    variable([1.-2.j, 3.-0.j])
    """
    x = as_variable(x)
    return conjugated(x) if x.dtype.kind == 'c' else x * 1
