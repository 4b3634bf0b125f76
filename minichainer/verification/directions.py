"""Random signed directions in which every element counts."""

from __future__ import annotations

from typing import Any

import numpy as np


def generator(seed: int) -> np.random.Generator:
    """The checker's own source of random numbers; the global ones are never touched."""
    return np.random.Generator(np.random.PCG64(seed))


def signed(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Numbers of either sign, absolute values in [1/2, 1]: none hides an element, no two cancel exactly."""
    return np.copysign(rng.uniform(0.5, 1.0, shape), rng.uniform(-1.0, 1.0, shape))


def isotropic(rng: np.random.Generator, x: Any) -> Any:
    """A direction whose elements have the size of the root mean square of ``x`` (1 where that is 0)."""
    return signed(rng, x.shape) * (_root_mean_square(x) or 1.0)


def _root_mean_square(x: Any) -> float:
    """Of the finite elements; 0 if there are none."""
    finite = abs(x[np.isfinite(x)].astype(np.float64))
    largest = float(finite.max()) if finite.size else 0.0
    return largest * float(np.sqrt(np.mean((finite / largest) ** 2))) if largest else 0.0


def relative(rng: np.random.Generator, x: Any) -> Any:
    """A direction that moves every element in proportion to itself; signs stay, so ``log`` stays defined."""
    return signed(rng, x.shape) * abs(x.astype(np.float64))
