"""Decides whether a backward pass agrees with a measured slope."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from minichainer.verification.extrapolation import Slopes

PASS, FAIL, NONDIFFERENTIABLE, UNRESOLVED, NOT_FINITE = (
    'pass',
    'fail',
    'nondifferentiable',
    'unresolved',
    'not_finite',
)


def judge(
    found: Slopes,
    analytic: Any,
    rounding: Any,
    scale: Any,
    widened: Any = 0.0,
    resolution: float = 1e-4,
    tiny: Any = False,
) -> Any:
    """Compares measured slopes with those from backward.

    The tolerance is the error of the slopes plus the rounding of the backward pass, plus ``widened``. If the slope is
    too inaccurate to tell a wrong gradient from a right one, the verdict is "unresolved".

    Args:
        found: The slopes, m of them.
        analytic: The slopes from the backward pass, of shape (m,).
        rounding: Rounding error of ``analytic``, of shape (m,).
        scale: Size of the terms that were summed to ``analytic``, such as ``sum(abs(gx * direction))``, of shape
            (m,).
        widened: What else is allowed, such as the differences between two calls, of shape (m,).
        resolution: The largest error of a slope that still allows "pass", relative to ``scale`` or to the
            steepest slope nearby.
        tiny: Where slopes are known to be of the size of rounding errors, so that accuracy cannot be demanded.

    Returns:
        An array of m strings: "pass", "fail", "nondifferentiable", "unresolved", "not_finite".
    """
    with np.errstate(all='ignore'):
        doubt = found.error + rounding
        distance = abs(found.value - analytic)
        size = np.maximum(np.maximum(scale, found.secant), np.maximum(abs(found.value), abs(analytic)))
        sharp = doubt <= np.maximum(resolution * size, widened)
        sharp |= found.flat & (abs(analytic) <= found.noise + rounding) | tiny
        agrees = distance <= doubt + widened
        hopeless = found.credible & (distance > 10 * doubt + widened)
        measured = np.isfinite(found.value)
        verdicts = np.full(found.value.shape, UNRESOLVED, dtype=object)
        verdicts[measured & ~agrees & (sharp | hopeless)] = FAIL
        verdicts[agrees & sharp] = PASS
        verdicts[found.kink] = NONDIFFERENTIABLE
        verdicts[~found.kink & ~np.isfinite(analytic)] = FAIL
        verdicts[~found.finite] = NOT_FINITE
    return verdicts


class OneSided(Protocol):
    """Anything with slopes from the left and from the right."""

    @property
    def left(self) -> Any: ...

    @property
    def right(self) -> Any: ...


def between_slopes(found: OneSided, analytic: Any, rounding: Any = 0.0) -> Any:
    """Whether ``analytic`` lies between the one-sided slopes: a subgradient at a convex or concave kink."""
    low, high = np.minimum(found.left, found.right), np.maximum(found.left, found.right)
    with np.errstate(all='ignore'):
        curvature = 1e-4 * (abs(low) + abs(high))
        slack = rounding + np.where(np.isfinite(curvature), curvature, 0.0)
        return (low - slack <= analytic) & (analytic <= high + slack)


def taylor_rate(found: Slopes, analytic: Any) -> Any:
    r"""The order of :math:`\phi(t) - \phi(0) - t a`: 2 if the slope ``a`` is right, 1 if it is wrong.

    NaN where the remainder is only rounding: a linear function with the right slope, or too few steps.

    Args:
        found: Samples of the function at several steps.
        analytic: The slope from backward, of shape (m,).

    Source: P. E. Farrell, D. A. Ham, S. W. Funke, M. E. Rognes: Automated derivation of the adjoint of
    high-level transient finite element programs, 2013.
    """
    if len(found.steps) < 2:
        return np.full(found.value.shape, np.nan)
    steps = found.steps[:, None]
    with np.errstate(all='ignore'):
        ahead = abs(found.samples[:, 2] - found.samples[:, 1] - steps * analytic)
        behind = abs(found.samples[:, 0] - found.samples[:, 1] + steps * analytic)
        remainder = np.maximum(ahead, behind)
        remainder = np.where(remainder > 4 * found.noise, remainder, np.nan)
        rates = np.log(remainder[:-1] / remainder[1:]) / np.log(steps[:-1] / steps[1:])
    known = np.isfinite(rates)
    last = known.shape[0] - 1 - np.argmax(known[::-1], axis=0)
    return np.where(known.any(axis=0), np.take_along_axis(rates, last[None], axis=0)[0], np.nan)
