"""The part of Variable that concerns devices, and the layout of arrays in their memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy

from minichainer import backend
from minichainer.backends import cuda
from minichainer.backends._chainerx import unavailable
from minichainer.backends.intel64 import check_ideep_available

_Self = TypeVar('_Self', bound='DeviceMethods')


class DeviceMethods:
    """The part of Variable that concerns devices, and the layout of arrays in their memory."""

    if TYPE_CHECKING:
        _data: Any
        _sharing: Any
        creator_node: Any
        grad: Any
        edge: Any

    @property
    def xp(self) -> Any:
        """The array module: numpy or cupy."""
        return numpy if type(self._data) is numpy.ndarray else backend.get_array_module(self._data)

    @property
    def device(self) -> Any:
        """The device of the array."""
        return backend.get_device_from_array(self._data)

    @property
    def layout(self) -> None:
        """None: results may have any memory order, and layouts are never part of the shape."""
        return None

    def as_layout(self: _Self, layout: Any) -> _Self:
        """The Variable itself, for ``layout=None``; Chainer's other, experimental layouts are not supported."""
        if layout is not None:
            raise ValueError(f'as_layout: expected None, got {layout!r}; memory layouts are chosen by the kernels')
        return self

    def to_device(self, device: Any) -> None:
        """Moves array and gradient to a device; only a leaf can be moved in place to another one."""
        device = backend.get_device(device)
        if self.creator_node is not None:
            if device == self.device:
                return
            raise RuntimeError(
                'to_device: a Variable inside a graph cannot be moved in place; use functions.copy, which is '
                'differentiable, or unchain it first'
            )
        grad = self.grad
        if self._data is not None:
            moved = device.send(self._data)
            if moved is not self._data and self._sharing:
                self._sharing[:] = [reference for reference in self._sharing if reference() is not self]
                self._sharing = None
            self._data = moved
        if grad is not None:
            self.edge.grad_value = device.send(grad)

    def to_cpu(self) -> None:
        """Moves array and gradient to the CPU."""
        self.to_device('@numpy')

    def to_intel64(self) -> None:
        """Raises RuntimeError: iDeep is not supported."""
        check_ideep_available()

    def to_chx(self) -> None:
        """Raises RuntimeError: ChainerX is not supported."""
        raise unavailable('Variable.to_chx')

    def from_chx(self) -> None:
        """Does nothing: no array belongs to ChainerX."""

    def to_gpu(self, device: Any = None) -> None:
        """Moves array and gradient to a GPU, the current one by default."""
        cuda.check_cuda_available()
        self.to_device(f'@cupy:{cuda.Device().id if device is None else getattr(device, "id", device)}')
