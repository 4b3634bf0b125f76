"""Precision, recall and F-score of each class."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.backend import get_array_module
from minichainer.function_node import FunctionNode
from minichainer.functions._arguments import Arguments, are_readable
from minichainer.kernels.gathering import sums_at
from minichainer.variable import Variable, as_variable

_classification_summary = Arguments('ClassificationSummary', 'classification_summary')


class ClassificationSummary(FunctionNode):
    """Counts correct and wrong predictions by class; has no gradient."""

    def __init__(self, label_num: int | None, beta: float, ignore_label: int) -> None:
        self.label_num = label_num
        self.beta = beta
        self.ignore_label = ignore_label

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        y, t = inputs
        xp = get_array_module(*inputs)
        count = int(t.max()) + 1 if self.label_num is None else self.label_num
        counted = t != self.ignore_label
        if are_readable(t) and (counted & (t < 0)).any():
            raise ValueError(
                f'classification_summary: labels must not be negative, except ignore_label = {self.ignore_label}; '
                f'got {t[counted].min()}'
            )
        predictions = y.argmax(axis=1) if t.size else t
        support = _histogram(xp, t, counted, count)
        predicted = _histogram(xp, predictions, counted, count)
        right = _histogram(xp, t, counted & (predictions == t), count)
        squared = self.beta * self.beta
        with numpy.errstate(divide='ignore', invalid='ignore'):  # classes that do not occur get NaN
            precision, recall = right / predicted, right / support
            score = (1 + squared) * precision * recall / (squared * precision + recall)
        return precision, recall, score, support


def _histogram(xp: Any, values: Any, counted: Any, count: int) -> Any:
    """The counts of 0, ..., count - 1 among the values that are counted."""
    if not count:
        return xp.zeros(0, numpy.int64)
    counted = counted & (values >= 0) & (values < count)
    places = xp.where(counted, values, xp.zeros((), values.dtype))
    return sums_at(xp, counted.astype('d'), places, (count,)).astype(numpy.int64)


def classification_summary(
    y: Any, t: Any, label_num: int | None = None, beta: float = 1.0, ignore_label: int = -1
) -> tuple[Variable, ...]:
    r"""Precision, recall, F-score and support of each class; none has a gradient.

    Precision is the fraction of the samples predicted as a class that belong to it, recall the fraction of the
    samples of a class that are predicted as it, and :math:`F_\beta = (1 + \beta^2) p r / (\beta^2 p + r)`. Classes
    with a zero denominator get NaN.

    Args:
        y: scores, Variable or float array ``(B, C, d_1, ...)``.
        t: labels, int array ``(B, d_1, ...)``.
        label_num: number of classes; by default one more than the largest label.
        beta: how much more recall weighs than precision.
        ignore_label: samples with this label are not counted.

    Returns:
        Four Variables of shape ``(label_num,)``: precision, recall and F-score in float64, and support, the number of
        samples of each class, in int64.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        ValueError: there is no label to find the number of classes from, or a negative one; or ``label_num`` is
            negative.
        TypeError: ``label_num``, ``beta`` or ``ignore_label`` is not a number.

    >>> import numpy as np, minichainer.functions as F
    >>> y = np.array([[2., 1.], [2., 1.], [0., 3.]])
    >>> p, r, f, n = F.classification_summary(y, np.array([0, 1, 1]))
    >>> p.array, r.array, n.array
    (array([0.5, 1. ]), array([1. , 0.5]), array([1, 2]))
    """
    y, t = as_variable(y), as_variable(t)
    fits = y.ndim >= 2 and y.dtype.kind == 'f' and t.dtype.kind == 'i'
    if not fits or t.shape != y.shape[:1] + y.shape[2:] or (t.size and not y.shape[1]):
        raise _classification_summary.misfit(
            'float y of shape (B, C, ...) and int t of shape (B, ...)', f'{y.dtype} {y.shape} and {t.dtype} {t.shape}'
        )
    if label_num is None and not t.size:
        raise ValueError('classification_summary: label_num is needed where there are no labels')
    for name, value in (('beta', beta), ('ignore_label', ignore_label)):
        _classification_summary.number(value, name)
    if label_num is not None:
        _classification_summary.integer(label_num, 'label_num')
        if label_num < 0:
            raise ValueError(f'classification_summary: label_num must not be negative, got {label_num}')
    return ClassificationSummary(label_num, beta, ignore_label).apply((y, t))


def precision(y: Any, t: Any, label_num: int | None = None, ignore_label: int = -1) -> tuple[Variable, Variable]:
    """Precision of each class, and the number of its samples; see :func:`classification_summary`.

    Args:
        y: as there.
        t: as there.
        label_num: as there.
        ignore_label: as there.

    >>> import numpy as np, minichainer.functions as F
    >>> F.precision(np.array([[2., 1.], [2., 1.], [0., 3.]]), np.array([0, 1, 1]))[0]
    variable([0.5, 1. ])
    """
    shares = classification_summary(y, t, label_num, 1.0, ignore_label)
    return shares[0], shares[3]


def recall(y: Any, t: Any, label_num: int | None = None, ignore_label: int = -1) -> tuple[Variable, Variable]:
    """Recall of each class, and the number of its samples; see :func:`classification_summary`.

    Args:
        y: as there.
        t: as there.
        label_num: as there.
        ignore_label: as there.

    >>> import numpy as np, minichainer.functions as F
    >>> F.recall(np.array([[2., 1.], [2., 1.], [0., 3.]]), np.array([0, 1, 1]))[0]
    variable([1. , 0.5])
    """
    shares = classification_summary(y, t, label_num, 1.0, ignore_label)
    return shares[1], shares[3]


def f1_score(y: Any, t: Any, label_num: int | None = None, ignore_label: int = -1) -> tuple[Variable, Variable]:
    """F-score of each class, the harmonic mean of precision and recall, and the number of its samples.

    See :func:`classification_summary`.

    Args:
        y: as there.
        t: as there.
        label_num: as there.
        ignore_label: as there.

    >>> import numpy as np, minichainer.functions as F
    >>> F.f1_score(np.array([[2., 1.], [2., 1.], [0., 3.]]), np.array([0, 1, 1]))[0].array.round(4)
    array([0.6667, 0.6667])
    """
    shares = classification_summary(y, t, label_num, 1.0, ignore_label)
    return shares[2], shares[3]
