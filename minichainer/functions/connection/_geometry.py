"""Checks of the arguments that convolutions have in common."""

from __future__ import annotations

import operator
from typing import Any

import numpy

from minichainer.functions._checks import invalid
from minichainer.functions.array.conversion import as_dtype
from minichainer.utils.type_check import InvalidType
from minichainer.variable import Variable


def invalid_in(name: str, expected: str, actual: str) -> InvalidType:
    """The InvalidType of the op of this name."""
    return invalid(expected, actual, f'Invalid operation is performed in: {name} (Forward)')


def check_images(name: str, x: Variable, W: Variable, planar: bool) -> None:
    """Raises InvalidType where images and filters differ in their number of axes, or are no floats."""
    if planar and (x.ndim != 4 or W.ndim != 4):
        raise invalid_in(name, 'x and W with 4 axes', f'shapes {x.shape} and {W.shape}')
    if x.ndim != W.ndim or x.ndim < 2:
        raise invalid_in(name, 'x and W with the same number of axes, 2 at least', f'shapes {x.shape} and {W.shape}')
    if x.dtype.kind != 'f' or W.dtype.kind != 'f':
        raise invalid_in(name, 'x and W of a float dtype', f'{x.dtype} and {W.dtype}')


def checked_groups(name: str, groups: Any) -> int:
    """The number of groups as an int; TypeError where it is none, InvalidType where it is below 1."""
    try:
        number = operator.index(groups)
    except TypeError:
        raise TypeError(f'{name}: groups as an int expected, came {groups!r}') from None
    if number < 1:
        raise invalid_in(name, 'groups of at least 1', f'groups = {groups}')
    return number


def check_channels(name: str, x: Variable, W: Variable, groups: int, planar: bool) -> None:
    """Raises where the input channels of images and filters do not fit, or are not divided by ``groups``."""
    channels, filters = x.shape[1], len(W)
    shapes = f'(x.shape = {x.shape}, W.shape = {W.shape})'
    came = f'groups = {groups}, {channels} input channels and {filters} filters {shapes}'
    if not planar and (channels % groups or filters % groups):
        raise TypeError(f'{name}: groups that divides the input channels and the filters expected, came {came}')
    if channels != W.shape[1] * groups:
        expected = f'x.shape[1] == W.shape[1] * groups = {W.shape[1] * groups}'
        raise invalid_in(name, expected, f'{channels} (x.shape = {x.shape}, W.shape = {W.shape})')
    if filters % groups:
        raise ValueError(f'{name}: groups that divides the number of filters expected, came {came}')


def check_bias(name: str, x: Variable, b: Any, channels: int, planar: bool) -> None:
    """Raises InvalidType where a bias has not one number for each output channel."""
    if b is None:
        return
    if b.shape != (channels,):
        raise invalid_in(name, f'b.shape == ({channels},)', f'{b.shape}')
    if (planar and b.dtype != x.dtype) or b.dtype.kind != 'f':
        raise invalid_in(name, f'b.dtype == x.dtype = {x.dtype}', f'{b.dtype}')


def same_dtype(x: Variable, W: Variable, b: Any) -> tuple[Any, Any, Any]:
    """The arguments in the widest of the dtypes of x and W, in which mixed ones are computed."""
    if x.dtype == W.dtype and (b is None or b.dtype == x.dtype):
        return x, W, b
    dtype = numpy.promote_types(x.dtype, W.dtype)
    converted = [v if v is None or v.dtype == dtype else as_dtype(v, dtype) for v in (x, W, b)]
    return converted[0], converted[1], converted[2]
