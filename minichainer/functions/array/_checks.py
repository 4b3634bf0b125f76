"""Checks of arrays that the functions of this folder share."""

from __future__ import annotations

from typing import Any

from minichainer.functions._checks import misfit
from minichainer.variable import Variable


def check_floats(x: Variable, op: str) -> None:
    """Raises InvalidType where ``x`` is no float array."""
    if x.dtype.kind != 'f':
        raise misfit(
            op, 'x.dtype of kind float', f'{x.dtype}; convert it first, for example by x.astype(numpy.float32)'
        )


def check_one_dtype(xs: list[Variable], op: str) -> None:
    """Raises InvalidType where there is no array, or dtypes differ."""
    if not xs:
        raise misfit(op, 'at least one array', 'none')
    for i, x in enumerate(xs):
        if x.dtype != xs[0].dtype:
            raise misfit(op, f'dtype {xs[0].dtype} of all arrays', f'{x.dtype} of array {i}')


def number_in(dtype: Any, value: Any, op: str) -> Any:
    """A number as one that fits a dtype: in an integer one it is cut off and wraps around, in every version of NumPy.

    Raises:
        ValueError: it is NaN, and the dtype has none.
        OverflowError: it has no 64 bits.
    """
    if dtype.kind == 'b':
        return bool(value)
    if dtype.kind not in 'iu':
        return value
    whole = int(value)
    if not -(1 << 63) <= whole < 1 << (64 if dtype.kind == 'u' else 63):
        raise OverflowError(f'{op}: a number of 64 bits expected for dtype {dtype}, got {value}')
    bits = 8 * dtype.itemsize
    wrapped = whole % (1 << bits)
    return wrapped - (1 << bits) if dtype.kind == 'i' and wrapped >> (bits - 1) else wrapped
