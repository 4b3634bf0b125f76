"""CuPy's functions by NumPy's: names and parameters of the real CuPy, operands checked as it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import _meter
from ._devices import require_current
from ._dtypes import check_dtype
from ._errors import unsupported
from ._ndarray import ndarray, raw, view, wrap
from ._surface import NEP_50, bind, method_signature, signature

#: What returns a view where it can.
VIEWS = frozenset(
    'broadcast_to transpose swapaxes moveaxis rollaxis squeeze expand_dims atleast_1d atleast_2d atleast_3d diagonal '
    'flip fliplr flipud split array_split hsplit vsplit dsplit reshape ravel broadcast_arrays rot90 permute_dims '
    'matrix_transpose unstack lib.stride_tricks.as_strided'.split()
)
#: What computes on the host, and returns no array of the device.
HOST = frozenset(
    'shape ndim size result_type can_cast promote_types isscalar issubdtype broadcast_shapes common_type '
    'may_share_memory shares_memory isfortran iscomplexobj isrealobj min_scalar_type einsum_path'.split()
)
#: What takes lists: of arrays, of numbers, or both.
LISTS = frozenset(
    'concatenate concat stack vstack hstack dstack column_stack row_stack block select choose full full_like '
    'broadcast_shapes linspace einsum ix_ meshgrid unravel_index ravel_multi_index zeros ones empty eye indices '
    'tri fft.fftfreq'.split()
)
#: What looks at values, so that the host waits.
WAITING = frozenset(
    'flatnonzero argwhere unique extract compress array_equal allclose bincount trim_zeros unique_values histogram '
    'delete nonzero'.split()
)
#: Arguments whose arrays of the host CuPy reads on the host.
HOST_ARGUMENTS = {'split': (1,), 'array_split': (1,), 'pad': (1,), 'tile': (1,), 'repeat': (1,)}
_ZERO_D_REFUSED = frozenset(['concatenate', 'sort', 'nonzero'])


def function(module: str, name: str, entry: dict[str, Any], compute: Callable[..., Any]) -> Callable[..., Any]:
    """A function of CuPy that NumPy computes."""
    full = f'{module}.{name}'.removeprefix('cupy.')
    known = signature(entry)

    def call(*args: Any, **kwargs: Any) -> Any:
        bind(f'cupy.{full}', known, args, kwargs)
        return computed(full, compute, args, kwargs)

    call.__name__ = call.__qualname__ = name
    call.__module__ = module
    return call


def method(name: str) -> Callable[..., Any]:
    """A method of arrays that NumPy's method computes."""
    known = method_signature(name)

    def call(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        bind(f'cupy.ndarray.{name}', known, args, kwargs)
        return computed(name, _of_numpy(name), (self, *args), kwargs)

    call.__name__ = name
    return call


def _of_numpy(name: str) -> Callable[..., Any]:
    """NumPy's function for a method, for those that NumPy has as a function only too."""
    return lambda array, *args, **kwargs: (
        getattr(array, name)(*args, **kwargs) if hasattr(array, name) else getattr(np, name)(array, *args, **kwargs)
    )


def computed(name: str, compute: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Checks the operands, counts, computes, and makes arrays of the results."""
    _check_operands(name, args, kwargs)
    operands = [v for v in leaves([*args, *kwargs.values()]) if isinstance(v, ndarray)]
    if kwargs.get('dtype') is not None:
        check_dtype(kwargs['dtype'])
    if name in HOST:
        return compute(*map(_as_dtype if name == 'result_type' else raw, args), **kwargs)
    if name not in VIEWS:
        require_current(operands, f'cupy.{name}')
    if name in WAITING or (name == 'repeat' and len(args) > 1 and isinstance(args[1], ndarray)):
        _meter.synchronise(name)
    if name in ('take', 'choose') and 'mode' not in kwargs:
        kwargs = {**kwargs, 'mode': 'wrap'}
    if name == 'take_along_axis':
        compute = _taken_along_axis
    with np.errstate(all='ignore'):
        result = compute(*lowered(args), **{key: lowered(value) for key, value in kwargs.items()})
    if isinstance(kwargs.get('out'), ndarray):
        _meter.launch(name)
        return kwargs['out']
    if name in VIEWS and operands:
        return _views(name, result, operands)
    _meter.launch(name)
    return lifted(result)


def _taken_along_axis(x: np.ndarray, indices: np.ndarray, axis: int | None = -1) -> np.ndarray:
    """Indices out of bounds wrap around, as everywhere."""
    return np.take_along_axis(x, indices % max(x.size if axis is None else x.shape[axis], 1), axis)


def _check_operands(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    read = HOST_ARGUMENTS.get(name, ())
    for place, value in enumerate([*args, *kwargs.values()]):
        for leaf in leaves([value]):
            if isinstance(leaf, np.ndarray) and place not in read and name not in HOST:
                raise unsupported(leaf, f'cupy.{name}')
    if args and isinstance(args[0], (list, range)) and name not in LISTS | HOST:
        raise unsupported(args[0], f'cupy.{name}')
    if name == 'repeat' and len(args) > 1 and isinstance(args[1], ndarray) and not NEP_50:
        raise ValueError('cupy.ndarray cannot be specified as `repeats` argument.')
    first = next((v for v in leaves(args[:1]) if isinstance(v, ndarray)), None)
    if name in _ZERO_D_REFUSED and first is not None and not first.ndim:
        raise ValueError(f'cupy.{name}: zero-dimensional arrays are not supported')


def _views(name: str, result: Any, operands: list[ndarray]) -> Any:
    """Views of the operand; what NumPy had to copy is an array of its own."""
    if isinstance(result, (list, tuple)):
        found = zip(result, operands if len(operands) == len(result) else operands * len(result), strict=False)
        return type(result)([_views(name, one, [of]) for one, of in found])
    if not result.size or np.shares_memory(result, operands[0]._a):
        return view(result, operands[0])
    require_current(operands, f'cupy.{name}')
    _meter.launch('copy')
    return wrap(result)


def lifted(result: Any) -> Any:
    """NumPy's arrays and numbers as arrays of the device; Python's too, which NumPy returns of comparisons."""
    if isinstance(result, (np.ndarray, np.generic, bool)):
        return wrap(result)
    if isinstance(result, tuple):
        values = [lifted(value) for value in result]
        return type(result)(*values) if hasattr(result, '_fields') else tuple(values)
    return [lifted(value) for value in result] if isinstance(result, list) else result


def lowered(value: Any) -> Any:
    """Device arrays as NumPy's, also in lists and tuples."""
    if isinstance(value, (list, tuple)) and not hasattr(value, '_fields'):
        return type(value)([lowered(v) for v in value])
    return raw(value)


def leaves(values: Any) -> Iterator[Any]:
    """What lists and tuples hold."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from leaves(value)
        else:
            yield value


def _as_dtype(value: Any) -> Any:
    return value.dtype if isinstance(value, ndarray) else value
