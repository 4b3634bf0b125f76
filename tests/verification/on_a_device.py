"""Checks gradients of arrays that NumPy must not touch; a script of test_device.py.

The arrays stand in for CuPy's: they mix with each other and with numbers, not with NumPy's arrays, and become one of
these only by ``get()``.
"""

from __future__ import annotations

import sys
import types
from typing import Any, ClassVar

import numpy as np


def unwrapped(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(map(unwrapped, value))
    if isinstance(value, np.ndarray):
        raise TypeError('an array of NumPy where one of the device is expected')
    return value.values if isinstance(value, DeviceArray) else value


def wrapped(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(wrapped, value))
    return DeviceArray(value) if isinstance(value, (np.ndarray, np.generic)) else value


class DeviceArray(np.lib.mixins.NDArrayOperatorsMixin):
    """Values that only ``get()`` gives away."""

    __cuda_array_interface__: ClassVar[dict[str, Any]] = {}

    def __init__(self, values: Any) -> None:
        self.values = values if isinstance(values, np.ndarray) else np.asarray(values)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError('implicit conversion to a NumPy array is not allowed')

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        kwargs = {key: unwrapped(value) for key, value in kwargs.items()}
        found = wrapped(getattr(ufunc, method)(*unwrapped(inputs), **kwargs))
        return inputs[0] if 'out' in kwargs and isinstance(inputs[0], DeviceArray) else found

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return wrapped(function(*unwrapped(args), **{key: unwrapped(value) for key, value in kwargs.items()}))

    def __getattr__(self, name: str) -> Any:
        if name.startswith('__'):  # the ways in which NumPy would get at the values
            raise AttributeError(name)
        found = getattr(self.values, name)
        if not callable(found):
            return wrapped(found) if isinstance(found, np.ndarray) else found
        return lambda *args, **kwargs: wrapped(
            found(*unwrapped(args), **{k: unwrapped(v) for k, v in kwargs.items()})
        )

    def __getitem__(self, key: Any) -> Any:
        found = self.values[unwrapped(key)]
        return DeviceArray(found if isinstance(found, np.ndarray) else self.values[key].reshape(()))

    def __setitem__(self, key: Any, value: Any) -> None:
        self.values[unwrapped(key)] = unwrapped(value)

    def __bool__(self) -> bool:
        return bool(self.values)

    def __float__(self) -> float:
        return float(self.values)

    def __int__(self) -> int:
        return int(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def get(self) -> Any:
        return self.values.copy()


class Device:
    """The only one."""

    id = 0

    def __init__(self, device: Any = None) -> None:
        pass

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *args: Any) -> None:
        pass

    def use(self) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device)


class Module(types.ModuleType):
    """The functions of NumPy, for arrays of the device alone."""

    ndarray = DeviceArray

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if not callable(found) or isinstance(found, type):
            return found
        return lambda *args, **kwargs: wrapped(
            found(*unwrapped(args), **{k: unwrapped(v) for k, v in kwargs.items()})
        )

    @staticmethod
    def asarray(value: Any, dtype: Any = None) -> DeviceArray:
        return DeviceArray(np.asarray(getattr(value, 'values', value), dtype=dtype))

    @staticmethod
    def get_array_module(*args: Any) -> Any:
        return sys.modules['cupy'] if any(isinstance(a, DeviceArray) for a in args) else np


def install() -> None:
    cupy: Any = Module('cupy')
    cupy.cuda = types.ModuleType('cupy.cuda')
    cupy.cuda.Device, cupy.cuda.Event, cupy.cuda.Stream = Device, object, object
    cupy.is_available = lambda: True
    cupy.memoize = lambda for_each_device=False: lambda function: function
    cupy.clear_memo = lambda: None
    cupy.fuse = lambda *args, **kwargs: lambda function: function
    DeviceArray.device = Device()  # type: ignore[attr-defined]
    sys.modules |= {'cupy': cupy, 'cupy.cuda': cupy.cuda}


def square(rule: Any) -> Any:
    from minichainer import FunctionNode, Variable

    class Square(FunctionNode):
        def forward(self, inputs: Any) -> Any:
            self.retain_inputs((0,))
            return (inputs[0] * inputs[0],)

        def backward(self, indexes: Any, grad_outputs: Any) -> Any:
            (x,) = self.get_retained_inputs()
            return (Variable(rule(x.array, grad_outputs[0].array)),)

    return lambda x: Square().apply((x,))[0]


def one_element(x: Any, gy: Any) -> Any:
    gx = 2 * x * gy
    gx[1, 2] *= 1.1
    return gx


def right(x: Any, gy: Any) -> Any:
    return 2 * x * gy


#: For each rule the beginning of the cause; None for a right one.
RULES = {
    'right': (right, None),
    'one element': (one_element, 'one element: '),
    'sign': (lambda x, gy: -2 * x * gy, 'sign: '),
    'absolute': (lambda x, gy: 2 * x * abs(gy), 'not linear '),
    'equal': (lambda x, gy: 2 * x * gy * (1 + bool((gy == gy[0, 0]).all())), 'not linear '),
    'shifted': (lambda x, gy: sys.modules['cupy'].roll(2 * x * gy, 1, axis=1), 'shifted: '),
}


def check(dtype: str, shape: tuple[int, ...]) -> None:
    from minichainer.gradient_check import check_backward, check_gradients

    x, gy = (
        sys.modules['cupy'].asarray(np.random.RandomState(s).uniform(-1, 1, shape).astype(dtype)) for s in (1, 2)
    )
    for name, (rule, cause) in RULES.items():
        report = check_gradients(square(rule), x, seed=0)
        found = report.failures[0].cause if report.failures else None
        assert found is cause or found.startswith(cause), (name, dtype, str(report))
    check_backward(square(right), x, gy)
    assert check_gradients(square(right), x, seed=0, full_jacobian=True)
    assert check_gradients(lambda a, b: (a * b, a + b), (x, gy), seed=0, order=2)
    assert check_gradients(lambda a: abs(a), x * 0, seed=0).verdict == 'nondifferentiable'


def main() -> None:
    install()
    for dtype in 'fd':
        check(dtype, (3, 4))
    print('all right')


if __name__ == '__main__':
    main()
