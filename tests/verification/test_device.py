"""Gradients of arrays of another module than NumPy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import minichainer
import minichainer.functions as F
from minichainer.backends import cuda
from minichainer.gradient_check import check_backward, check_gradients


def test_nothing_is_converted_to_numpy_in_silence():
    """The script runs in its own process, because CuPy is looked for once, at import."""
    script = Path(__file__).with_name('on_a_device.py')
    root = Path(minichainer.__file__).parent.parent
    done = subprocess.run([sys.executable, '-W', 'error', script], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == 'all right\n'


@pytest.mark.gpu
@pytest.mark.parametrize('dtype', 'efd')
def test_on_a_gpu(dtype):
    x, gy = (cuda.cupy.asarray(np.random.RandomState(s).uniform(-1, 1, (3, 4)).astype(dtype)) for s in (1, 2))
    assert check_gradients(F.tanh, x, order=2, seed=0)
    check_backward(F.tanh, x, gy)
