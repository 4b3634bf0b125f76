"""The softmax along the paths of a binary tree, with weights."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Any

import numpy

from minichainer.device_resident import DeviceResidentsVisitor
from minichainer.functions._arguments import as_integer
from minichainer.functions.loss.hierarchical_softmax import Paths, binary_hierarchical_softmax
from minichainer.initializers.uniform import Uniform
from minichainer.link.link import Link
from minichainer.links._arguments import LinkArguments
from minichainer.variable import Parameter, Variable


class BinaryHierarchicalSoftmax(Link):
    r"""Loss of a softmax whose classes are the leaves of a binary tree: its cost grows with the depth of the tree.

    Each inner node n has weights, and turns to its first child with probability :math:`\sigma(w_n^\top x)`:

    .. math:: \mathrm{loss} = \sum_i \sum_{(n, s) \in \mathrm{path}(t_i)} -\log \sigma(s\, w_n^\top x_i)

    where s is 1 or -1, for the first or second child.

    Args:
        in_size: number of features.
        tree: nested pairs of labels, such as ``((1, 2), 3)``; see :meth:`create_huffman_tree`.
        dtype: has no effect, as in Chainer: the weights have ``chainer.config.dtype``.

    Attributes:
        W: Parameter (inner nodes, in_size), uniform in [-1, 1) at first.

    Source: Morin and Bengio, Hierarchical Probabilistic Neural Network Language Model, 2005.

    >>> import numpy as np, minichainer as chainer
    >>> tree = chainer.links.BinaryHierarchicalSoftmax.create_huffman_tree({0: 8, 1: 5, 2: 6, 3: 4})
    >>> loss = chainer.links.BinaryHierarchicalSoftmax(3, tree)
    >>> loss(np.ones((4, 3), np.float32), np.array([0, 1, 2, 3])).shape
    ()
    """

    def __init__(self, in_size: int, tree: Any, dtype: Any = None) -> None:
        check = LinkArguments(self)
        check.sizes(in_size=in_size)
        check.dtype(dtype)
        self._paths, count = _paths_of(check, tree)
        super().__init__()
        with self.init_scope():
            self.W = Parameter(Uniform(1), (count, in_size))

    @staticmethod
    def create_huffman_tree(word_counts: Mapping[Any, float]) -> Any:
        """The tree with the smallest mean depth: Huffman's.

        Args:
            word_counts: how often each label occurs.

        Returns:
            Nested pairs of labels.

        Raises:
            ValueError: there is no label.

        Source: Huffman, A Method for the Construction of Minimum-Redundancy Codes, 1952.

        >>> import minichainer as chainer
        >>> chainer.links.BinaryHierarchicalSoftmax.create_huffman_tree({0: 8, 1: 5, 2: 6, 3: 4})
        ((3, 1), (2, 0))
        """
        if not word_counts:
            raise ValueError('create_huffman_tree: Empty vocabulary: word_counts must have at least one label')
        heap: list[tuple[float, int, Any]] = [(n, i, label) for i, (label, n) in enumerate(word_counts.items())]
        heapq.heapify(heap)
        while (
            len(heap) > 1
        ):  # equal counts: the earliest label first, as in Chainer; a pair has the place of its earlier one
            (n, i, first), (m, j, second) = heapq.heappop(heap), heapq.heappop(heap)
            heapq.heappush(heap, (n + m, min(i, j), (first, second)))
        return heap[0][2]

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        """Passes the paths to the visitor too."""
        super().device_resident_accept(visitor)
        self._paths = Paths(*[visitor.visit_array(array) for array in self._paths])

    def forward(self, x: Any, t: Any) -> Variable:
        """The loss.

        Args:
            x: features, Variable or float array (B, in_size).
            t: labels, int array (B,).

        Returns:
            Variable of shape (), the sum over the batch.

        Raises:
            InvalidType: shapes or dtypes do not fit.
            IndexError: a label is not in the tree.
        """
        return binary_hierarchical_softmax(x, t, self.W, self._paths)


def _paths_of(check: LinkArguments, tree: Any) -> tuple[Paths, int]:
    """The paths to the leaves of a tree, and the number of its inner nodes."""
    found: dict[int, list[tuple[int, int]]] = {}
    count = 0
    stack: list[tuple[Any, list[tuple[int, int]]]] = [(tree, [])]
    while stack:
        node, path = stack.pop()
        if isinstance(node, tuple):
            if len(node) != 2:
                raise check.wrong_value(
                    'nested pairs of labels: all inner nodes must have two child nodes', 'tree', tree
                )
            stack += [(node[1], [*path, (count, -1)]), (node[0], [*path, (count, 1)])]
            count += 1
            continue
        label = as_integer(node)
        if label is None:
            raise check.wrong_type('nested pairs of ints', 'tree', tree)
        if label < 0 or label in found:
            raise check.wrong_value('nested pairs of different labels that are not negative', 'tree', tree)
        found[label] = path
    return _packed(found), count


def _packed(found: dict[int, list[tuple[int, int]]]) -> Paths:
    """Paths by label as arrays; a label that is not in the tree has an empty path."""
    by_label = [found.get(label, []) for label in range(max(found) + 1)]
    begins = numpy.cumsum([0, *[len(path) for path in by_label]])
    steps = numpy.array([step for path in by_label for step in path], numpy.int32).reshape(-1, 2)
    return Paths(begins, steps[:, 0].copy(), steps[:, 1].copy())
