#!/usr/bin/env python3
"""Builds the source archive, unpacks it, installs that into a fresh environment and runs the contract subset there.

Run by `make sdist-test`. The folder is temporary, and nothing of the checkout is on the path.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def build(folder: Path) -> Path:
    """The source archive, made in an environment of its own as pip makes it."""
    subprocess.run([sys.executable, '-m', 'build', '--sdist', '--outdir', str(folder), str(ROOT)], check=True)
    (archive,) = folder.glob('minichainer-*.tar.gz')
    return archive


def unpack(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as members:
        members.extractall(folder, filter='data')
    return folder / archive.name.removesuffix('.tar.gz')


def install(project: Path, folder: Path) -> Path:
    """A fresh environment with the project and what its tests need; returns its interpreter."""
    subprocess.run([sys.executable, '-m', 'venv', str(folder)], check=True)
    python = folder / 'bin' / 'python'
    pip = [str(python), '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
    subprocess.run([*pip, f'{project}[test]'], check=True)
    return python


def main() -> int:
    parser = argparse.ArgumentParser(description='Test the source archive.')
    parser.add_argument('--jobs', default='2', help='test processes that run side by side')
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        project = unpack(build(folder / 'dist'), folder)
        python = install(project, folder / 'environment')
        environment = {k: v for k, v in os.environ.items() if k != 'PYTHONPATH'}
        command = [str(python), '-m', 'pytest', '-q', '-n', args.jobs, '@tests/contract.txt']
        return subprocess.run(command, cwd=project, env=environment).returncode


if __name__ == '__main__':
    sys.exit(main())
