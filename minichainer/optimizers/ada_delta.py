"""AdaDelta: steps in the units of the parameter, without a learning rate."""

from __future__ import annotations

from typing import Any

from minichainer.kernels.updates import compiled
from minichainer.optimizer.declarations import hyperparameter, state
from minichainer.optimizer.formula import FormulaRule
from minichainer.optimizer.gradient_method import GradientMethod
from minichainer.optimizers._moments import of_mean_square


class AdaDeltaRule(FormulaRule):
    """Update rule of :class:`AdaDelta`."""

    rho = hyperparameter(0.95, 'how much of the averages remains from one update to the next')
    eps = hyperparameter(1e-6, 'avoids division by zero')
    msg = state()
    msdx = state()
    temporaries = 2

    def coefficients(self, hyperparam: Any, dtype: Any) -> tuple[float | None, ...]:
        return hyperparam.eps, *of_mean_square(hyperparam.rho)

    @staticmethod
    @compiled('ada_delta')
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, msg: Any, msdx: Any) -> None:
        eps, rho, root = coefficients
        step, spare = temporaries
        msg *= rho
        xp.multiply(grad, root, step)
        step *= step
        msg += step
        xp.add(msdx, eps, step)
        xp.add(msg, eps, spare)
        step /= spare
        xp.sqrt(step, step)
        step *= grad
        param -= step
        msdx *= rho
        step *= root
        step *= step
        msdx += step


class AdaDelta(GradientMethod, rule=AdaDeltaRule):
    r"""AdaDelta: the step is the gradient times the ratio of the mean sizes of past steps and past gradients.

    .. math::
        m_g \leftarrow \rho m_g + (1 - \rho) g^2, \quad
        d = \sqrt{\frac{m_d + \epsilon}{m_g + \epsilon}} g, \quad
        m_d \leftarrow \rho m_d + (1 - \rho) d^2, \quad
        w \leftarrow w - d

    From Zeiler, *ADADELTA: an adaptive learning rate method*, 2012, https://arxiv.org/abs/1212.5701

    >>> import numpy as np, minichainer as chainer
    >>> model = chainer.Link()
    >>> with model.init_scope():
    ...     model.w = chainer.Parameter(np.ones(2, np.float64))
    >>> optimizer = chainer.optimizers.AdaDelta(eps=0.05).setup(model)
    >>> model.w.grad = np.array([1.0, -1.0])
    >>> optimizer.update()
    >>> model.w.array.round(4)
    array([0.2929, 1.7071])
    """

    rho: float
    eps: float
