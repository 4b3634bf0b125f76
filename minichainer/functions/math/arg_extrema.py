"""Indices of extrema; they have no gradient."""

from __future__ import annotations

from typing import Any

from minichainer.functions._arguments import Arguments
from minichainer.functions._define import primitive
from minichainer.variable import Variable, as_variable

_argmax, _argmin = Arguments('ArgMax', 'argmax'), Arguments('ArgMin', 'argmin')


@primitive(rule=(None,), name='ArgMax')
def place_of_maximum(xp: Any, x: Any, axis: int | None) -> Any:
    return x.argmax(axis=axis).astype('i')


@primitive(rule=(None,), name='ArgMin')
def place_of_minimum(xp: Any, x: Any, axis: int | None) -> Any:
    return x.argmin(axis=axis).astype('i')


def argmax(x: Any, axis: int | None = None) -> Variable:
    """Index of the maximum, the first one if there are several.

    Args:
        x: Variable or float array.
        axis: an int; None to look through the flattened array.

    Returns:
        Variable of dtype int32, without the axis; it has no gradient.

    Raises:
        InvalidType: ``x`` is not a float array, or the axis is out of range.
        TypeError: ``axis`` is something else.
        ValueError: nothing is there to look through.

    >>> import numpy as np, minichainer.functions as F
    >>> F.argmax(np.array([[1., 4.], [3., 2.]]), axis=1)
    variable([1, 0])
    """
    return place_of_maximum(*_searched(_argmax, x, axis))


def argmin(x: Any, axis: int | None = None) -> Variable:
    """Index of the minimum, the first one if there are several.

    Args:
        x: Variable or float array.
        axis: an int; None to look through the flattened array.

    Returns:
        Variable of dtype int32, without the axis; it has no gradient.

    Raises:
        InvalidType: ``x`` is not a float array, or the axis is out of range.
        TypeError: ``axis`` is something else.
        ValueError: nothing is there to look through.

    >>> import numpy as np, minichainer.functions as F
    >>> F.argmin(np.array([[1., 4.], [3., 2.]]), axis=1)
    variable([0, 1])
    """
    return place_of_minimum(*_searched(_argmin, x, axis))


def _searched(arguments: Arguments, x: Any, axis: Any) -> tuple[Variable, int | None]:
    """The array and the axis, after checking both."""
    x = as_variable(x)
    arguments.floats(x)
    axis = None if axis is None else arguments.axis(axis, x.shape)
    if not (x.size if axis is None else x.shape[axis]):
        raise ValueError(f'{arguments.name}: x is empty, of shape {x.shape}, axis = {axis}')
    return x, axis
