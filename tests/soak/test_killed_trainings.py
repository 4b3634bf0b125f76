"""A training that is killed at any moment and started again ends as the one that was never killed, bit for bit."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.soak.damage import same

PROGRAM = Path(__file__).with_name('killed_training.py')
STOP = 40

#: Iterator, format and writer; each of them occurs, with how many kills.
CASES = {
    'serial, npz, SimpleWriter': 6,
    'serial, hdf5, ThreadQueueWriter': 5,
    'private order, npz, ThreadWriter': 6,
    'private order, hdf5, SimpleWriter': 5,
    'threads, npz, ThreadQueueWriter': 6,
    'threads, hdf5, StandardWriter': 5,
    'threads, npz, ProcessWriter': 5,
    'processes, npz, ProcessQueueWriter': 6,
    'processes, hdf5, ProcessWriter': 5,
    'processes, npz, StandardWriter': 6,
}

pytestmark = pytest.mark.skipif(not hasattr(signal, 'SIGKILL'), reason='needs SIGKILL')


def start(case: str, folder: Path) -> subprocess.Popen[str]:
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join([root, os.environ.get('PYTHONPATH', '')])}
    command = [sys.executable, str(PROGRAM), case, str(folder), str(STOP)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def finish(case: str, folder: Path) -> dict[str, np.ndarray]:
    """What a run comes to that is not killed."""
    process = start(case, folder)
    process.communicate(timeout=300)
    assert process.returncode == 0
    with np.load(folder / 'outcome.npz') as npz:
        return {name: npz[name] for name in npz}


def kill(process: subprocess.Popen[str], iterations: int, pause: float) -> int:
    """Kills a run some time after an iteration has begun; returns 1 if it was still running."""
    assert process.stdout is not None
    for _ in range(iterations):
        process.stdout.readline()
    time.sleep(pause)
    was_running = process.poll() is None
    process.kill()
    process.wait()
    process.stdout.close()
    return int(was_running)


def check(case: str, kills: int, folder: Path, seed: int) -> int:
    """Compares runs that are killed, twice each, with the unbroken one; returns the number of kills."""
    if 'hdf5' in case:
        pytest.importorskip('h5py', reason='HDF5 files need h5py')
    rng = random.Random(seed)
    expected = finish(case, folder / 'whole')
    seconds = json.loads((folder / 'whole' / 'log').read_text())[-1]['elapsed_time']
    killed = resumed = 0
    while killed < kills:
        out = folder / f'killed {killed}'
        for _ in range(2):  # by the clock, so anywhere
            killed += kill(start(case, out), rng.randrange(1, STOP // 2), rng.uniform(0, 2 * seconds / STOP))
            resumed += any(path.name.startswith('snapshot') for path in out.iterdir())
        found = finish(case, out)
        differing = [name for name in expected if found[name].tobytes() != expected[name].tobytes()]
        assert same(found, expected), differing
    assert resumed > kills // 2
    return killed


def test_a_killed_training_is_resumed(tmp_path: Path) -> None:
    assert check('processes, npz, ThreadQueueWriter', 2, tmp_path, seed=0) >= 2


@pytest.mark.slow
@pytest.mark.parametrize('case', CASES)
def test_many_kills(case: str, tmp_path: Path) -> None:
    assert check(case, CASES[case], tmp_path, seed=1 + list(CASES).index(case)) >= CASES[case]


def test_there_are_enough_kills() -> None:
    assert sum(CASES.values()) >= 50
