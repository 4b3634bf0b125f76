"""Identity, casting and copying to devices."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer import backend, ops
from minichainer.backends import cuda
from minichainer.configuration import config
from minichainer.functions._define import elementwise, linear_map
from minichainer.variable import Variable, as_variable

_ANY = 'fiubc'


@linear_map(lambda m, gy, x_dtype: m.cast(gy, x_dtype), name='Cast')
def cast_to(xp: Any, x: Any, typ: Any) -> Any:
    return x.astype(typ, copy=False)


def cast(x: Any, typ: Any) -> Variable:
    """Converts an array to another dtype; its gradient is converted back.

    Args:
        x: Variable or array.
        typ: the dtype.

    Returns:
        Variable. Where the dtype is already right it shares the array of ``x``; while no graph is recorded
        (``no_backprop_mode``) it is ``x`` itself.

    >>> import numpy as np, minichainer.functions as F
    >>> F.cast(np.arange(2), np.float32).dtype
    dtype('float32')
    """
    x = as_variable(x)
    try:
        dtype = numpy.dtype(typ)
    except TypeError:
        raise TypeError(f'cast: data type {typ!r} not understood') from None
    if dtype.kind not in 'fiubc':
        raise TypeError(f'cast: a dtype of numbers expected, got {typ!r}')
    if not dtype.isnative:
        dtype = dtype.newbyteorder('=')
    return x if x.dtype == dtype and not config.enable_backprop else cast_to(x, dtype)


def as_dtype(x: Any, dtype: Any) -> Variable:
    """Converts an array, for functions of this package: ``x`` itself, without a node, if its dtype matches."""
    x = as_variable(x)
    return x if x.dtype == dtype else cast_to(x, numpy.dtype(dtype))


ops.register('cast', as_dtype, lambda xp, x, dtype: x.astype(dtype, copy=False))


@elementwise(lambda m, gy: gy, name='Identity', kinds=_ANY)
def same(xp: Any, x: Any) -> Any:
    return x


def identity(*inputs: Any) -> Any:
    """Returns its arguments, as new Variables.

    Args:
        inputs: Variables or arrays.

    Returns:
        Variable, or a tuple of them for several arguments.

    >>> import numpy as np, minichainer.functions as F
    >>> F.identity(np.ones(2))
    variable([1., 1.])
    """
    outputs = tuple([same(x) for x in inputs])
    return outputs[0] if len(outputs) == 1 else outputs


@linear_map(lambda m, gy, dst, home: m.copied(gy, home, dst), name='Copy', kinds=_ANY)
def copied(xp: Any, x: Any, dst: Any, home: Any) -> Any:
    """A copy on the device ``dst`` of an array on the device ``home``."""
    return x.copy() if dst.is_array_supported(x) else dst.send(x)


def copy(x: Any, dst: Any) -> Variable:
    """Copies an array to a device; its gradient is copied back.

    Args:
        x: Variable or array.
        dst: a device, or what :func:`~minichainer.get_device` takes; -1 or ``cuda.DummyDevice`` is the CPU, 0 the
            first GPU.

    Returns:
        Variable on that device.

    >>> import numpy as np, minichainer.functions as F
    >>> F.copy(np.ones(2), -1)
    variable([1., 1.])
    """
    if dst is cuda.DummyDevice:
        dst = -1
    if isinstance(dst, int):
        dst = '@numpy' if dst < 0 else f'@cupy:{dst}'
    return copied(x, backend.get_device(dst), backend.get_device_from_array(x))
