"""Two GPUs: transfers, graphs on another than the current device or over both, gradients and values of parameters."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer import backend, initializers
from minichainer.backends import cuda

pytestmark = pytest.mark.gpu
DEVICES = ['@numpy', '@cupy:0', '@cupy:1']


@pytest.fixture(autouse=True)
def second() -> Any:
    """The device that is not the current one."""
    if cuda.cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip('one GPU only')
    assert cuda.Device().id == 0
    return chainer.get_device('@cupy:1')


@pytest.fixture(autouse=True)
def _the_current_device_stays() -> Iterator[None]:
    yield
    assert cuda.Device().id == 0


def there(values: Any) -> Any:
    return chainer.get_device('@cupy:1').send(np.array(values))


def place(array: Any) -> str:
    return str(backend.get_device_from_array(array).name)


def test_devices(second: Any) -> None:
    cupy = cuda.cupy
    assert second == backend.get_device(1) == backend.get_device((cupy, 1)) == backend.get_device(cuda.Device(1))
    assert second != backend.get_device('@cupy:0') and second != backend.CpuDevice()
    assert (second.name, repr(second)) == ('@cupy:1', '<GpuDevice (cupy):1>')
    assert pickle.loads(pickle.dumps(second)) == second and len({second, backend.get_device(1)}) == 1
    assert backend.get_device(cupy) == backend.get_device(0)
    with backend.using_device(second):
        assert backend.get_device(cupy) == second
        second.use()
    assert cuda.get_device(None, 1).id == cuda.get_device_from_id(1).id == 1


@pytest.mark.parametrize('wrong', ['@cupy:-1', '@cupy:x'])
def test_names_of_no_device(wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        backend.get_device(wrong)


def test_transfers(second: Any) -> None:
    here, array = np.arange(3.0), there(np.arange(3.0))
    assert array.device.id == 1 and second.is_array_supported(array) and second.send(array) is array
    moved = cuda.to_gpu([array, None, 2.0], device=0)
    assert [place(x) for x in (moved[0], moved[2])] == ['@cupy:0'] * 2 and moved[1] is None
    assert cuda.to_gpu(array, second).device.id == cuda.to_gpu(here, cuda.Device(1)).device.id == 1
    assert backend.get_array_module(here, chainer.Variable(array)) is cuda.cupy
    assert backend.get_device_from_array(array) == cuda.GpuDevice.from_array(array) == second
    assert (backend.CpuDevice().send(array) == here).all() and (cuda.to_cpu((array,))[0] == here).all()
    backend.copyto(array, here + 1)
    backend.copyto(here, array)
    assert here.tolist() == [1, 2, 3]
    assert cuda.copy(array).device.id == 1 and cuda.copy(array, out_device=0).device.id == 0
    assert cuda.copy(array, out=moved[0]) is moved[0] and moved[0].get().tolist() == [1, 2, 3]
    assert not backend.is_arrays_compatible([here, array]) and backend.is_arrays_compatible([array, None])


def test_initializers() -> None:
    array = initializers.generate_array(initializers.Constant(np.arange(3)), (3,), cuda.cupy, device='@cupy:1')
    assert array.device.id == 1 and array.get().tolist() == [0, 1, 2]
    with cuda.Device(1):
        initializers.Normal(rng=np.random.RandomState(0))(array)
    np.testing.assert_allclose(array.get(), np.random.RandomState(0).normal(0, 0.05, 3), rtol=1e-6)
    here = np.empty(3)
    initializers.Constant(array)(here)
    np.testing.assert_array_equal(here, array.get())


def test_a_stream_is_deprecated() -> None:
    with pytest.warns(DeprecationWarning, match='stream'):
        assert cuda.to_gpu(np.zeros(1), stream=cuda.Stream()).shape == (1,)


class Seen(chainer.FunctionHook):
    """The devices that were current."""

    def __init__(self) -> None:
        self.devices: set[tuple[str, int]] = set()

    def note(self, what: str) -> None:
        self.devices.add((what, cuda.Device().id))

    def watch(self, *args: Any) -> None:
        self.note('hook')

    forward_preprocess = forward_postprocess = backward_preprocess = backward_postprocess = watch


def _functions(seen: Seen) -> dict[str, Any]:
    class New(chainer.FunctionNode):
        def forward(self, inputs: Any) -> Any:
            self.retain_inputs((0,))
            seen.note('forward')
            return (inputs[0] * inputs[0],)

        def backward(self, indexes: Any, grad_outputs: Any) -> Any:
            seen.note('backward')
            return (self.get_retained_inputs()[0] * grad_outputs[0] * 2.0,)

    class Old(chainer.Function):
        def forward(self, inputs: Any) -> Any:
            seen.note('forward')
            return (inputs[0] * 3.0,)

        def backward(self, inputs: Any, grad_outputs: Any) -> Any:
            seen.note('backward')
            return (grad_outputs[0] * 3.0,)

    return {'new': lambda x: New().apply((x,))[0], 'old': Old(), 'operator': lambda x: x * x, 'exp': F.exp}


@pytest.mark.parametrize('double', [False, True])
@pytest.mark.parametrize('watcher', ['hook', 'debug', 'none'])
@pytest.mark.parametrize('name', ['new', 'old', 'operator', 'exp'])
def test_a_graph_on_another_than_the_current_device(name: str, watcher: str, double: bool) -> None:
    """Every step of forward and backward, and each hook, runs on the device of its arrays."""
    seen = Seen()
    apply = _functions(seen)[name]
    with seen if watcher == 'hook' else chainer.DebugMode(watcher == 'debug'):
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
    np.testing.assert_allclose(x.grad.get(), 2 * gx.array.get())
    assert {number for _, number in seen.devices} <= {1}
    assert {what for what, _ in seen.devices} >= ({'hook'} if watcher == 'hook' else set())
    assert {what for what, _ in seen.devices} >= ({'forward', 'backward'} if name in ('new', 'old') else set())


def test_gradients_that_are_shared_and_scaled() -> None:
    scalar = chainer.Variable(there(2.0))
    (scalar * scalar).backward(loss_scale=2.0)
    assert scalar.grad.device.id == 1 and scalar.grad.get() == 8
    a, b = (chainer.Variable(there([1.0, 2.0])) for _ in range(2))
    total = a + b  # one gradient for both
    chainer.backward([total, total], [chainer.Variable(there([1.0, 1.0]))] * 2)
    for grad in (a.grad, b.grad):
        assert grad.device.id == 1 and grad.get().tolist() == [2, 2]
    assert a.grad is not b.grad


@pytest.mark.parametrize('dtype', 'efd')
def test_what_is_drawn_outside_of_any_node(dtype: str) -> None:
    x = chainer.Variable(there(np.ones(50, dtype)))
    y = F.dropout(x, 0.25)
    y.grad = there(np.ones(50, dtype))
    y.backward()
    assert y.dtype == x.grad.dtype == dtype
    np.testing.assert_array_equal(x.grad.get(), y.array.get())


@pytest.mark.parametrize('current', [0, 1])
def test_a_graph_over_two_devices(current: int) -> None:
    with cuda.Device(current), chainer.DebugMode(bool(current)):
        x = chainer.Variable(chainer.get_device('@cupy:0').send(np.array([1.0, 2.0])))
        ys = [F.copy(x, 1), x * x, F.copy(x, 1), F.copy(x * x, -1)]
        assert [y.device.name for y in ys] == ['@cupy:1', '@cupy:0', '@cupy:1', '@numpy']
        chainer.backward(ys, [chainer.as_variable(y.device.send(np.ones(2))) for y in ys])
        assert x.grad.device.id == 0 and x.grad.get().tolist() == [6, 10]


def _links(mine: str, other: str, grad: float | None) -> tuple[Any, Any]:
    a, b = (chainer.Link(w=((2,), 'd')).to_device(device) for device in (mine, other))
    a.cleargrads()
    if grad is not None:
        a.w.grad = a.device.send(np.full(2, grad))
    b.w.grad = b.device.send(np.array([3.0, 4.0]))
    return a, b


@pytest.mark.parametrize('grad', [None, 1.0])
@pytest.mark.parametrize('other', DEVICES)
@pytest.mark.parametrize('mine', DEVICES)
def test_addgrads(mine: str, other: str, grad: float | None) -> None:
    """The sum lives where the parameter lives that gets it."""
    for add in (lambda a, b: a.w.addgrad(b.w), lambda a, b: a.addgrads(b)):
        a, b = _links(mine, other, grad)
        add(a, b)
        assert place(a.w.grad) == a.w.device.name == mine and place(b.w.grad) == other
        assert cuda.to_cpu(a.w.grad).tolist() == [3 + (grad or 0), 4 + (grad or 0)]
        assert a.w.grad is not b.w.grad


@pytest.mark.parametrize('has_shape', [False, True])
@pytest.mark.parametrize('other', DEVICES)
@pytest.mark.parametrize('mine', DEVICES)
def test_copyparams(mine: str, other: str, has_shape: bool) -> None:
    a, b = _links(mine, other, None)
    b.w.array = b.device.send(np.array([5.0, 6.0]))
    b.add_persistent('mean', b.device.send(np.array([7.0])))
    a.mean = a.device.send(np.zeros(1)) if has_shape else None
    a.register_persistent('mean')
    a.copyparams(b)
    assert [place(array) for array in (a.w.array, a.mean, b.w.array, b.mean)] == [mine, mine, other, other]
    assert cuda.to_cpu(a.w.array).tolist() == [5, 6] and cuda.to_cpu(a.mean).tolist() == [7]


@pytest.mark.parametrize('device', DEVICES)
def test_moving_a_parameter(device: str) -> None:
    w = chainer.Parameter(np.zeros(2))
    w.grad = np.ones(2)

    def places() -> list[str]:
        return [place(w.array), place(w.grad)]

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


def test_addgrad_to_a_gradient_elsewhere(second: Any) -> None:
    first = chainer.get_device('@cupy:0')
    a, b = (chainer.Variable(second.send(np.ones(2))) for _ in range(2))
    a.grad, b.grad = first.send(np.ones(2)), first.send(np.ones(2))
    a.addgrad(b)
    assert a.grad.device.id == 1 and a.grad.get().tolist() == [2, 2]


def _trained(device: Any) -> Any:
    model = chainer.Chain(a=chainer.links.Linear(2, 3), b=chainer.links.BatchNormalization(3)).to_device(device)
    optimizer = chainer.optimizers.MomentumSGD().setup(model)
    model.optimizer = optimizer
    optimizer.update(lambda: F.sum(model.b(model.a(model.device.send(np.eye(4, 2, dtype='f')))) ** 3))
    return model


def _places_of(model: Any) -> set[str]:
    found = {place(p.array) for p in model.params()} | {place(p.grad) for p in model.params()}
    found |= {place(value) for p in model.params() for value in (p.update_rule.state or {}).values()}
    return found | {place(model.b.avg_mean), place(model.b.avg_var)}


@pytest.mark.parametrize('current', [0, 1])
def test_pickles_come_back_to_their_device(second: Any, current: int) -> None:
    model = _trained(second)
    text = pickle.dumps(model)
    with cuda.Device(current):
        other = pickle.loads(text)
    assert other.device == second == other.b.device
    assert {place(p.array) for p in other.params()} == {place(p.grad) for p in other.params()} == {'@cupy:1'}
    for (name, mine), (_, theirs) in zip(model.namedparams(), other.namedparams(), strict=True):
        np.testing.assert_array_equal(theirs.array.get(), mine.array.get(), err_msg=name)
    other.optimizer.update()
    assert _places_of(other) == {'@cupy:1'}


@pytest.mark.parametrize('target', DEVICES)
@pytest.mark.parametrize('start', DEVICES)
def test_a_trained_model_is_moved_with_all_that_it_has(start: str, target: str) -> None:
    model = _trained(start)
    assert _places_of(model) == {start}
    model.to_device(target)
    assert {place(p.grad) for p in model.params()} == {target} == {place(model.b.avg_mean), place(model.b.avg_var)}
    model.optimizer.update()
    assert _places_of(model) == {target}


def test_forget() -> None:
    x = chainer.Variable(there(np.ones(50)))
    with cuda.Device(1):
        state = cuda.cupy.random.get_random_state() if hasattr(cuda.cupy.random, 'get_random_state') else None
    y = F.forget(lambda v: F.dropout(v) + F.dropout(v), x)
    y.grad = y.array
    y.backward()
    np.testing.assert_array_equal(x.grad.get(), y.array.get() ** 2)
    assert set(y.array.get().tolist()) == {0, 2, 4}
    if state is not None:
        with cuda.Device(1):
            assert cuda.cupy.random.get_random_state() is state
