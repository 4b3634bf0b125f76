"""Checks of arguments that all convolutions share."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.functions._arguments import Arguments, as_floats, wider
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

    def images(self, x: Variable, W: Variable, is_transposed: bool = False) -> None:
        """Raises InvalidType if images and filters differ in number of axes, or are not float arrays.

        Args:
            x: images.
            W: filters.
            is_transposed: the first axis of the filters, and not the second one, is that of the input channels.
        """
        shapes = f'shapes {x.shape} and {W.shape}{_one_image(x, W, is_transposed)}'
        if self.planar and (x.ndim != 4 or W.ndim != 4):
            raise self.misfit('x and W with 4 axes', shapes)
        if x.ndim != W.ndim or x.ndim < 2:
            raise self.misfit('x and W with the same number of axes, at least 2', shapes)
        if x.dtype.kind != 'f' or W.dtype.kind != 'f':
            raise self.misfit('x and W of a float dtype', f'{x.dtype} and {W.dtype}{as_floats(x, W)}')

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


def _one_image(x: Variable, W: Variable, is_transposed: bool) -> str:
    """What to write for an image without a batch axis, if the filters are for its channels."""
    if x.ndim != W.ndim - 1 or not x.ndim or not _fit(x.shape[0], W, is_transposed):
        return ''
    return '; for one image write x[None]'


def _fit(channels: int, W: Variable, is_transposed: bool) -> bool:
    """Whether filters can be applied to images with so many channels, in some number of groups."""
    if is_transposed:
        return channels == len(W)
    return channels > 0 and W.shape[1] > 0 and channels % W.shape[1] == 0


def _channels_last(x: Variable, channels: int) -> str:
    """What to write for images whose last axis has the channels."""
    if x.ndim < 3 or x.shape[-1] != channels:
        return ''
    return f'; for channels in the last axis write x.transpose({(0, x.ndim - 1, *range(1, x.ndim - 1))})'
