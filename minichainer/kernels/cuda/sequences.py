"""Many arrays put into one, and one divided into many: all of them are arguments of one launch.

T is their dtype.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from minichainer.backends import cuda

#: Arrays in one launch, whose arguments have 4096 bytes.
MOST = 100

#: Arguments of CuPy's ElementwiseKernel.
Source = tuple[str, str, str, str]


@functools.lru_cache(maxsize=128)
def place_source(count: int) -> Source:
    """Places of ``each`` elements for ``count`` arrays, filled up with ``padding``."""
    cases = [f'case {k}: if (j < x{k}.size()) value = x{k}[j]; break;' for k in range(count)]
    body = f"""ptrdiff_t k = i / each, j = i % each;
T value = padding;
switch (k) {{
{chr(10).join(cases)}
}}
y[j / width * along + (first + k) * across + j % width] = value;"""
    inputs = [f'raw T x{k}' for k in range(count)]
    inputs += ['T padding', *[f'int64 {name}' for name in ('each', 'width', 'along', 'across', 'first')]]
    return ', '.join(inputs), 'raw T y', body, f'place_{count}'


@functools.lru_cache(maxsize=128)
def divide_source(count: int) -> Source:
    """The parts of ``each`` elements of an array."""
    cases = '\n'.join(f'case {k}: y{k}[i % each] = x[i]; break;' for k in range(count))
    outputs = ', '.join(f'raw T y{k}' for k in range(count))
    return 'raw T x, int64 each', outputs, f'switch (i / each) {{\n{cases}\n}}', f'divide_{count}'


def place(xs: Sequence[Any], y: Any, each: int, strides: tuple[int, int, int], padding: Any) -> None:
    """Puts sequences into an array.

    Args:
        xs: arrays of y's dtype.
        y: C-contiguous array, which is filled.
        each: number of elements that every sequence gets.
        strides: the elements of a step, and how far apart in ``y`` two steps and two sequences are.
        padding: number after the end of a sequence.
    """
    numbers = padding, each, *strides
    for first in range(0, len(xs) if each else 0, MOST):
        flat = [x.reshape(-1) for x in xs[first : first + MOST]]
        cuda.elementwise(*place_source(len(flat)))(*flat, *numbers, first, y.reshape(-1), size=len(flat) * each)


def divide(xp: Any, x: Any, count: int) -> list[Any]:
    """Copies of ``count``, at most :data:`MOST`, equal parts of an array along axis 0.

    Args:
        xp: cupy.
        x: array.
        count: number of parts, which divides its length.
    """
    parts = [xp.empty((len(x) // count, *x.shape[1:]), x.dtype) for _ in range(count)]
    if x.size:
        flat = [part.reshape(-1) for part in parts]
        cuda.elementwise(*divide_source(count))(x.reshape(-1), parts[0].size, *flat, size=x.size)
    return parts
