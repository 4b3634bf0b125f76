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

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minichainer.verification.arrays import host
from minichainer.verification.arrays import silent_norm as norm
from minichainer.verification.directional_derivatives import Derivatives
from minichainer.verification.directions import Path
from minichainer.verification.extrapolation import Curve, Slopes
from minichainer.verification.forward_rounding import doubt
from minichainer.verification.localization import Locator
from minichainer.verification.verdict import FAIL, PASS, UNRESOLVED

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
_SHARP = 8e-2
#: Parts of a direction that are measured alone, once the whole direction agrees.
_BLOCKS = 32
#: Leaves of more elements are also measured in blocks, up to the size at which blocks are as blurred as the whole.
_MANY, _MOST = 256, 2**16
#: The part of a value's bound of rounding that even the smallest residuals are taken for.
_LEAST = 1 / 24
#: Residuals of rounding are at most so many times the least ones. Larger ones may be those of kinks, which have no
#: random signs: they bend a slope by more than they deviate.
_CLEAN, _BENT = 4.0, 4.0


def left_by_fits(derivatives: Derivatives, directions: Mapping[int, list[Any]]) -> dict[int, list[Any]]:
    """Compares backward with fitted slopes, and adds failures to the report.

    Args:
        derivatives: The numeric side, in single or half precision.
        directions: The directions of each leaf.

    Returns:
        The directions of the leaves whose slopes are not such polynomials, or not well enough.
    """
    left = {i: drawn for i, drawn in directions.items() if not _is_settled(derivatives, i, drawn)}
    derivatives.measure_by(None)
    return left


def _is_settled(derivatives: Derivatives, i: int, directions: Sequence[Any]) -> bool:
    """Whether the gradient of a leaf is known to be right or wrong; wrong elements are added to the report."""
    judgement = _Judgement(derivatives, i, directions)
    if judgement.verdict == UNRESOLVED:
        return False
    if _MANY < directions[0].size <= _MOST:
        in_blocks = _Judgement(derivatives, i, _in_blocks(directions[0]), BlockFits(derivatives))
        judgement = in_blocks if in_blocks.verdict == FAIL else judgement
    judgement.explain()
    return True


def _in_blocks(direction: Any) -> list[Any]:
    """The direction in parts, each of which moves a block of elements."""
    block = np.arange(direction.size).reshape(direction.shape) * _BLOCKS // direction.size
    return [np.where(block == b, direction, 0.0) for b in range(_BLOCKS)]


class _Judgement:
    """The verdict on a leaf from the slopes along some directions."""

    def __init__(self, derivatives: Derivatives, i: int, directions: Sequence[Any], source: Any = None) -> None:
        self.derivatives, self.i = derivatives, i
        derivatives.measure_by(source or PolynomialFits(derivatives))
        self.measured = [derivatives.along(i, direction) for direction in directions]
        self.verdicts = np.stack([derivatives.verdicts(along) for along in self.measured])
        self.doubt = 0.0
        if not (self.verdicts == PASS).all():
            self._allow_backward_noise()

    def _allow_backward_noise(self) -> None:
        """Judges again, with the rounding errors of backward and with doubts."""
        self.derivatives.allow_backward_noise(self.i)
        self.measured = [self.derivatives.with_backward_noise(along) for along in self.measured]
        self.verdicts = np.stack([self.derivatives.verdicts(along) for along in self.measured])
        self.doubt = max(map(doubt, self.measured))

    @property
    def verdict(self) -> str:
        """The verdict on all outputs."""
        if (self.verdicts == FAIL).any():
            return FAIL
        return PASS if (self.verdicts == PASS).all() and self.doubt <= _SHARP else UNRESOLVED

    def explain(self) -> None:
        """Adds wrong elements to the report, or how large an error would not show."""
        if self.verdict == PASS:
            self.derivatives.note_doubt(self.i, self.doubt)
        for k in range(len(self.derivatives.outputs)):
            mine = self.verdicts[:, k :: len(self.derivatives.outputs)]
            if (mine == FAIL).any():
                Locator(self.derivatives, self.i, k, self.measured, mine).explain()


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


