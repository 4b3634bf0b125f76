"""The linear-chain conditional random field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minichainer.functions.array.sequences import transpose_sequence
from minichainer.functions.loss.crf1d import argmax_crf1d, crf1d
from minichainer.initializers._generate import _get_initializer
from minichainer.link.link import Link
from minichainer.links._arguments import LinkArguments
from minichainer.variable import Parameter, Variable, as_array


class CRF1d(Link):
    """Loss of a linear-chain conditional random field with learned transition scores.

    See :func:`~minichainer.functions.crf1d` for the formula.

    Args:
        n_label: number of labels.
        initial_cost: initializer of the scores; zero by default.

    Attributes:
        cost: Parameter (n_label, n_label), the score of a transition from row to column.

    Source: Lafferty, McCallum and Pereira, Conditional Random Fields, 2001.

    >>> import numpy as np, minichainer as chainer
    >>> crf = chainer.links.CRF1d(3)
    >>> xs = [np.eye(3, dtype=np.float32), np.eye(2, 3, dtype=np.float32)]
    >>> loss = crf(xs, [np.array([0, 1, 2]), np.array([0, 1])], transpose=True)
    >>> score, path = crf.argmax(xs, transpose=True)
    >>> score.array, [labels.tolist() for labels in path]
    (array([3., 2.], dtype=float32), [[0, 1, 2], [0, 1]])
    """

    def __init__(self, n_label: int, initial_cost: Any = None) -> None:
        check = LinkArguments(self)
        check.sizes(n_label=n_label)
        check.initializers((n_label, n_label), initial_cost=initial_cost)
        super().__init__()
        with self.init_scope():
            self.cost = Parameter(_get_initializer(0 if initial_cost is None else initial_cost), (n_label, n_label))

    def forward(
        self, xs: Sequence[Any], ys: Sequence[Any], reduce: str = 'mean', transpose: bool = False
    ) -> Variable:
        """The loss.

        Args:
            xs: for each time step, Variable or float array (B_t, n_label), with B_t not increasing; with
                ``transpose``, for each sequence, (length, n_label), in any order.
            ys: for each time step, int array (B_t,); with ``transpose``, for each sequence, (length,).
            reduce: ``'mean'`` or ``'no'``.
            transpose: whether the first index of ``xs`` and ``ys`` is that of sequences.

        Returns:
            Variable of shape (), or (B,) with the losses of the longest sequences first, as in Chainer.

        Raises:
            InvalidType: shapes do not fit.
            ValueError: ``reduce`` is unknown.
        """
        if not transpose:
            return crf1d(self.cost, xs, ys, reduce)
        order = _longest_first(xs)
        steps = transpose_sequence([xs[i] for i in order])
        labels = transpose_sequence([as_array(ys[i]) for i in order])
        return crf1d(self.cost, steps, labels, reduce)

    def argmax(self, xs: Sequence[Any], transpose: bool = False) -> tuple[Variable, list[Any]]:
        """The best labels and their scores.

        Args:
            xs: as of :meth:`forward`.
            transpose: as of :meth:`forward`.

        Returns:
            Variable (B,), the scores, with those of the longest sequences first, as in Chainer; and int arrays with
            labels, for each time step, or with ``transpose`` for each sequence, in the order given.

        Raises:
            InvalidType: shapes do not fit.
        """
        if not transpose:
            return argmax_crf1d(self.cost, xs)
        order = _longest_first(xs)
        score, path = argmax_crf1d(self.cost, transpose_sequence([xs[i] for i in order]))
        by_sequence = dict(zip(order, transpose_sequence(path), strict=True))
        return score, [as_array(by_sequence[i]) for i in range(len(xs))]


def _longest_first(xs: Sequence[Any]) -> list[int]:
    """The indices of sequences, sorted by their lengths."""
    return sorted(range(len(xs)), key=lambda i: -len(xs[i]))
