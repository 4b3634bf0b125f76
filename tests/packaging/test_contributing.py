"""The diffs of CONTRIBUTING.md apply, the code is as the linter wants it, and what they add passes its tests.

The last needs minutes, and has the mark ``slow``: the commands of each section, and the contract subset after all.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / 'CONTRIBUTING.md').read_text(encoding='utf-8')
SECTIONS = re.findall(
    r'^## (Add [^\n]+)\n(?:(?!^## ).)*?^```diff\n(.*?)^```\n(?:(?!^## ).)*?^```sh\n(.*?)^```',
    TEXT,
    flags=re.MULTILINE | re.DOTALL,
)
PARTS = (
    'minichainer', 'tests', 'docs', 'benchmarks', 'examples', 'pytest_minichainer.py', 'pyproject.toml', 'setup.py',
    'Makefile', 'CHANGELOG.md', 'CONTRIBUTING.md', 'README.md', 'SECURITY.md',
)  # fmt: skip
pytestmark = pytest.mark.skipif(shutil.which('git') is None, reason='git is needed to apply a diff')


def test_each_kind_of_addition_has_its_diff() -> None:
    assert [title for title, *_ in SECTIONS] == ['Add an op', 'Add a link', 'Add an optimizer', 'Add an extension']
    assert TEXT.count('```diff') == TEXT.count('```sh') == len(SECTIONS)


def _run(
    command: list[str], cwd: Path, text: str | None = None, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, 'PYTHONPATH': str(cwd)}
    return subprocess.run(
        command, cwd=cwd, env=environment, input=text, capture_output=True, text=True, timeout=timeout
    )


def _copy(folder: Path) -> Path:
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part)
        else:
            shutil.copy(ROOT / part, folder / part)
    return folder


def _command(line: str) -> list[str]:
    program, *arguments = shlex.split(line)
    assert program == '.venv/bin/python'  # the environment of `make`
    xdist = ['-n', '0'] if arguments[:2] == ['-m', 'pytest'] else []
    return [sys.executable, *arguments, *xdist]


def _changed(diff: str) -> list[str]:
    return re.findall(r'^\+\+\+ b/(\S+)$', diff, flags=re.MULTILINE)


def _apply(diff: str, folder: Path) -> None:
    applied = _run(['git', 'apply', '-'], folder, diff)
    assert applied.returncode == 0, applied.stderr


sections = pytest.mark.parametrize(('title', 'diff', 'commands'), SECTIONS, ids=[title for title, *_ in SECTIONS])


@sections
def test_diff_applies_and_is_as_the_linter_wants_it(title: str, diff: str, commands: str, tmp_path: Path) -> None:
    skipped = shutil.ignore_patterns('*.so', '*.json', '*.npz', '__pycache__')
    for part in ('minichainer', 'tests'):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=skipped)
    shutil.copy(ROOT / 'pyproject.toml', tmp_path)
    _apply(diff, tmp_path)
    for check in (['check'], ['format', '--check']):
        judged = _run(_ruff() + check + _changed(diff), tmp_path)
        assert judged.returncode == 0, judged.stdout + judged.stderr


@pytest.mark.slow
@sections
def test_section_passes_its_tests(title: str, diff: str, commands: str, tmp_path: Path) -> None:
    copy = _copy(tmp_path)
    _apply(diff, copy)
    for line in commands.splitlines():
        done = _run(_command(line), copy)
        assert done.returncode == 0, f'{line}\n{done.stdout}{done.stderr}'
        assert 'pytest' not in line or re.search(r'\d+ passed', done.stdout), f'{line} ran no test'


@pytest.mark.slow
def test_the_contract_passes_after_all_of_them(tmp_path: Path) -> None:
    """What `make contract` runs; and tests of the source and of pages, which `make test` runs."""
    copy = _copy(tmp_path)
    for _, diff, commands in SECTIONS:
        _apply(diff, copy)
        for line in commands.splitlines():
            if ' docs/' in line:
                assert _run(_command(line), copy).returncode == 0
    for tests in (
        ['@tests/contract.txt', '-n', 'auto'],
        ['tests/test_architecture.py', 'tests/test_docs.py', 'tests/test_docstrings.py', '-n', '0'],
    ):
        done = _run([sys.executable, '-m', 'pytest', '-q', *tests], copy, timeout=3600)
        assert done.returncode == 0, done.stdout[-5000:] + done.stderr


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
