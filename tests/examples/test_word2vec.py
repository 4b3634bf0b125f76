"""The example learns vectors of words, and says what it reached."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / 'examples' / 'word2vec'


def _run(cwd: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, '-W', 'error', str(FOLDER / 'train_word2vec.py'), *args]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=180)


def _train(cwd: Path, *args: str) -> str:
    done = _run(cwd, *args)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _losses(output: str) -> tuple[float, float, float]:
    found = re.search(
        r'held-out words: (\S+) before, (\S+) after training; the best constant reaches (\S+)\.$', output
    )
    assert found is not None, output
    before, after, constant = map(float, found.groups())
    return before, after, constant


@pytest.mark.slow
@pytest.mark.parametrize('seed', ['0', '1'])
def test_default_run(tmp_path: Path, seed: str) -> None:
    output = _train(tmp_path, '--seed', seed)
    before, after, constant = _losses(output.strip())
    assert before == pytest.approx(6 * np.log(2), abs=1e-3)
    assert constant == pytest.approx(np.log(6) + 5 * np.log(6 / 5), abs=1e-3)
    assert after < constant - 0.12
    assert float(re.search(r'Trained for ([\d.]+) s', output).group(1)) <= 120  # type: ignore[union-attr]
    similar = re.search(r'said: (.*)', output).group(1).split()  # type: ignore[union-attr]
    assert {'replied', 'asked', 'cried', 'added', 'remarked', 'exclaimed', 'thought'} & set(similar)


@pytest.mark.parametrize('model', ['skipgram', 'cbow'])
def test_it_learns(tmp_path: Path, model: str) -> None:
    output = _train(tmp_path, '--model', model, '--epoch', '6', '--unit', '20', '--at-least', '10', '--out', 'out')
    before, after, constant = _losses(output.strip())
    assert after < constant < before
    lines = (tmp_path / 'out' / 'vectors.txt').read_text(encoding='ascii').splitlines()
    assert lines[0].startswith('the ') and {len(line.split()) for line in lines} == {21}
    assert sorted(path.name for path in (tmp_path / 'out').iterdir()) == ['log', 'model.npz', 'vectors.txt']


@pytest.mark.parametrize(
    ('args', 'message'),
    [
        (['--epoch', '0'], '--epoch must be at least 1'),
        (['--at-least', '0'], '--at-least must be at least 1'),
        (['--seed', '-1'], '--seed must not be negative'),
        (['--model', 'glove'], 'invalid choice'),
    ],
)
def test_bad_arguments_are_named(tmp_path: Path, args: list[str], message: str) -> None:
    done = _run(tmp_path, *args)
    assert done.returncode == 2
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []
