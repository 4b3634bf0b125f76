"""Ends a process that writes snapshots when its parent dies."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import threading

#: Held while a snapshot is written, so that the end of the parent does not interrupt that.
busy = threading.RLock()


def end_with_the_parent() -> None:
    """Starts a thread that ends this process when its parent has died and no snapshot is being written.

    The end of a pipe is not enough: processes that the parent has forked later hold it open.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    spawner = os.getppid()

    def watch() -> None:
        while not multiprocessing.connection.wait([parent.sentinel], timeout=1):
            if os.getppid() != spawner:
                break
        with busy:
            os._exit(1)

    threading.Thread(target=watch, name='parent watch', daemon=True).start()
