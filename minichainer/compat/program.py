"""A program and its modules: found, rewritten, run as ``__main__``."""

from __future__ import annotations

import builtins
import importlib.util
import io
import os
import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any

from minichainer.compat.changes import Changes
from minichainer.compat.loaders import OtherLoaders, RewritingLoader
from minichainer.compat.names import RemovedNames
from minichainer.compat.promotion import WideParameters
from minichainer.compat.rewriting import HELPER, Runtime, compiled
from minichainer.compat.usage import Usage, is_own

_HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '')


class ProgramFinder(MetaPathFinder):
    """Finds modules of the program: those of its folder, and of folders that it or PYTHONPATH adds to the path."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The specification of a module of the program; None for others."""
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader or not is_own(spec.origin or '<>'):
            return None
        spec.loader = RewritingLoader(fullname, spec.origin or '')
        return spec


class Restored:
    """All that a run restores: dropped names and modules, and the rewriting of the program's files.

    Args:
        log: path of a file in which several processes note what they use; None if there is only this one.
        unsafe_pickles: whether ``numpy.load`` reads arrays of objects, which are pickles and may run code.

    Attributes:
        usage: what was used.

    >>> import numpy
    >>> with Restored():
    ...     numpy.int
    <class 'int'>
    >>> hasattr(numpy, 'int')
    False
    """

    def __init__(self, log: str | None = None, unsafe_pickles: bool = False) -> None:
        self.usage = Usage(log)
        self._runtime = Runtime(self.usage, unsafe_pickles)
        self._names = RemovedNames(self.usage, self._runtime)
        self._finder = ProgramFinder()
        self._changes = Changes()
        self._wide, self._loaders = WideParameters(), OtherLoaders()

    def __enter__(self) -> Restored:
        self._runtime.add_calls('builtins')
        self._changes.set(builtins, HELPER, self._runtime)
        sys.meta_path.insert(0, self._finder)
        self._names.__enter__()
        self._wide.install()
        self._loaders.install()
        return self

    def __exit__(self, *error: object) -> None:
        self._loaders.undo()
        self._wide.undo()
        self._names.__exit__(*error)
        sys.meta_path.remove(self._finder)
        self._changes.undo()


def code_of_script(file: str) -> CodeType:
    """The rewritten code of a script.

    Args:
        file: its path.
    """
    with io.open_code(os.path.abspath(file)) as stream:
        code: CodeType = compiled(stream.read(), file)
    return code


def main_of_script(file: str, name: str = '__main__') -> tuple[ModuleType, CodeType]:
    """The main module of a script and its code."""
    file = os.path.abspath(file)
    module = ModuleType(name)
    vars(module).update(
        __file__=file,
        __builtins__=builtins,
        __cached__=None,
        __loader__=SourceFileLoader(name, file),
        __package__=None,
    )
    return module, code_of_script(file)


def main_of_module(dotted: str) -> tuple[ModuleType, CodeType]:
    """The main module for ``-m`` and its code; ImportError if there is none."""
    spec = importlib.util.find_spec(dotted)
    if spec is not None and spec.submodule_search_locations is not None:
        return main_of_module(f'{dotted}.__main__')
    code = None if spec is None else getattr(spec.loader, 'get_code', lambda name: None)(spec.name)
    if spec is None or code is None:
        raise ImportError(f'No module named {dotted}, or it has no source')
    module = ModuleType('__main__')
    vars(module).update(
        __file__=spec.origin, __builtins__=builtins, __cached__=None, __loader__=spec.loader, __package__=spec.parent,
        __spec__=spec,
    )  # fmt: skip
    return module, code


def execute(start: Callable[[], tuple[ModuleType, CodeType]]) -> int:
    """Runs a main module as Python does: returns the exit status, and prints the traceback of an error.

    Args:
        start: makes the module and its code.
    """
    try:
        module, code = start()
        exec(code, vars(module))
    except SystemExit as error:
        return _status(error.code)
    except BaseException as error:
        without_own_frames(error)
        sys.excepthook(type(error), error, error.__traceback__)
        advice = advice_on(error)
        if advice:
            print(advice, file=sys.stderr)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _status(code: Any) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code
    print(code, file=sys.stderr)
    return 1


def without_own_frames(error: BaseException, seen: frozenset[int] = frozenset()) -> None:
    """Takes the frames of this room out of the tracebacks of an error and of those that led to it."""
    error.__traceback__ = _filtered(error.__traceback__)
    for other in (error.__cause__, error.__context__):
        if other is not None and id(other) not in seen:
            without_own_frames(other, seen | {id(error)})


def _filtered(trace: TracebackType | None) -> TracebackType | None:
    kept = []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith((_HERE, '<frozen importlib')):
            kept.append(trace)
        trace = trace.tb_next
    rest: TracebackType | None = None
    for entry in reversed(kept):
        rest = TracebackType(rest, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return rest


def advice_on(error: BaseException) -> str | None:
    """What to do about a file that is not Python 3, or about pickles; the alias knows the rest."""
    if isinstance(error, ValueError) and 'allow_pickle=False' in str(error):
        danger = 'NumPy refuses to unpickle this file, because a pickle runs the code that is in it.'
        return f'{danger} If it is yours: python -m minichainer.compat run --unsafe-pickles ...'
    if not isinstance(error, SyntaxError) or not is_own(error.filename or '<>'):
        return None
    if _is_python_2(error):
        convert = 'python -m minichainer.compat port --py2 --write'
        return f'This is a file of Python 2. Convert it: {convert} {error.filename}'
    return f'Line {error.lineno} of {error.filename} is not Python 3: correct it.'


def _is_python_2(error: SyntaxError) -> bool:
    signs = (
        "call to 'print'",
        "call to 'exec'",
        'multiple exception types',
        'leading zeros',
        'use of tabs',
    )
    line, begins = (error.text or '').strip(), ('print ', 'exec ', 'raise ', 'except ')
    return any(sign in str(error) for sign in signs) or line.startswith(begins) or '<>' in line
