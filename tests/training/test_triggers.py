"""When triggers fire, and that saved ones fire at the same iterations."""

from __future__ import annotations

import io
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from minichainer.serializers.npz import DictionarySerializer, NpzDeserializer, load_npz, save_npz
from minichainer.training import triggers
from minichainer.training.util import get_trigger

LOSSES = [5, 4, 6, 3, 3, 7, 2, 8, 9, 9, 1, 9, 2, 2, 2, 2]
EVERY = (1, 'iteration')


@dataclass
class Row:
    """A trigger, and the iterations at which it fires; four iterations and 2.8 seconds are an epoch."""

    make: Callable[[], Any]
    fires: list[int]
    every: int = 1
    n: int = 16


ROWS = {
    'epoch': Row(lambda: triggers.IntervalTrigger(1, 'epoch'), [4, 8, 12, 16]),
    'fraction': Row(lambda: triggers.IntervalTrigger(0.6, 'epoch'), [3, 5, 8, 10, 12, 15]),
    'iteration': Row(lambda: triggers.IntervalTrigger(5, 'iteration'), [5, 10, 15]),
    'seldom asked': Row(lambda: triggers.IntervalTrigger(3, 'iteration'), [4, 6, 10, 12, 16], every=2),
    'manual': Row(lambda: triggers.ManualScheduleTrigger([2, 5, 6], 'iteration'), [2, 5, 6]),
    'manual, one': Row(lambda: triggers.ManualScheduleTrigger(1.5, 'epoch'), [6]),
    'manual, seldom': Row(lambda: triggers.ManualScheduleTrigger([2, 5, 6], 'iteration'), [3, 6], every=3),
    'once': Row(lambda: triggers.OnceTrigger(), [1]),
    'time': Row(lambda: triggers.TimeTrigger(1.5), [3, 5, 7, 9, 11, 13, 16]),
    'min': Row(lambda: triggers.MinValueTrigger('loss', EVERY), [1, 2, 4, 7, 11]),
    'min, epoch': Row(lambda: triggers.MinValueTrigger('loss'), [4, 16]),
    'max': Row(lambda: triggers.MaxValueTrigger('loss', EVERY), [1, 3, 6, 8, 9]),
    'best': Row(lambda: triggers.BestValueTrigger('loss', lambda a, b: b >= a, EVERY), [1, 3, 6, 8, 9, 10, 12]),
    'early': Row(lambda: triggers.EarlyStoppingTrigger(EVERY, 'loss', 2), [6, 9, 10, 13, 14, 15, 16]),
    'early, alias': Row(lambda: triggers.EarlyStoppingTrigger(EVERY, 'loss', patients=4), [15, 16]),
    'early, max': Row(lambda: triggers.EarlyStoppingTrigger(EVERY, 'loss', mode='max'), [12, 13, 14, 15, 16]),
    'early, accuracy': Row(lambda: triggers.EarlyStoppingTrigger(EVERY, 'accuracy', 2), [6, 9, 10, 13, 14, 15, 16]),
    'early, out of time': Row(
        lambda: triggers.EarlyStoppingTrigger(EVERY, 'loss', 50, max_trigger=(6, 'iteration')), [6, 12]
    ),
}


def ask(trainer: Any, trigger: Any, iterations: range, every: int) -> list[int]:
    fired = []
    for i in iterations:
        trainer.step({'loss': LOSSES[i - 1], 'accuracy': -LOSSES[i - 1]}, seconds=0.7)
        if i % every == 0 and trigger(trainer):
            fired.append(i)
    return fired


@pytest.mark.parametrize('name', ROWS)
def test_fires(name: str, counting: Any) -> None:
    row = ROWS[name]
    assert ask(counting(), row.make(), range(1, row.n + 1), row.every) == row.fires


@pytest.mark.parametrize('at', [0, 5, 9])
@pytest.mark.parametrize('name', ROWS)
def test_loaded_trigger_fires_at_the_same_iterations(name: str, at: int, counting: Any) -> None:
    row, trainer, file = ROWS[name], counting(), io.BytesIO()
    trigger = row.make()
    fired = ask(trainer, trigger, range(1, at + 1), row.every)
    save_npz(file, trigger)
    loaded = row.make()
    load_npz(file, loaded)
    assert fired + ask(trainer, loaded, range(at + 1, row.n + 1), row.every) == row.fires


def entries(trigger: Any) -> list[str]:
    serializer = DictionarySerializer()
    trigger.serialize(serializer)
    return sorted(serializer.target)


INTERVAL = ['previous_epoch_detail', 'previous_iteration']


@pytest.mark.parametrize(
    ('name', 'keys'),
    [
        ('epoch', INTERVAL),
        ('manual', ['finished', *INTERVAL]),
        ('once', ['_flag_first']),
        ('time', ['next_time']),
        ('min', ['best_value', *(f'interval_trigger/{key}' for key in INTERVAL), 'summary/_names']),
    ],
)
def test_saved_entries_are_those_of_chainer(name: str, keys: list[str]) -> None:
    assert entries(ROWS[name].make()) == keys


def test_finished_tells_that_it_will_not_fire_again(counting: Any) -> None:
    trainer, once = counting(), triggers.OnceTrigger()
    manual = triggers.ManualScheduleTrigger([1, 3], 'iteration')
    states = []
    for _ in range(4):
        trainer.step()
        once(trainer), manual(trainer)
        states.append((once.finished, manual.finished))
    assert states == [(True, False), (True, False), (True, True), (True, True)]


