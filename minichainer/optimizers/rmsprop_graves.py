"""RMSprop as used by Graves: gradients divided by their recent deviation, with momentum."""

from __future__ import annotations

from typing import Any

from minichainer.optimizer.formula import ElementwiseRule
from minichainer.optimizer.gradient_method import GradientMethod
from minichainer.optimizer.hyperparameters import Hyperparameter, HyperparameterProxy

_default_hyperparam = Hyperparameter()
_default_hyperparam.lr = 1e-4
_default_hyperparam.alpha = 0.95
_default_hyperparam.momentum = 0.9
_default_hyperparam.eps = 1e-4


class RMSpropGravesRule(ElementwiseRule):
    """Update rule of :class:`RMSpropGraves`.

    Args:
        parent_hyperparam (Hyperparameter): the defaults.
        lr (float): learning rate.
        alpha (float): how much of the averages remains from one update to the next.
        momentum (float): how much of the velocity remains from one update to the next.
        eps (float): added to the variance, keeps it from being zero.

    """

    groupable = True
    state_names = ('n', 'g', 'delta')

    def __init__(
        self,
        parent_hyperparam: Hyperparameter | None = None,
        lr: float | None = None,
        alpha: float | None = None,
        momentum: float | None = None,
        eps: float | None = None,
    ) -> None:
        super().__init__(parent_hyperparam or _default_hyperparam, lr=lr, alpha=alpha, momentum=momentum, eps=eps)

    def coefficients(self, hyperparam: Hyperparameter, dtype: Any) -> tuple[float | None, ...]:
        alpha = hyperparam.alpha
        return hyperparam.lr, alpha, 1 - alpha, hyperparam.momentum, hyperparam.eps

    @staticmethod
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, *states: Any) -> None:
        lr, alpha, fresh, momentum, eps = coefficients
        (n, g, delta), step = states, temporaries[0]
        n *= alpha
        xp.multiply(grad, grad, step)
        step *= fresh
        n += step
        g *= alpha
        xp.multiply(grad, fresh, step)
        g += step
        xp.multiply(g, g, step)
        xp.subtract(n, step, step)
        step += eps
        xp.sqrt(step, step)
        xp.divide(grad, step, step)
        step *= lr
        delta *= momentum
        delta -= step
        param += delta


class RMSpropGraves(GradientMethod):
    r"""RMSprop as used by Graves: divides by the root of a running variance of the gradient, with momentum.

    .. math::
        n \leftarrow \alpha n + (1 - \alpha) g^2, \quad
        \bar g \leftarrow \alpha \bar g + (1 - \alpha) g, \quad
        \delta \leftarrow \mu \delta - \eta \frac{g}{\sqrt{n - \bar g^2 + \epsilon}}, \quad
        w \leftarrow w + \delta

    Source: Graves, Generating sequences with recurrent neural networks, 2013, https://arxiv.org/abs/1308.0850

    Args:
        lr (float): learning rate.
        alpha (float): how much of the averages remains from one update to the next.
        momentum (float): how much of the velocity remains from one update to the next.
        eps (float): added to the variance, keeps it from being zero.

    .. admonition:: Example

        >>> import numpy as np
        >>> import minichainer as chainer
        >>> model = chainer.Link()
        >>> with model.init_scope():
        ...     model.w = chainer.Parameter(np.ones(2, np.float64))
        >>> optimizer = chainer.optimizers.RMSpropGraves(lr=0.1).setup(model)
        >>> model.w.grad = np.array([1.0, -1.0])
        >>> optimizer.update()
        >>> model.w.array.round(4)
        array([0.5417, 1.4583])

    """

    lr = HyperparameterProxy('lr')
    alpha = HyperparameterProxy('alpha')
    momentum = HyperparameterProxy('momentum')
    eps = HyperparameterProxy('eps')

    def __init__(
        self,
        lr: float = _default_hyperparam.lr,
        alpha: float = _default_hyperparam.alpha,
        momentum: float = _default_hyperparam.momentum,
        eps: float = _default_hyperparam.eps,
    ) -> None:
        super().__init__()
        self.hyperparam.lr = lr
        self.hyperparam.alpha = alpha
        self.hyperparam.momentum = momentum
        self.hyperparam.eps = eps

    def create_update_rule(self) -> RMSpropGravesRule:
        """Return a new :class:`RMSpropGravesRule`."""
        return RMSpropGravesRule(self.hyperparam)
