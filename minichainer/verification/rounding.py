"""The rounding errors of backward passes, measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.verification.leaves import fresh_copy, full
from minichainer.verification.point import Point
from minichainer.verification.subject import Evaluation

#: Rounding errors of a backward pass, in units of the dtype's epsilon and of the largest element.
ROUNDINGS = 64.0
#: The precision that a function may compute in on the way, whatever the dtypes of its inputs and outputs are.
SINGLE = 2.0**-23
_TRIALS = 3


def backward_noise(
    evaluation: Evaluation, gys: Sequence[Any], i: int, rng: np.random.Generator, epsilon: float
) -> Any:
    """How much the gradient of leaf ``i`` changes when the upstream gradients do by a few roundings.

    The backward pass is linear in them, so this is the rounding of its terms, also where these cancel.
    """
    x = evaluation.variables[i].array
    center, change = full(evaluation.vjp(gys)[i], x), 0.0
    for _ in range(_TRIALS):
        change = change + abs(full(evaluation.vjp([_shaken(rng, gy, epsilon) for gy in gys])[i], x) - center)
    return 4 * change


def jitter(point: Point, arrays: Sequence[Any], gys: Sequence[Any], i: int, epsilon: float) -> Any:
    """How much the gradient of leaf ``i`` changes when everything that it depends on does by a few roundings."""
    subject, rng = point.subject, point.rng
    center, change = full(subject.evaluate([fresh_copy(x) for x in arrays]).vjp(gys)[i], arrays[i]), 0.0
    for _ in range(_TRIALS):
        moving = [_shaken(rng, x, epsilon if j in subject.moving else 0.0) for j, x in enumerate(arrays)]
        found = subject.evaluate(moving).vjp([_shaken(rng, gy, epsilon) for gy in gys])[i]
        change = change + abs(full(found, center) - center)
    return 4 * change


def _shaken(rng: np.random.Generator, array: Any, epsilon: float) -> Any:
    """A copy whose elements are off by some roundings, of either sign."""
    if array is None:
        return None
    copy = fresh_copy(array)
    if epsilon:
        signs = get_array_module(array).asarray(rng.choice([-1.0, 1.0], array.shape))
        copy *= (1 + 4 * epsilon * signs).astype(array.dtype)
    return copy
