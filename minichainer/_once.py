"""Work that must happen once even with several threads, such as making the arrays of a parameter."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Any


class _Turn:
    """A lock on one object, with the number of threads that hold it or wait for it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.users = 0


# The locks are stored here, and only while they are used, so that copied and pickled objects contain none.
_guard = threading.Lock()
_turns: dict[int, _Turn] = {}


@contextlib.contextmanager
def one_at_a_time(owner: Any) -> Iterator[None]:
    """Admits one thread at a time per owner; inside, check whether another thread has done the work already.

    The same thread may enter again. Other owners are not blocked, so an initializer may itself use models.
    """
    with _guard:
        turn = _turns.setdefault(id(owner), _Turn())
        turn.users += 1
    try:
        with turn.lock:
            yield
    finally:
        with _guard:
            turn.users -= 1
            if turn.users == 0 and _turns.get(id(owner)) is turn:
                del _turns[id(owner)]


def _forget() -> None:
    """Resets the locks in a forked process, where locks of other threads would never be released."""
    global _guard
    _guard = threading.Lock()
    _turns.clear()


if hasattr(os, 'register_at_fork'):
    os.register_at_fork(after_in_child=_forget)
