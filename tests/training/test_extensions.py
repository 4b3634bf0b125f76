"""What the extensions report, write and change."""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from minichainer import iterators, reporter
from minichainer.configuration import config
from minichainer.functions.math.reductions import sum as sum_
from minichainer.optimizers.sgd import SGD
from minichainer.serializers.npz import DictionarySerializer, NpzDeserializer, load_npz, save_npz
from minichainer.training import extensions
from minichainer.training.extension import PRIORITY_EDITOR, PRIORITY_READER, PRIORITY_WRITER
from minichainer.variable import Variable

EVERY = (1, 'iteration')


@contextlib.contextmanager
def reported() -> Iterator[dict[str, Any]]:
    """What is reported meanwhile, without a trainer."""
    with reporter.Reporter() as current:
        yield current.observation


def entries(extension: Any) -> dict[str, Any]:
    serializer = DictionarySerializer()
    extension.serialize(serializer)
    return serializer.target


# Figures of Chainer 7.8.1; snapshots hold extensions under these names.
@pytest.mark.parametrize(
    ('extension', 'name', 'trigger', 'priority'),
    [
        (extensions.LogReport(), 'LogReport', EVERY, PRIORITY_READER),
        (extensions.PrintReport([]), 'PrintReport', EVERY, PRIORITY_READER),
        (extensions.ProgressBar(), 'ProgressBar', EVERY, PRIORITY_READER),
        (extensions.ExponentialShift('lr', 1), 'ExponentialShift', EVERY, PRIORITY_READER),
        (extensions.FailOnNonNumber(), 'FailOnNonNumber', EVERY, PRIORITY_READER),
        (extensions.MicroAverage('a', 'b', 'c'), 'MicroAverage', EVERY, PRIORITY_EDITOR),
        (extensions.ParameterStatistics([]), 'parameter_statistics', EVERY, PRIORITY_WRITER),
        (extensions.snapshot(), '_Snapshot', (1, 'epoch'), -100),
        (extensions.observe_lr(), '_observe_value', (1, 'epoch'), PRIORITY_WRITER),
    ],
    ids=lambda x: x if isinstance(x, str) else '',
)
def test_defaults_are_those_of_chainer(extension: Any, name: str, trigger: Any, priority: int) -> None:
    assert (extension.default_name, extension.trigger, extension.priority) == (name, trigger, priority)


# --- Evaluator ---


def test_evaluator_reports_means_over_batches(make_trainer: Any, evaluation: Any) -> None:
    trainer = make_trainer((1, 'epoch'))
    model = trainer.updater.get_optimizer('main').target
    seen = []

    def loss(x: Any, t: Any) -> Any:
        seen.append((len(x), config.train, config.enable_backprop))
        return model(x, t)

    hooked = []
    evaluator = extensions.Evaluator(evaluation, model, eval_func=loss, eval_hook=hooked.append)
    trainer.extend(evaluator)
    trainer.run()
    assert evaluator.name == 'validation'
    assert hooked == [evaluator]
    assert seen == [(4, False, False), (3, False, False)]
    assert (config.train, config.enable_backprop) == (True, True)
    assert {'validation/main/loss', 'validation/main/accuracy'} < set(trainer.observation)
    x, t = (np.stack(column) for column in zip(*evaluation.dataset[:], strict=True))
    want = [float(model(x[part], t[part]).array) for part in (slice(4), slice(4, 7))]
    assert float(trainer.observation['validation/main/loss']) == pytest.approx(np.mean(want), rel=1e-6)


def test_evaluator_without_trainer_and_twice(make_trainer: Any, evaluation: Any) -> None:
    evaluator = extensions.Evaluator(evaluation, make_trainer().updater.get_optimizer('main').target)
    first, second = evaluator(), evaluator()
    assert sorted(first) == ['main/accuracy', 'main/loss']
    assert first == second
    with reported() as observation:
        evaluator()
    assert observation == first


@pytest.mark.parametrize('batch', [[1, 2], [(1,), (2,)], [{'x': 1}, {'x': 2}]])
def test_evaluator_passes_arrays_tuples_and_dicts(batch: list[Any], make_trainer: Any) -> None:
    got = []
    iterator = iterators.SerialIterator(batch, 2, repeat=False, shuffle=False)
    model = make_trainer().updater.get_optimizer('main').target
    extensions.Evaluator({'main': iterator}, {'main': model}, eval_func=lambda x: got.append(x.tolist()))()
    assert got == [[1, 2]]


