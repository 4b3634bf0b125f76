"""Runs the paths of a machine with two GPUs on a small stand-in for CuPy; a script of test_cuda.py.

The stand-in knows of devices and transfers just what backends.cuda and the graph use, and computes only with arrays
of the current device. It shows that those paths run, not that CuPy behaves so: the tests marked gpu do that.
With the argument ``no driver`` it is CuPy 13 on a machine without one, where every call of the runtime raises.
"""

from __future__ import annotations

import io
import pickle
import re
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest


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
    __array_ufunc__ = None
    base = None

    def __init__(self, values: Any) -> None:
        self.values = np.array(values)
        self.device = Device()
        self.shape, self.dtype, self.ndim = self.values.shape, self.values.dtype, self.values.ndim
        self.size = self.values.size

    def get(self, stream: Any = None) -> np.ndarray:
        return self.values.copy()

    @property
    def flags(self) -> Any:
        return self.values.flags

    def __bool__(self) -> bool:
        return bool(self.values)

    def astype(self, dtype: Any, copy: bool = True) -> GpuArray:
        assert copy or self.dtype == dtype
        return self.copy() if copy else self

    def copy(self, order: str = 'C') -> GpuArray:
        return GpuArray(self.values)

    def __setitem__(self, key: Any, value: Any) -> None:
        assert np.isscalar(value) or isinstance(value, GpuArray), 'CuPy takes no NumPy arrays here'
        self.values[key] = getattr(value, 'values', value)


def on_current_device(function: Any) -> Any:
    """A function of NumPy as one of arrays of the current device."""

    def computed(*args: Any, **kwargs: Any) -> GpuArray:
        for x in args:
            assert not isinstance(x, np.ndarray) or not x.ndim, 'CuPy takes no NumPy arrays here'
            assert not isinstance(x, GpuArray) or x.device == Device(), f'{function.__name__} on another device'
        return GpuArray(function(*[getattr(x, 'values', x) for x in args], **kwargs))

    return computed


def _in_place(function: Any) -> Any:
    def changed(self: GpuArray, other: Any) -> GpuArray:
        self.values[...] = on_current_device(function)(self, other).values
        return self

    return changed


_OPERATORS = {'add': np.add, 'mul': np.multiply, 'sub': np.subtract, 'ge': np.greater_equal, 'ne': np.not_equal}
for _name, _function in _OPERATORS.items():
    setattr(GpuArray, f'__{_name}__', on_current_device(_function))
    setattr(GpuArray, f'__r{_name}__', on_current_device(lambda x, y, _function=_function: _function(y, x)))
    setattr(GpuArray, f'__i{_name}__', _in_place(_function))
for _name in ('sum', 'any', 'reshape'):
    setattr(GpuArray, _name, on_current_device(getattr(np.ndarray, _name)))


class RandomState:
    """CuPy's legacy generator: its state cannot be read."""

    current: dict[int, RandomState] = {}

    def __init__(self, seed: Any = None) -> None:
        self.numbers = np.random.RandomState(seed)

    @classmethod
    def get(cls) -> RandomState:
        return cls.current.setdefault(Device().id, cls(Device().id))

    @classmethod
    def set(cls, state: RandomState) -> None:
        cls.current[Device().id] = state


def _random() -> Any:
    random: Any = types.ModuleType('cupy.random')
    random.RandomState = RandomState
    random.get_random_state, random.set_random_state = RandomState.get, RandomState.set
    random.rand = lambda *shape: GpuArray(RandomState.get().numbers.rand(*shape))
    random.randint = lambda high: RandomState.get().numbers.randint(high)
    return random


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
    cupy.random = _random()
    cupy.full = lambda shape, value, dtype: GpuArray(np.full(shape, value, dtype))
    for name in ('multiply', 'add', 'exp', 'ones_like', 'zeros_like'):
        setattr(cupy, name, on_current_device(getattr(np, name)))
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
        with pytest.raises(ValueError, match=wrong):
            backend.get_device(wrong)


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


