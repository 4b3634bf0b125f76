"""The tolerances with which a gradient that is nearly right would pass."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from minichainer.verification.reporting.explanation import Comparison

#: Errors up to this, relative to the gradient, may be accurate enough for somebody; of larger ones no word is said.
SMALL = 1e-3
#: Tolerances are this many times the largest error that was measured: others may be larger, and errors add up.
_ROOM = 4.0
#: Errors above the first, as of float16, show also between the parts of an upstream gradient, which are
#: larger than their sum: tolerances are the second number times such errors.
_COARSE, _ROOM_OF_PARTS = 1e-4, 32.0
#: Up to this many times the typical relative error, one number is enough for all elements, if all were measured.
_UNEVEN = 4.0
#: Parts of causes about slopes and gradients that are compared without their elements.
_AS_WHOLE = ('unknown: the slope along ', 'dtype: in ')
_NOT_LINEAR = 'not linear in the upstream gradient: '
#: The cause of results that are not multiples of each other, which only ``nondet_tol`` accepts, and the power of two.
_SCALED = re.compile(_NOT_LINEAR + r'these are the gradients for -2(?:\*\*(\d+))? times')


def enough(failures: Sequence[Any], comparisons: Sequence[Comparison]) -> dict[str, float]:
    """The arguments of the same check with which it would pass; empty unless all errors are small.

    Args:
        failures: Those of a report.
        comparisons: Its comparisons.

    Returns:
        ``rtol``, where some elements are smaller than the errors of others also ``atol``, and ``nondet_tol`` where
        backward is not quite linear.
    """
    known = {(c.order, c.output, c.input): c for c in comparisons}
    found = [_enough_for(f, known.get((f.order, f.output, f.input))) for f in failures]
    if not all(found):
        return {}
    largest: dict[str, float] = {}
    for name, value in (item for tolerances in found for item in tolerances.items()):
        largest[name] = max(value, largest.get(name, 0.0))
    return largest


def in_words(tolerances: dict[str, float]) -> str:
    """A sentence that names the arguments; empty for none.

    >>> in_words({'rtol': 5e-07})
    'If that is accurate enough: rtol=5e-07 accepts it.'
    """
    if not tolerances:
        return ''
    texts = [f'{name}={value:g}' for name, value in tolerances.items()]
    verb = 'accepts' if len(texts) == 1 else 'together accept'
    return f'If that is accurate enough: {", ".join(texts)} {verb} it.'


def _enough_for(failure: Any, comparison: Comparison | None) -> dict[str, float]:
    """The tolerances for one failure."""
    if failure.numeric is None or failure.analytic is None or failure.verdict != 'fail':
        return {}
    numeric, off = abs(failure.numeric), abs(failure.numeric - failure.analytic)
    relative = off / numeric if numeric else np.inf
    scaled = _SCALED.search(failure.cause)
    if scaled is not None and relative <= SMALL:
        return {'rtol': _rounded(relative), 'nondet_tol': _one_digit(_ROOM * off / 2.0 ** int(scaled[1] or 1))}
    if comparison is not None and _NOT_LINEAR not in failure.cause:
        return _enough_for_elements(comparison)
    compared_as_whole = any(cause in failure.cause for cause in _AS_WHOLE)
    return {'rtol': _rounded(relative)} if compared_as_whole and 0 < relative <= SMALL else {}


def _enough_for_elements(comparison: Comparison) -> dict[str, float]:
    """The tolerances for all elements that were measured."""
    if not comparison.elements.size:
        return {}
    given = comparison.backward.ravel()[comparison.elements]
    with np.errstate(all='ignore'):
        off, own = abs(comparison.measured - given), abs(comparison.measured)
        relative = off / np.maximum(own, np.sqrt(np.mean(own**2)))
    if not bool((relative <= SMALL).all()):
        return {}
    with np.errstate(all='ignore'):
        alone = np.nan_to_num(off / own, posinf=np.inf)
    all_are_known = comparison.elements.size == comparison.backward.size
    if all_are_known and float(alone.max()) <= min(_UNEVEN * float(np.median(alone)), SMALL):
        return {'rtol': _rounded(float(alone.max()))}
    return {'rtol': _rounded(float(relative.max())), 'atol': _one_digit(_ROOM * float(off.max()))}


def _rounded(error: float) -> float:
    """A tolerance with one digit, with some room above a relative error."""
    return _one_digit(error * (_ROOM_OF_PARTS if error > _COARSE else _ROOM))


def _one_digit(least: float) -> float:
    """1, 2 or 5 times a power of ten, at least that large."""
    digits: Iterator[Any] = (float(f'{d}e{e}') for e in range(-300, 300) for d in (1, 2, 5))
    return next((value for value in digits if value >= least), least)
