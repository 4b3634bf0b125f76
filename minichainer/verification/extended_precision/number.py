"""A real number of 50 digits, or as many as :func:`.precision` says, as an element of object arrays; needs mpmath.

NumPy's ufuncs compute on object arrays by operators and by methods of their own names: ``numpy.exp(x)`` calls
``x.exp()`` of each element. :class:`Extended` has all of these, and the special functions that SciPy's ufuncs name.
Infinities, NaN and signed zeros behave as in float64: where an operand is one of these, float64 computes the result.

Digits are never lost in silence: ``float(x)``, ``int(x)`` and ``complex(x)`` raise TypeError, and with these also
``array.astype(float)`` and the functions of :mod:`math`. Floats become numbers exactly.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minichainer.backends.number_arrays import NumberArray
from minichainer.verification.extended_precision.costs import cost
from minichainer.verification.extended_precision.functions import (
    DIGITS,
    NEAREST,
    OF_MPF,
    OF_RAW,
    context,
    current,
    float_function,
    libmp,
    lock,
    set_precision,
    tail_ratio,
)
from minichainer.verification.extended_precision.raw import (
    FLOATS,
    MINUS_ZERO,
    Raw,
    as_float,
    negated,
    raw_of,
    sign_bit,
    unsigned,
)

_add, _sub, _mul, _div = libmp.mpf_add, libmp.mpf_sub, libmp.mpf_mul, libmp.mpf_div
_new: Any = object.__new__


def _comparison(compare: Callable[[Raw, Raw], bool]) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        raw = other.raw if other.__class__ is Extended else raw_of(other)
        return NotImplemented if raw is None else compare(unsigned(self.raw), unsigned(raw))

    return method


def _reflected(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        raw = raw_of(other)
        return NotImplemented if raw is None else operation(_number(raw), self)

    return method


class Extended:
    """A real number of 50 digits, or an infinity or NaN.

    Args:
        value: float, int, bool, a NumPy scalar or another number; taken exactly.

    Raises:
        TypeError: ``value`` is not a real number.

    >>> Extended(0.1)
    Extended('0.1000000000000000055511151231257827021181583404541')
    >>> Extended(2).sqrt()
    Extended('1.4142135623730950488016887242096980785696718753769')
    >>> float(Extended(2))
    Traceback (most recent call last):
    TypeError: float() of an extended precision number would lose digits: ...
    """

    __slots__ = ('raw',)
    raw: Raw

    def __init__(self, value: Any) -> None:
        raw = raw_of(value)
        if raw is None:
            raise TypeError(f'Extended: a real number expected, got {value!r} of {type(value).__name__}')
        self.raw = raw

    # --- arithmetic --------------------------------------------------------------------------------------------
    def __add__(self, other: Any) -> Any:
        raw = other.raw if other.__class__ is Extended else raw_of(other)
        if raw is None:
            return NotImplemented
        mine = self.raw
        if mine[1] and raw[1]:
            result = _new(Extended)
            result.raw = _add(mine, raw, current.bits, NEAREST)
            return result
        return _special_sum(mine, raw)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        raw = other.raw if other.__class__ is Extended else raw_of(other)
        if raw is None:
            return NotImplemented
        mine = self.raw
        if mine[1] and raw[1]:
            result = _new(Extended)
            result.raw = _sub(mine, raw, current.bits, NEAREST)
            return result
        return _special_sum(mine, negated(raw))

    __rsub__ = _reflected(operator.sub)

    def __mul__(self, other: Any) -> Any:
        raw = other.raw if other.__class__ is Extended else raw_of(other)
        if raw is None:
            return NotImplemented
        mine = self.raw
        if mine[1] and raw[1]:
            result = _new(Extended)
            result.raw = _mul(mine, raw, current.bits, NEAREST)
            return result
        return _by_float(numpy.multiply, mine, raw)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        raw = other.raw if other.__class__ is Extended else raw_of(other)
        if raw is None:
            return NotImplemented
        mine = self.raw
        if mine[1] and raw[1]:
            result = _new(Extended)
            result.raw = _div(mine, raw, current.bits, NEAREST)
            return result
        return _by_float(numpy.divide, mine, raw)

    __rtruediv__ = _reflected(operator.truediv)

    def __neg__(self) -> Extended:
        return _number(negated(self.raw))

    def __pos__(self) -> Extended:
        return self

    def __abs__(self) -> Extended:
        return _number(libmp.mpf_abs(self.raw) if self.raw[1] or self.raw[2] else libmp.fzero)

    def __pow__(self, other: Any) -> Any:
        raw = raw_of(other)
        return NotImplemented if raw is None else _power(self.raw, raw)

    __rpow__ = _reflected(operator.pow)

    def __mod__(self, other: Any) -> Any:
        raw = raw_of(other)
        if raw is None:
            return NotImplemented
        if not (self.raw[1] and raw[1]):
            return _by_float(numpy.mod, self.raw, raw) if not self.raw[1] else self._mod_special(raw)
        rest = libmp.mpf_mod(self.raw, raw, current.bits, NEAREST)
        return _number(MINUS_ZERO if raw[0] and rest == libmp.fzero else rest)

    def _mod_special(self, raw: Raw) -> Extended:
        """The remainder of a division by zero, infinity or NaN."""
        divisor = _number(raw)
        if not divisor.isinf():
            return _NAN
        return self if self.signbit() == divisor.signbit() else divisor

    __rmod__ = _reflected(operator.mod)

    def __floordiv__(self, other: Any) -> Any:
        raw = raw_of(other)
        if raw is None:
            return NotImplemented
        if self.raw[1] and raw[1]:
            return ((self - self % other) / other).rint() or _ZERO
        return _by_float(numpy.floor_divide, self.raw, raw)

    __rfloordiv__ = _reflected(operator.floordiv)

    # --- comparisons -------------------------------------------------------------------------------------------
    __eq__ = _comparison(libmp.mpf_eq)
    __lt__, __le__ = _comparison(libmp.mpf_lt), _comparison(libmp.mpf_le)
    __gt__, __ge__ = _comparison(libmp.mpf_gt), _comparison(libmp.mpf_ge)

    def __bool__(self) -> bool:
        return bool(self.raw[1] or self.raw[2])

    def __hash__(self) -> int:
        return int(libmp.mpf_hash(unsigned(self.raw)))

    # --- no other types ----------------------------------------------------------------------------------------
    def __float__(self) -> float:
        raise _lossy('float')

    def __int__(self) -> int:
        raise _lossy('int')

    def __index__(self) -> int:
        raise _lossy('int')

    def __complex__(self) -> complex:
        raise _lossy('complex')

    def __round__(self, digits: int | None = None) -> Extended:
        if digits:
            raise TypeError('round() of an extended precision number to digits is not defined')
        return self.rint()

    def rounded(self) -> float:
        """The nearest float, ties to even; infinite beyond the largest."""
        sign, mantissa, exponent, bits = self.raw
        if not mantissa:
            return FLOATS[self.raw]
        if exponent + bits > 1025:
            return -math.inf if sign else math.inf
        if exponent + bits < -1080:
            return -0.0 if sign else 0.0
        mantissa = int(-mantissa if sign else mantissa)
        try:  # Python rounds a quotient of ints correctly, below the normal numbers too
            return float(mantissa << exponent) if exponent >= 0 else mantissa / (1 << -exponent)
        except OverflowError:
            return -math.inf if sign else math.inf

    def __repr__(self) -> str:
        text = '-0.0' if self.raw == MINUS_ZERO else libmp.to_str(self.raw, DIGITS)
        return f"Extended('{text.lstrip('+')}')"

    def __reduce__(self) -> Any:
        sign, mantissa, exponent, bits = self.raw
        return _restored, (int(sign), int(mantissa), int(exponent), int(bits))

    def __copy__(self) -> Extended:
        return self

    def __deepcopy__(self, memo: Any) -> Extended:
        return self

    # --- parts and rounding ------------------------------------------------------------------------------------
    def isnan(self) -> bool:
        return bool(self.raw == libmp.fnan)

    def isinf(self) -> bool:
        return self.raw in (libmp.finf, libmp.fninf)

    def isfinite(self) -> bool:
        return bool(self.raw[1] or not self.raw[2])

    def signbit(self) -> bool:
        return bool(sign_bit(self.raw))

    def sign(self) -> Extended:
        if self.raw[1]:
            return _MINUS_ONE if self.raw[0] else _ONE
        return _by_float(numpy.sign, self.raw)

    def copysign(self, other: Any) -> Extended:
        return -abs(self) if Extended(other).signbit() else abs(self)

    def heaviside(self, at_zero: Any) -> Extended:
        return _ONE if self > 0 else self if self.isnan() else _ZERO if self < 0 else Extended(at_zero)

    def conjugate(self) -> Extended:
        return self

    conj = positive = conjugate

    @property
    def real(self) -> Extended:
        return self

    @property
    def imag(self) -> Extended:
        return _ZERO

    def __floor__(self) -> Extended:
        return self.floor()

    def __ceil__(self) -> Extended:
        return self.ceil()

    def __trunc__(self) -> Extended:
        return self.trunc()

    def floor(self) -> Extended:
        return _whole(self, libmp.mpf_floor)

    def ceil(self) -> Extended:
        return _whole(self, libmp.mpf_ceil)

    def rint(self) -> Extended:
        return _whole(self, libmp.mpf_nint)

    def trunc(self) -> Extended:
        return self.ceil() if self.signbit() else self.floor()

    fix = trunc

    # --- extrema: NaN spreads, but not from fmax and fmin ------------------------------------------------------
    def maximum(self, other: Any) -> Extended:
        other = Extended(other)
        return self if self >= other or self.isnan() else other

    def minimum(self, other: Any) -> Extended:
        other = Extended(other)
        return self if self <= other or self.isnan() else other

    def fmax(self, other: Any) -> Extended:
        other = Extended(other)
        return self if self >= other or other.isnan() else other

    def fmin(self, other: Any) -> Extended:
        other = Extended(other)
        return self if self <= other or other.isnan() else other

    def clip(self, low: Any, high: Any) -> Extended:
        return self.maximum(low).minimum(high)

    # --- functions without a common form -----------------------------------------------------------------------
    def square(self) -> Any:
        return self * self

    def reciprocal(self) -> Any:
        return 1 / self

    def fabs(self) -> Extended:
        return abs(self)

    def fmod(self, other: Any) -> Any:
        return (abs(self) % abs(Extended(other))).copysign(self)

    def float_power(self, other: Any) -> Any:
        return self**other

    def radians(self) -> Any:
        return self * _pi() / 180

    deg2rad = radians

    def degrees(self) -> Any:
        return self * 180 / _pi()

    rad2deg = degrees

    def cbrt(self) -> Extended:
        root = _unary('cbrt', lambda x: context.cbrt(x))
        return -root(-self) if self.raw[0] else root(self)

    def arctan2(self, other: Any) -> Extended:
        other = Extended(other)
        if self.raw[1] and other.raw[1]:
            return _number(libmp.mpf_atan2(self.raw, other.raw, current.bits, NEAREST))
        angle = _by_float(numpy.arctan2, self.raw, other.raw)
        if not angle.raw[1]:
            return angle
        quarters = round(angle.rounded() / (math.pi / 4))  # exactly a multiple of pi / 4
        return Extended(_pi() * quarters / 4)

    def hypot(self, other: Any) -> Extended:
        other = Extended(other)
        if self.isinf() or other.isinf():
            return Extended(math.inf)
        return Extended((self * self + other * other).sqrt())

    def logaddexp(self, other: Any) -> Any:
        top = self.maximum(other)
        return top if not top.isfinite() else top + (-abs(self - other)).exp().log1p()

    def logaddexp2(self, other: Any) -> Any:
        top = self.maximum(other)
        if not top.isfinite():
            return top
        return top + (-abs(self - other)).exp2().log1p() / _number(libmp.mpf_ln2(current.bits, NEAREST))

    def polygamma(self, n: Any) -> Extended:
        """The n-th derivative of the digamma function; SciPy's function has ``n`` first."""
        order = int(n.rounded() if isinstance(n, Extended) else n)
        return _evaluated('', lambda x: context.psi(order, x), self)

    def zeta(self, q: Any) -> Extended:
        """Hurwitz's zeta function of the exponent ``self``; as SciPy's, infinite at 1 and NaN below."""
        if self <= 1:
            return Extended(math.inf if self == 1 else math.nan)
        shift = context.make_mpf(Extended(q).raw)
        return _evaluated('', lambda x: context.zeta(x, shift), self)

    def tail_ratio(self, n: int) -> Extended:
        """``n I_n(x) / I_{n-1}(x)`` of the repeated integrals of the normal density; see the kernel of that name."""
        return _evaluated('', lambda x: tail_ratio(x, n), self)


