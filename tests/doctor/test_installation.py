"""The command that doctor names builds the compiled parts, however the package was installed."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

import minichainer as chainer
from minichainer.doctor import installation

ROOT = Path(__file__).resolve().parents[2]
AGAIN = 'python -m pip install --force-reinstall --no-deps --no-cache-dir'
COMMIT = 'c0ffee'
GIT = {'url': 'https://a.org/m.git', 'vcs_info': {'vcs': 'git', 'commit_id': COMMIT}}
IN_A_CLONE = f'{AGAIN} .   (in a clone of minichainer)'


class Distribution:
    def __init__(self, origin: Any) -> None:
        self.origin = origin

    def read_text(self, name: str) -> str | None:
        assert name == 'direct_url.json'
        return None if self.origin is None else json.dumps(self.origin)


@pytest.mark.parametrize(
    ('origin', 'command'),
    [
        (None, f'{AGAIN} --no-binary minichainer minichainer=={chainer.__version__}'),
        (GIT, f"{AGAIN} 'minichainer @ git+https://a.org/m.git@{COMMIT}'"),
        ({'url': 'https://a.org/m.tar.gz', 'archive_info': {}}, f'{AGAIN} https://a.org/m.tar.gz'),
        ({'url': 'https://a.org/m.whl', 'archive_info': {}}, IN_A_CLONE),
        ({'url': 'file:///no/such/folder', 'dir_info': {}}, IN_A_CLONE),
        ({'url': ROOT.as_uri(), 'dir_info': {}}, f'{AGAIN} {shlex.quote(str(ROOT))}'),
    ],
)
def test_an_installed_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, origin: Any, command: str) -> None:
    monkeypatch.setattr(importlib.metadata, 'distribution', lambda name: Distribution(origin))
    assert installation.how_to_build(tmp_path / 'minichainer') == command


def test_a_package_that_is_only_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(name: str) -> Any:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, 'distribution', missing)
    assert installation.how_to_build(tmp_path / 'minichainer') == IN_A_CLONE


def test_a_clone(tmp_path: Path) -> None:
    (tmp_path / 'a clone').mkdir()
    (tmp_path / 'a clone' / 'setup.py').touch()
    command = installation.how_to_build(tmp_path / 'a clone' / 'minichainer')
    assert command == f"{AGAIN} -e '{tmp_path}/a clone'"


LITTER = shutil.ignore_patterns('.git', '.venv*', 'build', '*.so', '__pycache__', '.*_cache', 'tests', 'benchmarks')


@pytest.mark.slow
@pytest.mark.skipif(os.name != 'posix', reason='needs links and a compiler named cc')
@pytest.mark.parametrize('options', [[], ['-e']], ids=['installed', 'editable'])
def test_the_command_builds_them(tmp_path: Path, options: list[str]) -> None:
    """Installs without a compiler, asks doctor's module, and runs what it says."""
    clone = shutil.copytree(ROOT, tmp_path / 'a clone', ignore=LITTER)
    subprocess.run([sys.executable, '-m', 'venv', '--without-pip', tmp_path / 'env'], check=True)
    (python,) = (tmp_path / 'env').glob('*/python')
    folder = sysconfig.get_path('purelib', vars={'base': str(tmp_path / 'env')})
    for path in Path(sysconfig.get_path('purelib')).iterdir():  # linked, so that nothing is fetched
        if path.name.partition('-')[0].partition('.')[0] in ('numpy', 'pip', 'setuptools', '_distutils_hack'):
            Path(folder, path.name).symlink_to(path)
    Path(folder, 'other.py').touch()  # pip removes a folder whose files are all the package's, and the links with it
    faster = {'MINICHAINER_OPTIMIZE': '1', 'MINICHAINER_TAPE': '0', 'PIP_NO_BUILD_ISOLATION': '0'}
    environment = {k: v for k, v in os.environ.items() if k != 'PYTHONPATH'} | faster
    environment['PATH'] = f'{python.parent}{os.pathsep}{environment["PATH"]}'

    def run(command: list[str], **more: str) -> str:
        done = subprocess.run(command, cwd=tmp_path, env=environment | more, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    install = [str(python), '-m', 'pip', 'install', '--no-deps', *options, str(clone)]
    run(install, CC='no-such-compiler')
    state = 'from minichainer._native import library; print(library.kernels is not None)'
    assert run([str(python), '-c', state]) == 'False'
    how = 'from minichainer.doctor import installation; print(installation.how_to_build())'
    run(shlex.split(run([str(python), '-c', how])))
    assert run([str(python), '-c', state]) == 'True'
