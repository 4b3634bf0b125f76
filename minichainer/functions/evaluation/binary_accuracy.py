"""Fraction of correct signs."""

from __future__ import annotations

from typing import Any

from minichainer.backend import get_array_module
from minichainer.function_node import FunctionNode
from minichainer.functions._arguments import Arguments
from minichainer.variable import Variable, as_variable

_binary_accuracy = Arguments('BinaryAccuracy', 'binary_accuracy')


class BinaryAccuracy(FunctionNode):
    """Compares the sign of a score with the label; has no gradient."""

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        y, t = inputs
        xp = get_array_module(*inputs)
        right = ((y >= 0) == t) & (t != -1)
        count = xp.maximum((t != -1).sum(), 1)
        return (xp.asarray(right.sum() / count, dtype=y.dtype),)


def binary_accuracy(y: Any, t: Any) -> Variable:
    """Fraction of elements whose score is not negative where the label is 1, and negative where it is 0.

    Args:
        y: scores, Variable or float array of any shape.
        t: labels 0 or 1, int array of the same shape; -1 is not counted.

    Returns:
        Variable of shape ``()`` and ``y``'s dtype, without gradient; 0 if nothing is counted.

    Raises:
        InvalidType: shapes or dtypes do not fit.

    >>> import numpy as np, minichainer.functions as F
    >>> round(float(F.binary_accuracy(np.array([0.5, -0.5, 2., 1.]), np.array([1, 0, 0, -1])).array), 4)
    0.6667
    """
    y, t = as_variable(y), as_variable(t)
    if y.dtype.kind != 'f' or t.dtype.kind != 'i' or y.shape != t.shape:
        raise _binary_accuracy.misfit(
            'float y and int t of one shape', f'{y.dtype} {y.shape} and {t.dtype} {t.shape}'
        )
    return BinaryAccuracy().apply((y, t))[0]
