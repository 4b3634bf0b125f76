"""SciPy's special functions for the array module in use, imported at the first call."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from minichainer.backends.number_arrays import NumberModule

_HOMES = {'numpy': 'scipy.special'}


@functools.cache
def special(xp: Any) -> Any:
    """``scipy.special``, or its equivalent for another array module."""
    if isinstance(xp, NumberModule):
        return xp.special
    return importlib.import_module(_HOMES.get(xp.__name__, f'{xp.__name__}x.scipy.special'))
