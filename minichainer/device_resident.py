"""Objects that are on a device and can be moved as a whole: the base of Link, and visitors of such objects."""

from __future__ import annotations

import warnings
from typing import Any

from minichainer import backend
from minichainer.backends import cuda
from minichainer.backends._chainerx import unavailable
from minichainer.backends.intel64 import check_ideep_available
from minichainer.utils.meta import check_overrides, final


class DeviceResident:
    """An object with arrays on one device; :class:`minichainer.Link` is one.

    A subclass declares its arrays in :meth:`device_resident_accept`. Overriding ``to_cpu`` or ``to_gpu``, as old code
    does to move its own attributes, is deprecated but works: the override is also called when a parent is moved.

    >>> import minichainer as chainer
    >>> chainer.DeviceResident().device
    <CpuDevice (numpy)>
    """

    _device: backend.Device = backend.CpuDevice()

    def __init__(self) -> None:
        """Nothing to initialize: an object starts on the CPU."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        check_overrides(cls)

    @property
    def device(self) -> backend.Device:
        """The device of the object."""
        return self._device

    @property
    def xp(self) -> Any:
        """The array module of that device: ``numpy`` or ``cupy``."""
        return self._device.xp

    @property
    def _device_id(self) -> int | None:
        """Number of the GPU, None on the CPU; kept because programs of 2016 to 2019 read it."""
        device = self._device
        return device.device.id if isinstance(device, backend.GpuDevice) else None

    @final(action=DeprecationWarning)
    def to_cpu(self) -> DeviceResident:
        """Moves everything to the CPU. Deprecated: use ``to_device('@numpy')``.

        Returns:
            The object itself.
        """
        warnings.warn("to_cpu is deprecated: use to_device('@numpy')", DeprecationWarning, stacklevel=2)
        self.device_resident_accept(_ToDeviceVisitor(backend.CpuDevice(), 'to_cpu', (), self))
        return self

    @final(action=DeprecationWarning)
    def to_gpu(self, device: Any = None) -> DeviceResident:
        """Moves arrays to a GPU unless they are on one. Deprecated: use ``to_device('@cupy:0')``.

        Args:
            device: number of the GPU or a ``cupy.cuda.Device``; the current one by default.

        Returns:
            The object itself.

        Raises:
            RuntimeError: there is no GPU, or no CuPy.
        """
        cuda.check_cuda_available()
        warnings.warn("to_gpu is deprecated: use to_device('@cupy:0')", DeprecationWarning, stacklevel=2)
        target = backend.get_device(cuda.Device() if device is None else device)
        self.device_resident_accept(_ToDeviceVisitor(target, 'to_gpu', (device,), self))
        return self

    @final(action=DeprecationWarning)
    def to_intel64(self) -> DeviceResident:
        """Moves everything to arrays of iDeep, which is not supported.

        Raises:
            RuntimeError: always.
        """
        check_ideep_available()
        return self

    @final
    def to_chx(self) -> DeviceResident:
        """Moves everything to arrays of ChainerX, which is not supported.

        Raises:
            RuntimeError: always.
        """
        raise unavailable(f'{type(self).__name__}.to_chx')

    @final
    def from_chx(self) -> DeviceResident:
        """Moves arrays of ChainerX to NumPy or CuPy: does nothing, because there are none.

        Returns:
            The object itself.
        """
        return self

    @final
    def to_device(self, device: Any) -> DeviceResident:
        """Moves everything to a device.

        Args:
            device: a device or what :func:`minichainer.get_device` takes, such as ``'@numpy'`` or
                ``'@cupy:0'``.

        Returns:
            The object itself.

        >>> import minichainer as chainer
        >>> model = chainer.links.Linear(3, 2).to_device('@numpy')
        """
        target = backend.get_device(device)
        method: str = 'to_cpu'
        args: tuple[Any, ...] = ()
        if isinstance(target, backend.GpuDevice):
            method, args = 'to_gpu', (target.device.id,)
        self.device_resident_accept(_ToDeviceVisitor(target, method, args, None))
        return self

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        """Passes this object to the visitor; subclasses continue with their arrays and objects.

        Args:
            visitor: the visitor.
        """
        visitor.visit_device_resident(self)


class DeviceResidentsVisitor:
    """Visits an object tree and handles each array in it."""

    def visit_device_resident(self, device_resident: Any) -> None:
        """Called for each object, before its contents.

        Args:
            device_resident: the object.
        """
        raise NotImplementedError(f'{type(self).__name__} must define visit_device_resident')

    def visit_array(self, arr: Any) -> Any:
        """Called for each array that is not a Parameter.

        Args:
            arr: the array.

        Returns:
            The array to put in its place.
        """
        raise NotImplementedError(f'{type(self).__name__} must define visit_array')

    def visit_variable(self, param: Any) -> None:
        """Called for each Parameter.

        Args:
            param: the Parameter, to be changed in place.
        """
        raise NotImplementedError(f'{type(self).__name__} must define visit_variable')


class _ToDeviceVisitor(DeviceResidentsVisitor):
    """Sends all arrays to a device; ``method`` is the old method name, for objects that override it."""

    def __init__(self, device: backend.Device, method: str, args: tuple[Any, ...], start: Any) -> None:
        self._device = device
        self._method = method
        self._args = args
        # The object whose override is already running must not run it again.
        self._start = start

    def visit_device_resident(self, device_resident: Any) -> None:
        if device_resident is not self._start and self._is_overridden(device_resident):
            getattr(device_resident, self._method)(*self._args)
        device_resident._device = self._device

    def visit_array(self, arr: Any) -> Any:
        return arr if self._stays(arr) else self._device.send(arr)

    def visit_variable(self, param: Any) -> None:
        if not self._stays(param._data):
            param.to_device(self._device)

    def _is_overridden(self, device_resident: Any) -> bool:
        return getattr(type(device_resident), self._method) is not getattr(DeviceResident, self._method)

    def _stays(self, array: Any) -> bool:
        """Whether the array stays: to_gpu does not move arrays that are on a GPU."""
        return self._method == 'to_gpu' and isinstance(array, cuda.ndarray) and self._start is not None
