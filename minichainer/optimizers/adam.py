"""Adam and its kin: AdamW, AMSGrad, AdaBound, AMSBound. One formula; they differ in hyperparameters."""

from __future__ import annotations

import math
import warnings
from typing import Any

from minichainer.optimizer.formula import ElementwiseRule, check_eps
from minichainer.optimizer.gradient_method import GradientMethod
from minichainer.optimizer.hyperparameters import Hyperparameter, HyperparameterProxy

_default_hyperparam = Hyperparameter()
_default_hyperparam.alpha = 0.001
_default_hyperparam.beta1 = 0.9
_default_hyperparam.beta2 = 0.999
_default_hyperparam.eps = 1e-8
_default_hyperparam.eta = 1.0
_default_hyperparam.weight_decay_rate = 0
_default_hyperparam.amsgrad = False
_default_hyperparam.adabound = False
_default_hyperparam.final_lr = 0.1
_default_hyperparam.gamma = 1e-3


def _learning_rate(hyperparam: Hyperparameter, t: int) -> float:
    """Return ``alpha`` with the correction for running means that began at zero, at update number ``t``."""
    if t == 0:
        raise RuntimeError(
            "Can't determine the learning rate of Adam optimizer because the update steps have not been "
            'started: call update() first, or read alpha.'
        )
    return hyperparam.alpha * math.sqrt(1 - math.pow(hyperparam.beta2, t)) / (1 - math.pow(hyperparam.beta1, t))


class AdamRule(ElementwiseRule):
    """Update rule of :class:`Adam`, and of those derived from it.

    Args:
        parent_hyperparam (Hyperparameter): the defaults.
        alpha (float): as in :class:`Adam`, and so the others.
        beta1 (float): see :class:`Adam`.
        beta2 (float): see :class:`Adam`.
        eps (float): see :class:`Adam`.
        eta (float): see :class:`Adam`.
        weight_decay_rate (float): see :class:`Adam`.
        amsgrad (bool): see :class:`Adam`.
        adabound (bool): see :class:`Adam`.
        final_lr (float): see :class:`Adam`.
        gamma (float): see :class:`Adam`.

    """

    groupable = True
    temporaries = 2

    def __init__(
        self,
        parent_hyperparam: Hyperparameter | None = None,
        alpha: float | None = None,
        beta1: float | None = None,
        beta2: float | None = None,
        eps: float | None = None,
        eta: float | None = None,
        weight_decay_rate: float | None = None,
        amsgrad: bool | None = None,
        adabound: bool | None = None,
        final_lr: float | None = None,
        gamma: float | None = None,
    ) -> None:
        super().__init__(
            parent_hyperparam or _default_hyperparam,
            alpha=alpha,
            beta1=beta1,
            beta2=beta2,
            eps=eps,
            eta=eta,
            weight_decay_rate=weight_decay_rate,
            amsgrad=amsgrad,
            adabound=adabound,
            final_lr=final_lr,
            gamma=gamma,
        )
        if self.hyperparam.adabound:
            self._begin_bounds(self.hyperparam.alpha)

    @property
    def state_names(self) -> tuple[str, ...]:
        """``m`` and ``v``, the running means of gradient and square; ``vhat``, the largest ``v``, for
        AMSGrad."""
        return ('m', 'v', 'vhat') if self.hyperparam.amsgrad else ('m', 'v')

    @property
    def alpha_t(self) -> float:
        """Step size at this update, the running means' start at zero corrected for."""
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

    def _begin_bounds(self, alpha: float) -> None:
        # AdaBound's bounds depend on the alpha that the rule began with.
        self.initial_alpha = self.group_token = alpha

    def _bounds(self, hyperparam: Hyperparameter) -> tuple[float, float]:
        if self.group_token is None:
            self._begin_bounds(hyperparam.alpha)
        final = hyperparam.final_lr * hyperparam.alpha / self.initial_alpha
        age = hyperparam.gamma * self.t
        return final * (1 - 1 / (age + 1)), final * (1 + 1 / age)

    def coefficients(self, hyperparam: Hyperparameter, dtype: Any) -> tuple[float | None, ...]:
        check_eps(self, hyperparam.eps, dtype)
        eta = hyperparam.eta
        rate = _learning_rate(hyperparam, self.t)
        lower, upper = self._bounds(hyperparam) if hyperparam.adabound else (None, None)
        decay = eta * hyperparam.weight_decay_rate or None
        # With bounds the step size is divided and clipped before eta comes in.
        scale = rate if hyperparam.adabound else eta * rate
        return 1 - hyperparam.beta1, 1 - hyperparam.beta2, hyperparam.eps, scale, decay, lower, upper, eta

    @staticmethod
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, *states: Any) -> None:
        fresh1, fresh2, eps, scale, decay, lower, upper, eta = coefficients
        m, v, *largest = states
        step = temporaries[0]
        xp.subtract(grad, m, step)
        step *= fresh1
        m += step
        xp.multiply(grad, grad, step)
        step -= v
        step *= fresh2
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


