"""Updaters of several copies of a model, on the CPU: what they add up, copy, report and save."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minichainer import datasets, iterators
from minichainer.functions.math.reductions import mean
from minichainer.link import Chain, Link
from minichainer.links.connection.linear import Linear
from minichainer.links.model.classifier import Classifier
from minichainer.optimizers.momentum_sgd import MomentumSGD
from minichainer.optimizers.sgd import SGD
from minichainer.serializers.npz import DictionarySerializer, NpzDeserializer
from minichainer.training.trainer import Trainer
from minichainer.training.updaters import MultiprocessParallelUpdater, ParallelUpdater, StandardUpdater
from minichainer.variable import Parameter
from tests.training.conftest import make_data, make_model
from tests.training.pipe_group import PipeGroup

CPU = '@numpy'
TWO = {'main': CPU, 'second': CPU}
FORKS = pytest.mark.filterwarnings('ignore:.*multi-threaded, use of fork:DeprecationWarning')


class Slope(Link):
    """Its gradient is the mean of the examples."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        with self.init_scope():
            self.w = Parameter(np.zeros(1, np.float32))

    def forward(self, x: Any) -> Any:
        return mean(x * self.w[0])


def squares(n: int) -> Any:
    return iterators.SerialIterator([np.float32(i * i) for i in range(n)], n, shuffle=False)


def gradient(updater: Any) -> float:
    """Of Slope, from one step of size 1."""
    updater.update()
    return float(-updater.get_optimizer('main').target.w.array[0])


def classify(kind: Any, lr: float, steps: int = 4, **kwargs: Any) -> Any:
    """An updater after some steps with batches of 8."""
    iterator = iterators.SerialIterator(make_data(24), 8, shuffle=False)
    updater = kind(iterator, MomentumSGD(lr).setup(make_model()), **kwargs)
    for _ in range(steps):
        updater.update()
    return updater


def values(updater: Any) -> Any:
    params = sorted(updater.get_optimizer('main').target.namedparams())
    return np.concatenate([param.array.ravel() for _, param in params])


# --- ParallelUpdater ---
@pytest.mark.parametrize(
    ('n', 'names', 'expected'),
    [
        (4, 'main', 3.5),
        (4, 'main b', 7.0),
        (4, 'main b c', 9.5),
        (5, 'main b', 11.666667),
        (5, 'b main', 11.666667),
        (5, 'main b c', 17.0),
        (1, 'main b', 0.0),
    ],
)
def test_gradients_are_added_up_as_in_chainer(n: int, names: str, expected: float) -> None:
    updater = ParallelUpdater(squares(n), SGD(1.0).setup(Slope()), devices=dict.fromkeys(names.split(), CPU))
    assert gradient(updater) == pytest.approx(expected)


@pytest.mark.parametrize('devices', [TWO, {'main': -1, 'second': -1}, {'z': CPU, 'main': CPU, 'a': -1, 'b': CPU}])
def test_it_trains_as_standard_updater_does_with_another_rate(devices: dict[str, Any]) -> None:
    parallel = classify(ParallelUpdater, 0.1 / len(devices), devices=devices)
    np.testing.assert_allclose(values(parallel), values(classify(StandardUpdater, 0.1)), rtol=1e-5, atol=1e-6)
    assert (parallel.iteration, parallel.get_optimizer('main').epoch) == (4, 1)


@pytest.mark.parametrize('loss_scale', [None, 64.0])
def test_loss_scale_does_not_change_the_result(loss_scale: float | None) -> None:
    updater = classify(ParallelUpdater, 0.05, devices=TWO, loss_scale=loss_scale)
    np.testing.assert_allclose(values(updater), values(classify(StandardUpdater, 0.1)), rtol=1e-5, atol=1e-6)


def test_the_batch_is_dealt_out_and_the_copies_follow() -> None:
    seen = []

    class Watching(Slope):
        def forward(self, x: Any) -> Any:
            seen.append((x.tolist(), float(self.w.array[0])))
            return super().forward(x)

    updater = ParallelUpdater(squares(5), SGD(1.0).setup(Watching()), devices={'b': CPU, 'main': CPU})
    updater.update()
    updater.update()
    w = pytest.approx(-11.666667)
    assert seen == [([0, 4, 16], 0), ([1, 9], 0), ([0, 4, 16], w), ([1, 9], w)]


