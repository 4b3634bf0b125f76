"""RMSprop: gradients divided by their recent size."""

from __future__ import annotations

from typing import Any

from minichainer.kernels.updates import compiled
from minichainer.optimizer.declarations import hyperparameter, state
from minichainer.optimizer.formula import FormulaRule, check_eps
from minichainer.optimizer.gradient_method import GradientMethod
from minichainer.optimizers._moments import of_mean_square


class RMSpropRule(FormulaRule):
    """Update rule of :class:`RMSprop`."""

    lr = hyperparameter(0.01, r'learning rate :math:`\eta`')
    alpha = hyperparameter(0.99, 'how much of the mean square remains from one update to the next')
    eps = hyperparameter(1e-8, 'avoids division by zero')
    eps_inside_sqrt = hyperparameter(False, 'whether ``eps`` is added before the root is taken instead of after')
    ms = state()

    def coefficients(self, hyperparam: Any, dtype: Any) -> tuple[float | None, ...]:
        check_eps(type(self).__name__, float(hyperparam.eps), dtype)
        inside = hyperparam.eps if hyperparam.eps_inside_sqrt else None
        outside = None if hyperparam.eps_inside_sqrt else hyperparam.eps
        return hyperparam.lr, *of_mean_square(hyperparam.alpha), inside, outside

    @staticmethod
    @compiled('rmsprop', optional=(3, 4))
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, ms: Any) -> None:
        lr, alpha, root, inside, outside = coefficients
        (step,) = temporaries
        ms *= alpha
        xp.multiply(grad, root, step)
        step *= step
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


class RMSprop(GradientMethod, rule=RMSpropRule):
    r"""RMSprop: divides by the root of a running mean of squared gradients.

    .. math::
        m \leftarrow \alpha m + (1 - \alpha) g^2, \quad
        w \leftarrow w - \eta \frac{g}{\sqrt{m} + \epsilon}

    From Tieleman, Hinton, *Lecture 6.5 of Neural Networks for Machine Learning*, 2012.

    Raises:
        ValueError: on update, ``eps`` is not 0 and rounds to 0 in the dtype of the computation. With 0, elements
            whose gradients have all been 0 become NaN.

    >>> import numpy as np, minichainer as chainer
    >>> model = chainer.Link()
    >>> with model.init_scope():
    ...     model.w = chainer.Parameter(np.ones(2, np.float64))
    >>> optimizer = chainer.optimizers.RMSprop(lr=0.05).setup(model)
    >>> model.w.grad = np.array([1.0, -1.0])
    >>> optimizer.update()
    >>> model.w.array.round(4)
    array([0.5, 1.5])
    """

    lr: float
    alpha: float
    eps: float
    eps_inside_sqrt: bool
