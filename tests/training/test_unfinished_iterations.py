"""Snapshots from the middle of an iteration, from before training, from after the run, and after an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minichainer import iterators
from minichainer.serializers import load_npz, save_npz
from minichainer.training import extensions, triggers
from tests.soak.damage import same, state_of
from tests.training.conftest import make_data


def extended(trainer: Any, snapshots: Any = (1, 'iteration'), **kwargs: Any) -> Any:
    """A trainer with an evaluation, whose snapshots are taken before the others have seen it."""
    model = trainer.updater.get_optimizer('main').target
    validation = iterators.SerialIterator(make_data(7), 4, repeat=False, shuffle=False)
    trainer.extend(extensions.snapshot(filename='at_{.updater.iteration}', **kwargs), trigger=snapshots, priority=200)
    trainer.extend(extensions.Evaluator(validation, model), call_before_training=True)
    trainer.extend(extensions.LogReport(), call_before_training=True)
    return trainer


def log_of(trainer: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(Path(trainer.out, 'log').read_text())
    return [{name: value for name, value in row.items() if name != 'elapsed_time'} for row in rows]


def state(trainer: Any) -> dict[str, Any]:
    return {name: value for name, value in state_of(trainer).items() if '_log' not in name}


def early(length: int = 4) -> Any:
    return triggers.EarlyStoppingTrigger(monitor='validation/main/loss', patience=2, max_trigger=(length, 'epoch'))


@pytest.mark.parametrize('at', ['last snapshot', 'end'])
@pytest.mark.parametrize('stop', [lambda n: (n, 'epoch'), early])
def test_a_run_that_has_ended_goes_on_with_a_later_end(make_trainer: Any, tmp_path: Path, stop: Any, at: str) -> None:
    """The stop trigger sees each observation once."""
    whole = extended(make_trainer(stop(4), tmp_path / 'whole'))
    whole.run()
    part = extended(make_trainer(stop(2), tmp_path / 'part'))
    part.run()
    save_npz(tmp_path / 'end', part)
    rest = extended(make_trainer(stop(4), tmp_path / 'part', seed=9))
    load_npz(tmp_path / ('end' if at == 'end' else f'part/at_{part.updater.iteration}'), rest)
    rest.run()
    assert log_of(rest) == log_of(whole)
    assert same(state(rest), state(whole))


def test_what_runs_before_training_runs_once(make_trainer: Any, tmp_path: Path) -> None:
    def make(out: str) -> Any:
        trainer = make_trainer((1, 'epoch'), tmp_path / out)
        saving = extensions.snapshot(filename='at_{.updater.iteration}')
        trainer.extend(saving, trigger=(100, 'epoch'), priority=200, call_before_training=True)
        return extended(trainer)

    whole, rest = make('whole'), make('rest')
    whole.run()
    # The Evaluator has run before it was taken, LogReport has not.
    load_npz(tmp_path / 'whole' / 'at_0', rest)
    rest.run()
    assert [row['iteration'] for row in log_of(whole)] == [0, 3]
    assert log_of(rest) == log_of(whole)
    assert same(state(rest), state(whole))


def test_a_trainer_that_was_saved_before_its_run_runs_as_a_new_one(make_trainer: Any, tmp_path: Path) -> None:
    saved, loaded = (extended(make_trainer((1, 'epoch'), tmp_path / out)) for out in ('saved', 'loaded'))
    save_npz(tmp_path / 'file', saved)
    load_npz(tmp_path / 'file', loaded)
    saved.run()
    loaded.run()
    assert log_of(loaded) == log_of(saved)
    assert len(log_of(loaded)) == 2


class Failing:
    """Fails at an iteration."""

    trigger = 1, 'epoch'
    name = 'failing'
    priority = 250

    def __init__(self, at: int | None) -> None:
        self.at = at
        self.calls: list[int] = []

    def __call__(self, trainer: Any) -> None:
        self.calls.append(trainer.updater.iteration)
        if trainer.updater.iteration == self.at:
            raise OSError('the disk is full')


def test_an_extension_that_has_failed_is_called_again(make_trainer: Any, tmp_path: Path) -> None:
    """So that an epoch whose evaluation failed is not lost."""

    def make(out: str, at: int | None) -> tuple[Any, Failing]:
        failing = Failing(at)
        trainer = make_trainer((2, 'epoch'), tmp_path / out)
        trainer.extend(failing)
        return extended(trainer, snapshots=(100, 'epoch'), snapshot_on_error=True), failing

    (whole, calls), (part, _), (rest, again) = make('whole', None), make('part', 3), make('part', None)
    whole.run()
    with pytest.raises(OSError, match='disk is full'):
        part.run(show_loop_exception_msg=False)
    load_npz(tmp_path / 'part' / 'at_3', rest)
    rest.run()
    assert again.calls == calls.calls == [3, 5]
    assert log_of(rest) == log_of(whole)
    assert same(state(rest), state(whole))


def test_an_update_that_has_failed_is_not_observed(make_trainer: Any, tmp_path: Path) -> None:
    """What it has reported is not shown to the stop trigger."""
    trainer = extended(make_trainer(early(), tmp_path / 'out'), snapshots=(100, 'epoch'), snapshot_on_error=True)
    optimizer = trainer.updater.get_optimizer('main')
    update, optimizer.update = optimizer.update, lambda *args: (args[0](*args[1:]), 1 / 0)
    with pytest.raises(ZeroDivisionError):
        trainer.run(show_loop_exception_msg=False)
    optimizer.update = update
    seen: list[Any] = []
    rest = extended(make_trainer(lambda t: seen.append(dict(t.observation)) or len(seen) == 2, tmp_path / 'out'))
    load_npz(tmp_path / 'out' / 'at_0', rest)
    assert 'main/loss' in rest.observation
    rest.run()
    assert [sorted(keys) for keys in seen] == [[], ['main/accuracy', 'main/loss']]


def test_extensions_that_are_gone_are_forgotten(make_trainer: Any, tmp_path: Path) -> None:
    part = extended(make_trainer((3, 'iteration'), tmp_path / 'part'))
    part.run()
    rest = make_trainer((4, 'iteration'), tmp_path / 'rest')
    load_npz(tmp_path / 'part' / 'at_3', rest)
    rest.run()
    assert rest.updater.iteration == 4


def test_layers_that_are_not_updated_resume(make_trainer: Any, tmp_path: Path) -> None:
    """Their update rules have no states."""

    def make(stop: int) -> Any:
        trainer = make_trainer((stop, 'iteration'), tmp_path / str(stop))
        trainer.updater.get_optimizer('main').target.predictor.l1.disable_update()
        return trainer

    whole, part, rest = make(4), make(2), make(4)
    whole.run()
    part.run()
    save_npz(tmp_path / 'file', part)
    assert int(np.load(tmp_path / 'file')['updater/optimizer:main/predictor/l1/W/t']) == 0
    load_npz(tmp_path / 'file', rest)
    rest.run()
    assert same(state(rest), state(whole))
