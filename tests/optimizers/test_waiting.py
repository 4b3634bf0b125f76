"""No optimizer and no hook waits for the device, and hooks change all gradients in few launches."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from minichainer import optimizer_hooks as hooks
from minichainer import optimizers
from minichainer.kernels.cuda import gradients
from tests.optimizers.rows import ROWS
from tests.optimizers.test_algorithms import IDS
from tests.optimizers.test_hooks import OWNED, link_of
from tests.optimizers.test_on_a_device import DEVICE, model_on, train

pytestmark = pytest.mark.gpu


def counts_of(optimizer: Any, dtype: str = 'f') -> Any:
    """What an update by given gradients does on the device, after two steps."""
    if importlib.util.find_spec('cupy._meter') is None:
        pytest.skip('a real CuPy does not count launches')
    meter: Any = importlib.import_module('cupy._meter')
    model = optimizer.target
    train(optimizer, model, 2, dtype)
    for param in model.params():
        param.grad = param.xp.ones_like(param.array)
    with meter.record(places=True) as found:
        optimizer.update()
    return found


@pytest.mark.parametrize(('name', 'values'), [row[:2] for row in ROWS], ids=IDS)
@pytest.mark.parametrize('fp32', [False, True])
def test_optimizers(name: str, values: dict[str, Any], fp32: bool) -> None:
    dtype = 'e' if fp32 else 'f'
    optimizer = getattr(optimizers, name)(**values).setup(model_on(DEVICE, dtype))
    optimizer.use_fp32_update(fp32)
    found = counts_of(optimizer, dtype)
    assert not found.synchronisations, found.places
    assert sum(found.launches.values()) == (3 if name == 'LAMB' else 1), found.places


@pytest.mark.parametrize(('hook', 'owner'), OWNED)
def test_hooks(hook: Any, owner: str) -> None:
    if isinstance(hook, hooks.GradientNoise):
        hook = hooks.GradientNoise(0.1)
    optimizer = optimizers.MomentumSGD().setup(model_on(DEVICE))
    for target in [optimizer] if owner == 'optimizer' else [p.update_rule for p in optimizer.target.params()]:
        target.add_hook(hook)
    found = counts_of(optimizer)
    assert not found.synchronisations, found.places
    if owner == 'optimizer':
        assert sum(found.launches.values()) <= 4, found.places


def test_a_subclass_of_a_hook_is_called_for_each_parameter() -> None:
    class Doubling(hooks.WeightDecay):
        def __call__(self, rule: Any, param: Any) -> None:
            param.grad *= 2

    model = model_on(DEVICE)
    optimizer = optimizers.SGD().setup(model)
    optimizer.add_hook(Doubling(0.5))
    for param in model.params():
        param.grad = param.xp.ones_like(param.array)
    optimizer.update()
    assert all(bool((param.grad == 2).all()) for param in model.params())


@pytest.mark.parametrize('fp16', [False, True])
def test_dynamic_loss_scaling_reads_one_value(fp16: bool) -> None:
    dtype = 'e' if fp16 else 'f'
    optimizer = optimizers.Adam().setup(model_on(DEVICE, dtype))
    optimizer.loss_scaling(interval=1)
    found = counts_of(optimizer, dtype)
    assert sum(found.synchronisations.values()) == 1, found.places


def test_dynamic_loss_scaling_names_what_is_not_finite() -> None:
    model = model_on(DEVICE)
    optimizer = optimizers.Adam().setup(model)
    optimizer.loss_scaling(interval=1)
    for param in model.params():
        param.grad = param.xp.zeros_like(param.array)
    model.c.W.grad[0, 1] = np.inf
    before = model.c.W.array.get()
    with pytest.warns(UserWarning, match=r'param.grad of /c/W '):
        optimizer.update()
    np.testing.assert_array_equal(model.c.W.array.get(), before)


def test_clipping_on_two_devices() -> None:
    """One norm over all, without waiting."""
    if chainer.backends.cuda.cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip('one GPU only')
    assert callable(gradients.clip_on_devices)
    values = {'w': [3.0, 0.0], 'b': [0.0, 4.0]}
    model = link_of(**{name: chainer.Parameter(np.zeros(2)) for name in values})
    for number, (name, value) in enumerate(values.items()):
        param = getattr(model, name)
        param.to_device(f'@cupy:{number}')
        param.grad = param.device.send(np.array(value))
    optimizer = optimizers.SGD().setup(model)
    optimizer.add_hook(hooks.GradientClipping(1))
    if importlib.util.find_spec('cupy._meter') is None:
        optimizer.update()
    else:
        with importlib.import_module('cupy._meter').record() as found:
            optimizer.update()
        assert not found.synchronisations
    np.testing.assert_allclose(model.w.grad.get(), [0.6, 0])
    np.testing.assert_allclose(model.b.grad.get(), [0, 0.8])
