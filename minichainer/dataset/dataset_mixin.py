from __future__ import annotations

from typing import Any

import numpy


class DatasetMixin:
    """Base class of datasets that compute one example at a time.

    A subclass defines ``__len__`` and :meth:`get_example`; indexing by an integer, a slice, a list or a
    one-dimensional integer array then works.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> class Squares(chainer.dataset.DatasetMixin):
        ...     def __len__(self):
        ...         return 4
        ...     def get_example(self, i):
        ...         return i * i
        >>> Squares()[1:]
        [1, 4, 9]

    """

    def __getitem__(self, index: Any) -> Any:
        """Returns the example for an integer, or a list of examples for a slice, list or array of integers."""
        if isinstance(index, slice):
            return [self.get_example(i) for i in range(*index.indices(len(self)))]
        if isinstance(index, list) or (isinstance(index, numpy.ndarray) and index.ndim > 0):
            return [self.get_example(i) for i in index]
        return self.get_example(index)

    def __len__(self) -> int:
        """Returns the number of examples."""
        raise NotImplementedError(f'{type(self).__name__} must define __len__')

    def get_example(self, i: Any) -> Any:
        """Returns the ``i``-th example; subclasses define it.

        Args:
            i: the index, from 0 to ``len(self) - 1``.
        """
        raise NotImplementedError(f'{type(self).__name__} must define get_example(i)')
