r"""Slopes of functions that reject float64, from polynomials fitted to many values.

The rounding errors of float32 leave a difference quotient three or four digits. A polynomial fitted to many values
over a wide interval averages them, and its residuals are the measured rounding errors. They replace bounds that hold
for any function and are a hundred times larger: an element that is wrong by a factor of 1.001 shows. The odd part
:math:`(\phi(t) - \phi(-t)) / 2` is fitted by :math:`a t + b t^3 + c t^5 + d t^7`, and ``a`` is the slope. The even
part must be a polynomial without a constant: otherwise the function jumps or has a kink at 0 or nearby.

Source: A. Savitzky, M. J. E. Golay: Smoothing and differentiation of data by simplified least squares procedures,
1964.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minichainer.verification.directional_derivatives import Derivatives
from minichainer.verification.extrapolation import Curve, Slopes
from minichainer.verification.localization import Locator, doubt
from minichainer.verification.verdict import FAIL, PASS

#: Half widths of the intervals, relative to the scale of the inputs.
_WIDTHS = tuple([2.0**-k for k in range(2, 11)])

#: Values on either side, at irregular places, so that the steps of rounded numbers are not hit in the same phase.
_PLACES = (np.arange(1, 13) - 0.3 * np.sin(7.0 * np.arange(1, 13))) / 12
_ODD, _EVEN = (_PLACES[:, None] ** np.array(powers) for powers in ((1, 3, 5, 7), (2, 4, 6, 8)))
#: The weights of the values whose sum is the slope.
_SLOPE = np.linalg.pinv(_ODD)[0]
#: Matrices that leave the residuals of values.
_OFF_ODD, _OFF_EVEN = (np.eye(len(_PLACES)) - basis @ np.linalg.pinv(basis) for basis in (_ODD, _EVEN))
_FREEDOM = len(_PLACES) - _ODD.shape[1]
#: How many standard deviations the error of a slope may be.
_DEVIATIONS = 8.0
#: The largest relative error of slopes that settles a gradient; more is left to differences.
_SHARP = 2e-2
#: The part of a value's bound of rounding that even the smallest residuals are taken for.
_LEAST = 1 / 24


def left_by_fits(derivatives: Derivatives, directions: Mapping[int, list[Any]]) -> dict[int, list[Any]]:
    """Compares backward with fitted slopes, and adds failures to the report.

    Args:
        derivatives: The numeric side, in single or half precision.
        directions: The directions of each leaf.

    Returns:
        The directions of the leaves whose slopes are no such polynomials, or not well enough.
    """
    derivatives.measure_by(PolynomialFits(derivatives))
    left = {i: drawn for i, drawn in directions.items() if not _is_settled(derivatives, i, drawn)}
    derivatives.measure_by(None)
    return left


def _is_settled(derivatives: Derivatives, i: int, directions: Sequence[Any]) -> bool:
    """Whether the gradient of a leaf is known to be right or wrong."""
    measured = [derivatives.along(i, direction) for direction in directions]
    if all((derivatives.verdicts(along) == PASS).all() for along in measured):
        return True
    derivatives.allow_backward_noise(i)
    measured = [derivatives.with_backward_noise(along) for along in measured]
    verdicts = np.stack([derivatives.verdicts(along) for along in measured])
    for k in range(len(derivatives.outputs)):
        mine = verdicts[:, k :: len(derivatives.outputs)]
        if (mine == FAIL).any():
            Locator(derivatives, i, k, measured, mine).explain()
    if (verdicts == PASS).all() and max(map(doubt, measured)) <= _SHARP:
        derivatives.note_doubt(i, max(map(doubt, measured)))
        return True
    return bool((verdicts == FAIL).any())


class PolynomialFits:
    """A source of slopes for ``Derivatives.measure_by``; gradients stay those in the given dtype."""

    gradients: Any = None

    def __init__(self, derivatives: Derivatives) -> None:
        self.derivatives = derivatives

    def slopes(self, directions: Mapping[int, Any]) -> Slopes:
        """The slopes along a direction of one leaf."""
        ((i, direction),) = directions.items()
        return fitted(self.derivatives.path(i, direction), self.derivatives.precision)

    def slopes_of_elements(self, i: int, elements: Any, scales: Any) -> Slopes:
        """The slopes of single elements."""
        return fitted(self.derivatives.element_curve(i, elements, scales), self.derivatives.precision)


def fitted(curve: Curve, precision: float) -> Slopes:
    """Differentiates m functions of one number at 0.

    A slope counts if the intervals of two widths give the same: a kink within the wider one would not.

    Args:
        curve: Maps ``t`` to (values, magnitudes), as in :func:`~.extrapolation.slopes`.
        precision: Machine epsilon of the arithmetic inside ``curve``.
    """
    with np.errstate(all='ignore'):
        fits = [_Fit(curve, precision, _WIDTHS[0])]
        value, error, best = (np.full(fits[0].slope.shape, fill) for fill in (np.nan, np.inf, np.nan))
        for width in _WIDTHS[1:]:
            fits.append(_Fit(curve, precision, width))
            wide, narrow = fits[-2:]
            agree = abs(wide.slope - narrow.slope) <= wide.error + narrow.error
            better = agree & (narrow.error < error)
            value, error = np.where(better, narrow.slope, value), np.where(better, narrow.error, error)
            best = np.where(better, width, best)
            if bool(np.isfinite(error).all()):
                break
        below, centre, above = fits[-1].samples
        step = fits[-1].width * _PLACES[-1]
        return Slopes(
            value=value,
            error=error,
            left=(centre - below) / step,
            right=(above - centre) / step,
            finite=np.ones(centre.shape, bool),
            kink=np.zeros(centre.shape, bool),
            steps=np.array([fit.width * _PLACES[-1] for fit in fits]),
            samples=np.stack([fit.samples for fit in fits]),
            noise=fits[-1].noise,
            best=best,
            calls=2 * len(_PLACES) * len(fits),
        )


class _Fit:
    """The slopes from the values in one interval.

    Attributes:
        slope: The derivatives at 0.
        error: Bounds of their errors; infinite where the function is no such polynomial.
        noise: Bound of the rounding error of a value.
        samples: The values at the left end, at 0 and at the right end.
    """

    def __init__(self, curve: Curve, precision: float, width: float) -> None:
        self.width = width
        centre, magnitude = curve(0.0)
        below, above, sizes = _sides(curve, width * _PLACES)
        odd, even = (above - below) / 2, (above + below) / 2 - centre
        self.noise = 4 * precision * np.maximum(magnitude, sizes)
        self.slope = _SLOPE @ odd / width
        deviation = np.maximum(_deviation(_OFF_ODD @ odd), _deviation(_OFF_EVEN @ even))
        bound = _DEVIATIONS * np.linalg.norm(_SLOPE) * np.maximum(deviation, _LEAST * self.noise) / width
        self.error = np.where(deviation <= self.noise, bound, np.inf)
        self.samples = np.stack([below[-1], centre, above[-1]])


def _deviation(residuals: Any) -> Any:
    """The standard deviation of values from a polynomial of four terms."""
    return np.sqrt(np.square(residuals).sum(axis=0) / _FREEDOM)


def _sides(curve: Curve, steps: Any) -> tuple[Any, Any, Any]:
    """The values below and above 0, one row per step, and the largest magnitudes."""
    values, sizes = zip(*[curve(t) for t in np.concatenate([-steps, steps]).tolist()], strict=True)
    return np.array(values[: len(steps)]), np.array(values[len(steps) :]), np.max(sizes, axis=0)
