"""The examples with ``--device @cupy:0``: they train there, and report what they report on a CPU."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / 'examples'
#: Short runs, and a number that they print at the end with the bounds that it must lie in.
RUNS = {
    'digits/train_digits.py': ('--epoch 2 --unit 20', r'([\d.]+) % of 360 held-out images', 85, 100),
    'text/train_charlm.py': (
        '--epoch 6 --batchsize 4 --characters 6000 --bproplen 32 --unit 20 --sample 20', r'held-out text: ([\d.]+)',
        1, 35,
    ),
    'vae/train_vae.py': ('--epoch 1 --unit 20 --no-pictures', r'([\d.]+) % of the pixels', 55, 100),
    'word2vec/train_word2vec.py': ('--epoch 1 --at-least 40', r'before, ([\d.]+) after', 1, 4.1),
}  # fmt: skip


@pytest.mark.gpu
@pytest.mark.parametrize('example', RUNS)
def test_example(example: str, tmp_path: Path) -> None:
    arguments, pattern, low, high = RUNS[example]
    command = [sys.executable, '-W', 'error', str(EXAMPLES / example), *arguments.split(), '--device', '@cupy:0']
    # The stand-in for CuPy, if it is on the path of this process; its entries may be relative.
    path = os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path if entry)
    env = {**os.environ, 'PYTHONPATH': path}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(pattern, done.stdout)
    assert found is not None and low <= float(found[1]) <= high, done.stdout
