"""Optimizers, their hooks, states and files on a GPU, as on the CPU."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from minichainer import functions as F
from minichainer import links as L
from minichainer import optimizer_hooks as hooks
from minichainer import optimizers
from minichainer.backends import cuda
from minichainer.serializers import load_hdf5, load_npz, save_hdf5, save_npz
from tests.optimizers.rows import ROWS
from tests.optimizers.test_algorithms import IDS
from tests.optimizers.test_hooks import EFFECTS, OWNED, G, W, link_of

pytestmark = pytest.mark.gpu
DEVICE = '@cupy:0'
every_optimizer = pytest.mark.parametrize(('name', 'values'), [row[:2] for row in ROWS], ids=IDS)
STEPS = 3


def model_on(device: str, dtype: str = 'f') -> Any:
    with chainer.using_config('dtype', np.dtype(dtype)):
        # Normalization takes a bias away: its gradient is rounding, whose sign is all that Adam looks at.
        model = chainer.Chain(a=L.Linear(3, 4, nobias=True), b=L.BatchNormalization(4), c=L.Linear(4, 2))
    rng = np.random.RandomState(1)
    for _, param in sorted(model.namedparams()):
        param.array[...] = rng.uniform(-1, 1, param.shape)
    return model.to_device(device)


def train(optimizer: Any, model: Any, steps: int = STEPS, dtype: str = 'f') -> None:
    rng = np.random.RandomState(2)
    for _ in range(steps):
        x = chainer.Variable(model.device.send(rng.uniform(-1, 1, (5, 3)).astype(dtype)))
        optimizer.update(lambda x: F.mean(model.c(model.b(F.tanh(model.a(x)))) ** 2), x)


def values_of(model: Any) -> dict[str, Any]:
    """Parameters, and states of update rules."""
    found = {}
    for name, param in model.namedparams():
        found[name] = param.array
        found |= {f'{name}/{key}': value for key, value in (param.update_rule.state or {}).items()}
    return found


def assert_same(model: Any, expected: Any, tolerance: float = 1e-4, moved: bool = True) -> None:
    found, wanted = values_of(model), values_of(expected)
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        if isinstance(value, (np.ndarray, cuda.ndarray)):
            assert not moved or isinstance(found[name], cuda.ndarray), f'{name} is not on the device'
            np.testing.assert_allclose(
                cuda.to_cpu(found[name]), cuda.to_cpu(value), tolerance, tolerance, err_msg=name
            )
        else:
            assert found[name] == value, name


@pytest.mark.parametrize('dtype', 'efd')
@every_optimizer
def test_training(name: str, values: dict[str, Any], dtype: str) -> None:
    models = [model_on(device, dtype) for device in (DEVICE, '@numpy')]
    for model in models:
        train(getattr(optimizers, name)(**values).setup(model), model, dtype=dtype)
    assert_same(*models, tolerance={'e': 2e-2, 'f': 1e-4, 'd': 1e-9}[dtype])


@every_optimizer
def test_float32_copies_of_half_parameters(name: str, values: dict[str, Any]) -> None:
    models = [model_on(device, 'e') for device in (DEVICE, '@numpy')]
    for model in models:
        optimizer = getattr(optimizers, name)(**values).setup(model)
        optimizer.use_fp32_update()
        optimizer.loss_scaling(scale=8)
        train(optimizer, model, dtype='e')
    assert all(param.dtype == 'e' for param in models[0].params())
    assert_same(*models, tolerance=2e-2)


@pytest.mark.parametrize(('save', 'load'), [(save_npz, load_npz), (save_hdf5, load_hdf5)], ids=['npz', 'hdf5'])
@every_optimizer
def test_files(name: str, values: dict[str, Any], save: Any, load: Any, tmp_path: Path) -> None:
    model = model_on(DEVICE)
    optimizer = getattr(optimizers, name)(**values).setup(model)
    train(optimizer, model)
    save(tmp_path / 'optimizer', optimizer)
    save(tmp_path / 'model', model)
    resumed = model_on(DEVICE)
    other = getattr(optimizers, name)(**values).setup(resumed)
    load(tmp_path / 'model', resumed)
    load(tmp_path / 'optimizer', other)
    assert_same(resumed, model, moved=False)  # states follow at the first update
    for one, of in ((optimizer, model), (other, resumed)):
        train(one, of)
    assert_same(resumed, model)


@every_optimizer
def test_a_model_is_moved_between_steps(name: str, values: dict[str, Any]) -> None:
    moved, stays = model_on('@numpy'), model_on('@numpy')
    for model in (moved, stays):
        optimizer = getattr(optimizers, name)(**values).setup(model)
        train(optimizer, model)
        if model is moved:
            model.to_device(DEVICE)
        train(optimizer, model)
    assert_same(moved, stays)


@every_optimizer
def test_pickles(name: str, values: dict[str, Any]) -> None:
    model = model_on(DEVICE)
    optimizer = getattr(optimizers, name)(**values).setup(model)
    train(optimizer, model)
    other = pickle.loads(pickle.dumps(optimizer))
    assert_same(other.target, model)


@pytest.mark.parametrize(('hook', 'expected'), EFFECTS, ids=[type(h).__name__ for h, _ in EFFECTS])
@pytest.mark.parametrize(('dtype', 'rtol'), [('e', 4e-3), ('f', 1e-5), ('d', 1e-8)])
def test_effect_of_a_hook(hook: Any, expected: Any, dtype: str, rtol: float) -> None:
    param = chainer.Parameter(W.astype(dtype))
    model = link_of(w=param, b=chainer.Parameter(np.zeros(2, dtype))).to_device(DEVICE)
    optimizer = optimizers.SGD(1).setup(model)
    optimizer.add_hook(hook)
    for one, grad in ((model.w, G), (model.b, np.zeros(2))):
        one.grad = model.device.send(grad.astype(dtype))
    optimizer.update()
    np.testing.assert_allclose(model.w.grad.get(), expected, rtol)
    np.testing.assert_allclose(model.w.array.get(), W - np.asarray(expected), 10 * rtol, 10 * rtol)


@pytest.mark.parametrize(('hook', 'owner'), OWNED)
def test_hooks_in_training(hook: Any, owner: str) -> None:
    if isinstance(hook, hooks.GradientNoise):
        hook = hooks.GradientNoise(0.1)  # its own noise, which is drawn on the device
    model = model_on(DEVICE)
    optimizer = optimizers.MomentumSGD().setup(model)
    for target in [optimizer] if owner == 'optimizer' else [param.update_rule for param in model.params()]:
        target.add_hook(hook)
    train(optimizer, model)
    assert all(isinstance(value, cuda.ndarray) for value in values_of(model).values())


def test_dynamic_loss_scaling() -> None:
    model = model_on(DEVICE, 'e')
    optimizer = optimizers.Adam().setup(model)
    optimizer.loss_scaling(interval=1)
    before = optimizer._loss_scale
    train(optimizer, model, dtype='e')
    assert optimizer._loss_scale > before and all(bool(cuda.cupy.isfinite(p.array).all()) for p in model.params())
