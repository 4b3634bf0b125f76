from __future__ import annotations

import bisect
import itertools
import operator
from typing import Any

from minichainer.dataset._rows import at
from minichainer.dataset.dataset_mixin import DatasetMixin


class ConcatenatedDataset(DatasetMixin):
    """The concatenation of datasets.

    Args:
        datasets: Datasets; the examples of the first come first.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> chainer.datasets.ConcatenatedDataset(['a', 'b'], ['c'])[:]
        ['a', 'b', 'c']

    """

    def __init__(self, *datasets: Any) -> None:
        self._datasets = datasets
        self._ends = list(itertools.accumulate(len(d) for d in datasets))

    def __len__(self) -> int:
        """Returns the total number of examples."""
        return self._ends[-1] if self._ends else 0

    def get_example(self, i: int) -> Any:
        """Returns the ``i``-th example; raises :class:`IndexError` outside ``0 <= i < len(self)``."""
        i = operator.index(i)
        if not 0 <= i < len(self):
            raise IndexError(f'ConcatenatedDataset: index {i} is out of range for {len(self)} examples')
        which = bisect.bisect_right(self._ends, i)
        return at(self._datasets[which], i - (self._ends[which - 1] if which else 0))
