"""A program that trains, resumes by itself, and is killed by its tests; arguments: CASE FOLDER STOP."""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import iterators, optimizers, serializers, training
from minichainer.training import extensions, triggers
from minichainer.training.extensions import snapshot_writers


class OwnWriter(snapshot_writers.StandardWriter):
    """A writer of a user, on the base class."""

    def create_executor(self) -> Any:
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(1)


WRITERS: dict[str, Any] = {
    'SimpleWriter': snapshot_writers.SimpleWriter,
    'StandardWriter': OwnWriter,
    'ThreadWriter': snapshot_writers.ThreadWriter,
    'ThreadQueueWriter': snapshot_writers.ThreadQueueWriter,
    'ProcessWriter': snapshot_writers.ProcessWriter,
    'ProcessQueueWriter': snapshot_writers.ProcessQueueWriter,
}
SAVERS = {'npz': serializers.save_npz, 'hdf5': serializers.save_hdf5}
ITERATORS: dict[str, Any] = {
    'serial': lambda data: iterators.SerialIterator(data, 8),
    'private order': lambda data: iterators.SerialIterator(
        data, 8, order_sampler=iterators.ShuffleOrderSampler(np.random.default_rng(3))
    ),
    'threads': lambda data: iterators.MultithreadIterator(data, 8, n_threads=2),
    'processes': lambda data: iterators.MultiprocessIterator(data, 8, n_processes=2, n_prefetch=2),
}


class Noisy:
    """A dataset whose examples are changed at random."""

    def __init__(self, data: Any, is_random: bool) -> None:
        self._data = data
        self._is_random = is_random

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, index: int) -> Any:
        x, t = self._data[index]
        return (x + np.float32(np.random.normal(0, 0.1)) if self._is_random else x), t


class Net(chainer.Chain):
    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(None, 20)
            self.bn = L.BatchNormalization(20)
            self.l2 = L.Linear(20, 3)

    def forward(self, x: Any) -> Any:
        return self.l2(F.dropout(F.relu(self.bn(self.l1(x))), 0.3))


def make_data(count: int, seed: int) -> Any:
    rng = np.random.RandomState(seed)
    x = rng.standard_normal((count, 6)).astype(np.float32)
    return chainer.datasets.TupleDataset(x, (x[:, 0] > 0).astype(np.int32) + (x[:, 1] > 1).astype(np.int32))


def make_trainer(case: str, out: str, stop: int) -> training.Trainer:
    """A trainer; ``case`` has the names of an iterator, a format and a writer."""
    kind, file_format, writer = case.split(', ')
    model = L.Classifier(Net())
    data = Noisy(make_data(60, 1), is_random=kind != 'threads')  # threads would draw in any order
    updater = training.StandardUpdater(ITERATORS[kind](data), optimizers.Adam(0.01).setup(model))
    end = triggers.EarlyStoppingTrigger((1, 'epoch'), 'validation/main/loss', 50, max_trigger=(stop, 'iteration'))
    trainer = training.Trainer(updater, end, out)
    validation = iterators.SerialIterator(make_data(20, 2), 8, repeat=False, shuffle=False)
    trainer.extend(extensions.Evaluator(validation, model))
    saving = WRITERS[writer](SAVERS[file_format])
    trainer.extend(extensions.snapshot(writer=saving, autoload=True, n_retains=3), trigger=(3, 'iteration'))
    best = triggers.MaxValueTrigger('validation/main/accuracy')
    trainer.extend(extensions.snapshot_object(model, 'best.npz'), trigger=best)
    trainer.extend(extensions.ExponentialShift('alpha', 0.95), trigger=(5, 'iteration'))
    trainer.extend(extensions.observe_lr())
    trainer.extend(extensions.LogReport(trigger=(2, 'iteration')))
    return trainer


def outcome(trainer: training.Trainer) -> dict[str, np.ndarray]:
    """The whole state but the elapsed time, and what is in the files for people."""
    serializer = serializers.DictionarySerializer()
    serializer.save(trainer)
    state: dict[str, np.ndarray] = {
        name: value for name, value in serializer.target.items() if '_log' not in name and 'elapsed' not in name
    }
    with np.load(Path(trainer.out, 'best.npz')) as best:
        state.update({f'best/{name}': best[name] for name in best})
    log = json.loads(Path(trainer.out, 'log').read_text())
    for row in log:
        del row['elapsed_time']
    return {**state, 'log': np.asarray(json.dumps(log))}


def tell(trainer: training.Trainer) -> None:
    """Prints a line, and gives the writers time: 40 iterations take 0.1 s, an HDF5 file in a thread 0.06 s."""
    print('updated', flush=True)
    time.sleep(0.02)


def main(case: str, folder: str, stop: int) -> None:
    """Trains; prints a line after each update, and writes the end state to the file ``outcome.npz``."""
    np.random.seed(0)
    random.seed(0)
    trainer = make_trainer(case, folder, stop)
    trainer.extend(tell, name='telling', trigger=lambda t: True, priority=10**6)
    trainer.run()
    state = outcome(trainer)
    with open(Path(folder, 'outcome.npz'), 'wb') as file:
        np.savez(file, **{name: value for name, value in state.items() if not value.dtype.hasobject})


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
