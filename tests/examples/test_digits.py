"""The demo learns, a resumed run equals an uninterrupted one, and the check tells right from wrong."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / 'examples' / 'digits'


def _run(cwd: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, '-W', 'error', *args]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)


def _train(cwd: Path, *args: str) -> str:
    done = _run(cwd, str(FOLDER / 'train_digits.py'), *args)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _log(folder: Path) -> list[dict[str, float]]:
    entries = json.loads((folder / 'log').read_text(encoding='utf-8'))
    return [{k: v for k, v in entry.items() if k != 'elapsed_time'} for entry in entries]


@pytest.mark.parametrize('seed', [0, *[pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2)]])
def test_default_run_reaches_98_percent(tmp_path: Path, seed: int) -> None:
    output = _train(tmp_path, '--seed', str(seed), '--out', 'result')
    percent, images = re.search(r'([\d.]+) % of (\d+) held-out images', output).groups()  # type: ignore[union-attr]
    seconds = re.search(r'Trained for ([\d.]+) s', output).group(1)  # type: ignore[union-attr]
    assert int(images) == 360
    assert float(percent) >= 98
    assert float(seconds) <= 60
    assert _log(tmp_path / 'result')[-1]['epoch'] == 20


@pytest.fixture(scope='module')
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp('digits')
    return folder, _train(folder, '--epoch', '3', '--unit', '20', '--out', 'whole')


def test_it_prints_a_table_and_where_things_are(uninterrupted: tuple[Path, str]) -> None:
    folder, output = uninterrupted
    assert re.search(r'epoch +main/loss +main/accuracy +validation/main/loss', output)
    for name in ('log', 'snapshot.npz', 'loss.png', 'accuracy.png'):
        assert str(Path('whole') / name) in output
        assert (folder / 'whole' / name).is_file()


def test_resumed_run_equals_uninterrupted_one(uninterrupted: tuple[Path, str]) -> None:
    folder, _ = uninterrupted
    _train(folder, '--epoch', '1', '--unit', '20', '--out', 'parts')
    resume = str(Path('parts') / 'snapshot.npz')
    _train(folder, '--epoch', '3', '--unit', '20', '--out', 'parts', '--resume', resume)
    assert _log(folder / 'parts') == _log(folder / 'whole')
    with (
        np.load(folder / 'parts' / 'snapshot.npz') as parts,
        np.load(folder / 'whole' / 'snapshot.npz') as whole,
    ):
        weights = [name for name in whole.files if '/predictor/' in name]
        assert len(weights) == 10 * 3 + 10  # Parameters, and Adam's m, v and t for each.
        for name in weights:
            np.testing.assert_array_equal(parts[name], whole[name], err_msg=name)


def test_another_seed_is_another_run(uninterrupted: tuple[Path, str]) -> None:
    folder, _ = uninterrupted
    _train(folder, '--epoch', '1', '--unit', '20', '--out', 'other', '--seed', '1')
    assert _log(folder / 'other')[0]['main/loss'] != _log(folder / 'whole')[0]['main/loss']


@pytest.mark.parametrize(
    ('args', 'message'),
    [
        (['--epoch', '0'], '--epoch must be at least 1'),
        (['--batchsize', '-3'], '--batchsize must be at least 1'),
        (['--seed', '-1'], '--seed must not be negative'),
        (['--resume', 'nowhere.npz'], '--resume: there is no file nowhere.npz'),
    ],
)
def test_bad_arguments_are_named(tmp_path: Path, args: list[str], message: str) -> None:
    done = _run(tmp_path, str(FOLDER / 'train_digits.py'), *args)
    assert done.returncode == 2
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_gradient_check_passes_the_right_and_catches_the_wrong(tmp_path: Path) -> None:
    done = _run(tmp_path, str(FOLDER / 'check_gradients.py'))
    assert done.returncode == 0, done.stdout + done.stderr
    right, also_right, wrong = done.stdout.splitlines()[:3]
    assert right.startswith('NormalizedLinear: ') and right.endswith('are right.')
    assert also_right.startswith('Swish: ')
    assert wrong.startswith('BrokenSwish: its gradient is wrong')
    assert len(done.stdout.splitlines()) > 5, 'the message of the check is shown'


def test_gradient_check_script_fails_if_the_fault_passes(tmp_path: Path) -> None:
    code = f"""
import sys
sys.path.insert(0, {str(FOLDER)!r})
import check_gradients
check_gradients.BrokenSwish.backward = check_gradients.Swish.backward
sys.exit(check_gradients.main())
"""
    done = _run(tmp_path, '-c', code)
    assert done.returncode == 1
    assert 'passed although the gradient is wrong' in done.stderr
