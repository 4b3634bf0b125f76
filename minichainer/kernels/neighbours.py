"""Local response normalization across neighbouring channels: arrays in, arrays out."""

from __future__ import annotations

from typing import Any

from minichainer.kernels._dispatch import kernel


def sums(x: Any, n: int) -> Any:
    """Sums over each channel of an array (N, C, ...) and the n // 2 ones on either side of it."""
    channels = x.shape[1]
    y = x.copy()
    for distance in range(1, min(n // 2 + 1, channels)):
        y[:, distance:] += x[:, : channels - distance]
        y[:, : channels - distance] += x[:, distance:]
    return y


@kernel(widens=True)
def normalize(xp: Any, x: Any, n: int, k: float, alpha: float, beta: float) -> Any:
    """Each element over a power of the sum of squares of its neighbours, times alpha, plus k."""
    y = sums(x * x, n)
    y *= alpha
    y += k
    y **= -beta
    y *= x
    return y
