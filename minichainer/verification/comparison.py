"""The largest difference that rounding allows between two gradients that should be equal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.verification.arrays import largest, root_mean_square
from minichainer.verification.directional_derivatives import Derivatives
from minichainer.verification.rounding import ROUNDINGS, SINGLE, lost_in_subnormals

_DOUBLE = 2.0**-52


def differ(
    derivatives: Derivatives,
    gys: Sequence[Any],
    i: int,
    found: Any,
    expected: Any,
    scale: float,
    least: float = SINGLE,
    ratio: float = 1.0,
    parts: Callable[[], Iterable[Sequence[Any]]] = tuple,
) -> Any:
    """Where two gradients of leaf ``i`` differ by more than rounding; None if nowhere.

    Args:
        derivatives: The numeric side, to whose evaluation the gradients belong.
        gys: Upstream gradients for measuring rounding errors, if the estimate does not explain a difference.
        i: Position of the leaf.
        found: One gradient.
        expected: The other gradient, computed from parts.
        scale: The largest element of the parts.
        least: The relative precision of intermediate results, unless that of the values is coarser.
        ratio: How much larger than ``gys`` the upstream gradients of the parts are; their rounding errors are, too.
        parts: Gives upstream gradients of parts: where all terms cancel for ``gys``, they may not cancel for these.
    """
    with np.errstate(all='ignore'):
        off = abs(found - expected)
        if bool((off <= ROUNDINGS * derivatives.precision * scale).all()):
            return None
        atol, rtol = derivatives.order_check.options.extra
        allowed = ROUNDINGS * (
            max(derivatives.precision, least) * scale + derivatives.precision * derivatives.on_the_way(gys, i)
        )
        allowed = allowed + atol + derivatives.order_check.options.nondet_tol + rtol * abs(expected)
        bad = (off > allowed) & get_array_module(off).isfinite(expected)
        if bool(bad.any()):
            noise = ratio * largest(derivatives.noise_of(gys, i))
            noise += sum([largest(derivatives.noise_of(part, i)) for part in parts()])
            bad &= off > allowed + 4 * noise
        if bool(bad.any()):
            x, size = derivatives.arrays[i], ratio * max([largest(v) for v in gys if v is not None], default=0.0)
            bad &= off > allowed + size * (lost_in_subnormals(x, x.dtype) + _cancelled(derivatives, x))
    return bad if bool(bad.any()) else None


def _cancelled(derivatives: Derivatives, x: Any) -> float:
    """Roundings of terms of a second derivative that cancel wholly, for an upstream gradient of 1.

    They are not larger than an upstream gradient of the first order over the input, it is assumed. A first derivative
    shows their size in the output.
    """
    if derivatives.order_check.order == 1:
        return 0.0
    return ROUNDINGS * _DOUBLE * max(map(largest, derivatives.arrays)) / (root_mean_square(x) or 1.0)