class BlockFits(PolynomialFits):
    """The slopes while a few elements move: outputs that do not depend on them have no rounding errors.

    An element that is wrong by little shows in its block. So would kinks; slopes count only where nothing but
    rounding separates the values from a polynomial.
    """

    def slopes(self, directions: Mapping[int, Any]) -> Slopes:
        """The slopes along a direction of one leaf; NaN where the function is not smooth."""
        ((i, direction),) = directions.items()
        found = fitted(self.path(i, direction), self.derivatives.typical_precision)
        smooth = found.error * found.best <= _CLEAN * _DEVIATIONS * np.linalg.norm(_SLOPE) * _LEAST * found.noise
        return dataclasses.replace(
            found, value=np.where(smooth, found.value, np.nan), error=np.where(smooth, found.error, np.inf)
        )

    def path(self, i: int, direction: Any) -> Path:
        """The path of the leaf; outputs that do not depend on what moves do not count as rounded."""
        derivatives = self.derivatives
        moved = np.where(direction != 0, host(derivatives.arrays[i]), 0.0)
        base = derivatives.sizes(
            np.array([norm(derivatives.gradient(d, k, i) * moved) for d, k in derivatives.pairs]),
            [
                norm(y.ravel() * which)
                for y, which in zip(derivatives.values, derivatives.dependent(i, direction != 0), strict=True)
            ],
        )
        return Path(derivatives, {i: derivatives.line(i, direction)}, base, direction)


def fitted(curve: Curve, precision: Any) -> Slopes:
    """Differentiates m functions of one number at 0.

    A slope counts if the intervals of two widths give the same: a kink within the wider one would not.

    Args:
        curve: Maps ``t`` to (values, magnitudes), as in :func:`~.extrapolation.slopes`.
        precision: Machine epsilon of the arithmetic inside ``curve``; one number, or one per function.
    """
    with np.errstate(all='ignore'):
        fits = [_Fit(curve, precision, _WIDTHS[0])]
        value, error, best = (np.full(fits[0].slope.shape, fill) for fill in (np.nan, np.inf, np.nan))
        for width in _WIDTHS[1:]:
            fits.append(_Fit(curve, precision, width))
            wide, narrow = fits[-2:]
            agree = abs(wide.slope - narrow.slope) <= wide.error + narrow.error
            better = agree & (narrow.error < error)
            better &= ~narrow.still | fits[0].still  # what only wider intervals move is rounded
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
        error: Bounds of their errors; infinite where the function is not such a polynomial.
        noise: Bound of the rounding error of a value.
        samples: The values at the left end, at 0 and at the right end.
        still: Whether all values are equal.
    """

    def __init__(self, curve: Curve, precision: Any, width: float) -> None:
        self.width = width
        centre, magnitude = curve(0.0)
        below, above, sizes = _sides(curve, width * _PLACES)
        odd, even = (above - below) / 2, (above + below) / 2 - centre
        self.still = ~(odd.any(axis=0) | even.any(axis=0))
        self.noise = 4 * precision * np.maximum(magnitude, sizes)
        self.slope = _SLOPE @ odd / width
        deviation = np.maximum(_deviation(_OFF_ODD @ odd), _deviation(_OFF_EVEN @ even))
        least = _LEAST * self.noise
        bound = _DEVIATIONS * np.linalg.norm(_SLOPE) * np.maximum(deviation, least) / width
        bound *= np.where(deviation <= _CLEAN * least, 1.0, _BENT)
        self.error = np.where(deviation <= self.noise, bound, np.inf)
        self.samples = np.stack([below[-1], centre, above[-1]])


def _deviation(residuals: Any) -> Any:
    """The standard deviation of values from a polynomial of four terms."""
    return np.sqrt(np.square(residuals).sum(axis=0) / _FREEDOM)


def _sides(curve: Curve, steps: Any) -> tuple[Any, Any, Any]:
    """The values below and above 0, one row per step, and the largest magnitudes."""
    values, sizes = zip(*[curve(t) for t in np.concatenate([-steps, steps]).tolist()], strict=True)
    return np.array(values[: len(steps)]), np.array(values[len(steps) :]), np.max(sizes, axis=0)
