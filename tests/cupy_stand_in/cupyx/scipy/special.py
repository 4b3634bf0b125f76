"""``cupyx.scipy.special``: SciPy's functions as ufuncs."""

from __future__ import annotations

import scipy.special as _special
from cupy import _build

_build.fill(globals(), 'cupyx.scipy.special', _special)
