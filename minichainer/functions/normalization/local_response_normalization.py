"""Local response normalization."""

from __future__ import annotations

from typing import Any

from minichainer.functions._arguments import Arguments
from minichainer.functions._define import linear_map, primitive
from minichainer.functions._precision import in_float32
from minichainer.kernels import neighbours as kernels
from minichainer.variable import Variable, as_variable

_arguments = Arguments('LocalResponseNormalization', 'local_response_normalization')


@linear_map(lambda m, gy, n: m.sum_of_neighbours(gy, n), name='SumOfNeighbours', kinds='f')
def sum_of_neighbours(xp: Any, x: Any, n: int) -> Any:
    """Sum over each channel and n // 2 channels on either side; self-adjoint."""
    return kernels.sums(x, n)


def _gradient(m: Any, gy: Any, x: Any, n: int, k: float, alpha: float, beta: float) -> Any:
    gy, x = in_float32(m, gy), in_float32(m, x)
    scale = m.sum_of_neighbours(x * x, n) * alpha + k
    power = scale**-beta
    return gy * power - x * m.sum_of_neighbours(gy * x * power / scale, n) * (2 * alpha * beta)


@primitive(rule=(_gradient,), name='LocalResponseNormalization', kinds='f')
def normalized_by_neighbours(xp: Any, x: Any, n: int, k: float, alpha: float, beta: float) -> Any:
    """Each element divided by a power of k plus the scaled sum of squares over neighbouring channels."""
    return kernels.normalize(xp, x, n, k, alpha, beta)


def local_response_normalization(
    x: Any, n: int = 5, k: float = 2, alpha: float = 1e-4, beta: float = 0.75
) -> Variable:
    r"""Local response normalization across neighbouring channels.

    .. math:: y_c = x_c \left(k + \alpha \sum_{|j - c| \le \lfloor n / 2 \rfloor} x_j^2\right)^{-\beta}

    Args:
        x: Variable or float array :math:`(N, C, \dots)`; float16 is computed in float32.
        n: width of the window of channels; an even one counts as the odd one after it.
        k: added to the sum.
        alpha: factor of the sum.
        beta: the exponent.

    Returns:
        Variable of ``x``'s shape and dtype.

    Raises:
        InvalidType: ``x`` has fewer than two axes, or is not a float array.
        TypeError: ``n`` is not an int, or another argument not a number.
        ValueError: ``n`` is negative.

    Source: Krizhevsky, Sutskever and Hinton, ImageNet Classification with Deep Convolutional Neural Networks, 2012.

    >>> import numpy as np, minichainer.functions as F
    >>> F.local_response_normalization(np.array([[1., 2., 2.]]), n=3, k=0, alpha=1., beta=0.5).array.round(3)
    array([[0.447, 0.667, 0.707]])
    """
    x = as_variable(x)
    if x.ndim < 2:
        raise _arguments.misfit('x.ndim >= 2', f'x.ndim = {x.ndim} (shape {x.shape})')
    n = _arguments.integer(n, 'n', least=0)
    for name, value in (('k', k), ('alpha', alpha), ('beta', beta)):
        _arguments.number(value, name)
    y: Variable = normalized_by_neighbours(x, n, k, alpha, beta)
    return y
