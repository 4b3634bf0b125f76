r"""Differences of nearly equal terms, on arrays, computed without cancellation.

With :math:`\phi(x) = x - \log(1 + x)`, which is not negative, the relative entropy of two numbers is
:math:`p \, \phi((q - p) / p)`. Near 0 it is half a square, of which ``x - log1p(x)`` leaves no digit.
"""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.backends.number_arrays import NumberModule

#: More than the logarithm of any finite number, to be subtracted from infinity.
FAR = 1e4
#: Up to here the series are summed: beyond, the plain difference loses at most four bits.
_SERIES_TO = 0.25
_ODD_SERIES = [1 / n for n in range(3, 23, 2)]
_EXPONENTIAL_SERIES = range(14, 2, -1)


def has_many_digits(xp: Any) -> bool:
    """Whether numbers have 50 digits, as the gradient checker's: for them a definition is better than a series."""
    return isinstance(xp, NumberModule)


def where_or(xp: Any, condition: Any, x: Any, otherwise: float) -> Any:
    """x where a condition holds, and a number of the same dtype elsewhere."""
    return xp.where(condition, x, xp.asarray(otherwise, x.dtype))


def log1p_deficit(xp: Any, x: Any) -> Any:
    """x - log(1 + x)."""
    if has_many_digits(xp):
        return x - xp.log1p(x)
    near = xp.absolute(x) <= _SERIES_TO
    small = where_or(xp, near, x, 0.0)
    y = small / (2 + small)  # log(1 + x) = 2 artanh y
    square = y * y
    total = 0.0 * square
    for coefficient in reversed(_ODD_SERIES):
        total = total * square + coefficient
    return xp.where(near, y * (small - 2 * square * total), x - xp.log1p(x))


def log_of_ratio(xp: Any, p: Any, q: Any, difference: Any) -> Any:
    """log(p / q), where the difference p - q may be known better than p and q."""
    near = xp.absolute(difference) < 0.5 * q  # not where both are infinite
    ratio, info = p / q, numpy.finfo(p.dtype)
    ordinary = (ratio > float(info.tiny)) & (ratio < float(info.max))
    far = xp.where(ordinary, xp.log(where_or(xp, ordinary, ratio, 1.0)), xp.log(p) - xp.log(q))
    return xp.where(near, xp.log1p(where_or(xp, near, difference / q, 0.0)), far)


def entropy_of_ratio(xp: Any, p: Any, q: Any, difference: Any) -> Any:
    """p log(p / q) - p + q, where the difference q - p may be known better than p and q."""
    near = xp.absolute(difference) <= 0.5 * p
    small = p * log1p_deficit(xp, where_or(xp, near, difference / p, 0.0))
    far = difference + p * log_of_ratio(xp, p, q, -difference)
    return xp.where(p == 0, q + 0.0 * p, xp.where(near, small, far))


def expm1_excess(xp: Any, x: Any) -> Any:
    """exp(x) - 1 - x."""
    if has_many_digits(xp):
        return xp.expm1(x) - x
    with numpy.errstate(over='ignore', invalid='ignore'):
        near = xp.absolute(x) < 2 * _SERIES_TO
        small = where_or(xp, near, x, 0.0)
        total = 1 + 0.0 * small
        for n in _EXPONENTIAL_SERIES:
            total = 1 + total * small / n
        far = xp.expm1(x) - xp.minimum(x, 700)  # so that infinity does not become NaN
        return xp.where(near, 0.5 * small * small * total, far)


def ratio_deficit(xp: Any, p: Any, q: Any) -> Any:
    """p / q - 1 - log(p / q)."""
    difference = p - q
    near = xp.absolute(difference) <= 0.5 * q
    small = log1p_deficit(xp, where_or(xp, near, difference / q, 0.0))
    return xp.where(near, small, difference / q - log_of_ratio(xp, p, q, difference))
