"""The table of a backward pass, ``{node: gradient}``, and how it collects parts of gradients to add them together."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy

from minichainer._checks import as_raw
from minichainer.backend import copied

# An array that nothing else refers to may be used without a copy. The number of references that the interpreter
# itself holds to the value of a local name is measured, because it differs between versions.
references = getattr(sys, 'getrefcount', lambda _: sys.maxsize)


def _references_of_a_local(table: dict[int, Any]) -> int:
    _, gradient = table.popitem()
    found: int = references(gradient)
    return found


UNSHARED = _references_of_a_local({0: numpy.empty(1)}) if hasattr(sys, 'getrefcount') else 0


def take_own(table: dict[Any, Any], node: Any) -> Any:
    """Takes a gradient array out of the table; C-contiguous, and not sharing memory with anything."""
    gradient = table.pop(node)
    if gradient is None or type(gradient) is list:
        return gradient
    if references(gradient) > UNSHARED or gradient.base is not None or not gradient.flags.c_contiguous:
        return copied(gradient)
    return gradient


class Stored(list[Any]):
    """The outputs of functions with several whose gradients a program has set, and which a pass has used."""

    __slots__ = ()

    def take(self, node: Any, owner: Any) -> Any:
        """The gradient stored at an output for a pass that has computed none; None if there is none.

        Args:
            node: the output's node.
            owner: its Variable; None if that is gone, whose gradient nobody can have meant.
        """
        if owner is None or owner._node is not node or node.grad_value is None or owner.retains_grad:
            return None
        self.append(node)
        return self.as_upstream(node.grad_value)

    @staticmethod
    def as_upstream(gradient: Any) -> Any:
        """A stored gradient, as a pass takes it: its array."""
        return as_raw(gradient)


class StoredVariables(Stored):
    """The same for a differentiable pass."""

    __slots__ = ()

    @staticmethod
    def as_upstream(gradient: Any) -> Any:
        """A Variable keeps its graph."""
        return gradient


class Parts:
    """Parts of the gradients of leaves that a pass adds together; for passes that nothing watches.

    A weight that is used in many steps has a gradient in each. One product of many rows takes less time than many
    products of few, and rows are added to a matrix in less time than matrices to each other. The first gradient of a
    leaf is never collected: a weight that is used once has nothing to gain.
    """

    #: The gradients of the pass by node.
    table: dict[Any, Any]
    #: By leaf, what parts are computed from: lists of arrays by the function that adds them.
    waiting: dict[Any, dict[Callable[..., None], list[tuple[Any, ...]]]] | None = None  # most passes have none
    #: By leaf, how many elements these arrays have.
    sizes: dict[Any, int]

    def collect(self, leaf: Any, add: Callable[..., None], *arrays: Any) -> bool:
        """Keeps what a part of a gradient is computed from until later, if that is allowed.

        Args:
            leaf: a node, of which it is not known whether it is a leaf.
            add: ``add(total, *lists)`` adds many parts to a gradient.
            arrays: of this part, or None; the upstream gradient first, which must be a NumPy array.

        Returns:
            Whether it is kept. If not, the caller computes the gradient.
        """
        if leaf.edges is not None or leaf not in self.table:
            return False
        if self.waiting is None:
            self.waiting, self.sizes = {}, {}
        self.waiting.setdefault(leaf, {}).setdefault(add, []).append(arrays)
        size = self.sizes.get(leaf, 0) + sum([x.size for x in arrays if x is not None])
        self.sizes[leaf] = size
        if size > max(self.table[leaf].size, _FEW):
            self._add(leaf)
        return True

    def complete(self) -> None:
        """Adds all that has been collected."""
        for leaf in tuple(self.waiting or ()):
            self._add(leaf)

    def _add(self, leaf: Any) -> None:
        table, waiting = self.table, self.waiting.pop(leaf)  # type: ignore[union-attr]
        del self.sizes[leaf]
        total = take_own(table, leaf)
        for add, arrays in waiting.items():
            add(total, *zip(*arrays, strict=True))
        table[leaf] = total


#: A leaf collects as many elements as it has, or this many, which is little memory. More bring no measurable gain.
_FEW = 1 << 14
