"""The global random states of NumPy, Python and CuPy: restored after a check, and on request before each call."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from minichainer.backends import cuda

#: The value of the option ``random`` that makes each call draw the same numbers.
FIXED = 'fixed'
#: A seed for CuPy, whose generators cannot be read.
_SEED = 0


class RandomStates:
    """The states as they are when this is made."""

    def __init__(self) -> None:
        self._numpy, self._python = np.random.get_state(), random.getstate()
        self._devices: dict[int, Any] = {}

    def restore(self) -> None:
        """Sets the states again."""
        np.random.set_state(self._numpy)
        random.setstate(self._python)
        for device, generator in self._devices.items():
            with cuda.Device(device):
                cuda.cupy.random.set_random_state(generator)

    def replay(self) -> None:
        """Sets the states for a call that is to draw what every other such call draws."""
        np.random.set_state(self._numpy)
        random.setstate(self._python)
        if cuda.available:
            source, device = cuda.cupy.random, cuda.Device().id
            self._devices.setdefault(device, source.get_random_state())
            source.set_random_state(source.RandomState(_SEED))
