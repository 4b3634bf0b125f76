"""Devices of ChainerX, which does not exist here: code may ask for them, and gets told so when it uses one."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.backends import cuda
from minichainer.backends._device import Device, map_arrays, not_an_array
from minichainer.chainerx import ndarray


def unavailable(what: str) -> RuntimeError:
    """The error for a use of ChainerX."""
    return RuntimeError(f"{what}: ChainerX is not available: it is not supported, use '@numpy' or '@cupy:0'")


class ChainerxDevice(Device):
    """A device of ChainerX. None can be made, so that no device is an instance of it.

    Args:
        device: a device of ChainerX.

    Raises:
        RuntimeError: always; it names the devices that there are.

    >>> import minichainer as chainer
    >>> isinstance(chainer.get_device('@numpy'), chainer.backend.ChainerxDevice)
    False
    """

    supported_array_types = (ndarray,)

    def __init__(self, device: Any) -> None:
        raise unavailable('ChainerxDevice')

    @staticmethod
    def from_array(array: Any) -> None:
        """None: no array is on such a device."""

    @staticmethod
    def from_fallback_device(device: Any) -> Any:
        """Raises the same error as the class."""
        raise unavailable('ChainerxDevice')


def to_chx(array: Any) -> Any:
    """Arrays of ChainerX; raises a RuntimeError unless there are no arrays at all.

    Args:
        array: an array, None, or a list or tuple of these.
    """
    return map_arrays(_to_chx, array)


def _to_chx(array: Any) -> Any:
    if array is not None:
        raise unavailable('to_chx')
    return array


def from_chx(array: Any) -> Any:
    """Arrays that are not of ChainerX, which all are: returns the argument.

    Args:
        array: an array, None, or a list or tuple of these.

    Raises:
        TypeError: something else.

    >>> import numpy as np, minichainer as chainer
    >>> chainer.backend.from_chx([np.zeros(2), None])
    [array([0., 0.]), None]
    """
    return map_arrays(_from_chx, array)


def _from_chx(array: Any) -> Any:
    if array is not None and not isinstance(array, (numpy.ndarray, cuda.ndarray)):
        raise not_an_array('a device other than ChainerX', array)
    return array
