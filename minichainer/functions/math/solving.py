"""Linear equations, and logarithms of determinants; over the last two axes, as in numpy.linalg."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.functions._checks import invalid
from minichainer.functions._define import primitive
from minichainer.functions.array.selection import where
from minichainer.functions.array.shape import reshape
from minichainer.functions.math.linear_algebra import in_float32
from minichainer.utils.type_check import InvalidType
from minichainer.variable import Variable, as_variable


def _a_rule(m: Any, gy: Any, a: Any, y: Any, transposed: bool) -> Any:
    gb = m.solution(a, gy, not transposed)
    return -(m.matrix_product(y, gb, False, True) if transposed else m.matrix_product(gb, y, False, True))


@primitive(
    rule=(_a_rule, lambda m, gy, a, transposed: m.solution(a, gy, not transposed)),
    kinds='f',
    name='Solve',
    label='solve',
)
def solution(xp: Any, a: Any, b: Any, transposed: bool = False) -> Any:
    """The X of AX = B, or of the transposed A; B are matrices."""
    left, right = in_float32(a.swapaxes(-1, -2) if transposed else a), in_float32(b)
    ndim = max(a.ndim, b.ndim)  # before NumPy 2, matrices with fewer axes than a were taken as vectors
    left, right = (x.reshape((1,) * (ndim - x.ndim) + x.shape) for x in (left, right))
    try:
        y = xp.linalg.solve(left, right)
    except numpy.linalg.LinAlgError:
        raise ValueError(f'solve: singular matrix among a, of shape {a.shape}') from None
    return y.astype(b.dtype, copy=False)


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
    a, b = check_square('solve', a), as_variable(b)
    if b.ndim == 1 and len(b) == a.shape[-1]:
        y = solution(a, reshape(b, (len(b), 1)), False)
        return reshape(y, y.shape[:-1])
    if b.ndim < 2 or b.shape[-2] != a.shape[-1] or not _broadcast(a.shape[:-2], b.shape[:-2]):
        expected = f'b of shape ({a.shape[-1]},) or (..., {a.shape[-1]}, k), leading axes that broadcast'
        raise _misfit('solve', expected, f'a of shape {a.shape} and b of shape {b.shape}')
    return solution(a, b, False)


def _broadcast(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    pairs = zip(first[::-1], second[::-1], strict=False)
    return all(m == n or 1 in (m, n) for m, n in pairs)


def check_square(op: str, a: Any) -> Variable:
    """Square matrices as a Variable; raises InvalidType for anything else."""
    a = check_matrices(op, a)
    if a.shape[-1] != a.shape[-2]:
        raise _misfit(op, 'a.shape[-1] == a.shape[-2]', f'{a.shape[-1]} != {a.shape[-2]}, shape {a.shape}')
    return a


def check_matrices(op: str, a: Any) -> Variable:
    """Float matrices as a Variable; raises InvalidType for anything else."""
    a = as_variable(a)
    if a.dtype.kind != 'f':
        raise _misfit(op, 'a.dtype of kind float', f'{a.dtype}')
    if a.ndim < 2:
        raise _misfit(op, 'a.ndim >= 2', f'{a.ndim}, shape {a.shape}')
    return a


def _misfit(op: str, expected: str, actual: str) -> InvalidType:
    return invalid(expected, actual, f'Invalid operation is performed in: {op} (Forward)')


@primitive(
    rule=(lambda m, gy, a: m.expand_matrix(gy) * m.matrix_transpose(m.inverse(a)),),
    name='LogAbsDet', label='slogdet', kinds='f',
)  # fmt: skip
def log_abs_determinants(xp: Any, a: Any) -> Any:
    return _sign_and_log(xp, a)[1]


def _sign_and_log(xp: Any, a: Any) -> tuple[Any, Any]:
    sign, log = xp.linalg.slogdet(in_float32(a))
    return xp.asarray(sign, a.dtype), xp.asarray(log, a.dtype)


def slogdet(a: Any) -> tuple[Variable, Variable]:
    r"""Sign and logarithm of the absolute value of determinants, :math:`|A| = s e^l`, as ``numpy.linalg.slogdet``.

    Args:
        a: Variable or float array :math:`(\dots, n, n)`.

    Returns:
        Two Variables of shape :math:`(\dots)`, s (1, -1 or 0, without a gradient) and l. Backward needs the
        inverse: a singular matrix is a ValueError there.

    Raises:
        InvalidType: ``a`` is no float array of that shape.

    >>> import numpy as np, minichainer.functions as F
    >>> sign, log = F.slogdet(np.array([[0., 1.], [1., 0.]]))
    >>> float(sign.array), float(log.array)
    (-1.0, 0.0)
    """
    a = check_square('slogdet', a)
    return Variable(_sign_and_log(a.xp, a.array)[0], requires_grad=False), log_abs_determinants(a)


def logdet(a: Any) -> Variable:
    r"""Logarithm of determinants, :math:`y = \log |A|`, without overflow.

    Args:
        a: Variable or float array :math:`(\dots, n, n)`.

    Returns:
        Variable of shape :math:`(\dots)`; NaN where the determinant is negative, minus infinity where it is 0.
        Backward needs the inverse: a singular matrix is a ValueError there.

    Raises:
        InvalidType: ``a`` is no float array of that shape.

    >>> import numpy as np, minichainer.functions as F
    >>> bool(np.isclose(F.logdet(np.eye(500) * 100.).array, 500 * np.log(100.)))
    True
    """
    sign, log = slogdet(check_square('logdet', a))
    return where(sign.array >= 0, log, float('nan'))
