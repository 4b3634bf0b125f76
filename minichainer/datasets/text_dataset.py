"""Datasets of lines of text files."""

from __future__ import annotations

import functools
import io
import operator
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from minichainer._locks import lock_of
from minichainer.dataset.dataset_mixin import DatasetMixin
from minichainer.datasets._files import ReopenedFile

Path: TypeAlias = str | os.PathLike[str]
Option: TypeAlias = str | Sequence[str | None] | None


class TextDataset(DatasetMixin):
    r"""A dataset of the lines of a text file, or of the lines of several files side by side.

    The lines stay in the files. The dataset can be pickled, and used after a fork.

    Args:
        paths: path of a file, whose lines are the examples, or list of paths. The examples of several files are
            tuples of a line of each; all have the same number of lines.
        encoding (str): encoding of the files, as in :func:`open`; may be a list of one per file.
        errors (str): what to do with bytes that are not text, as in :func:`open`; may be a list.
        newline (str): what ends a line, as in :func:`open`; may be a list.
        filter_func: function of a line of each file that says whether to keep the example.

    Raises:
        ValueError: no path is given, the files have different numbers of lines, or a list of options has another
            length than the list of paths.
        UnicodeDecodeError: a file has another encoding.

    >>> import pathlib, tempfile, minichainer as chainer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, 'text.txt')
    ...     _ = path.write_text('one\ntwo\n\nthree')
    ...     dataset = chainer.datasets.TextDataset(path, filter_func=str.strip)
    ...     dataset[:]
    ['one\n', 'two\n', 'three']
    >>> dataset.close()
    """

    def __init__(
        self,
        paths: Path | Sequence[Path],
        encoding: Option = None,
        errors: Option = None,
        newline: Option = None,
        filter_func: Callable[..., Any] | None = None,
    ) -> None:
        paths = [paths] if isinstance(paths, (str, os.PathLike)) else paths
        if not isinstance(paths, (list, tuple)):
            raise TypeError(f'TextDataset: paths must be a path or a list of paths, got {paths!r}')
        if not paths:
            raise ValueError('TextDataset: at least one text file must be specified')
        if filter_func is not None and not callable(filter_func):
            raise TypeError(f'TextDataset: filter_func must be a function, got {filter_func!r}')
        options = [_of_each(option, len(paths)) for option in (encoding, errors, newline)]
        self._files = [_open(path, *of_path) for path, *of_path in zip(paths, *options, strict=True)]
        self._lock = lock_of(self, '_lock')
        try:
            self._positions = self._find_lines(filter_func)
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        """Returns the number of examples."""
        return len(self._positions)

    def get_example(self, idx: int) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Returns a line with its end, or a tuple of lines.

        Args:
            idx: the number of the line.
        """
        idx = operator.index(idx)
        if not 0 <= idx < len(self):
            raise IndexError(f'TextDataset: index {idx} is out of range for {len(self)} examples')
        with self._lock:
            lines = [self._line(k, position) for k, position in enumerate(self._positions[idx])]
        return tuple(lines) if len(lines) > 1 else lines[0]

    def close(self) -> None:
        """Closes the files."""
        for file in self._files:
            file.close()

    def _line(self, k: int, position: int) -> str:
        file = self._files[k].get()
        file.seek(position)
        return file.readline()

    def _find_lines(self, filter_func: Callable[..., Any] | None) -> list[tuple[int, ...]]:
        """Positions of the lines of each example."""
        files = [file.get() for file in self._files]
        found = []
        while True:
            positions = tuple(file.tell() for file in files)
            lines = [_read_line(file) for file in files]
            if not all(lines):
                break
            if filter_func is None or filter_func(*lines):
                found.append(positions)
        if any(lines):
            longer = files[next(k for k, line in enumerate(lines) if line)].name
            shorter = files[lines.index('')].name
            raise ValueError(
                f'TextDataset: number of lines in files does not match: {longer} has more lines than {shorter}'
            )
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != '_lock'}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = lock_of(self, '_lock')


def _of_each(option: Option, n: int) -> list[str | None]:
    if option is None or isinstance(option, str):
        return [option] * n
    if len(option) != n:
        raise ValueError(
            f'TextDataset: length of each option must match with the number of text files to read: '
            f'{list(option)} for {n} files'
        )
    return list(option)


def _open(
    path: Path, encoding: str | None, errors: str | None, newline: str | None
) -> ReopenedFile[io.TextIOWrapper]:
    opener = functools.partial(io.open, path, encoding=encoding, errors=errors, newline=newline)
    return ReopenedFile(opener)


def _read_line(file: io.TextIOWrapper) -> str:
    try:
        return file.readline()
    except UnicodeDecodeError as error:
        reason = f'{error.reason}; in file {file.name}, encoding= of TextDataset says how to read it'
        raise UnicodeDecodeError(error.encoding, error.object, error.start, error.end, reason) from error
