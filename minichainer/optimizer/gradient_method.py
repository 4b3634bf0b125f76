"""Optimizers that update each parameter by its gradient."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from minichainer.link import Link
from minichainer.optimizer.base import Optimizer
from minichainer.optimizer.grouped import GroupedUpdate
from minichainer.optimizer.hyperparameters import Hyperparameter
from minichainer.optimizer.rule import UpdateRule


class GradientMethod(Optimizer):
    """Base class of optimizers that update each parameter by its gradient, through an :class:`UpdateRule`.

    A subclass writes :meth:`create_update_rule` and sets its default values on :attr:`hyperparam`.

    Attributes:
        hyperparam (Hyperparameter): the values that the update rules fall back on.

    .. admonition:: Example

        >>> import numpy as np
        >>> import minichainer as chainer
        >>> model = chainer.Link()
        >>> with model.init_scope():
        ...     model.w = chainer.Parameter(np.ones(2, np.float32))
        >>> optimizer = chainer.optimizers.SGD(lr=0.5).setup(model)
        >>> optimizer.update(lambda: chainer.functions.sum(model.w * model.w))
        >>> model.w.array
        array([0., 0.], dtype=float32)

    """

    _use_fp32_update = False
    _use_cleargrads = True
    _grouped: GroupedUpdate | None = None

    def __init__(self) -> None:
        super().__init__()
        self.hyperparam = Hyperparameter()

    def setup(self, link: Link) -> GradientMethod:
        """Set the link whose parameters are updated, and give each of them a new update rule.

        Args:
            link (Link): the model.

        Returns:
            The optimizer itself.

        Raises:
            TypeError: the target is not a link.

        """
        super().setup(link)
        for param in link.params():
            param.update_rule = self.create_update_rule()
            if self._use_fp32_update:
                param.update_rule.use_fp32_update()
        return self

    def reallocate_cleared_grads(self) -> None:
        """Replace gradients that are None by zeros; called before the update and after every hook."""
        for param in self.target.params(False):
            if param.grad is None:
                param.grad = param.xp.zeros_like(param.array)

    def call_hook(self, hook: Callable[..., None]) -> None:
        """Call one hook: for each parameter, or once for the optimizer."""
        super().call_hook(hook)
        self.reallocate_cleared_grads()

    def update(self, lossfun: Callable[..., Any] | None = None, *args: Any, **kwds: Any) -> None:
        """Update all parameters once, by the gradients of a loss or by those that are there.

        Parameters are changed in place: ``param.array`` stays the same object, as do the states of the rules.

        Args:
            lossfun (callable): called with the other arguments, returns the loss as a scalar Variable, of
                which the gradients are computed; without it the gradients are taken as they are.
            args: arguments of ``lossfun``.
            kwds: keyword arguments of ``lossfun``.

        Raises:
            NotSetUpError: before :meth:`setup`.

        """
        self._set_up_hooks()
        if lossfun is not None:
            self._compute_gradients(lossfun(*args, **kwds))
        self.reallocate_cleared_grads()
        self.check_nan_in_grads()
        self.call_hooks('pre')
        self.t += 1
        if self.is_safe_to_update():
            self._update_parameters()
        self.call_hooks('post')
        self.update_loss_scale()

    def _update_parameters(self) -> None:
        if self._grouped is None:
            self._grouped = GroupedUpdate()
        foreign = self._grouped.update(self.target.params())
        # Our own formulas leave gradients as they are; anything else may have cleared some.
        if foreign or type(self).reallocate_cleared_grads is not GradientMethod.reallocate_cleared_grads:
            self.reallocate_cleared_grads()

    def _compute_gradients(self, loss: Any) -> None:
        if self._use_cleargrads:
            self.target.cleargrads()
        else:
            self.target.zerograds()
        loss.backward(loss_scale=self._loss_scale)

    def use_cleargrads(self, use: bool = True) -> None:
        """Deprecated: choose ``cleargrads`` (the default) or ``zerograds`` before a backward pass."""
        warnings.warn(
            'use_cleargrads is deprecated: cleargrads is always used unless zerograds is asked for',
            DeprecationWarning,
            stacklevel=2,
        )
        self._use_cleargrads = use

    def create_update_rule(self) -> UpdateRule:
        """Return a new update rule, with :attr:`hyperparam` as its parent; written by subclasses."""
        raise NotImplementedError(f'{type(self).__name__} does not define create_update_rule')

    def use_fp32_update(self, flag: bool = True) -> None:
        """Update float16 parameters through float32 copies of them (mixed precision), or stop doing so.

        Args:
            flag (bool): whether to.

        """
        self._use_fp32_update = flag
        if self.target is not None:
            for param in self.target.params():
                param.update_rule.use_fp32_update(flag)
