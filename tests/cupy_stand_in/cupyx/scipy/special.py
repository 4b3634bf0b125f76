"""``cupyx.scipy.special``: SciPy's functions as ufuncs."""

from __future__ import annotations

from typing import Any

import scipy.special as _special
from cupy import _build
from cupy import ndarray as _ndarray

_build.fill(globals(), 'cupyx.scipy.special', _special)
_polygamma = polygamma  # type: ignore[name-defined] # noqa: F821


def polygamma(n: Any, x: Any) -> Any:
    if not isinstance(n, _ndarray):
        raise AttributeError(f'cupyx.scipy.special.polygamma: expected an array as n, got {n!r}')
    return _polygamma(n, x)
