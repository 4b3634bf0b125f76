"""Ends a process that writes snapshots when its parent dies."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import threading
from typing import Any

from minichainer.iterators._worker import leave_signals_to_the_parent

#: In a process that ends with its parent: held while a snapshot is written, so that the end does not interrupt that.
_writing: threading.Lock | None = None


def not_interrupted() -> contextlib.AbstractContextManager[Any]:
    """While a snapshot is written, the end of the parent is not the end of this process."""
    return contextlib.nullcontext() if _writing is None else _writing


def end_with_the_parent() -> None:
    """Starts a thread that ends this process when its parent has died and no snapshot is being written.

    Ctrl-C and SIGTERM, which often reach all processes of a training, do not: the last snapshot is written here.
    The end of a pipe is not enough: processes that the parent has forked later hold it open.
    """
    leave_signals_to_the_parent()
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    global _writing
    _writing = writing = threading.Lock()
    spawner = os.getppid()

    def watch() -> None:
        while not multiprocessing.connection.wait([parent.sentinel], timeout=1):
            if os.getppid() != spawner:
                break
        with writing:
            os._exit(1)

    threading.Thread(target=watch, name='parent watch', daemon=True).start()
