"""Products of sparse and dense matrices; float16 is accumulated in float32.

A sparse matrix, or each of a batch, is given by its entries: ``S[row[e], col[e]] = data[e]``. Entries with a negative
row or column are ignored.
"""

from __future__ import annotations

from typing import Any

from minichainer.kernels._dispatch import kernel


@kernel(widens=True)
def sparse_product(xp: Any, data: Any, dense: Any, row: Any, col: Any, rows: int) -> Any:
    """``S @ dense`` for one matrix or a batch; ``rows`` is the number of rows of S."""
    batch, (inner, columns) = dense.shape[:-2], dense.shape[-2:]
    count = len(dense) if batch else 1
    there = (row >= 0) & (col >= 0)
    numbers = xp.arange(count).reshape(count, 1) if batch else xp.arange(1)
    i, j = numbers * rows + row, numbers * inner + col
    y = _product(xp, data, i, j, there, dense.reshape(count * inner, columns), count * rows)
    return y.reshape(*batch, rows, columns)


@kernel
def _product(xp: Any, data: Any, i: Any, j: Any, there: Any, dense: Any, rows: int) -> Any:
    y, nowhere = xp.zeros((rows, dense.shape[1]), dense.dtype), xp.zeros((), i.dtype)
    i, j = (xp.where(there, numbers, nowhere) for numbers in (i, j))
    xp.add.at(y, i, xp.where(there[..., None], data[..., None] * dense[j], xp.zeros((), dense.dtype)))
    return y


@_product.on('numpy')
def _product_numpy(xp: Any, data: Any, i: Any, j: Any, there: Any, dense: Any, rows: int) -> Any:
    from scipy.sparse import coo_matrix

    return coo_matrix((data[there], (i[there], j[there])), (rows, len(dense))).tocsr() @ dense


@kernel(widens=True)
def products_at(xp: Any, left: Any, right: Any, row: Any, col: Any) -> Any:
    """``(left @ right.T)[row[e], col[e]]`` for each entry e, 0 for ignored entries."""
    there = (row >= 0) & (col >= 0)
    lead = (xp.arange(len(left))[:, None],) if left.ndim == 3 else ()
    at_row, at_column = (*lead, xp.where(there, row, 0)), (*lead, xp.where(there, col, 0))
    found = (left[at_row] * right[at_column]).sum(axis=-1)
    return xp.where(there, found, xp.zeros((), found.dtype))
