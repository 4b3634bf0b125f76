"""Functions of numbers of 50 digits, by mpmath: those of NumPy and SciPy that it has, under their names there."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import mpmath.libmp as _libmp
import numpy

from minichainer._locks import lock_of

libmp: Any = _libmp
#: Digits, and bits, of a number.
DIGITS = 50
BITS = libmp.dps_to_prec(DIGITS)
NEAREST = libmp.round_nearest
#: A context of our own: mpmath's global one belongs to the user.
context: Any = mpmath.MPContext()
context.prec = BITS
#: The same with digits in reserve, for functions that mpmath lacks.
_wide: Any = mpmath.MPContext()
_RESERVE = 2 * BITS
_wide.prec = BITS + _RESERVE
#: Contexts change their precision while they compute, so only one thread may.
lock = lock_of(globals(), 'lock', threading.RLock)


class _Precision(threading.local):
    """How many bits results have, in each thread."""

    bits = BITS


#: The precision of this thread.
current = _Precision()


@contextlib.contextmanager
def precision(bits: int) -> Iterator[None]:
    """Context manager in which results have so many bits, in this thread; numbers keep those that they have."""
    before, current.bits = current.bits, bits
    try:
        yield
    finally:
        current.bits = before


def set_precision(bits: int) -> None:
    """Sets the precision of both contexts, for who has the lock."""
    if context.prec != bits:
        context.prec, _wide.prec = bits, bits + _RESERVE


def float_function(name: str) -> Any:
    """The function of NumPy or SciPy of a name."""
    if hasattr(numpy, name):
        return getattr(numpy, name)
    from scipy import special

    return getattr(special, name)


def _log_abs_gamma(x: Any) -> Any:
    return context.loggamma(x) if x > 0 else context.log(abs(_wide.gamma(x)))


def _ndtr(x: Any) -> Any:
    return _wide.erfc(-_wide.mpf(x) / _wide.sqrt(2)) / 2


def _scaled_erfc(x: Any) -> Any:
    """``exp(x * x) * erfc(x)``."""
    x = _wide.mpf(x)
    return _wide.exp(x * x) * _wide.erfc(x)


def _density_over_ndtr(x: Any) -> Any:
    """The density of the normal distribution over its distribution function."""
    x = _wide.mpf(x)
    return 1 / (_wide.sqrt(_wide.pi / 2) * _scaled_erfc(-x / _wide.sqrt(2)))


def tail_ratio(x: Any, n: int) -> Any:
    """``n I_n(x) / I_{n-1}(x)`` by recurrence; see the kernel of that name.

    Far below 0 each step loses twice as many bits as x has before the point.
    """
    with _wide.workprec(_wide.prec + 4 * n * max(0, _wide.mag(x))):
        x = _wide.mpf(x)
        ratio = _density_over_ndtr(x) + x
        for k in range(1, n):
            ratio = k / ratio + x
        return ratio


def _log_ndtr(x: Any) -> Any:
    tail = _ndtr(-abs(x))
    return _wide.log1p(-tail) if x > 0 else _wide.log(tail)


def _inverse(function: Callable[[Any], Any], slope: Callable[[Any], Any], start: str) -> Callable[[Any], Any]:
    """The inverse of a monotonic function: Newton's method from a float, which doubles the digits in each step."""

    def inverse(y: Any) -> Any:
        y, first = _wide.mpf(y), float(float_function(start)(float(y)))
        if not math.isfinite(first):
            raise ValueError('there is no finite float to start from')
        x = _wide.mpf(first)
        for _ in range(6):
            x -= (function(x) - y) / slope(x)
        return x

    return inverse


def _erf_slope(x: Any) -> Any:
    return 2 * _wide.exp(-x * x) / _wide.sqrt(_wide.pi)


#: Functions of mpmath's raw numbers, called with bits and rounding; about half the time of the others.
OF_RAW: dict[str, Callable[..., Any]] = {
    'exp': libmp.mpf_exp, 'log': libmp.mpf_log, 'sqrt': libmp.mpf_sqrt, 'sin': libmp.mpf_sin, 'cos': libmp.mpf_cos,
    'tan': libmp.mpf_tan, 'sinh': libmp.mpf_sinh, 'cosh': libmp.mpf_cosh, 'tanh': libmp.mpf_tanh,
    'arcsin': libmp.mpf_asin, 'arccos': libmp.mpf_acos, 'arctan': libmp.mpf_atan, 'arcsinh': libmp.mpf_asinh,
    'arccosh': libmp.mpf_acosh, 'arctanh': libmp.mpf_atanh, 'erf': libmp.mpf_erf, 'erfc': libmp.mpf_erfc,
}  # fmt: skip
#: Functions of mpmath's numbers; they raise, or return a complex number, outside of the domain.
OF_MPF: dict[str, Callable[[Any], Any]] = {
    'exp2': lambda x: context.power(2, x),
    'expm1': context.expm1,
    'log1p': context.log1p,
    'log2': lambda x: _wide.log(x) / _wide.ln2,
    'log10': lambda x: _wide.log(x) / _wide.ln10,
    'erfcx': _scaled_erfc,
    'erfinv': _inverse(_wide.erf, _erf_slope, 'erfinv'),
    'erfcinv': _inverse(_wide.erfc, lambda x: -_erf_slope(x), 'erfcinv'),
    'ndtr': _ndtr,
    'log_ndtr': _log_ndtr,
    'ndtri': _inverse(_ndtr, lambda x: _wide.exp(-x * x / 2) / _wide.sqrt(2 * _wide.pi), 'ndtri'),
    'gamma': context.gamma,
    'gammaln': _log_abs_gamma,
    'digamma': context.digamma,
    'psi': context.digamma,
    'i0': lambda x: context.besseli(0, x),
    'i1': lambda x: context.besseli(1, x),
    'i0e': lambda x: _wide.besseli(0, x) * _wide.exp(-abs(x)),
    'i1e': lambda x: _wide.besseli(1, x) * _wide.exp(-abs(x)),
    'expit': lambda x: 1 / (1 + context.exp(-x)),
    'logit': lambda x: _wide.log(x) - _wide.log1p(-x),
    'log_expit': lambda x: -_wide.log1p(_wide.exp(-x)),
}  # fmt: skip