def test_given_models_and_their_devices() -> None:
    models = {'main': Slope(), 'other': Slope()}
    updater = ParallelUpdater(squares(4), SGD(1.0).setup(models['main']), models=models)
    assert gradient(updater) == 7
    assert models['other'].w.array == models['main'].w.array


def test_lazy_parameters_are_equal_in_all_copies() -> None:
    data = datasets.TupleDataset(np.ones((4, 3), np.float32), np.zeros(4, np.int32))
    model = Classifier(Linear(None, 2))
    updater = ParallelUpdater(iterators.SerialIterator(data, 4), SGD(0.0).setup(model), devices=TWO)
    for _ in range(2):
        updater.update()
        W = [copy.predictor.W.array for copy in updater._models.values()]
        np.testing.assert_array_equal(*W)


def test_a_loss_function_is_called_for_each_part() -> None:
    model, seen = Slope(), []

    def loss_func(x: Any) -> Any:
        seen.append(len(x))
        return model(x)

    updater = ParallelUpdater(squares(5), SGD(1.0).setup(model), devices=TWO, loss_func=loss_func)
    assert gradient(updater) == pytest.approx(11.666667)
    assert seen == [3, 2]


def test_all_models_report(tmp_path: Path) -> None:
    updater = classify(ParallelUpdater, 0.1, 0, devices=TWO)
    trainer = Trainer(updater, (1, 'iteration'), str(tmp_path))
    trainer.run()
    assert sorted(trainer.observation) == ['main/accuracy', 'main/loss', 'second/accuracy', 'second/loss']


def test_a_resumed_run_is_the_same() -> None:
    whole = classify(ParallelUpdater, 0.1, 4, devices=TWO)
    serializer = DictionarySerializer()
    classify(ParallelUpdater, 0.1, 2, devices=TWO).serialize(serializer)
    assert not [key for key in serializer.target if 'second' in key]
    resumed = classify(ParallelUpdater, 0.1, 1, devices=TWO)
    resumed.serialize(NpzDeserializer(serializer.target))
    for _ in range(2):
        resumed.update()
    np.testing.assert_array_equal(values(resumed), values(whole))


