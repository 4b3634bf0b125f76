"""The fully connected layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minichainer import configuration
from minichainer._frames import is_called_by_user
from minichainer._tape import native
from minichainer.functions._arguments import Arguments, as_floats, wider
from minichainer.functions._call import own_copy
from minichainer.functions._define import added_together, primitive
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.array.shape import reshape
from minichainer.kernels.affine import add_products, affine, sum_of_rows
from minichainer.recorder import record
from minichainer.utils.type_check import InvalidType
from minichainer.variable import Variable, as_variable

_arguments = Arguments('LinearFunction', 'linear')
_ndarray = numpy.ndarray
_float32, _float64 = numpy.dtype('f'), numpy.dtype('d')


#: From this many weights on, one product of many rows takes less time than many products of few.
_MANY = 1 << 15


# The products and the sum are ops themselves: differentiable any number of times.
_RULES = (
    lambda m, gy, W: m.matrix_product(gy, W, False, False),
    lambda m, gy, x: m.matrix_product(gy, x, True, False),
    lambda m, gy: m.sum(gy, 0),
)
_FAST = (
    lambda xp, gy, W: gy.dot(W),
    lambda xp, gy, x: gy.T.dot(x),
    sum_of_rows,
)


@primitive(rule=_RULES[:2], fast=_FAST[:2], name='LinearFunction', on_numpy=affine, linear_in=('x', 'W'))
def rows_by_matrix(xp: Any, x: Any, W: Any) -> Any:
    return affine(x, W)


@primitive(rule=_RULES, fast=_FAST, name='LinearFunction', on_numpy=affine, linear_in=('x b', 'W b'))
def affine_rows(xp: Any, x: Any, W: Any, b: Any) -> Any:
    return affine(x, W, b)


@added_together(rows_by_matrix, 'W', _MANY)
@added_together(affine_rows, 'W', _MANY)
def _add_products(total: Any, gy: Sequence[Any], x: Sequence[Any]) -> None:
    add_products(total, gy, x)


_without_bias, _with_bias = rows_by_matrix.node_class, affine_rows.node_class
_record = own_copy(record)
if native is not None:
    _compiled_without_bias, _compiled_with_bias = native.linear_op(_without_bias, 2), native.linear_op(_with_bias, 3)


def linear(x: Any, W: Any, b: Any = None, n_batch_axes: int = 1) -> Variable:
    r"""Affine map of each row, :math:`Y = X W^\top + b`.

    Args:
        x: Variable or float array :math:`(s_1, \dots, s_n, \dots)`; the axes after the first ``n_batch_axes`` are
            taken together as one of size :math:`N`.
        W: weights :math:`(M, N)`, of any float dtype.
        b: bias :math:`(M,)` of ``x``'s dtype, or None.
        n_batch_axes: number of batch axes, at least 1.

    Returns:
        Variable :math:`(s_1, \dots, s_n, M)` of ``x``'s dtype.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        ValueError: ``n_batch_axes`` is less than 1, or not less than the number of axes of ``x``.

    >>> import numpy as np, minichainer.functions as F
    >>> F.linear(np.ones((2, 3)), np.ones((4, 3)), np.zeros(4)).shape
    (2, 4)
    """
    if n_batch_axes == 1 and not configuration.nondefault:
        if type(x) is _ndarray:
            x = as_variable(x)
        y = _on_plain_matrices(x, W, b)
        if y is not None:
            return y
    x, W = as_variable(x), as_variable(W)
    if n_batch_axes != 1 or x.ndim != 2:
        return _on_rows(x, W, b, n_batch_axes)
    W.ndim  # noqa: B018  (an uninitialized Parameter raises its own error)
    variables = (x, W) if b is None else (x, W, as_variable(b))
    arrays = [v._data for v in variables]
    _check(arrays)
    if arrays[0].dtype is not arrays[1].dtype and arrays[0].dtype != arrays[1].dtype:
        return _of_two_dtypes(variables)
    return _apply(*variables)


def _apply(*variables: Variable) -> Variable:
    return (rows_by_matrix if len(variables) == 2 else affine_rows)(*variables)


def _of_two_dtypes(variables: tuple[Variable, ...]) -> Variable:
    """Computed in the wider dtype of x and W, and cast to x's dtype."""
    dtype = variables[0].dtype
    _arguments.warn_of_wider(variables[0], variables[1])
    wide = numpy.promote_types(dtype, variables[1].dtype)
    return as_dtype(_apply(*[as_dtype(v, wide) for v in variables]), dtype)


