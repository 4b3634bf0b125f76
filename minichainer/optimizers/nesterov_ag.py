"""Nesterov's accelerated gradient."""

from __future__ import annotations

from typing import Any

from minichainer.optimizer.formula import ElementwiseRule
from minichainer.optimizer.gradient_method import GradientMethod
from minichainer.optimizer.hyperparameters import Hyperparameter, HyperparameterProxy

_default_hyperparam = Hyperparameter()
_default_hyperparam.lr = 0.01
_default_hyperparam.momentum = 0.9


class NesterovAGRule(ElementwiseRule):
    """Update rule of :class:`NesterovAG`.

    Args:
        parent_hyperparam (Hyperparameter): the defaults.
        lr (float): learning rate.
        momentum (float): how much of the velocity remains from one update to the next.

    """

    groupable = True
    state_names = ('v',)

    def __init__(
        self,
        parent_hyperparam: Hyperparameter | None = None,
        lr: float | None = None,
        momentum: float | None = None,
    ) -> None:
        super().__init__(parent_hyperparam or _default_hyperparam, lr=lr, momentum=momentum)

    def coefficients(self, hyperparam: Hyperparameter, dtype: Any) -> tuple[float | None, ...]:
        momentum = hyperparam.momentum
        return hyperparam.lr, momentum, momentum * momentum, 1 + momentum

    @staticmethod
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, *states: Any) -> None:
        lr, momentum, squared, ahead = coefficients
        (v,), step = states, temporaries[0]
        xp.multiply(grad, lr, step)
        v *= momentum
        v -= step
        step *= ahead
        param -= step
        xp.multiply(v, squared, step)
        param += step


class NesterovAG(GradientMethod):
    r"""Nesterov's accelerated gradient, in the form that takes the gradient at the parameter itself.

    .. math:: v \leftarrow \mu v - \eta g, \quad w \leftarrow w + \mu^2 v - (1 + \mu) \eta g

    Source: Bengio, Boulanger-Lewandowski, Pascanu, Advances in optimizing recurrent networks, 2012,
    https://arxiv.org/abs/1212.0901; with the velocity after its update, as in Chainer.

    Args:
        lr (float): learning rate.
        momentum (float): how much of the velocity remains from one update to the next.

    .. admonition:: Example

        >>> import numpy as np
        >>> import minichainer as chainer
        >>> model = chainer.Link()
        >>> with model.init_scope():
        ...     model.w = chainer.Parameter(np.ones(2, np.float64))
        >>> optimizer = chainer.optimizers.NesterovAG(lr=0.5).setup(model)
        >>> model.w.grad = np.array([1.0, -1.0])
        >>> optimizer.update()
        >>> model.w.array.round(4)
        array([-0.355,  2.355])

    """

    lr = HyperparameterProxy('lr')
    momentum = HyperparameterProxy('momentum')

    def __init__(
        self,
        lr: float = _default_hyperparam.lr,
        momentum: float = _default_hyperparam.momentum,
    ) -> None:
        super().__init__()
        self.hyperparam.lr = lr
        self.hyperparam.momentum = momentum

    def create_update_rule(self) -> NesterovAGRule:
        """Return a new :class:`NesterovAGRule`."""
        return NesterovAGRule(self.hyperparam)
