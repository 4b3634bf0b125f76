"""Logarithms of the incomplete gamma and beta functions, and their slopes, where the functions themselves underflow.

There SciPy's functions are 0. The continued fractions are not: the further out, the faster they converge, and where
a probability is below 1e-20, 60 terms give 16 digits for any parameters up to 1e12, as tried with 2000 terms.
"""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.kernels._scipy import special
from minichainer.kernels.gamma_densities import beta_log_density, gamma_log_density
from minichainer.kernels.small_differences import FAR

#: Below this probability the continued fraction is taken.
_TINY = 1e-20
_TERMS = 60


def gamma_tail(xp: Any, x: Any, k: Any, upper: bool) -> tuple[Any, Any]:
    """The logarithm of P(k, x), or of 1 - P, and the absolute value of its derivative by x."""
    functions, (x, k) = special(xp), _in_float64(x, k)
    log_density = gamma_log_density(xp, x, k, xp.ones_like(x))
    sides = functions.gammainc(k, x), functions.gammaincc(k, x)
    with numpy.errstate(all='ignore'):
        fraction = _upper_gamma_fraction(x, k) if upper else _lower_gamma_fraction(x, k)
        return _tail(xp, sides[::-1] if upper else sides, log_density, fraction, xp.minimum(xp.log(x), FAR), 1 / x)


def beta_tail(xp: Any, x: Any, a: Any, b: Any, upper: bool) -> tuple[Any, Any]:
    """The logarithm of I_x(a, b), or of 1 - I, and the absolute value of its derivative by x."""
    functions, (x, a, b) = special(xp), _in_float64(x, a, b)
    with numpy.errstate(all='ignore'):
        log_density = beta_log_density(xp, x, a, b)
        sides = functions.betainc(a, b, x), betaincc(xp, a, b, x)
        fraction = _beta_fraction(1 - x, b, a) if upper else _beta_fraction(x, a, b)
        return _tail(
            xp, sides[::-1] if upper else sides, log_density, fraction, xp.log(x) + xp.log1p(-x), 1 / (x * (1 - x))
        )


def betaincc(xp: Any, a: Any, b: Any, x: Any) -> Any:
    """1 - I_x(a, b)."""
    functions = special(xp)
    if hasattr(functions, 'betaincc'):
        return functions.betaincc(a, b, x)
    # CuPy has only the other side; each half is computed from where it is small.
    return xp.where(x < 0.5, 1 - functions.betainc(a, b, x), functions.betainc(b, a, 1 - x))


def _tail(xp: Any, sides: Any, log_density: Any, fraction: Any, log_weight: Any, factor: Any) -> tuple[Any, Any]:
    """The logarithm of the first of two probabilities with sum 1, and its slope.

    In the far tail the slope is the continued fraction times a factor, whose logarithm is minus ``log_weight``.
    """
    own, rest = sides
    far = own < _TINY
    log_p = xp.where(own < rest, xp.log(own), xp.log1p(-rest))
    slope = xp.where(far, fraction * factor, xp.exp(log_density - log_p))
    return xp.where(far, log_density + log_weight - xp.log(fraction), log_p), slope


def _in_float64(*arrays: Any) -> Any:
    return [x.astype('d', copy=False) for x in arrays]


def _upper_gamma_fraction(x: Any, k: Any) -> Any:
    """x times the density over 1 - P(k, x), by Legendre's continued fraction."""
    y = x + (2 * _TERMS + 1) - k
    for n in range(_TERMS, 0, -1):
        y = x + (2 * n - 1) - k - n * (n - k) / y
    return y


def _lower_gamma_fraction(x: Any, k: Any) -> Any:
    """x times the density over P(k, x), by Gauss's continued fraction."""
    y = 0.0 * x
    for n in range(_TERMS, 0, -1):
        part = n // 2 if n % 2 == 0 else -(k + (n - 1) // 2)
        y = part * x / (k + n + y) if n > 1 else -k * x / (k + n + y)
    return k + y


def _beta_fraction(x: Any, a: Any, b: Any) -> Any:
    """x (1 - x) times the density over I_x(a, b), by its continued fraction."""
    y = 1.0 + 0.0 * x
    for n in range(_TERMS, 0, -1):
        m = n // 2
        if n % 2:
            part = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            part = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        y = 1.0 + part / y
    return a * y
