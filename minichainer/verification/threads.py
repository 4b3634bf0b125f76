"""Runs a computation in another thread, where everything that is local to the thread of the check is missing."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from minichainer.configuration import config, global_config, using_config

#: Seconds after which to give up: the thread probably waits for a lock that the thread of the check holds.
_PATIENCE = 10.0

Result = TypeVar('Result')


def in_another_thread(call: Callable[[], Result], **settings: Any) -> Result | None:
    """The result of ``call`` in another thread with this thread's settings; None if it raises or does not finish.

    Args:
        call: A function without arguments.
        settings: Settings to change, such as ``train``.
    """
    kept = {name: getattr(config, name) for name in vars(global_config)} | settings
    found: list[Result] = []

    def run() -> None:
        with contextlib.ExitStack() as stack, contextlib.suppress(Exception):
            stack.enter_context(np.errstate(all='ignore'))
            for name, value in kept.items():
                if getattr(config, name) is not value:
                    stack.enter_context(using_config(name, value))
            found.append(call())

    worker = _idle_worker()
    if worker.finishes(run):
        _idle.append(worker)
    return found[0] if found else None


class _Worker:
    """A thread that runs one call after another, because starting a thread takes as long as a small check."""

    def __init__(self) -> None:
        self._given: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name='gradient check', daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while True:
            self._given.get()()
            self._done.put(True)

    def is_alive(self) -> bool:
        """False in a forked process, where threads do not exist."""
        return self._thread.is_alive()

    def finishes(self, run: Callable[[], None]) -> bool:
        """Runs the call; False if it takes too long, after which this worker must not be used again."""
        self._given.put(run)
        try:
            return self._done.get(timeout=_PATIENCE)
        except queue.Empty:
            return False


_idle: list[_Worker] = []


def _idle_worker() -> _Worker:
    """A running worker that is not in use, or a new one."""
    while True:
        try:
            worker = _idle.pop()
        except IndexError:
            return _Worker()
        if worker.is_alive():
            return worker
