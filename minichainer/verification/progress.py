"""A line on the terminal that shows the progress of a long check."""

from __future__ import annotations

import sys
import time
from typing import Any

#: Seconds before the first line, and between lines.
PATIENCE, INTERVAL = 3.0, 0.5


#: The number of steps is looked at so often.
OFTEN = 32


class Progress:
    """Prints a number of steps on a terminal once they take long; silent without a terminal.

    Args:
        title: The name of the check.
        stream: Where to write; standard error by default.
        clock: Gives the time in seconds.
    """

    def __init__(self, title: str, stream: Any = None, clock: Any = time.monotonic) -> None:
        self.title, self.clock = title, clock
        self.stream = sys.stderr if stream is None else stream
        self.start = self.next = 0.0
        self.shown = 0

    def look(self, steps: int) -> None:
        """Writes the number of steps if it is time and the stream is a terminal."""
        now = self.clock()
        if not self.start:
            self.start, self.next = now, now + PATIENCE
        if now >= self.next and getattr(self.stream, 'isatty', lambda: False)():
            self.next = now + INTERVAL
            self._write(f'{self.title}: {steps} calls of the function, {now - self.start:.0f} s')

    def _write(self, text: str) -> None:
        self.stream.write('\r' + text.ljust(self.shown))
        self.stream.flush()
        self.shown = len(text)

    def finish(self) -> None:
        """Clears the line."""
        if self.shown:
            self._write('')
            self.stream.write('\r')
