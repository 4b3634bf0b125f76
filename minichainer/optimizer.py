"""What all optimizers have in common: the target link, hooks, loss scaling, saving and loading.

An :class:`Optimizer` has a target link. A :class:`GradientMethod` gives each of its parameters an
:class:`UpdateRule` and, on every update, has the rules applied. The algorithms are in ``optimizers``.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

from minichainer import optimizer_hooks
from minichainer._update_rule.grouped import GroupedUpdate
from minichainer._update_rule.hooks import HookSet
from minichainer._update_rule.hyperparameter import Hyperparameter
from minichainer._update_rule.loss_scaling import LossScaling
from minichainer._update_rule.rule import UpdateRule, expect_like
from minichainer.errors import NotSetUpError
from minichainer.link.link import Link
from minichainer.serializer import Deserializer, SnapshotError

__all__ = [
    'GradientClipping',
    'GradientHardClipping',
    'GradientMethod',
    'GradientNoise',
    'Hyperparameter',
    'HyperparameterProxy',
    'Lasso',
    'Optimizer',
    'UpdateRule',
    'WeightDecay',
    'make_deprecation_message',
]


class Optimizer(LossScaling):
    """Base class of everything that updates the parameters of a link.

    :meth:`setup` gives it its target; :meth:`update`, which a subclass writes, makes one step.

    Attributes:
        target (Link): the link whose parameters are updated; None before :meth:`setup`.
        t (int): number of updates made.
        epoch (int): number of epochs begun by :meth:`new_epoch`.
        use_auto_new_epoch (bool): whether the updater calls :meth:`new_epoch`.

    """

    target: Any = None
    t = 0
    epoch = 0
    use_auto_new_epoch = False
    _hooks: HookSet | None = None

    def setup(self, link: Link) -> Optimizer:
        """Set the link whose parameters are updated; counts and hooks begin anew.

        Args:
            link (Link): the model.

        Returns:
            The optimizer itself.

        Raises:
            TypeError: the target is not a link.

        """
        if not isinstance(link, Link):
            raise TypeError(f'optimization target must be a link, got {type(link).__name__}')
        self.target = link
        self.t = 0
        self.epoch = 0
        self._hooks = HookSet()
        return self

    def update(self, lossfun: Callable[..., Any] | None = None, *args: Any, **kwds: Any) -> None:
        """Update the parameters once; written by subclasses.

        Args:
            lossfun (callable): called with the other arguments, returns the loss as a Variable; without it
                the gradients are taken as they are.
            args: arguments of ``lossfun``.
            kwds: keyword arguments of ``lossfun``.

        """
        raise NotImplementedError(f'{type(self).__name__} does not define update')

    def new_epoch(self, auto: bool = False) -> None:
        """Count a new epoch.

        Args:
            auto (bool): whether an updater calls; then :attr:`use_auto_new_epoch` must be true, otherwise
                false.

        Raises:
            RuntimeError: both the updater and the user count epochs, or neither is set to.

        """
        if auto and not self.use_auto_new_epoch:
            raise RuntimeError(
                'new_epoch(auto=True) from an updater that has not announced itself: an updater that counts '
                'epochs must first set '
                'optimizer.use_auto_new_epoch = True'
            )
        if self.use_auto_new_epoch and not auto:
            raise RuntimeError(
                'epochs are counted by the updater already: create the updater with auto_new_epoch=False, or do '
                'not call new_epoch yourself'
            )
        self.epoch += 1

    def _set_up_hooks(self) -> HookSet:
        if self._hooks is None:
            raise NotSetUpError(
                f'{type(self).__name__} is used before it knows what to update: call its setup(model) once, first'
            )
        return self._hooks

    def add_hook(self, hook: Callable[..., None], name: str | None = None, timing: str = 'auto') -> None:
        """Call a hook on every update.

        Args:
            hook (callable): called with the optimizer; if it has a true ``call_for_each_param``, with the
                update rule and the parameter for each parameter instead.
            name (str): to remove it by; by default its ``name`` or ``__name__``.
            timing (str): 'pre' (gradients are there, parameters not updated yet), 'post', or 'auto' for the
                hook's own ``timing`` ('pre' if it has none).

        Raises:
            NotSetUpError: before :meth:`setup`.
            TypeError: the hook is not callable.
            ValueError: an unknown timing, or no name.
            KeyError: the name is taken.

        """
        self._set_up_hooks().add(hook, name, timing)

    def remove_hook(self, name: str) -> None:
        """Remove the hook that was added under this name (KeyError if there is none)."""
        self._set_up_hooks().remove(name)

    def call_hooks(self, timing: str = 'pre') -> None:
        """Call the hooks of one timing, 'pre' or 'post', in the order they were added."""
        hooks = self._set_up_hooks().of(timing)
        if hooks:
            for hook in list(hooks.values()):
                self.call_hook(hook)

    def call_hook(self, hook: Callable[..., None]) -> None:
        """Call one hook: for each parameter, or once for the optimizer."""
        if getattr(hook, 'call_for_each_param', False):
            for param in self.target.params():
                hook(param.update_rule, param)
        else:
            hook(self)

    def serialize(self, serializer: Any) -> None:
        """Save or load the counts :attr:`t` and :attr:`epoch` and the states of the update rules.

        The parameters themselves are the link's to save. When an entry is missing, every missing one is named
        and nothing has changed.

        Args:
            serializer (AbstractSerializer): what is written to or read from.

        Raises:
            NotSetUpError: before :meth:`setup`.
            SnapshotError: entries are missing or do not fit (all are named); nothing has changed.

        """
        self._set_up_hooks()
        if isinstance(serializer, Deserializer):
            self._load(serializer)
            return
        serializer('t', self.t)
        serializer('epoch', self.epoch)
        self._serialize_loss_scale(serializer)
        for name, _, rule in self._rules():
            rule.serialize(serializer[name])

    def _rules(self) -> list[tuple[str, Any, UpdateRule]]:
        named = [(name, param, param.update_rule) for name, param in self.target.namedparams()]
        return [(name, param, rule) for name, param, rule in named if rule is not None]

    def _load(self, serializer: Deserializer) -> None:
        rules = self._rules()
        counts = (self.t, self.epoch, self._loss_scale, self._loss_scaling_isnan_ever)
        before = [(rule, rule.t, rule.state, _copies(rule.state)) for _, _, rule in rules]
        problems: list[str] = []
        try:
            self._try_load(serializer, rules, problems)
        except BaseException:
            problems.append('')
            raise
        finally:
            if problems:
                self.t, self.epoch, self._loss_scale, self._loss_scaling_isnan_ever = counts
                for rule, t, state, values in before:
                    rule.t, rule._state = t, _restored(state, values)
        if problems:
            raise SnapshotError(
                f'the snapshot does not fit the {type(self).__name__} and its target, which stay as they were:\n  '
                + '\n  '.join(problems)
            )

    def _try_load(self, serializer: Deserializer, rules: list[Any], problems: list[str]) -> None:
        """Load as much as there is, and note what is missing or does not fit."""
        for _, param, rule in rules:
            expect_like(serializer, param, len(rule._state_names()))
        loads: list[tuple[str, Any, Callable[[Any], None]]] = [('', None, self._load_counts)]
        loads += [(name, param, rule.serialize) for name, param, rule in rules]
        for name, param, load in loads:
            try:
                load(serializer[name] if name else serializer)
            except (KeyError, ValueError) as error:
                problems.append(str(error.args[0]) if error.args else name)
            else:
                problems += [] if param is None else _misshapen(name, param)

    def _load_counts(self, serializer: Deserializer) -> None:
        t, epoch = serializer('t', self.t), serializer('epoch', self.epoch)
        self.t, self.epoch = int(t), int(epoch)
        self._serialize_loss_scale(serializer)


def _copies(state: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if state is None else {name: copy.copy(value) for name, value in state.items()}


def _restored(state: dict[str, Any] | None, values: dict[str, Any] | None) -> dict[str, Any] | None:
    """Give a state the values it had, in the arrays it had."""
    if state is not None and values is not None:
        for name, value in values.items():
            if getattr(value, 'shape', None) is None:
                state[name] = value
            else:
                state[name][...] = value
    return state


def _misshapen(name: str, param: Any) -> list[str]:
    """Name the states that cannot be those of the parameter."""
    rule = param.update_rule
    if param.array is None or not rule.is_elementwise:
        return []
    return [
        f'{name}/{key}: shape {value.shape} in the snapshot, the parameter has {param.shape}'
        for key, value in (rule.state or {}).items()
        if value.shape != param.shape
    ]


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


class HyperparameterProxy:
    """Makes an attribute of an optimizer an alias of one of its hyperparameters.

    Args:
        attr_name (str): name of the hyperparameter.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> class Halving(chainer.GradientMethod):
        ...     factor = chainer.optimizer.HyperparameterProxy('factor')
        >>> optimizer = Halving()
        >>> optimizer.factor = 0.5
        >>> optimizer.hyperparam.factor
        0.5

    """

    def __init__(self, attr_name: str) -> None:
        self._attr_name = attr_name
        self.__doc__ = f'Alias to ``self.hyperparam.{attr_name}``'

    def __get__(self, obj: Any, type: type | None = None) -> Any:
        return self if obj is None else getattr(obj.hyperparam, self._attr_name)

    def __set__(self, obj: Any, value: Any) -> None:
        setattr(obj.hyperparam, self._attr_name, value)


def make_deprecation_message(module_name: str) -> str:
    """Return the warning of a hook that is used under its name of Chainer v3."""
    return (
        f'chainer.optimizer.{module_name} is deprecated from v4. Use chainer.optimizer_hooks.{module_name} instead.'
    )


class _Moved:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(make_deprecation_message(type(self).__name__), DeprecationWarning, stacklevel=2)
        super().__init__(*args, **kwargs)


class WeightDecay(_Moved, optimizer_hooks.WeightDecay):
    """Deprecated name of :class:`minichainer.optimizer_hooks.WeightDecay`."""


class Lasso(_Moved, optimizer_hooks.Lasso):
    """Deprecated name of :class:`minichainer.optimizer_hooks.Lasso`."""


class GradientClipping(_Moved, optimizer_hooks.GradientClipping):
    """Deprecated name of :class:`minichainer.optimizer_hooks.GradientClipping`."""


class GradientNoise(_Moved, optimizer_hooks.GradientNoise):
    """Deprecated name of :class:`minichainer.optimizer_hooks.GradientNoise`."""


class GradientHardClipping(_Moved, optimizer_hooks.GradientHardClipping):
    """Deprecated name of :class:`minichainer.optimizer_hooks.GradientHardClipping`."""
