r"""A backward pass is linear in the upstream gradient; for powers of two, exactly so in floating point.

``vjp(-2 v)`` is ``-2 vjp(v)`` bit by bit, since powers of two commute with rounding, and ``vjp(0)`` is 0.
Two calls without any tolerance find ``abs(gy)``, ``relu(gy)``, ``gy ** 2``, an ignored ``gy``, an added
``1e-6``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

FACTOR = -2.0


def breaks_scaling(gradient: Any, scaled_gradient: Any, factor: float = FACTOR) -> Any:
    """Where ``vjp(-2 v)`` is not ``-2 vjp(v)``, or the same for another negative power of two.

    Numbers that are not finite, or too large to be doubled, are left out; where one of the two is
    subnormal, or nearly so, one subnormal step is allowed per rounding.

    Args:
        gradient: ``vjp(v)``, of a floating-point dtype.
        scaled_gradient: ``vjp(-2 v)``, of the same shape and dtype.
        factor: What stands for the -2.

    Returns:
        A boolean array of that shape.
    """
    info = np.finfo(gradient.dtype)
    with np.errstate(all='ignore'):
        expected = gradient * gradient.dtype.type(factor)
        comparable = np.isfinite(expected) & np.isfinite(gradient)
        # What is that small may have been rounded to steps of the subnormal numbers on the way.
        near_zero = abs(gradient) < abs(factor) * float(info.tiny)
        steps = 2 * abs(factor) * float(info.smallest_subnormal)
        off = abs(expected.astype(np.float64) - scaled_gradient.astype(np.float64))
        return comparable & np.where(near_zero, ~(off <= steps), scaled_gradient != expected)


def breaks_zero(zero_gradient: Any) -> Any:
    """Where ``vjp(0)`` is not 0; NaN is not 0."""
    return ~(zero_gradient == 0)


def far_factor(gradients: Sequence[Any]) -> float:
    """A factor for ``v`` that also finds limits of the upstream gradient: -2048, or -2 where that may overflow."""
    known = [g for g in gradients if g is not None and g.size and g.dtype.kind == 'f']
    roomy = all(g.dtype.itemsize > 2 and float(abs(g).max()) < float(np.finfo(g.dtype).max) * 1e-12 for g in known)
    return -2048.0 if roomy else FACTOR
