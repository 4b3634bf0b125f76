"""Runs mypy and pyright on files of a user's, with a given interpreter, and says which lines they refuse."""

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

#: Of files of one folder, by their names: what it says about each line.
Checker = Callable[..., dict[str, dict[int, str]]]
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


def mypy(*files: Path, python: str = sys.executable) -> dict[str, dict[int, str]]:
    """What mypy in strict mode says."""
    folder, names = files[0].parent, [file.name for file in files]
    # One cache for all tests of a run: reading NumPy's types takes longest.
    options = ['--strict', '--python-executable', python, '--cache-dir', str(folder.parent / 'mypy_cache')]
    options += ['--follow-imports', 'silent', '--config-file', '', '--no-error-summary', '--hide-error-context']
    done = _run('mypy', *options, *names, cwd=folder, sources=_sources(python))
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[str, dict[int, str]] = {name: {} for name in names}
    for name, line, message in re.findall(r'^([^:]+):(\d+): error: (.*)$', done.stdout, flags=re.MULTILINE):
        found[name][int(line)] = message
    return found


def pyright(*files: Path, python: str = sys.executable) -> dict[str, dict[int, str]]:
    """What pyright in standard mode says."""
    folder, names = files[0].parent, [file.name for file in files]
    config = folder / 'pyrightconfig.json'
    options = {'include': names, 'typeCheckingMode': 'standard', 'extraPaths': _sources(python)}
    config.write_text(json.dumps(options), encoding='utf-8')
    done = _run('basedpyright', '--outputjson', '--pythonpath', python, '-p', str(config), cwd=folder, sources=[])
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[str, dict[int, str]] = {name: {} for name in names}
    for d in json.loads(done.stdout)['generalDiagnostics']:
        if d['severity'] == 'error':
            found[Path(d['file']).name][d['range']['start']['line'] + 1] = d['message']
    return found


CHECKERS: list[Checker] = [mypy, pyright]
