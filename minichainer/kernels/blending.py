"""Linear interpolation between two arrays."""

from __future__ import annotations

from typing import Any

from minichainer.kernels._dispatch import kernel


@kernel(widens=True)
def blended(xp: Any, p: Any, x0: Any, x1: Any) -> Any:
    """``p x0 + (1 - p) x1``."""
    return p * x0 + (1 - p) * x1
