"""Indices: what CuPy takes for one, and what it does with those that NumPy refuses or defines.

Integer arrays out of bounds wrap around. A position that is named twice is written by either thread, so what NumPy's
users rely on, the last value, is not what they get here: the first one is. A sum over repeated positions takes
``scatter_add``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _meter
from ._devices import require_current
from ._errors import unsupported

#: The dtypes of each operation that has atomics.
_ATOMIC = {
    'add': 'ilqefdILQ',
    'subtract': 'iI',
    'maximum': 'ilqfdILQ',
    'minimum': 'ilqfdILQ',
    'bitwise_and': 'ilqILQ',
    'bitwise_or': 'ilqILQ',
    'bitwise_xor': 'ilqILQ',
}
_NUMBERS = (bool, int, float, complex, np.generic)


class Key:
    """An index with its device arrays replaced by NumPy's."""

    def __init__(self, array: Any, key: Any) -> None:
        self.parts: list[Any] = []
        self.masked = self.advanced = False
        for part in key if isinstance(key, tuple) else (key,):
            self.parts.append(self._part(array, part))
        if sum(isinstance(p, np.ndarray) and p.dtype.kind == 'b' for p in self.parts) > 1:
            raise ValueError('CuPy does not support indexing by several boolean arrays')
        if self.advanced:
            self.parts = _wrapped_around(array, self.parts)

    def _part(self, array: Any, part: Any) -> Any:
        if part is None or part is Ellipsis:
            return part
        if isinstance(part, slice):
            return _checked_slice(part)
        if isinstance(part, (int, np.integer)) and not isinstance(part, bool):
            return int(part)
        self.advanced = True
        values = _values_of_index(array, part)
        if values.dtype.kind not in 'biu':
            raise IndexError(f'arrays used as indices must be of integer or boolean type. (actual: {values.dtype})')
        self.masked = self.masked or values.dtype.kind == 'b'
        return values

    @property
    def key(self) -> tuple[Any, ...]:
        return tuple(self.parts)


def _checked_slice(part: slice) -> slice:
    """Bounds of a slice must be numbers of the host; CuPy's arrays have no ``__index__``."""
    for bound in (part.start, part.stop, part.step):
        if bound is not None and not hasattr(bound, '__index__'):
            raise TypeError('slice indices must be integers or None or have an __index__ method')
    return part


def _values_of_index(array: Any, part: Any) -> np.ndarray:
    if hasattr(part, '__cuda_array_interface__'):
        require_current([array, part], 'an index')
        return part._a
    if not isinstance(part, (list, tuple, range, np.ndarray, bool, np.bool_)):
        raise IndexError(
            'only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are '
            f'valid indices, not {type(part)}'
        )
    if isinstance(part, (list, tuple)) and any(hasattr(p, '__cuda_array_interface__') for p in part):
        part = [getattr(p, '_a', p) for p in part]
    _meter.upload('index')
    values = np.asarray(part)
    return values if values.size else values.astype(values.dtype if values.dtype.kind in 'biu' else 'i')


def _wrapped_around(array: Any, parts: list[Any]) -> list[Any]:
    """Integers out of bounds modulo the size of their axis."""
    taken = sum(p.ndim if _is_mask(p) else 1 for p in parts if p is not None and p is not Ellipsis)
    axis, found = 0, []
    for part in parts:
        if isinstance(part, np.ndarray) and not _is_mask(part) and axis < array.ndim:
            part = _modulo(part, array.shape[axis])
        found.append(part)
        if part is Ellipsis:
            axis += array.ndim - taken
        elif part is not None:
            axis += part.ndim if _is_mask(part) else 1
    return found


def _is_mask(part: Any) -> bool:
    return isinstance(part, np.ndarray) and part.dtype.kind == 'b'


def _modulo(indices: np.ndarray, size: int) -> np.ndarray:
    indices = indices.astype('q')
    if not size or not indices.size or (-size <= indices.min() and indices.max() < size):
        return indices
    _meter.note('index out of bounds')
    return indices % size


def get(array: Any, key: Any) -> Any:
    """``array[key]``: a view, or a new array where the key has arrays."""
    from ._ndarray import view, wrap

    found = Key(array, key)
    if not found.advanced:
        basic = found.key if any(p is Ellipsis for p in found.parts) else (*found.key, Ellipsis)
        return view(array._a[basic], array)
    require_current([array], 'getitem')
    if found.masked:
        _meter.synchronise('boolean index')
    _meter.launch('masked getitem' if found.masked else 'take')
    return wrap(np.array(array._a[found.key]))


def set(array: Any, key: Any, value: Any) -> None:
    """``array[key] = value``."""
    found = Key(array, key)
    require_current([array, value], 'setitem')
    if not found.advanced:
        if hasattr(value, '__cuda_array_interface__'):
            _copy(array, found, value)
        else:
            get(array, key).fill(value)
        return
    _meter.launch('masked setitem' if found.masked else 'scatter')
    _write(array._a, found, _values_to_write(array, value))


def _copy(array: Any, key: Key, value: Any) -> None:
    _meter.launch('copy')
    with np.errstate(all='ignore'):
        target = array._a[key.key if any(p is Ellipsis for p in key.parts) else (*key.key, Ellipsis)]
        target[...] = _without_leading_ones(value._a, target.ndim).astype(array.dtype, copy=False)


def _values_to_write(array: Any, value: Any) -> np.ndarray:
    if hasattr(value, '__cuda_array_interface__'):
        with np.errstate(all='ignore'):
            return value._a.astype(array.dtype)
    if not isinstance(value, (np.ndarray, list, tuple, *_NUMBERS)):
        raise unsupported(value, 'setitem')
    if not isinstance(value, _NUMBERS):
        _meter.upload('setitem')
    return np.asarray(value).astype(array.dtype)


def _write(values: np.ndarray, key: Key, new: np.ndarray) -> None:
    """The first of several values of a position stays."""
    if key.masked or not new.ndim:
        values[key.key] = new
        return
    places = np.arange(values.size).reshape(values.shape)[key.key]
    new = np.broadcast_to(_without_leading_ones(new, places.ndim), places.shape)
    values.flat[places.ravel()[::-1]] = new.ravel()[::-1]


def _without_leading_ones(values: np.ndarray, ndim: int) -> np.ndarray:
    while values.ndim > ndim and values.shape[0] == 1:
        values = values[0]
    return values


def scatter(operation: str, array: Any, key: Any, value: Any) -> None:
    """``numpy.<operation>.at``, by atomics; CuPy has them for some dtypes only."""
    if operation not in _ATOMIC:
        raise NotImplementedError(f'`cupy_{operation}.at` is not supported yet')
    found = Key(array, key)
    require_current([array, value], f'{operation}.at')
    if found.advanced and array.dtype.char not in _ATOMIC[operation]:
        raise TypeError(f'cupy.{operation}.at only supports {_ATOMIC[operation]} as data type, not {array.dtype}')
    _meter.launch(f'{operation}.at')
    with np.errstate(all='ignore'):
        getattr(np, operation).at(array._a, found.key, _values_to_write(array, value))
