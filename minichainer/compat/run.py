"""``python -m minichainer.compat run [--legacy v1|v2] [--gpu-as-cpu] train.py ARGS...``: an old program, unchanged.

The program runs in this process as ``__main__``, as ``python train.py`` would run it, with ``import chainer`` giving
this package and with everything restored that Python, NumPy, SciPy, Pillow and PyYAML dropped. What it used of that
is reported once at the end. Processes that the program starts by ``multiprocessing`` run alike and are in the report.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from multiprocessing import spawn
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from minichainer.compat import alias
from minichainer.compat.changes import Changes
from minichainer.compat.children import InChildren
from minichainer.compat.gpu_as_cpu import GpuAsCpu
from minichainer.compat.program import (
    Restored,
    execute,
    main_of_module,
    main_of_script,
)


class Options(NamedTuple):
    """How programs run; ``repr`` is source code, for new processes."""

    legacy: str | None = None
    gpu_as_cpu: bool = False
    #: Path of the file in which all processes note what they use.
    log: str | None = None
    unsafe_pickles: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of the command.

    Args:
        parser: of the command.
    """
    parser.add_argument('--legacy', choices=('v1', 'v2'), help='accept the style of Chainer v1 or v2')
    parser.add_argument('--gpu-as-cpu', action='store_true', help='run code for GPUs on the CPU')
    pickles = 'let numpy.load read arrays of objects: pickles, which run the code that is in a file'
    parser.add_argument('--unsafe-pickles', action='store_true', help=pickles)
    parser.add_argument('-m', dest='module', action='store_true', help='run a module: -m package.train ARGS')
    parser.add_argument('program', help='the script, or with -m the module')
    parser.add_argument('args', nargs=argparse.REMAINDER, help='arguments of the program')


def main(arguments: argparse.Namespace) -> int:
    """Runs the program; returns its exit status.

    Args:
        arguments: what :func:`add_arguments` declares.
    """
    file = arguments.program
    if not arguments.module and not os.path.isfile(file):
        what = 'a folder, expected a script' if os.path.isdir(file) else 'no such file'
        print(f'minichainer.compat run: {file}: {what}', file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, 'usage')
        options = Options(arguments.legacy, arguments.gpu_as_cpu, log, arguments.unsafe_pickles)
        with prepared(options) as restored, _as_main(arguments) as modules:
            status = _run(arguments, modules)
            restored.usage.report(sys.stderr)
    return status


@contextlib.contextmanager
def prepared(options: Options) -> Any:
    """Context manager in which old programs can be imported; yields what was restored.

    Args:
        options: how they run.
    """
    code = f'from minichainer.compat import run\nrun.prepare_child({tuple(options)!r})'
    with contextlib.ExitStack() as stack:
        alias.install(options.legacy)
        stack.callback(alias.uninstall)
        if options.gpu_as_cpu:
            stack.enter_context(GpuAsCpu())
        restored = stack.enter_context(Restored(options.log, options.unsafe_pickles))
        stack.enter_context(InChildren('run', code))
        yield restored


def prepare_child(options: tuple[Any, ...]) -> None:
    """Prepares a new process as its parent was, until it ends.

    Args:
        options: those of the parent.
    """
    context = prepared(Options(*options))
    context.__enter__()
    _kept.append(context)

    def fix_up_main(file: str) -> None:
        current: Any = sys.modules['__main__']
        if getattr(current, '__file__', None) != file:
            module, code = main_of_script(file, '__mp_main__')
            sys.modules['__main__'] = sys.modules['__mp_main__'] = module
            exec(code, vars(module))

    Changes().set(spawn, '_fixup_main_from_path', fix_up_main)


#: Contexts of this process that end with it.
_kept: list[Any] = []


@contextlib.contextmanager
def _as_main(arguments: argparse.Namespace) -> Any:
    """Gives the program its arguments, its path and ``sys.modules['__main__']``; restores those of this command."""
    path, modules = sys.path[:], sys.modules
    main_module = modules['__main__']
    sys.path[0] = os.getcwd() if arguments.module else os.path.dirname(os.path.realpath(arguments.program))
    with Changes() as changes:
        changes.set(sys, 'argv', [arguments.program, *arguments.args])
        try:
            yield modules
        finally:
            sys.path[:], modules['__main__'] = path, main_module


def _run(arguments: argparse.Namespace, modules: dict[str, ModuleType]) -> int:
    def start() -> tuple[ModuleType, CodeType]:
        module, code = (main_of_module if arguments.module else main_of_script)(arguments.program)
        if arguments.module:
            sys.argv[:1] = [module.__file__ or arguments.program]
        modules['__main__'] = module
        return module, code

    return execute(start)
