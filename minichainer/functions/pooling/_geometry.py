"""Checks of arguments that all poolings share, and their geometry."""

from __future__ import annotations

from typing import Any

from minichainer.functions._arguments import Arguments
from minichainer.kernels._windows import Geometry
from minichainer.utils.conv import get_conv_outsize, get_deconv_outsize
from minichainer.variable import Variable


class PoolingArguments(Arguments):
    """The checks that all poolings share."""

    def axes_of(self, x: Any, n: int) -> None:
        """Raises ValueError unless x has n spatial axes."""
        self.arrays(x=x)
        if x.ndim != n + 2:
            expected = f'x with {n + 2} axes (batch, channels, {n} spatial) expected'
            remedy = '; for one image write x[None]' if x.ndim == n + 1 else ''
            raise ValueError(f'{self.name}: {expected}, got x.shape = {x.shape}{remedy}')

    def images(self, x: Any) -> None:
        """Raises InvalidType unless x has four axes."""
        self.arrays(x=x)
        if x.ndim != 4:
            raise self.misfit('x with 4 axes', f'x.shape = {x.shape}')

    def windows(self, x: Variable, ksize: Any, stride: Any, pad: Any) -> tuple[Any, Any, Any]:
        """``ksize``, ``stride`` and ``pad`` with one int per spatial axis."""
        n = x.ndim - 2
        if n < 1:
            expected = 'x with at least one spatial axis (3 in all) expected'
            raise ValueError(f'{self.name}: {expected}, got x.shape = {x.shape}')
        if x.dtype.kind != 'f':
            raise self.misfit('x of a float dtype', f'{x.dtype}')
        ksize = self.per_axis(ksize, 'ksize', n)
        stride = ksize if stride is None else self.per_axis(stride, 'stride', n)
        return ksize, stride, self.per_axis(pad, 'pad', n, least=0)


def window_geometry(
    arguments: PoolingArguments, x: Variable, ksize: Any, stride: Any, pad: Any, cover_all: bool, empty: bool = False
) -> Geometry:
    """The windows of a pooling; checks the arguments.

    Raises:
        InvalidType: x has no elements and ``empty`` is False, or x is not a float array.
        ValueError: x has no axes of space, or an argument does not fit.
        TypeError: an argument is not an int, nor a sequence of ints.
        AssertionError: a window is larger than the padded x.
    """
    ksize, stride, pad = arguments.windows(x, ksize, stride, pad)
    if cover_all is not True and cover_all is not False:
        arguments.flag(cover_all, 'cover_all')
    if x.size == 0 and not empty:
        raise arguments.misfit('x.size > 0', f'x.shape = {x.shape}')
    size = x.shape[2:]
    axes = zip(size, ksize, stride, pad, strict=True)
    out = tuple([get_conv_outsize(i, k, s, p, bool(cover_all)) for i, k, s, p in axes])
    if any(o <= 0 for o in out):
        raise AssertionError(
            f'{arguments.name}: expected windows that fit into the padded input, got windows of size {ksize} and an '
            f'input of size {size} (padding {pad}): the output size would be {out}, and must be positive'
        )
    return Geometry(size, ksize, stride, pad, (1,) * len(size), out, cover_all=bool(cover_all))


def unpooling_geometry(
    arguments: PoolingArguments, x: Variable, ksize: Any, stride: Any, pad: Any, outsize: Any, cover_all: bool
) -> Geometry:
    """The windows of the pooling that an unpooling inverts; checks the arguments.

    Raises:
        InvalidType: x is not a float array, or its size is not what pooling an array of size ``outsize`` gives.
        ValueError: x has no axes of space, or an argument does not fit.
        TypeError: an argument is not an int, nor a sequence of ints.
        AssertionError: more than the result would be cut off.
    """
    ksize, stride, pad = arguments.windows(x, ksize, stride, pad)
    if cover_all is not True and cover_all is not False:
        arguments.flag(cover_all, 'cover_all')
    size, covers = x.shape[2:], bool(cover_all)
    windows = list(zip(ksize, stride, pad, strict=True))
    if outsize is None:
        axes = zip(size, windows, strict=True)
        out = tuple([get_deconv_outsize(i, *window, cover_all=covers) for i, window in axes])
    else:
        if not hasattr(outsize, '__len__'):
            raise arguments.wrong_type(f'tuple of {len(size)} ints', 'outsize', outsize)
        out = arguments.per_axis(outsize, 'outsize', len(size), least=0)
    if any(o < 0 for o in out):
        raise AssertionError(
            f'{arguments.name}: expected a smaller padding, got pad = {pad} for an '
            f'input of size {size} and windows of size {ksize}: the output size would be {out}, and must not be '
            'negative'
        )
    pooled = tuple([get_conv_outsize(o, *window, cover_all=covers) for o, window in zip(out, windows, strict=True)])
    if pooled != size:
        expected = f'x of size {pooled}, which pooling an array of size {out} gives'
        got = f'{size} (ksize {ksize}, stride {stride}, pad {pad}, cover_all {covers})'
        raise arguments.misfit(expected, got)
    return Geometry(out, ksize, stride, pad, (1,) * len(size), size, cover_all=covers)
