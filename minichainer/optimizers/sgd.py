"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from minichainer.optimizer.formula import ElementwiseRule
from minichainer.optimizer.gradient_method import GradientMethod
from minichainer.optimizer.hyperparameters import Hyperparameter, HyperparameterProxy

_default_hyperparam = Hyperparameter()
_default_hyperparam.lr = 0.01


class SGDRule(ElementwiseRule):
    """Update rule of :class:`SGD`.

    Args:
        parent_hyperparam (Hyperparameter): the defaults.
        lr (float): learning rate.

    """

    groupable = True

    def __init__(self, parent_hyperparam: Hyperparameter | None = None, lr: float | None = None) -> None:
        super().__init__(parent_hyperparam or _default_hyperparam, lr=lr)

    def coefficients(self, hyperparam: Hyperparameter, dtype: Any) -> tuple[float | None, ...]:
        return (hyperparam.lr,)

    @staticmethod
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, *states: Any) -> None:
        (lr,) = coefficients
        step = temporaries[0]
        xp.multiply(grad, lr, step)
        param -= step


class SGD(GradientMethod):
    r"""Stochastic gradient descent, :math:`w \leftarrow w - \eta g`.

    Args:
        lr (float): learning rate :math:`\eta`.

    .. admonition:: Example

        >>> import numpy as np
        >>> import minichainer as chainer
        >>> model = chainer.Link()
        >>> with model.init_scope():
        ...     model.w = chainer.Parameter(np.ones(2, np.float64))
        >>> optimizer = chainer.optimizers.SGD(lr=0.5).setup(model)
        >>> model.w.grad = np.array([1.0, -1.0])
        >>> optimizer.update()
        >>> model.w.array
        array([0.5, 1.5])

    """

    lr = HyperparameterProxy('lr')

    def __init__(self, lr: float = _default_hyperparam.lr) -> None:
        super().__init__()
        self.hyperparam.lr = lr

    def create_update_rule(self) -> SGDRule:
        """Return a new :class:`SGDRule`."""
        return SGDRule(self.hyperparam)
