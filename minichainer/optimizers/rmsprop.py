"""RMSprop: gradients divided by their recent size."""

from __future__ import annotations

from typing import Any

from minichainer.optimizer.formula import ElementwiseRule, check_eps
from minichainer.optimizer.gradient_method import GradientMethod
from minichainer.optimizer.hyperparameters import Hyperparameter, HyperparameterProxy

_default_hyperparam = Hyperparameter()
_default_hyperparam.lr = 0.01
_default_hyperparam.alpha = 0.99
_default_hyperparam.eps = 1e-8
_default_hyperparam.eps_inside_sqrt = False


class RMSpropRule(ElementwiseRule):
    """Update rule of :class:`RMSprop`.

    Args:
        parent_hyperparam (Hyperparameter): the defaults.
        lr (float): learning rate.
        alpha (float): how much of the mean square remains from one update to the next.
        eps (float): keeps the divisor from being zero.
        eps_inside_sqrt (bool): whether ``eps`` is added before the root is taken instead of after.

    """

    groupable = True
    state_names = ('ms',)

    def __init__(
        self,
        parent_hyperparam: Hyperparameter | None = None,
        lr: float | None = None,
        alpha: float | None = None,
        eps: float | None = None,
        eps_inside_sqrt: bool | None = None,
    ) -> None:
        super().__init__(
            parent_hyperparam or _default_hyperparam,
            lr=lr,
            alpha=alpha,
            eps=eps,
            eps_inside_sqrt=eps_inside_sqrt,
        )

    def coefficients(self, hyperparam: Hyperparameter, dtype: Any) -> tuple[float | None, ...]:
        check_eps(self, hyperparam.eps, dtype)
        inside = hyperparam.eps if hyperparam.eps_inside_sqrt else None
        outside = None if hyperparam.eps_inside_sqrt else hyperparam.eps
        return hyperparam.lr, hyperparam.alpha, 1 - hyperparam.alpha, inside, outside

    @staticmethod
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, *states: Any) -> None:
        lr, alpha, fresh, inside, outside = coefficients
        (ms,), step = states, temporaries[0]
        ms *= alpha
        xp.multiply(grad, grad, step)
        step *= fresh
        ms += step
        if outside is None:
            xp.add(ms, inside, step)
            xp.sqrt(step, step)
        else:
            xp.sqrt(ms, step)
            step += outside
        xp.divide(grad, step, step)
        step *= lr
        param -= step


class RMSprop(GradientMethod):
    r"""RMSprop: divides by the root of a running mean of squared gradients.

    .. math:: m \leftarrow \alpha m + (1 - \alpha) g^2, \quad w \leftarrow w - \eta \frac{g}{\sqrt{m} +
    \epsilon}

    Source: Tieleman, Hinton, Lecture 6.5 of Neural Networks for Machine Learning, 2012.

    Args:
        lr (float): learning rate.
        alpha (float): how much of the mean square remains from one update to the next.
        eps (float): keeps the divisor from being zero.
        eps_inside_sqrt (bool): whether ``eps`` is added before the root is taken instead of after.

    .. admonition:: Example

        >>> import numpy as np
        >>> import minichainer as chainer
        >>> model = chainer.Link()
        >>> with model.init_scope():
        ...     model.w = chainer.Parameter(np.ones(2, np.float64))
        >>> optimizer = chainer.optimizers.RMSprop(lr=0.05).setup(model)
        >>> model.w.grad = np.array([1.0, -1.0])
        >>> optimizer.update()
        >>> model.w.array.round(4)
        array([0.5, 1.5])

    """

    lr = HyperparameterProxy('lr')
    alpha = HyperparameterProxy('alpha')
    eps = HyperparameterProxy('eps')
    eps_inside_sqrt = HyperparameterProxy('eps_inside_sqrt')

    def __init__(
        self,
        lr: float = _default_hyperparam.lr,
        alpha: float = _default_hyperparam.alpha,
        eps: float = _default_hyperparam.eps,
        eps_inside_sqrt: bool = _default_hyperparam.eps_inside_sqrt,
    ) -> None:
        super().__init__()
        self.hyperparam.lr = lr
        self.hyperparam.alpha = alpha
        self.hyperparam.eps = eps
        self.hyperparam.eps_inside_sqrt = eps_inside_sqrt

    def create_update_rule(self) -> RMSpropRule:
        """Return a new :class:`RMSpropRule`."""
        return RMSpropRule(self.hyperparam)
