"""Programs that run in a terminal of their own, which sends Ctrl-C as a person's does: to all their processes."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Makes the standard input the controlling terminal, then becomes the program. A shell that starts a job in the
# background has Ctrl-C ignored, by all processes below it.
_START = """
import fcntl, os, signal, sys, termios
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
#: Seconds without a word after which a program is taken to hang.
_PATIENCE = 120


class Terminal:
    """A Python program in a terminal.

    Args:
        arguments: its command line, after ``python``.
    """

    def __init__(self, arguments: list[str]) -> None:
        import pty

        self._master, slave = pty.openpty()
        plain = {**os.environ, 'PYTHON_COLORS': '0'}  # tracebacks have colours from Python 3.13 on
        command = [sys.executable, '-c', _START, sys.executable, *arguments]
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, cwd=ROOT, env=plain
        )
        os.close(slave)
        self.text = ''

    def read(self) -> bool:
        """Reads what was printed; False at the end."""
        if not select.select([self._master], [], [], _PATIENCE)[0]:
            raise AssertionError(f'the program has printed nothing for {_PATIENCE} s after: {self.text}')
        try:
            data = os.read(self._master, 4096)
        except OSError:  # Linux says so that nobody has the other end open
            data = b''
        self.text += data.decode().replace('\r\n', '\n')
        return bool(data)

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Reads until a pattern, which must match a whole line, was printed."""
        whole = re.compile(f'^{pattern}\n', re.MULTILINE)
        while (match := whole.search(self.text)) is None:
            if not self.read():
                raise AssertionError(f'the program has ended: {self.text}')
        return match

    def press_ctrl_c(self) -> None:
        """Sends Ctrl-C to all processes of the program."""
        os.write(self._master, b'\x03')

    def end(self) -> int:
        """Reads the rest, and returns the exit status."""
        while self.read():
            pass
        return self.process.wait(20)

    def assert_no_process_is_left(self) -> None:
        deadline = time.monotonic() + 5
        with contextlib.suppress(ProcessLookupError):
            while time.monotonic() < deadline:
                os.killpg(self.process.pid, 0)
                time.sleep(0.01)
            raise AssertionError('processes are left')


@contextlib.contextmanager
def terminal(arguments: list[str]) -> Iterator[Terminal]:
    """Runs a Python program in a terminal, and ends all of its processes at the end of the block."""
    running = Terminal(arguments)
    try:
        yield running
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(running.process.pid, signal.SIGKILL)
        running.process.wait()
        os.close(running._master)
