"""Fraction of correct predictions."""

from __future__ import annotations

from typing import Any

from minichainer.backend import get_array_module
from minichainer.function_node import FunctionNode
from minichainer.functions._arguments import Arguments
from minichainer.variable import Variable, as_variable

_accuracy = Arguments('Accuracy', 'accuracy')


class Accuracy(FunctionNode):
    """Compares the class with the largest score with the label; has no gradient."""

    def __init__(self, ignore_label: int | None = None) -> None:
        self.ignore_label = ignore_label

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        y, t = inputs
        xp = get_array_module(*inputs)
        right = (y.argmax(axis=1).reshape(t.shape) if t.size else t) == t
        if self.ignore_label is None:
            share = right.sum() / right.size if right.size else xp.nan
        else:
            counted = t != self.ignore_label
            share = (right & counted).sum() / xp.maximum(counted.sum(), 1)
        return (xp.asarray(share, dtype=y.dtype),)


def accuracy(y: Any, t: Any, ignore_label: int | None = None) -> Variable:
    """Fraction of samples whose largest score is at their label; it has no gradient.

    Args:
        y: scores, Variable or float array ``(B, C, d_1, ...)``.
        t: labels, int array ``(B, d_1, ...)``.
        ignore_label: samples with this label are not counted.

    Returns:
        Variable of shape ``()`` and ``y``'s dtype.

    Raises:
        InvalidType: shapes or dtypes do not fit.

    >>> import numpy as np, minichainer.functions as F
    >>> F.accuracy(np.array([[0., 1.], [3., 2.]]), np.array([1, 1]))
    variable(0.5)
    """
    y = as_variable(y)
    _accuracy.arrays(t=t)
    t = as_variable(t)
    _check(y, t)
    if ignore_label is not None:
        _accuracy.number(ignore_label, 'ignore_label')
    return Accuracy(ignore_label).apply((y, t))[0]


def _check(y: Variable, t: Variable) -> None:
    fits = y.ndim > t.ndim > 0 and t.dtype.kind in 'iu' and y.dtype.kind == 'f' and (y.shape[1] or not t.size)
    if not fits or t.shape[0] != y.shape[0] or t.size * y.shape[1] != y.size:
        raise _accuracy.wrong_labels('float y of shape (B, C, ...) and integer t of shape (B, ...)', y, t)