def _number(raw: Raw) -> Extended:
    result: Extended = _new(Extended)
    result.raw = raw
    return result


def _pi() -> Extended:
    return _number(libmp.mpf_pi(current.bits, NEAREST))


def _restored(*raw: int) -> Extended:
    return _number((raw[0], libmp.MPZ(raw[1]), raw[2], raw[3]))


# --- operations with zero, infinity or NaN -----------------------------------------------------------------------
def _by_float(ufunc: Any, *raws: Raw) -> Extended:
    """A result that depends only on the signs of those operands that are not special."""
    with numpy.errstate(all='ignore'):
        return Extended(float(ufunc(*map(as_float, raws))))


def _special_sum(a: Raw, b: Raw) -> Extended:
    """A sum of which a term at least is special."""
    if a[1] and not b[2]:
        return _number(a)
    if b[1] and not a[2]:
        return _number(b)
    return _by_float(numpy.add, a, b)


def _power(base: Raw, exponent: Raw) -> Extended:
    if base[1] and exponent[1]:
        try:
            return _number(libmp.mpf_pow(base, exponent, current.bits, NEAREST))
        except libmp.ComplexResult:
            return _NAN
    with numpy.errstate(all='ignore'):
        return Extended(float(numpy.power(_number(base).rounded(), _number(exponent).rounded())))


