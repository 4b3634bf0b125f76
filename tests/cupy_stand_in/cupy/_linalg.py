"""``cupy.linalg``: what cuSOLVER refuses, and what it is silent about.

A singular or an indefinite matrix raises nothing unless ``cupyx.errstate(linalg='raise')`` asks for the check, which
waits for the device. The result is NaN, or for Cholesky's factor finite numbers that mean nothing. Eigenvalues and
singular values that do not converge are NaN for all of a stack.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import _meter
from ._errors import unsupported
from ._functions import computed
from ._ndarray import ndarray
from ._surface import bind, names, signature

LinAlgError = np.linalg.LinAlgError
#: 'ignore' or 'raise'.
checking = 'ignore'


@contextlib.contextmanager
def checked(setting: str | None) -> Iterator[None]:
    """Sets whether a matrix that cuSOLVER cannot work with raises."""
    global checking
    before, checking = checking, checking if setting is None else setting
    try:
        yield
    finally:
        checking = before


def _silent(compute: Callable[..., Any], failed: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function, which does not raise for a matrix with which it fails."""

    def call(a: np.ndarray, *args: Any, **kwargs: Any) -> Any:
        if checking == 'raise':
            _meter.synchronise('linalg')
        try:
            return compute(a, *args, **kwargs)
        except LinAlgError:
            if checking == 'raise' or a.ndim < 2 or a.shape[-1] != a.shape[-2]:
                raise
            if a.ndim == 2:
                return failed(a, *args)
        return _one_by_one(call, a, *args)

    return call


def _one_by_one(call: Callable[..., Any], a: np.ndarray, *args: Any) -> np.ndarray:
    lead = np.broadcast_shapes(a.shape[:-2], *[b.shape[:-2] for b in args])
    matrices = np.broadcast_to(a, (*lead, *a.shape[-2:])).reshape(-1, *a.shape[-2:])
    others = [np.broadcast_to(b, (*lead, *b.shape[-2:])).reshape(-1, *b.shape[-2:]) for b in args]
    found = np.stack([call(*one) for one in zip(matrices, *others, strict=True)])
    return found.reshape(*lead, *found.shape[1:])


def _silent_factors(compute: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's factors; NaN where NumPy finds that they do not converge."""

    def call(a: np.ndarray, *args: Any, **kwargs: Any) -> Any:
        if checking == 'raise':
            _meter.synchronise('linalg')
        try:
            return compute(a, *args, **kwargs)
        except LinAlgError:
            if checking == 'raise' or a.ndim < 2:
                raise
        found = compute(np.zeros_like(a), *args, **kwargs)
        return (
            tuple(np.full_like(y, np.nan) for y in found) if isinstance(found, tuple) else np.full_like(found, np.nan)
        )

    return call


_COMPUTE = {
    'eigh': _silent_factors(np.linalg.eigh),
    'svd': _silent_factors(np.linalg.svd),
    'inv': _silent(np.linalg.inv, lambda a: np.full_like(a, np.nan)),
    'solve': _silent(np.linalg.solve, lambda a, b: np.full_like(b, np.nan, dtype=np.result_type(a, b))),
    'cholesky': _silent(np.linalg.cholesky, np.tril),
}
_STACKED = frozenset(['inv', 'solve', 'cholesky', 'det', 'slogdet', 'svd', 'qr'])


def _check(name: str, args: tuple[Any, ...]) -> None:
    for array in args[: 2 if name in ('solve', 'lstsq') else 1]:
        if not isinstance(array, ndarray):
            raise LinAlgError(f'cupy.linalg only supports cupy.ndarray, got {type(array)} in {name}')
        if name in _STACKED and array.dtype == np.float16:
            raise TypeError('float16 is unsupported in linalg')
    if name == 'solve' and args[1].ndim > 1 and args[0].shape[:-1] != args[1].shape[:-1]:
        raise ValueError('a must have (..., M, M) shape and b must have (..., M, K) for multidimensional b')


def function(name: str) -> Callable[..., Any]:
    """The function of ``cupy.linalg``."""
    known, compute = signature(names('cupy.linalg')[name]), _COMPUTE.get(name, getattr(np.linalg, name))

    def call(*args: Any, **kwargs: Any) -> Any:
        bind(f'cupy.linalg.{name}', known, args, kwargs)
        if name == 'norm' and not isinstance(args[0], ndarray):
            raise unsupported(args[0], 'cupy.linalg.norm')
        if name != 'norm':
            _check(name, args)
        if name == 'slogdet':  # in NumPy 1 numbers of a stack's dtype
            return computed(f'linalg.{name}', lambda a: tuple(np.linalg.slogdet(a)), args, kwargs)
        if name in ('eigh', 'eigvalsh') and getattr(args[0], 'dtype', None) == np.float16:
            return _halves(computed(f'linalg.{name}', compute, (args[0].astype('f'), *args[1:]), kwargs))
        return computed(f'linalg.{name}', compute, args, kwargs)

    call.__name__ = name
    return call


def _halves(result: Any) -> Any:
    return tuple(x.astype('e') for x in result) if isinstance(result, tuple) else result.astype('e')
