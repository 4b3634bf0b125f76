"""iDeep, Intel's library for its processors, which is not supported: the queries say so."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.backends._device import CpuDevice


class mdarray:
    """Stands for iDeep's arrays: no array is an instance of it."""


def is_ideep_available() -> bool:
    """Whether iDeep is available: always False.

    >>> from minichainer.backends import intel64
    >>> intel64.is_ideep_available()
    False
    """
    return False


def check_ideep_available() -> None:
    """Raises a RuntimeError that says what to use instead.

    >>> from minichainer.backends import intel64
    >>> intel64.check_ideep_available()
    Traceback (most recent call last):
    RuntimeError: iDeep is not available: it is not supported, use '@numpy', whose kernels need no settings
    """
    raise RuntimeError("iDeep is not available: it is not supported, use '@numpy', whose kernels need no settings")


def should_use_ideep(level: str) -> bool:
    """Whether functions use iDeep where ``config.use_ideep`` is at least ``level``: always False.

    Args:
        level: such as ``'>=auto'`` or ``'==always'``.
    """
    return False


def inputs_all_ready(inputs: Any, supported_ndim: tuple[int, ...] = (2, 4)) -> bool:
    """Whether iDeep takes these arrays: always False.

    Args:
        inputs: arrays.
        supported_ndim: numbers of axes that the caller supports.
    """
    return False


class Intel64Device(CpuDevice):
    """The CPU with iDeep. None can be made, so that no device is an instance of it.

    Raises:
        RuntimeError: always; it says what to use instead.
    """

    supported_array_types = (numpy.ndarray,)

    @property
    def name(self) -> str:
        return '@intel64'

    def __init__(self) -> None:
        check_ideep_available()

    @staticmethod
    def from_array(array: Any) -> None:
        """None: no array is on such a device."""
