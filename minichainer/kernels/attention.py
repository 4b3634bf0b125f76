"""Scaled dot-product attention and its gradients.

The weights are not saved. They are computed block by block, so that a block stays in the cache, and again in the
gradient, from two numbers per row. So memory grows with the length, not with its square.

Internally all arrays have four axes: (batch, heads, length, features), or (batch, heads, queries, keys) for weights.
The plain form is ``_reference`` in ``functions.attention.scaled_dot_product``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy

from minichainer.kernels._dispatch import kernel
from minichainer.utils.array import sum_to

_BLOCK_BYTES = 1 << 18
_BLOCK_BYTES_ON_GPU = 1 << 28
#: Scores up to this are not shifted by the maximum: their exponentials lie between 1e-7 and 1e7.
_SMALL = 16.0
#: From this many queries on, copying the transposed keys pays.
_COPY_FROM = 16


class Saved(NamedTuple):
    """What the gradient needs for each row: the number subtracted from its scores, and the sum of exponentials."""

    top: Any
    total: Any


class _Weighting(NamedTuple):
    """How scores become weights: the scale, whether attention is causal, and two arrays.

    ``mask`` and ``drop`` are as in :func:`attend`, with four axes.
    """

    scale: float
    causal: bool
    mask: Any
    drop: Any


@kernel(widens=True)
def attend(xp: Any, q: Any, k: Any, v: Any, mask: Any, drop: Any, scale: float, causal: bool) -> tuple[Any, Saved]:
    """Means of the values, weighted by the softmax of the scores; zeros for a query that attends to no key.

    Args:
        xp: numpy or cupy.
        q: queries (..., L, E).
        k: keys (..., S, E), with the same leading axes.
        v: values (..., S, F), with the same leading axes.
        mask: None, a bool array (True: attend), or an array added to the scores; broadcasts to (..., L, S).
        drop: None, or an array (..., L, S) by which the weights are multiplied.
        scale: factor of the scores.
        causal: query i attends only to keys up to i.

    Returns:
        Array (..., L, F) in the layout of ``q``, and what :func:`attend_gradients` needs.
    """
    weighting = _weighting(xp, q, mask, drop, scale, causal)
    y, saved = _attend(xp, _with_four_axes(q), _with_four_axes(k), _with_four_axes(v), weighting)
    return _with_lead_of(y, q), saved


@kernel(widens=True)
def attend_gradients(
    xp: Any,
    gy: Any,
    q: Any,
    k: Any,
    v: Any,
    mask: Any,
    drop: Any,
    scale: float,
    causal: bool,
    saved: Saved,
    of_mask: bool,
) -> tuple[Any, ...]:
    """Gradients of :func:`attend` with respect to queries, keys and values, and to an additive mask if wanted.

    Args:
        xp: numpy or cupy.
        gy: upstream gradient (..., L, F).
        q: as in :func:`attend`.
        k: as in :func:`attend`.
        v: as in :func:`attend`.
        mask: as in :func:`attend`.
        drop: as in :func:`attend`.
        scale: as in :func:`attend`.
        causal: as in :func:`attend`.
        saved: returned by :func:`attend`.
        of_mask: whether the gradient of the mask is wanted.
    """
    weighting = _weighting(xp, q, mask, drop, scale, causal)
    gy4, q4, k4, v4 = map(_with_four_axes, (gy, q, k, v))
    *found, of_scores = _attend_gradients(xp, gy4, q4, k4, v4, weighting, saved, of_mask)
    gradients = tuple([_with_lead_of(gx, x) for gx, x in zip(found, (q, k, v), strict=True)])
    if not of_mask:
        return gradients
    return (*gradients, sum_to(of_scores.reshape(*q.shape[:-1], k.shape[-2]), mask.shape))


def _weighting(xp: Any, q: Any, mask: Any, drop: Any, scale: float, causal: bool) -> _Weighting:
    if mask is not None:
        mask = _with_four_axes(_aligned(xp, mask, q.shape[:-2]))
    return _Weighting(scale, causal, mask, None if drop is None else _with_four_axes(drop))


def _aligned(xp: Any, mask: Any, lead: tuple[int, ...]) -> Any:
    """A mask with as many axes as the weights; its leading axes are expanded where they will be merged."""
    mask = mask.reshape((1,) * (len(lead) + 2 - mask.ndim) + mask.shape)
    return mask if len(lead) <= 2 else xp.broadcast_to(mask, (*lead, *mask.shape[-2:]))


def _with_four_axes(x: Any) -> Any:
    """Merges or adds leading axes to make two; a view except for unusual layouts with more than two."""
    if x.ndim == 4:
        return x
    if x.ndim < 4:
        return x[(None,) * (4 - x.ndim)]
    return x.reshape(math.prod(x.shape[:-3]), *x.shape[-3:])


def _with_lead_of(y: Any, x: Any) -> Any:
    """The inverse of :func:`_with_four_axes` for an array with the leading axes of ``x``."""
    return y if x.ndim == 4 else y.reshape(*x.shape[:-2], *y.shape[-2:])


def _attend(xp: Any, q: Any, k: Any, v: Any, weighting: _Weighting) -> tuple[Any, Saved]:
    y = xp.empty_like(q, shape=(*q.shape[:3], v.shape[3]))
    top, total = xp.empty((*q.shape[:3], 1), q.dtype), xp.empty((*q.shape[:3], 1), q.dtype)
    if not k.shape[2]:
        y[...] = 0
    ones = xp.ones((k.shape[2], 1), q.dtype)
    for keys, rows, both in _blocks(xp, q, k, weighting.causal):
        scores = _by_transposed(xp, q[rows] * q.dtype.type(weighting.scale), k[keys])
        small = not _adds(weighting.mask) and _are_small(xp, scores)
        _mask(xp, scores, weighting, both)
        top[rows] = 0 if small else _subtract_largest(xp, scores)
        xp.exp(scores, out=scores)
        sums = xp.matmul(scores, ones[keys[2]])
        sums += sums == 0  # where every key is masked
        total[rows] = sums
        if weighting.drop is not None:
            scores *= weighting.drop[both]
        y[rows] = xp.matmul(scores, v[keys]) / sums
    return y, Saved(top, total)


def _attend_gradients(
    xp: Any, gy: Any, q: Any, k: Any, v: Any, weighting: _Weighting, saved: Saved, of_scores: bool
) -> tuple[Any, Any, Any, Any]:
    """Gradients of queries, keys, values, and scores (B, H, L, S) (None if not wanted)."""
    gq, gk, gv = xp.empty_like(q), xp.zeros_like(k), xp.zeros_like(v)
    gscores = xp.zeros((*q.shape[:3], k.shape[2]), q.dtype) if of_scores else None
    scale = q.dtype.type(weighting.scale)
    ones = xp.ones((k.shape[2], 1), q.dtype)
    if not k.shape[2]:
        gq[...] = 0
    for keys, rows, both in _blocks(xp, q, k, weighting.causal):
        scaled = q[rows] * scale
        e = _by_transposed(xp, scaled, k[keys])
        _mask(xp, e, weighting, both)
        _subtract(xp, e, saved.top[rows])
        xp.exp(e, out=e)  # not normalized: the gradient is divided by the sum instead
        g = gy[rows] / saved.total[rows]
        ge = _by_transposed(xp, g, v[keys])
        if weighting.drop is None:
            gv[keys] += xp.matmul(e.swapaxes(-1, -2), g)
        else:
            drop = weighting.drop[both]
            gv[keys] += xp.matmul((e * drop).swapaxes(-1, -2), g)
            ge *= drop
        ge -= xp.matmul(e * ge, ones[keys[2]]) / saved.total[rows]
        ge *= e
        gq[rows] = xp.matmul(ge, k[keys]) * scale
        gk[keys] += xp.matmul(ge.swapaxes(-1, -2), scaled)
        if gscores is not None:
            gscores[both] = ge
    return gq, gk, gv, gscores


_Place = tuple[slice, ...]


def _blocks(xp: Any, q: Any, k: Any, causal: bool) -> Iterator[tuple[_Place, _Place, _Place]]:
    """Slices of keys, queries and weights that fill about one block; causal attention skips later keys."""
    batch, heads, length = q.shape[:3]
    lines = max(1, _block_bytes(xp) // max(1, k.shape[2] * q.dtype.itemsize))
    step_h = max(1, lines // max(1, length))
    step_b = max(1, step_h // max(1, heads))
    if not k.shape[2]:
        return
    for b in _ranges(batch, step_b):
        for h in _ranges(heads, step_h):
            for rows in _ranges(length, lines):
                keys = slice(0, min(k.shape[2], rows.stop) if causal else k.shape[2])
                yield (b, h, keys), (b, h, rows), (b, h, rows, keys)


@kernel
def _block_bytes(xp: Any) -> int:
    return _BLOCK_BYTES_ON_GPU


@_block_bytes.on('numpy')
def _block_bytes_numpy(xp: Any) -> int:
    return _BLOCK_BYTES


def _ranges(size: int, step: int) -> list[slice]:
    return [slice(i, min(i + step, size)) for i in range(0, size, step)]


@kernel
def _by_transposed(xp: Any, a: Any, b: Any) -> Any:
    """``a`` times ``b`` transposed."""
    return xp.matmul(a, b.swapaxes(-1, -2))


@_by_transposed.on('numpy')
def _by_transposed_numpy(xp: Any, a: Any, b: Any) -> Any:
    """Copying the transposed matrix speeds up small products in BLAS by more than it costs."""
    b = b.swapaxes(-1, -2)
    return numpy.matmul(a, numpy.ascontiguousarray(b) if a.shape[-2] >= _COPY_FROM else b)


def _adds(mask: Any) -> bool:
    return mask is not None and mask.dtype.kind != 'b'


@kernel
def _are_small(xp: Any, scores: Any) -> bool:
    """Whether exponentials of the scores cannot overflow. False on a GPU, to avoid a synchronization."""
    return False


@_are_small.on('numpy')
def _are_small_numpy(xp: Any, scores: Any) -> bool:
    """The extrema of the whole array take less time than the maximum of each row."""
    return bool(scores.size) and scores.min() >= -_SMALL and scores.max() <= _SMALL


@kernel
def _subtract(xp: Any, scores: Any, top: Any) -> None:
    """Subtracts a number from each row, in place."""
    scores -= top


@_subtract.on('numpy')
def _subtract_numpy(xp: Any, scores: Any, top: Any) -> None:
    """Skips the subtraction if all numbers are 0, which is the usual case."""
    if top.any():
        scores -= top


def _subtract_largest(xp: Any, scores: Any) -> Any:
    """Subtracts the largest score of each row in place, and returns it; finite where every key is masked."""
    largest = scores.max(axis=-1, keepdims=True)
    largest = xp.maximum(largest, xp.asarray(numpy.finfo(scores.dtype).min, scores.dtype))
    scores -= largest
    return largest


def _mask(xp: Any, scores: Any, weighting: _Weighting, place: _Place) -> None:
    """Adds minus infinity where a query does not attend, or the additive mask, to the scores in place."""
    mask, dtype = weighting.mask, scores.dtype
    minus_infinity = dtype.type(-numpy.inf)
    if weighting.causal:
        queries = xp.arange(place[2].start, place[2].stop)
        later = queries[:, None] < xp.arange(scores.shape[-1])
        scores += xp.where(later, minus_infinity, dtype.type(0))
    if mask is not None:
        part = mask[tuple([slice(None) if n == 1 else s for n, s in zip(mask.shape, place, strict=True)])]
        scores += xp.where(part, dtype.type(0), minus_infinity) if part.dtype.kind == 'b' else part
