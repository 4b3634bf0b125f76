"""AdaGrad: a learning rate for each element, from all its previous gradients."""

from __future__ import annotations

from typing import Any

from minichainer.kernels.updates import compiled
from minichainer.optimizer.declarations import hyperparameter, state
from minichainer.optimizer.formula import FormulaRule
from minichainer.optimizer.gradient_method import GradientMethod


class AdaGradRule(FormulaRule):
    """Update rule of :class:`AdaGrad`."""

    lr = hyperparameter(0.001, r'learning rate :math:`\eta`')
    eps = hyperparameter(1e-8, 'avoids division by zero')
    h = state()

    @staticmethod
    @compiled('ada_grad')
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, h: Any) -> None:
        lr, eps = coefficients
        (step,) = temporaries
        xp.multiply(grad, grad, step)
        h += step
        xp.sqrt(h, step)
        step += eps
        xp.divide(grad, step, step)
        step *= lr
        param -= step


class AdaGrad(GradientMethod, rule=AdaGradRule):
    r"""AdaGrad: divides by the root of the sum of all squared gradients so far.

    .. math:: h \leftarrow h + g^2, \quad w \leftarrow w - \eta \frac{g}{\sqrt{h} + \epsilon}

    From Duchi, Hazan, Singer, *Adaptive subgradient methods for online learning and stochastic optimization*,
    JMLR 12, 2011.

    >>> import numpy as np, minichainer as chainer
    >>> model = chainer.Link()
    >>> with model.init_scope():
    ...     model.w = chainer.Parameter(np.ones(2, np.float64))
    >>> optimizer = chainer.optimizers.AdaGrad(lr=0.5).setup(model)
    >>> model.w.grad = np.array([1.0, -1.0])
    >>> optimizer.update()
    >>> model.w.array.round(4)
    array([0.5, 1.5])
    """

    lr: float
    eps: float
