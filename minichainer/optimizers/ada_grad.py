"""AdaGrad: a learning rate for each element, by all its gradients so far."""

from __future__ import annotations

from typing import Any

from minichainer.optimizer.formula import ElementwiseRule
from minichainer.optimizer.gradient_method import GradientMethod
from minichainer.optimizer.hyperparameters import Hyperparameter, HyperparameterProxy

_default_hyperparam = Hyperparameter()
_default_hyperparam.lr = 0.001
_default_hyperparam.eps = 1e-8


class AdaGradRule(ElementwiseRule):
    """Update rule of :class:`AdaGrad`.

    Args:
        parent_hyperparam (Hyperparameter): the defaults.
        lr (float): learning rate.
        eps (float): keeps the divisor from being zero.

    """

    groupable = True
    state_names = ('h',)

    def __init__(
        self,
        parent_hyperparam: Hyperparameter | None = None,
        lr: float | None = None,
        eps: float | None = None,
    ) -> None:
        super().__init__(parent_hyperparam or _default_hyperparam, lr=lr, eps=eps)

    def coefficients(self, hyperparam: Hyperparameter, dtype: Any) -> tuple[float | None, ...]:
        return hyperparam.lr, hyperparam.eps

    @staticmethod
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, *states: Any) -> None:
        lr, eps = coefficients
        (h,), step = states, temporaries[0]
        xp.multiply(grad, grad, step)
        h += step
        xp.sqrt(h, step)
        step += eps
        xp.divide(grad, step, step)
        step *= lr
        param -= step


class AdaGrad(GradientMethod):
    r"""AdaGrad: divides by the root of the sum of all squared gradients so far.

    .. math:: h \leftarrow h + g^2, \quad w \leftarrow w - \eta \frac{g}{\sqrt{h} + \epsilon}

    Source: Duchi, Hazan, Singer, Adaptive subgradient methods for online learning and stochastic
        optimization,
    JMLR 12, 2011.

    Args:
        lr (float): learning rate.
        eps (float): keeps the divisor from being zero.

    .. admonition:: Example

        >>> import numpy as np
        >>> import minichainer as chainer
        >>> model = chainer.Link()
        >>> with model.init_scope():
        ...     model.w = chainer.Parameter(np.ones(2, np.float64))
        >>> optimizer = chainer.optimizers.AdaGrad(lr=0.5).setup(model)
        >>> model.w.grad = np.array([1.0, -1.0])
        >>> optimizer.update()
        >>> model.w.array.round(4)
        array([0.5, 1.5])

    """

    lr = HyperparameterProxy('lr')
    eps = HyperparameterProxy('eps')

    def __init__(
        self,
        lr: float = _default_hyperparam.lr,
        eps: float = _default_hyperparam.eps,
    ) -> None:
        super().__init__()
        self.hyperparam.lr = lr
        self.hyperparam.eps = eps

    def create_update_rule(self) -> AdaGradRule:
        """Return a new :class:`AdaGradRule`."""
        return AdaGradRule(self.hyperparam)
