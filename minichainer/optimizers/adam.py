"""Adam and its variants AdamW, AMSGrad, AdaBound, AMSBound: one formula with different hyperparameters."""

from __future__ import annotations

import math
import warnings
from typing import Any

from minichainer.kernels.updates import compiled
from minichainer.optimizer.declarations import hyperparameter, state
from minichainer.optimizer.formula import check_eps
from minichainer.optimizer.gradient_method import GradientMethod
from minichainer.optimizer.hyperparameters import Hyperparameter
from minichainer.optimizers._moments import MomentsRule


def _learning_rate(hyperparam: Hyperparameter, t: int) -> float:
    """Returns ``alpha`` with bias correction for the running means, at update number ``t``."""
    if t == 0:
        raise RuntimeError(
            "Can't determine the learning rate of Adam optimizer because the update steps have not been "
            'started: call update() first, or read alpha.'
        )
    alpha: float = hyperparam.alpha
    return alpha * math.sqrt(1 - math.pow(hyperparam.beta2, t)) / (1 - math.pow(hyperparam.beta1, t))


class AdamRule(MomentsRule):
    """Update rule of :class:`Adam`, and of those derived from it."""

    eta = hyperparameter(1.0, r'factor :math:`\eta` of the whole step, for schedules')
    weight_decay_rate = hyperparameter(0, r'decay :math:`\lambda` of the weights, separate from the gradient')
    amsgrad = hyperparameter(False, 'whether to divide by the largest mean square so far')
    adabound = hyperparameter(False, 'whether to bound the learning rate of each element')
    final_lr = hyperparameter(0.1, "the limit of AdaBound's bounds; it scales with changes of ``alpha``")
    gamma = hyperparameter(1e-3, "how fast AdaBound's bounds converge, per update")
    vhat = state(when='amsgrad')

    def __init__(self, parent_hyperparam: Hyperparameter | None = None, *values: Any, **named: Any) -> None:
        super().__init__(parent_hyperparam, *values, **named)
        if self.hyperparam.adabound:
            self.group_token = self.hyperparam.alpha

    @property
    def initial_alpha(self) -> Any:
        """The initial ``alpha`` of the rule, to which AdaBound's ``final_lr`` refers."""
        return self.hyperparam.alpha if self.group_token is None else self.group_token

    @property
    def alpha_t(self) -> float:
        """Step size at this update, with bias correction for the running means."""
        return _learning_rate(self.hyperparam, self.t)

    @property
    def lr(self) -> float:
        """Deprecated name of :attr:`alpha_t`."""
        _warn_renamed('AdamRule')
        return self.alpha_t

    @property
    def bounds(self) -> tuple[float, float]:
        """AdaBound's smallest and largest learning rate at this update; both tend to ``final_lr``."""
        return self._bounds(self.hyperparam)

    def _bounds(self, hyperparam: Hyperparameter) -> tuple[float, float]:
        final = hyperparam.final_lr * hyperparam.alpha / self.initial_alpha
        age = hyperparam.gamma * self.t
        return final * (1 - 1 / (age + 1)), final * (1 + 1 / age)

    def coefficients(self, hyperparam: Any, dtype: Any) -> tuple[float | None, ...]:
        check_eps(type(self).__name__, float(hyperparam.eps), dtype)
        eta = hyperparam.eta
        rate = _learning_rate(hyperparam, self.t)
        lower, upper = self._bounds(hyperparam) if hyperparam.adabound else (None, None)
        decay = eta * hyperparam.weight_decay_rate or None
        # With bounds, the step size is divided and clipped before it is multiplied by eta.
        scale = rate if hyperparam.adabound else eta * rate
        # of_mean_square, written out to save its call: tests/test_calls.py counts.
        kept = hyperparam.beta2
        return 1 - hyperparam.beta1, kept, (1 - kept) ** 0.5, hyperparam.eps, scale, decay, lower, upper, eta

    @staticmethod
    @compiled('adam', optional=(5, 6, 7))
    def formula(
        xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, m: Any, v: Any, *largest: Any
    ) -> None:
        fresh, kept, root, eps, scale, decay, lower, upper, eta = coefficients
        step = temporaries[0]
        # So is update_moments.
        xp.subtract(grad, m, step)
        step *= fresh
        m += step
        v *= kept
        xp.multiply(grad, root, step)
        step *= step
        v += step
        for vhat in largest:
            xp.maximum(vhat, v, out=vhat)
            v = vhat
        xp.sqrt(v, step)
        step += eps
        if lower is None:
            xp.divide(m, step, step)
            step *= scale
        else:
            xp.divide(scale, step, step)
            xp.clip(step, lower, upper, out=step)
            step *= m
            step *= eta
        if decay is not None:
            decayed = temporaries[1]
            xp.multiply(param, decay, decayed)
            step += decayed
        param -= step