def test_evaluator_hands_out_its_parts(make_trainer: Any, evaluation: Any) -> None:
    model = make_trainer().updater.get_optimizer('main').target
    evaluator = extensions.Evaluator(evaluation, model)
    assert (evaluator.get_iterator('main'), evaluator.get_target('main')) == (evaluation, model)
    assert (evaluator.get_all_iterators(), evaluator.get_all_targets()) == ({'main': evaluation}, {'main': model})


def test_evaluator_warns_of_what_may_not_end(make_trainer: Any, evaluation: Any) -> None:
    model = make_trainer().updater.get_optimizer('main').target
    with pytest.warns(UserWarning, match="iterator 'main' repeats"):
        extensions.Evaluator(iterators.SerialIterator([1], 1), model)

    class NoReset:
        def __iter__(self) -> Any:
            return iter([[(np.zeros(4, np.float32), np.int32(0))]])

    with pytest.warns(DeprecationWarning, match='NoReset has no reset'):
        assert 'main/loss' in extensions.Evaluator({'main': NoReset()}, model)()


# --- LogReport, PrintReport ---


def run_with_log(make_trainer: Any, stop: Any = (2, 'epoch'), **kwargs: Any) -> tuple[Any, Path]:
    trainer = make_trainer(stop)
    trainer.extend(extensions.LogReport(**kwargs))
    trainer.run()
    return trainer.get_extension('LogReport').log, Path(trainer.out)


def test_log_holds_means_and_progress(make_trainer: Any) -> None:
    each, _ = run_with_log(make_trainer, trigger=EVERY)
    log, out = run_with_log(make_trainer)
    assert json.loads((out / 'log').read_text()) == log
    assert [(e['epoch'], e['iteration']) for e in log] == [(1, 3), (2, 5)]
    assert list(log[0]) == ['main/loss', 'main/accuracy', 'epoch', 'iteration', 'elapsed_time']
    assert log[1]['main/loss'] == pytest.approx(np.mean([e['main/loss'] for e in each[3:]]), rel=1e-6)
    assert 0 < log[0]['elapsed_time'] < log[1]['elapsed_time']
    assert [p.name for p in out.iterdir()] == ['log']


@pytest.mark.parametrize(
    ('kwargs', 'files'),
    [
        ({'filename': 'my.json'}, ['my.json']),
        ({'log_name': 'old.json'}, ['old.json']),
        ({'filename': 'log-{epoch}'}, ['log-1', 'log-2']),
        ({'log_name': None}, []),
    ],
)
def test_log_file_names(make_trainer: Any, kwargs: dict[str, Any], files: list[str]) -> None:
    _, out = run_with_log(make_trainer, **kwargs)
    assert sorted(p.name for p in out.iterdir()) == files


def test_log_keys_and_postprocess(make_trainer: Any) -> None:
    def shorten(entry: dict[str, Any]) -> None:
        del entry['elapsed_time']
        entry['double'] = 2 * entry['epoch']

    with pytest.warns(UserWarning, match="LogReport: no value was observed for 'nothing'"):
        log, _ = run_with_log(make_trainer, keys=['main/loss', 'nothing'], postprocess=shorten)
    assert list(log[0]) == ['main/loss', 'epoch', 'iteration', 'double']


def test_log_file_of_before_survives_a_failure_to_write(make_trainer: Any) -> None:
    def spoil(entry: dict[str, Any]) -> None:
        if entry['epoch'] == 2:
            entry['bad'] = object()

    trainer = make_trainer()
    trainer.extend(extensions.LogReport(postprocess=spoil))
    with pytest.raises(TypeError, match='not JSON serializable'):
        trainer.run(show_loop_exception_msg=False)
    assert [e['epoch'] for e in json.loads((Path(trainer.out) / 'log').read_text())] == [1]
    assert [p.name for p in Path(trainer.out).iterdir()] == ['log']


def test_log_report_refuses_unknown_arguments() -> None:
    with pytest.raises(TypeError, match=re.escape("unexpected arguments ['file']")):
        extensions.LogReport(file='x')


ROWS = [{'epoch': 1, 'main/loss': 1.23456789, 'iteration': 10, 'a_long_name_here': 1e-7}, {'epoch': 2}]
# Written by Chainer 7.8.1, apart from the header's code that clears a terminal.
TABLE = (
    'epoch       main/loss   a_long_name_here\n'
    '\x1b[J1           1.23457     1e-07             \n'
    '\x1b[J2                                         \n'
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize('out', [Terminal(), io.StringIO()])
def test_table(out: io.StringIO) -> None:
    trainer = SimpleNamespace(get_extension=lambda name: SimpleNamespace(log=log))
    report = extensions.PrintReport(['epoch', 'main/loss', 'a_long_name_here'], out=out)
    log = ROWS[:1]
    report(trainer)
    report(trainer)
    log = ROWS
    report(trainer)
    assert out.getvalue() == TABLE


def test_table_goes_to_standard_output(make_trainer: Any, capsys: pytest.CaptureFixture[str]) -> None:
    trainer = make_trainer()
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(['epoch', 'iteration']))
    trainer.run()
    assert capsys.readouterr().out.replace('\x1b[J', '').split() == ['epoch', 'iteration', '1', '3', '2', '5']


