"""Code that new processes run first.

A child of ``multiprocessing`` that is spawned, or made by a fork server, starts as a new interpreter. It unpickles
a dict of preparations, then imports the program's main module, which may begin with ``import chainer``. So the dict
gets one more entry, whose unpickling runs the code. A fork server imports that module itself from Python 3.14 on,
without these preparations; so it is told not to.
"""

from __future__ import annotations

import multiprocessing
import sys
from multiprocessing import spawn
from typing import Any

from minichainer.compat.changes import Changes


class _Code:
    """Unpickled, it runs some code, on the module path of the parent."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __reduce__(self) -> tuple[Any, tuple[str, dict[str, Any]]]:
        path = f'import sys\nsys.path[:] = {sys.path!r}\n'  # the child's own path is set later than this is run
        return exec, (path + self.code, {})


class InChildren(Changes):
    """Makes each new process run code before it imports the program; :meth:`undo` ends that.

    Args:
        name: an identifier of the code, of letters.
        code: the source.

    >>> with InChildren('greeting', 'print("new process")'):
    ...     'compat_greeting' in spawn.get_preparation_data('child')
    True
    >>> 'compat_greeting' in spawn.get_preparation_data('child')
    False
    """

    def __init__(self, name: str, code: str) -> None:
        super().__init__()
        before = spawn.get_preparation_data

        def get_preparation_data(process: str) -> dict[str, Any]:
            return {**before(process), f'compat_{name}': _Code(code)}

        self.set(spawn, 'get_preparation_data', get_preparation_data)
        if 'forkserver' in multiprocessing.get_all_start_methods():
            self._leave_the_program_to_children()

    def _leave_the_program_to_children(self) -> None:
        from multiprocessing import forkserver  # not to be had on Windows

        server: Any = forkserver._forkserver
        modules = getattr(server, '_preload_modules', [])
        self.set(server, '_preload_modules', [name for name in modules if name != '__main__'])
