"""Rows of a matrix by index."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.configuration import config
from minichainer.errors import LabelError
from minichainer.function_node import FunctionNode
from minichainer.functions._arguments import Arguments, described
from minichainer.functions._define import added_together, linear_map
from minichainer.kernels import rows as kernels
from minichainer.kernels import scattering
from minichainer.kernels.selection import masked
from minichainer.variable import Variable, as_variable

_apply = FunctionNode.apply
_arguments = Arguments('EmbedIDFunction', 'embed_id')


@linear_map(
    lambda m, gy, ids, ignored, W_shape: m.sum_of_embedded(gy, ids, ignored, W_shape),
    name=_arguments.label,
    kinds='f',
)
def embedded(xp: Any, W: Any, ids: Any, ignored: Any) -> Any:
    """The rows ``ids`` of W; zeros where the mask ``ignored`` is true, unless it is None."""
    if ignored is None:
        return W.take(ids, axis=0)  # NumPy takes two to three times as long for W[ids]
    rows = W.take(xp.where(ignored, 0, ids), axis=0)
    rows[ignored] = 0
    return rows


@linear_map(lambda m, gy, ids, ignored: m.embedded(gy, ids, ignored), name='EmbedIDGrad', kinds='f')
def sum_of_embedded(xp: Any, rows: Any, ids: Any, ignored: Any, shape: tuple[int, ...]) -> Any:
    """A matrix of this shape, whose row i is the sum of all rows with index i."""
    if ignored is not None:
        ids, rows = xp.where(ignored, xp.zeros((), ids.dtype), ids), masked(xp, rows, ~ignored[..., None])
    return scattering.sums_of_rows(xp, rows.reshape(ids.size, shape[1]), ids.reshape(-1), shape[0])


@added_together(embedded, 'W')
def _add_rows(total: Any, gy: Sequence[Any], ids: Sequence[Any], ignored: Sequence[Any]) -> None:
    kept = [slice(None) if mask is None else ~mask.reshape(-1) for mask in ignored]
    rows = [g.reshape(math.prod(g.shape[:-1]), total.shape[1])[keep] for g, keep in zip(gy, kept, strict=True)]
    numbers = [x.reshape(-1)[keep] for x, keep in zip(ids, kept, strict=True)]
    scattering.add_rows(total, numpy.concatenate(rows), numpy.concatenate(numbers))


@on_device_of_arguments
def embed_id(x: Any, W: Any, ignore_label: int | None = None) -> Variable:
    """Embeddings of indices: the rows of a matrix.

    Args:
        x: numbers of rows, int Variable or array ``(B, ...)``.
        W: embeddings, Variable or float array ``(V, D)``.
        ignore_label: a number whose embedding is zero, without gradient.

    Returns:
        Variable ``(B, ..., D)``.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        IndexError: a number is out of range (on a GPU, in debug mode only).
        ValueError: in debug mode, a number that is not ignored is not in ``[0, V)``.

    >>> import numpy as np, minichainer.functions as F
    >>> F.embed_id(np.array([1, -1]), np.array([[1., 2.], [3., 4.]]), ignore_label=-1)
    variable([[3., 4.],
              [0., 0.]])
    """
    ids, W = _arguments.array(x, 'x'), as_variable(W)
    if W.ndim != 2 or W.dtype.kind != 'f' or ids.ndim < 1 or ids.dtype.kind != 'i':
        remedy = '; write x.astype(np.int32)' if ids.dtype.kind in 'ufb' else ''
        raise _arguments.misfit('int x of shape (B, ...) and float W of shape (V, D)', described(ids, W) + remedy)
    if ignore_label is not None:
        _arguments.number(ignore_label, 'ignore_label')
    ignored = None if ignore_label is None else ids == ignore_label
    _check_range(ids if ignored is None else get_array_module(ids).where(ignored, 0, ids), len(W))
    if FunctionNode.apply is not _apply:
        x = x if isinstance(x, Variable) else Variable(ids, requires_grad=False)
        return _applied_for_hook(x, W, ids, ignored, ignore_label)
    y: Variable = embedded(W, ids, ignored)
    node: Any = y._node
    if node is not None and node.level:  # for those who look at the graph
        if ignore_label is not None:
            node.ignore_label = ignore_label
        if isinstance(x, Variable) and not x.edge.level:
            node.index_edge = x.edge
    return y


def _applied_for_hook(x: Variable, W: Variable, ids: Any, ignored: Any, ignore_label: int | None) -> Variable:
    """The same where a program has replaced ``FunctionNode.apply``, to read the inputs of nodes behind each call."""
    node: Any = embedded.node_class(ids, ignored)
    node.index_edge, node.ignore_label = x.edge, ignore_label
    y: Variable = node.apply((W,))[0]
    return y


def _check_range(ids: Any, size: int) -> None:
    if config.debug:
        _arguments.in_range('each x that is not ignored', ids, 0, size, ', the rows of W', LabelError)
        return
    low, high = kernels.range_of(get_array_module(ids), ids)
    if low < -size or high >= size:
        raise _arguments.out_of_range('x', ids, -size, size, ', the rows of W')
