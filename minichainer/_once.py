"""What must happen once, whichever of several threads comes first: making the arrays of a parameter, say."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Any


class _Turn:
    """A lock on one object, and how many threads hold it or wait for it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.users = 0


# The locks are kept here, and only as long as they are used: objects that are copied and pickled hold none.
_guard = threading.Lock()
_turns: dict[int, _Turn] = {}


@contextlib.contextmanager
def one_at_a_time(owner: Any) -> Iterator[None]:
    """Let one thread in for each owner; inside, look whether another one has done the work already.

    The same thread may enter again. Other owners are not held up, so an initializer may itself use models.
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
    """In a forked process nobody will release what other threads held."""
    global _guard
    _guard = threading.Lock()
    _turns.clear()


if hasattr(os, 'register_at_fork'):
    os.register_at_fork(after_in_child=_forget)
