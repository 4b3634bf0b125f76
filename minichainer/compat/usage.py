"""Which dropped names a program uses, and where: reported once, at the end."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import sysconfig
from typing import TextIO

from minichainer.compat.removed import Removed

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_HERE = os.path.join(_PACKAGE, 'compat', '')
_INSTALLED = ('site-packages', 'dist-packages')
_LIBRARIES = tuple(
    os.path.join(path, '') for name in ('stdlib', 'platstdlib') if (path := sysconfig.get_paths().get(name))
)


def is_own(file: str) -> bool:
    """Whether a file belongs to the program: neither installed, nor of Python, nor of this package.

    >>> import json
    >>> is_own('train.py'), is_own(json.__file__)
    (True, False)
    """
    path = os.path.abspath(file)
    if file.startswith('<ipython-input'):
        return True  # a cell
    if file.startswith('<') or path.startswith((*_LIBRARIES, os.path.join(_PACKAGE, ''))):
        return False
    return not set(_INSTALLED) & set(path.split(os.sep))


def caller() -> tuple[str, int]:
    """File and line of the code that runs this room, without the frames of the room and of the import system."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_machinery(frame.f_code.co_filename):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _is_machinery(file: str) -> bool:
    return file.startswith(('<frozen importlib', _HERE))


class Usage:
    """The names that were used.

    Args:
        log: path of a file that several processes have in common: each adds what it uses, at once because processes
            of a pool are killed, and the lines are about all of them. None if there is only this process.

    >>> from minichainer.compat.removed import by_name
    >>> usage = Usage()
    >>> usage.note(by_name()['numpy.int'], 'train.py', 3)
    >>> usage.note(by_name()['numpy.int'], 'train.py', 9)
    >>> usage.lines()
    ['train.py:3: numpy.int, which NumPy 1.24 dropped: write int (1 more place)']
    """

    def __init__(self, log: str | None = None) -> None:
        self._log = log
        self._places: dict[Removed, dict[tuple[str, int], None]] = {}

    def note(self, row: Removed, file: str, line: int) -> None:
        """Notes one use, if a file of the program made it."""
        if not is_own(file) or (file, line) in self._places.get(row, {}):
            return
        self._places.setdefault(row, {})[file, line] = None
        if self._log is not None:
            # The file is gone if the process that reports has ended before this one.
            with contextlib.suppress(FileNotFoundError), open(self._log, 'a', encoding='utf-8') as log:
                log.write(f'{json.dumps([row, file, line])}\n')

    def _read_log(self) -> None:
        """Adds what other processes have noted."""
        if self._log is not None and os.path.exists(self._log):
            with open(self._log, encoding='utf-8') as log:
                for row, file, line in map(json.loads, log):
                    self._places.setdefault(Removed(*row), {})[file, line] = None

    def lines(self) -> list[str]:
        """One line for each name, with its first place, in the order of first use."""
        self._read_log()
        return [self._line(row, list(places)) for row, places in self._places.items()]

    @staticmethod
    def _line(row: Removed, places: list[tuple[str, int]]) -> str:
        (file, line), others = places[0], len(places) - 1
        more = f' ({others} more place{"s" * (others > 1)})' if others else ''
        is_method = row.instead.startswith('x.')
        changed = {'call': '(...)', 'operation': ''}.get(row.kind)
        what = f'{row.name}, which {row.since} dropped'
        what = what if changed is None else f'{row.name}{changed} as before {row.since}'
        return f'{_shown(file)}:{line}: {what}: write {row.instead}{"()" * is_method}{more}'

    def report(self, stream: TextIO) -> None:
        """Prints the lines, if there are any."""
        lines = self.lines()
        if lines:
            count = f'{len(lines)} name{"s" * (len(lines) > 1)}'
            print(f'minichainer.compat: {count} restored for this run only', *lines, sep='\n  ', file=stream)


def _shown(file: str) -> str:
    """A path as a user types it."""
    relative = os.path.relpath(file) if os.path.splitdrive(file)[0] == os.path.splitdrive(os.getcwd())[0] else file
    return file if relative.startswith(os.pardir) else relative
