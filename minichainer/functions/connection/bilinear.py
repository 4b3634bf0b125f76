"""The bilinear layer."""

from __future__ import annotations

from typing import Any

from minichainer.functions._arguments import Arguments, described
from minichainer.functions.array.shape import reshape
from minichainer.functions.math.matmul import matmul
from minichainer.variable import Variable, as_variable

_arguments = Arguments('BilinearFunction', 'bilinear')


def bilinear(e1: Any, e2: Any, W: Any, V1: Any = None, V2: Any = None, b: Any = None) -> Variable:
    r"""Bilinear map of two vectors.

    .. math:: y_l = \sum_{jk} e^1_j e^2_k W_{jkl} + \sum_j e^1_j V^1_{jl} + \sum_k e^2_k V^2_{kl} + b_l

    Args:
        e1: Variable or float array ``(B, J)``; with more axes, those after the first are taken together.
        e2: Variable or float array ``(B, K)``, likewise.
        W: Variable or float array ``(J, K, L)``.
        V1: ``(J, L)``, or None.
        V2: ``(K, L)``, or None.
        b: ``(L,)``, or None; V1, V2 and b are given together or not at all.

    Returns:
        Variable ``(B, L)``.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        ValueError: some of ``V1``, ``V2`` and ``b`` are given, others are not.

    >>> import numpy as np, minichainer.functions as F
    >>> F.bilinear(np.array([[1., 2.]]), np.array([[3.]]), np.ones((2, 1, 1)))
    variable([[9.]])
    """
    terms = (V1, V2, b)
    given = [x is not None for x in terms]
    if any(given) and not all(given):
        raise ValueError('bilinear: V1, V2 and b must be given together, or be None together')
    variables = [as_variable(x) for x in (e1, e2, W, *[x for x in terms if x is not None])]
    _check(variables)
    left, right = (reshape(x, (len(x), size)) for x, size in zip(variables[:2], variables[2].shape[:2], strict=True))
    y = _product(left, right, variables[2])
    if all(given):
        v1, v2, bias = variables[3:]
        y = y + matmul(left, v1) + matmul(right, v2) + bias
    return y


def _product(left: Variable, right: Variable, W: Variable) -> Variable:
    (batch, j), k = left.shape, right.shape[1]
    pairs = reshape(left, (batch, j, 1)) * reshape(right, (batch, 1, k))
    return matmul(reshape(pairs, (batch, j * k)), reshape(W, (j * k, W.shape[2])))


def _check(variables: list[Variable]) -> None:
    e1, e2, W = variables[:3]
    fits = W.ndim == 3 and e1.ndim >= 2 and e2.ndim >= 2 and len(e1) == len(e2)
    if fits:
        j, k, width = W.shape
        fits = e1.size == len(e1) * j and e2.size == len(e2) * k
        shapes = [(j, width), (k, width), (width,)]
        fits = fits and all(x.shape == shape for x, shape in zip(variables[3:], shapes, strict=False))
    if not fits or any(x.dtype != e1.dtype for x in variables) or e1.dtype.kind != 'f':
        expected = 'float arrays of one dtype, of shapes (B, J), (B, K), (J, K, L), and (J, L), (K, L), (L,)'
        raise _arguments.misfit(expected, described(*variables))
