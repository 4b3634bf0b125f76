"""The way that leaves go, as a curve that remembers what it has computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

#: The values of a leaf as a function of one number.
Move = Callable[[float], Any]


class Measures(Protocol):
    """What calls the function: a screen."""

    arrays: list[Any]
    outputs: list[int]

    def changes(self, arrays: Sequence[Any], local: bool = False) -> tuple[Any, list[float]]:
        """The change of every weighted output, and the sizes of what may have been rounded."""
        ...

    def sizes(self, base: Any, norms: list[float]) -> Any:
        """The latter for every weighted output."""
        ...


class Path:
    """The change of every weighted output when leaves move; a curve, and remembers what it has computed.

    Attributes:
        moves: For each leaf that moves, its values as a function of one number.
        direction: Of the leaf, if it is one and moves along a line.
        local: Whether only outputs that change count as rounded, and of the inputs only what moves.
        known: The numbers for which the outputs have been computed, and what came of it.
    """

    def __init__(
        self, screen: Measures, moves: Mapping[int, Move], base: Any, direction: Any = None, local: bool = False
    ) -> None:
        self.moves, self.direction, self.local = moves, direction, local
        self.known: dict[float, tuple[Any, list[float]]] = {0.0: (np.zeros(len(base)), [0.0] * len(screen.outputs))}
        self._screen, self._base, self._arrays = screen, base, list(screen.arrays)

    def values(self, t: float) -> Any:
        """The change of every weighted output."""
        if t not in self.known:
            for i, move in self.moves.items():
                self._arrays[i] = move(t)
            self.known[t] = self._screen.changes(self._arrays, self.local)
        return self.known[t][0]

    def __call__(self, t: float) -> tuple[Any, Any]:
        values = self.values(t)
        return values, self._screen.sizes(self._base, self.known[t][1])

    @property
    def calls(self) -> int:
        """How often the function was called."""
        return len(self.known) - 1
