"""Stochastic gradient descent with momentum."""

from __future__ import annotations

from typing import Any

from minichainer.kernels.updates import compiled
from minichainer.optimizer.declarations import hyperparameter, state
from minichainer.optimizer.formula import FormulaRule
from minichainer.optimizer.gradient_method import GradientMethod


class MomentumSGDRule(FormulaRule):
    """Update rule of :class:`MomentumSGD`."""

    lr = hyperparameter(0.01, r'learning rate :math:`\eta`')
    momentum = hyperparameter(0.9, r'how much of the velocity :math:`v` remains from one update to the next')
    v = state()

    @staticmethod
    @compiled('momentum_sgd')
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, v: Any) -> None:
        lr, momentum = coefficients
        (step,) = temporaries
        v *= momentum
        xp.multiply(grad, lr, step)
        v -= step
        param += v


class MomentumSGD(GradientMethod, rule=MomentumSGDRule):
    r"""Stochastic gradient descent with momentum, :math:`v \leftarrow \mu v - \eta g, w \leftarrow w + v`.

    From Polyak, *Some methods of speeding up the convergence of iteration methods*, 1964.

    >>> import numpy as np, minichainer as chainer
    >>> model = chainer.Link()
    >>> with model.init_scope():
    ...     model.w = chainer.Parameter(np.ones(2, np.float64))
    >>> optimizer = chainer.optimizers.MomentumSGD(lr=0.5).setup(model)
    >>> model.w.grad = np.array([1.0, -1.0])
    >>> optimizer.update()
    >>> model.w.array.round(4)
    array([0.5, 1.5])
    """

    lr: float
    momentum: float
