"""``python -m minichainer.compat`` for many programs: what all of them import is imported once.

Each line of the input of this program is a folder and arguments, as JSON. A fork of its process runs the command in
that folder and leaves what it prints in two files there; the answer is a line with its exit status.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

#: What the command imports itself; its ``__main__`` runs anew in each fork.
IMPORTED = ('gpu_as_cpu', 'legacy.packages', 'run')
SECONDS = 300
PRINTED = {1: '.stdout', 2: '.stderr'}


class Server:
    """Runs the command like :func:`subprocess.run`, as a fork of a process with the given environment.

    Where nothing can be forked, each is a process of its own.
    """

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment
        call = [sys.executable, __file__]
        self._process = subprocess.Popen(
            call, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *error: Any) -> None:
        self._process.__exit__(*error)

    def run(self, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        if not hasattr(os, 'fork'):
            call = [sys.executable, '-m', 'minichainer.compat', *arguments]
            return subprocess.run(
                call, cwd=folder, env=self._environment, capture_output=True, text=True, timeout=SECONDS
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps([str(folder), arguments]), file=self._process.stdin, flush=True)
        status = int(self._process.stdout.readline())
        files = [folder / name for name in PRINTED.values()]
        output, errors = [file.read_text(encoding='utf-8') for file in files]
        for file in files:
            file.unlink()
        return subprocess.CompletedProcess(['minichainer.compat', *arguments], status, output, errors)


def serve() -> None:
    for name in IMPORTED:
        importlib.import_module(f'minichainer.compat.{name}')
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            return run(*json.loads(line))  # and goes through the whole end of a process
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    return None


def run(folder: str, arguments: list[str]) -> None:
    signal.alarm(SECONDS)
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, name in PRINTED.items():
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    sys.argv, sys.path[0] = ['-m', *arguments], folder
    runpy.run_module('minichainer.compat', run_name='__main__', alter_sys=True)


if __name__ == '__main__':
    serve()
