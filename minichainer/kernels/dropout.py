"""The factors by which dropout multiplies."""

from __future__ import annotations

from typing import Any

from minichainer.kernels._dispatch import kernel
from minichainer.kernels.cuda import activations as cuda


@kernel
def dropout_factors(xp: Any, drawn: Any, ratio: float, dtype: Any) -> Any:
    """0 where a uniform random number is below ``ratio``, else ``1 / (1 - ratio)``.

    Args:
        xp: numpy or cupy.
        drawn: random numbers, float64 array.
        ratio: share of elements that become 0.
        dtype: dtype of the factors.
    """
    return xp.asarray((drawn >= ratio) * dtype.type(1 / (1 - ratio)), dtype)


@dropout_factors.on('cuda')
def _dropout_factors_cuda(xp: Any, drawn: Any, ratio: float, dtype: Any) -> Any:
    return cuda.dropout_factors(drawn, ratio, xp.empty(drawn.shape, dtype))
