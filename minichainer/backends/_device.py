"""The base class of devices; the CPU, which is always available, under its two names."""

from __future__ import annotations

import contextlib
import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from minichainer.backends._plain import plain


class Device:
    """A device that holds arrays and computes on them; the base of :class:`CpuDevice` and :class:`GpuDevice`.

    Objects for the same device are equal and have equal hashes.
    """

    if TYPE_CHECKING:  # subclasses give them as attributes of the class
        xp: Any
        supported_array_types: tuple[type, ...]
    else:

        @property
        def xp(self) -> Any:
            """The array module of the device: ``numpy`` or ``cupy``."""
            raise NotImplementedError(f'{type(self).__name__} must define xp')

        @property
        def supported_array_types(self) -> tuple[type, ...]:
            """The classes of the arrays on the device."""
            raise NotImplementedError(f'{type(self).__name__} must define supported_array_types')

    @property
    def name(self) -> str:
        """The specifier that :func:`minichainer.get_device` turns into this device, such as ``'@cupy:0'``."""
        raise NotImplementedError(f'{type(self).__name__} must define name')

    def __str__(self) -> str:
        return self.name

    def __enter__(self) -> Any:
        raise RuntimeError(
            f'{type(self).__name__} is not a context manager: write "with minichainer.using_device(device):"'
        )

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        """Never called, because entering raises."""

    def create_context(self) -> contextlib.AbstractContextManager[Any]:
        """A context manager that makes the device the current one."""
        return contextlib.nullcontext(self)

    def send(self, arrays: Any) -> Any:
        """The same values on this device.

        Args:
            arrays: an array, a scalar, None, or a list or tuple of these.

        Returns:
            An array of this device's module, None, or a list or tuple of these, as ``arrays`` was. Arrays
            that are there already are returned as they are.
        """
        return map_arrays(self.send_array, arrays)

    def send_array(self, array: Any) -> Any:
        """The same values on this device, for one array; see :meth:`send`."""
        raise NotImplementedError(f'{type(self).__name__} must define send_array')

    def use(self) -> None:
        """Makes the device the current one of this thread; does nothing if there is only one."""

    def is_array_supported(self, array: Any) -> bool:
        """True if ``array`` is on this device."""
        raise NotImplementedError(f'{type(self).__name__} must define is_array_supported')


class CpuDevice(Device):
    """The CPU, with NumPy arrays.

    >>> import numpy as np, minichainer as chainer
    >>> device = chainer.get_device('@numpy')
    >>> device
    <CpuDevice (numpy)>
    >>> device.send([np.zeros(2), None])
    [array([0., 0.]), None]
    """

    xp = numpy
    supported_array_types = (numpy.ndarray,)

    @property
    def name(self) -> str:
        return '@numpy'

    @staticmethod
    def from_array(array: Any) -> CpuDevice | None:
        """The CPU if ``array`` is a NumPy array, None otherwise."""
        return CpuDevice() if isinstance(array, numpy.ndarray) else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CpuDevice)

    def __hash__(self) -> int:
        return hash(CpuDevice)

    def __repr__(self) -> str:
        return '<CpuDevice (numpy)>'

    def send_array(self, array: Any) -> Any:
        return array_to_cpu(array)

    def is_array_supported(self, array: Any) -> bool:
        return isinstance(array, numpy.ndarray)


class DummyDeviceType:
    """The device of a CPU array for code written for GPUs: ``with DummyDevice:`` does nothing.

    >>> import numpy as np
    >>> from minichainer.backends import cuda
    >>> with cuda.get_device_from_array(np.zeros(3)) as device:
    ...     device.id
    -1
    """

    id = -1

    def __init__(self) -> None:
        """Takes no arguments."""

    def __int__(self) -> int:
        return -1

    def __enter__(self) -> DummyDeviceType:
        return self

    def __exit__(self, *args: Any) -> None:
        """Does nothing."""

    def use(self) -> None:
        """Does nothing."""

    def synchronize(self) -> None:
        """Does nothing."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DummyDeviceType)

    def __hash__(self) -> int:
        return -1

    def __repr__(self) -> str:
        return '<DummyDevice>'


DummyDevice = DummyDeviceType()


def map_arrays(convert: Callable[[Any], Any], arrays: Any) -> Any:
    """Applies ``convert`` to an array, or to each array of a list or tuple."""
    if isinstance(arrays, list):
        return [convert(array) for array in arrays]
    if isinstance(arrays, tuple):
        return tuple([convert(array) for array in arrays])
    return convert(arrays)


def array_to_cpu(array: Any, stream: Any = None) -> Any:
    """An array of any device as a NumPy array; None stays None."""
    if array is None or type(array) is numpy.ndarray:
        return array
    if isinstance(array, numpy.ndarray):
        return plain(array)
    if is_scalar(array):
        return numpy.asarray(array)
    # CuPy arrays are recognized by their method: this module does not import CuPy.
    if hasattr(array, '__cuda_array_interface__') and hasattr(array, 'get'):
        with array.device:
            return array.get(stream)
    raise not_an_array('the CPU', array)


def is_scalar(value: Any) -> bool:
    """True for Python and NumPy scalars, bool included."""
    return isinstance(value, (numbers.Number, numpy.generic))


def not_an_array(target: str, value: Any) -> TypeError:
    """The error for an object that cannot be sent to a device."""
    hint = '; pass its .array' if hasattr(value, 'array') else ''
    return TypeError(
        f'cannot send an object of {type(value)} to {target}: '
        f'expected an array, a scalar, None, or a list or tuple of them{hint}'
    )
