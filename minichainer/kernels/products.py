"""Sums of products over axes of several arrays; float16 is accumulated in float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minichainer.kernels._dispatch import kernel
from minichainer.kernels.weighing import weighed

#: Products of arrays of up to so many elements are summed at once: to plan them takes 15 microseconds.
_FEW = 256


@kernel(widens=True)
def einsum(xp: Any, *xs: Any, sources: Sequence[Any], target: Any) -> Any:
    """Einstein summation; axis labels are ints, and those of the result are distinct."""
    arguments: list[Any] = []
    for x, labels in zip(xs, sources, strict=True):
        arguments += [x, list(labels)]
    optimize = len(xs) > 1 and max([x.size for x in xs]) > _FEW
    y = xp.einsum(*arguments, list(target), optimize=optimize)
    is_view = getattr(y, 'base', None) is not None  # NumPy gives views of transposes and diagonals
    return xp.array(y) if is_view else xp.asarray(y)


@kernel(widens=True)
def tensordot(xp: Any, a: Any, b: Any, axes: Any) -> Any:
    """Sums of products over the axes in a pair of tuples."""
    return xp.tensordot(a, b, axes=axes)


@kernel(widens=True)
def along_axes(xp: Any, x: Any, matrices: Sequence[Any]) -> Any:
    """Multiplies each axis of an array by a matrix."""

    def weigh(x: Any, *matrices: Any) -> Any:
        for axis, matrix in enumerate(matrices):
            x = xp.moveaxis(xp.tensordot(xp.asarray(matrix, x.dtype), x, (1, axis)), 0, axis)
        return x

    return weighed(xp, weigh, x, *matrices)
