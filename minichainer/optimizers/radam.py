"""RAdam: Adam that makes plain momentum steps until its mean square is reliable."""

from __future__ import annotations

import math
from typing import Any

from minichainer.kernels.updates import compiled
from minichainer.optimizer.declarations import hyperparameter
from minichainer.optimizer.formula import check_eps
from minichainer.optimizer.gradient_method import GradientMethod
from minichainer.optimizers._moments import MomentsRule, of_mean_square, update_moments


class RAdamRule(MomentsRule):
    """Update rule of :class:`RAdam`."""

    eta = hyperparameter(1.0, r'factor :math:`\eta` of the whole step, for schedules')
    weight_decay_rate = hyperparameter(0, r'decay :math:`\lambda` of the weights, separate from the gradient')

    def coefficients(self, hyperparam: Any, dtype: Any) -> tuple[float | None, ...]:
        check_eps(type(self).__name__, float(hyperparam.eps), dtype)
        beta1, beta2, eta, t = hyperparam.beta1, hyperparam.beta2, hyperparam.eta, self.t
        correction = 1 - beta2**t
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * t * (1 - correction) / correction
        rate, eps = eta * hyperparam.alpha / (1 - beta1**t), None
        if length > 5:
            ratio = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
            rate, eps = rate * math.sqrt(correction * ratio), hyperparam.eps
        return 1 - beta1, *of_mean_square(beta2), rate, eps, eta * hyperparam.weight_decay_rate or None

    @staticmethod
    @compiled('radam', optional=(4, 5))
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, m: Any, v: Any) -> None:
        fresh, kept, root, rate, eps, decay = coefficients
        step, spare = temporaries
        update_moments(xp, grad, m, v, fresh, kept, root, spare)
        if eps is None:
            xp.multiply(m, rate, step)
        else:
            xp.sqrt(v, step)
            step += eps
            xp.divide(m, step, step)
            step *= rate
        if decay is not None:
            xp.multiply(param, decay, spare)
            step += spare
        param -= step


class RAdam(GradientMethod, rule=RAdamRule):
    r"""RAdam (rectified Adam): adapts to each element once the mean square of its gradients is reliable.

    .. math::
        m &\leftarrow m + (1 - \beta_1)(g - m), \quad v \leftarrow v + (1 - \beta_2)(g^2 - v), \\
        \rho_\infty &= \frac{2}{1 - \beta_2} - 1, \quad
        \rho = \rho_\infty - \frac{2 t \beta_2^t}{1 - \beta_2^t}, \quad
        r = \sqrt{\frac{(\rho - 4)(\rho - 2) \rho_\infty}{(\rho_\infty - 4)(\rho_\infty - 2) \rho}}, \\
        w &\leftarrow w - \eta \left( \alpha \frac{m}{1 - \beta_1^t}
        \cdot \frac{r \sqrt{1 - \beta_2^t}}{\sqrt{v} + \epsilon} + \lambda w \right)

    The fraction with :math:`r` is left out while :math:`\rho \leq 5` (4 in the paper, 5 in the code of its authors
    and in PyTorch), which makes the first steps those of SGD with momentum. From Liu et al., *On the variance of
    the adaptive learning rate and beyond*, ICLR 2020, https://arxiv.org/abs/1908.03265

    Raises:
        ValueError: on update, ``eps`` is not 0 and rounds to 0 in the dtype of the computation. With 0, elements
            whose gradients have all been 0 become NaN.

    >>> import numpy as np, minichainer as chainer
    >>> model = chainer.Link()
    >>> with model.init_scope():
    ...     model.w = chainer.Parameter(np.ones(2, np.float64))
    >>> optimizer = chainer.optimizers.RAdam(alpha=0.25).setup(model)
    >>> model.w.grad = np.array([1.0, -3.0])
    >>> optimizer.update()
    >>> model.w.array.round(4)
    array([0.75, 1.75])
    """

    alpha: float
    beta1: float
    beta2: float
    eps: float
    eta: float
    weight_decay_rate: float