@pytest.mark.parametrize(
    ('kwargs', 'error', 'message'),
    [
        ({}, ValueError, 'either models or devices must be specified'),
        ({'devices': {'a': -1}}, KeyError, "'devices' must contain a 'main' key"),
        ({'models': {}}, KeyError, "'models' must contain a 'main' key"),
        ({'devices': [-1, -1]}, TypeError, 'devices must be a dict by name, got list'),
        ({'devices': TWO, 'models': {'main': Slope()}}, ValueError, 'must have equal names'),
    ],
)
def test_wrong_arguments_are_refused(kwargs: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ParallelUpdater(squares(2), SGD().setup(Slope()), **kwargs)


# --- MultiprocessParallelUpdater ---
class OnPipes(MultiprocessParallelUpdater):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._group = PipeGroup()
        super().__init__(*args, **kwargs)


@pytest.fixture
def forked() -> Iterator[None]:
    before = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method('fork', force=True)
    yield
    multiprocessing.set_start_method(before, force=True)


def on_pipes(models: Any, lr: float = 1.0, parts: Any = ((0.0, 4.0, 16.0), (1.0, 9.0)), **kwargs: Any) -> Any:
    its = [iterators.SerialIterator([np.float32(x) for x in part], len(part), shuffle=False) for part in parts]
    return OnPipes(its, SGD(lr).setup(models), devices=kwargs.pop('devices', [CPU] * len(its)), **kwargs)


def test_without_nccl_it_says_what_to_do() -> None:
    assert MultiprocessParallelUpdater.available() is False
    with pytest.raises(RuntimeError, match=r'NCCL is not enabled.*use ParallelUpdater'):
        MultiprocessParallelUpdater([squares(2)], SGD().setup(Slope()), devices=[0])


@pytest.mark.parametrize(
    ('devices', 'error', 'message'),
    [
        (None, ValueError, 'devices must be a list or tuple'),
        ([CPU, None], ValueError, 'devices must be a list or tuple'),
        ({'a': CPU, 'b': CPU}, KeyError, "must contain a 'main' key"),
        ([CPU], ValueError, 'got 2 iterators and 1 devices'),
    ],
)
def test_wrong_devices_are_refused(devices: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        on_pipes(Slope(), devices=devices)


@FORKS
@pytest.mark.usefixtures('forked')
@pytest.mark.parametrize('devices', [[CPU, CPU], {'x': CPU, 'main': CPU}])
def test_processes_add_up_their_gradients_and_get_the_parameters(devices: Any) -> None:
    updater = on_pipes(Slope(), devices=devices)
    try:
        assert gradient(updater) == pytest.approx(11.666667)
        assert gradient(updater) == pytest.approx(2 * 11.666667)
        assert (updater.iteration, updater.epoch) == (2, 2)
        assert len(multiprocessing.active_children()) == 1
    finally:
        updater.finalize()
    assert multiprocessing.active_children() == []


@FORKS
@pytest.mark.usefixtures('forked')
def test_processes_train_as_standard_updater_does(tmp_path: Path) -> None:
    x, t = make_data(24)._datasets
    its = [iterators.SerialIterator(datasets.TupleDataset(x[k::3], t[k::3]), 4, shuffle=False) for k in range(3)]
    whole = np.concatenate([np.arange(24)[k::3].reshape(2, 4) for k in range(3)], axis=1).ravel()
    standard = StandardUpdater(
        iterators.SerialIterator(datasets.TupleDataset(x[whole], t[whole]), 12, shuffle=False),
        MomentumSGD(0.3).setup(make_model()),
    )
    updater = OnPipes(its, MomentumSGD(0.1).setup(make_model()), devices=[CPU] * 3)
    trainer = Trainer(updater, (4, 'iteration'), str(tmp_path))
    trainer.run()
    for _ in range(4):
        standard.update()
    np.testing.assert_allclose(values(updater), values(standard), rtol=1e-5, atol=1e-6)
    assert sorted(trainer.observation) == ['main/accuracy', 'main/loss']
    assert multiprocessing.active_children() == []


class Lazy(Chain):
    """Has a lazy parameter, and one that is not used."""

    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.layer = Linear(None, 1)
            self.unused = Parameter(np.ones(2, np.float64))

    def forward(self, x: Any) -> Any:
        return mean(self.layer(x[:, None]))


@FORKS
@pytest.mark.usefixtures('forked')
def test_lazy_and_unused_parameters() -> None:
    model = Lazy()
    updater = on_pipes(model)
    try:
        updater.update()
        W = float(model.layer.W.array[0, 0])
        updater.update()
        assert W - float(model.layer.W.array[0, 0]) == pytest.approx(11.666667, rel=1e-5)
        np.testing.assert_array_equal(model.unused.array, [1, 1])
    finally:
        updater.finalize()


class Fails(Slope):
    def __init__(self, how: Any) -> None:
        super().__init__()
        self.how = how

    def forward(self, x: Any) -> Any:
        if len(x) == 2:  # in the second process
            self.how()
        return super().forward(x)


def raise_here() -> None:
    raise ZeroDivisionError('in the model')


@FORKS
@pytest.mark.usefixtures('forked')
@pytest.mark.parametrize(
    ('how', 'message'),
    [
        (raise_here, r'a process failed:\n(.|\n)*in raise_here(.|\n)*ZeroDivisionError: in the model'),
        (lambda: os._exit(7), r'process \d+ died \(exit code 7\)'),
    ],
)
def test_a_failure_of_another_process_is_an_error_at_once(how: Any, message: str) -> None:
    updater = on_pipes(Fails(how))
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=message):
        updater.update()
    assert time.monotonic() - start < 10
    assert multiprocessing.active_children() == []


PROGRAM = """
import multiprocessing, sys, time
multiprocessing.set_start_method('fork')
from tests.training.test_parallel_updaters import Slope, on_pipes
updater = on_pipes(Slope())
updater.update()
print(multiprocessing.active_children()[0].pid, flush=True)
if sys.argv[1] == 'wait':
    time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != 'linux', reason='reads /proc')
@pytest.mark.parametrize('end', ['wait', 'exit'])
def test_no_process_is_left(end: str) -> None:
    """Neither when the main one is killed, nor when it ends without ``finalize``."""
    command = [sys.executable, '-W', 'ignore', '-c', PROGRAM, end]
    environment = {**os.environ, 'PYTHONPATH': str(Path(__file__).parents[2])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        if end == 'wait':
            process.send_signal(signal.SIGKILL)
        process.wait(30)
        deadline = time.monotonic() + 10
        while Path(f'/proc/{pid}').exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not Path(f'/proc/{pid}').exists()
