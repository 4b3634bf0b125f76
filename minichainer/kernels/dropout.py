"""The factors by which dropout multiplies, and their product."""

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


@kernel
def dropout(xp: Any, x: Any, drawn: Any, ratio: float, mask: Any) -> Any:
    """``x`` times the factors of dropout, which are written to ``mask``.

    Args:
        xp: numpy or cupy.
        x: float array.
        drawn: as for :func:`dropout_factors`.
        ratio: share of elements that become 0.
        mask: array of x's shape and dtype; filled.
    """
    xp.multiply(drawn >= ratio, x.dtype.type(1 / (1 - ratio)), out=mask)
    return x * mask


@dropout.on('cuda')
def _dropout_cuda(xp: Any, x: Any, drawn: Any, ratio: float, mask: Any) -> Any:
    return cuda.dropout(x, drawn, ratio, mask, xp.empty(x.shape, x.dtype))[1]
