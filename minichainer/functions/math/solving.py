"""Linear equations and log-determinants, over the last two axes, as in numpy.linalg."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.backend import on_device_of_arguments
from minichainer.functions._arguments import Arguments
from minichainer.functions._define import primitive
from minichainer.functions.array.selection import where
from minichainer.functions.array.shape import reshape
from minichainer.kernels import linalg
from minichainer.variable import Variable, as_variable

_solve, _slogdet = Arguments('solve'), Arguments('slogdet')


def _a_rule(m: Any, gy: Any, a: Any, y: Any, transposed: bool) -> Any:
    gb = m.solution(a, gy, not transposed)
    return -(m.matrix_product(y, gb, False, True) if transposed else m.matrix_product(gb, y, False, True))


def _gradients(xp: Any, gy: Any, a: Any, y: Any, transposed: bool, wanted: tuple[bool, ...]) -> Any:
    """Both gradients from one solution."""
    gb = linalg.solve(xp, a if transposed else a.swapaxes(-1, -2), gy)
    if not wanted[0]:
        return None, gb
    left, right = (y, gb) if transposed else (gb, y)
    return -xp.matmul(left, right.swapaxes(-1, -2)), gb


@primitive(
    rule=(_a_rule, lambda m, gy, a, transposed: m.solution(a, gy, not transposed)),
    fast=_gradients,
    kinds='f',
    name='Solve',
    label='solve',
    linear_in=('b',),
)
def solution(xp: Any, a: Any, b: Any, transposed: bool = False) -> Any:
    """The solution X of AX = B, or of A^T X = B; B are matrices."""
    try:
        return linalg.solve(xp, a.swapaxes(-1, -2) if transposed else a, b)
    except numpy.linalg.LinAlgError:
        raise singular(a) from None


def singular(a: Any) -> ValueError:
    """The error for equations that have no solution."""
    return ValueError(f'solve: singular matrix among a, of shape {a.shape}')


@on_device_of_arguments
def solve(a: Any, b: Any) -> Variable:
    r"""Solution of linear equations, :math:`A X = B`; leading axes broadcast, as in ``numpy.linalg.solve``.

    Args:
        a: Variable or float array :math:`(\dots, n, n)`.
        b: Variable or array of the same dtype, one vector :math:`(n,)`, or matrices :math:`(\dots, n, k)`.

    Returns:
        Variable :math:`(\dots, n)` for a vector, else :math:`(\dots, n, k)`.

    Raises:
        InvalidType: dtypes or shapes do not fit.
        ValueError: a matrix is singular.

    >>> import numpy as np, minichainer.functions as F
    >>> F.solve(np.array([[2., 0.], [0., 4.]]), np.array([2., 2.]))
    variable([1. , 0.5])
    """
    a, b = checked_square(_solve, a), as_variable(b)
    if b.ndim == 1 and len(b) == a.shape[-1]:
        y = solution(a, reshape(b, (len(b), 1)), False)
        return reshape(y, y.shape[:-1])
    if b.ndim < 2 or b.shape[-2] != a.shape[-1] or not _broadcast(a.shape[:-2], b.shape[:-2]):
        expected = f'b of shape ({a.shape[-1]},) or (..., {a.shape[-1]}, k), leading axes that broadcast'
        raise _solve.misfit(expected, f'a of shape {a.shape} and b of shape {b.shape}')
    return solution(a, b, False)


def _broadcast(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Whether the leading axes of two shapes broadcast together."""
    pairs = zip(first[::-1], second[::-1], strict=False)
    return all(m == n or 1 in (m, n) for m, n in pairs)


def checked_square(arguments: Arguments, a: Any, ndim: int | None = None) -> Variable:
    """Square matrices as a Variable, with the given number of axes; raises InvalidType for anything else."""
    matrices = checked_matrices(arguments, a, ndim)
    shape = matrices.shape
    if shape[-1] != shape[-2]:
        raise arguments.misfit('a.shape[-1] == a.shape[-2]', f'{shape[-1]} != {shape[-2]}, shape {shape}')
    return matrices


def checked_matrices(arguments: Arguments, a: Any, ndim: int | None = None) -> Variable:
    """Float matrices as a Variable, with the given number of axes; raises InvalidType for anything else."""
    matrices = as_variable(a)
    arguments.floats(matrices, name='a')
    found = matrices.ndim
    if found < 2 if ndim is None else found != ndim:
        expected = 'a.ndim >= 2' if ndim is None else f'a.ndim == {ndim}'
        raise arguments.misfit(expected, f'{found}, shape {matrices.shape}')
    return matrices


def _logarithm_rule(m: Any, gy: Any, a: Any) -> Any:
    _, g = gy
    return m.reshape(g, (*g.shape, 1, 1)) * m.matrix_transpose(m.inverse(a))


@primitive(rule=(_logarithm_rule,), name='LogAbsDet', label='slogdet', kinds='f', several_outputs=True)
def signs_and_logarithms(xp: Any, a: Any) -> tuple[Any, Any]:
    return linalg.log_determinant(xp, a)


@on_device_of_arguments
def slogdet(a: Any) -> tuple[Variable, Variable]:
    r"""Sign and logarithm of the absolute value of determinants, :math:`|A| = s e^l`, as ``numpy.linalg.slogdet``.

    Args:
        a: Variable or float array :math:`(\dots, n, n)`.

    Returns:
        Two Variables of shape :math:`(\dots)`, s (1, -1 or 0, without a gradient) and l. Backward needs the
        inverse: a singular matrix is a ValueError there.

    Raises:
        InvalidType: ``a`` is not a float array of that shape.

    >>> import numpy as np, minichainer.functions as F
    >>> sign, log = F.slogdet(np.array([[0., 1.], [1., 0.]]))
    >>> float(sign.array), float(log.array)
    (-1.0, 0.0)
    """
    sign, log = signs_and_logarithms(checked_square(_slogdet, a))
    return Variable(sign._data, requires_grad=False), log


@on_device_of_arguments
def logdet(a: Any) -> Variable:
    r"""Logarithm of determinants, :math:`y = \log |A|`, without overflow.

    Args:
        a: Variable or float array :math:`(\dots, n, n)`.

    Returns:
        Variable of shape :math:`(\dots)`; NaN where the determinant is negative, minus infinity where it is 0.
        Backward needs the inverse: a singular matrix is a ValueError there.

    Raises:
        InvalidType: ``a`` is not a float array of that shape.

    >>> import numpy as np, minichainer.functions as F
    >>> bool(np.isclose(F.logdet(np.eye(500) * 100.).array, 500 * np.log(100.)))
    True
    """
    sign, log = slogdet(checked_square(Arguments('logdet'), a))
    return where(sign._data >= 0, log, float('nan'))
