"""An editable install is a path and no import hook, so type checkers see the package from any folder."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests.typing.checkers import CHECKERS, Checker

pytest.importorskip('setuptools', '77')

ROOT = Path(__file__).resolve().parents[2]
BUILD = 'import sys; from setuptools import build_meta; build_meta.build_editable(sys.argv[1])'
#: The last line is refused where the package is found, and only there.
CODE = """import minichainer
x: minichainer.Variable = minichainer.Variable(None)
y: int = minichainer.Variable(None)
"""


@pytest.fixture(scope='module')
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment with an editable install, and with the NumPy of this one."""
    folder = tmp_path_factory.mktemp('editable')
    command = [sys.executable, '-c', BUILD, str(folder)]
    pure = {**os.environ, 'MINICHAINER_PURE': '1'}
    done = subprocess.run(command, cwd=ROOT, env=pure, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob('*.whl')
    venv.create(folder / 'environment')
    (site,) = (folder / 'environment' / 'lib').glob('python*/site-packages')
    with zipfile.ZipFile(wheel) as contents:
        contents.extractall(site)
    (site / 'numpy.pth').write_text(str(Path(np.__file__).parents[1]), encoding='utf-8')
    return folder / 'environment' / 'bin' / 'python'


@pytest.mark.slow  # they read the whole package
@pytest.mark.parametrize('checker', CHECKERS, ids=lambda checker: checker.__name__)
def test_type_checkers_follow_it(checker: Checker, environment: Path, tmp_path: Path) -> None:
    file = tmp_path / 'use.py'
    file.write_text(CODE, encoding='utf-8')
    assert checker(file, python=str(environment))[file.name].keys() == {3}


def test_it_is_a_path_and_no_hook(environment: Path) -> None:
    (site,) = (environment.parents[1] / 'lib').glob('python*/site-packages')
    (path,) = site.glob('*minichainer*.pth')
    assert path.read_text(encoding='utf-8').strip() == str(ROOT)


def test_it_is_imported_from_the_checkout(environment: Path, tmp_path: Path) -> None:
    command = [str(environment), '-c', 'import minichainer; print(minichainer.__file__)']
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == str(ROOT / 'minichainer' / '__init__.py'), done.stderr
