"""The point at which slopes are measured: in double precision if the function takes it, else in its own dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minichainer.errors import ReturnedGradientError
from minichainer.verification.arguments import is_float
from minichainer.verification.arrays import all_finite, fresh_copy
from minichainer.verification.function_under_test import Evaluation
from minichainer.verification.order_check import OrderCheck


def widened(order_check: OrderCheck, native: Evaluation) -> tuple[list[Any], Evaluation]:
    """The leaves in the dtype of the numeric side, and a call with them; the given dtypes if that fails."""
    dtype = order_check.options.dtype
    target = np.dtype(np.float64) if dtype is None else dtype
    if all([x.dtype == target or not is_float(x) for x in order_check.arrays]):
        return order_check.arrays, native
    arrays = [x.astype(target) if is_float(x) else x for x in order_check.arrays]
    try:
        evaluation = _evaluated(order_check, arrays)
    except Exception:
        if dtype is None:
            return order_check.arrays, _again(order_check)
        order_check.function.type_check = False  # the user has asked for this dtype
        evaluation = _evaluated(order_check, arrays)
    if _comparable(order_check, evaluation) and _goes_back(order_check, evaluation):
        return arrays, evaluation
    return order_check.arrays, _again(order_check)


def _goes_back(order_check: OrderCheck, evaluation: Evaluation) -> bool:
    """Whether backward returns gradients in the dtype of the inputs; one that computes in its own does not."""
    if all(evaluation.arrays[o].dtype == np.float64 for o in order_check.outputs):
        return True
    try:
        for o in order_check.outputs:
            v = order_check.upstream[o][0].astype(evaluation.arrays[o].dtype)
            evaluation.vjp(order_check.only(o, v))
    except ReturnedGradientError:
        return False
    return True


def _evaluated(order_check: OrderCheck, arrays: Sequence[Any]) -> Evaluation:
    return order_check.function.evaluate([*map(fresh_copy, arrays)])


def _again(order_check: OrderCheck) -> Evaluation:
    order_check.report.notes.append('The function does not take float64: measured in the dtype of the inputs.')
    return _evaluated(order_check, order_check.arrays)


def _comparable(order_check: OrderCheck, evaluation: Evaluation) -> bool:
    pairs = [(order_check.values[o], evaluation.arrays[o]) for o in order_check.outputs]
    return all(z is not None and y.shape == z.shape and all_finite(z) for y, z in pairs)
