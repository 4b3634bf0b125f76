"""The language model learns: its perplexity falls, and its sample is made of the text's characters."""

from __future__ import annotations

import json
import re
import string
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / 'examples' / 'text'
TINY = ('--characters', '12000', '--unit', '24', '--bproplen', '16', '--batchsize', '16', '--sample', '50')


def _run(cwd: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, '-W', 'error', str(FOLDER / 'train_charlm.py'), *args]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)


def _train(cwd: Path, *args: str) -> str:
    done = _run(cwd, *TINY, *args)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _number(output: str, words: str) -> float:
    found = re.search(rf'{words}:? ([\d.]+\d)', output)
    assert found is not None, output
    return float(found.group(1))


def test_perplexity_falls_below_that_of_counting(tmp_path: Path) -> None:
    output = _train(tmp_path, '--epoch', '5', '--out', 'result')
    entries = json.loads((tmp_path / 'result' / 'log').read_text(encoding='utf-8'))
    of_training = [entry['perplexity'] for entry in entries]
    of_held_out = [entry['validation/perplexity'] for entry in entries]
    assert len(entries) == 5
    assert of_training == sorted(of_training, reverse=True)
    assert of_held_out[-1] < 0.75 * of_held_out[0]  # 0.68 with seeds 0 to 2.
    np.testing.assert_allclose(of_training, np.exp([entry['main/loss'] for entry in entries]))

    held_out = _number(output, 'Perplexity of the held-out text')
    assert held_out == pytest.approx(of_held_out[-1], rel=0.05)
    assert _number(output, 'Perplexity of the text that it has learned from') < held_out
    assert held_out < 0.7 * _number(output, 'Guessed by frequency')  # 14.3 to 14.7 against 24.5.
    sample = re.search(r'--- sample ---\n(.*)\n--- end of sample ---', output, re.DOTALL)
    assert sample is not None and 30 <= len(sample.group(1)) <= 50


def test_a_run_goes_on_from_a_snapshot_and_is_repeatable(tmp_path: Path) -> None:
    first = _train(tmp_path, '--epoch', '1', '--out', 'a')
    assert _train(tmp_path, '--epoch', '1', '--out', 'b').splitlines()[-3:] == first.splitlines()[-3:]
    _train(tmp_path, '--epoch', '2', '--out', 'a', '--resume', 'a/snapshot.npz')
    entries = json.loads((tmp_path / 'a' / 'log').read_text(encoding='utf-8'))
    assert [entry['epoch'] for entry in entries] == [1, 2]
    assert entries[1]['validation/perplexity'] < entries[0]['validation/perplexity']


def test_the_text_is_the_book() -> None:
    text = (FOLDER / 'alice.txt').read_text(encoding='ascii')
    assert set(text) - set(string.ascii_letters + string.punctuation) == {' ', '\n'}
    assert text.count('CHAPTER ') == 12
    assert 140_000 < len(text) < 150_000


@pytest.mark.parametrize(
    ('args', 'words'),
    [
        (('--epoch', '0'), '--epoch must be at least 1'),
        (('--characters', '100'), '--characters must be at least 40 times --bproplen, 640'),
        (('--resume', 'nowhere.npz'), 'there is no file nowhere.npz'),
        (('--seed', '-1'), 'must not be negative'),
    ],
)
def test_arguments_that_make_no_sense_are_refused(tmp_path: Path, args: tuple[str, ...], words: str) -> None:
    done = _run(tmp_path, *TINY, *args)
    assert done.returncode == 2 and words in done.stderr
