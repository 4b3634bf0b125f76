"""A run that ends and goes on from its snapshot is the run that never ended, whatever extends it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minichainer import optimizer_hooks
from minichainer.dataset.convert import concat_examples
from minichainer.reporter import plain_value, report
from minichainer.serializers.npz import DictionarySerializer, load_npz, save_npz
from minichainer.training import extensions, triggers
from tests.completeness import assert_complete


class Clock:
    """Time that passes only where it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


class Cut(Exception):
    """The end of a run before its time."""


def model_of(trainer: Any) -> Any:
    return trainer.updater.get_optimizer('main').target


EXTENSIONS = {
    'Evaluator': lambda trainer, it, trigger: extensions.Evaluator(it, model_of(trainer)),
    'LogReport': lambda trainer, it, trigger: extensions.LogReport(trigger=trigger),
    'MicroAverage': lambda trainer, it, trigger: extensions.MicroAverage('main/loss', 'seconds', 'micro', trigger),
    'ParameterStatistics': lambda trainer, it, trigger: extensions.ParameterStatistics(
        model_of(trainer), trigger=trigger
    ),
    'DumpGraph': lambda trainer, it, trigger: extensions.DumpGraph('main/loss'),
    'dump_graph': lambda trainer, it, trigger: extensions.dump_graph('main/loss'),
    'VariableStatisticsPlot': lambda trainer, it, trigger: extensions.VariableStatisticsPlot(
        model_of(trainer), 3, trigger=trigger
    ),
    'PlotReport': lambda trainer, it, trigger: extensions.PlotReport('main/loss', trigger=trigger),
    'PrintReport': lambda trainer, it, trigger: extensions.PrintReport(
        ['main/loss'], extensions.LogReport(trigger=trigger, filename=None), io.StringIO()
    ),
    'ProgressBar': lambda trainer, it, trigger: extensions.ProgressBar((9, 'iteration'), out=io.StringIO()),
    'ExponentialShift': lambda trainer, it, trigger: extensions.ExponentialShift('alpha', 0.9),
    'InverseShift': lambda trainer, it, trigger: extensions.InverseShift('alpha', 0.9, 0.5),
    'LinearShift': lambda trainer, it, trigger: extensions.LinearShift('alpha', (1, 2), (1, 5)),
    'MultistepShift': lambda trainer, it, trigger: extensions.MultistepShift('alpha', 0.9, [1, 3], None),
    'PolynomialShift': lambda trainer, it, trigger: extensions.PolynomialShift('alpha', 0.9, 6),
    'StepShift': lambda trainer, it, trigger: extensions.StepShift('alpha', 0.9, 2),
    'WarmupShift': lambda trainer, it, trigger: extensions.WarmupShift('alpha', None, 5, 1),
    'unchain_variables': lambda trainer, it, trigger: extensions.unchain_variables(),
    'FailOnNonNumber': lambda trainer, it, trigger: extensions.FailOnNonNumber(),
    'observe_lr': lambda trainer, it, trigger: extensions.observe_lr('main', 'rate'),
    'observe_value': lambda trainer, it, trigger: extensions.observe_value('e', lambda t: t.updater.epoch),
    'snapshot': lambda trainer, it, trigger: extensions.snapshot(filename='trainer_{.updater.iteration}'),
    'snapshot_object': lambda trainer, it, trigger: extensions.snapshot_object(model_of(trainer), 'model'),
}
BEFORE_TRAINING = {'Evaluator', 'LogReport', 'PlotReport', 'PrintReport', 'snapshot_object'}
TRIGGERS = {
    'iteration': lambda: (1, 'iteration'),
    '3 iterations': lambda: (3, 'iteration'),
    'epoch': lambda: (1, 'epoch'),
    'half an epoch': lambda: (0.5, 'epoch'),
    'manual': lambda: triggers.ManualScheduleTrigger([2, 4, 7], 'iteration'),
    'manual epochs': lambda: triggers.ManualScheduleTrigger([0.7, 2], 'epoch'),
    'time': lambda: triggers.TimeTrigger(3.5),
    'min': lambda: triggers.MinValueTrigger('main/loss', (2, 'iteration')),
    'max': lambda: triggers.MaxValueTrigger('main/loss', (3, 'iteration')),
    'best': lambda: triggers.BestValueTrigger('main/accuracy', lambda a, b: a <= b, (1, 'epoch')),
    'once': lambda: triggers.OnceTrigger(),
}
STOPS = {
    'iteration': lambda: (9, 'iteration'),
    'epoch': lambda: (3, 'epoch'),
    'early': lambda: triggers.EarlyStoppingTrigger((2, 'iteration'), 'main/loss', 2, max_trigger=(11, 'iteration')),
    'early, epochs': lambda: triggers.EarlyStoppingTrigger(
        (1, 'epoch'), 'main/accuracy', 1, max_trigger=(5, 'epoch')
    ),
    'time': lambda: triggers.TimeTrigger(8.5),
}


