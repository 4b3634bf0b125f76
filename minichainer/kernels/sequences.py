"""Many arrays put into one, and one divided into many."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from minichainer.kernels._dispatch import DECLINED, kernel
from minichainer.kernels.cuda import sequences as cuda


@kernel
def rows_of_sequences(xp: Any, xs: Sequence[Any], length: int, padding: Any) -> Any:
    """Sequences as rows, filled up at their ends.

    Args:
        xp: numpy or cupy.
        xs: arrays ``(lengths, ...)`` of one dtype.
        length: that of the rows.
        padding: the number that fills.

    Returns:
        Array ``(len(xs), length, ...)``.
    """
    rows = xp.full((len(xs), length, *xs[0].shape[1:]), padding, xs[0].dtype)
    for row, x in zip(rows, xs, strict=True):
        row[: len(x)] = x
    return rows


@rows_of_sequences.on('cuda', declines=True)
def _rows_of_sequences_cuda(xp: Any, xs: Sequence[Any], length: int, padding: Any) -> Any:
    if xs[0].dtype.kind == 'c':
        return DECLINED
    rows = xp.empty((len(xs), length, *xs[0].shape[1:]), xs[0].dtype)
    width = math.prod(xs[0].shape[1:])
    cuda.place(xs, rows, length * width, (width, width, length * width), padding)
    return rows


@kernel
def steps_of_sequences(xp: Any, xs: Sequence[Any], length: int) -> Any:
    """The elements of all sequences at each step, zeros after their ends.

    Args:
        xp: numpy or cupy.
        xs: arrays ``(lengths, ...)`` of one dtype.
        length: number of steps.

    Returns:
        Array ``(length, len(xs), ...)``.
    """
    steps = xp.empty((length, len(xs), *xs[0].shape[1:]), xs[0].dtype)
    for i, x in enumerate(xs):
        steps[: len(x), i] = x
        if len(x) < length:
            steps[len(x) :, i] = 0
    return steps


@steps_of_sequences.on('cuda', declines=True)
def _steps_of_sequences_cuda(xp: Any, xs: Sequence[Any], length: int) -> Any:
    if xs[0].dtype.kind == 'c':
        return DECLINED
    steps = xp.empty((length, len(xs), *xs[0].shape[1:]), xs[0].dtype)
    width = math.prod(xs[0].shape[1:])
    cuda.place(xs, steps, length * width, (width, len(xs) * width, width), 0)
    return steps


@kernel
def divided(xp: Any, x: Any, count: int) -> list[Any]:
    """Equal parts of an array along axis 0: views, and on a device arrays of their own, as gradients must be.

    Args:
        xp: numpy or cupy.
        x: array.
        count: number of parts, which divides its length.
    """
    size = len(x) // count
    return [x[k * size : (k + 1) * size] for k in range(count)]


@divided.on('cuda')
def _divided_cuda(xp: Any, x: Any, count: int) -> list[Any]:
    return cuda.divide(xp, x, count)


@kernel
def zeros_of(xp: Any, kinds: Sequence[tuple[Any, Any]]) -> list[Any]:
    """Arrays of zeros of given shapes and dtypes, which are only read: those of one kind are one array.

    On a device they are parts of one array for each dtype.

    Args:
        xp: numpy or cupy.
        kinds: shapes and dtypes.
    """
    zeros = {kind: xp.zeros(*kind) for kind in dict.fromkeys(kinds)}
    return [zeros[kind] for kind in kinds]


@zeros_of.on('cupy')
def _zeros_of_cupy(xp: Any, kinds: Sequence[tuple[Any, Any]]) -> list[Any]:
    found: list[Any] = [None] * len(kinds)
    for dtype in dict.fromkeys(dtype for _, dtype in kinds):
        places = [k for k, kind in enumerate(kinds) if kind[1] == dtype]
        sizes = [math.prod(kinds[k][0]) for k in places]
        zeros = xp.zeros(sum(sizes), dtype)
        for k, size, end in zip(places, sizes, itertools.accumulate(sizes), strict=True):
            found[k] = zeros[end - size : end].reshape(kinds[k][0])
    return found
