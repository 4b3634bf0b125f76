"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from minichainer.kernels.updates import compiled
from minichainer.optimizer.declarations import hyperparameter
from minichainer.optimizer.formula import FormulaRule
from minichainer.optimizer.gradient_method import GradientMethod


class SGDRule(FormulaRule):
    """Update rule of :class:`SGD`."""

    lr = hyperparameter(0.01, r'learning rate :math:`\eta`')

    @staticmethod
    @compiled('sgd')
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any) -> None:
        (lr,) = coefficients
        (step,) = temporaries
        xp.multiply(grad, lr, step)
        param -= step


class SGD(GradientMethod, rule=SGDRule):
    r"""Stochastic gradient descent, :math:`w \leftarrow w - \eta g`.

    >>> import numpy as np, minichainer as chainer
    >>> model = chainer.Link()
    >>> with model.init_scope():
    ...     model.w = chainer.Parameter(np.ones(2, np.float64))
    >>> optimizer = chainer.optimizers.SGD(lr=0.5).setup(model)
    >>> model.w.grad = np.array([1.0, -1.0])
    >>> optimizer.update()
    >>> model.w.array.round(4)
    array([0.5, 1.5])
    """

    lr: float
