"""from_data: a dataset of columns from arrays, lists and functions."""

from __future__ import annotations

import itertools
from typing import Any

from minichainer import backend
from minichainer.dataset._rows import at, is_framed
from minichainer.dataset.tabular import _indices
from minichainer.dataset.tabular.tabular_dataset import Columns, TabularDataset

_numbers = itertools.count()


def from_data(data: Any, *, size: int | None = None) -> TabularDataset:
    """Makes a :class:`~minichainer.dataset.TabularDataset` of arrays, lists and functions.

    Args:
        data: one of

            - a column: an array or a list. Its examples are its elements, and its key is made up.
            - ``(key, column)``, or ``(key, function)``: the function maps the index of an example to its element;
              ``((key, key, ...), function)``: it returns a tuple of an element for each key, or a dict.
            - a tuple of any of these: the examples are tuples.
            - a dict of columns and functions, by key or tuple of keys: the examples are dicts.
        size (int): number of examples; needed where all columns are functions.

    Returns:
        TabularDataset.

    Raises:
        ValueError: lengths differ, a key occurs twice, a function has no key, or the number of examples is unknown.
        TypeError: something that is neither a column nor a function.

    >>> import minichainer as chainer
    >>> squares = chainer.dataset.tabular.from_data({'x': [1, 2, 3], 'i2': lambda i: i * i})
    >>> squares[2]
    {'x': 3, 'i2': 4}
    """
    if isinstance(data, dict):
        return _joined([*data.items()], size).asdict()
    if isinstance(data, tuple) and not _is_pair(data):
        return _joined([item if _is_pair(item) else (None, item) for item in data], size).astuple()
    key, column = data if isinstance(data, tuple) else (None, data)
    return _one(key, column, _size([(key, column)], size))


def _is_pair(item: Any) -> bool:
    if not isinstance(item, tuple) or len(item) != 2:
        return False
    key = item[0]
    return isinstance(key, str) or (isinstance(key, tuple) and all(isinstance(part, str) for part in key))


def _joined(pairs: list[tuple[Any, Any]], size: int | None) -> TabularDataset:
    if not pairs:
        raise ValueError('from_data: expected at least one column')
    size = _size(pairs, size)
    first, *others = [_one(key, column, size) for key, column in pairs]
    return first.join(*others)


def _size(pairs: list[tuple[Any, Any]], size: int | None) -> int | None:
    """The number of examples, which all columns that have a length agree on."""
    sizes = {len(column) for _, column in pairs if _is_column(column)} | ({size} - {None})
    if len(sizes) > 1:
        raise ValueError(f'from_data: All datasets must have the same length, got {sorted(sizes)}')  # type: ignore[type-var]
    return next(iter(sizes), None)


def _is_column(data: Any) -> bool:
    return isinstance(data, (list, *backend.get_array_types())) or is_framed(data)


def _one(key: Any, data: Any, size: int | None) -> TabularDataset:
    if _is_column(data):
        return _column(key, data)
    if not callable(data):
        raise TypeError(
            f'from_data: expected an array, a list, a function, or (key, one of these), got {data!r} of {type(data)}'
        )
    if key is None:
        raise ValueError('from_data: key(s) must be specified for callable: pass (key, function)')
    if size is None:
        raise ValueError('from_data: size must be specified for callable: no column says how many examples there are')
    return _Index(size).transform(key, data)


def _column(key: Any, data: Any) -> TabularDataset:
    if isinstance(key, tuple):
        raise ValueError(f'from_data: a column has one key, got {key}; a function may have several')
    return _Column(f'_{next(_numbers)}' if key is None else key, data)


class _Column(TabularDataset):
    """An array, a list, or the rows of a frame."""

    def __init__(self, key: Any, data: Any) -> None:
        self._key = key
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    @property
    def keys(self) -> tuple[Any, ...]:
        return (self._key,)

    @property
    def mode(self) -> None:
        return None

    def get_examples(self, indices: Any, key_indices: Any) -> Columns:
        column = self._data
        if is_framed(column):
            column = at(column, slice(None) if indices is None else indices)
        elif isinstance(indices, slice) or (indices is not None and not isinstance(column, list)):
            column = column[indices]
        elif indices is not None:
            column = [column[i] for i in indices]
        return tuple(column for _ in ((0,) if key_indices is None else key_indices))


class _Index(TabularDataset):
    """The numbers of the examples."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size

    @property
    def keys(self) -> tuple[Any, ...]:
        return ('index',)

    @property
    def mode(self) -> None:
        return None

    def get_examples(self, indices: Any, key_indices: Any) -> Columns:
        numbers = range(self._size)
        if isinstance(indices, list):
            return ([numbers[i] for i in indices],)
        return (_indices.positions(indices, self._size),)
