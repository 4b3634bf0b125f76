"""``python -m minichainer.compat run|port|check|convert``: old programs and files of Chainer today."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from minichainer._version import __version__

#: Per command: its module, which has ``add_arguments(parser)`` and ``main(arguments) -> int``, and what it does.
COMMANDS = {
    'run': ('minichainer.compat.run', 'run a program that was written for Chainer'),
    'port': ('minichainer.compat.port.command', 'rewrite a program for minichainer'),
    'check': ('minichainer.compat.port.check', 'say what a program uses and what is missing'),
    'convert': ('minichainer.compat.files.convert', "convert a file of Chainer's to today's form"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status.

    >>> main([])
    usage: python -m minichainer.compat [-h] [--version] command ...
    ...
    2
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser('python -m minichainer.compat', description=__doc__)
    parser.add_argument('--version', action='version', version=f'minichainer {__version__}')
    commands = parser.add_subparsers(metavar='command')
    chosen = arguments[0] if arguments else None
    for name, (module, help_) in COMMANDS.items():
        command = commands.add_parser(name, help=help_)
        if name == chosen:  # only this one is imported
            implementation = importlib.import_module(module)
            implementation.add_arguments(command)
            command.set_defaults(main=implementation.main)
    parsed = parser.parse_args(arguments)
    if not hasattr(parsed, 'main'):
        parser.print_help()
        return 2
    status: int = parsed.main(parsed)
    return status


if __name__ == '__main__':
    raise SystemExit(main())
