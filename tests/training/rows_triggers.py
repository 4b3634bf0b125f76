"""Triggers in a training whose epochs are no whole number of iterations, and when Chainer 7.8.1 fires them.

The training runs in whichever package it is given:

    python -c "import chainer; from tests.training import rows_triggers as r; r.record(chainer)"
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

N = 16
LOSSES = [5, 4, 6, 3, 3, 7, 2, 8, 9, 9, 1, 9, 2, 2, 2, 2]
#: After so many iterations the training goes on from a snapshot.
CUTS = [1, 5, 8]
#: How many examples an epoch has, at batches of 4: an epoch is 2.5, 3.25 and 0.75 iterations.
EPOCHS = [10, 13, 3]


class Training:
    """Stands for a trainer: what triggers look at, with a real iterator."""

    def __init__(self, chainer: Any, examples: int) -> None:
        self.updater = self
        self.iterator = chainer.iterators.SerialIterator(range(examples), 4, shuffle=False)
        self.iteration = 0
        self.observation: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:  # epoch, epoch_detail, previous_epoch_detail, is_new_epoch
        return getattr(self.iterator, name)

    @property
    def elapsed_time(self) -> float:
        return 0.7 * self.iteration

    def step(self) -> None:
        self.iterator.next()
        self.observation = {'loss': LOSSES[self.iteration], 'accuracy': -LOSSES[self.iteration]}
        self.iteration += 1


def fired(
    chainer: Any, make: Callable[[Any], Any], examples: int, every: int = 1, cut: int | None = None
) -> list[int]:
    """The iterations at which the trigger fires; at a cut another one takes over what was saved."""
    training, trigger, found = Training(chainer, examples), make(chainer.training.triggers), []
    for i in range(1, N + 1):
        training.step()
        if i % every == 0 and trigger(training):
            found.append(i)
        if i == cut:
            serializer = chainer.serializers.DictionarySerializer()
            trigger.serialize(serializer)
            trigger = make(chainer.training.triggers)
            trigger.serialize(chainer.serializers.NpzDeserializer(serializer.target))
    return found


def record(chainer: Any) -> None:
    """Prints the figures of a package: uncut for each length of an epoch, every third, and cut ones that differ."""
    for name, row in ROWS.items():
        make = row[0]
        whole = [fired(chainer, make, examples) for examples in EPOCHS]
        seldom = fired(chainer, make, EPOCHS[0], 3)
        print(f'    {name!r}: {whole}, {seldom}')
        for cut in CUTS:
            if hasattr(make(chainer.training.triggers), 'serialize'):
                found = fired(chainer, make, EPOCHS[0], cut=cut)
                if found != whole[0]:
                    print('      cut at', cut, found)
            else:
                print('      saves nothing')


EVERY = (1, 'iteration')
Row = tuple[Callable[[Any], Any], list[list[int]], list[int]]
#: How to make a trigger; when it fires, for each length of an epoch; and when it is asked at each third iteration.
ROWS: dict[str, Row] = {
    'IntervalTrigger': (
        lambda t: t.IntervalTrigger(1, 'epoch'),
        [[3, 5, 8, 10, 13, 15], [4, 7, 10, 13], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]],
        [3, 6, 9, 12, 15],
    ),
    'IntervalTrigger, fraction': (
        lambda t: t.IntervalTrigger(0.6, 'epoch'),
        [
            [2, 3, 5, 6, 8, 9, 11, 12, 14, 15],
            [2, 4, 6, 8, 10, 12, 14, 16],
            [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
        ],
        [3, 6, 9, 12, 15],
    ),
    'IntervalTrigger, iterations': (
        lambda t: t.IntervalTrigger(5, 'iteration'),
        [[5, 10, 15], [5, 10, 15], [5, 10, 15]],
        [6, 12, 15],
    ),
    'IntervalTrigger, two epochs': (
        lambda t: t.IntervalTrigger(2, 'epoch'),
        [[5, 10, 15], [7, 13], [2, 3, 5, 6, 8, 9, 11, 12, 14, 15]],
        [6, 12, 15],
    ),
    'ManualScheduleTrigger': (
        lambda t: t.ManualScheduleTrigger([2, 5, 6], 'iteration'),
        [[2, 5, 6], [2, 5, 6], [2, 5, 6]],
        [3, 6],
    ),
    'ManualScheduleTrigger, epochs': (
        lambda t: t.ManualScheduleTrigger([0.7, 2, 2.1], 'epoch'),
        [[2, 5, 6], [3, 7], [1, 2]],
        [3, 6],
    ),
    'ManualScheduleTrigger, one': (lambda t: t.ManualScheduleTrigger(1.5, 'epoch'), [[4], [5], [2]], [6]),
    'OnceTrigger': (lambda t: t.OnceTrigger(), [[1], [1], [1]], [3]),
    'OnceTrigger, again': (lambda t: t.OnceTrigger(call_on_resume=True), [[1], [1], [1]], [3]),
    'TimeTrigger': (
        lambda t: t.TimeTrigger(1.5),
        [[3, 5, 7, 9, 11, 13, 16], [3, 5, 7, 9, 11, 13, 16], [3, 5, 7, 9, 11, 13, 16]],
        [3, 6, 9, 12, 15],
    ),
    'MinValueTrigger': (
        lambda t: t.MinValueTrigger('loss', EVERY),
        [[1, 2, 4, 7, 11], [1, 2, 4, 7, 11], [1, 2, 4, 7, 11]],
        [3, 15],
    ),
    'MinValueTrigger, epochs': (lambda t: t.MinValueTrigger('loss'), [[3, 5, 15], [4, 7], [1, 2, 4, 7, 11]], [3, 15]),
    'MaxValueTrigger': (
        lambda t: t.MaxValueTrigger('loss', EVERY),
        [[1, 3, 6, 8, 9], [1, 3, 6, 8, 9], [1, 3, 6, 8, 9]],
        [3, 6, 9],
    ),
    'MaxValueTrigger, iterations': (
        lambda t: t.MaxValueTrigger('loss', (3, 'iteration')),
        [[3, 9], [3, 9], [3, 9]],
        [3, 6, 9],
    ),
    'BestValueTrigger': (
        lambda t: t.BestValueTrigger('loss', lambda best, new: new >= best, EVERY),
        [[1, 3, 6, 8, 9, 10, 12], [1, 3, 6, 8, 9, 10, 12], [1, 3, 6, 8, 9, 10, 12]],
        [3, 6, 9, 12],
    ),
    'EarlyStoppingTrigger': (
        lambda t: t.EarlyStoppingTrigger(EVERY, 'loss', 2),
        [[6, 9, 10, 13, 14, 15, 16], [6, 9, 10, 13, 14, 15, 16], [6, 9, 10, 13, 14, 15, 16]],
        [9, 12],
    ),
    'EarlyStoppingTrigger, max': (
        lambda t: t.EarlyStoppingTrigger(EVERY, 'loss', 3, mode='max'),
        [[12, 13, 14, 15, 16], [12, 13, 14, 15, 16], [12, 13, 14, 15, 16]],
        [],
    ),
    'EarlyStoppingTrigger, epochs': (
        lambda t: t.EarlyStoppingTrigger((1, 'epoch'), 'accuracy', 2),
        [[10, 13], [13], [6, 9, 10, 13, 14, 15, 16]],
        [9, 12],
    ),
    'EarlyStoppingTrigger, limit': (
        lambda t: t.EarlyStoppingTrigger(EVERY, 'loss', 50, max_trigger=(2, 'epoch')),
        [[5, 10, 15], [7, 13], [2, 3, 5, 6, 8, 9, 11, 12, 14, 15]],
        [6, 12, 15],
    ),
}
