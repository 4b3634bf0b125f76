"""Snapshots that lack entries, as those of older versions do: whoever may lack them loads the rest."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minichainer.compat import files
from minichainer.serializer import MissingEntryError
from minichainer.serializers import load_npz
from minichainer.serializers.npz import DictionarySerializer, NpzDeserializer
from minichainer.training import extensions, triggers


def do_nothing(trainer: Any) -> None:
    """An extension of a trigger that has a state."""


def failure_of(call: Callable[[], Any]) -> Exception | None:
    try:
        call()
    except Exception as error:
        return error
    return None


@pytest.fixture
def make_full_trainer(make_trainer: Any) -> Any:
    """Makes trainers with everything that saves a state."""

    def make(stop: Any = (7, 'iteration')) -> Any:
        trainer = make_trainer(stop)
        often = 2, 'iteration'
        trainer.extend(extensions.LogReport(trigger=often))
        trainer.extend(extensions.PrintReport(['main/loss'], out=io.StringIO()))
        trainer.extend(extensions.PlotReport(['main/loss'], trigger=often))
        trainer.extend(extensions.ParameterStatistics(trainer.updater.get_optimizer('main').target))
        trainer.extend(extensions.ExponentialShift('alpha', 0.5), trigger=often)
        trainer.extend(extensions.LinearShift('alpha', (1, 0.5), (0, 5)), trigger=often)
        trainer.extend(extensions.MicroAverage('main/loss', 'main/loss', 'average'))
        for name, trigger in {
            'best': triggers.MinValueTrigger('main/loss', often),
            'once': triggers.OnceTrigger(),
            'manual': triggers.ManualScheduleTrigger([2, 4], 'iteration'),
            'time': triggers.TimeTrigger(1),
            'early': triggers.EarlyStoppingTrigger(often, 'main/loss'),
        }.items():
            trainer.extend(do_nothing, name=name, trigger=trigger)
        return trainer

    return make


@pytest.fixture
def entries(make_full_trainer: Any) -> dict[str, Any]:
    """What a trainer saves."""
    trainer = make_full_trainer()
    trainer.run()
    serializer = DictionarySerializer()
    serializer.save(trainer)
    return serializer.target


@pytest.mark.filterwarnings('ignore::UserWarning')  # that something begins anew
def test_every_entry_may_be_missing_if_not_strict(make_full_trainer: Any, entries: dict[str, Any]) -> None:
    lacking = [name for name in entries if not name.startswith('updater/optimizer:main/predictor/l2')]
    assert len(lacking) > 60
    for name in lacking:
        others = {other: value for other, value in entries.items() if other != name}
        trainer = make_full_trainer()
        NpzDeserializer(others, strict=False).load(trainer)
        assert name == 'updater/iteration' or trainer.updater.iteration == 7, name
        failure = failure_of(lambda: NpzDeserializer(others).load(make_full_trainer()))  # noqa: B023 (called at once)
        assert failure is None or isinstance(failure, MissingEntryError), name


@pytest.mark.parametrize('how', ['files.load', 'load_npz, not strict', 'load_npz'])
def test_a_snapshot_without_summaries(
    make_full_trainer: Any, entries: dict[str, Any], tmp_path: Path, how: str
) -> None:
    """As Trainers of 2017 wrote them: the log is there, the sums of the interval are not."""
    old = {name: value for name, value in entries.items() if '_summary/' not in name}
    path = tmp_path / 'snapshot.npz'
    np.savez(path, **old)
    trainer = make_full_trainer((9, 'iteration'))
    if how == 'files.load':
        report = files.load(path, trainer)
        assert 'extensions/LogReport/_summary/_names' in report.missing
        assert not report.skipped
    elif how == 'load_npz':
        with pytest.warns(UserWarning, match='names of statistics, which begin anew'):
            load_npz(path, trainer)
    else:
        load_npz(path, trainer, strict=False)
    log = trainer.get_extension('LogReport')
    assert [entry['iteration'] for entry in log.log] == [2, 4, 6]
    trainer.run()
    assert [entry['iteration'] for entry in log.log] == [2, 4, 6, 8]
