"""A long run needs no more memory than a short one: the resident memory of a process that only trains.

The log is written at each epoch. (One that is written at each iteration grows by an entry each time, as it must.)
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import io, json, os, sys
import numpy as np
import minichainer as chainer, minichainer.functions as F, minichainer.links as L
from minichainer import training
from minichainer.training import extensions

first, last, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
sizes = {}


class Nowhere(io.StringIO):
    def isatty(self):
        return True

    def write(self, text):
        return len(text)


def measure(trainer):
    if trainer.updater.iteration in (first, last):
        with open('/proc/self/statm') as file:
            sizes[trainer.updater.iteration] = int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')


random = np.random.RandomState(0)
data = chainer.datasets.TupleDataset(
    random.standard_normal((2000, 4)).astype(np.float32), random.randint(0, 3, 2000).astype(np.int32)
)
model = L.Classifier(chainer.Sequential(L.Linear(4, 8), F.relu, F.dropout, L.Linear(8, 3)))
updater = training.StandardUpdater(
    chainer.iterators.SerialIterator(data, 4), chainer.optimizers.Adam().setup(model)
)
held_out = chainer.iterators.SerialIterator(data[:20], 10, repeat=False, shuffle=False)
trainer = training.Trainer(updater, (last, 'iteration'), out)
trainer.extend(extensions.Evaluator(held_out, model))
trainer.extend(extensions.LogReport())
trainer.extend(extensions.PrintReport(['epoch', 'main/loss'], out=Nowhere()))
trainer.extend(extensions.ProgressBar(update_interval=10, out=Nowhere()))
trainer.extend(extensions.snapshot(n_retains=1), trigger=(5, 'epoch'))
trainer.extend(measure, trigger=(1, 'iteration'), priority=-1000)
trainer.run()
print(json.dumps([sizes[first], sizes[last]]))
"""


def growth(out: Path, first: int, last: int) -> float:
    """MB by which a training grows between two iterations."""
    if not Path('/proc/self/statm').exists():
        pytest.skip('the system does not tell the resident memory of a process')
    command = [sys.executable, '-c', PROGRAM, str(first), str(last), str(out)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    before, after = json.loads(found.stdout)
    return (after - before) / 1e6


def test_a_training_does_not_grow(tmp_path: Path) -> None:
    assert growth(tmp_path, 500, 1500) < 1


@pytest.mark.slow
def test_a_hundred_thousand_iterations_take_no_more_memory_than_ten_thousand(tmp_path: Path) -> None:
    assert growth(tmp_path, 10_000, 100_000) < 5