def test_the_table_has_all_extensions_and_triggers() -> None:
    others = {'Extension', 'make_extension', 'snapshot_writers'}
    public = {name for name, value in vars(extensions).items() if callable(value) and not name.startswith('_')}
    row = 'a function of trainer, iterator and trigger that makes it'
    assert_complete(EXTENSIONS, public - others, 'tests/training/test_resume.py: EXTENSIONS', row)
    used = {type(make()).__name__ for make in (*TRIGGERS.values(), *STOPS.values())} | {'IntervalTrigger'}
    assert used - {'tuple'} == {name for name in dir(triggers) if name.endswith('Trigger')}


def followed(trainer: Any, evaluation: Any, extension: str, trigger: str, at: int, cut: bool) -> Any:
    """Adds one extension, a snapshot at an iteration, and a diary of all that is observed and called."""
    diary = []

    def note(trainer: Any) -> None:
        values = {name: plain_value(value) for name, value in trainer.observation.items()}
        alpha = trainer.updater.get_optimizer('main').alpha
        diary.append((trainer.updater.iteration, trainer.elapsed_time, alpha, values))

    def tick(trainer: Any) -> None:
        trainer.clock.now += 1
        report({'seconds': 1.0})

    def stop(trainer: Any) -> None:
        if cut and trainer.updater.iteration == at:
            raise Cut

    trainer.extend(tick, priority=1000, trigger=(1, 'iteration'))
    made = EXTENSIONS[extension](trainer, evaluation, TRIGGERS[trigger]())
    own = trigger if not hasattr(made, '_trigger') and not hasattr(made, '_log_report') else 'iteration'
    trainer.extend(made, name='made', trigger=TRIGGERS[own](), call_before_training=extension in BEFORE_TRAINING)
    trainer.extend(lambda t: diary.append(('called', t.updater.iteration)), name='spy', trigger=TRIGGERS[trigger]())
    trainer.extend(note, priority=-50, call_before_training=True)
    trainer.extend(extensions.snapshot(filename='cut'), name='cut', trigger=(at, 'iteration'))
    trainer.extend(stop, priority=-1000, trigger=lambda trainer: True)
    return diary


def everything(trainer: Any) -> dict[str, Any]:
    serializer = DictionarySerializer()
    serializer.save(trainer)
    states = json.loads(str(serializer.target.pop('random')))
    states.pop('cupy')  # it counts snapshots: the run that is cut saves once more
    return {name: str(value.tolist()) for name, value in serializer.target.items()} | states  # NaN is like NaN


def half_precision(trainer: Any) -> None:
    """Makes the training one of float16 parameters with an adaptive loss scale that has met its limit."""
    optimizer = trainer.updater.get_optimizer('main')
    for param in optimizer.target.params():
        param.array = param.array.astype(np.float16)
    optimizer.use_fp32_update()
    optimizer.loss_scaling(interval=3)
    optimizer._loss_scaling_isnan_ever = True
    optimizer.alpha = 0.001
    optimizer.add_hook(optimizer_hooks.WeightDecay(0.1))


