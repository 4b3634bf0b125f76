"""Old programs: run unchanged, and ported, they give the figures that were recorded from the real Chainer."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import minichainer
from tests.compat.forked import Server

HERE = Path(__file__).parent
FOLDER = HERE / 'programs'
RECORDED = {
    name: entry
    for file in sorted(HERE.glob('programs*.json'))
    for name, entry in json.loads(file.read_text(encoding='utf-8')).items()
}
RTOL = 1e-4
FIGURE = re.compile(r'^(\S+) (-?\d\S*|-?nan|-?inf)$', re.MULTILINE)


def require(name: str) -> None:
    """Skips a program whose libraries are absent."""
    needs = re.search(r'^Needs: (.*)$', (FOLDER / name).read_text(encoding='utf-8'), re.MULTILINE)
    for library in re.findall(r'\w+', needs[1]) if needs else ():
        pytest.importorskip({'Pillow': 'PIL', 'PyYAML': 'yaml', 'SciPy': 'scipy'}.get(library, library))


def environment_of(folder: Path) -> dict[str, str]:
    """The environment of a program, with its data sets in a folder."""
    paths = [str(Path(minichainer.__file__).parents[1]), os.environ.get('PYTHONPATH', '')]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, paths)), OPENBLAS_NUM_THREADS='1')
    environment.update(CHAINER_DATASET_ROOT=str(folder), OMP_NUM_THREADS='1', MPLBACKEND='Agg', PYTHONHASHSEED='0')
    environment['CUDA_VISIBLE_DEVICES'] = ''  # the figures are those of a computer without a GPU
    return environment


def execute(arguments: list[str], folder: Path) -> str:
    """What Python prints; an assertion shows all of it."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder, env=environment_of(folder), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, f'{done.stdout[-3000:]}\n{done.stderr[-6000:]}'
    return done.stdout


@pytest.fixture(scope='module')
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(environment_of(tmp_path_factory.mktemp('datasets'))) as server:
        yield server


#: Figures that differ from Chainer's on purpose: docs/porting.md, "nodes of composed functions".
DIFFERENT = {'v3_vae.py': {'nodes': 73.0, 'edges': 78.0}}


def expected_of(name: str) -> dict[str, Any]:
    entry = RECORDED[name]
    return {**entry, 'figures': {**entry['figures'], **DIFFERENT.get(name, {})}}


def check_figures(entry: dict[str, Any], output: str) -> None:
    """Compares what was printed with what was recorded."""
    found = {name: float(value) for name, value in FIGURE.findall(output)}
    wrong = {
        name: (value, found.get(name))
        for name, value in entry['figures'].items()
        if not close(found.get(name, math.nan), float(value), entry.get('rtol', RTOL))
    }
    assert entry['figures'] and not wrong, f'recorded, got: {wrong}'


def close(a: float, b: float, rtol: float) -> bool:
    return math.isclose(a, b, rel_tol=rtol, abs_tol=rtol * 1e-2) or (math.isnan(a) and math.isnan(b))


def arguments_of(entry: dict[str, Any]) -> list[str]:
    return [*map(str, entry.get('arguments', []))]


def test_all_programs_are_recorded():
    assert sorted(RECORDED) == sorted(path.name for path in FOLDER.glob('v*.py'))


@pytest.mark.parametrize('name', sorted(RECORDED))
def test_an_unchanged_program_gives_the_recorded_figures(name, tmp_path, server):
    require(name)
    entry = expected_of(name)
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    legacy = ['--legacy', entry['legacy']] if entry.get('legacy') else []
    done = server.run(tmp_path, 'run', *legacy, name, *arguments_of(entry))
    assert done.returncode == 0, f'{done.stdout[-3000:]}\n{done.stderr[-6000:]}'
    check_figures(entry, done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize('name', sorted(RECORDED))
def test_a_ported_program_gives_them_without_the_alias(name, tmp_path):
    pytest.importorskip('libcst', reason='the extra "port" is not installed')
    require(name)
    entry = expected_of(name)
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    file = tmp_path / name
    execute(['-m', 'minichainer.compat', 'port', '--write', name], tmp_path)
    ported = file.read_text(encoding='utf-8')
    check_figures(entry, execute([name, *arguments_of(entry)], tmp_path))
    execute(['-m', 'minichainer.compat', 'port', '--write', name], tmp_path)
    assert file.read_text(encoding='utf-8') == ported