def test_table_of_its_own_log_report(make_trainer: Any, capsys: pytest.CaptureFixture[str]) -> None:
    trainer = make_trainer()
    trainer.extend(extensions.PrintReport(['iteration'], extensions.LogReport(trigger=(2, 'iteration'))))
    trainer.run()
    assert capsys.readouterr().out.replace('\x1b[J', '').split() == ['iteration', '2', '4']
    assert '_log_report/_log' in entries(trainer.get_extension('PrintReport'))
    with pytest.raises(TypeError, match='must be a LogReport or its name, got'):
        extensions.PrintReport([], 3)(trainer)


# --- shifts ---

SHIFTS = {
    'exponential': (lambda: extensions.ExponentialShift('lr', 0.5), [1, 0.5, 0.25, 0.125, 0.0625]),
    'exponential, target': (
        lambda: extensions.ExponentialShift('lr', 0.5, init=2.0, target=0.3),
        [2, 1, 0.5, 0.3, 0.3],
    ),
    'exponential, rising': (lambda: extensions.ExponentialShift('lr', 2, target=6), [1, 2, 4, 6, 6]),
    'exponential, negative': (lambda: extensions.ExponentialShift('lr', 2, init=-1, target=-3), [-1, -2, -3, -3, -3]),
    'step': (lambda: extensions.StepShift('lr', 0.5, 2), [1, 1, 0.5, 0.5, 0.25]),
    'step, target': (lambda: extensions.StepShift('lr', 0.5, 1, init=3.0, target=0.5), [3, 1.5, 0.75, 0.5, 0.5]),
    'multistep': (lambda: extensions.MultistepShift('lr', 0.5, [1, 3], 8.0), [8, 4, 4, 2, 2]),
    'multistep, no init': (lambda: extensions.MultistepShift('lr', 0.5, [2, 2], None), [1, 1, 0.25, 0.25, 0.25]),
    'inverse': (lambda: extensions.InverseShift('lr', 1, 1), [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]),
    'inverse, target': (lambda: extensions.InverseShift('lr', 1, 1, target=0.3), [1, 1 / 2, 1 / 3, 0.3, 0.3]),
    'polynomial': (lambda: extensions.PolynomialShift('lr', 2, 2), [1, 0.25, 0, 0, 0]),
    'polynomial, target': (lambda: extensions.PolynomialShift('lr', 1, 4, target=0.4), [1, 0.75, 0.5, 0.4, 0.4]),
    'polynomial, target zero': (lambda: extensions.PolynomialShift('lr', 1, 2, target=0.0), [1, 0.5, 0, 0, 0]),
    'warmup': (lambda: extensions.WarmupShift('lr', 0.5, 2, 2.5), [0.5, 1.5, 2.5, 2.5, 2.5]),
    'warmup, no start': (lambda: extensions.WarmupShift('lr', None, 2, 2.0), [1, 1.5, 2, 2, 2]),
    'linear': (lambda: extensions.LinearShift('lr', (3.0, 1.0), (1, 3)), [3, 3, 2, 1, 1]),
}


@pytest.mark.parametrize('at', range(5))
@pytest.mark.parametrize('name', SHIFTS)
def test_shift_also_after_loading(name: str, at: int, counting: Any) -> None:
    make, want = SHIFTS[name]
    optimizer = SGD(1.0)
    trainer, shift = counting(optimizer=optimizer), make()
    shift.initialize(trainer)
    got = [optimizer.lr]
    for _ in range(at):
        shift(trainer)
        got.append(optimizer.lr)
    file = io.BytesIO()
    save_npz(file, shift)
    # A resumed run starts with a new optimizer: its attributes are not part of a snapshot.
    trainer.updater.optimizer = optimizer = SGD(1.0)
    resumed = make()
    load_npz(file, resumed)
    resumed.initialize(trainer)
    assert optimizer.lr == pytest.approx(got[-1])
    for _ in range(at, 4):
        resumed(trainer)
        got.append(optimizer.lr)
    assert got == pytest.approx(want)


