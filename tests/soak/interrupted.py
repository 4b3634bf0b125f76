"""A program that trains until it is interrupted, and goes on where it was when it is started again.

Usage: ``python -m tests.soak.interrupted FOLDER ITERATOR WRITER ITERATIONS [START METHOD]``. Its random numbers are
private.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from typing import Any

import numpy as np

from minichainer import iterators, optimizers
from minichainer.datasets import TupleDataset
from minichainer.functions.activation.rectifiers import relu
from minichainer.link import Chain
from minichainer.links.connection.linear import Linear
from minichainer.links.model.classifier import Classifier
from minichainer.serializers.npz import save_npz
from minichainer.training import extensions
from minichainer.training.extension import make_extension
from minichainer.training.extensions import snapshot_writers
from minichainer.training.trainer import Trainer
from minichainer.training.updaters.standard_updater import StandardUpdater


class Net(Chain):
    """Two layers, and noise from a generator of its own, which depends on the number of calls."""

    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.l1 = Linear(8, 16)
            self.l2 = Linear(16, 3)
        self.add_persistent('calls', 0)

    def forward(self, x: Any) -> Any:
        self.calls += 1
        noise = np.random.RandomState(self.calls).standard_normal((len(x), 16)).astype('f')
        return self.l2(relu(self.l1(x)) + 0.1 * noise)


def make_trainer(out: str, iterator: str, writer: str, n_iterations: int) -> Trainer:
    random = np.random.RandomState(0)
    model = Classifier(Net())
    for _, param in sorted(model.namedparams()):
        param.array[...] = random.uniform(-0.5, 0.5, param.shape)
    data = TupleDataset(random.standard_normal((60, 8)).astype('f'), random.randint(0, 3, 60).astype('i'))
    options = {'MultiprocessIterator': {'n_processes': 2}, 'MultithreadIterator': {'n_threads': 2}}.get(iterator, {})
    sampler = iterators.ShuffleOrderSampler(random)
    batches = getattr(iterators, iterator)(data, 7, order_sampler=sampler, **options)
    updater = StandardUpdater(batches, optimizers.Adam(0.01).setup(model))
    trainer = Trainer(updater, (n_iterations, 'iteration'), out)
    trainer.extend(extensions.LogReport(trigger=(3, 'iteration')))
    saving = extensions.snapshot(writer=getattr(snapshot_writers, writer)(), autoload=True, n_retains=2)
    trainer.extend(saving, trigger=(5, 'iteration'))
    return trainer


def _main(out: str, iterator: str, writer: str, n_iterations: int) -> None:
    trainer = make_trainer(out, iterator, writer, n_iterations)
    trainer.extend(make_extension(initializer=lambda trainer: print('begins', flush=True))(lambda trainer: None))
    trainer.extend(lambda trainer: print('iteration', trainer.updater.iteration, flush=True), name='telling')
    trainer.extend(lambda trainer: time.sleep(0.002), name='slow')
    trainer.run()
    save_npz(f'{out}/end', trainer)
    print('end', flush=True)


if __name__ == '__main__':
    if len(sys.argv) > 5:
        multiprocessing.set_start_method(sys.argv[5])
    _main(*sys.argv[1:4], int(sys.argv[4]))
