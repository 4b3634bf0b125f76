"""Normalizes the index of ``x[...]``."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.backends import cuda
from minichainer.configuration import config
from minichainer.errors import EllipsisError, IndexTypeError
from minichainer.functions._arguments import Arguments
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
        EllipsisError: there is more than one Ellipsis.
    """
    if isinstance(slices, list) and not all(isinstance(entry, int) for entry in slices):
        slices = tuple(slices)
    if not isinstance(slices, tuple):
        slices = (slices,)
    if len(slices) > 1 and sum([s is Ellipsis for s in slices]) > 1:
        raise EllipsisError(f"{op}: an index can only have a single ellipsis ('...')")
    return tuple([s if is_basic(s) else _as_array(s, xp, op) for s in slices])


def is_basic(index: Any) -> bool:
    """Whether an entry of an index cannot select an element twice."""
    return index is None or index is Ellipsis or type(index) is int or isinstance(index, (slice, numpy.integer))


def axes_taken(index: Any) -> int:
    """How many axes an entry of an index consumes."""
    if index is None or index is Ellipsis:
        return 0
    is_mask = getattr(index, 'dtype', None) == numpy.bool_
    return index.ndim if is_mask else 1


def check_bounds(arguments: Arguments, index: tuple[Any, ...], x: Variable) -> None:
    """In debug mode, raises IndexError for an index array on a device that leaves its axis; there it would wrap.

    Args:
        arguments: the names of the op.
        index: returned by :func:`index_of`, of no more entries than ``x`` has axes.
        x: the indexed Variable.
    """
    if not (isinstance(x._data, cuda.ndarray) and config.debug):
        return
    axis = 0
    for entry in index:
        if entry is Ellipsis:
            axis = x.ndim - sum(map(axes_taken, index)) + axis
        elif getattr(getattr(entry, 'dtype', None), 'kind', '') in 'iu' and not is_basic(entry):
            size = x.shape[axis]
            arguments.in_range(f'indices of axis {axis}', entry, -size, size, f' for x of shape {x.shape}')
        axis += axes_taken(entry)


def _as_array(index: Any, xp: Any, op: str) -> Any:
    if isinstance(index, Variable):
        raise IndexTypeError(f'{op}: a Variable cannot be an index; use its array, x[i.array]')
    if isinstance(index, (list, tuple, range)):
        index = numpy.asarray(index)
        if not index.size:
            index = index.astype(int)  # NumPy makes floats of lists without elements
    return xp.asarray(index) if hasattr(index, 'dtype') else index
