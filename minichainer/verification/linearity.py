r"""A backward pass is linear in the upstream gradient; for powers of two, exactly so in floating point.

``vjp(-2 v)`` is ``-2 vjp(v)`` bit by bit, since powers of two commute with rounding, and ``vjp(0)`` is 0.
Two calls without any tolerance find ``abs(gy)``, ``relu(gy)``, ``gy ** 2``, an ignored ``gy``, an added
``1e-6``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

FACTOR = -2.0


def breaks_scaling(gradient: Any, scaled_gradient: Any) -> Any:
    """Where ``vjp(-2 v)`` is not ``-2 vjp(v)``.

    Numbers that are not finite, or too large to be doubled, are left out; where one of the two is
    subnormal, one subnormal step is allowed per rounding.

    Args:
        gradient: ``vjp(v)``, of a floating-point dtype.
        scaled_gradient: ``vjp(-2 v)``, of the same shape and dtype.

    Returns:
        A boolean array of that shape.
    """
    info = np.finfo(gradient.dtype)
    with np.errstate(all='ignore'):
        expected = gradient * gradient.dtype.type(FACTOR)
        comparable = np.isfinite(expected) & np.isfinite(gradient)
        subnormal = (abs(gradient) < info.tiny) | (abs(scaled_gradient) < info.tiny)
        steps = 2 * float(info.smallest_subnormal)
        off = abs(expected.astype(np.float64) - scaled_gradient.astype(np.float64))
        return comparable & np.where(subnormal, ~(off <= steps), scaled_gradient != expected)


def breaks_zero(zero_gradient: Any) -> Any:
    """Where ``vjp(0)`` is not 0; NaN is not 0."""
    return ~(zero_gradient == 0)


def safe_scale(gradient: Any) -> float:
    """The power of two, at most 1, by which to scale ``v`` so that ``2 * gradient`` does not overflow."""
    finite = abs(gradient[np.isfinite(gradient)])
    largest = float(finite.max()) if finite.size else 0.0
    limit = float(np.finfo(gradient.dtype).max) / 16
    return 1.0 if largest <= limit else 2.0 ** -int(np.ceil(np.log2(largest / limit)))
