"""The loss of a softmax that is computed along the paths of a binary tree."""

from __future__ import annotations

from typing import Any, NamedTuple

from minichainer.backend import get_array_module
from minichainer.functions._arguments import Arguments, described
from minichainer.functions.activation.units import softplus
from minichainer.functions.connection.embed_id import embed_id
from minichainer.functions.math.reductions import sum as sum_
from minichainer.variable import Variable, as_array, as_variable

_arguments = Arguments('BinaryHierarchicalSoftmaxFunction', 'BinaryHierarchicalSoftmax')


class Paths(NamedTuple):
    """The paths from the root of a binary tree to its leaves, one after the other."""

    #: For each leaf, where its path begins; and one number more, where the last one ends.
    begins: Any
    #: The inner nodes along the paths.
    nodes: Any
    #: 1 where a path turns to the first child of a node, -1 where it turns to the second.
    turns: Any


def binary_hierarchical_softmax(x: Any, t: Any, W: Any, paths: Paths) -> Variable:
    r"""Negative log-likelihood of labels: of all turns on their paths, :math:`\sum -\log \sigma(s\, w_n^\top x_i)`.

    Args:
        x: features, Variable or float array ``(B, D)``.
        t: labels, int array ``(B,)``.
        W: a row of weights for each inner node of the tree, ``(nodes, D)`` of the same dtype.
        paths: the paths to the leaves, on the device of the arrays.

    Returns:
        Variable of shape ``()``, the sum over the batch.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        IndexError: a label is not a leaf of the tree.

    Source: Morin and Bengio, Hierarchical Probabilistic Neural Network Language Model, 2005.
    """
    x, W, labels = as_variable(x), as_variable(W), as_array(t)
    fits = x.ndim == 2 and labels.shape == x.shape[:1] and x.shape[1] == W.shape[1] and x.dtype == W.dtype
    if not fits or labels.dtype.kind not in 'iu':
        raise _arguments.misfit(
            'float x of shape (B, D), W of shape (nodes, D), int t of shape (B,)', described(x, W, labels)
        )
    xp = get_array_module(labels)
    _check_labels(labels, paths)
    begins = paths.begins[labels]
    lengths = paths.begins[labels + 1] - begins
    if len(W) and labels.size and not lengths.min():
        raise IndexError(f'{_arguments.name}: label {labels[lengths == 0][0]} is not a leaf of the tree')
    ends = xp.cumsum(lengths)
    steps = xp.arange(int(lengths.sum()))
    if not steps.size:
        return sum_(x[:0])
    samples = xp.searchsorted(ends, steps, side='right')
    at = steps - (ends - lengths)[samples] + begins[samples]
    scores = sum_(embed_id(paths.nodes[at], W) * embed_id(samples, x), 1)
    return sum_(softplus(scores * -paths.turns[at].astype(x.dtype)))


def _check_labels(labels: Any, paths: Paths) -> None:
    _arguments.in_range('labels', labels, 0, len(paths.begins) - 1)
