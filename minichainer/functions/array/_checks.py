"""Checks that the functions of this folder share."""

from __future__ import annotations

from typing import Any

from minichainer.functions._checks import invalid
from minichainer.utils.type_check import InvalidType
from minichainer.variable import Variable


def misfit(op: str, expected: str, actual: str) -> InvalidType:
    """The InvalidType of an op, by the name of its node."""
    return invalid(expected, actual, f'Invalid operation is performed in: {op} (Forward)')


def checked_axis(axis: Any, ndim: int, op: str, name: str = 'axis') -> int:
    """One axis as a non-negative int.

    Raises:
        TypeError: it is no int.
        InvalidType: it is out of range.
    """
    if not isinstance(axis, int):
        raise TypeError(f'{op}: int expected as {name}, came {axis!r}')
    if not -ndim <= axis < ndim:
        raise misfit(op, f'-{ndim} <= {name} < {ndim}', f'{name} = {axis}')
    return axis % ndim


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