def _whole(x: Extended, function: Callable[..., Raw]) -> Extended:
    if not x.raw[1]:
        return x
    raw = function(x.raw)
    return _number(MINUS_ZERO if raw == libmp.fzero and x.raw[0] else raw)


def _lossy(name: str) -> TypeError:
    return TypeError(
        f'{name}() of an extended precision number would lose digits: compute with NumPy functions instead, '
        'or use rounded() for the nearest float'
    )


# --- functions of one number -------------------------------------------------------------------------------------
def _evaluated(name: str, function: Callable[[Any], Any], x: Extended) -> Extended:
    """A function of mpmath; at special values, poles, and outside of the domain the function of floats."""
    if x.raw[1] or not x.raw[2]:
        try:
            with lock:
                set_precision(current.bits)
                value = function(context.make_mpf(unsigned(x.raw)))
            raw = libmp.mpf_pos(value._mpf_, current.bits, NEAREST)
        except (ValueError, ZeroDivisionError, libmp.ComplexResult, OverflowError, AttributeError):
            return _evaluated_as_float(name, x)  # a complex number has no _mpf_
        return x if raw == libmp.fzero and not x.raw[1] else _number(raw)
    return _evaluated_as_float(name, x)


def _evaluated_as_float(name: str, x: Extended) -> Extended:
    """The function in float64, if that is exact: infinite, NaN, a small integer, or a multiple of pi / 2."""
    if x.isnan():
        return x
    if not name:
        raise TypeError(f'a special function cannot be computed to {DIGITS} digits at {x!r}')
    with numpy.errstate(all='ignore'):
        value = float(float_function(name)(x.rounded()))
    if not math.isnan(value) and x.isfinite() and x != x.rounded():
        raise TypeError(f'{name}: cannot be computed to {DIGITS} digits at {x!r}')
    if value in (-2.0, -1.0, 0.0, 1.0, 2.0) or not math.isfinite(value):
        return Extended(value)
    return Extended(_pi() * round(value / (math.pi / 2)) / 2)


