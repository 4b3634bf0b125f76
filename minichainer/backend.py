"""Devices, which hold arrays, and array modules (``numpy`` or ``cupy``), which compute on them."""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy

from minichainer._names import namespace as _namespace
from minichainer.backends import cuda
from minichainer.backends._chainerx import ChainerxDevice, from_chx, to_chx
from minichainer.backends._device import CpuDevice, Device
from minichainer.backends.cuda import GpuDevice, get_array_module
from minichainer.backends.intel64 import Intel64Device

P = ParamSpec('P')
R = TypeVar('R')

__all__ = [
    'ChainerxDevice',
    'CpuDevice',
    'Device',
    'GpuDevice',
    'Intel64Device',
    'copied',
    'copyto',
    'from_chx',
    'get_array_module',
    'get_array_types',
    'get_cpu_array_types',
    'get_device',
    'get_device_from_array',
    'is_arrays_compatible',
    'on_device_of_arguments',
    'to_chx',
    'using_device',
]


def get_device(device_spec: Any) -> Device:
    """The device for a specifier.

    Args:
        device_spec: one of

            - ``'@numpy'``, any negative integer, or the module ``numpy``: the CPU;
            - ``'@cupy:0'``, ``0``, ``('cupy', 0)`` or a :class:`cupy.cuda.Device`: that GPU;
            - a :class:`Device`: itself;
            - an integer as text, as it comes from a command line.

    Raises:
        ValueError: a specifier that begins with '@' and is of another form.
        TypeError: something that cannot be a specifier.
        RuntimeError: a GPU, but none is available; a device of ChainerX or iDeep, which do not exist here; another
            text.

    >>> import minichainer as chainer
    >>> chainer.get_device('@numpy')
    <CpuDevice (numpy)>
    >>> chainer.get_device(-1) == chainer.get_device('@numpy')
    True
    """
    if isinstance(device_spec, Device):
        return device_spec
    if isinstance(device_spec, cuda.Device):
        return GpuDevice(device_spec)
    if isinstance(device_spec, (int, numpy.integer)):
        return _device_of_number(int(device_spec))
    if isinstance(device_spec, str):
        return _device_of_text(device_spec)
    if isinstance(device_spec, tuple) and device_spec:
        return _device_of_text('@' + ':'.join(_part_of_spec(part) for part in device_spec))
    if device_spec is numpy:
        return CpuDevice()
    if cuda.available and device_spec is cuda.cupy:
        return GpuDevice(cuda.Device())
    raise TypeError(
        "device specifier: expected a Device, a cupy.cuda.Device, an integer, or a text such as '@numpy' or "
        f"'@cupy:0', got {device_spec!r} of {type(device_spec)}"
    )


def _device_of_number(number: int) -> Device:
    return GpuDevice.from_device_id(number) if number >= 0 else CpuDevice()


def _device_of_text(spec: str) -> Device:
    """The device for a specifier such as ``'@cupy:0'``."""
    module, _, rest = spec.lstrip('@').partition(':')
    if module in ('native', 'cuda', 'chainerx', 'intel64'):
        which = 'iDeep' if module == 'intel64' else 'ChainerX'
        text = f"{spec!r} is a device of {which}, which is not supported: use '@numpy' or '@cupy:0'"
        raise ValueError(text) if module == 'chainerx' else RuntimeError(text)
    if spec == '@numpy':
        return CpuDevice()
    with contextlib.suppress(ValueError):
        return GpuDevice.from_device_id(int(rest)) if spec.startswith('@cupy:') else _device_of_number(int(spec))
    text = f"unknown device specifier {spec!r}: expected '@numpy', '@cupy:' and a number, or a number"
    meant = {'cpu': '@numpy', 'gpu': '@cupy:0'}.get(spec.lower().strip('/').removesuffix(':0'))
    kind = ValueError if spec.startswith('@') else RuntimeError  # as Chainer, where other texts are ChainerX devices
    raise kind(text if meant is None else f'{text}; write get_device({meant!r})')


