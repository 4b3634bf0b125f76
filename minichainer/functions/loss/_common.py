"""Shared code of the losses: the argument ``reduce`` and its gradient."""

from __future__ import annotations

from typing import Any

from minichainer.functions.math.reductions import average
from minichainer.functions.math.reductions import sum as sum_
from minichainer.variable import Variable, as_variable


def like(x: Any, model: Variable) -> Variable:
    """``x`` as a Variable; an array takes the dtype of ``model``."""
    if isinstance(x, Variable):
        return x
    x = as_variable(x)._data
    return as_variable(x.astype(model.dtype, copy=False))


def logistic_slope(m: Any, scores: Any, t: Any) -> Any:
    r""":math:`\sigma(s) - t`, the derivative of logistic losses, accurate where it is tiny; for rules."""
    return m.sigmoid_by_x(scores) * (1 - t) - m.sigmoid_by_x(-scores) * t


def reduced(losses: Variable, reduce: str) -> Variable:
    """The losses, or their sum or mean."""
    if reduce == 'sum':
        return sum_(losses)
    return average(losses) if reduce == 'mean' else losses


def reduced_array(xp: Any, losses: Any, reduce: str, dtype: Any) -> Any:
    """The losses, or their sum or mean, as an array of a dtype."""
    if reduce == 'mean':
        losses = losses.sum() * (1.0 / losses.size) if losses.size else float('nan')
    elif reduce == 'sum':
        losses = losses.sum()
    return xp.asarray(losses, dtype)


def spread(m: Any, gy: Any, shape: tuple[int, ...], reduce: str) -> Any:
    """The gradient of each loss from the gradient ``gy`` of the result of :func:`reduced_array`; for rules."""
    if reduce == 'no':
        return m.reshape(gy, shape)
    size = 1
    for length in shape:
        size *= length
    return m.broadcast_to(gy * (1.0 / max(size, 1)) if reduce == 'mean' else gy, shape)


def without_axis_1(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with size 1 along axis 1, over which a loss sums."""
    return (shape[0], 1, *shape[2:])
