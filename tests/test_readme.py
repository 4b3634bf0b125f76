"""The code in README.md runs as it stands, in the order a reader meets it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).resolve().parent.parent / 'README.md'
TEXT = README.read_text(encoding='utf-8')
BLOCKS = re.findall(r'^## ([^\n]+)\n(?:(?!^## ).)*?^```python\n(.*?)^```', TEXT, flags=re.MULTILINE | re.DOTALL)


def test_each_use_has_its_code() -> None:
    assert [title for title, _ in BLOCKS] == [
        'Is my gradient right?',
        'Train a small model',
        'Run Chainer code',
    ]
    assert TEXT.count('```python') == len(BLOCKS)


def test_each_extra_is_named() -> None:
    project = (README.parent / 'pyproject.toml').read_text(encoding='utf-8')
    table = project.partition('[project.optional-dependencies]')[2].partition('\n[')[0]
    extras = set(re.findall(r'^(\w+) = \[', table, flags=re.MULTILINE)) - {'precise', 'test', 'dev'}
    assert len(extras) > 8 and [name for name in sorted(extras) if f'`{name}`' not in TEXT] == []


def _run(code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, '-W', 'error', '-c', code]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(('title', 'code'), BLOCKS, ids=[title for title, _ in BLOCKS])
def test_code_runs(title: str, code: str, tmp_path: Path) -> None:
    done = _run(code, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_fault_that_the_text_speaks_of_is_caught(tmp_path: Path) -> None:
    right = 'grad_outputs[0] * (s + x * s * (1 - s))'
    code = BLOCKS[0][1]
    assert right in code
    done = _run(code.replace(right, 'grad_outputs[0] * s'), tmp_path)
    assert done.returncode == 1
    assert 'AssertionError' in done.stderr


def test_files_named_in_the_text_exist() -> None:
    named = re.findall(r'`((?:docs|examples|tests|benchmarks|minichainer)/[\w./]*|CHANGELOG\.md)`', TEXT)
    assert named
    missing = [name for name in named if not (README.parent / name).exists()]
    assert missing == []
