"""Devices: which one is current, and the rule that a kernel takes arrays of the current one only."""

from __future__ import annotations

import os
import threading
from typing import Any

from . import _meter
from ._errors import CUDARuntimeError

#: How many devices the machine has.
COUNT = int(os.environ.get('CUPY_STAND_IN_DEVICES', '2'))


class _State(threading.local):
    current = 0


_state = _State()


def current() -> int:
    """The number of the current device of this thread."""
    return _state.current


class Device:
    """A device, and the context in which it is current."""

    compute_capability = '90'
    mem_info = (60 << 30, 80 << 30)
    attributes = {'MultiProcessorCount': 132, 'WarpSize': 32, 'MaxThreadsPerBlock': 1024}  # noqa: RUF012
    pci_bus_id = '0000:00:00.0'

    def __init__(self, device: Any = None) -> None:
        self.id = current() if device is None else int(getattr(device, 'id', device))
        self._before: list[int] = []

    def __int__(self) -> int:
        return self.id

    def __enter__(self) -> Device:
        self._before.append(current())
        self.use()
        return self

    def __exit__(self, *args: Any) -> None:
        _state.current = self._before.pop()

    def use(self) -> None:
        if not 0 <= self.id < COUNT:
            raise CUDARuntimeError('cudaErrorInvalidDevice: invalid device ordinal')
        _state.current = self.id

    def synchronize(self) -> None:
        _meter.synchronise('Device.synchronize')

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.id == self.id

    def __lt__(self, other: Device) -> bool:
        return self.id < other.id

    def __hash__(self) -> int:
        return hash(('cupy.cuda.Device', self.id))

    def __repr__(self) -> str:
        return f'<CUDA Device {self.id}>'


def require_current(arrays: Any, what: str) -> None:
    """Raises unless all device arrays live on the current device.

    CuPy reaches over to another device where the machine lets it, and warns of it. Not every machine lets it, so it
    is an error here.
    """
    here = current()
    for array in arrays:
        there = getattr(array, '_device', here)
        if there != here:
            raise ValueError(
                f'Array device must be same as the current device: array device = {there} while current = {here} '
                f'in {what}'
            )
