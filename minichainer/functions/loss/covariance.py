"""Covariance losses, which decorrelate features."""

from __future__ import annotations

from typing import Any

from minichainer import ops
from minichainer.functions._arguments import Arguments, described
from minichainer.functions._define import primitive
from minichainer.kernels.precision import in_float32
from minichainer.kernels.selection import masked
from minichainer.variable import Variable, as_variable

_cross_covariance = Arguments('CrossCovariance', 'cross_covariance')
_decov = Arguments('DeCov', 'decov')

_REDUCES = ('half_squared_sum', 'no')


def _centered(m: Any, x: Any) -> Any:
    return x - m.sum(x, 0, True) * (1.0 / max(len(x), 1))


def _centered_product(xp: Any, left: Any, right: Any) -> Any:
    """The covariances of the columns of two matrices."""
    left, right = (x - x.mean(axis=0, keepdims=True) for x in (in_float32(left), in_float32(right)))
    return left.T.dot(right) / len(left)


def _gradient_of_covariance(m: Any, gy: Any, left: Any, right: Any, reduce: str) -> Any:
    """The gradient of each covariance, divided by the number of samples."""
    scale = 1.0 / max(len(left), 1)
    if reduce == 'no':
        return gy * scale
    covariance = m.matrix_product(_centered(m, left), _centered(m, right), True, False)
    return m.broadcast_to(gy * (scale * scale), covariance.shape) * covariance


def _y_rule(m: Any, gy: Any, y_: Any, z: Any, reduce: str) -> Any:
    g = _gradient_of_covariance(m, gy, y_, z, reduce)
    return m.matrix_product(_centered(m, z), g, False, True)


def _z_rule(m: Any, gy: Any, y_: Any, z: Any, reduce: str) -> Any:
    g = _gradient_of_covariance(m, gy, y_, z, reduce)
    return m.matrix_product(_centered(m, y_), g, False, False)


def _reduced(xp: Any, covariance: Any, reduce: str, dtype: Any) -> Any:
    result = covariance if reduce == 'no' else xp.square(covariance).sum() * 0.5
    return xp.asarray(result, dtype)


@primitive(rule=(_y_rule, _z_rule), kinds='f', name='CrossCovariance')
def covariance_of_two(xp: Any, y_: Any, z: Any, reduce: str) -> Any:
    return _reduced(xp, _centered_product(xp, y_, z), reduce, y_.dtype)


def cross_covariance(y: Any, z: Any, reduce: str = 'half_squared_sum') -> Variable:
    r"""Covariances of the columns of two matrices, or half the sum of their squares.

    .. math:: C_{ij} = \frac1N \sum_n (y_{ni} - \bar y_i) (z_{nj} - \bar z_j), \quad L = \frac12 \sum_{ij} C_{ij}^2

    B. Cheung and others, Discovering Hidden Factors of Variation in Deep Networks (2014).

    Args:
        y: Variable or float array ``(N, I)``, N > 0.
        z: Variable or array ``(N, J)`` of the same dtype.
        reduce: ``'half_squared_sum'`` or ``'no'``.

    Returns:
        Variable of shape ``()`` or ``(I, J)``.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        ValueError: ``reduce`` is unknown.

    >>> import numpy as np, minichainer.functions as F
    >>> F.cross_covariance(np.array([[0.], [2.]]), np.array([[0.], [2.]]))
    variable(0.5)
    """
    _cross_covariance.choice(reduce, 'reduce', _REDUCES)
    y, z = as_variable(y), as_variable(z)
    fits = y.ndim == 2 and z.ndim == 2 and len(y) == len(z) and len(y) > 0
    if not fits or y.dtype != z.dtype or y.dtype.kind != 'f':
        raise _cross_covariance.misfit(
            'float y and z of one dtype, of shapes (N, I) and (N, J) with N > 0', described(y, z)
        )
    return covariance_of_two(y, z, reduce)


def _off_diagonal(xp: Any, covariance: Any) -> Any:
    return ~xp.eye(covariance.shape[0], dtype=bool)


ops.register_constant('off_diagonal', _off_diagonal)


def _decov_rule(m: Any, gy: Any, h: Any, reduce: str) -> Any:
    g = _gradient_of_covariance(m, gy, h, h, reduce)
    g = m.masked(g, m.off_diagonal(g))  # the variances may be infinite
    return m.matrix_product(_centered(m, h), g + m.permute(g, (1, 0)), False, False)


@primitive(rule=(_decov_rule,), name='DeCov', kinds='f')
def covariance_off_diagonal(xp: Any, h: Any, reduce: str) -> Any:
    covariance = _centered_product(xp, h, h)
    return _reduced(xp, masked(xp, covariance, _off_diagonal(xp, covariance)), reduce, h.dtype)


def decov(h: Any, reduce: str = 'half_squared_sum') -> Variable:
    r"""Covariances of different columns of a matrix, or half the sum of their squares; the diagonal counts as 0.

    M. Cogswell and others, Reducing Overfitting in Deep Networks by Decorrelating Representations (2015).

    Args:
        h: Variable or float array ``(N, I)``, N > 0.
        reduce: ``'half_squared_sum'`` or ``'no'``.

    Returns:
        Variable of shape ``()`` or ``(I, I)``.

    Raises:
        InvalidType: ``h`` is not a float matrix with rows.
        ValueError: ``reduce`` is unknown.

    >>> import numpy as np, minichainer.functions as F
    >>> F.decov(np.array([[0., 0.], [2., 2.]]))
    variable(1.)
    """
    _decov.choice(reduce, 'reduce', _REDUCES)
    h = as_variable(h)
    if h.ndim != 2 or not len(h) or h.dtype.kind != 'f':
        raise _decov.misfit('float h of shape (N, I) with N > 0', described(h))
    return covariance_off_diagonal(h, reduce)
