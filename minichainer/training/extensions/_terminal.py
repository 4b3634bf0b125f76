from __future__ import annotations

import time
from typing import Any, NamedTuple


class Bar(NamedTuple):
    """A fraction between 0 and 1, drawn as a bar with this many characters."""

    share: float
    length: int = 50

    def __str__(self) -> str:
        marks = int(min(max(self.share, 0.0), 1.0) * self.length)
        return '#' * marks + '.' * (self.length - marks)


def bar_line(title: str, bar: Bar) -> str:
    """A line of the display: title, bar and percentage."""
    return f'{title:>10} [{bar}] {bar.share:6.2%}'


class Display:
    """Lines at the end of a terminal that are redrawn in place, and erased at the end.

    If the stream is not a terminal, it cannot be redrawn: one plain line is written instead, so that a log file also
    shows the progress.
    """

    def __init__(self, out: Any) -> None:
        self._out = out
        self._terminal = bool(getattr(out, 'isatty', lambda: False)())

    def show(self, lines: list[str], plain: str) -> None:
        """Draws the lines and moves the cursor back to their start, so that other output overwrites them."""
        if self._terminal:
            # ESC[J clears to the end of the screen, ESC[nF moves up n lines.
            self._out.write('\033[J' + '\n'.join(lines) + f'\n\033[{len(lines)}F')
        else:
            self._out.write(plain + '\n')
        self._flush()

    def erase(self) -> None:
        """Removes the lines."""
        if self._terminal:
            self._out.write('\033[J')
            self._flush()

    def _flush(self) -> None:
        if hasattr(self._out, 'flush'):
            self._out.flush()


class Speed:
    """Iterations and epochs per second over the last hundred calls."""

    def __init__(self) -> None:
        self._recent: list[tuple[float, float, float]] = []

    def update(self, iteration: float, epoch: float) -> tuple[float, float]:
        """Returns both speeds; zero at the first call."""
        now = time.monotonic()
        self._recent = [*self._recent[-99:], (iteration, epoch, now)]
        first_iteration, first_epoch, first_time = self._recent[0]
        seconds = now - first_time
        if seconds <= 0:
            return 0.0, 0.0
        return (iteration - first_iteration) / seconds, (epoch - first_epoch) / seconds
