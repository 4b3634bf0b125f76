"""``cupy.testing``: comparisons of arrays of any side."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._ndarray import ndarray


def _compared(name: str) -> Any:
    compare = getattr(np.testing, name)

    def call(*args: Any, **kwargs: Any) -> None:
        compare(*[arg.get() if isinstance(arg, ndarray) else arg for arg in args], **kwargs)

    call.__name__ = name
    return call


assert_allclose = _compared('assert_allclose')
assert_array_almost_equal = _compared('assert_array_almost_equal')
assert_array_equal = _compared('assert_array_equal')
assert_array_less = _compared('assert_array_less')
