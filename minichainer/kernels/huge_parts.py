"""Normalization of parts of arrays (rows, groups, channels) that are beyond what sums of squares can hold.

A normalized part stays the same if its elements are multiplied by a number, and eps by the square of it; powers of
two make that exact. So the other kernels need no scaling. Where a deviation shows that squares may have overflowed,
or a mean that the deviation is nothing but rounding, the part is normalized here, in float64, and the others as if it
were zeros.

Parts are what the first axes of an array index; the axes of masks, means and deviations are these. Devices sum
squares of float32 in float64, and looking at deviations would wait for them: all this is for NumPy arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy

from minichainer._native import library

F = TypeVar('F', bound=Callable[..., Any])

#: A part is huge from this deviation on, by dtype: far from where squares of elements overflow, or products with the
#: square of the inverse deviation lose digits by underflow (``_native/normalization.h`` has the same numbers).
LARGE = {'f': 2.0**40, 'd': 2.0**400}
#: It also is if its mean is this many deviations from zero: then it is constant, and differences are rounding errors.
FAR_MEAN = {'f': 2.0**32, 'd': 2.0**72}
#: Second derivatives have the fifth power of the inverse deviation: elements from which on they are scaled.
LARGE_TWICE = {'f': 2.0**20, 'd': 2.0**60}
#: Inverse deviations count up to here, as if eps were 4e-6: with an eps of 0 those of constants are infinite.
_MOST = 2.0**9

_errstate = numpy.errstate(over='ignore', invalid='ignore', divide='ignore')


def as_quiet_as_compiled(body: F) -> F:
    """Decorator of what computes when a compiled kernel has declined: then it does not warn of overflow, either.

    Without compiled kernels NumPy warns, because another errstate makes small arrays 8 % slower.
    """
    return body if library.kernels is None else _errstate(body)


class HugeParts(NamedTuple):
    """Huge parts before scaling and shifting, float64.

    Arrays that methods get have the parts as their first axes, or broadcast against those that have.
    """

    #: Which parts they are.
    mask: Any
    #: Their elements minus the mean, over the deviation.
    z: Any
    #: One over the deviation of each.
    inv_std: Any
    #: Whether the mean was subtracted.
    centred: bool

    def of(self, values: Any, like: Any) -> Any:
        """These parts of values that broadcast against ``like``, float64."""
        return numpy.broadcast_to(values, like.shape)[self.mask].astype('d')

    def write(self, y: Any, gamma: Any, beta: Any) -> None:
        """Writes ``z * gamma + beta`` to these parts of ``y``."""
        y[self.mask] = self.z * self.of(gamma, y) + self.of(beta, y)

    def products(self, g: Any) -> Any:
        """``g * z``, 0 in other parts; the sum is the gradient of gamma."""
        found = numpy.zeros(g.shape)
        found[self.mask] = self.of(g, g) * self.z
        return found

    def write_gradient(self, gx: Any, g: Any, gamma: Any) -> None:
        """Writes the gradient of these parts of ``x`` to ``gx``; ``g`` is that of the result."""
        g = self.of(g, gx) * self.of(gamma, gx)
        axes = tuple(range(1, g.ndim))
        mean = g.mean(axes, keepdims=True) if self.centred else 0
        gx[self.mask] = self.inv_std * (g - mean - self.z * (g * self.z).mean(axes, keepdims=True))


def itself(x: Any) -> Any:
    """The parts of a matrix whose rows are the parts."""
    return x


def among(
    x: Any, parts: Callable[[Any], Any], inv_std: Any, mean: Any, eps: float, centred: bool = True
) -> HugeParts | None:
    """The huge parts of an array; None if there are none.

    Args:
        x: float array.
        parts: gives a view of an array in which the parts are the first axes.
        inv_std: one over the deviation of each part: 0, NaN or wrong where squares have overflowed.
        mean: the mean of each part; None if none is far from zero.
        eps: added to the variance.
        centred: whether means are subtracted.
    """
    if not inv_std.size:
        return None
    large, far = LARGE.get(x.dtype.char, math.inf), FAR_MEAN.get(x.dtype.char, math.inf)
    least = inv_std.item(inv_std.argmin())  # or NaN, in a quarter of min's time
    if least * large > 1 and (mean is None or _norm(mean) * min(inv_std.item(inv_std.argmax()), _MOST) < far):
        return None
    doubtful = ~(inv_std * large > 1)
    if mean is not None:
        doubtful |= ~(abs(mean) * numpy.minimum(inv_std, _MOST) < far)
    mask = _mask_of(parts(x), doubtful)
    return None if mask is None else standardized(parts(x), mask, eps, centred)


def _norm(x: Any) -> float:
    """At least the largest absolute value; NaN if there is one."""
    return math.sqrt(numpy.vdot(x, x))


def by_variance(x: Any, parts: Callable[[Any], Any], var: Any, mean: Any) -> Any:
    """The mask of the huge parts of an array, as in :func:`among`, but by variances; None if there are none."""
    large, far = LARGE.get(x.dtype.char, math.inf) ** 2, FAR_MEAN.get(x.dtype.char, math.inf) ** 2
    if not var.size or (mean is None and var.item(var.argmax()) < large):
        return None
    doubtful = ~(var < large)
    if mean is not None:
        doubtful |= ~(mean * mean < far * (var + _MOST**-2))
    return _mask_of(parts(x), doubtful)


def without(x: Any, parts: Callable[[Any], Any], mask: Any) -> Any:
    """A copy of an array with 0 for the parts at a mask."""
    x = x.copy()
    parts(x)[mask] = 0
    return x


def _mask_of(x: Any, doubtful: Any) -> Any:
    """Which of the doubtful parts are finite and not 0; None if there are none."""
    if not doubtful.any():
        return None
    top = abs(x).max(axis=tuple(range(doubtful.ndim, x.ndim)))
    mask = doubtful & (top > 0) & (top < math.inf)
    return mask if mask.any() else None


def standardized(x: Any, mask: Any, eps: float, centred: bool = True) -> HugeParts:
    """The parts of an array at a mask, normalized."""
    scale, _, centre, var = _scaled(x[mask], centred)
    deviation = numpy.sqrt(var + eps * scale * scale)
    return HugeParts(mask, centre / deviation, scale / deviation, centred)


def moments(x: Any, mask: Any) -> tuple[Any, Any]:
    """Mean and variance of the parts at a mask, float64; infinite where a variance is beyond the range."""
    scale, mean, _, var = _scaled(x[mask], True)
    with numpy.errstate(over='ignore'):
        return mean.reshape(-1), (var / scale / scale).reshape(-1)


def _scaled(x: Any, centred: bool) -> tuple[Any, Any, Any, Any]:
    """A scale for each part, the mean, scaled elements without it, and their variance."""
    x, axes = x.astype('d'), tuple(range(1, x.ndim))
    shift, scale = _shift_and_scale(x, axes, centred)
    centre, mean = (x - shift) * scale, numpy.zeros_like(scale)
    for _ in range(2 * centred):  # the second mean is what rounding has left of the first
        left = centre.mean(axes, keepdims=True)
        centre, mean = centre - left, mean + left
    return scale, shift + mean / scale, centre, (centre * centre).mean(axes, keepdims=True)


def _shift_and_scale(x: Any, axes: tuple[int, ...], centred: bool) -> tuple[Any, Any]:
    """A power of two for each part that brings its largest element between 1/2 and 1; constants are shifted to 0.

    The variance of a constant is eps, which therefore may not be scaled.
    """
    low, high = x.min(axis=axes, keepdims=True), x.max(axis=axes, keepdims=True)
    constant = (low == high) & centred
    scale = numpy.ldexp(x.dtype.type(1), -numpy.frexp(numpy.maximum(-low, high))[1])
    return numpy.where(constant, low, x.dtype.type(0)), numpy.where(constant, x.dtype.type(1), scale)


@_errstate
def into_range(x: Any, axes: tuple[int, ...], centred: bool) -> Any:
    """A shift and a scale by which second derivatives of a normalization are in range; None if they are without.

    Args:
        x: float NumPy array: a device would have to be waited for.
        axes: axes of a part.
        centred: whether means are subtracted.

    Returns:
        Two arrays with one number for each part, which are 0 and 1 for ordinary parts; they keep the axes.
    """
    large = LARGE_TWICE.get(x.dtype.char, math.inf)
    if not x.size or _norm(x) < large:
        return None
    top = abs(x).max(axis=axes, keepdims=True)
    mask = (top >= large) & (top < math.inf)
    if not mask.any():
        return None
    shift, scale = _shift_and_scale(x, axes, centred)
    return numpy.where(mask, shift, x.dtype.type(0)), numpy.where(mask, scale, x.dtype.type(1))
