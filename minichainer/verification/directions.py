"""Random directions that move every element, and the change of the outputs along them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from minichainer.verification.arrays import host, root_mean_square
from minichainer.verification.complex_numbers import joined, parts


def generator(seed: int) -> np.random.Generator:
    """The checker's own random number generator; the global ones are not touched."""
    return np.random.Generator(np.random.PCG64(seed))


def signed(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Random signs times magnitudes in [1/2, 1]: no element is hidden, and no two cancel exactly."""
    drawn = rng.random(shape)
    drawn -= 0.5
    drawn += np.copysign(0.5, drawn)
    return drawn


def isotropic(rng: np.random.Generator, x: Any) -> Any:
    """A direction whose elements have the size of the root mean square of ``x`` (1 where that is 0)."""
    drawn = signed(rng, x.shape)
    drawn *= root_mean_square(x) or 1.0
    return drawn


def relative(rng: np.random.Generator, x: Any) -> Any:
    """A direction that moves every element in proportion to its size; signs stay, so ``log`` stays defined."""
    return signed(rng, x.shape) * abs(x.astype(np.float64, copy=False))


#: Elements whose sizes differ by more decades do not move together, where each step must suit all of them.
_DECADES = 3.0


def by_size(x: Any, alike: Any, in_proportion: Any, zeros_apart: bool = False) -> list[Any]:
    """Directions that together move all elements, each among others of its size.

    Args:
        x: The elements.
        alike: A direction that moves all by about the same; taken whole if the elements do not differ by more than
            1e6, else for those that are 0.
        in_proportion: A direction that moves each in proportion to its size.
        zeros_apart: Whether elements that are 0 move alone in any case.

    >>> by_size(np.array([1.0, 2.0, 1e-9]), np.ones(3), np.array([1.0, 2.0, 1e-9]))
    [array([1., 2., 0.]), array([0.e+00, 0.e+00, 1.e-09])]
    """
    sizes = abs(host(x).astype(np.float64, copy=False))
    known = (sizes > 0) & np.isfinite(sizes)
    even = not known.any() or sizes[known].max() <= 10 ** (2 * _DECADES) * sizes[known].min()
    if even and not (zeros_apart and known.any() and (sizes == 0).any()):
        return [alike]
    group = np.full(sizes.shape, -1.0)
    group[known] = np.floor(np.log10(sizes[known].max() / sizes[known]) / _DECADES)
    parts = [np.where(group == g, in_proportion if g >= 0 else alike, 0.0) for g in np.unique(group)]
    return sorted(parts, key=lambda part: -float(abs(part).max()))


#: The values of a leaf as a function of one number ``t``.
Move = Callable[[float], Any]
#: The same; a pair (x, d) stands for ``x + t * d``.
Line = tuple[Any, Any]


def moved(move: Move | Line, t: float) -> Any:
    """The values of a leaf at ``t``."""
    return move[0] + t * move[1] if isinstance(move, tuple) else move(t)


class Measures(Protocol):
    """The methods of Derivatives that a path calls."""

    arrays: list[Any]
    outputs: list[int]

    def changes(self, arrays: Sequence[Any], touched: list[Any] | None = None) -> tuple[Any, list[float]]:
        """The change of every weighted output, and the sizes of the numbers that were rounded."""
        ...

    def sizes(self, base: Any, norms: list[float]) -> Any:
        """The sizes of rounded numbers, for every weighted output."""
        ...


class Path:
    """The change of every weighted output while leaves move, as a cached curve.

    Attributes:
        moves: For each moving leaf, its values.
        direction: The direction of the leaf, if there is one that moves along a line.
        base: The sizes of the numbers that are rounded at the point itself.
        touched: Which elements of the outputs can move, if only these count as rounded; else None.
        known: Results by the numbers for which they were computed.
    """

    def __init__(
        self,
        derivatives: Measures,
        moves: Mapping[int, Move | Line],
        base: Any,
        direction: Any = None,
        touched: list[Any] | None = None,
    ) -> None:
        self.moves, self.direction, self.touched = moves, direction, touched
        self.known: dict[float, tuple[Any, list[float]]] = {
            0.0: (np.zeros(len(base)), [0.0] * len(derivatives.outputs))
        }
        self._screen, self.base, self._arrays = derivatives, base, list(derivatives.arrays)

    def values(self, t: float) -> Any:
        """The change of every weighted output."""
        if t not in self.known:
            for i, move in self.moves.items():
                self._arrays[i] = move[0] + t * move[1] if isinstance(move, tuple) else move(t)
            self.known[t] = self._screen.changes(self._arrays, self.touched)
        return self.known[t][0]

    def __call__(self, t: float) -> tuple[Any, Any]:
        values = self.values(t)
        return values, self._screen.sizes(self.base, self.known[t][1])

    @property
    def calls(self) -> int:
        """How many times the function was called."""
        return len(self.known) - 1


def project(order_check: Any, i: int, direction: Any) -> Any:
    """The direction projected onto the tangent space of the input, if the user gives the projection."""
    tangent = order_check.options.tangent
    if isinstance(tangent, (tuple, list)):
        tangent = tangent[i] if i < len(tangent) else None
    if tangent is None or order_check.function.leaves[i].parameter is not None:
        return direction
    if order_check.function.leaves[i].is_complex:
        return parts(np.asarray(tangent(joined(direction)), np.complex128))
    return np.asarray(tangent(direction), np.float64)
