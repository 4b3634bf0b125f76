"""Momentum SGD whose velocity does not contain the learning rate."""

from __future__ import annotations

from typing import Any

from minichainer.kernels.updates import compiled
from minichainer.optimizer.declarations import hyperparameter, state
from minichainer.optimizer.formula import FormulaRule
from minichainer.optimizer.gradient_method import GradientMethod


class CorrectedMomentumSGDRule(FormulaRule):
    """Update rule of :class:`CorrectedMomentumSGD`."""

    lr = hyperparameter(0.01, r'learning rate :math:`\eta`')
    momentum = hyperparameter(0.9, r'how much of the velocity :math:`v` remains from one update to the next')
    v = state()

    @staticmethod
    @compiled('corrected_momentum_sgd')
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, v: Any) -> None:
        lr, momentum = coefficients
        (step,) = temporaries
        v *= momentum
        v -= grad
        xp.multiply(v, lr, step)
        param += step


class CorrectedMomentumSGD(GradientMethod, rule=CorrectedMomentumSGDRule):
    r"""Momentum SGD where a new learning rate acts at once, :math:`v \leftarrow \mu v - g, w \leftarrow w + \eta v`.

    With a constant learning rate it makes the same steps as :class:`MomentumSGD`. From Goyal et al., *Accurate,
    large minibatch SGD*, 2017, https://arxiv.org/abs/1706.02677

    >>> import numpy as np, minichainer as chainer
    >>> model = chainer.Link()
    >>> with model.init_scope():
    ...     model.w = chainer.Parameter(np.ones(2, np.float64))
    >>> optimizer = chainer.optimizers.CorrectedMomentumSGD(lr=0.5).setup(model)
    >>> model.w.grad = np.array([1.0, -1.0])
    >>> optimizer.update()
    >>> model.w.array.round(4)
    array([0.5, 1.5])
    """

    lr: float
    momentum: float
