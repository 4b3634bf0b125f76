"""Checks of the arguments that poolings have in common, and their geometry."""

from __future__ import annotations

from typing import Any

from minichainer.functions._checks import invalid
from minichainer.kernels._windows import Geometry
from minichainer.utils.conv import get_conv_outsize
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
        AssertionError: a window is larger than the padded x.
    """
    n = x.ndim - 2
    if n < 1:
        raise ValueError(f'{name}: x with at least one axis of space (3 in all) expected, came x.shape = {x.shape}')
    where = f'Invalid operation is performed in: {name} (Forward)'
    if x.dtype.kind != 'f':
        raise invalid('x of a float dtype', f'{x.dtype}', where)
    if x.size == 0 and not empty:
        raise invalid('x.size > 0', f'x.shape = {x.shape}', where)
    ksize = _numbers(name, 'ksize', ksize, n)
    stride = ksize if stride is None else _numbers(name, 'stride', stride, n)
    pad = _numbers(name, 'pad', pad, n, least=0)
    size = x.shape[2:]
    axes = zip(size, ksize, stride, pad, strict=True)
    out = tuple([get_conv_outsize(i, k, s, p, bool(cover_all)) for i, k, s, p in axes])
    if any(o <= 0 for o in out):
        raise AssertionError(
            f'{name}: windows that fit into the padded input expected, came windows of size {ksize} and an input of '
            f'size {size} (padding {pad}): the output size would be {out}, and must be positive'
        )
    return Geometry(size, ksize, stride, pad, (1,) * n, out)


def _numbers(name: str, what: str, value: Any, n: int, least: int = 1) -> tuple[int, ...]:
    values = tuple(value) if hasattr(value, '__len__') else (value,) * n
    if len(values) != n:
        raise ValueError(f'{name}: {what} as an int or {n} ints expected, came {value}')
    if any(v < least for v in values):
        raise ValueError(f'{name}: {what} of at least {least} expected, came {value}')
    return tuple([int(v) for v in values])
