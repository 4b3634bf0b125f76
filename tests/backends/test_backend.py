"""Devices, array modules and copies between them, as seen from a machine with or without a GPU."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import minichainer
from minichainer import backend
from minichainer.backends import cuda

CPU_SPECS = ['@numpy', -1, -2, '-1', np.int32(-1), np, (np,), ('numpy',), ('@numpy',), backend.CpuDevice()]
GPU_SPECS = ['@cupy:0', 0, '0', np.int64(0), ('cupy', 0), ('@cupy', 0)]
BAD_SPECS = [
    ('', RuntimeError, "unknown device specifier ''"),
    ('foo', RuntimeError, "unknown device specifier 'foo'"),
    ('@', ValueError, "unknown device specifier '@'"),
    ('@numpy:0', ValueError, "unknown device specifier '@numpy:0'"),
    ('@cupy', ValueError, "unknown device specifier '@cupy'"),
    ('@cupy:a', ValueError, "expected '@numpy', '@cupy:' and a number"),
    ('@0', ValueError, "unknown device specifier '@0'"),
    ('native', RuntimeError, "'native' is a device of ChainerX, which is not supported"),
    ('cuda:0', RuntimeError, 'ChainerX'),
    ('@chainerx:native', ValueError, "ChainerX.*use '@numpy' or '@cupy:0'"),
    ('@intel64', RuntimeError, "'@intel64' is a device of iDeep"),
    ((np, 0), ValueError, "unknown device specifier '@numpy:0'"),
    ((np, 1.5), TypeError, 'expected a module, a name or a number, got 1.5'),
    ((), TypeError, r'expected a Device.*got \(\)'),
    (None, TypeError, 'expected a Device.*got None'),
    (3.0, TypeError, r'got 3\.0 of <class .float.>'),
    (backend.CpuDevice, TypeError, 'expected a Device'),
]


@pytest.mark.parametrize('spec', CPU_SPECS, ids=str)
def test_get_device_of_the_cpu(spec: Any) -> None:
    assert backend.get_device(spec) == backend.CpuDevice()


@pytest.mark.parametrize('spec', GPU_SPECS, ids=str)
def test_get_device_of_a_gpu(spec: Any) -> None:
    if cuda.available:
        assert backend.get_device(spec).name == '@cupy:0'
    else:
        with pytest.raises(RuntimeError, match=r'CUDA is not available: .*CuPy.*, or stay on the CPU'):
            backend.get_device(spec)


@pytest.mark.parametrize(('spec', 'error', 'message'), BAD_SPECS, ids=lambda value: str(value)[:20])
def test_get_device_refuses(spec: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        backend.get_device(spec)


def test_get_device_returns_a_device_as_it_is() -> None:
    device = backend.CpuDevice()
    assert backend.get_device(device) is device


class TestCpuDevice:
    device = backend.CpuDevice()

    def test_is_one_place(self) -> None:
        assert self.device == backend.CpuDevice()
        assert hash(self.device) == hash(backend.CpuDevice())
        assert self.device != 3
        assert pickle.loads(pickle.dumps(self.device)) == self.device

    def test_names(self) -> None:
        assert (str(self.device), repr(self.device)) == ('@numpy', '<CpuDevice (numpy)>')
        assert backend.get_device(self.device.name) == self.device
        assert self.device.xp is np
        assert self.device.supported_array_types == (np.ndarray,)

    def test_arrays(self) -> None:
        array = np.zeros(2)
        assert backend.CpuDevice.from_array(array) == self.device
        assert backend.CpuDevice.from_array(3) is None
        assert self.device.is_array_supported(array)
        assert not self.device.is_array_supported(minichainer.Variable(array))

    def test_send_keeps_arrays_and_structure(self) -> None:
        array = np.zeros(2)
        sent = self.device.send([array, None, 2, np.float32(3)])
        assert sent[0] is array
        assert sent[1] is None
        assert [(type(x), x.dtype.kind) for x in sent[2:]] == [(np.ndarray, 'i'), (np.ndarray, 'f')]
        assert self.device.send((array,))[0] is array
        assert self.device.send(array) is array

    @pytest.mark.parametrize(
        'value',
        ['text', {'a': np.zeros(1)}, [[np.zeros(1)]], object()],
        ids=['text', 'dict', 'nested list', 'object'],
    )
    def test_send_refuses(self, value: Any) -> None:
        with pytest.raises(TypeError, match='to the CPU: expected an array, a scalar, None, or a list'):
            self.device.send(value)

    def test_send_refuses_a_variable_with_the_remedy(self) -> None:
        with pytest.raises(TypeError, match=r'Variable.*pass its \.array'):
            self.device.send(minichainer.Variable(np.zeros(2)))

    def test_is_no_context_manager_but_using_device_is(self) -> None:
        with pytest.raises(RuntimeError, match=r'minichainer\.using_device'), self.device:
            pass
        with backend.using_device('@numpy'):
            self.device.use()


@pytest.mark.parametrize('name', ['xp', 'name', 'supported_array_types'])
def test_a_device_must_define(name: str) -> None:
    with pytest.raises(NotImplementedError, match=f'Device must define {name}'):
        getattr(backend.Device(), name)


def test_get_array_module_on_the_cpu() -> None:
    x = minichainer.Variable(np.zeros(2))
    for args in [(), (np.zeros(2),), (x,), (3, None), (minichainer.Parameter(), x)]:
        assert backend.get_array_module(*args) is np


def test_get_device_from_array_on_the_cpu() -> None:
    for args in [(), (np.zeros(2),), (None,), (3,), (minichainer.Variable(np.zeros(2)),)]:
        assert backend.get_device_from_array(*args) == backend.CpuDevice()


def test_copyto() -> None:
    a = np.zeros((2, 3), 'f')
    backend.copyto(a, np.arange(3))
    np.testing.assert_array_equal(a, [[0, 1, 2], [0, 1, 2]])
    backend.copyto(a, 5)
    assert (a == 5).all()


@pytest.mark.parametrize(
    ('dst', 'src', 'error', 'message'),
    [
        ([1, 2], np.zeros(2), TypeError, "cannot copy to an object of <class 'list'>"),
        (np.zeros(2), np.zeros(3), ValueError, 'could not broadcast'),
        (np.zeros(2, 'i'), np.zeros(2), TypeError, 'same_kind'),
    ],
)
def test_copyto_refuses(dst: Any, src: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        backend.copyto(dst, src)


def test_is_arrays_compatible() -> None:
    assert backend.is_arrays_compatible([])
    assert backend.is_arrays_compatible([np.zeros(1), None, np.ones(2)])
    assert not backend.is_arrays_compatible([np.zeros(1), 3])


def test_array_types() -> None:
    assert backend.get_cpu_array_types() == (np.ndarray,)
    assert set(backend.get_array_types()) == ({np.ndarray, cuda.ndarray} if cuda.available else {np.ndarray})


@pytest.mark.gpu
def test_round_trip_through_a_gpu() -> None:
    device = backend.get_device('@cupy:0')
    values = np.arange(6, dtype='f').reshape(2, 3)
    there = device.send(values)
    assert backend.get_array_module(there, values) is cuda.cupy
    assert backend.get_device_from_array(values, there) == device
    back = np.zeros((2, 3), 'f')
    backend.copyto(back, there)
    np.testing.assert_array_equal(back, values)
    backend.copyto(there, np.float32(7))
    np.testing.assert_array_equal(cuda.to_cpu(there), np.full((2, 3), 7))
