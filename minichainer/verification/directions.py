"""Random directions that move every element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minichainer.backend import get_array_module


def generator(seed: int) -> np.random.Generator:
    """The checker's own random number generator; the global ones are not touched."""
    return np.random.Generator(np.random.PCG64(seed))


def signed(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Random signs times magnitudes in [1/2, 1]: no element is hidden, and no two cancel exactly."""
    drawn = rng.random(shape)
    drawn -= 0.5
    drawn += np.copysign(0.5, drawn)
    return drawn


def isotropic(rng: np.random.Generator, x: Any) -> Any:
    """A direction whose elements have the size of the root mean square of ``x`` (1 where that is 0)."""
    drawn = signed(rng, x.shape)
    drawn *= root_mean_square(x) or 1.0
    return drawn


def root_mean_square(x: Any) -> float:
    """The root mean square of the finite elements; 0 if there are none."""
    flat = x.astype(np.float64, copy=False).ravel()
    with np.errstate(all='ignore'):
        square = float(flat.dot(flat))
    if 1e-280 < square < 1e300:
        return math.sqrt(square / flat.size)
    finite = get_array_module(x).isfinite(x)
    x = x if bool(finite.all()) else x[finite]
    return norm(x) / math.sqrt(max(x.size, 1))


def norm(terms: Any) -> float:
    """The root of the sum of squares of the finite elements, without overflow."""
    with np.errstate(all='ignore'):
        return silent_norm(terms)


def silent_norm(terms: Any) -> float:
    """As :func:`norm`, for callers that have already silenced NumPy's warnings: that takes as long as the sum."""
    terms = terms.astype(np.float64, copy=False).ravel()
    square = float(terms.dot(terms))
    if 1e-280 < square < 1e300 or not terms.size:
        return math.sqrt(square)
    terms = terms[get_array_module(terms).isfinite(terms)]
    largest = float(abs(terms).max()) if terms.size else 0.0
    if not largest:
        return 0.0
    scaled = terms / largest
    return largest * math.sqrt(float(scaled.dot(scaled)))


def relative(rng: np.random.Generator, x: Any) -> Any:
    """A direction that moves every element in proportion to its size; signs stay, so ``log`` stays defined."""
    return signed(rng, x.shape) * abs(x.astype(np.float64))