def as_float16(batch: Any, device: Any) -> Any:
    x, t = concat_examples(batch)
    return x.astype(np.float16), t


@pytest.mark.parametrize('at', [1, 4])
def test_half_precision_resumes(make_trainer: Any, tmp_path: Path, at: int) -> None:
    """The single precision copies of the parameters and the loss scale are states too."""

    def make(stop: int, seed: int = 2) -> Any:
        trainer = make_trainer((stop, 'iteration'), out=tmp_path / 'out', seed=seed, converter=as_float16)
        half_precision(trainer)
        return trainer

    whole, part, rest = make(9), make(at), make(9, seed=99)
    whole.run()
    part.run()
    save_npz(tmp_path / 'cut', part)
    load_npz(tmp_path / 'cut', rest)
    rest.run()
    names = [name for name in everything(whole) if name.startswith('updater/')]
    assert {name: everything(rest)[name] for name in names} == {name: everything(whole)[name] for name in names}
    assert {'updater/optimizer:main/loss_scale', 'updater/single precision:main/predictor/l1/W'} < set(names)


def check_that_resuming_changes_nothing(
    make_trainer: Any, evaluation: Any, monkeypatch: Any, tmp_path: Path, case: tuple[str, str, str], at: int
) -> None:
    extension, trigger, stop = case
    clock = Clock()
    monkeypatch.setattr('minichainer.training.trainer.time', clock)

    def make(folder: str, seed: int, cut: bool) -> tuple[Any, Any]:
        trainer = make_trainer(STOPS[stop](), out=tmp_path / folder, seed=seed)
        trainer.clock = clock
        return trainer, followed(trainer, evaluation, extension, trigger, at, cut)

    whole, expected = make('whole', 2, cut=False)
    whole.run()
    part, first = make('part', 2, cut=True)
    assert whole.updater.iteration >= at
    with pytest.raises(Cut):
        part.run(show_loop_exception_msg=False)
    clock.now += 1000  # the time between two runs is nobody's training
    rest, second = make('rest', 99, cut=False)
    load_npz(tmp_path / 'part' / 'cut', rest)
    rest.run()
    assert str(first + second) == str(expected)
    assert everything(rest) == everything(whole)


@pytest.mark.parametrize(
    ('extension', 'trigger'),
    [
        pytest.param(extension, trigger, marks=[pytest.mark.slow] * is_slow)
        for extension in EXTENSIONS
        for trigger, is_slow in [('3 iterations', 'Plot' in extension), ('half an epoch', True), ('once', False)]
    ],
)
def test_every_extension_resumes(
    make_trainer: Any, evaluation: Any, monkeypatch: Any, tmp_path: Path, extension: str, trigger: str
) -> None:
    case = (extension, trigger, 'iteration')
    check_that_resuming_changes_nothing(make_trainer, evaluation, monkeypatch, tmp_path, case, at=4)


@pytest.mark.parametrize('at', [1, 3, 4])
@pytest.mark.parametrize('trigger', TRIGGERS)
def test_every_trigger_resumes(
    make_trainer: Any, evaluation: Any, monkeypatch: Any, tmp_path: Path, trigger: str, at: int
) -> None:
    case = ('LogReport', trigger, 'iteration')
    check_that_resuming_changes_nothing(make_trainer, evaluation, monkeypatch, tmp_path, case, at)


@pytest.mark.parametrize('at', [1, 3, *[pytest.param(at, marks=pytest.mark.slow) for at in (2, 4, 5)]])
@pytest.mark.parametrize('stop', STOPS)
def test_every_stop_trigger_resumes(
    make_trainer: Any, evaluation: Any, monkeypatch: Any, tmp_path: Path, stop: str, at: int
) -> None:
    case = ('LogReport', '3 iterations', stop)
    check_that_resuming_changes_nothing(make_trainer, evaluation, monkeypatch, tmp_path, case, at)
