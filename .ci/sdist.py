#!/usr/bin/env python3
"""Builds the source archive, the wheel of it with compiled parts, and runs tests of many rooms on that wheel.

Run by `make sdist-test`; tests/between.txt and tests/wheel.txt list the tests. The folder is temporary, and nothing
of the checkout is on the path: the tests are those of the archive, the package is the installed one. Also builds the
wheel without compiled parts, for any Python.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LARGEST_WHEEL = 3_000_000  # bytes


def build(folder: Path) -> Path:
    """The source archive, made in an environment of its own as pip makes it."""
    subprocess.run([sys.executable, '-m', 'build', '--sdist', '--outdir', str(folder), str(ROOT)], check=True)
    (archive,) = folder.glob('minichainer-*.tar.gz')
    return archive


def unpack(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as members:
        members.extractall(folder, filter='data')
    return folder / archive.name.removesuffix('.tar.gz')


def wheel(project: Path, folder: Path, pure: bool) -> Path:
    """The wheel of the unpacked archive, for this Python or for all."""
    environment = {**os.environ, 'MINICHAINER_PURE': str(int(pure))}
    command = [sys.executable, '-m', 'build', '--wheel', '--outdir', str(folder), str(project)]
    subprocess.run(command, check=True, env=environment)
    (built,) = folder.glob('minichainer-*.whl')
    return built


def check(built: Path, pure: bool) -> None:
    """Refuses a wheel of a wrong kind: too large, with sources in C, without what it should contain."""
    with zipfile.ZipFile(built) as archive:
        names = archive.namelist()
    compiled = [name for name in names if name.endswith(('.so', '.pyd'))]
    sources = [name for name in names if name.endswith(('.c', '.h', '.pyx', '.cpp'))]
    size = built.stat().st_size
    print(f'{built.name}: {size / 1e6:.2f} MB, compiled: {", ".join(compiled) or "nothing"}', flush=True)
    assert built.name.endswith('-py3-none-any.whl') == pure == (not compiled)
    assert not sources, sources
    assert size <= LARGEST_WHEEL


def python_files(built: Path) -> list[str]:
    with zipfile.ZipFile(built) as archive:
        return sorted(name for name in archive.namelist() if name.endswith('.py'))


def install(built: Path, folder: Path) -> Path:
    """A fresh environment with a wheel and what the tests need; returns its interpreter."""
    subprocess.run([sys.executable, '-m', 'venv', str(folder)], check=True)
    python = folder / 'bin' / 'python'
    pip = [str(python), '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
    subprocess.run([*pip, f'minichainer[test] @ {built.as_uri()}'], check=True)
    return python


def main() -> int:
    parser = argparse.ArgumentParser(description='Test the source archive and the wheels made of it.')
    parser.add_argument('--jobs', default='2', help='test processes that run side by side')
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        project = unpack(build(folder / 'dist'), folder)
        wheels = {pure: wheel(project, folder / f'wheel-{pure}', pure) for pure in (True, False)}
        for pure, built in wheels.items():
            check(built, pure)
        assert python_files(wheels[True]) == python_files(wheels[False])
        python = install(wheels[False], folder / 'environment')
        shutil.rmtree(project / 'minichainer')
        environment = {k: v for k, v in os.environ.items() if k != 'PYTHONPATH'}
        command = [str(python), '-m', 'pytest', '-q', '-n', args.jobs, '@tests/between.txt', '@tests/wheel.txt']
        return subprocess.run(command, cwd=project, env=environment).returncode


if __name__ == '__main__':
    sys.exit(main())
