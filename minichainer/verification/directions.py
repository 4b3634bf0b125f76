"""Random signed directions in which every element counts."""

from __future__ import annotations

from typing import Any

import numpy as np


def generator(seed: int) -> np.random.Generator:
    """The checker's own source of random numbers; the global ones are never touched."""
    return np.random.Generator(np.random.PCG64(seed))


def signed(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Numbers of either sign, with absolute values in [1/2, 1]: none hides an element, no two cancel exactly."""
    return np.copysign(rng.uniform(0.5, 1.0, shape), rng.uniform(-1.0, 1.0, shape))


def isotropic(rng: np.random.Generator, x: Any) -> Any:
    """A direction with elements of the same size, that of the root mean square of ``x`` (1 where that is 0)."""
    size = float(np.sqrt(np.mean(np.square(x, dtype=np.float64)))) if x.size else 0.0
    return signed(rng, x.shape) * (size if np.isfinite(size) and size > 0 else 1.0)


def relative(rng: np.random.Generator, x: Any) -> Any:
    """A direction that changes every element in proportion to itself; it keeps signs, so ``log`` stays defined."""
    return signed(rng, x.shape) * abs(x.astype(np.float64))
