"""``cupy.cuda.runtime``."""

from __future__ import annotations

from .. import _devices, _meter
from .._errors import CUDARuntimeError

__all__ = ['CUDARuntimeError']


def getDeviceCount() -> int:
    return _devices.COUNT


def getDevice() -> int:
    return _devices.current()


def setDevice(device: int) -> None:
    _devices.Device(device).use()


def getDeviceProperties(device: int) -> dict[str, object]:
    return {'name': b'Stand-in for a GPU', 'major': 9, 'minor': 0, 'multiProcessorCount': 132}


def runtimeGetVersion() -> int:
    return 12090


def driverGetVersion() -> int:
    return 12090


def deviceSynchronize() -> None:
    _meter.synchronise('deviceSynchronize')


def deviceCanAccessPeer(device: int, peer: int) -> bool:
    return False


def memGetInfo() -> tuple[int, int]:
    return _devices.Device.mem_info
