"""Running means of the gradient and of its square, as in Adam."""

from __future__ import annotations

from typing import Any


def update_moments(xp: Any, grad: Any, m: Any, v: Any, fresh1: Any, fresh2: Any, spare: Any) -> None:
    """Moves ``m`` towards the gradient by the fraction ``fresh1``, and ``v`` towards its square by ``fresh2``."""
    xp.subtract(grad, m, spare)
    spare *= fresh1
    m += spare
    xp.multiply(grad, grad, spare)
    spare -= v
    spare *= fresh2
    v += spare
