"""The rounding errors of backward passes, measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.verification.arrays import fresh_copy, full
from minichainer.verification.directions import generator
from minichainer.verification.function_under_test import Evaluation
from minichainer.verification.order_check import OrderCheck

#: Rounding errors of a backward pass, in units of the dtype's epsilon times the largest element.
ROUNDINGS = 64.0
#: A function may compute intermediate results in this precision, whatever its input and output dtypes are.
SINGLE, HALF = 2.0**-23, 2.0**-10
#: How often something is repeated with other roundings.
TRIALS = 4


def jitter(
    order_check: OrderCheck,
    arrays: Sequence[Any],
    gys: Sequence[Any],
    i: int,
    epsilon: float,
    upstream_epsilon: float,
    on_variables: bool = False,
) -> Any:
    """The change of the gradient of leaf ``i`` when all arrays that it depends on change by a few roundings.

    The backward pass is linear in the upstream gradients. So changing these alone gives the rounding of its terms,
    even if they cancel.

    Args:
        order_check: Where the function is checked.
        arrays: The leaves.
        gys: Upstream gradients.
        i: Position of the leaf.
        epsilon: Relative change of the leaves, 0 for none.
        upstream_epsilon: Relative change of the upstream gradients.
        on_variables: Whether to use the rules on Variables.
    """
    function, rng, x = order_check.function, generator(0), arrays[i]

    def evaluated(epsilon: float) -> Evaluation:
        return function.evaluate(
            [shaken(rng, x, epsilon if j in function.moving else 0.0) for j, x in enumerate(arrays)]
        )

    def gradient(evaluation: Evaluation, upstream_epsilon: float) -> Any:
        vjp = evaluation.vjp_of_variables if on_variables else evaluation.vjp
        return full(vjp([shaken(rng, gy, upstream_epsilon) for gy in gys])[i], x)

    fixed = evaluated(0.0)
    center = gradient(fixed, 0.0)
    moved = (evaluated(epsilon) if epsilon else fixed for _ in range(TRIALS))
    return 4 * sum(abs(gradient(evaluation, upstream_epsilon) - center) for evaluation in moved)


def shaken(rng: np.random.Generator, array: Any, epsilon: float) -> Any:
    """A copy whose elements are changed by a few roundings, with random signs."""
    if array is None:
        return None
    copy = fresh_copy(array)
    if epsilon:
        off = get_array_module(array).asarray(rng.uniform(-4 * epsilon, 4 * epsilon, array.shape))
        copy[...] = copy * (1 + off)
    return copy


def lost_in_subnormals(x: Any, dtype: Any) -> Any:
    """The relative error of products with elements below the normal numbers of a dtype; 0 for the others."""
    info, size = np.finfo(dtype), abs(x).astype(np.float64)
    return ((size > 0) & (size < float(info.tiny))) * np.minimum(2 * float(info.smallest_subnormal) / size, 1.0)
