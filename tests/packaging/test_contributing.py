"""The diffs of CONTRIBUTING.md apply, what they add passes its tests, and the code is as the linter wants it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / 'CONTRIBUTING.md').read_text(encoding='utf-8')
SECTIONS = re.findall(
    r'^## (Add [^\n]+)\n(?:(?!^## ).)*?^```diff\n(.*?)^```\n(?:(?!^## ).)*?^```sh\n(.*?)^```',
    TEXT,
    flags=re.MULTILINE | re.DOTALL,
)
PARTS = ('minichainer', 'tests', 'docs', 'pytest_minichainer.py', 'pyproject.toml', 'CHANGELOG.md', 'README.md')
pytestmark = pytest.mark.skipif(shutil.which('git') is None, reason='git is needed to apply a diff')


def test_each_kind_of_addition_has_its_diff() -> None:
    assert [title for title, *_ in SECTIONS] == ['Add an op', 'Add a link', 'Add an optimizer', 'Add an extension']
    assert TEXT.count('```diff') == TEXT.count('```sh') == len(SECTIONS)


def _run(command: list[str], cwd: Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, 'PYTHONPATH': str(cwd)}
    return subprocess.run(command, cwd=cwd, env=environment, input=text, capture_output=True, text=True, timeout=300)


def _copy(folder: Path) -> Path:
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part)
        else:
            shutil.copy(ROOT / part, folder / part)
    return folder


def _command(line: str) -> list[str]:
    program, *arguments = shlex.split(line)
    assert program == 'python'
    xdist = ['-n', '0'] if arguments[:2] == ['-m', 'pytest'] else []
    return [sys.executable, *arguments, *xdist]


def _sections() -> Iterator[Any]:
    for title, *rest in SECTIONS:  # the first has the table of all functions collected
        yield pytest.param(title, *rest, id=title, marks=[pytest.mark.slow] if title == 'Add an op' else [])


@pytest.mark.parametrize(('title', 'diff', 'commands'), list(_sections()))
def test_diff_applies_and_passes_its_tests(title: str, diff: str, commands: str, tmp_path: Path) -> None:
    copy = _copy(tmp_path)
    applied = _run(['git', 'apply', '-'], copy, diff)
    assert applied.returncode == 0, applied.stderr
    for line in commands.splitlines():
        done = _run(_command(line), copy)
        assert done.returncode == 0, f'{line}\n{done.stdout}{done.stderr}'
        assert 'pytest' not in line or re.search(r'\d+ passed', done.stdout), f'{line} ran no test'
    changed = re.findall(r'^\+\+\+ b/(\S+)$', diff, flags=re.MULTILINE)
    for check in (['check'], ['format', '--check']):
        judged = _run(_ruff() + check + changed, copy)
        assert judged.returncode == 0, judged.stdout + judged.stderr


def _ruff() -> list[str]:
    """The command ruff, of this environment; one that does nothing where it is not installed."""
    beside = Path(sys.executable).with_name('ruff')
    return [str(beside)] if beside.exists() else [sys.executable, '-c', 'pass']


def test_files_and_commands_named_in_the_text_exist() -> None:
    prose = re.sub(r'^```.*?^```', '', TEXT, flags=re.MULTILINE | re.DOTALL)
    named = re.findall(r'`((?:docs|tests|minichainer)/[\w./]*|CHANGELOG\.md)`', prose)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
    targets = set(re.findall(r'^([a-z-]+):', (ROOT / 'Makefile').read_text(encoding='utf-8'), flags=re.MULTILINE))
    commands = re.findall(r'(?:`|^ {4})make ([a-z-]+(?: [a-z-]+)*)', prose, flags=re.MULTILINE)
    assert commands
    assert {word for command in commands for word in command.split()} <= targets
