"""Selections of examples: ``None`` for all, a slice, or a list of integers that are not negative."""

from __future__ import annotations

import bisect
import operator
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy

Indices: TypeAlias = slice | list[int] | None


def read(index: Any, size: int) -> slice | list[int]:
    """What a user put into the brackets, as a selection from ``size`` examples."""
    if isinstance(index, slice):
        return index
    if isinstance(index, str) or not isinstance(index, Iterable):
        raise TypeError(
            f'TabularDataset.slice: examples are selected by a slice or a list of integers or booleans, '
            f'got {index!r}; dataset[i] is one example'
        )
    items = list(index)
    if items and all(isinstance(item, (bool, numpy.bool_)) for item in items):
        return _where(items, size)
    return [_position(item, size) for item in items]


def _where(mask: Sequence[Any], size: int) -> list[int]:
    if len(mask) != size:
        raise ValueError(
            'TabularDataset.slice: The number of booleans is different from the length of dataset: '
            f'{len(mask)} booleans, {size} examples'
        )
    return [i for i, chosen in enumerate(mask) if chosen]


def _position(item: Any, size: int) -> int:
    try:
        i = operator.index(item)
    except TypeError:
        raise TypeError(f'TabularDataset.slice: indices must be integers or booleans, got {item!r}') from None
    if not -size <= i < size:
        raise IndexError(f'TabularDataset.slice: index {i} is out of bounds for dataset with size {size}')
    return i + size if i < 0 else i


def count(indices: Indices, size: int) -> int:
    """The number of selected examples."""
    if isinstance(indices, slice):
        return len(range(*indices.indices(size)))
    return size if indices is None else len(indices)


def positions(indices: Indices, size: int) -> Sequence[int]:
    """The selected examples, one by one."""
    if isinstance(indices, list):
        return indices
    return range(*(indices or slice(None)).indices(size))


def compose(outer: Indices, inner: Indices, size: int) -> Indices:
    """The selection ``inner`` from the selection ``outer`` from ``size`` examples."""
    if outer is None or inner is None:
        return outer if inner is None else inner
    base = positions(outer, size)
    if isinstance(inner, slice):
        return as_slice(base[inner]) if isinstance(base, range) else list(base[inner])
    return [base[i] for i in inner]


def as_slice(run: range) -> slice:
    """The slice that selects a range of positions."""
    if not run:
        return slice(0, 0)
    return slice(run.start, run.stop if run.stop >= 0 else None, run.step)


def within(run: range, start: int, stop: int) -> range:
    """The part of a range between two positions, counted from the first of them."""
    rising = run if run.step > 0 else run[::-1]
    part = rising[bisect.bisect_left(rising, start) : bisect.bisect_left(rising, stop)]
    part = part if run.step > 0 else part[::-1]
    return range(part.start - start, part.stop - start, part.step)
