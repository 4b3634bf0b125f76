"""Local response normalization across neighbouring channels."""

from __future__ import annotations

from typing import Any

from minichainer.kernels._dispatch import kernel


def sums(x: Any, n: int) -> Any:
    """Sums over each channel of an array (N, C, ...) and n // 2 channels on either side."""
    channels = x.shape[1]
    y = x.copy()
    for distance in range(1, min(n // 2 + 1, channels)):
        y[:, distance:] += x[:, : channels - distance]
        y[:, : channels - distance] += x[:, distance:]
    return y


@kernel(widens=True)
def normalize(xp: Any, x: Any, n: int, k: float, alpha: float, beta: float) -> Any:
    """``x / (k + alpha * s) ** beta``, where s is the sum of squares over neighbouring channels."""
    y = sums(x * x, n)
    y *= alpha
    y += k
    y **= -beta
    y *= x
    return y
