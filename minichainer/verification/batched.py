"""Compares gradients and tangents that are computed for a batch at once with those computed one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minichainer._checks import as_raw
from minichainer._push import pushed_through
from minichainer.backend import get_array_module
from minichainer.verification.arrays import full, largest
from minichainer.verification.complex_numbers import joined, parts
from minichainer.verification.directions import signed
from minichainer.verification.exact_checks import at, worst_index
from minichainer.verification.order_check import OrderCheck
from minichainer.verification.rounding import ROUNDINGS
from minichainer.verification.tangents import ForwardMode

#: The length of a batch.
_COUNT = 3


def check_batched_gradients(order_check: OrderCheck) -> None:
    """Compares gradients for a batch of upstream gradients with single backward passes; adds failures to the report.

    The batch is computed as ``autograd.grad(..., is_grads_batched=True)`` does: the passes go over one graph, the
    upstream gradients are slices of one array, and results are stacked at the end.

    Args:
        order_check: Where and how the function is checked.
    """
    evaluation, function = order_check.function.evaluate(order_check.arrays), order_check.function
    outputs = [o for o in order_check.outputs if getattr(evaluation.outputs[o], 'requires_grad', False)]
    moving = function.moving
    if not outputs or not moving:
        return
    stacks: list[Any] = [None] * len(order_check.values)
    for o in outputs:
        stacks[o] = _stack([_drawn(order_check, order_check.values[o]) for _ in range(_COUNT)])
    entries = [[None if s is None else s[b, ...] for s in stacks] for b in range(_COUNT)]
    single = [
        [_copied(g) for g in evaluation.vjp([None if v is None else v.copy() for v in entry])] for entry in entries
    ]
    batched = [evaluation.vjp(entry) for entry in entries]
    for i in moving:
        expected, found = ([full(row[i], order_check.arrays[i]) for row in rows] for rows in (single, batched))
        _compare(order_check, outputs[0], i, expected, found, 'gradients')


def check_batched_tangents(order_check: OrderCheck) -> None:
    """Compares several tangents, pushed through one graph, with forward mode; adds failures to the report.

    The batch is computed as ``autograd.functional.jacobian(..., strategy='forward-mode')`` does.

    Args:
        order_check: Where and how the function is checked.
    """
    function, moving = order_check.function, order_check.function.moving
    if not moving:
        return
    rows = [{i: _drawn(order_check, order_check.arrays[i]) for i in moving} for _ in range(_COUNT)]
    forward_mode = ForwardMode(order_check, order_check.arrays)
    single = [forward_mode(row) for row in rows]
    variables = [leaf.variable(x) for leaf, x in zip(function.leaves, order_check.arrays, strict=True)]
    outputs: list[Any] = function.called(variables)
    directions = [[_direction(function.leaves[i], row[i]) for i in moving] for row in rows]
    ends = [variables[i].edge for i in moving]
    found = list(pushed_through([outputs[o].edge for o in order_check.outputs], ends, directions, False))
    for k, o in enumerate(order_check.outputs):
        expected = [full(row[o], order_check.values[o]) for row in single]
        batched = [full(None if row[k] is None else parts(as_raw(row[k])), order_check.values[o]) for row in found]
        _compare(order_check, o, moving[0], expected, batched, 'tangents')


def _direction(leaf: Any, direction: Any) -> Any:
    return joined(direction) if leaf.is_complex else direction


def _drawn(order_check: OrderCheck, like: Any) -> Any:
    return get_array_module(like).asarray(signed(order_check.rng, like.shape).astype(like.dtype))


def _stack(rows: Sequence[Any]) -> Any:
    return get_array_module(rows[0]).stack(list(rows))


def _copied(array: Any) -> Any:
    return None if array is None else array.copy()


def _compare(
    order_check: OrderCheck, o: int, i: int, expected: Sequence[Any], found: Sequence[Any], what: str
) -> None:
    """Reports an entry of a batch that has another shape, dtype or value than alone."""
    for b, (alone, entry) in enumerate(zip(expected, found, strict=True)):
        if entry.shape != alone.shape or entry.dtype != alone.dtype:
            text = f'entry {b} has shape {entry.shape} and dtype {entry.dtype}, alone {alone.shape} and {alone.dtype}'
            order_check.fail(o, i, f'batched {what}: {text}')
            return
        with np.errstate(all='ignore'):
            allowed = ROUNDINGS * np.finfo(alone.dtype).eps * largest(alone) + order_check.options.nondet_tol
            wrong = ~(abs(entry - alone) <= allowed) & get_array_module(alone).isfinite(alone)
        if bool(wrong.any()):
            index = worst_index(wrong)
            text = f'batched {what}: entry {b} of the batch is not what it is alone'
            values = {'numeric': at(alone, index), 'analytic': at(entry, index)}
            order_check.fail(o, i, text, index=index if what == 'gradients' else None, **values)
            return