def test_loaded_shift_sets_the_saved_value_whatever_the_optimizer_has(counting: Any) -> None:
    trainer, shift = counting(optimizer=SGD(1.0)), extensions.ExponentialShift('lr', 0.5)
    shift.initialize(trainer)
    shift(trainer)
    resumed = extensions.ExponentialShift('lr', 0.5)
    resumed.serialize(NpzDeserializer(entries(shift)))
    trainer.updater.optimizer = SGD(64.0)
    resumed.initialize(trainer)
    assert trainer.updater.optimizer.lr == 0.5


@pytest.mark.parametrize(
    ('name', 'keys'),
    [
        ('exponential', ['_last_value', '_t']),
        ('step', ['_last_value', '_t']),
        ('inverse', ['_last_value', '_t']),
        ('polynomial', ['_last_value', '_t']),
        ('linear', ['_last_value', '_t']),
        ('multistep', ['_current_step', '_t']),
        ('warmup', ['_last_value', '_t']),  # one more: Chainer's forgets where it was
    ],
)
def test_saved_entries_of_shifts_are_those_of_chainer(name: str, keys: list[str]) -> None:
    assert sorted(entries(SHIFTS[name][0]())) == keys


def test_shift_of_a_given_optimizer(counting: Any) -> None:
    main, other = SGD(1.0), SGD(8.0)
    trainer, shift = counting(optimizer=main), extensions.ExponentialShift('lr', 0.5, optimizer=other)
    shift.initialize(trainer)
    shift(trainer)
    assert (main.lr, other.lr) == (1.0, 4.0)


def test_negative_rate() -> None:
    with pytest.raises(ValueError, match='rate must not be negative, got -1'):
        extensions.ExponentialShift('lr', -1)


# --- the others ---


def test_observed_values_are_reported(make_trainer: Any) -> None:
    trainer = make_trainer((1, 'epoch'))
    trainer.extend(extensions.observe_lr(observation_key='rate'))
    trainer.extend(extensions.observe_value('twice', lambda t: 2 * t.updater.iteration))
    trainer.run()
    assert trainer.observation['rate'] == trainer.updater.get_optimizer('main').alpha_t
    assert trainer.observation['twice'] == 6
    assert trainer.get_extension('_observe_value_1') is not None


@pytest.mark.parametrize('bad', [math.nan, math.inf])
def test_non_numbers_end_the_training(make_trainer: Any, bad: float) -> None:
    def spoil(trainer: Any) -> None:
        if trainer.updater.iteration == 2:
            trainer.updater.get_optimizer('main').target.predictor.l2.b.array[1] = bad

    trainer = make_trainer()
    trainer.extend(spoil, priority=PRIORITY_WRITER)
    trainer.extend(extensions.FailOnNonNumber())
    with pytest.raises(RuntimeError, match=r"iteration 2 left NaN or infinity in /predictor/l2/b of .* 'main'"):
        trainer.run(show_loop_exception_msg=False)


def test_micro_average(counting: Any) -> None:
    trainer, values = counting(), [(1, 2), (3, 4), (0, 1), (1, 1)]
    average = extensions.MicroAverage('a', 'b', 'ratio', trigger=(2, 'iteration'))
    ratios = []
    for a, b in values:
        with reported() as observation:
            average(trainer.step({'a': a, 'b': np.float32(b)}))
        ratios.append(observation)
        loaded = extensions.MicroAverage('a', 'b', 'ratio', trigger=(2, 'iteration'))
        loaded.serialize(NpzDeserializer(entries(average)))
        loaded._trigger = average._trigger
        average = loaded
    assert ratios == [{}, {'ratio': 4 / 6}, {}, {'ratio': 0.5}]
    average(trainer.step({'a': 1}))


def test_a_warm_up_leaves_the_attribute_alone_after_its_end() -> None:
    """As in Chainer: what another shift, or the program, sets then stays, in a resumed run too."""
    sgd = SGD(1.0)
    warmup = extensions.WarmupShift('lr', 0.5, 2, 2.5, optimizer=sgd)
    warmup.initialize(None)
    for expected in (1.5, 2.5):
        warmup(None)
        assert sgd.lr == expected
    sgd.lr = 0.25
    warmup(None)
    assert (sgd.lr, warmup._t) == (0.25, 3)
    resumed = extensions.WarmupShift('lr', 0.5, 2, 2.5, optimizer=SGD(1.0))
    resumed.serialize(NpzDeserializer(entries(warmup)))
    resumed.initialize(None)
    assert resumed._optimizer.lr == 0.25
    from_chainer = extensions.WarmupShift('lr', 0.5, 2, 2.5, optimizer=SGD(1.0))
    from_chainer.serialize(NpzDeserializer({'_t': np.array(3)}))
    from_chainer.initialize(None)
    assert from_chainer._optimizer.lr == 2.5


