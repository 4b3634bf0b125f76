"""What is known about single elements of a gradient."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np


@dataclasses.dataclass
class Measured:
    """What is known about some elements of one gradient; all arrays have the same length.

    Attributes:
        elements: Their flat indices.
        numeric: Their measured gradients.
        analytic: The same from backward.
        tolerance: Allowed errors.
        verdict: Their verdicts.
        left: Slopes from the left.
        right: Slopes from the right.
        still: Whether no output has moved with the element at any step: that shows no slope if larger steps do.
        complete: Whether all others are known to be right.
    """

    elements: Any
    numeric: Any
    analytic: Any
    tolerance: Any
    verdict: Any
    left: Any
    right: Any
    still: Any
    complete: bool = True

    def joined(self, other: Measured) -> Measured:
        """The elements of both."""
        names = [f.name for f in dataclasses.fields(self) if f.name != 'complete']
        arrays: dict[str, Any] = {n: np.concatenate([getattr(self, n), getattr(other, n)]) for n in names}
        return Measured(**arrays)

    @property
    def distance(self) -> Any:
        """The absolute differences of numeric and analytic."""
        with np.errstate(all='ignore'):
            distance = abs(self.numeric - self.analytic)
        return np.where(np.isnan(distance), np.inf, distance)
