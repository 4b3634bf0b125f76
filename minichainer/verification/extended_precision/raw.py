"""mpmath's raw numbers: tuples of a sign, a mantissa, an exponent and a count of bits.

A mantissa of 0 means zero, an infinity or NaN. mpmath has no negative zero; ours never reaches its functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy

from minichainer.verification.extended_precision.functions import libmp

Raw: TypeAlias = Any
MINUS_ZERO: Raw = (1, *libmp.fzero[1:])
#: The floats of the special values.
FLOATS: dict[Raw, float] = {
    libmp.fzero: 0.0, MINUS_ZERO: -0.0, libmp.finf: math.inf, libmp.fninf: -math.inf, libmp.fnan: math.nan
}  # fmt: skip


def raw_of(value: Any) -> Raw:
    """The raw form of a real number, exactly; None for anything else, such as a long double."""
    convert = _CONVERTERS.get(value.__class__)
    if convert is not None:
        return convert(value)
    if isinstance(value, (bool, numpy.bool_, int, numpy.integer)):
        return libmp.from_int(int(value))
    if isinstance(value, (float, numpy.floating)) and value.__class__ is not numpy.longdouble:
        return _of_float(float(value))
    raw = getattr(value, 'raw', None)
    return raw if type(raw) is tuple else None


def _of_float(value: float) -> Raw:
    """A float exactly; mpmath's function takes twice the time."""
    if not math.isfinite(value):
        return libmp.fnan if math.isnan(value) else libmp.finf if value > 0 else libmp.fninf
    if not value:
        return libmp.fzero if math.copysign(1, value) > 0 else MINUS_ZERO
    numerator, denominator = value.as_integer_ratio()
    return libmp.from_man_exp(numerator, 1 - denominator.bit_length())


_CONVERTERS: dict[type, Callable[[Any], Raw]] = {
    float: _of_float,
    int: libmp.from_int,
    numpy.float64: lambda value: _of_float(float(value)),
}


def unsigned(raw: Raw) -> Raw:
    """Zero without its sign."""
    return libmp.fzero if raw == MINUS_ZERO else raw


def negated(raw: Raw) -> Raw:
    if raw[1] or raw[2]:
        return libmp.mpf_neg(raw)
    return libmp.fzero if raw[0] else MINUS_ZERO


def sign_bit(raw: Raw) -> int:
    return int(raw[0])


def as_float(raw: Raw) -> float:
    """A special value, or 1 with the number's sign."""
    if raw[1]:
        return -1.0 if raw[0] else 1.0
    return FLOATS[raw]
