"""A line on the terminal that shows how far a long check is."""

from __future__ import annotations

import sys
import time
from typing import Any

#: Seconds before the first line, and between lines.
PATIENCE, INTERVAL = 3.0, 0.5


class Progress:
    """Counts steps and tells a terminal about them once they take long; silent where there is no terminal.

    Args:
        title: What is running.
        stream: Where to write; standard error by default.
        clock: Gives the time in seconds.
    """

    def __init__(self, title: str, stream: Any = None, clock: Any = time.monotonic) -> None:
        self.title, self.clock = title, clock
        self.stream = sys.stderr if stream is None else stream
        self.start = self.next = 0.0
        self.steps = self.shown = 0

    def tick(self) -> None:
        """One step; the clock is read at every 32nd only."""
        self.steps += 1
        if self.steps % 32 == 1:
            self._look()

    def _look(self) -> None:
        now = self.clock()
        if not self.start:
            self.start, self.next = now, now + PATIENCE
        if now >= self.next and getattr(self.stream, 'isatty', lambda: False)():
            self.next = now + INTERVAL
            self._write(f'{self.title}: {self.steps} calls of the function, {now - self.start:.0f} s')

    def _write(self, text: str) -> None:
        self.stream.write('\r' + text.ljust(self.shown))
        self.stream.flush()
        self.shown = len(text)

    def finish(self) -> None:
        """Takes the line away."""
        if self.shown:
            self._write('')
            self.stream.write('\r')
