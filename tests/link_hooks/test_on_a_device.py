"""Hooks of links on a GPU, the current one and another: as on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import link_hooks
from minichainer.backends import cuda

pytestmark = pytest.mark.gpu
X = np.linspace(-1, 1, 12, dtype='d').reshape(4, 3)
HOOKS: dict[str, Any] = {
    'spectral': lambda: link_hooks.SpectralNormalization(n_power_iteration=3),
    'spectral with gamma': lambda: link_hooks.SpectralNormalization(use_gamma=True, factor=0.5),
    'standardization': lambda: link_hooks.WeightStandardization(),
}


@pytest.fixture(params=[0, 1])
def device(request: pytest.FixtureRequest) -> Any:
    if request.param >= cuda.cupy.cuda.runtime.getDeviceCount():
        pytest.skip('one GPU only')
    return chainer.get_device(f'@cupy:{request.param}')


def linked(hook: Any) -> Any:
    with chainer.using_config('dtype', np.dtype('d')):
        link = L.Linear(3, 2, initialW=np.arange(6.0).reshape(2, 3) / 5)
    link.add_hook(hook)
    return link


def results(link: Any) -> dict[str, Any]:
    y = link(link.device.send(X))
    link.cleargrads()
    F.sum(y * y).backward()
    found = {'y': y.array} | {name: param.grad for name, param in link.namedparams()}
    return found | {name: getattr(link, name) for name in sorted(link._persistent)}


@pytest.mark.parametrize('name', HOOKS)
def test_normalized_weights(name: str, device: Any) -> None:
    link = linked(HOOKS[name]())
    expected = results(link.copy('copy'))
    found = results(link.to_device(device))
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert device.is_array_supported(found[key]), key
        np.testing.assert_allclose(found[key].get(), value, 1e-10, 1e-12, err_msg=key)


@pytest.mark.parametrize('name', HOOKS)
def test_hooks_of_links_that_are_there_already(name: str, device: Any) -> None:
    link = L.Linear(3, 2).to_device(device)
    link.add_hook(HOOKS[name]())
    y = link(device.send(X.astype('f')))
    assert device.is_array_supported(y.array)
    for _, value in (*link.namedparams(), *((n, getattr(link, n)) for n in link._persistent)):
        assert device.is_array_supported(getattr(value, 'array', value))
    link.delete_hook(next(iter(link.local_link_hooks)))
    assert [name for name, _ in link.namedparams()] == ['/W', '/b'] and not link._persistent


def test_times(device: Any) -> None:
    model = chainer.Sequential(L.Linear(3, 4), F.tanh, L.Linear(4, 2)).to_device(device)
    hook = link_hooks.TimerHook()
    with hook:
        model(device.send(X.astype('f')))
    assert [name for name, _ in hook.call_history] == ['Linear', 'Linear', 'Sequential']
    assert all(seconds >= 0 for _, seconds in hook.call_history) and hook.total_time() >= 0
