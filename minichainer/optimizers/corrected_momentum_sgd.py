"""Momentum SGD whose velocity does not contain the learning rate."""

from __future__ import annotations

from typing import Any

from minichainer.optimizer.formula import ElementwiseRule
from minichainer.optimizer.gradient_method import GradientMethod
from minichainer.optimizer.hyperparameters import Hyperparameter, HyperparameterProxy

_default_hyperparam = Hyperparameter()
_default_hyperparam.lr = 0.01
_default_hyperparam.momentum = 0.9


class CorrectedMomentumSGDRule(ElementwiseRule):
    """Update rule of :class:`CorrectedMomentumSGD`.

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
        return hyperparam.lr, hyperparam.momentum

    @staticmethod
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, *states: Any) -> None:
        lr, momentum = coefficients
        (v,), step = states, temporaries[0]
        v *= momentum
        v -= grad
        xp.multiply(v, lr, step)
        param += step


class CorrectedMomentumSGD(GradientMethod):
    r"""Momentum SGD in which a change of the learning rate acts at once, on the whole velocity.

    .. math:: v \leftarrow \mu v - g, \quad w \leftarrow w + \eta v

    With a constant learning rate it makes the same steps as :class:`MomentumSGD`.

    Source: Goyal et al., Accurate, large minibatch SGD, 2017, https://arxiv.org/abs/1706.02677

    Args:
        lr (float): learning rate.
        momentum (float): how much of the velocity remains from one update to the next.

    .. admonition:: Example

        >>> import numpy as np
        >>> import minichainer as chainer
        >>> model = chainer.Link()
        >>> with model.init_scope():
        ...     model.w = chainer.Parameter(np.ones(2, np.float64))
        >>> optimizer = chainer.optimizers.CorrectedMomentumSGD(lr=0.5).setup(model)
        >>> model.w.grad = np.array([1.0, -1.0])
        >>> optimizer.update()
        >>> model.w.array.round(4)
        array([0.5, 1.5])

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

    def create_update_rule(self) -> CorrectedMomentumSGDRule:
        """Return a new :class:`CorrectedMomentumSGDRule`."""
        return CorrectedMomentumSGDRule(self.hyperparam)