def _unary(name: str, function: Callable[[Any], Any]) -> Callable[[Extended], Extended]:
    def method(self: Extended) -> Extended:
        return _evaluated(name, function, self)

    method.__name__ = name
    return method


def _direct(name: str, function: Callable[..., Raw]) -> Callable[[Extended], Extended]:
    """A method that calls a function of raw numbers; half the time of :func:`_unary`."""
    slow = _unary(name, lambda x: context.make_mpf(function(x._mpf_, current.bits, NEAREST)))

    def method(self: Extended) -> Extended:
        raw = self.raw
        if raw[1]:
            try:
                result: Extended = _new(Extended)
                result.raw = function(raw, current.bits, NEAREST)
                return result
            except (ValueError, ZeroDivisionError, libmp.ComplexResult):
                pass
        return slow(self)

    method.__name__ = name
    return method


for _name, _function in OF_RAW.items():
    setattr(Extended, _name, _direct(_name, _function))
for _name, _function in OF_MPF.items():
    setattr(Extended, _name, _unary(_name, _function))

_ZERO, _ONE, _MINUS_ONE, _NAN = map(Extended, (0, 1, -1, math.nan))


class ExtendedArray(NumberArray):
    """An array of :class:`Extended`."""

    number = Extended

    @classmethod
    def cost(cls, name: str, operands: Sequence[Any] = ()) -> float:
        return cost(name, operands)
