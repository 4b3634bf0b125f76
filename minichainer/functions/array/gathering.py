"""Selecting elements by index arrays, and adding at such indices."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.backend import on_device_of_arguments
from minichainer.configuration import config
from minichainer.errors import LabelError
from minichainer.functions._arguments import Arguments, are_readable
from minichainer.functions._define import linear_map, primitive
from minichainer.functions.array._indexing import axes_taken, check_bounds, index_of
from minichainer.functions.array.conversion import as_dtype
from minichainer.kernels import gathering as kernels
from minichainer.kernels import scattering
from minichainer.variable import Variable, as_array, as_variable

_as_strided, _diagonal = Arguments('AsStrided', 'as_strided'), Arguments('Diagonal', 'diagonal')
_permutate, _select_item = Arguments('Permutate', 'permutate'), Arguments('SelectItem', 'select_item')
_scatter_add = Arguments('ScatterAdd', 'scatter_add')

Shape = tuple[int, ...]


@linear_map(lambda m, gy, x_shape, index: m.scatter_flat(gy, index, x_shape))
def gather_flat(xp: Any, x: Any, index: Any) -> Any:
    """Elements by flat index in C order; the result has the shape of ``index``."""
    return x.reshape(-1)[xp.asarray(index)]


@linear_map(lambda m, gy, index: m.gather_flat(gy, index))
def scatter_flat(xp: Any, y: Any, index: Any, shape: tuple[int, ...]) -> Any:
    """Adds elements at flat indices to zeros of the given shape."""
    return kernels.sums_at(xp, y, index, shape)


@linear_map(
    lambda m, gy, x_shape, strides, offset: m.strided_sum(gy, strides, offset, x_shape), name='AsStrided',
    on_numpy=kernels.strided,
)  # fmt: skip
def strided(xp: Any, x: Any, shape: Shape, strides: Shape, offset: int) -> Any:
    """A view, which must not be written to: elements may overlap."""
    return kernels.strided(xp, x, shape, strides, offset)


@linear_map(lambda m, gy, y_shape, strides, offset: m.strided(gy, y_shape, strides, offset))
def strided_sum(xp: Any, y: Any, strides: Shape, offset: int, shape: Shape) -> Any:
    """The adjoint of :func:`strided`."""
    return kernels.strided_sum(xp, y, strides, offset, shape)


def as_strided(x: Any, shape: Any, strides: Any, storage_offset: Any = None) -> Variable:
    r"""Picks elements at regular steps: :math:`y_{i, j, \dots} = x_{o + i s_0 + j s_1 + \dots}`.

    The elements of ``x`` are numbered in C order, whatever its layout in memory is.

    Args:
        x: Variable or array.
        shape: shape of the result, a tuple of ints.
        strides: steps :math:`s` in elements, one per axis of the result; they may be 0 or negative.
        storage_offset: number :math:`o` of the first element; 0 by default.

    Returns:
        Variable; its array is a read-only view if ``x`` is in C order. The gradient of an element picked
        several times is the sum.

    Raises:
        ValueError: there are not as many strides as axes, or they lead out of the array.

    >>> import numpy as np, minichainer.functions as F
    >>> F.as_strided(np.arange(4.), (3, 2), (1, 1))
    variable([[0., 1.],
              [1., 2.],
              [2., 3.]])
    """
    if x.__class__ is not Variable:
        x = as_variable(x)
    offset = 0 if storage_offset is None else storage_offset
    if not _lead_inside(shape, strides, offset, x.size):
        shape, strides, offset = _checked_steps(shape, strides, offset, x.size)
    return strided(x, shape, strides, offset)


def _lead_inside(shape: Any, strides: Any, offset: Any, size: int) -> bool:
    """Whether these are tuples of ints, none negative, that lead to elements below ``size``; else more is checked.

    The result is a view, so that checks take most of the time: this loop takes a quarter of what the others do.
    """
    if type(shape) is not tuple or type(strides) is not tuple or type(offset) is not int:
        return False
    if len(shape) != len(strides) or offset < 0:
        return False
    last, axis = offset, 0
    for length in shape:
        stride = strides[axis]
        if type(length) is not int or type(stride) is not int or length < 1 or stride < 0:
            return False
        last += (length - 1) * stride
        axis += 1  # noqa: SIM113  (enumerate and zip take longer)
    return last < size


def _checked_steps(shape: Any, strides: Any, offset: Any, size: int) -> tuple[Shape, Shape, int]:
    """Shape, strides and offset as ints, the offset 0 where there is no element."""
    shape, strides = _as_strided.shape(shape), _as_strided.shape(strides, 'strides')
    if len(shape) != len(strides):
        raise ValueError(f'as_strided: as many strides as axes expected, got shape {shape} and strides {strides}')
    if shape and min(shape) < 0:
        raise ValueError(f'as_strided: a shape without negative numbers expected, got {shape}')
    low = high = offset = _as_strided.integer(offset, 'storage_offset')
    for length, stride in zip(shape, strides, strict=True):
        if stride < 0:
            low += (length - 1) * stride
        else:
            high += (length - 1) * stride
    if 0 not in shape and not (low >= 0 and high < size):
        raise ValueError(
            f'as_strided: elements 0 to {size - 1} exist, but shape {shape}, strides {strides} and offset '
            f'{offset} lead from {low} to {high}'
        )
    return shape, strides, offset if 0 not in shape else 0


@linear_map(
    lambda m, gy, x_shape, offset, axis1, axis2: m.diagonal_placed(gy, x_shape, offset, axis1, axis2), name='Diagonal'
)
def diagonal_of(xp: Any, x: Any, offset: int, axis1: int, axis2: int) -> Any:
    return x.diagonal(offset, axis1, axis2)


@linear_map(lambda m, gy, offset, axis1, axis2: m.diagonal_of(gy, offset, axis1, axis2))
def diagonal_placed(xp: Any, y: Any, shape: tuple[int, ...], offset: int, axis1: int, axis2: int) -> Any:
    """Puts the last axis of ``y`` on a diagonal of zeros."""
    result = xp.zeros(shape, y.dtype)
    places = xp.arange(y.shape[-1])
    matrices = xp.moveaxis(result, (axis1, axis2), (-2, -1))
    matrices[..., places + max(-offset, 0), places + max(offset, 0)] = y
    return result


def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Variable:
    """Takes diagonals of matrices.

    Args:
        x: Variable or array with at least two axes.
        offset: which diagonal; positive ones are above the main diagonal.
        axis1: the axis of rows.
        axis2: the axis of columns.

    Returns:
        Variable, whose last axis goes along the diagonal; its array is a read-only view.

    Raises:
        InvalidType: ``x`` has fewer axes, or an axis is out of range.
        ValueError: the two axes are the same.

    >>> import numpy as np, minichainer.functions as F
    >>> F.diagonal(np.array([[1., 2.], [3., 4.]]))
    variable([1., 4.])
    """
    x = as_variable(x)
    if x.ndim < 2:
        raise _diagonal.misfit('x.ndim >= 2', f'x.ndim = {x.ndim}')
    offset = _diagonal.integer(offset, 'offset')
    rows = _diagonal.axis(axis1, x.shape, 'axis1')
    columns = _diagonal.axis(axis2, x.shape, 'axis2')
    if rows == columns:
        raise ValueError(f'diagonal: two axes expected, got axis1 = {axis1} and axis2 = {axis2}')
    return diagonal_of(x, offset, rows, columns)


@linear_map(lambda m, gy, x_shape, slices: m.scatter(gy, slices, x_shape), name='Permutate')
def permutated(xp: Any, x: Any, slices: Any) -> Any:
    return x[slices]


@linear_map(lambda m, gy, order, inverse, axis: m.reordered(gy, inverse, order, axis), name='Permutate')
def reordered(xp: Any, x: Any, order: Any, inverse: Any, axis: int) -> Any:
    """Elements along an axis in the order of a permutation, of which the inverse is known: gradients are gathered."""
    return xp.take(x, order, axis)


@on_device_of_arguments
def permutate(x: Any, indices: Any, axis: int = 0, inv: bool = False) -> Variable:
    """Puts elements along an axis into another order.

    Args:
        x: Variable or array.
        indices: int Variable or array with one axis: element i of the result is element ``indices[i]`` of ``x``.
        axis: the axis.
        inv: apply the inverse permutation: element i of ``x`` becomes element ``indices[i]``.

    Returns:
        Variable.

    Raises:
        ValueError: ``indices`` is not an int array with one axis; with ``inv``, or in debug mode, also where it
            is not a permutation.
        IndexError: an index is out of range.
        InvalidType: ``axis`` is out of range.

    >>> import numpy as np, minichainer.functions as F
    >>> F.permutate(np.array([1., 2., 3.]), np.array([2, 0, 1]))
    variable([3., 1., 2.])
    """
    x, order = as_variable(x), as_array(indices)
    axis = _permutate.axis(axis, x.shape)
    if getattr(order, 'dtype', numpy.dtype('O')).kind != 'i' or order.ndim != 1:
        got = f'{order.dtype} {order.shape}' if hasattr(order, 'dtype') else type(order).__name__
        raise ValueError(f'permutate: indices should be a one-dimensional int array, got {got}')
    if (inv or config.debug) and are_readable(order) and sorted(order.tolist()) != list(range(x.shape[axis])):
        raise ValueError(f'permutate: a permutation of 0 to {x.shape[axis] - 1} expected, got {order.tolist()}')
    size = x.shape[axis]
    _permutate.in_range('indices', order, -size, size, f' for x of shape {x.shape}')
    return permutated(x, (*(slice(None),) * axis, x.xp.asarray(order.argsort() if inv else order)))


@linear_map(lambda m, gy, x_shape, index: m.placed(gy, index, x_shape), name='SelectItem')
def selected(xp: Any, x: Any, index: Any) -> Any:
    return x.reshape(-1)[index]


@linear_map(lambda m, gy, index: m.selected(gy, index))
def placed(xp: Any, y: Any, index: Any, shape: tuple[int, ...]) -> Any:
    """Zeros with elements at distinct indices."""
    result = xp.zeros(shape, y.dtype)
    result.reshape(-1)[index] = y
    return result


@on_device_of_arguments
def select_item(x: Any, t: Any) -> Variable:
    """Picks one element of each row.

    Args:
        x: Variable or array (B, C).
        t: int Variable or array (B,): which element of each row; negative ones count from the end.

    Returns:
        Variable (B,).

    Raises:
        InvalidType: shapes do not fit, or ``t`` is not an int array.
        IndexError: an element of ``t`` is out of range.
        ValueError: in debug mode, an element of ``t`` is out of range or negative.

    >>> import numpy as np, minichainer.functions as F
    >>> F.select_item(np.array([[1., 2.], [3., 4.]]), np.array([1, 0]))
    variable([2., 3.])
    """
    x, t = as_variable(x), _select_item.array(t, 't')
    if t.dtype.kind not in 'iu':
        raise _select_item.misfit('t.dtype of kind int', f'{t.dtype}')
    if x.ndim != 2 or t.shape != x.shape[:1]:
        raise _select_item.misfit('x of shape (B, C) and t of shape (B,)', f'{x.shape} and {t.shape}')
    rows, columns = x.shape
    debug = config.debug
    low = 0 if debug else -columns
    _select_item.in_range('t', t, low, columns, error=LabelError if debug else IndexError)
    step = max(columns, 1)
    return selected(x, t.astype('int64') % step + x.xp.arange(0, rows * step, step))


@primitive(
    rule=(lambda m, gy: gy, lambda m, gy, slices: m.take(gy, slices)),
    name='ScatterAdd',
    kinds='fiubc',
    linear_in=('a b',),
    on_numpy=scattering.added_at,
)
def added_at(xp: Any, a: Any, b: Any, slices: Any) -> Any:
    return scattering.added_at(xp, a, b, slices)


@on_device_of_arguments
def scatter_add(a: Any, slices: Any, b: Any) -> Variable:
    """Adds an array to picked elements of another one; what meets at one place adds up.

    Args:
        a: Variable or array.
        slices: what :func:`get_item` takes.
        b: Variable or array of the shape of ``a[slices]``; it is cast to the dtype of ``a``.

    Returns:
        Variable, a sum of the shape of ``a``.

    Raises:
        ValueError: ``b`` is not of the shape of ``a[slices]``.
        InvalidType: there are more indices than axes.
        IndexError: an index is out of range, or there is more than one Ellipsis.
        TypeError: an index is a Variable.

    >>> import numpy as np, minichainer.functions as F
    >>> F.scatter_add(np.zeros(3), [0, 0, 2], np.array([1., 2., 4.]))
    variable([3., 0., 4.])
    """
    a, b = as_variable(a), as_variable(b)
    index = index_of(slices, a.xp, 'scatter_add')
    used = sum([axes_taken(s) for s in index])
    if used > a.ndim:
        raise _scatter_add.misfit(f'at most {a.ndim} indices', f'{used}')
    check_bounds(_scatter_add, index, a)
    try:
        shape = a._data[index].shape
    except IndexError as error:
        raise IndexError(f'scatter_add: {error}; a has shape {a.shape}') from None
    if b.shape != shape:
        raise ValueError(f'scatter_add: b of the shape {shape} of a[slices] expected, got {b.shape}')
    return added_at(a, as_dtype(b, a.dtype), index)