class Adam(GradientMethod, rule=AdamRule):
    r"""Adam: steps of about ``alpha``, from running means of the gradient and of its square.

    .. math::
        m \leftarrow m + (1 - \beta_1)(g - m), \quad
        v \leftarrow v + (1 - \beta_2)(g^2 - v), \quad
        \alpha_t = \alpha \frac{\sqrt{1 - \beta_2^t}}{1 - \beta_1^t}, \quad
        w \leftarrow w - \eta \left( \alpha_t \frac{m}{\sqrt{v} + \epsilon} + \lambda w \right)

    With ``amsgrad``, the largest :math:`v` so far replaces :math:`v` in the step; with ``adabound``, the learning
    rate :math:`\alpha_t / (\sqrt v + \epsilon)` is clipped to two bounds that converge to ``final_lr``. From Kingma,
    Ba, *Adam: a method for stochastic optimization*, ICLR 2015, https://arxiv.org/abs/1412.6980

    Raises:
        ValueError: on update, ``eps`` is not 0 and rounds to 0 in the dtype of the computation. With 0, elements
            whose gradients have all been 0 become NaN.

    >>> import numpy as np, minichainer as chainer
    >>> model = chainer.Link()
    >>> with model.init_scope():
    ...     model.w = chainer.Parameter(np.ones(2, np.float64))
    >>> optimizer = chainer.optimizers.Adam(alpha=0.5).setup(model)
    >>> model.w.grad = np.array([1.0, -3.0])
    >>> optimizer.update()
    >>> model.w.array.round(4)
    array([0.5, 1.5])
    """

    alpha: float
    beta1: float
    beta2: float
    eps: float
    eta: float
    weight_decay_rate: float
    amsgrad: bool
    adabound: bool
    final_lr: float
    gamma: float

    @property
    def alpha_t(self) -> float:
        """Step size at this update, with bias correction; RuntimeError before the first."""
        return _learning_rate(self.hyperparam, self.t)

    @property
    def lr(self) -> float:
        """Deprecated name of :attr:`alpha_t`."""
        _warn_renamed('Adam')
        return self.alpha_t


class AdamW(Adam, arguments='alpha beta1 beta2 eps eta weight_decay_rate'):
    r""":class:`Adam` with decay of the weights by :math:`\eta \lambda w` in each step, separate from the gradient.

    From Loshchilov, Hutter, *Decoupled weight decay regularization*, ICLR 2019, https://arxiv.org/abs/1711.05101

    >>> import minichainer as chainer
    >>> chainer.optimizers.AdamW(weight_decay_rate=0.01).weight_decay_rate
    0.01
    """


class AMSGrad(Adam, arguments='alpha beta1 beta2 eps eta', amsgrad=True):
    r""":class:`Adam` that divides by the largest mean square so far, :math:`\hat v \leftarrow \max(\hat v, v)`.

    From Reddi, Kale, Kumar, *On the convergence of Adam and beyond*, ICLR 2018.

    >>> import minichainer as chainer
    >>> chainer.optimizers.AMSGrad().amsgrad
    True
    """


class AdaBound(Adam, arguments='alpha beta1 beta2 final_lr gamma eps eta', adabound=True):
    r""":class:`Adam` whose learning rates are bounded and converge to that of SGD.

    .. math::
        w \leftarrow w - \eta m \, \mathrm{clip} \left( \frac{\alpha_t}{\sqrt{v} + \epsilon},
        l \left( 1 - \frac{1}{\gamma t + 1} \right), l \left( 1 + \frac{1}{\gamma t} \right) \right)

    where :math:`l` is ``final_lr``. From Luo, Xiong, Liu, Sun, *Adaptive gradient methods with dynamic bound of
    learning rate*, ICLR 2019, https://arxiv.org/abs/1902.09843

    >>> import minichainer as chainer
    >>> optimizer = chainer.optimizers.AdaBound(final_lr=0.5)
    >>> optimizer.adabound, optimizer.final_lr
    (True, 0.5)
    """


class AMSBound(Adam, arguments='alpha beta1 beta2 final_lr gamma eps eta', amsgrad=True, adabound=True):
    r""":class:`AdaBound` with the largest mean square so far, :math:`\hat v \leftarrow \max(\hat v, v)`.

    From Luo, Xiong, Liu, Sun, *Adaptive gradient methods with dynamic bound of learning rate*, ICLR 2019,
    https://arxiv.org/abs/1902.09843

    >>> import minichainer as chainer
    >>> optimizer = chainer.optimizers.AMSBound()
    >>> optimizer.amsgrad, optimizer.adabound
    (True, True)
    """


def _warn_renamed(name: str) -> None:
    warnings.warn(
        f'{name}.lr has been renamed to AdamRule.alpha_t. Use of {name}.lr is deprecated in Chainer v6.',
        DeprecationWarning,
        stacklevel=3,
    )
