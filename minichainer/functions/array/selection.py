"""Indexing and selection."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer import ops
from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.functions._arguments import Arguments
from minichainer.functions._constants import number_like
from minichainer.functions._define import elementwise, linear_map
from minichainer.functions.array._indexing import check_bounds, index_of, is_basic
from minichainer.kernels import scattering
from minichainer.kernels import selection as kernels
from minichainer.variable import Variable, as_array, as_variable

_get_item = Arguments('GetItem', 'get_item')


@linear_map(lambda m, gy, x_shape, slices: m.scatter(gy, slices, x_shape), name='GetItem')
def take(xp: Any, x: Any, slices: Any) -> Any:
    return x[slices]


@linear_map(lambda m, gy, slices: m.take(gy, slices), name='GetItemGrad')
def scatter(xp: Any, x: Any, slices: Any, shape: tuple[int, ...]) -> Any:
    """Adds the elements of ``x`` to zeros at ``slices``; repeated indices accumulate."""
    if all(map(is_basic, slices)):
        result = xp.zeros(shape, x.dtype)
        result[slices] = x
        return result
    return scattering.scattered(xp, x, slices, shape)


@on_device_of_arguments
def get_item(x: Any, slices: Any) -> Variable:
    """Picks elements of an array with everything that NumPy takes as index.

    Args:
        x: Variable or array.
        slices: int, slice, Ellipsis, None, int or bool array or list, or a tuple of these; a list of anything else
            is taken for such a tuple.

    Returns:
        Variable, a view where NumPy makes one. The gradient of a place picked several times is the sum.

    Raises:
        IndexError: more than one Ellipsis, or an index is out of range.

    >>> import numpy as np, minichainer.functions as F
    >>> F.get_item(np.arange(4.), [1, 1, 3])
    variable([1., 1., 3.])
    """
    x = as_variable(x)
    index = index_of(slices, x.xp, 'get_item')
    check_bounds(_get_item, index, x)
    try:
        return take(x, index)
    except IndexError as error:
        raise IndexError(f'get_item: {error}; x has shape {x.shape}') from None


ops.register('get_item', get_item, lambda xp, x, slices: x[index_of(slices, xp, 'get_item')])


@linear_map(lambda m, gy, mask: m.masked(gy, mask), name='Where')
def masked(xp: Any, x: Any, mask: Any) -> Any:
    """``x`` where the mask is true, else 0, even where ``x`` is NaN or infinite."""
    return kernels.masked(xp, x, mask)


def where(condition: Any, x: Any, y: Any) -> Variable:
    r"""Elementwise choice: ``x`` where the condition is true, else ``y``, with broadcasting.

    What is not chosen gets gradient 0 even where it is infinite or NaN.

    Args:
        condition: bool Variable or array.
        x: Variable, array or number.
        y: Variable, array or number of the same dtype.

    Returns:
        Variable.

    Raises:
        InvalidType: dtypes differ, or the shapes cannot be broadcast together.
        OverflowError: a number is out of the range of the array's integer dtype.

    >>> import numpy as np, minichainer.functions as F
    >>> F.where(np.array([True, False]), np.array([1., 2.]), np.array([3., 4.]))
    variable([1., 4.])
    """
    mask = as_array(condition)
    _check_condition(mask)
    if x.__class__ is not Variable or y.__class__ is not Variable:
        x, y = _as_variables(x, y, get_array_module(mask))
    if not mask.shape == x.shape == y.shape:
        _choose.node_class.spec.check_shapes((mask, x._data, y._data), ())
    return _choose(x, y, mask)


def _check_condition(mask: Any) -> None:
    if getattr(mask, 'dtype', None) != numpy.bool_:
        raise Arguments('Where').misfit('condition.dtype == bool', f'{getattr(mask, "dtype", type(mask).__name__)}')


def _as_variables(x: Any, y: Any, xp: Any) -> tuple[Variable, Variable]:
    """Both as Variables on the device of the arrays; a number takes the dtype of the other argument."""
    if numpy.isscalar(x) and numpy.isscalar(y):
        return as_variable(xp.asarray(x)), as_variable(xp.asarray(y))
    if numpy.isscalar(x):
        y = as_variable(y)
        return as_variable(y.xp.asarray(number_like(x, y))), y
    x = as_variable(x)
    return x, as_variable(x.xp.asarray(number_like(y, x)) if numpy.isscalar(y) else y)


@elementwise(
    lambda m, gy, mask: m.masked(gy, mask), lambda m, gy, mask: m.masked(gy, ~mask), name='Where', kinds='fiub'
)
def _choose(xp: Any, x: Any, y: Any, mask: Any) -> Any:
    return kernels.chosen(xp, mask, x, y)


ops.register('where', where, kernels.chosen)
