"""Running means of the gradient and of its square, as in Adam."""

from __future__ import annotations

from typing import Any


def update_moments(xp: Any, grad: Any, m: Any, v: Any, fresh1: Any, fresh2: Any, spare: Any) -> None:
    """Move ``m`` by the part ``fresh1`` towards the gradient, and ``v`` by ``fresh2`` towards its square."""
    xp.subtract(grad, m, spare)
    spare *= fresh1
    m += spare
    xp.multiply(grad, grad, spare)
    spare -= v
    spare *= fresh2
    v += spare
