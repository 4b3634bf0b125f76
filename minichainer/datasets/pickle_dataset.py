"""Datasets in a file of pickled examples."""

from __future__ import annotations

import functools
import io
import os
import pickle
from typing import IO, Any

from minichainer._locks import lock_of
from minichainer.dataset.dataset_mixin import DatasetMixin
from minichainer.datasets._files import ReopenedFile


class PickleDatasetWriter:
    """Writes examples for a :class:`PickleDataset`.

    Args:
        writer: binary file to write to.
        protocol (int): version of the pickle format.

    Raises:
        TypeError: ``writer`` is not a file.
        ValueError: there is no such protocol.

    >>> import io, minichainer as chainer
    >>> file = io.BytesIO()
    >>> chainer.datasets.PickleDatasetWriter(file).write({'x': 1})
    >>> chainer.datasets.PickleDataset(file)[0]
    {'x': 1}
    """

    def __init__(self, writer: IO[bytes], protocol: int = pickle.HIGHEST_PROTOCOL) -> None:
        if not hasattr(writer, 'write'):
            raise TypeError(
                f'PickleDatasetWriter: writer must be a file, got {writer!r}; open_pickle_dataset_writer takes a path'
            )
        _check_protocol(protocol)
        self._writer = writer
        self._protocol = protocol
        self._lock = lock_of(self, '_lock')

    def __enter__(self) -> PickleDatasetWriter:
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        self.close()

    def write(self, x: Any) -> None:
        """Adds an example. Nothing is written if it cannot be pickled.

        Args:
            x: the example, an object that :mod:`pickle` can write.
        """
        content = pickle.dumps(x, self._protocol)
        with self._lock:
            self._writer.write(content)

    def flush(self) -> None:
        """Makes sure that others can read all examples."""
        with self._lock:
            self._writer.flush()

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._writer.close()


class PickleDataset(DatasetMixin):
    """A dataset of the examples that a :class:`PickleDatasetWriter` has written. They stay in the file.

    As any pickle, such a file can run code; open only files that you trust.

    Args:
        reader: binary file to read from, which can be positioned.

    Raises:
        ValueError: ``reader`` cannot be positioned.
        pickle.UnpicklingError: the file is broken; the message says at which example.

    >>> import io, minichainer as chainer
    >>> file = io.BytesIO()
    >>> chainer.datasets.PickleDatasetWriter(file).write({'x': 1})
    >>> len(chainer.datasets.PickleDataset(file))
    1
    """

    def __init__(self, reader: IO[bytes] | ReopenedFile[IO[bytes]]) -> None:
        self._reader = reader
        self._lock = lock_of(self, '_lock')
        self._positions = _positions(_random_access(self._opened()))

    def __enter__(self) -> PickleDataset:
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        self.close()

    def __len__(self) -> int:
        """Returns the number of examples."""
        return len(self._positions)

    def get_example(self, index: int) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Returns an example.

        Args:
            index: the position of the example.
        """
        position = self._positions[index]
        with self._lock:
            reader = self._opened()
            reader.seek(position)
            return pickle.load(reader)

    def close(self) -> None:
        """Closes the file."""
        self._reader.close()

    def _opened(self) -> IO[bytes]:
        reader = self._reader
        return reader.get() if isinstance(reader, ReopenedFile) else reader

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != '_lock'}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = lock_of(self, '_lock')


def _random_access(reader: IO[bytes]) -> IO[bytes]:
    if not hasattr(reader, 'seekable'):
        raise TypeError(f'PickleDataset: reader must be a file, got {reader!r}; open_pickle_dataset takes a path')
    if not reader.seekable():
        raise ValueError(f'PickleDataset: reader must support random access, got {reader!r}')
    return reader


def _positions(reader: IO[bytes]) -> list[int]:
    """Where the examples begin."""
    end = reader.seek(0, io.SEEK_END)
    position = reader.seek(0)
    found: list[int] = []
    while position < end:
        try:
            pickle.load(reader)
        except (EOFError, pickle.UnpicklingError) as error:
            name = getattr(reader, 'name', reader)
            raise pickle.UnpicklingError(
                f'PickleDataset: {name} is broken at example {len(found)}, byte {position} of {end}: {error}'
            ) from error
        found.append(position)
        position = reader.tell()
    return found


def open_pickle_dataset(path: str | os.PathLike[str]) -> PickleDataset:
    """Opens a file of pickled examples. The dataset can be pickled, and used after a fork.

    Args:
        path (str): path of the file.

    Returns:
        :class:`PickleDataset`, which is also a context manager.

    Raises:
        OSError: the file cannot be opened.

    >>> import os, tempfile, minichainer as chainer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, 'numbers.pickle')
    ...     with chainer.datasets.open_pickle_dataset_writer(path) as writer:
    ...         writer.write(1.5)
    ...     with chainer.datasets.open_pickle_dataset(path) as dataset:
    ...         dataset[0]
    1.5
    """
    reader: ReopenedFile[Any] = ReopenedFile(functools.partial(open, path, 'rb'))
    try:
        return PickleDataset(reader)
    except BaseException:
        reader.close()
        raise


def open_pickle_dataset_writer(
    path: str | os.PathLike[str], protocol: int = pickle.HIGHEST_PROTOCOL
) -> PickleDatasetWriter:
    """Opens a file for writing examples; one that exists is overwritten.

    Args:
        path (str): path of the file.
        protocol (int): version of the pickle format.

    Returns:
        :class:`PickleDatasetWriter`, which is also a context manager.

    Raises:
        OSError: the file cannot be written.

    >>> import os, tempfile, minichainer as chainer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with chainer.datasets.open_pickle_dataset_writer(os.path.join(folder, 'numbers.pickle')) as writer:
    ...         writer.write(1.5)
    """
    _check_protocol(protocol)
    return PickleDatasetWriter(open(path, 'wb'), protocol)


def _check_protocol(protocol: int) -> None:
    highest = pickle.HIGHEST_PROTOCOL
    if protocol > highest:
        raise ValueError(f'PickleDatasetWriter: pickle protocol must be <= {highest}, got {protocol}')