def check_graph() -> None:
    """Every step of forward and backward runs on the device of its arrays, whatever the current one is."""
    import minichainer as chainer
    import minichainer.functions as F

    seen = []

    class New(chainer.FunctionNode):
        def forward(self, inputs: Any) -> Any:
            self.retain_inputs((0,))
            seen.append(('forward', Device().id))
            return (inputs[0] * inputs[0],)

        def backward(self, indexes: Any, grad_outputs: Any) -> Any:
            seen.append(('backward', Device().id))
            return (self.get_retained_inputs()[0] * grad_outputs[0] * 2.0,)

    class Old(chainer.Function):
        def forward(self, inputs: Any) -> Any:
            seen.append(('forward', Device().id))
            return (inputs[0] * 3.0,)

        def backward(self, inputs: Any, grad_outputs: Any) -> Any:
            seen.append(('backward', Device().id))
            return (grad_outputs[0] * 3.0,)

    class Hook(chainer.FunctionHook):
        def watch(self, *args: Any) -> None:
            seen.append(('hook', Device().id))

        forward_preprocess = forward_postprocess = backward_preprocess = backward_postprocess = watch

    def there(values: Any) -> Any:
        return chainer.get_device('@cupy:1').send(np.array(values))

    for apply in (lambda x: New().apply((x,))[0], Old(), lambda x: x * x, F.exp):
        for watcher in (Hook(), chainer.DebugMode(True), chainer.DebugMode(False)):
            for double in (False, True):
                with watcher:
                    x = chainer.Variable(there([1.0, 2.0]))
                    with chainer.no_backprop_mode():
                        assert apply(x).array.device.id == 1
                    h = x * x
                    y = apply(h) + h + h + h  # a third gradient is added in place
                    for _ in range(2):  # the second time it is added to what is there
                        y.grad = there([1.0, 1.0])
                        y.backward(enable_double_backprop=double)
                    (gx,) = chainer.grad([y], [x], enable_double_backprop=double)
                    assert x.grad.device.id == gx.device.device.id == 1
                    np.testing.assert_allclose(x.grad.values, 2 * gx.array.values)
    assert {what for what, _ in seen} == {'forward', 'backward', 'hook'} and {number for _, number in seen} == {1}
    scalar = chainer.Variable(there(2.0))
    (scalar * scalar).backward(loss_scale=2.0)
    assert scalar.grad.device.id == 1 and scalar.grad.values == 8
    a, b = (chainer.Variable(there([1.0, 2.0])) for _ in range(2))
    total = a + b  # one gradient for both
    chainer.backward([total, total], [chainer.Variable(there([1.0, 1.0]))] * 2)
    for grad in (a.grad, b.grad):
        assert grad.device.id == 1 and grad.values.tolist() == [2, 2]
    assert a.grad is not b.grad and Device().id == 0
    x = chainer.Variable(there(np.ones(50)))
    y = F.dropout(x)  # its mask is made outside of any node
    y.grad = there(np.ones(50))
    y.backward()
    np.testing.assert_array_equal(x.grad.values, y.array.values)


def check_graph_over_two_devices() -> None:
    import minichainer as chainer
    import minichainer.functions as F

    for current in (0, 1):
        with Device(current), chainer.DebugMode(bool(current)):
            x = chainer.Variable(chainer.get_device('@cupy:0').send(np.array([1.0, 2.0])))
            ys = [F.copy(x, 1), x * x, F.copy(x, 1), F.copy(x * x, -1)]
            assert [y.device.name for y in ys] == ['@cupy:1', '@cupy:0', '@cupy:1', '@numpy']
            chainer.backward(ys, [chainer.as_variable(y.device.send(np.ones(2))) for y in ys])
            assert x.grad.device.id == 0 and x.grad.values.tolist() == [6, 10]


