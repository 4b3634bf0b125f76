"""Checks of the arguments that poolings have in common, and their geometry."""

from __future__ import annotations

from typing import Any

from minichainer.functions._checks import invalid, positive_tuple
from minichainer.kernels._windows import Geometry
from minichainer.utils.conv import get_conv_outsize, get_deconv_outsize
from minichainer.variable import Variable


def check_axes(op: str, x: Any, n: int) -> None:
    """Raises ValueError where x has not n axes of space."""
    if x.ndim != n + 2:
        raise ValueError(
            f'{op}: x with {n + 2} axes (batch, channels, {n} of space) expected, came x.shape = {x.shape}'
        )


def window_geometry(
    name: str, x: Variable, ksize: Any, stride: Any, pad: Any, cover_all: bool, empty: bool = False
) -> Geometry:
    """The windows of a pooling, after its arguments have been checked.

    Raises:
        InvalidType: x has no elements and ``empty`` is False, or x is no float array.
        ValueError: x has no axes of space, or an argument does not fit.
        TypeError: an argument is no int, nor a sequence of ints.
        AssertionError: a window is larger than the padded x.
    """
    ksize, stride, pad = _window_arguments(name, x, ksize, stride, pad)
    if x.size == 0 and not empty:
        where = f'Invalid operation is performed in: {name} (Forward)'
        raise invalid('x.size > 0', f'x.shape = {x.shape}', where)
    size = x.shape[2:]
    axes = zip(size, ksize, stride, pad, strict=True)
    out = tuple([get_conv_outsize(i, k, s, p, bool(cover_all)) for i, k, s, p in axes])
    if any(o <= 0 for o in out):
        raise AssertionError(
            f'{name}: windows that fit into the padded input expected, came windows of size {ksize} and an input of '
            f'size {size} (padding {pad}): the output size would be {out}, and must be positive'
        )
    return Geometry(size, ksize, stride, pad, (1,) * len(size), out)


def unpooling_geometry(
    name: str, x: Variable, ksize: Any, stride: Any, pad: Any, outsize: Any, cover_all: bool
) -> Geometry:
    """The windows of the pooling that an unpooling reverses, after its arguments have been checked.

    Raises:
        InvalidType: x is no float array, or its size is not what pooling an array of size ``outsize`` gives.
        ValueError: x has no axes of space, or an argument does not fit.
        TypeError: an argument is no int, nor a sequence of ints.
        AssertionError: more than the result would be cut off.
    """
    ksize, stride, pad = _window_arguments(name, x, ksize, stride, pad)
    size, covers = x.shape[2:], bool(cover_all)
    windows = list(zip(ksize, stride, pad, strict=True))
    if outsize is None:
        axes = zip(size, windows, strict=True)
        out = tuple([get_deconv_outsize(i, *window, cover_all=covers) for i, window in axes])
    else:
        if not hasattr(outsize, '__len__'):
            raise TypeError(f'{name}: outsize as a tuple of {len(size)} ints expected, came {outsize!r}')
        out = positive_tuple(name, 'outsize', outsize, len(size), least=0)
    if any(o < 0 for o in out):
        raise AssertionError(
            f'{name}: a padding that does not cut off more than there is expected, came pad = {pad} for an input of '
            f'size {size} and windows of size {ksize}: the output size would be {out}, and must not be negative'
        )
    pooled = tuple([get_conv_outsize(o, *window, cover_all=covers) for o, window in zip(out, windows, strict=True)])
    if pooled != size:
        expected = f'x of size {pooled}, which pooling an array of size {out} gives'
        came = f'{size} (ksize {ksize}, stride {stride}, pad {pad}, cover_all {covers})'
        raise invalid(expected, came, f'Invalid operation is performed in: {name} (Forward)')
    return Geometry(out, ksize, stride, pad, (1,) * len(size), size)


def _window_arguments(name: str, x: Variable, ksize: Any, stride: Any, pad: Any) -> tuple[Any, Any, Any]:
    """``ksize``, ``stride`` and ``pad`` with one int per axis of space."""
    n = x.ndim - 2
    if n < 1:
        raise ValueError(f'{name}: x with at least one axis of space (3 in all) expected, came x.shape = {x.shape}')
    if x.dtype.kind != 'f':
        raise invalid('x of a float dtype', f'{x.dtype}', f'Invalid operation is performed in: {name} (Forward)')
    ksize = positive_tuple(name, 'ksize', ksize, n)
    stride = ksize if stride is None else positive_tuple(name, 'stride', stride, n)
    return ksize, stride, positive_tuple(name, 'pad', pad, n, least=0)
