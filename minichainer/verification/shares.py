"""The share of single elements in slopes along a direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minichainer.verification.arrays import host
from minichainer.verification.arrays import silent_norm as norm
from minichainer.verification.directional_derivatives import Derivatives


def hidden_elements(derivatives: Derivatives, i: int, directions: Sequence[Any], share: float) -> Any:
    """Which elements of leaf ``i`` have gradients that are a smaller share of each slope, but not 0."""
    largest_share = np.zeros(directions[0].shape)
    for d, k in derivatives.pairs:
        gradient = abs(host(derivatives.gradient(d, k, i)))
        for direction in directions:
            terms = gradient * abs(direction)
            largest_share = np.maximum(largest_share, terms / (norm(terms) or 1.0))
    return (largest_share > 0) & (largest_share < share)
