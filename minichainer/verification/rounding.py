"""The rounding errors of backward passes, measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.verification.directions import generator
from minichainer.verification.leaves import fresh_copy, full
from minichainer.verification.point import Point
from minichainer.verification.subject import Evaluation

#: Rounding errors of a backward pass, in units of the dtype's epsilon and of the largest element.
ROUNDINGS = 64.0
#: The precision that a function may compute in on the way, whatever the dtypes of its inputs and outputs are.
SINGLE = 2.0**-23
_TRIALS = 4


def jitter(
    point: Point,
    arrays: Sequence[Any],
    gys: Sequence[Any],
    i: int,
    epsilon: float,
    upstream_epsilon: float,
    on_variables: bool = False,
) -> Any:
    """How much the gradient of leaf ``i`` changes when all that it depends on does by a few roundings.

    The backward pass is linear in the upstream gradients, so with these alone it is the rounding of its terms, also
    where they cancel.

    Args:
        point: Where the function is checked.
        arrays: The leaves.
        gys: Upstream gradients.
        i: Position of the leaf.
        epsilon: Of the leaves, 0 to leave them as they are.
        upstream_epsilon: Of the upstream gradients.
        on_variables: Whether the rules on Variables are asked.
    """
    subject, rng, x = point.subject, generator(0), arrays[i]

    def evaluated(epsilon: float) -> Evaluation:
        return subject.evaluate(
            [_shaken(rng, x, epsilon if j in subject.moving else 0.0) for j, x in enumerate(arrays)]
        )

    def gradient(evaluation: Evaluation, upstream_epsilon: float) -> Any:
        vjp = evaluation.vjp_of_variables if on_variables else evaluation.vjp
        return full(vjp([_shaken(rng, gy, upstream_epsilon) for gy in gys])[i], x)

    fixed = evaluated(0.0)
    center = gradient(fixed, 0.0)
    moved = (evaluated(epsilon) if epsilon else fixed for _ in range(_TRIALS))
    return 4 * sum(abs(gradient(evaluation, upstream_epsilon) - center) for evaluation in moved)


def _shaken(rng: np.random.Generator, array: Any, epsilon: float) -> Any:
    """A copy whose elements are off by some roundings, of either sign."""
    if array is None:
        return None
    copy = fresh_copy(array)
    if epsilon:
        off = get_array_module(array).asarray(rng.uniform(-4 * epsilon, 4 * epsilon, array.shape))
        copy[...] = copy * (1 + off)
    return copy
