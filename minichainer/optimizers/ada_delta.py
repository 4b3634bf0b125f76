"""AdaDelta: steps in the units of the parameter, without a learning rate."""

from __future__ import annotations

from typing import Any

from minichainer.optimizer.formula import ElementwiseRule
from minichainer.optimizer.gradient_method import GradientMethod
from minichainer.optimizer.hyperparameters import Hyperparameter, HyperparameterProxy

_default_hyperparam = Hyperparameter()
_default_hyperparam.rho = 0.95
_default_hyperparam.eps = 1e-6


class AdaDeltaRule(ElementwiseRule):
    """Update rule of :class:`AdaDelta`.

    Args:
        parent_hyperparam (Hyperparameter): the defaults.
        rho (float): how much of the averages remains from one update to the next.
        eps (float): keeps the divisor from being zero.

    """

    groupable = True
    state_names = ('msg', 'msdx')
    temporaries = 2

    def __init__(
        self,
        parent_hyperparam: Hyperparameter | None = None,
        rho: float | None = None,
        eps: float | None = None,
    ) -> None:
        super().__init__(parent_hyperparam or _default_hyperparam, rho=rho, eps=eps)

    def coefficients(self, hyperparam: Hyperparameter, dtype: Any) -> tuple[float | None, ...]:
        return hyperparam.eps, hyperparam.rho, 1 - hyperparam.rho

    @staticmethod
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, *states: Any) -> None:
        eps, rho, fresh = coefficients
        msg, msdx = states
        step, spare = temporaries
        msg *= rho
        xp.multiply(grad, grad, step)
        step *= fresh
        msg += step
        xp.add(msdx, eps, step)
        xp.add(msg, eps, spare)
        step /= spare
        xp.sqrt(step, step)
        step *= grad
        param -= step
        msdx *= rho
        step *= step
        step *= fresh
        msdx += step


class AdaDelta(GradientMethod):
    r"""AdaDelta: the step is the gradient times the ratio of the mean sizes of past steps and past gradients.

    .. math::
        m_g \leftarrow \rho m_g + (1 - \rho) g^2, \quad
        d = \sqrt{\frac{m_d + \epsilon}{m_g + \epsilon}} g, \quad
        m_d \leftarrow \rho m_d + (1 - \rho) d^2, \quad
        w \leftarrow w - d

    Source: Zeiler, ADADELTA: an adaptive learning rate method, 2012, https://arxiv.org/abs/1212.5701

    Args:
        rho (float): how much of the averages remains from one update to the next.
        eps (float): keeps the divisor from being zero.

    .. admonition:: Example

        >>> import numpy as np
        >>> import minichainer as chainer
        >>> model = chainer.Link()
        >>> with model.init_scope():
        ...     model.w = chainer.Parameter(np.ones(2, np.float64))
        >>> optimizer = chainer.optimizers.AdaDelta(eps=0.05).setup(model)
        >>> model.w.grad = np.array([1.0, -1.0])
        >>> optimizer.update()
        >>> model.w.array.round(4)
        array([0.2929, 1.7071])

    """

    rho = HyperparameterProxy('rho')
    eps = HyperparameterProxy('eps')

    def __init__(
        self,
        rho: float = _default_hyperparam.rho,
        eps: float = _default_hyperparam.eps,
    ) -> None:
        super().__init__()
        self.hyperparam.rho = rho
        self.hyperparam.eps = eps

    def create_update_rule(self) -> AdaDeltaRule:
        """Return a new :class:`AdaDeltaRule`."""
        return AdaDeltaRule(self.hyperparam)
