"""Small helpers on arrays and shapes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy

_FLOAT16, _FLOAT32 = numpy.dtype('e'), numpy.dtype('f')


def size_of_shape(shape: Sequence[int]) -> int:
    """Number of elements of an array of that shape.

    Args:
        shape: a tuple of ints.

    >>> from minichainer import utils
    >>> utils.size_of_shape((2, 3))
    6
    """
    return math.prod(shape)


def as_vec(x: Any) -> Any:
    """The array with one axis. Deprecated, as in Chainer: use ``x.ravel()``."""
    _deprecated('as_vec(x)', 'x.ravel()')
    return x.ravel()


def as_mat(x: Any) -> Any:
    """The array with two axes, the first one kept. Deprecated, as in Chainer: use ``x.reshape(len(x), -1)``."""
    _deprecated('as_mat(x)', 'x.reshape(len(x), -1)')
    return x.reshape(len(x), -1)


def empty_like(x: Any) -> Any:
    """A new array of the same shape, dtype and device. Deprecated, as in Chainer: use ``xp.empty_like(x)``."""
    _deprecated('empty_like(x)', 'xp.empty_like(x)')
    return numpy.empty_like(x)  # NumPy leaves arrays of CuPy to CuPy


def _deprecated(what: str, instead: str) -> None:
    warnings.warn(f'utils.array.{what} is deprecated: use {instead}', DeprecationWarning, stacklevel=3)


def force_array(x: Any, dtype: Any = None) -> Any:
    """Converts a scalar, the result of an operation on 0-d arrays, to an array; arrays stay unchanged.

    Args:
        x: a scalar or an array.
        dtype: dtype of the result; that of ``x`` by default.

    >>> import numpy as np
    >>> from minichainer import utils
    >>> utils.force_array(np.float32(2))
    array(2., dtype=float32)
    """
    if numpy.isscalar(x):
        return numpy.array(x, dtype)
    return x if dtype is None else x.astype(dtype, copy=False)


def force_type(dtype: Any, value: Any) -> Any:
    """A scalar or an array converted to a dtype.

    Args:
        dtype: the dtype.
        value: a scalar or an array.

    >>> import numpy as np
    >>> from minichainer import utils
    >>> utils.force_type(np.dtype('f'), 3).dtype
    dtype('float32')
    """
    dtype = numpy.dtype(dtype)
    return dtype.type(value) if numpy.isscalar(value) else value.astype(dtype, copy=False)


def sum_to(x: Any, shape: tuple[int, ...]) -> Any:
    """Sums an array over the axes along which an array of ``shape`` was broadcast to it.

    It is the gradient of broadcasting. float16 is summed in float32.

    Args:
        x: an array.
        shape: the shape of the result.

    Returns:
        An array of that shape; ``x`` itself where it has it.

    Raises:
        TypeError: ``x`` is a Variable; :func:`minichainer.functions.sum_to` takes those.
        ValueError: an array of ``shape`` does not broadcast to the shape of ``x``.

    >>> import numpy as np
    >>> from minichainer import utils
    >>> utils.sum_to(np.ones((2, 3)), (1, 3))
    array([[2., 2., 2.]])
    """
    if hasattr(x, 'array'):
        raise TypeError('utils.sum_to takes arrays: use minichainer.functions.sum_to for Variables')
    if x.shape == shape:
        return x
    lead = x.ndim - len(shape)
    if lead < 0 or any([n != m and n != 1 for n, m in zip(shape, x.shape[lead:], strict=True)]):
        raise ValueError(f'sum_to: an array of shape {tuple(shape)} does not broadcast to {x.shape}')
    axes = (*range(lead), *[i + lead for i, n in enumerate(shape) if n == 1])
    total = x.sum(axes, _FLOAT32 if x.dtype == _FLOAT16 else None, keepdims=True)
    if total.dtype is not x.dtype:
        total = total.astype(x.dtype, copy=False)
    return total.reshape(shape) if lead else total
