"""The source archive holds the whole project, the wheel the package and nothing else, and the metadata is right."""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email.message import Message
from pathlib import Path

import pytest

import minichainer

pytest.importorskip('setuptools', '77')

ROOT = Path(__file__).resolve().parents[2]
#: What may lie about in a checkout and belongs to nobody else.
LITTER = (
    '.git', '.venv*', 'result', 'build', 'dist', '*.egg-info', '__pycache__', '.*_cache', '.hypothesis', '.coverage*',
    '*.pyc', '*.so', '.DS_Store', '.claude', '.idea', '.vscode', 'htmlcov',
)  # fmt: skip
#: Of the project, but of no use without its repository.
LEFT_OUT = ('.github/', '.gitattributes')
COMPILED, IN_C = ('.so', '.pyd'), ('.c', '.h')
BUILD = 'import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])(sys.argv[2])'


def _build(kind: str, project: Path, folder: Path, **variables: str) -> Path:
    folder.mkdir()
    command = [sys.executable, '-c', BUILD, f'build_{kind}', str(folder)]
    environment = {**os.environ, 'MINICHAINER_PURE': '0', **variables}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.iterdir()
    return built


def _files(folder: Path) -> Iterator[str]:
    return (path.relative_to(folder).as_posix() for path in folder.rglob('*') if path.is_file())


@pytest.fixture(scope='module')
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project without what runs have left behind."""
    folder = tmp_path_factory.mktemp('checkout') / 'minichainer'
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*LITTER))
    return folder


@pytest.fixture(scope='module')
def unpacked(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive of it, unpacked."""
    folder = tmp_path_factory.mktemp('sdist')
    archive = _build('sdist', checkout, folder / 'dist')
    with tarfile.open(archive) as members:
        members.extractall(folder, filter='data')
    return folder / f'minichainer-{minichainer.__version__}'


@pytest.fixture(scope='module')
def wheel(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel for any Python, built from the source archive as pip builds it."""
    folder = tmp_path_factory.mktemp('wheel') / 'dist'
    return zipfile.ZipFile(_build('wheel', unpacked, folder, MINICHAINER_PURE='1'))


@pytest.fixture(scope='module')
def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = [name for name in wheel.namelist() if name.endswith('.dist-info/METADATA')]
    return email.message_from_bytes(wheel.read(name))


def test_source_archive_is_the_whole_project(checkout: Path, unpacked: Path) -> None:
    expected = {name for name in _files(checkout) if not name.startswith((*LEFT_OUT, 'minichainer.egg-info/'))}
    made = {'PKG-INFO', 'setup.cfg'}
    found = {name for name in _files(unpacked) if not name.startswith('minichainer.egg-info/')} - made
    assert found == expected
    for name in (
        'README.md',
        'LICENSE',
        'CHANGELOG.md',
        'CONTRIBUTING.md',
        'Makefile',
        'pyproject.toml',
        'tests/conftest.py',
    ):
        assert name in found


def _contents(wheel: zipfile.ZipFile) -> set[str]:
    """What a wheel has but for compiled parts and metadata."""
    return {name for name in wheel.namelist() if '.dist-info/' not in name and not name.endswith(COMPILED)}


def test_wheel_is_the_package_and_the_plugin_of_pytest(unpacked: Path, wheel: zipfile.ZipFile) -> None:
    package = {f'minichainer/{name}' for name in _files(unpacked / 'minichainer') if not name.endswith(IN_C)}
    assert _contents(wheel) == {'pytest_minichainer.py', *package}
    assert 'minichainer/py.typed' in _contents(wheel)


def test_that_wheel_is_for_any_python(wheel: zipfile.ZipFile) -> None:
    assert str(wheel.filename).endswith('-py3-none-any.whl')
    assert [name for name in wheel.namelist() if name.endswith(COMPILED)] == []


@pytest.mark.parametrize(  # the compiled one is slow, and built by `make sdist-test` too
    ('compiler', 'is_compiled'), [('no-such-compiler', False), pytest.param('cc', True, marks=pytest.mark.slow)]
)
def test_wheel_for_this_python(
    unpacked: Path, wheel: zipfile.ZipFile, tmp_path: Path, compiler: str, is_compiled: bool
) -> None:
    """It is built even where nothing can be compiled, and then is the wheel for any Python."""
    project = shutil.copytree(unpacked, tmp_path / 'project', ignore=shutil.ignore_patterns('build', '*.so'))
    built = _build('wheel', project, tmp_path / 'dist', **({} if is_compiled else {'CC': compiler}))
    assert built.name.endswith('-py3-none-any.whl') != is_compiled
    with zipfile.ZipFile(built) as archive:
        assert _contents(archive) == _contents(wheel)
        assert any(name.endswith(COMPILED) for name in archive.namelist()) == is_compiled
        (described,) = [name for name in archive.namelist() if name.endswith('.dist-info/WHEEL')]
        assert f'Root-Is-Purelib: {str(not is_compiled).lower()}\n' in archive.read(described).decode()


def test_wheel_has_the_licence_and_the_entry_point(wheel: zipfile.ZipFile) -> None:
    information = {name.partition('.dist-info/')[2] for name in wheel.namelist() if '.dist-info/' in name}
    assert {'licenses/LICENSE', 'METADATA', 'WHEEL', 'RECORD', 'entry_points.txt'} <= information


def test_metadata_names_version_pythons_and_places(metadata: Message) -> None:
    assert metadata['Version'] == minichainer.__version__
    assert metadata['Requires-Python'] == '>=3.10'
    pythons = re.findall(r'Python :: (3\.\d+)', '\n'.join(metadata.get_all('Classifier', [])))
    assert pythons == ['3.10', '3.11', '3.12', '3.13', '3.14']
    places = dict(url.split(', ') for url in metadata.get_all('Project-URL', []))
    assert {'Homepage', 'Documentation', 'Changelog', 'Issues'} == places.keys()


def test_run_time_needs_little(metadata: Message) -> None:
    needed = [line for line in metadata.get_all('Requires-Dist', []) if 'extra ==' not in line]
    assert [re.split(r'[<>=]', line)[0] for line in needed] == ['numpy', 'scipy', 'mpmath']
