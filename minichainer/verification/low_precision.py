"""Compares the gradient in the given dtype with the verified one in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.verification.arrays import full, host, largest, root_mean_square
from minichainer.verification.directional_derivatives import Derivatives
from minichainer.verification.exact_checks import at, worst_index
from minichainer.verification.rounding import ROUNDINGS, jitter


def compare_native(screen: Derivatives) -> None:
    """Adds a failure where the gradient in the given dtype differs by more than rounding."""
    point = screen.point
    for k, o in enumerate(screen.outputs):
        for i in point.subject.moving:
            if (o, i) in point.broken or any(f.output == o for f in point.report.failures if f.order == point.order):
                continue
            wide, narrow = screen.gradients[0][k][i], point.gradients[o][i]
            if wide is None and narrow is None:
                continue
            _compare(screen, k, i, wide, narrow)


def _compare(screen: Derivatives, k: int, i: int, wide: Any, narrow: Any) -> None:
    """Compares the gradients of one leaf in both dtypes."""
    x = screen.point.arrays[i]
    wide, narrow = (full(g, x) for g in (wide, narrow))
    with np.errstate(all='ignore'):
        off = abs(narrow.astype(np.float64) - wide)
        off = _clear(off, narrow, wide)
        scale = largest(wide) + _natural_scale(screen, k, i)
        allowed = ROUNDINGS * _amplification(screen, k) * _epsilon(screen, k, i) * scale
        allowed += 16 * float(np.finfo(narrow.dtype).smallest_subnormal)
        atol, rtol = screen.point.options.extra
        allowed = allowed + atol + screen.point.options.nondet_tol + rtol * abs(wide)
        bad = ~(off <= allowed)
    if bool(bad.any()) and bool((bad & ~(off <= allowed + _rounding(screen, k, i))).any()):
        _report(screen, k, i, bad, wide, narrow)


def _clear(off: Any, narrow: Any, wide: Any) -> Any:
    """No difference where the wide number overflows to infinity in the narrow dtype."""
    xp = get_array_module(off)
    overflows = xp.isinf(narrow) & (abs(wide) > float(np.finfo(narrow.dtype).max))
    return xp.where(overflows, 0.0, off)


def _rounding(screen: Derivatives, k: int, i: int) -> Any:
    """The change of the gradient when everything is rounded to the narrow dtype.

    Measured in the wide dtype if that is done per element, and in the narrow one, where cancelling terms leave only
    their rounding errors.
    """
    point, epsilon = screen.point, _epsilon(screen, k, i)
    wide = jitter(point, screen.arrays, screen.only(k, screen.upstream[0][k]), i, epsilon, epsilon)
    o = screen.outputs[k]
    narrow = jitter(point, point.arrays, point.only(o, point.upstream[o][0]), i, epsilon, epsilon)
    return wide + 4 * largest(narrow.astype(np.float64))


def _epsilon(screen: Derivatives, k: int, i: int) -> float:
    dtypes = [screen.point.values[screen.outputs[k]].dtype]
    dtypes += [screen.point.subject.leaves[j].array.dtype for j in screen.point.subject.moving]
    return max(float(np.finfo(d).eps) for d in dtypes)


def _natural_scale(screen: Derivatives, k: int, i: int) -> float:
    """The size of terms that may cancel in a small gradient: output size over input size."""
    return (
        largest(screen.upstream[0][k]) * largest(screen.values[k]) / (root_mean_square(host(screen.arrays[i])) or 1.0)
    )


def _amplification(screen: Derivatives, k: int) -> float:
    """How many roundings the error of the forward pass in the narrow dtype amounts to."""
    y, z = screen.point.values[screen.outputs[k]], screen.values[k]
    epsilon = float(np.finfo(y.dtype).eps)
    return 1.0 + largest(y.astype(np.float64) - z) / (epsilon * (largest(z) or 1.0))


def _report(screen: Derivatives, k: int, i: int, bad: Any, wide: Any, narrow: Any) -> None:
    index = worst_index(bad)
    cause = f'dtype: in {narrow.dtype} the gradient differs from that in {wide.dtype}, by more than rounding'
    screen.point.fail(screen.outputs[k], i, cause, index=index, numeric=at(wide, index), analytic=at(narrow, index))
