"""Every public trigger has a row and fires when Chainer's does, also where the training goes on from a snapshot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minichainer as chainer
from minichainer.training import triggers
from minichainer.training.util import get_trigger
from tests.training.documented import check_documentation, check_methods
from tests.training.rows_triggers import CUTS, EPOCHS, EVERY, ROWS, fired

PUBLIC = {name: value for name, value in vars(triggers).items() if isinstance(value, type)}
#: Saved, `call_on_resume` means to fire once more.
FIRES_AGAIN = 'OnceTrigger, again'


def check_cut(make: Callable[[Any], Any], whole: list[int], cut: int) -> None:
    assert fired(chainer, make, EPOCHS[0], cut=cut) == whole


def test_the_table_has_everything_public() -> None:
    assert {name.partition(',')[0] for name in ROWS} == set(PUBLIC)


@pytest.mark.parametrize('name', ROWS)
def test_fires_when_chainers_does(name: str) -> None:
    make, whole, _ = ROWS[name]
    assert [fired(chainer, make, examples) for examples in EPOCHS] == whole


@pytest.mark.parametrize('name', ROWS)
def test_fires_when_chainers_does_if_seldom_asked(name: str) -> None:
    make, _, seldom = ROWS[name]
    assert fired(chainer, make, EPOCHS[0], every=3) == seldom


@pytest.mark.parametrize('cut', CUTS)
@pytest.mark.parametrize('name', [name for name in ROWS if name != FIRES_AGAIN])
def test_fires_at_the_same_iterations_after_a_snapshot(name: str, cut: int) -> None:
    make, whole, _ = ROWS[name]
    check_cut(make, whole[0], cut)


@pytest.mark.parametrize('cut', CUTS)
def test_fires_once_more_where_asked(cut: int) -> None:
    check_cut(ROWS[FIRES_AGAIN][0], [1, cut + 1], cut)


@pytest.mark.parametrize('name', PUBLIC)
def test_documentation(name: str) -> None:
    check_documentation(PUBLIC[name])
    check_methods(PUBLIC[name])


@pytest.mark.parametrize('name', PUBLIC)
def test_unknown_arguments_are_refused(name: str) -> None:
    with pytest.raises(TypeError, match='unexpected'):
        PUBLIC[name](1, 'epoch', unheard_of=1)


REFUSED: dict[str, Callable[[], Any]] = {
    "unit must be either 'epoch' or 'iteration', got 'second'": (lambda: triggers.IntervalTrigger(1, 'second')),
    "ManualScheduleTrigger: Trigger unit must be either 'epoch' or 'iteration', got 'day'": (
        lambda: triggers.ManualScheduleTrigger([1], 'day')
    ),
    'the period must be positive, got -1': lambda: triggers.IntervalTrigger(-1, 'epoch'),
    'the period must be positive, got nan': lambda: triggers.IntervalTrigger(float('nan'), 'epoch'),
    'a trigger must be a callable, None or a pair .* got 5': lambda: triggers.MinValueTrigger('loss', 5),
    'a trigger must be a callable, None or a pair .* got 6': lambda: triggers.MaxValueTrigger('loss', 6),
    'a trigger must be a callable, None or a pair .* got 7': lambda: triggers.BestValueTrigger('loss', max, 7),
    'a trigger must be a callable, None or a pair .* got 8': lambda: triggers.EarlyStoppingTrigger(8),
    'a trigger must be a callable, None or a pair .* got 9': lambda: triggers.EarlyStoppingTrigger(max_trigger=9),
}


@pytest.mark.parametrize('message', REFUSED)
def test_bad_arguments_are_refused(message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        REFUSED[message]()


def test_every_trigger_can_stop_a_training_or_be_an_extensions() -> None:
    for make, _, _ in ROWS.values():
        trigger = make(triggers)
        assert get_trigger(trigger) is trigger


# --- The tests fail where they should. ---


class Forgetful(triggers.IntervalTrigger):
    def serialize(self, serializer: Any) -> None:
        pass


class ByIteration(triggers.IntervalTrigger):
    """Takes an epoch for a whole number of iterations."""

    def __call__(self, trainer: Any) -> bool:
        return trainer.updater.is_new_epoch and trainer.updater.epoch % self.period == 0


class ForgetsItsBest(triggers.MaxValueTrigger):
    def serialize(self, serializer: Any) -> None:
        self._interval_trigger.serialize(serializer['interval_trigger'])


@pytest.mark.parametrize(
    ('name', 'mutant'),
    [
        ('IntervalTrigger, fraction', lambda t: ByIteration(0.6, 'epoch')),
        ('IntervalTrigger, iterations', lambda t: triggers.IntervalTrigger(4, 'iteration')),
        ('OnceTrigger', lambda t: lambda trainer: trainer.updater.iteration == 2),
    ],
)
def test_a_trigger_that_fires_at_other_times_is_noticed(name: str, mutant: Any) -> None:
    assert [fired(chainer, mutant, examples) for examples in EPOCHS] != ROWS[name][1]


@pytest.mark.parametrize(
    ('name', 'mutant'),
    [
        ('IntervalTrigger, two epochs', lambda t: Forgetful(2, 'epoch')),
        ('MaxValueTrigger', lambda t: ForgetsItsBest('loss', EVERY)),
    ],
)
def test_a_trigger_that_loses_its_state_is_noticed(name: str, mutant: Any) -> None:
    def check_cuts() -> None:
        for cut in CUTS:
            check_cut(mutant, ROWS[name][1][0], cut)

    with pytest.raises(AssertionError):
        check_cuts()
