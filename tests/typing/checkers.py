"""Runs mypy and pyright on a file of a user's, with a given interpreter, and says which lines they refuse."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Checker = Callable[[Path, str], dict[int, str]]
ROOT = Path(__file__).resolve().parents[2]


def _sources(python: str) -> list[str]:
    """Where this interpreter's package lies: checkers do not see through an editable installation's import hook."""
    return [str(ROOT)] if python == sys.executable else []


def _run(module: str, *arguments: str, cwd: Path, sources: list[str]) -> subprocess.CompletedProcess[str]:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f'{module} is not installed; `make lint` installs it')
    environment = {**os.environ, 'MYPYPATH': os.pathsep.join(sources)}
    command = [sys.executable, '-m', module, *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)


def mypy(file: Path, python: str = sys.executable) -> dict[int, str]:
    """Line: what mypy in strict mode says about it."""
    # One cache for all tests of a run: reading NumPy's types takes longest.
    options = ['--strict', '--python-executable', python, '--cache-dir', str(file.parents[1] / 'mypy_cache')]
    options += ['--follow-imports', 'silent', '--config-file', '', '--no-error-summary', '--hide-error-context']
    done = _run('mypy', *options, file.name, cwd=file.parent, sources=_sources(python))
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = re.findall(rf'^{re.escape(file.name)}:(\d+): error: (.*)$', done.stdout, flags=re.MULTILINE)
    return {int(line): message for line, message in found}


def pyright(file: Path, python: str = sys.executable) -> dict[int, str]:
    """Line: what pyright in standard mode says about it."""
    config = file.with_name('pyrightconfig.json')
    options = {'include': [file.name], 'typeCheckingMode': 'standard', 'extraPaths': _sources(python)}
    config.write_text(json.dumps(options), encoding='utf-8')
    done = _run(
        'basedpyright', '--outputjson', '--pythonpath', python, '-p', str(config), cwd=file.parent, sources=[]
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    diagnostics = json.loads(done.stdout)['generalDiagnostics']
    errors = [d for d in diagnostics if d['severity'] == 'error']
    return {d['range']['start']['line'] + 1: d['message'] for d in errors}


CHECKERS: list[Checker] = [mypy, pyright]
