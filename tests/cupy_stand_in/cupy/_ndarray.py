"""``cupy.ndarray`` over a hidden NumPy array: it shows what CuPy's shows, and refuses what CuPy's refuses."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _indexing, _memory, _meter
from ._devices import Device, current, require_current
from ._dtypes import check_dtype
from ._errors import IMPLICIT, unsupported


class ndarray:
    """An array on a device. ``_a`` has its values, ``_device`` the number of the device."""

    __slots__ = ('__weakref__', '_a', '_device')
    __module__ = 'cupy'
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: str = 'C'):
        self._a = unwritten(shape, dtype, order)
        self._device = current()
        _memory.allocated(self._a)

    # --- what it shows

    @property
    def shape(self) -> tuple[int, ...]:
        return self._a.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        self._a = self._a.view()
        self._a.shape = shape

    dtype = property(lambda self: self._a.dtype)
    ndim = property(lambda self: self._a.ndim)
    size = property(lambda self: self._a.size)
    itemsize = property(lambda self: self._a.itemsize)
    nbytes = property(lambda self: self._a.nbytes)
    strides = property(lambda self: self._a.strides)
    flags = property(lambda self: Flags(self._a.flags))
    device = property(lambda self: Device(self._device))
    data = property(lambda self: Pointer(self._a, self._device))
    T = property(lambda self: view(self._a.T, self))
    mT = property(lambda self: view(np.swapaxes(self._a, -1, -2), self))
    flat = property(lambda self: Flat(self))

    @property
    def base(self) -> ndarray | None:
        return None if self._a.base is None else view(self._a.base, self)

    @property
    def real(self) -> ndarray:
        return view(self._a.real, self)

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> ndarray:
        return view(self._a.imag, self) if self.dtype.kind == 'c' else wrap(np.zeros_like(self._a))

    @imag.setter
    def imag(self, value: Any) -> None:
        view(self._a.imag, self)[...] = value

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        place = (self._a.ctypes.data, False)
        return {'shape': self.shape, 'typestr': self.dtype.str, 'version': 3, 'data': place, 'strides': self.strides}

    # --- what NumPy asks for

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(IMPLICIT)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        import cupy

        if 'out' in kwargs:
            if len(kwargs['out']) != 1:
                raise ValueError("The 'out' parameter must have exactly one array value")
            kwargs['out'] = kwargs['out'][0]
        function = getattr(cupy, ufunc.__name__, None)
        if function is None or not hasattr(function, 'nin'):
            return NotImplemented
        _meter.note(f'numpy.{ufunc.__name__}')
        return (function if method == '__call__' else getattr(function, method))(*inputs, **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        import cupy

        module: Any = cupy
        for part in func.__module__.split('.')[1:]:
            module = getattr(module, part, None)
        function = getattr(module, func.__name__, None)
        if function is None or function is func or not all(issubclass(t, (ndarray, np.ndarray)) for t in types):
            return NotImplemented
        _meter.note(f'numpy.{func.__name__}')
        return function(*args, **kwargs)

    # --- to the host

    def get(self, stream: Any = None, order: str = 'C', out: Any = None, blocking: bool = True) -> np.ndarray:
        _meter.synchronise('get')
        if out is None:
            return np.array(self._a, order='K' if order == 'A' else order)
        if not isinstance(out, np.ndarray):
            raise TypeError('Only numpy.ndarray can be obtained from cupy.ndarray')
        if out.dtype != self.dtype:
            raise TypeError(f'{self.dtype} array cannot be obtained from {out.dtype} array')
        if out.shape != self.shape:
            raise ValueError(f'Shape mismatch. Expected shape: {self.shape}, actual shape: {out.shape}')
        out[...] = self._a
        return out

    def _number(self, what: str) -> Any:
        _meter.synchronise(what)
        return self._a

    def item(self) -> Any:
        return self._number('item').item()

    def tolist(self) -> Any:
        return self._number('tolist').tolist()

    def tobytes(self, order: str = 'C') -> bytes:
        return self._number('tobytes').tobytes(order)

    def __bool__(self) -> bool:
        return bool(self._number('bool'))

    def __int__(self) -> int:
        return int(self._number('int'))

    def __float__(self) -> float:
        return float(self._number('float'))

    def __complex__(self) -> complex:
        return complex(self._number('complex'))

    def __repr__(self) -> str:
        return repr(self._number('repr'))

    def __str__(self) -> str:
        return str(self._number('str'))

    def __format__(self, spec: str) -> str:
        return format(self._number('format'), spec)

    def __reduce__(self) -> Any:
        import cupy

        return cupy.array, (self.get(order='A'),)

    # --- from the host

    def set(self, arr: Any, stream: Any = None) -> None:
        if not isinstance(arr, np.ndarray):
            raise TypeError('Only numpy.ndarray can be set to cupy.ndarray')
        if self.dtype != arr.dtype:
            raise TypeError(f'{arr.dtype} array cannot be set to {self.dtype} array')
        if self.shape != arr.shape:
            raise ValueError(f'Shape mismatch. Expected shape: {self.shape}, actual shape: {arr.shape}')
        _meter.upload('set')
        self._a[...] = arr

    def fill(self, value: Any) -> None:
        if getattr(value, 'shape', ()) != ():
            raise ValueError(f'non-scalar {type(value).__module__}.ndarray cannot be used for fill')
        if not isinstance(value, (bool, int, float, complex, np.generic, np.ndarray, ndarray)):
            raise unsupported(value, 'fill')
        require_current([self, value], 'fill')
        _meter.launch('fill')
        with np.errstate(all='ignore'):
            self._a.fill(np.asarray(raw(value)).astype(self.dtype))

    # --- parts

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError('len() of unsized object')
        return self.shape[0]

    def __iter__(self) -> Iterator[ndarray]:
        if not self.ndim:
            raise TypeError('iteration over a 0-d array')
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> ndarray:
        return _indexing.get(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        _indexing.set(self, key, value)

    def scatter_add(self, slices: Any, value: Any) -> None:
        _indexing.scatter('add', self, slices, value)

    def scatter_max(self, slices: Any, value: Any) -> None:
        _indexing.scatter('maximum', self, slices, value)

    def scatter_min(self, slices: Any, value: Any) -> None:
        _indexing.scatter('minimum', self, slices, value)

    # --- copies and views

    def view(self, dtype: Any = None, type: Any = None) -> ndarray:
        return view(self._a.view() if dtype is None else self._a.view(check_dtype(dtype)), self)

    def astype(
        self, dtype: Any, order: str = 'K', casting: str = 'unsafe', subok: Any = None, copy: bool = True
    ) -> ndarray:
        dtype = check_dtype(dtype)
        if subok not in (None, True):
            raise TypeError('subok is not supported yet')
        if not copy and dtype == self.dtype and order in 'KA':
            return self
        require_current([self], 'astype')
        if self.dtype.kind == 'c' and dtype.kind not in 'bc':
            category = getattr(np, 'exceptions', np).ComplexWarning
            warnings.warn('Casting complex values to real discards the imaginary part', category, stacklevel=2)
        _meter.launch('astype')
        with np.errstate(all='ignore'), warnings.catch_warnings():
            warnings.simplefilter('ignore')
            return wrap(self._a.astype(dtype, order, casting or 'unsafe'))

    def copy(self, order: str = 'C') -> ndarray:
        """A copy on the current device, also of an array of another one."""
        _meter.launch('copy' if self._device == current() else 'copy between devices')
        return wrap(self._a.copy(order))

    def __copy__(self) -> ndarray:
        with Device(self._device):
            return self.copy()

    def __deepcopy__(self, memo: Any) -> ndarray:
        return self.__copy__()

    def reshape(self, *shape: Any, order: str = 'C', copy: Any = None) -> ndarray:
        return self._reshaped(self._a.reshape(*shape, order=order))

    def ravel(self, order: str = 'C') -> ndarray:
        return self._reshaped(self._a.ravel(order))

    def _reshaped(self, values: np.ndarray) -> ndarray:
        if not values.size or np.shares_memory(values, self._a):
            return view(values, self)
        require_current([self], 'reshape')
        _meter.launch('copy')
        return wrap(values)


class Flags:
    """The flags of an array; CuPy has these only."""

    def __init__(self, flags: Any) -> None:
        self.c_contiguous, self.f_contiguous, self.owndata = flags.c_contiguous, flags.f_contiguous, flags.owndata
        self.fnc, self.forc = flags.fnc, flags.forc

    def __getitem__(self, name: str) -> bool:
        return bool(getattr(self, {'C': 'c_contiguous', 'F': 'f_contiguous'}.get(name, name.lower())))


class Pointer:
    """Where the values lie."""

    def __init__(self, values: np.ndarray, device: int) -> None:
        self.ptr, self.device_id = values.ctypes.data, device
        self.device, self.mem = Device(device), self


class Flat:
    """The elements in C order: ``x.flat``."""

    def __init__(self, array: ndarray) -> None:
        self._array = array

    def __getitem__(self, key: Any) -> ndarray:
        if not isinstance(key, (int, slice)):
            raise NotImplementedError('flatiter: only integers and slices are supported')
        return self._array.ravel()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        require_current([self._array, value], 'flat')
        _meter.launch('copy')
        self._array._a.flat[key] = raw(value)

    def __iter__(self) -> Iterator[ndarray]:
        return iter(self._array.ravel())

    def __len__(self) -> int:
        return int(self._array.size)


def unwritten(shape: Any, dtype: Any, order: str = 'C') -> np.ndarray:
    """Values that nobody has written yet: they must not be zeros by chance."""
    dtype = check_dtype(dtype)
    return np.full(shape, {'b': True, 'f': np.nan, 'c': np.nan}.get(dtype.kind, 77), dtype, order)


def wrap(values: Any) -> ndarray:
    """A new array of the current device."""
    new = object.__new__(ndarray)
    new._a = values if isinstance(values, np.ndarray) else np.asarray(values)
    check_dtype(new._a.dtype)
    new._device = current()
    if new._a.base is None:
        _memory.allocated(new._a)
    return new


def view(values: Any, of: ndarray) -> ndarray:
    """An array over memory of another one, on its device."""
    new = object.__new__(ndarray)
    new._a, new._device = np.asarray(values), of._device
    return new


def raw(value: Any) -> Any:
    """The NumPy array of a device array; anything else as it is."""
    return value._a if isinstance(value, ndarray) else value
