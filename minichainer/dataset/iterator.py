from __future__ import annotations

from typing import Any


class Iterator:
    """Base class of iterators that yield mini-batches, each a list of examples.

    A subclass defines :meth:`__next__`, and for use in a trainer also the attributes ``epoch``,
    ``epoch_detail``, ``previous_epoch_detail`` and ``is_new_epoch``. An iterator is a context manager that
    calls :meth:`finalize` at exit.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> class Pairs(chainer.dataset.Iterator):
        ...     numbers = iter(range(5))
        ...     def __next__(self):
        ...         return [next(self.numbers), next(self.numbers)]
        >>> list(Pairs())
        [[0, 1], [2, 3]]

    """

    def __enter__(self) -> Iterator:
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        self.finalize()

    def __del__(self) -> None:
        self.finalize()

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> list[Any]:
        """Returns the next mini-batch; raises :class:`StopIteration` if there is none."""
        raise NotImplementedError(f'{type(self).__name__} must define __next__')

    def next(self) -> list[Any]:
        """The same as ``next(iterator)``."""
        return self.__next__()

    def finalize(self) -> None:
        """Releases threads, processes and files; may be called more than once."""

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the position.

        Args:
            serializer: a :class:`~minichainer.Serializer` to save, or a :class:`~minichainer.Deserializer` to
                restore.

        Args:
            serializer: a :class:`~minichainer.Serializer` to save, or a :class:`~minichainer.Deserializer` to
                restore.
        """
