"""Kernels from source: the host's C++ compiler builds them."""

from __future__ import annotations

from typing import Any

from . import _compiled, _meter
from ._devices import require_current
from ._ndarray import ndarray, raw, wrap


def _host(array: ndarray) -> Any:
    require_current([array], 'a kernel')
    return raw(array)


ElementwiseKernel, ReductionKernel, RawKernel = _compiled.classes(ndarray, _host, wrap, _meter.launch)


class RawModule:
    """``cupy.RawModule``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError('the stand-in for CuPy has no RawModule')
