"""Runs the paths of a machine with two GPUs on a small stand-in for CuPy; a script of test_cuda.py.

The stand-in knows of devices and transfers just what backends.cuda uses. It shows that those paths run, not
that CuPy behaves so: the tests marked gpu do that.
"""

from __future__ import annotations

import pickle
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np


class Device:
    """The current device is a stack, as `with` blocks make it."""

    stack = [0]

    def __init__(self, device: Any = None) -> None:
        self.id = self.stack[-1] if device is None else int(getattr(device, 'id', device))

    def __enter__(self) -> Device:
        self.stack.append(self.id)
        return self

    def __exit__(self, *args: Any) -> None:
        self.stack.pop()

    def use(self) -> None:
        self.stack[-1] = self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.id == self.id


class GpuArray:
    """Values, and the device that was current when they were made."""

    __cuda_array_interface__: dict[str, Any] = {}

    def __init__(self, values: Any) -> None:
        self.values = np.array(values)
        self.device = Device()
        self.shape, self.dtype, self.ndim = self.values.shape, self.values.dtype, self.values.ndim
        self.size = self.values.size

    def get(self, stream: Any = None) -> np.ndarray:
        return self.values.copy()

    def copy(self) -> GpuArray:
        return GpuArray(self.values)

    def __setitem__(self, key: Any, value: Any) -> None:
        assert np.isscalar(value) or isinstance(value, GpuArray), 'CuPy takes no NumPy arrays here'
        self.values[key] = getattr(value, 'values', value)


def _module() -> Any:
    cupy: Any = types.ModuleType('cupy')
    cupy.cuda = types.ModuleType('cupy.cuda')
    cupy.cuda.Device, cupy.cuda.Event, cupy.cuda.Stream = Device, object, object
    cupy.ndarray = GpuArray
    cupy.is_available = lambda: True
    cupy.asarray = lambda x: x if isinstance(x, GpuArray) else GpuArray(x)
    cupy.empty = lambda shape, dtype: GpuArray(np.empty(shape, dtype))
    cupy.copyto = lambda dst, src: np.copyto(dst.values, src.values)
    cupy.get_array_module = lambda *args: cupy if any(isinstance(a, GpuArray) for a in args) else np
    cupy.memoize = lambda for_each_device=False: lambda function: function
    cupy.clear_memo = lambda: None
    cupy.fuse = lambda *args, **kwargs: lambda function: function
    return cupy


class VariableLike:
    """What backends know of a Variable."""

    def __init__(self, array: Any) -> None:
        self.array = array


def check_devices(cupy: Any) -> None:
    from minichainer import backend
    from minichainer.backends import cuda

    assert cuda.available and not cuda.cudnn_enabled and cuda.cupy is cupy
    second = backend.get_device('@cupy:1')
    assert second == backend.get_device(1) == backend.get_device((cupy, 1)) == backend.get_device(Device(1))
    assert second != backend.get_device('@cupy:0') and second != backend.CpuDevice()
    assert (second.name, repr(second)) == ('@cupy:1', '<GpuDevice (cupy):1>')
    assert pickle.loads(pickle.dumps(second)) == second and len({second, backend.get_device(1)}) == 1
    assert backend.get_device(cupy) == backend.get_device(0)
    with backend.using_device(second):
        assert backend.get_device(cupy) == second
        second.use()
    assert cuda.get_device(None, 1).id == cuda.get_device_from_id(1).id == 1
    for wrong in ('@cupy:-1', '@cupy:x'):
        try:
            backend.get_device(wrong)
        except ValueError as error:
            assert wrong in str(error)
        else:
            raise AssertionError(wrong)


def check_transfers(cupy: Any) -> None:
    from minichainer import backend
    from minichainer.backends import cuda

    second = backend.get_device(1)
    here, there = np.arange(3.0), second.send(np.arange(3.0))
    assert there.device.id == 1 and second.is_array_supported(there) and second.send(there) is there
    moved = cuda.to_gpu([there, None, 2.0], device=0)
    assert [getattr(x, 'device', Device(0)).id for x in moved] == [0, 0, 0] and moved[1] is None
    assert cuda.to_gpu(there, second).device.id == cuda.to_gpu(here, Device(1)).device.id == 1
    assert backend.get_array_module(here, VariableLike(there)) is cupy
    assert backend.get_array_module(here, VariableLike(here)) is np
    assert backend.get_device_from_array(here, VariableLike(there)) == cuda.GpuDevice.from_array(there) == second
    assert (backend.CpuDevice().send(there) == here).all() and (cuda.to_cpu((there,))[0] == here).all()
    backend.copyto(there, here + 1)
    backend.copyto(here, there)
    assert here.tolist() == [1, 2, 3]
    assert cuda.copy(there).device.id == 1 and cuda.copy(there, out_device=0).device.id == 0
    assert cuda.copy(there, out=moved[0]) is moved[0] and moved[0].values.tolist() == [1, 2, 3]
    assert not backend.is_arrays_compatible([here, there]) and backend.is_arrays_compatible([there, None])


def check_initializers(cupy: Any) -> None:
    from minichainer import initializers

    array = initializers.generate_array(initializers.Constant(np.arange(3)), (3,), cupy, device='@cupy:1')
    assert array.device.id == 1 and array.values.tolist() == [0, 1, 2]
    drawn = initializers.Normal(rng=np.random.RandomState(0))
    drawn(array)
    np.testing.assert_allclose(array.values, np.random.RandomState(0).normal(0, 0.05, 3), rtol=1e-6)
    here = np.empty(3)
    initializers.Constant(array)(here)
    np.testing.assert_array_equal(here, array.values)


def check_deprecated_stream() -> None:
    from minichainer.backends import cuda

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        assert cuda.to_gpu(np.zeros(1), stream=Device(1)).shape == (1,)
    assert [w.category for w in caught] == [DeprecationWarning]


def main() -> None:
    cupy = _module()
    # Before minichainer is imported, which looks for CuPy once.
    sys.modules['cupy'], sys.modules['cupy.cuda'] = cupy, cupy.cuda
    sys.path.insert(0, str(Path.cwd()))
    check_devices(cupy)
    check_transfers(cupy)
    check_initializers(cupy)
    check_deprecated_stream()
    print('all right')


if __name__ == '__main__':
    main()
