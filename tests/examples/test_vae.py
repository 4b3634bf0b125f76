"""The demo learns the digits, says what it reached, and draws pictures."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib import image

FOLDER = Path(__file__).resolve().parents[2] / 'examples' / 'vae'


def _run(cwd: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, '-W', 'error', str(FOLDER / 'train_vae.py'), *args]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=180)


def _train(cwd: Path, *args: str) -> str:
    done = _run(cwd, *args)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _reached(output: str) -> tuple[float, float, float]:
    found = re.search(r'Lower bound (\S+), log-likelihood (\S+) nats .* independent pixels reach (\S+)\.$', output)
    assert found is not None, output
    bound, likelihood, pixels = map(float, found.groups())
    return bound, likelihood, pixels


@pytest.mark.slow
@pytest.mark.parametrize('seed', [0, 1])
def test_default_run(tmp_path: Path, seed: int) -> None:
    output = _train(tmp_path, '--seed', str(seed))
    bound, likelihood, pixels = _reached(output.strip())
    assert pixels == pytest.approx(-24.44, abs=0.01)
    assert bound < likelihood
    assert likelihood > -17.6
    assert float(re.search(r'Trained for ([\d.]+) s', output).group(1)) <= 120  # type: ignore[union-attr]
    assert float(re.search(r'([\d.]+) % of the pixels of 360', output).group(1)) > 94.5  # type: ignore[union-attr]


@pytest.fixture(scope='module')
def short(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp('vae')
    return folder, _train(folder, '--epoch', '8', '--out', 'out')


def test_it_learns(short: tuple[Path, str]) -> None:
    bound, likelihood, pixels = _reached(short[1].strip())
    assert pixels + 3 < bound < likelihood


def test_pictures(short: tuple[Path, str]) -> None:
    folder, output = short
    for name in ('model.npz', 'samples.png', 'reconstructions.png'):
        assert str(Path('out') / name) in output
    for name in ('samples.png', 'reconstructions.png'):
        picture = image.imread(folder / 'out' / name)
        assert picture.shape == (480, 720, 4)
        assert np.ptp(picture[..., 0]) > 0.9
    cells = image.imread(folder / 'out' / 'samples.png')[3::6, 3::6, 0].reshape(8, 10, 12, 10)[:, 1:9, :, 1:9]
    assert cells.std(axis=(0, 2)).max() > 0.2, 'the samples differ'


def test_without_pictures(tmp_path: Path) -> None:
    output = _train(tmp_path, '--epoch', '1', '--unit', '10', '--no-pictures')
    assert sorted(p.name for p in (tmp_path / 'result').iterdir()) == ['log', 'model.npz']
    assert 'png' not in output


@pytest.mark.parametrize(
    ('args', 'message'),
    [
        (['--epoch', '0'], '--epoch must be at least 1'),
        (['--code', '-3'], '--code must be at least 1'),
        (['--seed', '-1'], '--seed must not be negative'),
    ],
)
def test_bad_arguments_are_named(tmp_path: Path, args: list[str], message: str) -> None:
    done = _run(tmp_path, *args)
    assert done.returncode == 2
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_it_says_what_to_install(tmp_path: Path) -> None:
    code = f"""
import importlib.util, sys
sys.path.insert(0, {str(FOLDER)!r})
import train_vae
importlib.util.find_spec = lambda name: None
train_vae.parse_args([])
"""
    done = subprocess.run([sys.executable, '-c', code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert 'pip install matplotlib, or use --no-pictures' in done.stderr
