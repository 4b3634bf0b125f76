"""Attention of queries to keys and values, and its gradients: arrays in, arrays out.

Weights are never kept: they are computed a block at a time, which stays in the cache, and again in the gradient,
from two numbers of each row. So memory grows with the length, not with its square.

All arrays have four axes: (batch, heads, length, features), or (batch, heads, queries, keys) for the weights.
Sums of float16 are computed in float32 (the callers pass it). ``_reference`` is in
``functions.attention.scaled_dot_product``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy

_BLOCK_BYTES = 1 << 18
_BLOCK_BYTES_ON_GPU = 1 << 28
#: Exponentials of scores up to this are not made relative to the largest: they lie between 1e-7 and 1e7.
_SMALL = 16.0
#: Number of queries from which on a copy of the transposed keys pays.
_COPY_FROM = 16


class Weighting(NamedTuple):
    """How scores become weights.

    Args:
        scale: factor of the products of queries and keys.
        causal: query i takes part in keys up to i only.
        mask: None, or a bool array (True: takes part) or one added to the scores; its axes are those of the weights
            or of size 1.
        drop: None, or factors of the weights, an array of their shape.
    """

    scale: float
    causal: bool
    mask: Any
    drop: Any


class Saved(NamedTuple):
    """What the gradient needs of each row: what was subtracted from its scores, and the sum of their exponentials."""

    top: Any
    total: Any


def attend(xp: Any, q: Any, k: Any, v: Any, weighting: Weighting) -> tuple[Any, Saved]:
    """Means of the values, weighted by the softmax of the scores; zeros for a query that takes part in no key.

    Args:
        xp: numpy or cupy.
        q: queries (B, H, L, E).
        k: keys (B, H, S, E).
        v: values (B, H, S, F).
        weighting: how scores become weights.

    Returns:
        Array (B, H, L, F), laid out like ``q``, and what :func:`attend_gradients` needs.
    """
    y = xp.empty_like(q, shape=(*q.shape[:3], v.shape[3]))
    top, total = xp.empty((*q.shape[:3], 1), q.dtype), xp.empty((*q.shape[:3], 1), q.dtype)
    if not k.shape[2]:
        y[...] = 0
    ones = xp.ones((k.shape[2], 1), q.dtype)
    for keys, rows, both in _blocks(xp, q, k, weighting.causal):
        scores = _by_transposed(xp, q[rows] * q.dtype.type(weighting.scale), k[keys])
        small = xp is numpy and not _adds(weighting.mask) and _are_small(scores)
        _mask(xp, scores, weighting, both)
        top[rows] = 0 if small else _subtract_largest(xp, scores)
        xp.exp(scores, out=scores)
        sums = xp.matmul(scores, ones[keys[2]])
        sums += sums == 0  # where all is masked
        total[rows] = sums
        if weighting.drop is not None:
            scores *= weighting.drop[both]
        y[rows] = xp.matmul(scores, v[keys]) / sums
    return y, Saved(top, total)


def attend_gradients(
    xp: Any, gy: Any, q: Any, k: Any, v: Any, weighting: Weighting, saved: Saved, of_scores: bool
) -> tuple[Any, Any, Any, Any]:
    """Gradients of :func:`attend`.

    Args:
        xp: numpy or cupy.
        gy: upstream gradient (B, H, L, F).
        q: as in :func:`attend`.
        k: as in :func:`attend`.
        v: as in :func:`attend`.
        weighting: as in :func:`attend`.
        saved: what :func:`attend` has returned.
        of_scores: whether the gradient of the scores is wanted as a whole.

    Returns:
        Gradients of queries, keys, values, and scores (B, H, L, S) (None if not wanted).
    """
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
        if xp is not numpy or saved.top[rows].any():
            e -= saved.top[rows]
        xp.exp(e, out=e)  # the weights times their total; the gradient is divided by it instead
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
    """Places of keys, queries and weights that fill about one block; keys that come too late are left out."""
    batch, heads, length = q.shape[:3]
    limit = _BLOCK_BYTES if xp is numpy else _BLOCK_BYTES_ON_GPU
    lines = max(1, limit // max(1, k.shape[2] * q.dtype.itemsize))
    step_h = max(1, lines // max(1, length))
    step_b = max(1, step_h // max(1, heads))
    if not k.shape[2]:
        return
    for b in _ranges(batch, step_b):
        for h in _ranges(heads, step_h):
            for rows in _ranges(length, lines):
                keys = slice(0, min(k.shape[2], rows.stop) if causal else k.shape[2])
                yield (b, h, keys), (b, h, rows), (b, h, rows, keys)


def _ranges(size: int, step: int) -> list[slice]:
    return [slice(i, min(i + step, size)) for i in range(0, size, step)]


def _by_transposed(xp: Any, a: Any, b: Any) -> Any:
    """``a`` times ``b`` transposed; small products in BLAS gain more from its copy than that costs."""
    b = b.swapaxes(-1, -2)
    return xp.matmul(a, numpy.ascontiguousarray(b) if xp is numpy and a.shape[-2] >= _COPY_FROM else b)


def _adds(mask: Any) -> bool:
    return mask is not None and mask.dtype.kind != 'b'


def _are_small(scores: Any) -> bool:
    """Whether exponentials of the scores are safe as they are: finding the largest of each row takes longer."""
    return bool(scores.size) and scores.min() >= -_SMALL and scores.max() <= _SMALL


def _subtract_largest(xp: Any, scores: Any) -> Any:
    """Subtracts from each row its largest score, in place, and returns it; finite where all is masked."""
    largest = scores.max(axis=-1, keepdims=True)
    largest = xp.maximum(largest, xp.asarray(numpy.finfo(scores.dtype).min, scores.dtype))
    scores -= largest
    return largest


def _mask(xp: Any, scores: Any, weighting: Weighting, place: _Place) -> None:
    """Adds to scores, in place, minus infinity where a query does not take part, or the additive mask."""
    mask, dtype = weighting.mask, scores.dtype
    minus_infinity = dtype.type(-numpy.inf)
    if weighting.causal:
        queries = xp.arange(place[2].start, place[2].stop)
        later = queries[:, None] < xp.arange(scores.shape[-1])
        scores += xp.where(later, minus_infinity, dtype.type(0))
    if mask is not None:
        part = mask[tuple([slice(None) if n == 1 else s for n, s in zip(mask.shape, place, strict=True)])]
        scores += xp.where(part, dtype.type(0), minus_infinity) if part.dtype.kind == 'b' else part
