from __future__ import annotations

from typing import Any

from minichainer.backends._plain import plain
from minichainer.dataset._rows import at, is_framed


class DictDataset:
    """Combines datasets of one length to a dataset of dicts.

    Args:
        datasets: Arrays, lists, datasets or frames of pandas, polars or Arrow by name, at least one.

    Raises:
        ValueError: No dataset is given, or lengths differ.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> chainer.datasets.DictDataset(x=[0.5, 1.5], t=['a', 'b'])[1]
        {'x': 1.5, 't': 'b'}

    """

    _has_frames = False

    def __init__(self, **datasets: Any) -> None:
        if not datasets:
            raise ValueError('DictDataset: expected at least one dataset')
        first = next(iter(datasets))
        self._length = len(datasets[first])
        for key, dataset in datasets.items():
            if len(dataset) != self._length:
                raise ValueError(
                    f'DictDataset: dataset length conflicts at "{key}": {len(dataset)}, "{first}" has {self._length}'
                )
        # The rows of a numpy.matrix would be matrices of one row.
        self._datasets = {key: plain(dataset) for key, dataset in datasets.items()}
        self._has_frames = any(map(is_framed, datasets.values()))

    def __getitem__(self, index: Any) -> Any:
        """Returns the dict of the examples at an index, or the list of such dicts for a slice."""
        if self._has_frames:
            columns = {key: at(dataset, index) for key, dataset in self._datasets.items()}
        else:
            columns = {key: dataset[index] for key, dataset in self._datasets.items()}
        if not isinstance(index, slice):
            return columns
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def __len__(self) -> int:
        """Returns the number of examples."""
        return self._length
