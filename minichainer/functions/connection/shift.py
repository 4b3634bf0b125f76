"""Shifting the channels of images in different directions."""

from __future__ import annotations

from typing import Any

from minichainer.functions._arguments import Arguments
from minichainer.functions._define import linear_map
from minichainer.variable import Variable, as_variable

_arguments = Arguments('Shift', 'shift')
#: Channels (first, last + 1), and the shift of rows and columns.
Moves = tuple[tuple[int, int, int, int], ...]


@linear_map(lambda m, gy, moves: m.shifted(gy, _reversed(moves)), name='Shift', kinds='f')
def shifted(xp: Any, x: Any, moves: Moves) -> Any:
    """Shifted channels; zeros fill the border."""
    y = xp.zeros_like(x)
    for first, end, down, right in moves:
        (to_rows, from_rows), (to_columns, from_columns) = _overlap(x.shape[2], down), _overlap(x.shape[3], right)
        y[:, first:end, to_rows, to_columns] = x[:, first:end, from_rows, from_columns]
    return y


def _reversed(moves: Moves) -> Moves:
    return tuple([(first, end, -down, -right) for first, end, down, right in moves])


def _overlap(size: int, move: int) -> tuple[slice, slice]:
    """Slices of the target and the source when elements of an axis are shifted."""
    kept = max(size - abs(move), 0)
    there, here = max(move, 0), max(-move, 0)
    return slice(there, there + kept), slice(here, here + kept)


def shift(x: Any, ksize: Any = 3, dilate: Any = 1) -> Variable:
    r"""Shifts groups of channels in different directions, as a replacement for a spatial convolution.

    There are :math:`k_h k_w` groups of equal size, one for each place of a window; the centre comes last and takes
    the remaining channels.

    Args:
        x: images, Variable or float array (N, C, H, W).
        ksize: size of the window, an odd int or a pair of them.
        dilate: distance of the window's places in pixels, an int or a pair.

    Returns:
        Variable of the shape of ``x``; zeros come in at the borders.

    Raises:
        InvalidType: ``x`` is not a float array with four axes, or has fewer channels than the window has places.
        ValueError: ``ksize`` is even, or ``ksize`` or ``dilate`` is less than 1.
        TypeError: ``ksize`` or ``dilate`` is not an int.

    Source: `Shift: A Zero FLOP, Zero Parameter Alternative to Spatial Convolutions
    <https://arxiv.org/abs/1711.08141>`_.

    >>> import numpy as np, minichainer.functions as F
    >>> F.shift(np.array([[[[1., 2., 3.]], [[4., 5., 6.]], [[7., 8., 9.]]]]), (1, 3)).array[0, :, 0]
    array([[2., 3., 0.],
           [0., 4., 5.],
           [7., 8., 9.]])
    """
    x = as_variable(x)
    height, width = _arguments.per_axis(ksize, 'ksize', 2)
    dilate = _arguments.per_axis(dilate, 'dilate', 2)
    if height % 2 == 0 or width % 2 == 0:
        raise _arguments.wrong_value('odd ints', 'ksize', ksize)
    if x.dtype.kind != 'f':
        raise _arguments.misfit('x of a float dtype', f'{x.dtype}')
    if x.ndim != 4 or x.shape[1] < height * width:
        raise _arguments.misfit(f'x with 4 axes and at least {height * width} channels', f'x.shape = {x.shape}')
    y: Variable = shifted(x, _moves(x.shape[1], height, width, dilate))
    return y


def _moves(channels: int, height: int, width: int, dilate: tuple[int, ...]) -> Moves:
    """The shift of each group of channels; the centre comes last."""
    places = [(i, j) for i in range(height) for j in range(width)]
    middle = len(places) // 2
    places[middle], places[-1] = places[-1], places[middle]  # the centre comes last
    size = channels // len(places)
    ends = [*range(size, size * len(places), size), channels]
    moves = []
    for (i, j), first, end in zip(places, [0, *ends[:-1]], ends, strict=True):
        moves.append((first, end, (i - height // 2) * dilate[0], (j - width // 2) * dilate[1]))
    return tuple(moves)