@pytest.mark.parametrize(
    ('value', 'saved'),
    [(3, np.int64), (np.float32(3), np.int64), (0.0, np.int64), (2.5, np.float64), (1e300, np.float64)],
)
def test_sums_of_counts_are_saved_as_integers(counting: Any, value: Any, saved: Any) -> None:
    """Chainer loads nothing else into the sums of a new MicroAverage, which are the integer 0."""
    average = extensions.MicroAverage('a', 'b', 'ratio', trigger=(2, 'iteration'))
    average(counting().step({'a': value, 'b': 1}))
    found = entries(average)
    assert np.asarray(found['_numerator']).dtype == saved
    assert np.asarray(found['_denominator']).dtype == np.int64
    loaded = extensions.MicroAverage('a', 'b', 'ratio')
    loaded.serialize(NpzDeserializer(found, strict=False))
    assert loaded._numerator == value


def test_parameter_statistics(make_trainer: Any) -> None:
    trainer = make_trainer((1, 'iteration'))
    layer = trainer.updater.get_optimizer('main').target.predictor.l1
    statistics = extensions.ParameterStatistics(layer, prefix='p', trigger=EVERY)
    statistics.register_statistics('size', lambda x: x.size)
    trainer.extend(statistics)
    trainer.run()
    seen = trainer.observation
    assert seen['p/l1/W/data/mean'] == pytest.approx(layer.W.array.mean())
    assert seen['p/l1/b/grad/max'] == pytest.approx(layer.b.grad.max())
    assert (seen['p/l1/W/data/size'], seen['p/l1/W/data/zeros']) == (20, 0)
    assert seen['p/l1/W/data/percentile/3'] == pytest.approx(np.median(layer.W.array))
    n_percentiles, n_others = 7, 6
    assert len([k for k in seen if k.startswith('p/')]) == 4 * (n_percentiles + n_others)


def test_parameter_statistics_of_nan_and_of_nothing(make_trainer: Any) -> None:
    trainer = make_trainer()
    layer = trainer.updater.get_optimizer('main').target.predictor.l1
    layer.b.array[0] = math.nan
    layer.cleargrads()
    kwargs = {'statistics': {'size': np.size}, 'trigger': lambda t: True, 'skip_nan_params': True}
    with reported() as observation:
        extensions.ParameterStatistics([layer], report_grads=True, **kwargs)(trainer)
    assert sorted(observation) == ['l1/W/data/size', 'l1/b/data/size']
    assert math.isnan(observation['l1/b/data/size'])


def test_unchain_variables() -> None:
    x = Variable(np.ones(2, np.float32))
    y = sum_(x * 2)
    trainer = SimpleNamespace(observation={'y': y, 'n': 1.0})
    extension = extensions.unchain_variables()
    assert extension.trigger(trainer)
    extension(trainer)
    assert y.creator is None


@pytest.mark.filterwarnings('ignore:PlotReport. no value was observed')
def test_plot(make_trainer: Any) -> None:
    pytest.importorskip('matplotlib')
    trainer = make_trainer()
    drawn = []
    trainer.extend(
        extensions.PlotReport(
            ['main/loss', 'nothing'],
            'epoch',
            postprocess=lambda f, a, s: drawn.append(len(a.lines)),
            filename='a.png',
        )
    )
    trainer.run()
    assert drawn == [1, 1]
    assert (Path(trainer.out) / 'a.png').read_bytes().startswith(b'\x89PNG')
    plot = trainer.get_extension('PlotReport')
    points = json.loads(str(entries(plot)['_plot_a.png']))
    assert [x for x, _ in points['main/loss']] == [1, 2]
    loaded = extensions.PlotReport(['main/loss', 'nothing'], file_name='a.png')
    loaded.serialize(NpzDeserializer(entries(plot)))
    assert entries(loaded) == entries(plot)


def test_plot_without_matplotlib(monkeypatch: pytest.MonkeyPatch, make_trainer: Any) -> None:
    monkeypatch.setattr('importlib.util.find_spec', lambda name: None)
    trainer = make_trainer()
    with pytest.warns(UserWarning, match='needs matplotlib, which is not installed'):
        trainer.extend(extensions.PlotReport('main/loss'))
    trainer.run()
    assert list(Path(trainer.out).iterdir()) == []


def test_training_imports_no_matplotlib() -> None:
    code = (
        'import sys, minichainer.training.extensions; print([m for m in sys.modules if m.startswith("matplotlib")])'
    )
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert done.stdout == '[]\n'
