"""LAMB: Adam's direction, with a step in proportion to the norm of each parameter."""

from __future__ import annotations

from typing import Any

from minichainer.optimizer.declarations import hyperparameter
from minichainer.optimizer.formula import check_eps
from minichainer.optimizer.gradient_method import GradientMethod
from minichainer.optimizers._moments import MomentsRule, of_mean_square, update_moments


class LAMBRule(MomentsRule):
    """Update rule of :class:`LAMB`."""

    alpha = hyperparameter(0.001, r'learning rate :math:`\alpha`: norm of a step over the norm of the parameter')
    eps = hyperparameter(1e-6, 'avoids division by zero')
    weight_decay_rate = hyperparameter(0.01, r'decay :math:`\lambda` of the weights, a part of the direction')
    elementwise = False

    def coefficients(self, hyperparam: Any, dtype: Any) -> tuple[float | None, ...]:
        check_eps(type(self).__name__, float(hyperparam.eps), dtype)
        beta1, beta2 = hyperparam.beta1, hyperparam.beta2
        scales = 1 / (1 - beta1**self.t), (1 - beta2**self.t) ** -0.5
        return (
            1 - beta1,
            *of_mean_square(beta2),
            *scales,
            hyperparam.eps,
            hyperparam.weight_decay_rate,
            hyperparam.alpha,
        )

    @staticmethod
    def direction(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, m: Any, v: Any) -> None:
        fresh, kept, root, scale1, scale2, eps, decay, _ = coefficients
        step, spare = temporaries
        update_moments(xp, grad, m, v, fresh, kept, root, spare)
        xp.sqrt(v, spare)
        spare *= scale2
        spare += eps
        xp.multiply(m, scale1, step)
        step /= spare
        xp.multiply(param, decay, spare)
        step += spare

    @staticmethod
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, m: Any, v: Any) -> None:
        LAMBRule.direction(xp, coefficients, temporaries, param, grad, m, v)
        step, alpha = temporaries[0], coefficients[-1]
        step *= _trust_ratio(xp, param, step)
        step *= alpha
        param -= step


def _trust_ratio(xp: Any, param: Any, step: Any) -> Any:
    """Returns the norm of the parameter divided by the norm of the step, or 1 if one is zero, as a 0-d array."""
    size, length = _norm(xp, param), _norm(xp, step)
    ratio = xp.where((size == 0) | (length == 0), 1, size / xp.where(length == 0, 1, length))
    return ratio.astype(step.real.dtype)


def _norm(xp: Any, array: Any) -> Any:
    # In double precision, because squares of float32 overflow from 2e19 on.
    wide = abs(array.ravel()).astype(xp.float64)
    return xp.sqrt((wide * wide).sum())


class LAMB(GradientMethod, rule=LAMBRule):
    r"""LAMB: Adam's direction, with steps in proportion to the norm of each parameter, for large batches.

    .. math::
        m &\leftarrow m + (1 - \beta_1)(g - m), \quad v \leftarrow v + (1 - \beta_2)(g^2 - v), \\
        u &= \frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + \epsilon} + \lambda w, \quad
        w \leftarrow w - \alpha \frac{\|w\|}{\|u\|} u

    The norms are taken over one parameter; if one of them is zero, their ratio is 1. From You et al., *Large batch
    optimization for deep learning: training BERT in 76 minutes*, ICLR 2020, https://arxiv.org/abs/1904.00962

    Raises:
        ValueError: on update, ``eps`` is not 0 and rounds to 0 in the dtype of the computation. With 0, elements
            whose gradients have all been 0 become NaN.

    >>> import numpy as np, minichainer as chainer
    >>> model = chainer.Link()
    >>> with model.init_scope():
    ...     model.w = chainer.Parameter(np.ones(2, np.float64))
    >>> optimizer = chainer.optimizers.LAMB(alpha=0.5, weight_decay_rate=0).setup(model)
    >>> model.w.grad = np.array([1.0, -3.0])
    >>> optimizer.update()
    >>> model.w.array.round(4)
    array([0.5, 1.5])
    """

    alpha: float
    beta1: float
    beta2: float
    eps: float
    weight_decay_rate: float
