"""SciPy's special functions, imported when one is first called, for the array module in use."""

from __future__ import annotations

import functools
import importlib
from typing import Any

_HOMES = {'numpy': 'scipy.special'}


@functools.cache
def special(xp: Any) -> Any:
    """``scipy.special``, or what has its names for another array module."""
    return importlib.import_module(_HOMES.get(xp.__name__, f'{xp.__name__}x.scipy.special'))
