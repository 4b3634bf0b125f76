"""SMORMS3: squared mean over root mean squared cubed."""

from __future__ import annotations

from typing import Any

from minichainer.optimizer.formula import ElementwiseRule
from minichainer.optimizer.gradient_method import GradientMethod
from minichainer.optimizer.hyperparameters import Hyperparameter, HyperparameterProxy

_default_hyperparam = Hyperparameter()
_default_hyperparam.lr = 0.001
_default_hyperparam.eps = 1e-16


class SMORMS3Rule(ElementwiseRule):
    """Update rule of :class:`SMORMS3`.

    Args:
        parent_hyperparam (Hyperparameter): the defaults.
        lr (float): learning rate.
        eps (float): keeps the divisors from being zero.

    """

    groupable = True
    state_names = ('mem', 'g', 'g2')
    temporaries = 2

    def __init__(
        self,
        parent_hyperparam: Hyperparameter | None = None,
        lr: float | None = None,
        eps: float | None = None,
    ) -> None:
        super().__init__(parent_hyperparam or _default_hyperparam, lr=lr, eps=eps)

    def init_state(self, param: Any) -> None:
        """Make every state a zero array, the memory one of ones."""
        super().init_state(param)
        self._state['mem'][...] = 1

    def coefficients(self, hyperparam: Hyperparameter, dtype: Any) -> tuple[float | None, ...]:
        return hyperparam.lr, hyperparam.eps

    @staticmethod
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, *states: Any) -> None:
        lr, eps = coefficients
        mem, g, g2 = states
        rate, spare = temporaries
        xp.add(mem, 1, rate)
        xp.reciprocal(rate, rate)
        xp.subtract(grad, g, spare)
        spare *= rate
        g += spare
        xp.multiply(grad, grad, spare)
        spare -= g2
        spare *= rate
        g2 += spare
        xp.multiply(g, g, rate)
        xp.add(g2, eps, spare)
        rate /= spare
        xp.subtract(1, rate, spare)
        mem *= spare
        mem += 1
        xp.minimum(rate, lr, out=rate)
        rate *= grad
        xp.sqrt(g2, spare)
        spare += eps
        rate /= spare
        param -= rate


class SMORMS3(GradientMethod):
    r"""SMORMS3 (squared mean over root mean squared cubed): a learning rate by the signal-to-noise ratio.

    .. math::
        r = \frac{1}{m + 1}, \quad
        \bar g \leftarrow (1 - r) \bar g + r g, \quad
        s \leftarrow (1 - r) s + r g^2, \quad
        x = \frac{\bar g^2}{s + \epsilon}, \quad
        w \leftarrow w - g \frac{\min(\eta, x)}{\sqrt{s} + \epsilon}, \quad
        m \leftarrow 1 + m (1 - x)

    The memory :math:`m` begins at 1.

    Source: Funk, RMSprop loses to SMORMS3, 2015, https://sifter.org/~simon/journal/20150420.html

    Args:
        lr (float): learning rate.
        eps (float): keeps the divisors from being zero.

    .. admonition:: Example

        >>> import numpy as np
        >>> import minichainer as chainer
        >>> model = chainer.Link()
        >>> with model.init_scope():
        ...     model.w = chainer.Parameter(np.ones(2, np.float64))
        >>> optimizer = chainer.optimizers.SMORMS3(lr=0.1).setup(model)
        >>> model.w.grad = np.array([1.0, -1.0])
        >>> optimizer.update()
        >>> model.w.array.round(4)
        array([0.8586, 1.1414])

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

    def create_update_rule(self) -> SMORMS3Rule:
        """Return a new :class:`SMORMS3Rule`."""
        return SMORMS3Rule(self.hyperparam)
