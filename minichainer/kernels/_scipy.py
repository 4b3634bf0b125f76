"""SciPy's special functions for the array module in use, imported at the first call."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy

from minichainer.backends.number_arrays import NumberModule

_HOMES = {'numpy': 'scipy.special'}


def special(xp: Any) -> Any:
    """``scipy.special``, or its equivalent for another array module."""
    return xp.special if isinstance(xp, NumberModule) else _imported(xp.__name__)


@functools.cache
def _imported(name: str) -> Any:
    return importlib.import_module(_HOMES.get(name, f'{name}x.scipy.special'))


def replaced(y: Any, x: Any, places: Any, function: Callable[[float], float]) -> Any:
    """A result of SciPy for a NumPy array, with ``function`` of the elements at the places of a mask instead.

    For the few elements of float64 where the C library, which Python's ``math`` calls, keeps digits that SciPy loses.
    """
    y = numpy.asarray(y)
    y[places] = [function(element) for element in x[places].tolist()]
    return y
