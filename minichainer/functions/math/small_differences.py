"""Differences of nearly equal terms, computed without cancellation: divergences are sums of these."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.functions._define import elementwise
from minichainer.kernels import small_differences as kernels


@elementwise(lambda m, gy, x: gy * m.expm1(x))
def expm1_excess(xp: Any, x: Any) -> Any:
    """exp(x) - 1 - x, not negative."""
    return kernels.expm1_excess(xp, x)


@elementwise(lambda m, gy, p: gy / p, lambda m, gy, q: -gy / q)
def log_ratio(xp: Any, p: Any, q: Any) -> Any:
    """log(p / q), precise where the numbers are nearly equal, and where their ratio is out of range."""
    with numpy.errstate(all='ignore'):
        return kernels.log_of_ratio(xp, p, q, p - q)


@elementwise(lambda m, gy, p, q: gy * ((p - q) / q / p), lambda m, gy, p, q: gy * ((q - p) / q / q))
def ratio_deficit(xp: Any, p: Any, q: Any) -> Any:
    """p / q - 1 - log(p / q), not negative."""
    with numpy.errstate(all='ignore'):
        return kernels.ratio_deficit(xp, p, q)


@elementwise(lambda m, gy, p, q: gy * m.log_ratio(p, q), lambda m, gy, p, q: gy * ((q - p) / q))
def relative_entropy(xp: Any, p: Any, q: Any) -> Any:
    """p log(p / q) - p + q, not negative; q where p is 0."""
    with numpy.errstate(all='ignore'):
        return kernels.entropy_of_ratio(xp, p, q, q - p)
