"""``python -m minichainer doctor``: what there is in this environment, and whether it works."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from minichainer._version import __version__
from minichainer.doctor import command


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status.

    >>> main([])
    usage: python -m minichainer [-h] [--version] command ...
    ...
    2
    """
    parser = argparse.ArgumentParser('python -m minichainer', description=__doc__)
    parser.add_argument('--version', action='version', version=f'minichainer {__version__}')
    commands = parser.add_subparsers(metavar='command')
    doctor = commands.add_parser('doctor', help=command.HELP, description=command.HELP)
    command.add_arguments(doctor)
    doctor.set_defaults(main=command.main)
    parsed = parser.parse_args(argv)
    if not hasattr(parsed, 'main'):
        parser.print_help()
        return 2
    status: int = parsed.main(parsed)
    return status


if __name__ == '__main__':
    raise SystemExit(main())
