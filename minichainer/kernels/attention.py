"""Attention of queries to keys and values, and its gradients: arrays in, arrays out.

Weights are never kept: they are computed a block at a time, which stays in the cache, and again in the gradient,
from the largest score and the sum of each row. So memory grows with the length, not with its square.

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
    """What the gradient needs: the largest score of each row, and the sum of exponentials relative to it."""

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
    lowest = xp.asarray(numpy.finfo(q.dtype).min, q.dtype)
    for keys, rows, both in _blocks(xp, q, k, weighting.causal):
        scores = _scores(xp, q[rows] * q.dtype.type(weighting.scale), k[keys], weighting, both)
        largest = xp.maximum(scores.max(axis=-1, keepdims=True), lowest)  # finite where all is masked
        scores -= largest
        xp.exp(scores, out=scores)
        top[rows] = largest
        total[rows] = xp.maximum(xp.matmul(scores, ones[keys[2]]), ones[:1])  # 1 at least, where any is not masked
        if weighting.drop is not None:
            scores *= weighting.drop[both]
        y[rows] = xp.matmul(scores, v[keys]) / total[rows]
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
        e = _scores(xp, scaled, k[keys], weighting, both)
        e -= saved.top[rows]
        xp.exp(e, out=e)  # the weights times their total; the gradient is divided by it instead
        g = gy[rows] / saved.total[rows]
        ge = xp.matmul(g, v[keys].swapaxes(-1, -2))
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


def _scores(xp: Any, scaled: Any, k: Any, weighting: Weighting, place: _Place) -> Any:
    scores = xp.matmul(scaled, k.swapaxes(-1, -2))
    mask, dtype = weighting.mask, scores.dtype
    minus_infinity = dtype.type(-numpy.inf)
    if weighting.causal:
        queries = xp.arange(place[2].start, place[2].stop)
        later = queries[:, None] < xp.arange(scores.shape[-1])
        scores += xp.where(later, minus_infinity, dtype.type(0))
    if mask is not None:
        part = mask[tuple([slice(None) if n == 1 else s for n, s in zip(mask.shape, place, strict=True)])]
        scores += xp.where(part, dtype.type(0), minus_infinity) if part.dtype.kind == 'b' else part
    return scores
