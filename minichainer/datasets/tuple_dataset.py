from __future__ import annotations

from typing import Any

from minichainer.backends._plain import plain
from minichainer.dataset._rows import at, is_framed


class TupleDataset:
    """Combines datasets of one length to a dataset of tuples.

    Args:
        datasets: Arrays, lists or datasets, at least one. The ``i``-th example is the tuple of their ``i``-th
            elements: rows of frames of pandas, polars or Arrow, whatever their index is.

    Raises:
        ValueError: No dataset is given, or lengths differ.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> chainer.datasets.TupleDataset([0.5, 1.5], ['a', 'b'])[1]
        (1.5, 'b')

    """

    _has_frames = False

    def __init__(self, *datasets: Any) -> None:
        if not datasets:
            raise ValueError('TupleDataset: expected at least one dataset')
        self._length = len(datasets[0])
        for i, dataset in enumerate(datasets):
            if len(dataset) != self._length:
                raise ValueError(
                    f'TupleDataset: dataset of the index {i} has a wrong length: '
                    f'{len(dataset)}, dataset 0 has {self._length}'
                )
        # The rows of a numpy.matrix would be matrices of one row.
        self._datasets = tuple([plain(dataset) for dataset in datasets])
        self._has_frames = any(map(is_framed, datasets))

    def __getitem__(self, index: Any) -> Any:
        """Returns the tuple of the examples at an index, or the list of such tuples for a slice."""
        if self._has_frames:
            columns = tuple(at(dataset, index) for dataset in self._datasets)
        else:
            columns = tuple(dataset[index] for dataset in self._datasets)
        return list(zip(*columns, strict=True)) if isinstance(index, slice) else columns

    def __len__(self) -> int:
        """Returns the number of examples."""
        return self._length
