"""Arrays made of something else, copies between arrays, and what else has no twin in NumPy."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from . import _meter
from ._devices import Device, current, require_current
from ._dtypes import check_dtype
from ._errors import IMPLICIT, unsupported
from ._functions import leaves, lowered
from ._ndarray import ndarray, raw, unwritten, view, wrap
from ._ufuncs import check_operand, ufunc


def get_array_module(*args: Any) -> Any:
    import cupy

    return cupy if any(isinstance(arg, ndarray) for arg in args) else np


def is_available() -> bool:
    return True


def asnumpy(a: Any, stream: Any = None, order: str = 'C', out: Any = None, *, blocking: bool = True) -> np.ndarray:
    if isinstance(a, ndarray):
        return a.get(stream, order, out, blocking)
    found = np.asarray(a, order=order)
    if out is None:
        return found
    out[...] = found
    return out


def empty(shape: Any, dtype: Any = float, order: str = 'C') -> ndarray:
    return wrap(unwritten(shape, dtype, order))


def empty_like(prototype: Any, dtype: Any = None, order: str = 'K', subok: Any = None, shape: Any = None) -> ndarray:
    if not isinstance(prototype, ndarray):
        raise unsupported(prototype, 'cupy.empty_like')
    like = np.empty_like(prototype._a, dtype, order, shape=shape)
    like.fill({'b': True, 'f': np.nan, 'c': np.nan}.get(like.dtype.kind, 77))
    return wrap(like)


def array(
    obj: Any,
    dtype: Any = None,
    copy: bool = True,
    order: str = 'K',
    subok: bool = False,
    ndmin: int = 0,
    *,
    blocking: bool = False,
) -> ndarray:
    if dtype is not None:
        check_dtype(dtype)
    if isinstance(obj, ndarray):
        return _of_device_array(obj, dtype, bool(copy), order, ndmin)
    within = list(leaves([obj]))
    if any(isinstance(value, ndarray) for value in within):
        return _of_device_arrays(obj, within, dtype)
    if isinstance(obj, np.ma.MaskedArray):
        raise ValueError('CuPy currently does not support masked arrays.')
    found = np.array(obj, dtype, order=order, ndmin=ndmin)
    if found.dtype == object:
        raise ValueError(f'Unsupported dtype {found.dtype}')
    _meter.upload('array')
    return wrap(found)


def _of_device_array(obj: ndarray, dtype: Any, copy: bool, order: str, ndmin: int) -> ndarray:
    values = np.array(obj._a, dtype, copy=True, order=order, ndmin=ndmin)
    if obj._device != current():
        _meter.launch('copy between devices')
        return wrap(values)
    layout_fits = order in 'KA' or obj.flags[{'C': 'C', 'F': 'F'}[order]]
    if copy or values.dtype != obj.dtype or not layout_fits:
        _meter.launch('copy')
        return wrap(values)
    return obj if values.ndim == obj.ndim else view(obj._a.reshape(values.shape), obj)


def _of_device_arrays(obj: Any, within: list[Any], dtype: Any) -> ndarray:
    if not all(isinstance(value, ndarray) for value in within):
        raise TypeError(IMPLICIT)
    require_current(within, 'cupy.array')
    _meter.launch('concatenate')
    return wrap(np.array(lowered(obj), dtype))


def asarray(a: Any, dtype: Any = None, order: Any = None, *, blocking: bool = False) -> ndarray:
    return array(a, dtype, False, order or 'K')


asanyarray = asarray


def ascontiguousarray(a: Any, dtype: Any = None) -> ndarray:
    return array(a, dtype, False, 'C', 1)


def asfortranarray(a: Any, dtype: Any = None) -> ndarray:
    return array(a, dtype, False, 'F', 1)


def copyto(dst: Any, src: Any, casting: str = 'same_kind', where: Any = None) -> None:
    if not isinstance(dst, ndarray):
        raise TypeError('dst must be cupy.ndarray')
    check_operand(src, 'copyto')
    if where is not None and not isinstance(where, (ndarray, bool)):
        raise unsupported(where, 'where= of cupy.copyto')
    with Device(dst._device):
        if getattr(src, '_device', dst._device) != dst._device:
            src = src.copy()
        require_current([where], 'copyto')
        _meter.launch('copy')
        np.copyto(dst._a, raw(src), casting, True if where is None else raw(where))


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if (x is None) != (y is None):
        raise ValueError("Must provide both 'x' and 'y' or neither.")
    if not isinstance(condition, (ndarray, bool, np.bool_)):
        raise TypeError(f"'condition' must be a cupy.ndarray object, not {type(condition)}")
    if x is None:
        return condition.nonzero()
    return _where(condition if np.asarray(raw(condition)).dtype.kind == 'b' else condition != 0, x, y)


#: CuPy's is a ufunc of three arguments, so numbers of Python do not widen the result.
_where = ufunc('where', {'nin': 3, 'types': [f'?{c}{c}->{c}' for c in '?bBhHiIlLqQefdFD']}, np.where)
_where.__name__ = 'where'


def nonzero(a: Any) -> Any:
    return a.nonzero()


_memos: list[dict[Any, Any]] = []


def memoize(for_each_device: bool = False) -> Any:
    def decorate(function: Any) -> Any:
        memo: dict[Any, Any] = {}
        _memos.append(memo)

        @functools.wraps(function)
        def remembered(*args: Any, **kwargs: Any) -> Any:
            key = (current() if for_each_device else -1, args, frozenset(kwargs.items()))
            if key not in memo:
                memo[key] = function(*args, **kwargs)
            return memo[key]

        return remembered

    return decorate


def clear_memo() -> None:
    for memo in _memos:
        memo.clear()


def fuse(*args: Any, **kwargs: Any) -> Any:
    """A function that runs as one kernel where it gets device arrays, and as it is where it gets none."""

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def fused(*operands: Any) -> Any:
            if not any(isinstance(operand, ndarray) for operand in operands):
                return function(*operands)
            for operand in operands:
                check_operand(operand, f'the fused function {function.__name__}')
            name = kwargs.get('kernel_name') or function.__name__
            if not name.isidentifier():  # a lambda
                raise SyntaxError(
                    f'cupy.fuse: expected a name of C, got {name}; name the function, or give kernel_name'
                )
            with _meter.fused(name):
                return function(*operands)

        return fused

    return decorate(args[0]) if args and callable(args[0]) else decorate
