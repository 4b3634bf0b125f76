"""Coefficient of determination."""

from __future__ import annotations

from typing import Any

from minichainer.backend import get_array_module
from minichainer.function_node import FunctionNode
from minichainer.functions._arguments import Arguments
from minichainer.kernels.precision import in_float32
from minichainer.variable import Variable, as_variable

_r2_score = Arguments('R2_score', 'r2_score')


class R2_score(FunctionNode):
    """Compares squared errors with the variance of the target; has no gradient."""

    def __init__(self, sample_weight: Any, multioutput: str) -> None:
        self.sample_weight, self.multioutput = sample_weight, multioutput

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        xp = get_array_module(*inputs)
        pred, true = map(in_float32, inputs)
        scale = _largest(xp, pred, true)  # squares of huge or tiny numbers leave the range of the dtype
        pred, true = pred / scale, true / scale
        errors = xp.square(pred - true).sum(axis=0)
        center = true.sum(axis=0) / max(len(true), 1)
        variance = xp.square(true - center).sum(axis=0)
        constant = variance == 0
        scores = xp.where(constant, 0, 1 - errors / xp.where(constant, 1, variance))
        if self.multioutput == 'uniform_average':
            scores = scores.mean()
        return (xp.asarray(scores, dtype=inputs[0].dtype),)


def _largest(xp: Any, *arrays: Any) -> Any:
    """A power of 2 near the largest magnitude of each output; 1 where that is 0 or not finite."""
    if not arrays[0].size:
        return xp.ones((), arrays[0].dtype)
    top = xp.stack([abs(x).max(axis=0) for x in arrays]).max(axis=0)
    top = xp.where((top > 0) & xp.isfinite(top), top, xp.ones((), top.dtype))
    return xp.exp2(xp.floor(xp.log2(top)))


def r2_score(pred: Any, true: Any, sample_weight: Any = None, multioutput: str = 'uniform_average') -> Variable:
    r"""Coefficient of determination, :math:`R^2 = 1 - \sum (t - y)^2 / \sum (t - \bar t)^2`; it has no gradient.

    Args:
        pred: predictions, Variable or float array ``(B, ...)``.
        true: targets, Variable or float array of the same shape.
        sample_weight: None; weights are not supported.
        multioutput: ``'uniform_average'``, or ``'raw_values'`` for one score per output.

    Returns:
        Variable of shape ``()`` or ``(...)``; 0 where all targets are equal.

    Raises:
        InvalidType: shapes differ, the arrays are not float, or they have no batch axis.
        NotImplementedError: ``sample_weight`` is given.
        ValueError: ``multioutput`` is unknown.

    >>> import numpy as np, minichainer.functions as F
    >>> round(float(F.r2_score(np.array([1., 2., 3.]), np.array([1., 2., 5.])).array), 4)
    0.5385
    """
    if sample_weight is not None:
        raise NotImplementedError('r2_score: sample_weight is not supported, None expected')
    if not isinstance(multioutput, str) or multioutput not in ('uniform_average', 'raw_values'):
        raise ValueError(f"r2_score: multioutput must be 'uniform_average' or 'raw_values', got {multioutput!r}")
    pred, true = as_variable(pred), as_variable(true)
    if pred.shape != true.shape or not pred.ndim or pred.dtype.kind != 'f' or true.dtype.kind != 'f':
        raise _r2_score.misfit(
            'float arrays of one shape with a batch axis', f'{pred.dtype} {pred.shape} and {true.dtype} {true.shape}'
        )
    return R2_score(sample_weight, multioutput).apply((pred, true))[0]
