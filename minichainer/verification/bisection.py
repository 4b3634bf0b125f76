"""Finds the wrong elements by bisection: about ``2 log2(n)`` questions for each instead of ``n``."""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Found:
    """The wrong elements, worst first, and whether the list is complete."""

    indices: tuple[int, ...]
    badness: tuple[float, ...]
    complete: bool
    questions: int


def wrong_elements(badness: Callable[[Any], float], n: int, max_found: int = 64, max_questions: int = 4096) -> Found:
    """Finds the elements whose error is above tolerance.

    The part with the largest error for its size is halved first. Errors of two elements may cancel, so ``badness``
    should draw new signs for every question. If neither half of a wrong part looks wrong, both are asked again.
    Args:
        badness: Maps the indices of a part, an ascending array, to its error divided by the tolerance.
            Above 1 the part is wrong. NaN and infinity count as wrong.
        n: Number of elements.
        max_found: Stop when this many are found.
        max_questions: Stop after this many calls of ``badness``.

    >>> import numpy as np
    >>> error = np.zeros(1000)
    >>> error[[3, 500]] = 10, 20
    >>> found = wrong_elements(lambda part: abs(error[part]).sum(), 1000)
    >>> found.indices, found.complete, found.questions < 50
    ((500, 3), True, True)
    """
    search = _Search(badness)
    if n:
        search.ask(np.arange(n))
    while search.parts and len(search.found) < max_found and search.questions + 2 <= max_questions:
        search.halve()
    order = sorted(search.found, key=lambda i: -search.found[i])
    return Found(
        tuple(order),
        tuple(search.found[i] for i in order),
        not search.parts and not search.lost,
        search.questions,
    )


class _Search:
    def __init__(self, badness: Callable[[Any], float]) -> None:
        self.badness = badness
        self.questions = 0
        self.lost = 0
        self.found: dict[int, float] = {}
        self.parts: list[tuple[float, int, Any]] = []

    def ask(self, part: Any) -> bool:
        """Whether a part looks wrong. If so it is kept: a single element as a result, a larger part to be halved."""
        self.questions += 1
        value = float(self.badness(part))
        value = np.inf if np.isnan(value) else value
        if value > 1:
            self._keep(part, value)
        return value > 1

    def _keep(self, part: Any, value: float) -> None:
        """Stores a single element as a result, and queues a larger part."""
        if len(part) == 1:
            self.found[int(part[0])] = value
        else:
            heapq.heappush(self.parts, (-value / np.sqrt(len(part)), self.questions, part))

    def halve(self) -> None:
        """Tests both halves of the worst queued part."""
        _, _, part = heapq.heappop(self.parts)
        middle = len(part) // 2
        halves = part[:middle], part[middle:]
        # Twice, because errors within a half may have cancelled the first time.
        if not self._ask_each(halves) and not self._ask_each(halves):
            self.lost += 1

    def _ask_each(self, parts: Sequence[Any]) -> bool:
        return any([self.ask(part) for part in parts])
