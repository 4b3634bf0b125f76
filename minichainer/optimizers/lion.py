"""Lion: steps of equal size, in the direction of a running mean of gradients."""

from __future__ import annotations

from typing import Any

from minichainer.kernels.updates import compiled
from minichainer.optimizer.declarations import hyperparameter, state
from minichainer.optimizer.formula import FormulaRule
from minichainer.optimizer.gradient_method import GradientMethod


class LionRule(FormulaRule):
    """Update rule of :class:`Lion`."""

    lr = hyperparameter(1e-4, r'learning rate :math:`\eta`, the size of the step of each element')
    beta1 = hyperparameter(
        0.9, r'weight of the mean :math:`m` in the direction of the step, 1 minus that of the gradient'
    )
    beta2 = hyperparameter(0.99, r'how much of the mean :math:`m` remains from one update to the next')
    weight_decay_rate = hyperparameter(0, r'decay :math:`\lambda` of the weights, which the learning rate multiplies')
    m = state()
    temporaries = 2

    def coefficients(self, hyperparam: Any, dtype: Any) -> tuple[float | None, ...]:
        kept = 1 - hyperparam.lr * hyperparam.weight_decay_rate
        return hyperparam.lr, kept, 1 - hyperparam.beta1, 1 - hyperparam.beta2

    @staticmethod
    @compiled('lion')
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, m: Any) -> None:
        lr, kept, fresh1, fresh2 = coefficients
        step, spare = temporaries
        xp.subtract(grad, m, spare)
        xp.multiply(spare, fresh1, step)
        step += m
        xp.sign(step, step)
        step *= lr
        spare *= fresh2
        m += spare
        param *= kept
        param -= step


class Lion(GradientMethod, rule=LionRule):
    r"""Lion: steps of size ``lr`` along the sign of a running mean of the gradient.

    .. math::
        w \leftarrow w - \eta \left( \mathrm{sign}(m + (1 - \beta_1)(g - m)) + \lambda w \right), \quad
        m \leftarrow m + (1 - \beta_2)(g - m)

    It keeps one state where Adam keeps two. The authors choose a learning rate 3 to 10 times smaller than for
    AdamW, and a decay as many times larger. From Chen et al., *Symbolic discovery of optimization algorithms*,
    2023, https://arxiv.org/abs/2302.06675

    >>> import numpy as np, minichainer as chainer
    >>> model = chainer.Link()
    >>> with model.init_scope():
    ...     model.w = chainer.Parameter(np.ones(2, np.float64))
    >>> optimizer = chainer.optimizers.Lion(lr=0.25).setup(model)
    >>> model.w.grad = np.array([1.0, -3.0])
    >>> optimizer.update()
    >>> model.w.array
    array([0.75, 1.25])
    """

    lr: float
    beta1: float
    beta2: float
    weight_decay_rate: float
