"""Work that must happen once even with several threads, such as making the arrays of a parameter."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from minichainer._locks import after_fork, lock_of


class _Turn:
    """A lock on one object, with the number of threads that hold it or wait for it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.users = 0


# The locks are stored here, and only while they are used, so that copied and pickled objects contain none.
_guard = lock_of(globals(), '_guard')
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


after_fork(_turns.clear)  # turns of other threads would never end
