"""A run that was killed at any moment goes on from its newest snapshot to the end of the unbroken one, in any order.

The killed run ends by an exception in the middle of an update or an extension that no ``except Exception`` sees.
"""

from __future__ import annotations

import io
import itertools
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer.functions as F
import minichainer.links as L
from minichainer import Sequential, iterators, optimizers, training
from minichainer.reporter import report
from minichainer.serializers.npz import DictionarySerializer
from minichainer.training import extensions, triggers
from tests.training.conftest import make_data


class Killed(BaseException):
    """The end of a process."""


class Death:
    """Comes at the n-th moment; moments are before and after each update and each call of an extension."""

    def __init__(self, moment: int | None) -> None:
        self.left = moment
        self.count = 0

    def __call__(self) -> None:
        self.count += 1
        if self.count == self.left:
            raise Killed

    def surrounds(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def surrounded(*args: Any) -> Any:
            self()
            result = function(*args)
            self()
            return result

        return surrounded


class Noise(training.Extension):
    """Draws random numbers, and keeps a sum."""

    trigger = 1, 'iteration'
    priority = 150

    def __init__(self) -> None:
        self.sum = 0.0

    def __call__(self, trainer: Any) -> None:
        report({'noise': np.random.rand() + random.random()})
        self.sum += trainer.observation['noise']

    def serialize(self, serializer: Any) -> None:
        self.sum = float(serializer('sum', self.sum))


def make_model() -> Any:
    layers = L.Linear(4, 6), F.dropout, F.relu, L.Linear(6, 3)
    model = L.Classifier(Sequential(*layers))
    rng = np.random.RandomState(0)
    for _, param in sorted(model.namedparams()):
        param.array[...] = rng.uniform(-0.5, 0.5, param.shape)
    return model


def parts_of(model: Any, snapshot_trigger: Any) -> dict[str, tuple[Any, Any]]:
    """Extensions with their triggers, by name."""
    validation = iterators.SerialIterator(make_data(7), 4, repeat=False, shuffle=True)
    best = triggers.MaxValueTrigger('validation/main/accuracy')
    return {
        'validation': (extensions.Evaluator(validation, model), None),
        'LogReport': (extensions.LogReport(), None),
        'snapshot': (extensions.snapshot(autoload=True, durable=False), snapshot_trigger),
        'best': (extensions.snapshot_object(model, 'best.npz', durable=False), best),
        'PrintReport': (extensions.PrintReport(['epoch', 'main/loss'], out=io.StringIO()), None),
        'shift': (extensions.ExponentialShift('alpha', 0.9), (2, 'iteration')),
        'noise': (Noise(), triggers.ManualScheduleTrigger([2, 3, 7, 8], 'iteration')),
        'micro': (extensions.MicroAverage('main/loss', 'main/accuracy', 'ratio', (2, 'iteration')), None),
    }


NAMES = list(parts_of(make_model(), None))


class Case:
    """An order of extensions, other priorities if wanted, and when snapshots are taken."""

    def __init__(self, order: Sequence[str], snapshots: Any = (1, 'epoch'), priorities: Any = None) -> None:
        self.order = order
        self.snapshots = snapshots
        self.priorities = priorities or {}

    def make(self, out: Path, death: Death) -> Any:
        np.random.seed(0)
        random.seed(0)
        model = make_model()
        iterator = iterators.SerialIterator(make_data(), 8)
        updater = training.StandardUpdater(iterator, optimizers.Adam(0.1).setup(model))
        updater.update = death.surrounds(updater.update)  # type: ignore[method-assign]
        stop = triggers.EarlyStoppingTrigger(monitor='validation/main/accuracy', patience=2, max_trigger=(6, 'epoch'))
        trainer = training.Trainer(updater, stop, str(out), tune_allocator=False)
        parts = parts_of(model, self.snapshots)
        for name in self.order:
            extension, trigger = parts[name]
            trainer.extend(extension, name, trigger, self.priorities.get(name))
            entry = trainer._extensions[name]
            trainer._extensions[name] = entry._replace(extension=Around(extension, death))
        return trainer


class Around:
    """An extension, with death before and after its call."""

    def __init__(self, extension: Any, death: Death) -> None:
        self._extension = extension
        self._death = death

    def __getattr__(self, name: str) -> Any:
        return getattr(self._extension, name)

    def __call__(self, trainer: Any) -> None:
        self._death.surrounds(self._extension)(trainer)


def outcome(trainer: Any) -> dict[str, Any]:
    """The whole state of a trainer but its time, its log, and the best model."""
    serializer = DictionarySerializer()
    serializer.save(trainer)
    state = {name: str(value.tolist()) for name, value in serializer.target.items() if '_log' not in name}
    del state['_snapshot_elapsed_time']
    log = json.loads(Path(trainer.out, 'log').read_text())
    for row in log:
        del row['elapsed_time']
    with np.load(Path(trainer.out, 'best.npz')) as best:
        return {'log': log, 'best': {name: best[name].tolist() for name in best}, **state}


def check(case: Case, folder: Path, choose: Callable[[int], int]) -> bool:
    """Compares the unbroken run with one that dies and is resumed; returns whether it went on from a snapshot."""
    death = Death(None)
    whole = case.make(folder / 'whole', death)
    whole.run()
    expected = outcome(whole)
    moment = choose(death.count)
    with pytest.raises(Killed):
        case.make(folder / 'killed', Death(moment)).run()
    saved = any('snapshot' in path.name for path in (folder / 'killed').iterdir())
    resumed = case.make(folder / 'killed', Death(None))
    if saved:  # else it begins anew
        np.random.seed(moment)
        random.seed(moment)
    resumed.run()
    assert outcome(resumed) == expected, (case.order, case.priorities, moment)
    return saved


def test_the_order_of_the_issue_resumes(tmp_path: Path) -> None:
    """Snapshots are written before the best-value trigger, of the same priority, has seen the epoch."""
    case = Case(['validation', 'snapshot', 'best', 'LogReport'])
    moments = 6 * 2 + 3 * 2 + 2, 6 * 2 + 3 * 2 + 4
    for n, moment in enumerate(moments):
        check(case, tmp_path / str(n), lambda count, moment=moment: moment)  # type: ignore[misc]


def test_every_moment(tmp_path: Path) -> None:
    case = Case(NAMES)
    death = Death(None)
    case.make(tmp_path / 'whole', death).run()
    saved = [
        check(case, tmp_path / str(moment), lambda count, moment=moment: moment)  # type: ignore[misc]
        for moment in range(1, death.count + 1, 19)
    ]
    assert any(saved) and not all(saved)


def random_case(seed: int) -> tuple[Case, Callable[[int], int]]:
    rng = random.Random(seed)
    order = rng.sample(NAMES, len(NAMES))
    snapshots = rng.choice([(1, 'epoch'), (1, 'iteration'), (3, 'iteration')])
    # Each reader follows the writers of what it reads.
    priorities = {name: rng.choice([-500, -100, 50, 120]) for name in NAMES if name not in ('validation', 'noise')}
    return Case(order, snapshots, priorities if seed % 2 else None), lambda count: rng.randint(1, count)


def check_many(seeds: range, folder: Path) -> None:
    saved = []
    for seed in seeds:
        case, choose = random_case(seed)
        saved.append(check(case, folder / str(seed), choose))
    assert sum(saved) > len(saved) // 2


def test_some_orders_and_moments(tmp_path: Path) -> None:
    check_many(range(8), tmp_path)


@pytest.mark.slow
def test_many_orders_and_moments(tmp_path: Path) -> None:
    check_many(range(100, 350), tmp_path)


@pytest.mark.slow
def test_every_order_of_four(tmp_path: Path) -> None:
    """All 24 orders of those that depend on each other, with death right after each snapshot."""
    for n, order in enumerate(itertools.permutations(['validation', 'LogReport', 'snapshot', 'best'])):
        for moment in range(14, 44, 6):
            check(Case(order), tmp_path / f'{n} {moment}', lambda count, moment=moment: min(moment, count))  # type: ignore[misc]
