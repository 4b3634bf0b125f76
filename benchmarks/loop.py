"""What the training loop costs per iteration, beyond an update that only reports two values.

    python benchmarks/loop.py [--rounds 15] [--iterations 2000] [--entries 10000]

The loops take turns in one process. Processor time is measured, the system's work for the process included, between
two iterations of one run: starting and finishing it do not count. Figures are medians of the rounds with their range,
and medians of the rounds' differences to the bare update. Aims: 30 µs with the usual extensions, none of whose
triggers fires, and 100 µs with a LogReport that writes at each iteration to a log of 10 000 entries.
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
import tempfile
import time

for _name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ.setdefault(_name, '1')

import numpy as np  # noqa: E402

import minichainer as chainer  # noqa: E402
import minichainer.links as L  # noqa: E402
from minichainer import training  # noqa: E402
from minichainer.training import extensions  # noqa: E402

NEVER = 10**9, 'epoch'
EVERY = 1, 'iteration'


class Updater(training.StandardUpdater):
    """An update that only reports."""

    def __init__(self):
        data = chainer.datasets.TupleDataset(np.ones((1000, 2), np.float32), np.zeros(1000, np.int32))
        optimizer = chainer.optimizers.SGD().setup(L.Classifier(L.Linear(2, 3)))
        super().__init__(chainer.iterators.SerialIterator(data, 10), optimizer)
        self.values = {name: chainer.Variable(np.array(0.5, np.float32)) for name in ('loss', 'accuracy')}

    def update_core(self):
        chainer.report(self.values, self.get_optimizer('main').target)


def entry(i):
    return {'main/loss': 1 / (i + 1), 'main/accuracy': i / 7, 'epoch': 0, 'iteration': i, 'elapsed_time': i / 3}


def none(trainer, entries):
    pass


def usual(trainer, entries):
    model = trainer.updater.get_optimizer('main').target
    held_out = chainer.iterators.SerialIterator([1], 1, repeat=False)
    trainer.extend(extensions.Evaluator(held_out, model), trigger=NEVER)
    trainer.extend(extensions.LogReport(trigger=NEVER))
    trainer.extend(extensions.PrintReport(['epoch', 'main/loss'], out=io.StringIO()))
    trainer.extend(extensions.snapshot(), trigger=NEVER)


def log(trainer, entries):
    report = extensions.LogReport(trigger=EVERY)
    report.log.extend(map(entry, range(entries)))
    trainer.extend(report)


def log_and_table(trainer, entries):
    log(trainer, entries)
    trainer.extend(extensions.PrintReport(['epoch', 'main/loss'], out=io.StringIO()))


LOOPS = {
    'no extensions': none,
    'Evaluator, LogReport, PrintReport, snapshot that do not fire': usual,
    'LogReport at each iteration': log,
    'LogReport and PrintReport at each iteration': log_and_table,
}
BARE = 'bare update'


def bare(iterations):
    """Microseconds of an update."""
    updater, values = Updater(), {}
    reporter = training.Trainer(updater).reporter
    with reporter.scope(values):
        start = time.process_time()
        for _ in range(iterations):
            updater.update()
        return (time.process_time() - start) / iterations * 1e6


def loop(extend, iterations, entries):
    """Microseconds of an iteration with the extensions of a loop."""
    times = []

    def stop(trainer):
        if trainer.updater.iteration in (100, 100 + iterations):
            times.append(time.process_time())
        return len(times) == 2

    with tempfile.TemporaryDirectory() as out:
        trainer = training.Trainer(Updater(), stop, out, tune_allocator=False)
        extend(trainer, entries)
        trainer.run()
    return (times[1] - times[0]) / iterations * 1e6


def measure(rounds, iterations, entries):
    """Microseconds per iteration, by loop, one of each round."""
    found = {name: [] for name in (BARE, *LOOPS)}
    for _ in range(rounds):
        found[BARE].append(bare(iterations))
        for name, extend in LOOPS.items():
            found[name].append(loop(extend, iterations, entries))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=15)
    parser.add_argument('--iterations', type=int, default=2000)
    parser.add_argument('--entries', type=int, default=10_000, help='of the log at the beginning')
    options = parser.parse_args()
    if hasattr(os, 'sched_setaffinity'):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    found = measure(options.rounds, options.iterations, options.entries)
    print(f'{"µs per iteration":62}{"median":>8}{"range":>16}{"beyond the update":>20}')
    for name, times in found.items():
        spread = f'{min(times):.1f} - {max(times):.1f}'
        beyond = statistics.median(a - b for a, b in zip(times, found[BARE], strict=True))
        print(f'{name:62}{statistics.median(times):8.1f}{spread:>16}{beyond:20.1f}')


if __name__ == '__main__':
    main()
