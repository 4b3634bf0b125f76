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


def update_moments(xp: Any, grad: Any, m: Any, v: Any, fresh: Any, kept: Any, root: Any, spare: Any) -> None:
    """Moves ``m`` towards the gradient by the fraction ``fresh``; ``kept`` of ``v`` remains, ``root`` is of the rest.

    The square is taken of the gradient times the root, so that it overflows late, and nothing is subtracted from it:
    the difference of two infinities would remain in ``v``.
    """
    xp.subtract(grad, m, spare)
    spare *= fresh
    m += spare
    v *= kept
    xp.multiply(grad, root, spare)
    spare *= spare
    v += spare


def of_mean_square(beta: Any) -> tuple[Any, Any]:
    """How much of a mean square remains from one update to the next, and the root of the rest."""
    return beta, (1 - beta) ** 0.5