def _on_plain_matrices(x: Any, W: Any, b: Any) -> Variable | None:
    """The result by the recorder's short form, for float matrices of NumPy that fit; None for anything else."""
    if native is not None:
        result: Variable | None = _compiled_without_bias(x, W) if b is None else _compiled_with_bias(x, W, b)
        if result is not None:
            return result
    try:
        array, weights, bias = x._data, W._data, None if b is None else b._data
        # masked arrays have _data, but no node
        source, target, edge = x._node, W._node, None if b is None else b._node
        (_, size), (columns, depth) = array.shape, weights.shape
    except (AttributeError, ValueError):  # not a Variable, uninitialized, or not a matrix
        return None
    dtype = array.dtype
    if type(array) is not _ndarray or type(weights) is not _ndarray or size != depth:
        return None
    if dtype is not weights.dtype or (dtype is not _float32 and dtype is not _float64):
        return None
    source, target = source or x.edge, target or W.edge
    level, lowest = source.level, target.level
    if level < lowest:
        level, lowest = lowest, level
    saved = (array, weights)
    if b is None:
        return _record(_without_bias, (source, target), level, lowest, affine(array, weights), saved, ())
    if type(bias) is not _ndarray or bias.dtype is not dtype or bias.shape != (columns,):
        return None
    edge = edge or b.edge
    edges, level = (source, target, edge), edge.level if edge.level > level else level
    return _record(_with_bias, edges, level, lowest, affine(array, weights, bias), saved, ())


def _on_rows(x: Variable, W: Any, b: Any, n_batch_axes: int) -> Variable:
    """The general form, for any number of batch axes."""
    n_batch_axes = _arguments.integer(n_batch_axes, 'n_batch_axes', least=1)
    if x.ndim <= n_batch_axes:
        text = f'linear: x.ndim > n_batch_axes = {n_batch_axes} expected, got x.shape = {x.shape}'
        raise ValueError(f'{text}; for one example write x[None]' if x.ndim == 1 else text)
    batch, rest = x.shape[:n_batch_axes], x.shape[n_batch_axes:]
    if W.ndim == 2 and _product(rest) != W.shape[1]:
        raise _wrong_size(x.shape, n_batch_axes, W.shape)
    rows = reshape(x, (_product(batch), _product(rest)))
    y = linear(rows, W, b)
    return y if n_batch_axes == 1 else reshape(y, (*batch, y.shape[1]))


def _wrong_size(x: tuple[int, ...], n_batch_axes: int, W: tuple[int, ...]) -> InvalidType:
    """The error for axes that have another size, taken together, than the rows of W."""
    expected = f'x of shape ({"batch, " * n_batch_axes}N) and W of shape (M, N)'
    rows = (*x[:n_batch_axes], _product(x[n_batch_axes:]))
    fitting = [n for n in range(1, len(x)) if _product(x[n:]) == W[1]]
    remedy = _remedy(x, fitting[-1]) if fitting else ''
    return _arguments.misfit(expected, f'{x}, taken as {rows}, and {W}{remedy}')


def _remedy(x: tuple[int, ...], n_batch_axes: int) -> str:
    """What the user writes: the number of axes where his own call takes it, else the axes as one."""
    if is_called_by_user('linear'):
        return f'; pass n_batch_axes={n_batch_axes}'
    return f'; write x.reshape({", ".join(map(str, (-1, *x[n_batch_axes:])))})'


def _product(shape: tuple[int, ...]) -> int:
    return int(numpy.prod(shape, dtype=int))


def _check(arrays: list[Any]) -> None:
    x, W = arrays[0], arrays[1]
    if W.ndim != 2 or x.shape[1] != W.shape[1]:
        raise _arguments.misfit('x of shape (batch, N) and W of shape (M, N)', f'{x.shape} and {W.shape}')
    dtype = x.dtype
    if dtype.kind != 'f' or W.dtype.kind != 'f':
        raise _arguments.misfit('float x and W', f'{dtype} and {W.dtype}{as_floats(x, W)}')
    if len(arrays) == 3:
        b = arrays[2]
        if b is None or b.ndim != 1 or len(b) != len(W) or (b.dtype is not dtype and b.dtype != dtype):
            got = 'an uninitialized bias' if b is None else f'{b.shape} and {b.dtype}'
            if b is not None and b.dtype == W.dtype != dtype:
                got += f'; {wider(x, W)}'
            raise _arguments.misfit(f'b of shape {W.shape[:1]} and dtype {dtype}', got)