def _part_of_spec(part: Any) -> str:
    """One entry of a specifier such as ``(cupy, 0)`` or ``('@cupy', 0)`` as text."""
    if isinstance(part, types.ModuleType):
        return part.__name__
    if isinstance(part, (str, int, numpy.integer)):
        return str(part).lstrip('@')
    raise TypeError(f'device specifier: expected a module, a name or a number, got {part!r} of {type(part)}')


def get_device_from_array(*arrays: Any) -> Device:
    """The device of the first GPU array among the arguments; the CPU if there is none.

    Args:
        arrays: arrays or Variables; anything else is passed over.

    >>> import numpy as np, minichainer as chainer
    >>> chainer.backend.get_device_from_array(np.zeros(3))
    <CpuDevice (numpy)>
    """
    device = cuda.get_device_from_array(*arrays)
    return CpuDevice() if device is cuda.DummyDevice else GpuDevice(device)


def using_device(device_spec: Any) -> contextlib.AbstractContextManager[Any]:
    """Context manager inside which a device is the current one.

    Args:
        device_spec: see :func:`get_device`.

    >>> import minichainer as chainer
    >>> with chainer.using_device('@numpy'):
    ...     x = chainer.get_device('@numpy').xp.zeros(3)
    """
    return get_device(device_spec).create_context()


def copied(array: Any) -> Any:
    """A C-contiguous copy on the array's own device, which need not be the current one."""
    if isinstance(array, numpy.ndarray):
        return array.copy(order='C')
    with array.device:
        return array.copy(order='C')


def copyto(dst: Any, src: Any) -> None:
    """Copies values into an array, between devices if necessary.

    Shapes broadcast and dtypes convert as in :func:`numpy.copyto`.

    Args:
        dst: the array to write to.
        src: an array of any device, or a scalar.

    Raises:
        TypeError: ``dst`` is not an array, or the dtypes do not convert (float to integer).
        ValueError: ``src`` does not broadcast to the shape of ``dst``.

    >>> import numpy as np, minichainer as chainer
    >>> a = np.zeros(3, 'f')
    >>> chainer.backend.copyto(a, np.arange(3))
    >>> a
    array([0., 1., 2.], dtype=float32)
    """
    if isinstance(dst, numpy.ndarray):
        numpy.copyto(dst, cuda.to_cpu(src))
    elif isinstance(dst, cuda.ndarray):
        with dst.device:
            cuda.cupy.copyto(dst, cuda.cupy.asarray(src))
    else:
        raise TypeError(f'copyto: cannot copy to an object of {type(dst)}: expected an array')


def get_array_types() -> tuple[type, ...]:
    """The array classes of all available devices.

    >>> import numpy as np, minichainer as chainer
    >>> np.ndarray in chainer.get_array_types()
    True
    """
    return (numpy.ndarray, cuda.ndarray) if cuda.available else (numpy.ndarray,)


def get_cpu_array_types() -> tuple[type, ...]:
    """The array classes of the CPU."""
    return (numpy.ndarray,)


def on_device_of_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator for functions that make arrays, such as random masks, outside of any node of the graph.

    A node runs on the device of its inputs anyway; such a function must make its arrays there too. The device is that
    of the first GPU array among the arguments, those in lists and tuples included.
    """

    if not cuda.several:
        return function

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with cuda.get_device_from_array(*_flat((*args, *kwargs.values()))):
            return function(*args, **kwargs)

    return call


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value


def is_arrays_compatible(arrays: Iterable[Any]) -> bool:
    """True if all arrays belong to one array module, so that one operation accepts them; None is ignored.

    Args:
        arrays: arrays, Variables or None.

    >>> import numpy as np, minichainer as chainer
    >>> chainer.is_arrays_compatible([np.zeros(1), None, np.ones(2)])
    True
    """
    given = [array for array in arrays if array is not None]
    return any(all(isinstance(array, kind) for array in given) for kind in get_array_types())


if not TYPE_CHECKING:
    __getattr__ = _namespace(__name__)[0]
