from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minichainer.dataset._rows import at
from minichainer.dataset.dataset_mixin import DatasetMixin


class TransformDataset(DatasetMixin):
    """A dataset that applies a function to examples when they are read.

    Args:
        dataset: Dataset, or a frame of pandas, polars or Arrow, whose rows the function gets.
        transform: Function from an example of ``dataset`` to an example.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> chainer.datasets.TransformDataset([1, 2, 3], lambda x: 10 * x)[1:]
        [20, 30]

    """

    def __init__(self, dataset: Any, transform: Callable[[Any], Any]) -> None:
        self._dataset = dataset
        self._transform = transform

    def __len__(self) -> int:
        """Returns the number of examples."""
        return len(self._dataset)

    def get_example(self, i: int) -> Any:
        """Returns ``transform(dataset[i])``."""
        return self._transform(at(self._dataset, i))
