"""M-SVAG: momentum SGD scaled by the variance of the gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from minichainer.kernels.updates import compiled
from minichainer.optimizer.declarations import hyperparameter, state
from minichainer.optimizer.formula import FormulaRule
from minichainer.optimizer.gradient_method import GradientMethod
from minichainer.optimizers._moments import of_mean_square, update_moments


class MSVAGRule(FormulaRule):
    """Update rule of :class:`MSVAG`."""

    lr = hyperparameter(0.1, 'learning rate')
    beta = hyperparameter(0.9, 'how much of the averages remains from one update to the next')
    eta = hyperparameter(1.0, r'factor :math:`\eta` of the whole step, for schedules')
    weight_decay_rate = hyperparameter(0, r'decay :math:`\lambda` of the weights, separate from the gradient')
    m = state()
    v = state()
    temporaries = 2

    def coefficients(self, hyperparam: Any, dtype: Any) -> tuple[float | None, ...]:
        beta = hyperparam.beta
        correction = 1 - beta**self.t
        rho = (1 - beta) * (2 - correction) / ((1 + beta) * correction)
        # One gradient does not determine its variance: the first step is plain momentum SGD, as with beta 0.
        noise = rho / (1 - rho) if self.t > 1 and beta else 0.0
        decay = hyperparam.eta * hyperparam.weight_decay_rate or None
        return (
            1 - beta,
            *of_mean_square(beta),
            1 / correction,
            correction**-0.5,
            noise,
            hyperparam.eta * hyperparam.lr,
            decay,
            float(np.finfo(dtype).tiny),
        )

    @staticmethod
    @compiled('msvag', optional=(7,))
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, m: Any, v: Any) -> None:
        fresh, kept, root, correction, root_of_correction, noise, rate, decay, tiny = coefficients
        step, spare = temporaries
        update_moments(xp, grad, m, v, fresh, kept, root, step)
        # The signal relative to the mean square, whatever their size: it is at most one, except for rounding.
        xp.sqrt(v, spare)
        xp.maximum(spare, tiny, out=spare)
        xp.divide(m, spare, step)
        step *= root_of_correction
        xp.clip(step, -1, 1, out=step)
        step *= step
        xp.subtract(1, step, spare)
        spare *= noise
        spare += step
        # If mean and variance are both zero, the step is zero.
        xp.maximum(spare, tiny, out=spare)
        step /= spare
        step *= m
        step *= correction
        step *= rate
        if decay is not None:
            xp.multiply(param, decay, spare)
            step += spare
        param -= step


class MSVAG(GradientMethod, rule=MSVAGRule):
    r"""M-SVAG: momentum SGD with each element scaled by the certainty of its gradient.

    With running means :math:`m` of the gradient and :math:`v` of its square, both corrected for their start
    at zero,

    .. math::
        \rho = \frac{(1 - \beta)(1 + \beta^t)}{(1 + \beta)(1 - \beta^t)}, \quad
        s = \frac{v - m^2}{1 - \rho}, \quad
        w \leftarrow w - \eta \left( \mathrm{lr} \frac{m^2}{m^2 + \rho s} m + \lambda w \right).

    From Balles, Hennig, *Dissecting Adam: the sign, magnitude and variance of stochastic gradients*, ICML 2018,
    https://arxiv.org/abs/1705.07774

    >>> import numpy as np, minichainer as chainer
    >>> model = chainer.Link()
    >>> with model.init_scope():
    ...     model.w = chainer.Parameter(np.ones(2, np.float64))
    >>> optimizer = chainer.optimizers.MSVAG(lr=0.5).setup(model)
    >>> model.w.grad = np.array([1.0, -1.0])
    >>> optimizer.update()
    >>> model.w.array.round(4)
    array([0.5, 1.5])
    """

    lr: float
    beta: float
    eta: float
    weight_decay_rate: float
