"""``python -m minichainer.compat port``: rewrites programs that were written for Chainer."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections import Counter
from pathlib import Path

from minichainer.compat.port import sources
from minichainer.compat.port.findings import Finding, Report
from minichainer.compat.port.program import Program
from minichainer.serializers._replacing import replacing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of the command.

    Args:
        parser: of the command.
    """
    add_common_arguments(parser)
    how = parser.add_mutually_exclusive_group()
    how.add_argument('--diff', action='store_true', help='show what would change')
    how.add_argument('--write', action='store_true', help='change the files')
    how.add_argument(
        '--check',
        action='store_true',
        help='change nothing; exit status 1 if something would change or needs a person',
    )


def add_common_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments that ``port`` and ``check`` share.

    Args:
        parser: of the command.
    """
    parser.add_argument('paths', nargs='+', metavar='PATH', help='files (.py, .ipynb) or folders')
    parser.add_argument('--json', action='store_true', help='print the report as JSON')
    parser.add_argument('--py2', action='store_true', help='convert files in Python 2 first; needs fissix')


def main(arguments: argparse.Namespace) -> int:
    """Runs the command; returns the exit status.

    It is 0; with ``--check`` 1 if something would change or needs a person; 2 if a file could not be read.

    Args:
        arguments: parsed.
    """
    try:
        report, changes = inspect(arguments.paths, arguments.py2)
    except (FileNotFoundError, MissingLibrary) as error:
        print(error, file=sys.stderr)
        return 2
    if arguments.write:
        for path, _, new in changes:
            _write(path, new)
    if arguments.diff and not arguments.json:
        sys.stdout.writelines(_differences(changes))
    print(report.to_json() if arguments.json else report.to_text(_shown(arguments)))
    if arguments.check:
        return 1 if report.changed or report.open else 0
    return 2 if report.count('error') else 0


def _shown(arguments: argparse.Namespace) -> list[str]:
    """Which kinds of findings to print: a difference shows what was done by itself."""
    left_out = ['done'] if arguments.diff else []
    return [kind for kind in ('done', 'attention', 'missing', 'error') if kind not in left_out]


class MissingLibrary(Exception):
    """libcst is not installed."""


def inspect(paths: list[str], python2: bool = False) -> tuple[Report, list[tuple[Path, bytes, bytes]]]:
    """Ports files in memory.

    Args:
        paths: files and folders.
        python2: whether to convert Python 2.

    Returns:
        The report; and path, old and new content of each file that would change.

    Raises:
        FileNotFoundError: a path does not exist.
        MissingLibrary: libcst is not installed.
    """
    try:
        from minichainer.compat.port.rewriter import rewrite
    except ImportError as error:
        if error.name != 'libcst':
            raise
        raise MissingLibrary('this command needs libcst: pip install libcst') from error
    report, changes, found = Report([], [], Counter()), [], []
    for path in sources.files(paths):
        try:
            found.append((path, sources.Source(path, python2)))
        except sources.SourceError as error:
            report.findings.append(Finding(str(path), error.line, 0, 'error', 'source', '', '', str(error)))
    program = Program(source.text for _, source in found)
    read = [(path, source, rewrite(source.text, program=program)) for path, source in found]
    is_v1 = any(notes.show_v1 for _, _, (_, notes) in read)
    for path, source, first in read:
        # One file shows for which version of Chainer all are written.
        new, notes = rewrite(source.text, True, program) if is_v1 else first
        for line, column, *rest in sorted(notes.found):
            name, line = source.where(line)
            report.findings.append(Finding(name, line, column, *rest))
        report.names.update(notes.names)
        unchanged = source.text.encode() if isinstance(source.text, str) else source.text
        if new != unchanged or source.converted:
            report.changed.append(str(path))
            changes.append((path, source.original, source.replaced(new)))
    return report, changes


def _write(path: Path, content: bytes) -> None:
    with replacing(path) as temporary:
        Path(temporary).write_bytes(content)


def _differences(changes: list[tuple[Path, bytes, bytes]]) -> list[str]:
    """A unified diff."""
    lines: list[str] = []
    for path, *contents in changes:
        old, new = (content.decode(errors='replace').splitlines(keepends=True) for content in contents)
        lines += difflib.unified_diff(old, new, f'a/{path}', f'b/{path}')
    return [line if line.endswith('\n') else f'{line}\n\\ No newline at end of file\n' for line in lines]