def check_gradients_of_parameters() -> None:
    """Gradients and values stay where the one lives that gets them."""
    import minichainer as chainer

    devices = ['@numpy', '@cupy:0', '@cupy:1']
    for mine in devices:
        for other in devices:
            for grad in (None, 1.0):
                a, b = (chainer.Link(w=((2,), 'd')) for _ in range(2))
                a.to_device(mine)
                b.to_device(other)
                a.cleargrads()
                if grad is not None:
                    a.w.grad = a.device.send(np.full(2, grad))
                b.w.grad = b.device.send(np.array([3.0, 4.0]))
                for add in (a.w.addgrad, lambda w: a.addgrads(b)):  # noqa: B023
                    add(b.w)
                assert chainer.backend.get_device_from_array(a.w.grad) == a.w.device == chainer.get_device(mine)
                assert chainer.get_device('@numpy').send(a.w.grad).tolist() == [6 + (grad or 0), 8 + (grad or 0)]
                assert a.w.grad is not b.w.grad
                b.w.array = b.device.send(np.array([5.0, 6.0]))
                b.add_persistent('mean', b.device.send(np.array([7.0])))
                a.mean = None
                a.register_persistent('mean')
                a.copyparams(b)
                for array in (a.w.array, a.mean):
                    assert chainer.backend.get_device_from_array(array) == chainer.get_device(mine)
                _check_moves(chainer, a.w, other)


def check_addgrad_to_a_gradient_elsewhere() -> None:
    import minichainer as chainer

    first, second = (chainer.get_device(i) for i in range(2))
    a, b = (chainer.Variable(second.send(np.ones(2))) for _ in range(2))
    a.grad, b.grad = first.send(np.ones(2)), first.send(np.ones(2))
    a.addgrad(b)
    assert a.grad.device.id == 1 and a.grad.values.tolist() == [2, 2]


def _check_moves(chainer: Any, w: Any, device: str) -> None:
    def places() -> list[Any]:
        return [chainer.backend.get_device_from_array(array).name for array in (w.array, w.grad)]

    w.to_device(device)
    assert places() == [device, device]
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', DeprecationWarning)
        w.zerograd()
    assert places() == [device, device]
    w.to_gpu()
    assert places() == ['@cupy:0', '@cupy:0']
    w.to_gpu(1)
    assert places() == ['@cupy:1', '@cupy:1']
    w.to_cpu()
    assert places() == ['@numpy', '@numpy']
    w.cleargrad()
    w.to_gpu(1)
    assert w.grad is None and w.device.name == '@cupy:1'


def check_forget() -> None:
    import minichainer as chainer
    import minichainer.functions as F

    x = chainer.Variable(chainer.get_device('@cupy:1').send(np.ones(50)))
    y = F.forget(lambda v: F.dropout(v) + F.dropout(v), x)
    state = RandomState.current[1]
    y.grad = y.array
    y.backward()
    np.testing.assert_array_equal(x.grad.values, y.array.values**2)
    assert set(y.array.values.tolist()) == {0, 2, 4} and RandomState.current[1] is state


def without_driver() -> None:
    def refuse(*args: Any) -> Any:
        raise RuntimeError('CUDA driver version is insufficient for CUDA runtime version')

    cupy = _module()
    cupy.is_available = refuse
    Device.__init__ = Device.__enter__ = refuse  # type: ignore[method-assign]
    sys.modules['cupy'], sys.modules['cupy.cuda'] = cupy, cupy.cuda
    import minichainer as chainer

    assert not chainer.backends.cuda.available
    x = chainer.Variable(np.ones(2))
    chainer.functions.sum(x * x).backward()
    assert x.grad.tolist() == [2, 2]
    message = 'CUDA is not available: CuPy cannot use a GPU (CUDA driver version is insufficient'
    for call in (lambda: chainer.get_device('@cupy:0'), x.to_gpu, lambda: chainer.backends.cuda.to_gpu(x.array)):
        with pytest.raises(RuntimeError, match=re.escape(message)):
            call()
    chainer.print_runtime_info(io.StringIO())


def main() -> None:
    if sys.argv[1:] == ['no driver']:
        sys.path.insert(0, str(Path.cwd()))
        without_driver()
        print('all right')
        return
    cupy = _module()
    # Before minichainer is imported, which looks for CuPy once.
    sys.modules['cupy'], sys.modules['cupy.cuda'] = cupy, cupy.cuda
    sys.path.insert(0, str(Path.cwd()))
    check_devices(cupy)
    check_transfers(cupy)
    check_initializers(cupy)
    check_deprecated_stream()
    check_graph()
    check_graph_over_two_devices()
    check_gradients_of_parameters()
    check_addgrad_to_a_gradient_elsewhere()
    check_forget()
    print('all right')


if __name__ == '__main__':
    main()
