#!/usr/bin/env python3
"""Runs the suite without compiled parts on the newest Python, and parts of it on the others that are found.

    .ci/matrix.py            # all but the Python that runs this, on which `make test` runs the whole suite
    .ci/matrix.py 3.12       # this version alone
    .ci/matrix.py --list     # only say what would run

The newest runs all but what no build changes (tests/once.txt), with MINICHAINER_PURE=1, and measures which lines of
the package that reaches. The others have compiled parts: the oldest, with NumPy 1.26, runs tests of every room
(tests/installed.txt), those between what depends on the interpreter most (tests/between.txt). `make test-oldest` runs
the whole suite with NumPy 1.26. An interpreter is found as python3.X on the path, or below ~/.pyenv/versions; where
there is one alone, it is the newest. Environments stay in .venv-matrix.
What could not be tested is printed at the end; it is no failure.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / '.venv-matrix'
METADATA = [ROOT / name for name in ('pyproject.toml', 'setup.py', 'minichainer/_version.py')]
METADATA += sorted((ROOT / 'minichainer' / '_native').glob('*.[ch]'))
SUPPORTED = [(3, minor) for minor in range(10, 15)]
OLD_NUMPY, LAST_WITH_OLD_NUMPY = '1.26', (3, 12)
# From here on the interpreter itself says which lines run, at no cost; with a trace function tests take twice
# as long.
FIRST_WITH_MONITORING = (3, 12)
#: Percent of the lines that must be reached without compiled parts; tests/once.txt leaves out porting and datasets.
LEAST_COVERED = 89


@dataclass(frozen=True)
class Target:
    """A Python, and the NumPy to test it with; '' for the newest that there is."""

    version: tuple[int, int]
    python: str
    numpy: str = ''
    pure: bool = False

    def __str__(self) -> str:
        numpy = f' with NumPy {self.numpy}' if self.numpy else ''
        return f'Python {dotted(self.version)}{numpy}{", without compiled parts" if self.pure else ""}'

    @property
    def folder(self) -> Path:
        return ENVIRONMENTS / (dotted(self.version) + (f'-numpy{self.numpy}' if self.numpy else ''))

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, 'MINICHAINER_PURE': str(int(self.pure))}


def dotted(version: tuple[int, int]) -> str:
    return '.'.join(map(str, version))


def candidates(version: tuple[int, int]) -> Iterator[str]:
    """Where an interpreter of a version may be; a shim of pyenv is there also for versions that do not run."""
    on_path = shutil.which(f'python{dotted(version)}')
    if on_path is not None:
        yield on_path
    pyenv = Path(os.environ.get('PYENV_ROOT', Path.home() / '.pyenv'))
    yield from (str(found / 'bin' / 'python') for found in sorted(pyenv.glob(f'versions/{dotted(version)}.*')))


def runs(python: str, version: tuple[int, int]) -> bool:
    """Whether an interpreter starts, is of a version, and can make environments."""
    code = f'import sys, ensurepip, venv; sys.exit(sys.version_info[:2] != {version})'
    return subprocess.run([python, '-c', code], capture_output=True, stdin=subprocess.DEVNULL).returncode == 0


def interpreters() -> dict[tuple[int, int], str]:
    found = {version: next((p for p in candidates(version) if runs(p, version)), '') for version in SUPPORTED}
    return {version: python for version, python in found.items() if python}


def targets(found: dict[tuple[int, int], str], wanted: list[str]) -> list[Target]:
    """What to test, newest first: the named versions or all but this one; the oldest has NumPy 1.26."""
    here = sys.version_info[:2]
    versions = [v for v in found if (dotted(v) in wanted if wanted else v != here)] or [here]
    oldest = next((v for v in found if v <= LAST_WITH_OLD_NUMPY), None)
    newest = versions[-1]
    return [
        Target(v, found.get(v, sys.executable), OLD_NUMPY if v == oldest else '', pure=v == newest)
        for v in versions[::-1]
    ]


def prepare(target: Target) -> str:
    """Makes the environment, or fills it again if the metadata has changed; returns its interpreter."""
    python, stamp = target.folder / 'bin' / 'python', target.folder / '.ready'
    if stamp.exists() and all(stamp.stat().st_mtime > path.stat().st_mtime for path in METADATA):
        return str(python)
    shutil.rmtree(target.folder, ignore_errors=True)
    subprocess.run([target.python, '-m', 'venv', str(target.folder)], check=True)
    packages = ['-e', f'{ROOT}[test]', *([f'numpy=={target.numpy}.*'] if target.numpy else [])]
    pip = [str(python), '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
    subprocess.run([*pip, *packages], check=True, env={**target.environment, 'MINICHAINER_OPTIMIZE': '1'})
    stamp.touch()
    return str(python)


def passes(target: Target, jobs: str, tests: str) -> bool:
    """Whether a list of tests passes, and without compiled parts covers enough of the package."""
    start = time.monotonic()
    print(f'\n--- {target} ---', flush=True)
    python = prepare(target)
    ready = time.monotonic()
    command = [python, '-m', 'pytest', '-q', '-n', jobs, '-p', 'no:cacheprovider', f'@tests/{tests}.txt']
    environment = target.environment
    if target.pure:
        command += ['--cov', '--cov-report=term:skip-covered', f'--cov-fail-under={LEAST_COVERED}']
        environment['COVERAGE_CORE'] = 'sysmon' if target.version >= FIRST_WITH_MONITORING else 'ctrace'
    status = subprocess.run(command, cwd=ROOT, env=environment).returncode
    taken = f'{ready - start:.0f} s to set up, {time.monotonic() - ready:.0f} s of tests'
    # A negative status is the number of the signal that ended it.
    print(f'{target}: {f"FAILED with status {status}" if status else "passed"}; {taken}', flush=True)
    return status == 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description='Run the suite without compiled parts on the newest Python, and parts of it on the others.'
    )
    parser.add_argument('versions', nargs='*', metavar='3.X', help='versions to run; by default all but this one')
    parser.add_argument('--jobs', default='2', help='test processes that run side by side')
    parser.add_argument('--list', action='store_true', help='only say what would run')
    args = parser.parse_args()
    found = interpreters()
    chosen = targets(found, args.versions)
    if args.list:
        print('\n'.join(f'{target}: {target.python}' for target in chosen))
        return 0
    failed = []
    lists = ['once', *['between'] * (len(chosen) - 2), 'installed']
    for target, tests in zip(chosen, lists, strict=False):  # where there is one version, it is the newest
        if not passes(target, args.jobs, tests):
            failed.append(target)
    missing = [dotted(version) for version in SUPPORTED if version not in found]
    print(f'\nTested: {", ".join(map(str, chosen)) or "nothing"}')
    print(f'Not tested, no interpreter found: Python {", ".join(missing)}' if missing else 'No version was left out')
    print(f'Failed: {", ".join(map(str, failed))}' if failed else 'None failed')
    return bool(failed)


if __name__ == '__main__':
    sys.exit(main())
