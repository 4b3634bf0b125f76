"""What operations on numbers of many digits cost, in additions of 50 digits, as measured with mpmath."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minichainer.verification.extended_precision.functions import current

#: More bits than these are many: 50 digits have 169, and 720 digits 2395.
_FEW_BITS = 1000
#: The cost with few and with many bits.
_CHEAP, _ADDITION, _PRODUCT, _ROOT = (0.3, 0.4), (1.0, 1.4), (1.0, 5.5), (2.0, 13.0)
_ELEMENTARY, _POWER, _GAMMA = (3.5, 110.0), (10.0, 380.0), (50.0, 1500.0)
_ERROR_FUNCTION, _INVERSE, _SPECIAL = (80.0, 4000.0), (800.0, 15000.0), (100.0, 15000.0)
_NAMES = {
    _CHEAP: 'negative positive absolute fabs sign signbit isnan isinf isfinite floor ceil trunc rint equal not_equal '
            'less less_equal greater greater_equal logical_and logical_or logical_xor logical_not copysign',
    _ADDITION: 'add subtract maximum minimum fmax fmin',
    _PRODUCT: 'multiply divide true_divide floor_divide remainder reciprocal square matmul vecdot matvec vecmat',
    _ROOT: 'sqrt',
    _ELEMENTARY: 'exp log sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh exp2 expm1 log1p '
                 'log2 log10 expit logit log_expit cbrt hypot arctan2 logaddexp logaddexp2 degrees radians',
    _POWER: 'power float_power',
    _GAMMA: 'gamma gammaln',
    _ERROR_FUNCTION: 'erf erfc erfcx ndtr log_ndtr',
    _INVERSE: 'erfinv erfcinv ndtri',
}  # fmt: skip
_COSTS = {name: cost for cost, names in _NAMES.items() for name in names.split()}
_SMALL_POWER = 16


def cost(name: str, operands: Sequence[Any]) -> float:
    """About how many additions of 50 digits one result of a ufunc or special function is worth."""
    pair = _COSTS.get(name, _SPECIAL)
    if pair is _POWER and _is_small_integer(operands[1]):
        pair = _PRODUCT
    return pair[current.bits > _FEW_BITS]


def _is_small_integer(exponent: Any) -> bool:
    """Whether a power is made of a few products."""
    if numpy.ndim(exponent) or numpy.asarray(exponent).dtype.kind not in 'iuf':
        return False
    value = float(exponent)
    return abs(value) <= _SMALL_POWER and value.is_integer()
