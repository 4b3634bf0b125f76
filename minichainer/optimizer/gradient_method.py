"""Optimizers that update each parameter with its gradient."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import repeat
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any, ClassVar

from minichainer._unfitting_calls import explain
from minichainer.link._tied import each_once
from minichainer.link.link import Link
from minichainer.optimizer._foreign_names import NAMES, check_attribute, is_foreign, note_names
from minichainer.optimizer.base import Optimizer
from minichainer.optimizer.declarations import (
    DeclaredHyperparameter,
    DeclaredSignature,
    add_args,
    bound,
    check_names,
    declared,
)
from minichainer.optimizer.grouped import GroupedUpdate
from minichainer.optimizer.hyperparameters import Hyperparameter
from minichainer.optimizer.rule import UpdateRule

if TYPE_CHECKING:
    from typing_extensions import Self


# Methods called around the updates of the parameters. Without hooks and loss scaling they do nothing, and are skipped
# unless a class or an optimizer replaces one of them.
STEPS = frozenset(
    ('reallocate_cleared_grads', 'check_nan_in_grads', 'call_hooks', 'is_safe_to_update', 'update_loss_scale')
)
_gradient = attrgetter('_node.grad_value')
_set = object.__setattr__  # without the test of the name


class GradientMethod(Optimizer):
    """Base class of optimizers that update each parameter with its gradient, through an :class:`UpdateRule`.

    ``class Name(GradientMethod, rule=NameRule)`` defines an optimizer from a rule with declared hyperparameters: see
    :func:`~minichainer.optimizer.hyperparameter`. In Chainer's style, a subclass instead defines
    :meth:`create_update_rule` and sets default values on :attr:`hyperparam`.

    Hyperparameters are attributes of the optimizer; type checkers know those that its class annotates, as in
    ``lr: float``.

    Args of a class definition:
        rule: class of the update rules; the optimizer takes the hyperparameters that it declares.
        arguments: names of those that the optimizer takes, in this order, separated by spaces; by default all.
        fixed: other defaults of hyperparameters.

    Attributes:
        hyperparam: the values that the update rules fall back on.

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

    __signature__ = DeclaredSignature()

    _use_fp32_update = False
    _use_cleargrads = True
    _grouped: GroupedUpdate | None = None
    _rule_class: type[UpdateRule] | None = None
    # The hyperparameters with their defaults, and the names of those that are arguments.
    _declared_values: ClassVar[dict[str, Any]] = {}
    _arguments: ClassVar[dict[str, Any]] = {}
    # Whether a class uses the update methods defined here.
    _standard_steps = True

    def __init_subclass__(
        cls, rule: type[UpdateRule] | None = None, arguments: str | None = None, **fixed: Any
    ) -> None:
        super().__init_subclass__()
        cls._standard_steps = all(getattr(cls, step) is getattr(GradientMethod, step) for step in STEPS)
        if rule is not None:
            cls._take_declarations(rule)
        if rule is None and arguments is None and not fixed:
            return
        if unknown := fixed.keys() - cls._declared_values.keys():
            raise TypeError(f'{cls.__name__}: its rule declares no hyperparameter {", ".join(sorted(unknown))}')
        cls._declared_values = cls._declared_values | fixed
        names = cls._arguments if arguments is None else arguments.split()
        cls._arguments = {name: cls._declared_values[name] for name in names}
        add_args(cls, {name: _described(cls, name) for name in cls._arguments})

    @classmethod
    def _take_declarations(cls, rule: type[UpdateRule]) -> None:
        """Adds the hyperparameters that a rule declares to the optimizer class."""
        hyperparameters = declared(rule, DeclaredHyperparameter)
        cls._rule_class = rule
        cls._declared_values = {name: declaration.default for name, declaration in hyperparameters.items()}
        cls._arguments = cls._declared_values
        note_names(cls, hyperparameters)
        for name, declaration in hyperparameters.items():
            setattr(cls, name, declaration)
        check_names(cls)

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__()
        self.hyperparam = Hyperparameter()
        given = bound(type(self), self._arguments, values, named)
        for name, value in {**self._declared_values, **given}.items():
            setattr(self.hyperparam, name, value)
        self.hyperparam.close(type(self))

    if not TYPE_CHECKING:  # to type checkers it would say that any name may be set

        def __setattr__(self, name: str, value: Any) -> None:
            if name in NAMES and name not in self._declared_values and is_foreign(type(self), name):
                check_attribute('', self, name)
            super().__setattr__(name, value)

    def setup(self, link: Link) -> Self:
        """Sets the link whose parameters are updated, and gives each of them a new update rule.

        Args:
            link: the model.

        Returns:
            The optimizer itself.

        Raises:
            TypeError: the target is not a link.
        """
        super().setup(link)
        for param in each_once(link.params()):
            param.update_rule = self.create_update_rule()
            if self._use_fp32_update:
                param.update_rule.use_fp32_update()
        return self

    def reallocate_cleared_grads(self) -> None:
        """Replaces gradients that are None with zeros; called before the update and after every hook."""
        for param in self.target.params(False):
            if param.grad is None:
                param.grad = param.xp.zeros_like(param._data)

    def call_hook(self, hook: Callable[..., None]) -> None:
        """Calls one hook: for each parameter, or once for the optimizer."""
        super().call_hook(hook)
        self.reallocate_cleared_grads()

    def update(self, lossfun: Callable[..., Any] | None = None, *args: Any, **kwds: Any) -> None:
        """Updates all parameters once, with the gradients of a loss or with the existing gradients.

        Parameters are changed in place: ``param.array`` and the states of the rules stay the same objects.

        Args:
            lossfun: called with the other arguments, returns the loss as a scalar Variable, of which the
                gradients are computed; without it the gradients are taken as they are.
            args: arguments of ``lossfun``.
            kwds: keyword arguments of ``lossfun``.

        Raises:
            NotSetUpError: :meth:`setup` has not been called.
        """
        if self._hooks is None:
            self._set_up_hooks()
        if lossfun is not None:
            try:
                loss = lossfun(*args, **kwds)
            except TypeError as error:
                if callable(lossfun):
                    explain(error)
                    raise
                raise _not_a_function(lossfun) from None
            self._compute_gradients(loss)
        hooks: Any = self._hooks
        ours = self._standard_steps and STEPS.isdisjoint(self.__dict__)
        in_steps = not ours or hooks.pre or hooks.post or self._loss_scaling_is_dynamic
        params = list(self.target.params())
        if len(set(map(id, params))) < len(params):
            params = each_once(params)
        if in_steps or any(map(is_, map(_gradient, params), repeat(None))):
            self.reallocate_cleared_grads()
        if in_steps:
            self.check_nan_in_grads()
            self.call_hooks('pre')
            params = each_once(self.target.params())
        _set(self, 't', self.t + 1)
        if not in_steps or self.is_safe_to_update():
            if self._grouped is None:
                self._grouped = GroupedUpdate()
            foreign = self._grouped.update(params)
            # Our own formulas do not change gradients; anything else may have cleared some.
            if foreign or not ours:
                self.reallocate_cleared_grads()
        if in_steps:
            self.call_hooks('post')
            self.update_loss_scale()

    def _compute_gradients(self, loss: Any) -> None:
        if self._use_cleargrads:
            self.target.cleargrads()
        else:
            self.target.zerograds()
        loss.backward(loss_scale=self._loss_scale)

    def use_cleargrads(self, use: bool = True) -> None:
        """Deprecated: choose ``cleargrads`` (the default) or ``zerograds`` before a backward pass.

        Args:
            use: True for ``cleargrads``.
        """
        warnings.warn(
            'use_cleargrads is deprecated: cleargrads is used unless zerograds is requested',
            DeprecationWarning,
            stacklevel=2,
        )
        self._use_cleargrads = use

    def create_update_rule(self) -> UpdateRule:
        """Returns a new update rule, with :attr:`hyperparam` as its parent."""
        if self._rule_class is None:
            raise NotImplementedError(f'{type(self).__name__} does not define create_update_rule')
        return self._rule_class(self.hyperparam)

    def use_fp32_update(self, flag: bool = True) -> None:
        """Updates float16 parameters through float32 copies (mixed precision), or stops doing so.

        Args:
            flag: whether to.
        """
        self._use_fp32_update = flag
        if self.target is not None:
            for param in self.target.params():
                param.update_rule.use_fp32_update(flag)


def _described(cls: type[GradientMethod], name: str) -> str:
    return f'{getattr(cls, name).text} (default {cls._arguments[name]!r})'


def _not_a_function(loss: Any) -> TypeError:
    """The error for what cannot be called to compute a loss."""
    text = f'update: a function that returns the loss expected, got {type(loss).__name__}'
    if not hasattr(loss, 'backward'):
        return TypeError(text)
    return TypeError(f'{text}; write optimizer.update(lambda: loss)')
