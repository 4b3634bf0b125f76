"""``python -m minichainer.compat check``: what a program uses of Chainer, and what will need a person."""

from __future__ import annotations

import argparse
import sys

from minichainer.compat.port.command import MissingLibrary, add_common_arguments, inspect
from minichainer.compat.port.findings import Report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of the command.

    Args:
        parser: of the command.
    """
    add_common_arguments(parser)
    parser.add_argument('--names', action='store_true', help='list all names of Chainer that are used')


def main(arguments: argparse.Namespace) -> int:
    """Runs the command; returns the exit status: 1 if something needs a person, 2 if a path does not exist.

    Args:
        arguments: parsed.
    """
    try:
        report, _ = inspect(arguments.paths, arguments.py2)
    except (FileNotFoundError, MissingLibrary) as error:
        print(error, file=sys.stderr)
        return 2
    print(report.to_json() if arguments.json else _text(report, arguments.names))
    return 1 if report.open else 0


def _text(report: Report, with_names: bool) -> str:
    """The findings for a person, and counts of the rest."""
    lines = [f'{name} {count}' for name, count in sorted(report.names.items())] if with_names else []
    lines += map(str, report.open)
    missing = len({finding.was for finding in report.findings if finding.kind == 'missing'})
    lines.append(f'names of Chainer: {len(report.names)} used, {missing} missing')
    lines.append(f'places that `port --write` rewrites: {report.count("done")}, in {len(report.changed)} files')
    lines.append(f'places for a person: {report.count("attention") + report.count("missing")}')
    lines.append(f'files that cannot be read: {report.count("error")}')
    return '\n'.join(lines)
