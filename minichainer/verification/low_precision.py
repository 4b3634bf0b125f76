"""Compares the gradient in the given dtype with the verified one in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.verification.arrays import full, host, largest, root_mean_square
from minichainer.verification.directional_derivatives import Derivatives
from minichainer.verification.exact_checks import at, worst_index
from minichainer.verification.rounding import ROUNDINGS, jitter, lost_in_subnormals


def compare_native(derivatives: Derivatives) -> None:
    """Adds a failure where the gradient in the given dtype differs by more than rounding."""
    order_check = derivatives.order_check
    for k, o in enumerate(derivatives.outputs):
        for i in order_check.function.moving:
            if (o, i) in order_check.broken or any(
                f.output == o for f in order_check.report.failures if f.order == order_check.order
            ):
                continue
            wide, narrow = derivatives.gradients[0][k][i], order_check.gradients[o][i]
            if wide is None and narrow is None:
                continue
            _compare(derivatives, k, i, wide, narrow)


def _compare(derivatives: Derivatives, k: int, i: int, wide: Any, narrow: Any) -> None:
    """Compares the gradients of one leaf in both dtypes."""
    x = derivatives.order_check.arrays[i]
    wide, narrow = (full(g, x) for g in (wide, narrow))
    with np.errstate(all='ignore'):
        off = abs(narrow.astype(np.float64) - wide)
        off = _clear(off, narrow, wide)
        scale = largest(wide) + _natural_scale(derivatives, k, i)
        allowed = ROUNDINGS * _amplification(derivatives, k) * _epsilon(derivatives, k, i) * scale
        allowed = allowed + 16 * float(np.finfo(narrow.dtype).smallest_subnormal)
        allowed = allowed + largest(derivatives.upstream[0][k]) * lost_in_subnormals(x, narrow.dtype)
        atol, rtol = derivatives.order_check.options.extra
        allowed = allowed + atol + derivatives.order_check.options.nondet_tol + rtol * abs(wide)
        bad = ~(off <= allowed)
    if bool(bad.any()) and bool((bad & ~(off <= allowed + _rounding(derivatives, k, i))).any()):
        _report(derivatives, k, i, bad, wide, narrow)


def _clear(off: Any, narrow: Any, wide: Any) -> Any:
    """No difference where the wide number overflows to infinity in the narrow dtype."""
    xp = get_array_module(off)
    overflows = xp.isinf(narrow) & (abs(wide) > float(np.finfo(narrow.dtype).max))
    return xp.where(overflows, 0.0, off)


def _rounding(derivatives: Derivatives, k: int, i: int) -> Any:
    """The change of the gradient when everything is rounded to the narrow dtype.

    Measured in the wide dtype if that is done per element, and in the narrow one, where cancelling terms leave only
    their rounding errors.
    """
    order_check, epsilon = derivatives.order_check, _epsilon(derivatives, k, i)
    wide = jitter(
        order_check, derivatives.arrays, derivatives.only(k, derivatives.upstream[0][k]), i, epsilon, epsilon
    )
    o = derivatives.outputs[k]
    narrow = jitter(
        order_check, order_check.arrays, order_check.only(o, order_check.upstream[o][0]), i, epsilon, epsilon
    )
    return wide + 4 * largest(narrow.astype(np.float64))


def _epsilon(derivatives: Derivatives, k: int, i: int) -> float:
    dtypes = [derivatives.order_check.values[derivatives.outputs[k]].dtype]
    dtypes += [
        derivatives.order_check.function.leaves[j].array.dtype for j in derivatives.order_check.function.moving
    ]
    return max(float(np.finfo(d).eps) for d in dtypes)


def _natural_scale(derivatives: Derivatives, k: int, i: int) -> float:
    """The size of terms that may cancel in a small gradient: output size over input size, or the output itself.

    A rule such as ``gy * (1 - y * y)`` is as inaccurate as an output near 1, however large the input is.
    """
    y = largest(derivatives.values[k])
    relative = y / (root_mean_square(host(derivatives.arrays[i])) or 1.0)
    return largest(derivatives.upstream[0][k]) * max(relative, min(y, 1.0))


def _amplification(derivatives: Derivatives, k: int) -> float:
    """How many roundings the error of the forward pass in the narrow dtype amounts to."""
    y, z = derivatives.order_check.values[derivatives.outputs[k]], derivatives.values[k]
    epsilon = float(np.finfo(y.dtype).eps)
    return 1.0 + largest(y.astype(np.float64) - z) / (largest(z) or 1.0) / epsilon


def _report(derivatives: Derivatives, k: int, i: int, bad: Any, wide: Any, narrow: Any) -> None:
    index = worst_index(bad)
    cause = f'dtype: in {narrow.dtype} the gradient differs from that in {wide.dtype}, by more than rounding'
    derivatives.order_check.fail(
        derivatives.outputs[k], i, cause, index=index, numeric=at(wide, index), analytic=at(narrow, index)
    )