def test_once_trigger_may_fire_again_after_loading(counting: Any) -> None:
    first = triggers.OnceTrigger()
    first(counting())
    serializer = DictionarySerializer()
    first.serialize(serializer)
    for again in (False, True):
        loaded = triggers.OnceTrigger(call_on_resume=again)
        loaded.serialize(NpzDeserializer(serializer.target))
        assert [loaded(counting()), loaded(counting())] == [again, False]


def test_snapshots_of_early_versions_are_completed_by_guessing(counting: Any) -> None:
    trainer = counting()
    for _ in range(8):
        trainer.step()
    interval, manual = triggers.IntervalTrigger(2, 'epoch'), triggers.ManualScheduleTrigger([1, 2], 'epoch')
    once, early = triggers.OnceTrigger(), triggers.EarlyStoppingTrigger(monitor='loss')
    for trigger, message in [
        (interval, 'lacks previous_(iteration|epoch_detail) of IntervalTrigger'),
        (manual, 'lacks (`finished`|previous_.* of ManualScheduleTrigger)'),
        (once, 'lacks the flag of OnceTrigger'),
        (early, 'no state of EarlyStoppingTrigger'),
    ]:
        with pytest.warns(UserWarning, match=message):
            trigger.serialize(NpzDeserializer({}))
    assert interval(trainer)
    assert manual(trainer)
    assert manual.finished
    assert not once(trainer)
    assert early.count == 0


def test_mean_of_the_interval_is_compared(counting: Any) -> None:
    trainer, trigger = counting(), triggers.MinValueTrigger('loss', (2, 'iteration'))
    fired = [trigger(trainer.step({'loss': np.float32(x)})) for x in (1, 5, 0, 7, 4, 1)]
    assert fired == [False, True, False, False, False, True]


@pytest.mark.parametrize(
    ('make', 'error', 'message'),
    [
        (
            lambda: triggers.IntervalTrigger(1, 'second'),
            ValueError,
            "either 'epoch' or 'iteration', got 'second'",
        ),
        (lambda: triggers.IntervalTrigger(0, 'epoch'), ValueError, 'period must be positive, got 0'),
        (
            lambda: triggers.ManualScheduleTrigger(1, 'x'),
            ValueError,
            "ManualScheduleTrigger: Trigger unit .* got 'x'",
        ),
        (lambda: triggers.EarlyStoppingTrigger(patience=1, patients=2), TypeError, 'patients is an alias'),
        (lambda: get_trigger(3), TypeError, 'a trigger must be a callable, None or a pair'),
        (lambda: get_trigger((1, 'epoch', 2)), TypeError, 'a pair like'),
        (lambda: get_trigger((1, 'foo')), ValueError, "got 'foo'"),
    ],
)
def test_bad_arguments(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_missing_value_is_told(counting: Any) -> None:
    trigger = triggers.MinValueTrigger('loss', EVERY)
    with pytest.raises(KeyError, match="'loss' was not reported; reported keys: \\['accuracy'\\]"):
        trigger(counting().step({'accuracy': 1}))
    early = triggers.EarlyStoppingTrigger(EVERY, 'loss')
    with pytest.warns(UserWarning, match="loss is not in observation, only \\['accuracy'\\]"):
        assert not early(counting().step({'accuracy': 1}))


def test_get_trigger(counting: Any) -> None:
    trigger = get_trigger((3, 'iteration'))
    assert (type(trigger), str(trigger)) == (triggers.IntervalTrigger, "IntervalTrigger(3, 'iteration')")
    assert get_trigger(trigger) is trigger
    assert get_trigger(None)(counting().step()) is False
    assert triggers.EarlyStoppingTrigger(max_trigger=(6, 'iteration')).get_training_length() == (
        6,
        'iteration',
    )


def test_early_stopping_speaks_when_asked(counting: Any, capsys: pytest.CaptureFixture[str]) -> None:
    trainer, trigger = counting(), triggers.EarlyStoppingTrigger(EVERY, 'loss', 1, verbose=True)
    assert [trigger(trainer.step({'loss': 1.5})) for _ in range(2)] == [False, True]
    assert capsys.readouterr().out == 'Epoch 0: early stopping, best loss is 1.5\n'


@pytest.mark.parametrize(
    ('patience', 'max_trigger', 'fires'),
    [
        (1, (6, 'iteration'), [4, 6, 7, 10, 12, 13]),
        (2, (6, 'iteration'), [6, 7, 12, 13]),
        (2, (3, 'iteration'), [3, 6, 7, 9, 12, 13]),
    ],
)
def test_early_stopping_asked_again_after_its_end(patience: int, max_trigger: Any, fires: list[int]) -> None:
    """At the end it does not look at the interval, which then ends one call later; recorded from Chainer 7.8.1."""
    stop = triggers.EarlyStoppingTrigger((2, 'iteration'), 'loss', patience, max_trigger=max_trigger)
    losses = [5, 4, 6, 7, 3, 2, 8, 9, 1, 1, 1, 1, 1, 1]
    trainer = types.SimpleNamespace(updater=types.SimpleNamespace(iteration=0, epoch=0, epoch_detail=0.0))
    fired = []
    for iteration, loss in enumerate(losses):
        trainer.updater.iteration, trainer.observation = iteration, {'loss': loss}
        if stop(trainer):
            fired.append(iteration)
    assert fired == fires
