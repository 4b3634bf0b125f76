"""``cupy.ufunc``: the loop that CuPy would choose, computed by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _indexing, _meter
from ._devices import require_current
from ._dtypes import check_dtype, choose_loop
from ._errors import unsupported
from ._ndarray import ndarray, raw, wrap

NUMBERS = (bool, int, float, complex, np.generic)
#: What ``reduce`` and ``accumulate`` are of the ufuncs that have them.
_REDUCTIONS = {'add': ('sum', 'cumsum'), 'multiply': ('prod', 'cumprod')}


def check_operand(value: Any, where: str) -> None:
    """Raises unless it is a device array or a number."""
    if isinstance(value, ndarray):
        return
    if not isinstance(value, NUMBERS):
        raise unsupported(value, f'cupy.{where}')
    if isinstance(value, np.generic):
        check_dtype(value.dtype)


class ufunc:
    """An elementwise function with a loop for each combination of dtypes."""

    __module__ = 'cupy'

    def __init__(self, name: str, entry: dict[str, Any], compute: Any) -> None:
        self.__name__, self.name, self._compute = name, f'cupy_{name}', compute
        self.types = list(entry.get('types') or getattr(compute, 'types', []))
        self._loops = tuple(self.types)
        self.nin = entry.get('nin') or len(self.types[0].partition('->')[0])
        self.nout = len(self.types[0].partition('->')[2])
        self.nargs = self.nin + self.nout

    def __repr__(self) -> str:
        return f"<ufunc '{self.name}'>"

    def __call__(self, *args: Any, out: Any = None, dtype: Any = None, where: Any = None, **kwargs: Any) -> Any:
        casting = kwargs.pop('casting', 'same_kind')
        if kwargs:
            raise TypeError(f'Wrong arguments {kwargs}')
        if not self.nin <= len(args) <= self.nargs:
            raise TypeError(f'Wrong number of arguments for {self.name!r}: given {len(args)}')
        operands, outs = list(args[: self.nin]), list(args[self.nin :])
        if out is not None:
            if outs:
                raise ValueError("cannot specify 'out' as both a positional and keyword argument")
            outs = list(out) if isinstance(out, tuple) else [out]
        self._check(operands, outs, where)
        results = self._results(operands, dtype)
        _meter.launch(self.__name__)
        found = [self._store(r, o, where, casting) for r, o in zip(results, outs or [None] * self.nout, strict=True)]
        return found[0] if self.nout == 1 else tuple(found)

    def _check(self, operands: list[Any], outs: list[Any], where: Any) -> None:
        for operand in operands:
            check_operand(operand, self.__name__)
        for one in outs:
            if one is not None and not isinstance(one, ndarray):
                raise TypeError(f'return arrays must be of ArrayType, got {type(one)} in cupy.{self.__name__}')
        if where is not None and not isinstance(where, (ndarray, bool, np.bool_)):
            raise unsupported(where, f'where= of cupy.{self.__name__}')
        require_current([*operands, *outs, where], f'cupy.{self.__name__}')

    def _results(self, operands: list[Any], dtype: Any) -> list[np.ndarray]:
        inputs, outputs = self._loop(operands, dtype)
        with np.errstate(all='ignore'):
            values = [_cast(x, to) for x, to in zip(operands, inputs, strict=True)]
            results = self._compute(*values)
            results = results if isinstance(results, tuple) else (results,)
            return [np.asarray(r).astype(to, copy=False) for r, to in zip(results, outputs, strict=True)]

    def _loop(self, operands: list[Any], dtype: Any) -> tuple[str, str]:
        if dtype is None:
            return choose_loop(self.__name__, self._loops, operands)
        wanted = check_dtype(dtype)
        for loop in self._loops:
            inputs, _, outputs = loop.partition('->')
            if np.dtype(outputs[0]) == wanted:
                return inputs, outputs
        raise TypeError(f'No matching signature of {self.name} for dtype {wanted}')

    def _store(self, result: np.ndarray, out: Any, where: Any, casting: str) -> Any:
        mask = True if where is None else raw(where)
        if out is None:
            if where is None:
                return wrap(result)
            shape = np.broadcast_shapes(result.shape, np.shape(mask))
            out = ndarray(shape, result.dtype)
        if not np.can_cast(result.dtype, out.dtype, casting):
            raise TypeError(
                f"output (typecode '{result.dtype.char}') could not be coerced to provided output parameter "
                f"(typecode '{out.dtype.char}') according to the casting rule '{casting}'"
            )
        if out.shape != np.broadcast_shapes(out.shape, result.shape):
            raise ValueError(f'non-broadcastable output operand with shape {out.shape}, result {result.shape}')
        with np.errstate(all='ignore'):
            np.copyto(out._a, result, casting='unsafe', where=mask)
        return out

    def outer(self, A: Any, B: Any, **kwargs: Any) -> Any:
        return self(A.reshape(A.shape + (1,) * B.ndim), B, **kwargs)

    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return getattr(array, self._method(0, 'reduce'))(axis, dtype, out, keepdims)

    def accumulate(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        return getattr(array, self._method(1, 'accumulate'))(axis, dtype, out)

    def _method(self, place: int, method: str) -> str:
        if self.__name__ not in _REDUCTIONS:
            raise NotImplementedError(f'`{self.name}.{method}` is not supported yet')
        return _REDUCTIONS[self.__name__][place]

    def reduceat(self, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        if self.__name__ != 'add':
            raise NotImplementedError(f'`{self.name}.reduceat` is not supported yet')
        require_current([array, indices], 'add.reduceat')
        _meter.launch('reduceat')
        return wrap(np.add.reduceat(raw(array), raw(indices), axis, dtype))

    def at(self, a: Any, indices: Any, b: Any = None) -> None:
        _indexing.scatter(self.__name__, a, indices, b)


def _cast(operand: Any, to: str) -> Any:
    """The values in the dtype of the loop; Python's integers must fit in."""
    if isinstance(operand, ndarray):
        return operand._a.astype(to, copy=False)
    if isinstance(operand, int) and not isinstance(operand, bool) and np.dtype(to).kind in 'ui':
        limits = np.iinfo(to)
        if not limits.min <= operand <= limits.max:
            raise OverflowError(f'Python integer {operand} out of bounds for {np.dtype(to)}')
    return np.asarray(operand).astype(to)
