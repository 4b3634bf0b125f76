"""Nesterov's accelerated gradient."""

from __future__ import annotations

from typing import Any

from minichainer.kernels.updates import compiled
from minichainer.optimizer.declarations import hyperparameter, state
from minichainer.optimizer.formula import FormulaRule
from minichainer.optimizer.gradient_method import GradientMethod


class NesterovAGRule(FormulaRule):
    """Update rule of :class:`NesterovAG`."""

    lr = hyperparameter(0.01, r'learning rate :math:`\eta`')
    momentum = hyperparameter(0.9, r'how much of the velocity :math:`v` remains from one update to the next')
    v = state()

    def coefficients(self, hyperparam: Any, dtype: Any) -> tuple[float | None, ...]:
        momentum = hyperparam.momentum
        return hyperparam.lr, momentum, momentum * momentum, 1 + momentum

    @staticmethod
    @compiled('nesterov_ag')
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, v: Any) -> None:
        lr, momentum, squared, ahead = coefficients
        (step,) = temporaries
        xp.multiply(grad, lr, step)
        v *= momentum
        v -= step
        step *= ahead
        param -= step
        xp.multiply(v, squared, step)
        param += step


class NesterovAG(GradientMethod, rule=NesterovAGRule):
    r"""Nesterov's accelerated gradient, in the form that takes the gradient at the parameter itself.

    .. math:: v \leftarrow \mu v - \eta g, \quad w \leftarrow w + \mu^2 v - (1 + \mu) \eta g

    From Bengio, Boulanger-Lewandowski, Pascanu, *Advances in optimizing recurrent networks*, 2012,
    https://arxiv.org/abs/1212.0901; with the velocity after its update, as in Chainer.

    >>> import numpy as np, minichainer as chainer
    >>> model = chainer.Link()
    >>> with model.init_scope():
    ...     model.w = chainer.Parameter(np.ones(2, np.float64))
    >>> optimizer = chainer.optimizers.NesterovAG(lr=0.5).setup(model)
    >>> model.w.grad = np.array([1.0, -1.0])
    >>> optimizer.update()
    >>> model.w.array.round(4)
    array([-0.355,  2.355])
    """

    lr: float
    momentum: float
