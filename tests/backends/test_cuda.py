"""backends.cuda where there is no GPU; test_two_devices.py has what it does where there are some."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minichainer
from minichainer import backend, backprop
from minichainer.backends import _cudnn, cuda

needs_no_gpu = pytest.mark.skipif(cuda.available, reason='says what happens without a GPU')

NEEDS_GPU: list[Callable[[], Any]] = [
    cuda.check_cuda_available,
    lambda: cuda.get_device(0),
    lambda: cuda.get_device_from_id(0),
    lambda: cuda.to_gpu(np.zeros(2)),
    lambda: cuda.copy(np.zeros(2)),
    lambda: cuda.elementwise('T x', 'T y', 'y = x', 'same'),
    lambda: cuda.reduce('T x', 'T y', 'x', 'a + b', 'y = a', '0', 'total'),
    lambda: cuda.raw('code', 'name'),
    lambda: cuda.GpuDevice.from_device_id(0),
    lambda: cuda.GpuDevice(cuda.Device()),
]


@needs_no_gpu
@pytest.mark.parametrize('call', NEEDS_GPU, ids=range(len(NEEDS_GPU)))
def test_what_needs_a_gpu_says_so(call: Callable[[], Any]) -> None:
    with pytest.raises(RuntimeError, match=r'CUDA is not available: .*CuPy.*, or stay on the CPU'):
        call()


@needs_no_gpu
def test_placeholders() -> None:
    assert not isinstance(np.zeros(2), cuda.ndarray)
    with pytest.raises(AttributeError, match=r'cupy\.zeros: CUDA is not available'):
        cuda.cupy.zeros(3)
    with pytest.raises(RuntimeError, match='CUDA is not available'), cuda.Device(0):
        pass
    with pytest.raises(RuntimeError, match='CUDA is not available'):
        _ = cuda.ndarray().shape
    assert (cuda.Stream.null, cuda.Event() is None) == (None, False)


@needs_no_gpu
def test_decorators_change_nothing_without_a_gpu() -> None:
    @cuda.fuse()
    @cuda.fuse
    @cuda.memoize(for_each_device=True)
    def twice(x: int) -> int:
        return 2 * x

    assert twice(3) == 6
    cuda.clear_memo()


def test_dummy_device() -> None:
    device = cuda.DummyDevice
    assert (device.id, int(device), device == cuda.DummyDeviceType(), device != 0) == (-1, -1, True, True)
    assert len({device, cuda.DummyDeviceType()}) == 1
    device.use()
    device.synchronize()
    with device as inside:
        assert inside is device


def test_cpu_arguments_mean_the_dummy_device() -> None:
    x = np.zeros(3)
    for device in [
        cuda.get_device(),
        cuda.get_device(None),
        cuda.get_device(-1),
        cuda.get_device(True),
        cuda.get_device(x, minichainer.Variable(x)),
        cuda.get_device_from_id(None),
        cuda.get_device_from_id(-1),
        cuda.get_device_from_array(),
        cuda.get_device_from_array(x, minichainer.Variable(x)),
    ]:
        assert device is cuda.DummyDevice


def test_to_cpu() -> None:
    x = np.zeros(3)
    assert cuda.to_cpu(x) is x
    assert cuda.to_cpu((x, None))[0] is x
    assert cuda.to_cpu(3).dtype.kind == 'i'
    with pytest.raises(TypeError, match=r'pass its \.array'):
        cuda.to_cpu(minichainer.Variable(x))


def test_gpu_device_from_a_cpu_array_is_none() -> None:
    assert cuda.GpuDevice.from_array(np.zeros(2)) is None


@pytest.mark.parametrize('level', ['', 'auto', '==auto', 'always'])
def test_should_use_cudnn_refuses_a_level(level: str) -> None:
    with pytest.raises(ValueError, match="expected level '==always' or '>=auto'"):
        cuda.should_use_cudnn(level)


@pytest.mark.parametrize('name', ['use_cudnn', 'use_cudnn_tensor_core'])
def test_a_wrong_setting_is_an_error(name: str) -> None:
    check = cuda.should_use_cudnn if name == 'use_cudnn' else cuda.should_use_cudnn_tensor_core
    with (
        minichainer.using_config(name, 'sometimes'),
        pytest.raises(ValueError, match=f"config.{name}: expected 'always', 'auto' or 'never', got 'sometimes'"),
    ):
        check('>=auto')


@pytest.mark.skipif(cuda.cudnn_enabled, reason='says what happens without cuDNN')
def test_without_cudnn() -> None:
    assert not cuda.should_use_cudnn('>=auto')
    assert not cuda.should_use_cudnn_tensor_core('float16')
    cuda.set_max_workspace_size(100)
    assert cuda.get_max_workspace_size() == 0
    with pytest.raises(RuntimeError, match='cuDNN is not enabled'):
        cuda.get_cudnn_dropout_states()


@pytest.mark.parametrize('installed', ['0', '1'])
def test_cudnn_levels(monkeypatch: pytest.MonkeyPatch, installed: str) -> None:
    monkeypatch.setattr(_cudnn, 'library', object() if installed == '1' else None)
    monkeypatch.setattr(_cudnn, 'version', 7000)
    wanted = {('always', '=='): True, ('always', '>='): True, ('auto', '>='): True}
    for setting in ('always', 'auto', 'never'):
        with minichainer.using_config('use_cudnn', setting):
            for level in ('==always', '>=auto'):
                expected = installed == '1' and wanted.get((setting, level[:2]), False)
                assert cuda.should_use_cudnn(level) == expected, (setting, level)
                assert not cuda.should_use_cudnn(level, lowest_version=8000)


def test_the_old_path_has_the_same_objects() -> None:
    old = importlib.import_module('minichainer.cuda')
    assert sorted(old.__all__) == sorted(cuda.__all__)
    for name in cuda.__all__:
        assert getattr(old, name) is getattr(cuda, name)


@pytest.mark.gpu
def test_kernels_from_source() -> None:
    x = cuda.cupy.arange(4, dtype='f')
    y = cuda.elementwise('T x', 'T y', 'y = x * 2', 'twice')(x)
    np.testing.assert_array_equal(cuda.to_cpu(y), [0, 2, 4, 6])
    total = cuda.reduce('T x', 'T y', 'x', 'a + b', 'y = a', '0', 'total')(x)
    assert float(total) == 6


@pytest.mark.gpu
def test_passes_look_for_the_device_of_arrays_only_where_there_are_several() -> None:
    several = cuda.cupy.cuda.runtime.getDeviceCount() > 1
    assert cuda.several == several
    assert (backprop._watch(False, None, None, ()) is not None) == several
    assert (backend.on_device_of_arguments(abs) is not abs) == several


@pytest.mark.gpu
def test_copy_on_a_gpu() -> None:
    x = cuda.to_gpu(np.arange(3.0))
    y = cuda.copy(x)
    assert y is not x
    assert cuda.copy(y, out=x) is x
    np.testing.assert_array_equal(cuda.to_cpu(x), [0, 1, 2])
