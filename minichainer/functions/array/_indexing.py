"""Normalizes the index of ``x[...]``."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.variable import Variable


def index_of(slices: Any, xp: Any, op: str) -> tuple[Any, ...]:
    """An index as a tuple in which ints, slices, None and Ellipsis are unchanged, and all else is an array.

    A list of ints or bools is one index array; any other list is a tuple of indices, as in Chainer and in NumPy
    before 1.23.

    Args:
        slices: the index.
        xp: array module of the indexed array.
        op: name of the function, for errors.

    Raises:
        TypeError: an index is a Variable.
    """
    if isinstance(slices, list) and not all(isinstance(entry, int) for entry in slices):
        slices = tuple(slices)
    if not isinstance(slices, tuple):
        slices = (slices,)
    return tuple([s if is_basic(s) else _as_array(s, xp, op) for s in slices])


def is_basic(index: Any) -> bool:
    """Whether an entry of an index cannot select an element twice."""
    return index is None or index is Ellipsis or type(index) is int or isinstance(index, (slice, numpy.integer))


def _as_array(index: Any, xp: Any, op: str) -> Any:
    if isinstance(index, Variable):
        raise TypeError(f'{op}: a Variable cannot be an index; use its array, x[i.array]')
    if isinstance(index, (list, tuple, range)):
        index = numpy.asarray(index) if len(index) else numpy.empty(0, int)
    return xp.asarray(index) if hasattr(index, 'dtype') else index
