"""Checks of arguments that all convolutions share."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.functions._arguments import Arguments, wider
from minichainer.functions.array.conversion import as_dtype
from minichainer.variable import Variable


class ConvolutionArguments(Arguments):
    """The checks that all convolutions share.

    Args:
        label: what graphs call the op; errors name it.
        planar: it is for images alone, which Chainer checks otherwise than arrays of any number of axes.
    """

    def __init__(self, label: str, planar: bool = False) -> None:
        super().__init__(label)
        self.planar = planar

    def axes_of(self, x: Any, n: int) -> None:
        """Raises ValueError unless x has n spatial axes."""
        self.arrays(x=x)
        if x.ndim != n + 2:
            expected = f'x with {n + 2} axes (batch, channels, {n} spatial) expected'
            raise ValueError(f'{self.name}: {expected}, got x.shape = {x.shape}')

    def images(self, x: Variable, W: Variable) -> None:
        """Raises InvalidType if images and filters differ in number of axes, or are not float arrays."""
        shapes = f'shapes {x.shape} and {W.shape}'
        if self.planar and (x.ndim != 4 or W.ndim != 4):
            raise self.misfit('x and W with 4 axes', shapes + _one_image(x, W))
        if x.ndim != W.ndim or x.ndim < 2:
            raise self.misfit('x and W with the same number of axes, at least 2', shapes + _one_image(x, W))
        if x.dtype.kind != 'f' or W.dtype.kind != 'f':
            raise self.misfit('x and W of a float dtype', f'{x.dtype} and {W.dtype}')

    def groups(self, groups: Any) -> int:
        """The number of groups; TypeError unless it is an int, InvalidType if it is below 1."""
        number = self.integer(groups, 'groups')
        if number < 1:
            raise self.misfit('groups of at least 1', f'groups = {groups}')
        return number

    def channels(self, x: Variable, W: Variable, groups: int) -> None:
        """Raises an error if the input channels of images and filters differ, or are not divisible by ``groups``."""
        channels, filters = x.shape[1], len(W)
        shapes = f'(x.shape = {x.shape}, W.shape = {W.shape})'
        got = f'got groups = {groups}, {channels} input channels and {filters} filters {shapes}'
        if not self.planar and (channels % groups or filters % groups):
            raise TypeError(f'{self.name}: expected groups to divide the input channels and the filters, {got}')
        if channels != W.shape[1] * groups:
            expected = f'x.shape[1] == W.shape[1] * groups = {W.shape[1] * groups}'
            raise self.misfit(expected, f'{channels} {shapes}{_channels_last(x, W.shape[1] * groups)}')
        if filters % groups:
            raise ValueError(f'{self.name}: expected groups to divide the number of filters, {got}')

    def bias(self, x: Variable, W: Variable, b: Any, channels: int) -> None:
        """Raises InvalidType unless the bias has one number for each output channel."""
        if b is None:
            return
        if b.shape != (channels,):
            raise self.misfit(f'b.shape == ({channels},)', f'{b.shape}')
        if (self.planar and b.dtype != x.dtype) or b.dtype.kind != 'f':
            got = f'{b.dtype}; {wider(x, W)}' if b.dtype == W.dtype else f'{b.dtype}'
            raise self.misfit(f'b.dtype == x.dtype = {x.dtype}', got)


def same_dtype(arguments: Arguments, x: Variable, W: Variable, b: Any) -> tuple[Any, Any, Any]:
    """The arguments in the wider dtype of x and W, used for mixed dtypes."""
    if x.dtype == W.dtype and (b is None or b.dtype == x.dtype):
        return x, W, b
    arguments.warn_of_wider(x, W)
    dtype = numpy.promote_types(x.dtype, W.dtype)
    converted = [v if v is None or v.dtype == dtype else as_dtype(v, dtype) for v in (x, W, b)]
    return converted[0], converted[1], converted[2]


def _one_image(x: Variable, W: Variable) -> str:
    """What to write for an image without a batch axis."""
    return '; for one image write x[None]' if x.ndim == W.ndim - 1 else ''


def _channels_last(x: Variable, channels: int) -> str:
    """What to write for images whose last axis has the channels."""
    if x.ndim < 3 or x.shape[-1] != channels:
        return ''
    return f'; for channels in the last axis write x.transpose({(0, x.ndim - 1, *range(1, x.ndim - 1))})'
