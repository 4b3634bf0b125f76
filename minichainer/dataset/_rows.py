"""Examples by position, of frames too, whose brackets take labels or columns."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy


def at(dataset: Any, index: Any) -> Any:
    """The example of a dataset at a position: ``dataset[index]``, unless the brackets take something else.

    What has ``iloc``, as the frames and series of pandas, gives ``dataset.iloc[index]``. Tables of polars and Arrow
    give a row as an array, their columns an element with the dtype of the column.

    Args:
        dataset: any dataset.
        index: an integer; or a slice, list or array of them, for which frames give the list of the examples.

    Raises:
        IndexError: the position is not in a frame.
        TypeError: a row of a table of polars or Arrow is not of numbers.
    """
    row = _reader(dataset)
    if row is None:
        return dataset[index]
    size = len(dataset)
    if isinstance(index, (slice, list)) or getattr(index, 'ndim', 0) > 0:
        return [row(dataset, i) for i in numpy.arange(size)[index].tolist()]
    position = operator.index(index)
    if not -size <= position < size:
        raise IndexError(f'{type(dataset).__name__}: there is no row {position}, the length is {size}')
    return row(dataset, position % size)


def is_framed(dataset: Any) -> bool:
    """Whether the examples of a dataset are not ``dataset[i]``, but what :func:`at` gives."""
    return _reader(dataset) is not None


def _of_pandas(data: Any, i: int) -> Any:
    """A row as a series, whose elements have names; an element of a series."""
    return data.iloc[i]


def _of_polars(frame: Any, i: int) -> Any:
    # By columns, because polars converts frames in threads, which do not exist in forked processes.
    return _row(frame, [_of_polars_column(column, i) for column in frame.get_columns()], 'frame.to_dicts()')


def _of_arrow(table: Any, i: int) -> Any:
    return _row(table, [_of_arrow_column(column, i) for column in table.columns], 'table.to_pylist()')


def _of_polars_column(column: Any, i: int) -> Any:
    return column.slice(i, 1).to_numpy()[0]


def _of_arrow_column(column: Any, i: int) -> Any:
    return numpy.asarray(column.slice(i, 1))[0]


def _row(table: Any, entries: list[Any], dicts: str) -> Any:
    """The entries of a row as one array, if they are numbers."""
    if all(getattr(entry, 'dtype', numpy.dtype(object)).kind in 'biuf' for entry in entries):
        return numpy.asarray(entries)
    raise TypeError(
        f'{type(table).__name__} as a dataset: a row must be of numbers, got {", ".join(map(repr, entries[:4]))}; '
        f'select the columns of numbers, or pass {dicts}, whose examples are dicts'
    )


#: By library and class, because these classes have nothing of their own in common that tells them from datasets.
_ROWS: dict[tuple[str, str], Callable[[Any, int], Any]] = {
    ('polars', 'DataFrame'): _of_polars,
    ('polars', 'Series'): _of_polars_column,
    ('pyarrow', 'Table'): _of_arrow,
    ('pyarrow', 'RecordBatch'): _of_arrow,
    ('pyarrow', 'Array'): _of_arrow_column,
    ('pyarrow', 'ChunkedArray'): _of_arrow_column,
}


def _reader(dataset: Any) -> Callable[[Any, int], Any] | None:
    kind: Any = type(dataset)
    return _row_of(kind)


@functools.lru_cache(maxsize=256)
def _row_of(kind: Any) -> Callable[[Any, int], Any] | None:
    """How a class gives the example at a position; None if by its brackets.

    Looks at the class, because a dataset that wraps a frame may pass on attributes that it does not have.
    """
    if hasattr(kind, 'iloc'):
        return _of_pandas
    bases = ((base.__module__.partition('.')[0], base.__name__) for base in kind.__mro__)
    return next((_ROWS[base] for base in bases if base in _ROWS), None)
