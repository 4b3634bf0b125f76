"""Checks of arrays that the functions of this folder share."""

from __future__ import annotations

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