class Adam(GradientMethod):
    r"""Adam: steps of about ``alpha``, from running means of the gradient and of its square.

    .. math::
        m \leftarrow m + (1 - \beta_1)(g - m), \quad
        v \leftarrow v + (1 - \beta_2)(g^2 - v), \quad
        \alpha_t = \alpha \frac{\sqrt{1 - \beta_2^t}}{1 - \beta_1^t}, \quad
        w \leftarrow w - \eta \left( \alpha_t \frac{m}{\sqrt{v} + \epsilon} + \lambda w \right)

    With ``amsgrad`` the largest :math:`v` so far takes the place of :math:`v` in the step; with ``adabound``
    the learning rate :math:`\alpha_t / (\sqrt v + \epsilon)` is clipped between two bounds that close in on
    ``final_lr``.

    Sources: Kingma, Ba, Adam: a method for stochastic optimization, ICLR 2015,
        https://arxiv.org/abs/1412.6980;
    Loshchilov, Hutter, Decoupled weight decay regularization, ICLR 2019, https://arxiv.org/abs/1711.05101;
    Reddi, Kale, Kumar, On the convergence of Adam and beyond, ICLR 2018; Luo, Xiong, Liu, Sun, Adaptive
    gradient methods with dynamic bound of learning rate, ICLR 2019, https://arxiv.org/abs/1902.09843

    Args:
        alpha (float): step size.
        beta1 (float): how much of :math:`m` remains from one update to the next.
        beta2 (float): how much of :math:`v` remains from one update to the next.
        eps (float): keeps the divisor from being zero.
        eta (float): factor :math:`\eta` of the whole step, for schedules.
        weight_decay_rate (float): decay :math:`\lambda` of the weights themselves, not through the gradient.
        amsgrad (bool): divide by the largest :math:`v` so far.
        adabound (bool): bound the learning rate of each element.
        final_lr (float): where AdaBound's bounds meet; it scales with changes of ``alpha``.
        gamma (float): how fast AdaBound's bounds close in, per update.

    Raises:
        ValueError: on update, if ``eps`` is zero in the dtype of the computation.

    .. admonition:: Example

        >>> import numpy as np
        >>> import minichainer as chainer
        >>> model = chainer.Link()
        >>> with model.init_scope():
        ...     model.w = chainer.Parameter(np.ones(2, np.float64))
        >>> optimizer = chainer.optimizers.Adam(alpha=0.5).setup(model)
        >>> model.w.grad = np.array([1.0, -3.0])
        >>> optimizer.update()
        >>> model.w.array.round(4)
        array([0.5, 1.5])

    """

    alpha = HyperparameterProxy('alpha')
    beta1 = HyperparameterProxy('beta1')
    beta2 = HyperparameterProxy('beta2')
    eps = HyperparameterProxy('eps')
    eta = HyperparameterProxy('eta')
    weight_decay_rate = HyperparameterProxy('weight_decay_rate')
    amsgrad = HyperparameterProxy('amsgrad')
    adabound = HyperparameterProxy('adabound')
    final_lr = HyperparameterProxy('final_lr')
    gamma = HyperparameterProxy('gamma')

    def __init__(
        self,
        alpha: float = _default_hyperparam.alpha,
        beta1: float = _default_hyperparam.beta1,
        beta2: float = _default_hyperparam.beta2,
        eps: float = _default_hyperparam.eps,
        eta: float = _default_hyperparam.eta,
        weight_decay_rate: float = _default_hyperparam.weight_decay_rate,
        amsgrad: bool = _default_hyperparam.amsgrad,
        adabound: bool = _default_hyperparam.adabound,
        final_lr: float = _default_hyperparam.final_lr,
        gamma: float = _default_hyperparam.gamma,
    ) -> None:
        super().__init__()
        self.hyperparam.alpha = alpha
        self.hyperparam.beta1 = beta1
        self.hyperparam.beta2 = beta2
        self.hyperparam.eps = eps
        self.hyperparam.eta = eta
        self.hyperparam.weight_decay_rate = weight_decay_rate
        self.hyperparam.amsgrad = amsgrad
        self.hyperparam.adabound = adabound
        self.hyperparam.final_lr = final_lr
        self.hyperparam.gamma = gamma

    @property
    def alpha_t(self) -> float:
        """Step size at this update, with the running means corrected; RuntimeError before the first."""
        return _learning_rate(self.hyperparam, self.t)

    @property
    def lr(self) -> float:
        """Deprecated name of :attr:`alpha_t`."""
        _warn_renamed('Adam')
        return self.alpha_t

    def create_update_rule(self) -> AdamRule:
        """Return a new :class:`AdamRule`."""
        return AdamRule(self.hyperparam)


