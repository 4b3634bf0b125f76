"""Progress on a terminal, in a notebook, or in a file."""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple


class Bar(NamedTuple):
    """A title and a fraction between 0 and 1, drawn as a bar with this many characters."""

    title: str
    share: float
    length: int = 50

    def __str__(self) -> str:
        marks = int(min(max(self.share, 0.0), 1.0) * self.length)
        return f'{self.title:>10} [{"#" * marks + "." * (self.length - marks)}] {self.share:6.2%}'


class Display:
    """What shows progress.

    This one draws lines at the end of a terminal, and leaves the cursor at their start. So other output takes their
    place, and they are drawn anew below it.
    """

    def __init__(self, out: Any) -> None:
        self._out = out

    def show(self, bars: Sequence[Bar], texts: Sequence[str] = ()) -> None:
        """Shows the bars, then the texts, in place of those before."""
        columns = _columns(self._out)
        lines = [str(line)[:columns] for line in (*bars, *texts)]
        # ESC[J clears to the end of the screen, ESC[nF moves up n lines.
        self._write('\033[J' + '\n'.join(lines) + f'\n\033[{len(lines)}F')

    def erase(self) -> None:
        """Removes what is shown."""
        self._write('\033[J')

    def _write(self, text: str) -> None:
        self._out.write(text)
        if hasattr(self._out, 'flush'):
            self._out.flush()


class _PlainDisplay(Display):
    """Writes a line each time, because a file or a pipe cannot be redrawn."""

    def show(self, bars: Sequence[Bar], texts: Sequence[str] = ()) -> None:
        self._write('  '.join([f'{bars[0].share:7.2%}', *(text.strip() for text in texts)]) + '\n')

    def erase(self) -> None:
        pass


class _TqdmDisplay(Display):
    """Each line is a bar of tqdm, which knows of the program's other bars and of the width of the terminal."""

    def __init__(self, out: Any, tqdm: Any) -> None:
        super().__init__(out)
        self._tqdm = tqdm
        self._lines: list[Any] = []

    def show(self, bars: Sequence[Bar], texts: Sequence[str] = ()) -> None:
        looks = self._looks(bars, texts)
        if not self._lines:
            self._lines = [self._new_line(*look) for look in looks]
        else:
            for line, look in zip(self._lines, looks, strict=True):
                line.desc, line.n, line.bar_format = look
                line.refresh()
        self._write('\r')

    def _looks(self, bars: Sequence[Bar], texts: Sequence[str]) -> list[tuple[str, float, str]]:
        """Title, share and format of each line."""
        drawn = [
            (f'{b.title:>10}', min(b.share, 1.0), f'{{desc}} [{{bar:{b.length}}}] {{percentage:5.2f}}%') for b in bars
        ]
        # tqdm cuts only lines with a bar.
        return drawn + [(text, 0.0, '{desc}{bar:0}') for text in texts]

    def _new_line(self, title: str, share: float, form: str) -> Any:
        settings = {'leave': False, 'ascii': '.#', 'dynamic_ncols': True}
        return self._tqdm(total=1, desc=title, initial=share, bar_format=form, file=self._out, **settings)

    def erase(self) -> None:
        for line in reversed(self._lines):
            line.close()
        self._lines = []
        self._write('\r')


class _NotebookDisplay(_TqdmDisplay):
    """Each bar is a widget, with a text beside it."""

    def _looks(self, bars: Sequence[Bar], texts: Sequence[str]) -> list[tuple[str, float, str]]:
        beside = [text.strip().replace('{', '{{').replace('}', '}}') for text in (*texts, *[''] * len(bars))]
        return [
            (b.title, min(b.share, 1.0), f'{{desc}} {{bar}} {{percentage:.2f}}% {text}')
            for b, text in zip(bars, beside, strict=False)
        ]

    def _write(self, text: str) -> None:
        """Widgets need no codes for terminals."""


def make_display(out: Any = None) -> Display | None:
    """Returns what shows progress.

    Args:
        out: a stream, on which it is shown in any case, as plain lines if it is not a terminal. None: the standard
            output, if that is a terminal, or a notebook in which tqdm shows widgets; otherwise nothing is shown.
    """
    if out is None and (widget := _tqdm_for_notebooks()):
        return _NotebookDisplay(sys.stdout, widget)
    stream = sys.stdout if out is None else out
    if not is_terminal(stream):
        return None if out is None else _PlainDisplay(stream)
    if not _find_tqdm():
        return Display(stream)
    from tqdm.std import tqdm

    return _TqdmDisplay(stream, _without_threads(tqdm))


def _find_tqdm() -> bool:
    return importlib.util.find_spec('tqdm') is not None


def is_terminal(stream: Any) -> bool:
    """Whether a stream is a terminal."""
    return bool(getattr(stream, 'isatty', lambda: False)())


def _tqdm_for_notebooks() -> Any:
    """tqdm's class that draws widgets, if this is a notebook, and tqdm and ipywidgets are installed."""
    if 'ipykernel' not in sys.modules or not _find_tqdm():
        return None
    from tqdm.auto import tqdm
    from tqdm.notebook import tqdm_notebook

    return _without_threads(tqdm) if issubclass(tqdm, tqdm_notebook) else None


def _without_threads(tqdm: Any) -> Any:
    """A class of bars that are drawn only when they are told to, without the thread and the lock of processes."""
    quiet = type('Line', (tqdm,), {'monitor_interval': 0})
    quiet.set_lock(threading.RLock())  # type: ignore[attr-defined]
    return quiet


def _columns(out: Any) -> int | None:
    """Width of a terminal, if it is known."""
    try:
        return os.get_terminal_size(out.fileno()).columns or None
    except (AttributeError, OSError, ValueError):
        return None


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
