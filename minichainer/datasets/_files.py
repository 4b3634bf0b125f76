"""Files that a dataset reads from in any process."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar


class _Closable(Protocol):
    def close(self) -> Any: ...


T = TypeVar('T', bound=_Closable)


class ReopenedFile(Generic[T]):
    """An open file that is opened again in other processes, which would share its position otherwise.

    Args:
        opener: function without arguments that opens the file; to be pickled with the dataset.
    """

    def __init__(self, opener: Callable[[], T]) -> None:
        self._opener = opener
        self._file = opener()
        self._pid = os.getpid()
        self._closed = False

    def get(self) -> T:
        """The file of this process."""
        if self._pid != os.getpid() and not self._closed:
            self._file.close()
            self._file = self._opener()
            self._pid = os.getpid()
        return self._file

    def close(self) -> None:
        """Closes the file for good."""
        self._closed = True
        self._file.close()

    def __getstate__(self) -> dict[str, Any]:
        return {'opener': self._opener, 'closed': self._closed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        ReopenedFile.__init__(self, state['opener'])
        if state['closed']:
            self.close()

    def __del__(self) -> None:
        if hasattr(self, '_file'):
            self._file.close()
