"""RMSprop as used by Graves: gradients divided by their recent deviation, with momentum."""

from __future__ import annotations

from typing import Any

from minichainer.kernels.updates import compiled
from minichainer.optimizer.declarations import hyperparameter, state
from minichainer.optimizer.formula import FormulaRule
from minichainer.optimizer.gradient_method import GradientMethod
from minichainer.optimizers._moments import of_mean_square


class RMSpropGravesRule(FormulaRule):
    """Update rule of :class:`RMSpropGraves`."""

    lr = hyperparameter(1e-4, r'learning rate :math:`\eta`')
    alpha = hyperparameter(0.95, 'how much of the averages remains from one update to the next')
    momentum = hyperparameter(0.9, r'how much of the velocity :math:`\delta` remains from one update to the next')
    eps = hyperparameter(1e-4, 'added to the variance, keeps it from being zero')
    n = state()
    g = state()
    delta = state()
    temporaries = 2

    def coefficients(self, hyperparam: Any, dtype: Any) -> tuple[float | None, ...]:
        alpha = hyperparam.alpha
        return hyperparam.lr, *of_mean_square(alpha), 1 - alpha, hyperparam.momentum, hyperparam.eps

    @staticmethod
    @compiled('rmsprop_graves')
    def formula(
        xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, n: Any, g: Any, delta: Any
    ) -> None:
        lr, alpha, root, fresh, momentum, eps = coefficients
        step, spare = temporaries
        n *= alpha
        xp.multiply(grad, root, step)
        step *= step
        n += step
        g *= alpha
        xp.multiply(grad, fresh, step)
        g += step
        # The variance as a product: the difference of two squares may be that of two infinities, or negative.
        xp.sqrt(n, step)
        xp.add(step, g, spare)
        step -= g
        step *= spare
        xp.maximum(step, 0, out=step)
        step += eps
        xp.sqrt(step, step)
        xp.divide(grad, step, step)
        step *= lr
        delta *= momentum
        delta -= step
        param += delta


class RMSpropGraves(GradientMethod, rule=RMSpropGravesRule):
    r"""RMSprop as used by Graves: divides by the root of a running variance of the gradient, with momentum.

    .. math::
        n \leftarrow \alpha n + (1 - \alpha) g^2, \quad
        \bar g \leftarrow \alpha \bar g + (1 - \alpha) g, \quad
        \delta \leftarrow \mu \delta - \eta \frac{g}{\sqrt{n - \bar g^2 + \epsilon}}, \quad
        w \leftarrow w + \delta

    From Graves, *Generating sequences with recurrent neural networks*, 2013, https://arxiv.org/abs/1308.0850

    >>> import numpy as np, minichainer as chainer
    >>> model = chainer.Link()
    >>> with model.init_scope():
    ...     model.w = chainer.Parameter(np.ones(2, np.float64))
    >>> optimizer = chainer.optimizers.RMSpropGraves(lr=0.1).setup(model)
    >>> model.w.grad = np.array([1.0, -1.0])
    >>> optimizer.update()
    >>> model.w.array.round(4)
    array([0.5417, 1.4583])
    """

    lr: float
    alpha: float
    momentum: float
    eps: float
