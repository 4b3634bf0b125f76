"""``cupyx``: what CuPy has beyond NumPy."""

from __future__ import annotations

import contextlib as _contextlib
from collections.abc import Iterator as _Iterator
from typing import Any as _Any

import numpy as _np
from cupy import _linalg, _meter
from cupy._meter import DeviceSynchronized
from cupy._surface import names as _names
from cupy._ufuncs import ufunc as _ufunc

__all__ = [
    'DeviceSynchronized',
    'allow_synchronize',
    'errstate',
    'rsqrt',
    'scatter_add',
    'scatter_max',
    'scatter_min',
]


def scatter_add(a: _Any, slices: _Any, value: _Any) -> None:
    a.scatter_add(slices, value)


def scatter_max(a: _Any, slices: _Any, value: _Any) -> None:
    a.scatter_max(slices, value)


def scatter_min(a: _Any, slices: _Any, value: _Any) -> None:
    a.scatter_min(slices, value)


def allow_synchronize(allow: bool) -> _Any:
    return _meter.synchronize_allowed(allow)


@_contextlib.contextmanager
def errstate(*, linalg: str | None = None, **kwargs: _Any) -> _Iterator[None]:
    with _linalg.checked(linalg):
        yield


def geterr() -> dict[str, _Any]:
    return {'divide': None, 'over': None, 'under': None, 'invalid': None, 'linalg': _linalg.checking}


def get_runtime_info(*, full: bool = True) -> str:
    return 'CuPy stand-in'


rsqrt = _ufunc('rsqrt', _names('cupyx')['rsqrt'], lambda x: 1 / _np.sqrt(x))
