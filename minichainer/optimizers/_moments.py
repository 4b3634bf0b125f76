"""Running means of the gradient and of its square, as in Adam."""

from __future__ import annotations

from typing import Any

from minichainer.optimizer.declarations import hyperparameter, state
from minichainer.optimizer.formula import FormulaRule


class MomentsRule(FormulaRule):
    """Update rule that keeps running means of the gradient and of its square."""

    alpha = hyperparameter(0.001, r'step size :math:`\alpha`')
    beta1 = hyperparameter(0.9, r'how much of the mean gradient :math:`m` remains from one update to the next')
    beta2 = hyperparameter(0.999, r'how much of the mean square :math:`v` remains from one update to the next')
    eps = hyperparameter(1e-8, 'avoids division by zero')
    m = state()
    v = state()
    temporaries = 2


def update_moments(xp: Any, grad: Any, m: Any, v: Any, fresh1: Any, fresh2: Any, spare: Any) -> None:
    """Moves ``m`` towards the gradient by the fraction ``fresh1``, and ``v`` towards its square by ``fresh2``."""
    xp.subtract(grad, m, spare)
    spare *= fresh1
    m += spare
    xp.multiply(grad, grad, spare)
    spare -= v
    spare *= fresh2
    v += spare