class AdamW(Adam):
    """:class:`Adam` with decay of the weights themselves; the arguments are Adam's.

    Source: Loshchilov, Hutter, Decoupled weight decay regularization, ICLR 2019,
        https://arxiv.org/abs/1711.05101

    Args:
        alpha (float): step size.
        beta1 (float): how much of the mean gradient remains from one update to the next.
        beta2 (float): how much of the mean square remains from one update to the next.
        eps (float): keeps the divisor from being zero.
        eta (float): factor of the whole step, for schedules.
        weight_decay_rate (float): decay of the weights per update.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> chainer.optimizers.AdamW(weight_decay_rate=0.01).weight_decay_rate
        0.01

    """

    def __init__(
        self,
        alpha: float = _default_hyperparam.alpha,
        beta1: float = _default_hyperparam.beta1,
        beta2: float = _default_hyperparam.beta2,
        eps: float = _default_hyperparam.eps,
        eta: float = _default_hyperparam.eta,
        weight_decay_rate: float = _default_hyperparam.weight_decay_rate,
    ) -> None:
        super().__init__(alpha, beta1, beta2, eps, eta, weight_decay_rate)


class AMSGrad(Adam):
    """:class:`Adam` that divides by the largest mean square so far.

    Source: Reddi, Kale, Kumar, On the convergence of Adam and beyond, ICLR 2018.

    Args:
        alpha (float): step size.
        beta1 (float): how much of the mean gradient remains from one update to the next.
        beta2 (float): how much of the mean square remains from one update to the next.
        eps (float): keeps the divisor from being zero.
        eta (float): factor of the whole step, for schedules.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> chainer.optimizers.AMSGrad().amsgrad
        True

    """

    def __init__(
        self,
        alpha: float = _default_hyperparam.alpha,
        beta1: float = _default_hyperparam.beta1,
        beta2: float = _default_hyperparam.beta2,
        eps: float = _default_hyperparam.eps,
        eta: float = _default_hyperparam.eta,
    ) -> None:
        super().__init__(alpha, beta1, beta2, eps, eta, amsgrad=True)


class AdaBound(Adam):
    """:class:`Adam` whose learning rates are bounded and tend to that of SGD.

    Source: Luo, Xiong, Liu, Sun, Adaptive gradient methods with dynamic bound of learning rate, ICLR 2019,
    https://arxiv.org/abs/1902.09843

    Args:
        alpha (float): step size.
        beta1 (float): how much of the mean gradient remains from one update to the next.
        beta2 (float): how much of the mean square remains from one update to the next.
        final_lr (float): where the bounds meet.
        gamma (float): how fast the bounds close in, per update.
        eps (float): keeps the divisor from being zero.
        eta (float): factor of the whole step, for schedules.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> optimizer = chainer.optimizers.AdaBound(final_lr=0.5)
        >>> optimizer.adabound, optimizer.final_lr
        (True, 0.5)

    """

    def __init__(
        self,
        alpha: float = _default_hyperparam.alpha,
        beta1: float = _default_hyperparam.beta1,
        beta2: float = _default_hyperparam.beta2,
        final_lr: float = _default_hyperparam.final_lr,
        gamma: float = _default_hyperparam.gamma,
        eps: float = _default_hyperparam.eps,
        eta: float = _default_hyperparam.eta,
    ) -> None:
        super().__init__(alpha, beta1, beta2, eps, eta, adabound=True, final_lr=final_lr, gamma=gamma)


class AMSBound(Adam):
    """:class:`AdaBound` that divides by the largest mean square so far.

    Source: Luo, Xiong, Liu, Sun, Adaptive gradient methods with dynamic bound of learning rate, ICLR 2019,
    https://arxiv.org/abs/1902.09843

    Args:
        alpha (float): step size.
        beta1 (float): how much of the mean gradient remains from one update to the next.
        beta2 (float): how much of the mean square remains from one update to the next.
        final_lr (float): where the bounds meet.
        gamma (float): how fast the bounds close in, per update.
        eps (float): keeps the divisor from being zero.
        eta (float): factor of the whole step, for schedules.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> optimizer = chainer.optimizers.AMSBound()
        >>> optimizer.amsgrad, optimizer.adabound
        (True, True)

    """

    def __init__(
        self,
        alpha: float = _default_hyperparam.alpha,
        beta1: float = _default_hyperparam.beta1,
        beta2: float = _default_hyperparam.beta2,
        final_lr: float = _default_hyperparam.final_lr,
        gamma: float = _default_hyperparam.gamma,
        eps: float = _default_hyperparam.eps,
        eta: float = _default_hyperparam.eta,
    ) -> None:
        super().__init__(alpha, beta1, beta2, eps, eta, amsgrad=True, adabound=True, final_lr=final_lr, gamma=gamma)


def _warn_renamed(name: str) -> None:
    warnings.warn(
        f'{name}.lr has been renamed to AdamRule.alpha_t. Use of {name}.lr is deprecated in Chainer v6.',
        DeprecationWarning,
        stacklevel=3,
    )
