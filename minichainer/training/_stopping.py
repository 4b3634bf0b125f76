"""Ctrl-C and SIGTERM end a training after an iteration, so that nothing is half done."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable
from typing import Any

from minichainer.training._first_error import run_all

#: The signals, and the handlers that are replaced. Any other handler is the user's, or that of an outer trainer.
_DEFAULTS: dict[int, Any] = {signal.SIGINT: signal.default_int_handler}
if os.name == 'posix':
    _DEFAULTS[signal.SIGTERM] = signal.SIG_DFL
#: Seconds in which two SIGTERM are one: `timeout` sends it to the process and then to its group.
_ONE = 0.05


class StopSignals:
    """In the block, the first Ctrl-C or SIGTERM is noted while somebody awaits it, and raised at the end.

    A second one is raised where it arrives. Ctrl-C is raised as KeyboardInterrupt, SIGTERM as SystemExit with status
    143. Outside the main thread, and for signals that have another handler than Python's, nothing changes.

    Attributes:
        number: the signal that was noted, or 0.
        is_awaited: whether a signal may wait; otherwise the first one is raised where it arrives.

    >>> with StopSignals() as stop:
    ...     stop.is_awaited = True
    ...     while not stop.number:
    ...         break  # an iteration
    """

    def __init__(self) -> None:
        self.number = 0
        self.is_awaited = False
        self._time = 0.0
        self._process = os.getpid()

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            for number, default in _DEFAULTS.items():
                if signal.getsignal(number) == default:
                    signal.signal(number, self._receive)
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        for number, default in _DEFAULTS.items():
            if signal.getsignal(number) == self._receive:
                signal.signal(number, default)
        if self.number and (error is None or isinstance(error, Exception)):
            raise _error(self.number)

    def _receive(self, number: int, frame: Any) -> None:
        """Handles a signal."""
        if os.getpid() != self._process:  # a fork of the process, which is to end as it would without this handler
            signal.signal(number, _DEFAULTS[number])
            signal.raise_signal(number)
            return
        if number == self.number == signal.SIGTERM and time.monotonic() - self._time < _ONE:
            return
        if self.number or not self.is_awaited:
            raise _error(number)
        self.number, self._time = number, time.monotonic()
        name = 'Ctrl-C' if number == signal.SIGINT else 'SIGTERM'
        # The signal may have interrupted a print, or the stream may be closed.
        with contextlib.suppress(RuntimeError, OSError, ValueError):
            _print(f'{name}: the training stops after this iteration; a second {name} stops it at once')


def _error(number: int) -> BaseException:
    return KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number)


def save_before_stop(trainer: Any, extensions: Iterable[tuple[str, Any]]) -> None:
    """Saves the trainer by all extensions, given with their names, that can do so; says so if there is none."""
    savers = [(name, e.save_before_stop) for name, e in extensions if hasattr(e, 'save_before_stop')]
    saved: list[bool] = []

    def save(saver: Any) -> None:
        saved.append(saver(trainer))

    run_all((f'saving by extension {name!r}', functools.partial(save, saver)) for name, saver in savers)
    if not any(saved):
        _print(
            f'Stopped after iteration {trainer.updater.iteration}. No snapshot was written, because none of the '
            'extensions saves the trainer: trainer.extend(extensions.snapshot(autoload=True)) would'
        )


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
