from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from minichainer.training.extension import Extension
from minichainer.training.extensions._missing import warn_of_missing
from minichainer.training.extensions._terminal import is_terminal
from minichainer.training.extensions.log_report import LogReport
from minichainer.training.util import names_of


class PrintReport(Extension):
    """Prints a table with one row per interval of a :class:`LogReport`.

    Args:
        entries: Keys of the columns. At the end of the run a warning names those that stayed empty.
        log_report: :class:`LogReport`, or the name under which the trainer has one.
        out: Stream; standard output when omitted.

    .. admonition:: Example

        >>> from minichainer.training import extensions
        >>> table = extensions.PrintReport(['epoch', 'main/loss'], extensions.LogReport(trigger=(2, 'epoch')))

    """

    def __init__(self, entries: Sequence[str], log_report: Any = 'LogReport', out: Any = None) -> None:
        self._entries = names_of(entries, 'PrintReport', 'entries')
        self._log_report = log_report
        self._stream = out
        self._n_printed = 0
        self._header_done = False
        self._observed: set[str] = set()
        # Six significant digits with sign and exponent take ten characters.
        self._widths = [max(10, len(entry)) for entry in self._entries]

    @property
    def _out(self) -> Any:
        return sys.stdout if self._stream is None else self._stream

    def __call__(self, trainer: Any) -> None:
        """Prints the rows added since the last call; the first time also the header.

        Raises :class:`TypeError` if ``log_report`` is neither a name nor a :class:`LogReport`.
        """
        log = self._get_log(trainer)
        if self._header_done and self._n_printed == len(log):
            return
        out = self._out
        # A progress bar may be below the cursor of a terminal. ESC[J clears it, in Chainer on any stream.
        clear = '' if self._stream is None and not is_terminal(out) else '\033[J'
        if not self._header_done:
            out.write('  '.join(f'{e:{w}}' for e, w in self._columns()) + '\n')
            self._header_done = True
        for row in log[self._n_printed :]:
            self._observed.update(row)
            out.write(clear)
            self._print(row)
        self._n_printed = len(log)
        if hasattr(out, 'flush'):
            out.flush()

    def _print(self, observation: dict[str, Any]) -> None:
        """Writes a row; subclasses of programs replace it."""
        self._out.write(self._format(observation) + '\n')

    def _columns(self) -> Any:
        return zip(self._entries, self._widths, strict=True)

    def _format(self, row: dict[str, Any]) -> str:
        return ''.join(f'{row[e]:<{w}g}  ' if e in row else ' ' * (w + 2) for e, w in self._columns())

    def _get_log(self, trainer: Any) -> list[dict[str, Any]]:
        """The log of the :class:`LogReport`, which is called first if this extension owns it."""
        report = self._log_report
        if isinstance(report, str):
            log: list[dict[str, Any]] = trainer.get_extension(report).log
            return log
        if not isinstance(report, LogReport):
            raise TypeError(f'PrintReport: log_report must be a LogReport or its name, got {type(report)}')
        report(trainer)
        return report.log

    def initialize(self, trainer: Any) -> None:
        """Initializes the :class:`LogReport` if this extension owns one."""
        if isinstance(self._log_report, LogReport):
            self._log_report.initialize(trainer)

    def finalize(self) -> None:
        """Finalizes the :class:`LogReport` if this extension owns one; warns of columns that stayed empty."""
        if isinstance(self._log_report, LogReport):
            self._log_report.finalize()
        warn_of_missing('PrintReport', self._entries, self._observed)

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the :class:`LogReport` if this extension owns one."""
        if isinstance(self._log_report, LogReport):
            self._log_report.serialize(serializer['_log_report'])
