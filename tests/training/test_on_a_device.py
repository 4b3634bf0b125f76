"""Training on GPUs: as on the CPU, resumed from snapshots, with each extension, on one device and on two."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from minichainer import functions as F
from minichainer import iterators
from minichainer.backends import cuda
from minichainer.dataset.convert import ConcatWithAsyncTransfer, concat_examples
from minichainer.optimizers.adam import Adam
from minichainer.serializers.npz import load_npz, save_npz
from minichainer.training import extensions
from minichainer.training.updaters.parallel_updater import ParallelUpdater
from tests.training.conftest import make_data, make_model
from tests.training.test_resume import EXTENSIONS, check_that_resuming_changes_nothing, model_of

pytestmark = pytest.mark.gpu
DEVICE = '@cupy:0'


def parameters_of(trainer: Any) -> dict[str, np.ndarray]:
    return {name: cuda.to_cpu(param.array) for name, param in model_of(trainer).namedparams()}


def assert_same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray], tolerance: float = 0) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, tolerance, tolerance, err_msg=name)


@pytest.fixture
def second() -> Any:
    if cuda.cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip('one GPU only')
    return chainer.get_device('@cupy:1')


@pytest.mark.parametrize('converter', [concat_examples, ConcatWithAsyncTransfer], ids=['plain', 'asynchronous'])
def test_the_run_is_that_of_the_cpu(make_trainer: Callable[..., Any], converter: Any) -> None:
    runs = {}
    for device in ('@numpy', DEVICE):
        convert = converter() if isinstance(converter, type) and device == DEVICE else concat_examples
        trainer = make_trainer(device=device, converter=convert)
        trainer.run()
        runs[device] = parameters_of(trainer)
        xp = chainer.get_device(device).xp
        assert all(isinstance(p.array, xp.ndarray) for p in model_of(trainer).params())
    assert_same(runs[DEVICE], runs['@numpy'], 1e-4)


@pytest.mark.parametrize('extension', EXTENSIONS)
def test_every_extension_resumes(
    extension: str, make_trainer: Any, evaluation: Any, monkeypatch: Any, tmp_path: Path
) -> None:
    """An evaluator must be told of the device; all others find it."""
    monkeypatch.setitem(
        EXTENSIONS,
        'Evaluator',
        lambda trainer, it, trigger: extensions.Evaluator(it, model_of(trainer), device=DEVICE),
    )
    make = functools.partial(make_trainer, device=DEVICE)
    case = (extension, '3 iterations', 'iteration')
    check_that_resuming_changes_nothing(make, evaluation, monkeypatch, tmp_path, case, at=4)


def test_what_is_drawn_after_a_snapshot_is_drawn_again(make_trainer: Any, tmp_path: Path) -> None:
    """CuPy's states cannot be saved; so each snapshot gives new seeds, also in the run that goes on."""

    def make(folder: str) -> Any:
        trainer = make_trainer((6, 'iteration'), out=tmp_path / folder, device=DEVICE, loss_func=loss)
        trainer.extend(extensions.snapshot(), trigger=(2, 'iteration'))
        return trainer

    def loss(x: Any, t: Any) -> Any:
        model = trainer.updater.get_optimizer('main').target
        return model(F.dropout(x, 0.4), t)

    trainer = whole = make('whole')
    whole.run()
    trainer = rest = make('rest')
    cuda.cupy.random.seed(5)
    load_npz(tmp_path / 'whole' / 'snapshot_iter_4', rest)
    rest.run()
    assert_same(parameters_of(rest), parameters_of(whole))
    trainer = other = make('other')
    other.run()
    with pytest.raises(AssertionError):
        assert_same(parameters_of(other), parameters_of(whole))


def test_a_snapshot_goes_to_the_other_side(make_trainer: Any, tmp_path: Path) -> None:
    begun = make_trainer((4, 'iteration'), device=DEVICE)
    begun.run()
    save_npz(tmp_path / 'snapshot', begun)
    for device in ('@numpy', DEVICE):
        resumed = make_trainer((4, 'iteration'), device=device)
        load_npz(tmp_path / 'snapshot', resumed)
        assert_same(parameters_of(resumed), parameters_of(begun))
        assert model_of(resumed).device == chainer.get_device(device)


def test_the_evaluator_sends_batches(make_trainer: Any, evaluation: Any) -> None:
    model = make_model()
    expected = extensions.Evaluator(evaluation, model)()
    model.to_device(DEVICE)
    evaluation.reset()
    found = extensions.Evaluator(evaluation, model, device=DEVICE)()
    for name, value in expected.items():
        np.testing.assert_allclose(float(found[name]), value, 1e-5)


def test_a_model_on_another_than_the_current_device(make_trainer: Any, second: Any) -> None:
    runs = {}
    for device in ('@numpy', second.name):
        trainer = make_trainer(device=device)
        trainer.extend(extensions.LogReport(trigger=(1, 'iteration'), filename=None))
        trainer.run()
        runs[device] = parameters_of(trainer)
    assert chainer.get_device(cuda.cupy) == chainer.get_device(DEVICE) != second
    assert all(param.device == second and param.grad_var.device == second for param in model_of(trainer).params())
    assert_same(runs[second.name], runs['@numpy'], 1e-4)


def test_parallel_updater_on_two_devices(second: Any) -> None:
    models = {}
    for devices in ({'main': '@numpy'}, {'main': DEVICE, 'other': second.name}):
        sampler = iterators.ShuffleOrderSampler(np.random.RandomState(2))
        optimizer = Adam(0.05).setup(make_model())
        updater = ParallelUpdater(
            iterators.SerialIterator(make_data(), 8, order_sampler=sampler), optimizer, devices=devices
        )
        for _ in range(4):
            updater.update()
        models[len(devices)] = {n: cuda.to_cpu(p.array) for n, p in optimizer.target.namedparams()}
    assert_same(models[2], models[1], 1e-4)


@pytest.mark.parametrize(
    'batch', [[np.arange(3.0), np.ones(3)], [(np.ones(2), 1), (np.zeros(2), 0)], [{'a': 1.0}] * 2]
)
def test_converters(batch: Any) -> None:
    found, expected = concat_examples(batch, DEVICE), concat_examples(batch)
    pairs = (
        [(found, expected)]
        if isinstance(expected, np.ndarray)
        else (
            [(found[k], expected[k]) for k in expected]
            if isinstance(expected, dict)
            else zip(found, expected, strict=True)
        )
    )
    for one, other in pairs:
        assert isinstance(one, cuda.ndarray) and one.dtype == other.dtype
        np.testing.assert_array_equal(one.get(), other)
