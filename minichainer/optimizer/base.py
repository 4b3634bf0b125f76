"""The base classes of optimizers: target link, hooks, loss scaling, saving and loading.

An :class:`Optimizer` has a target link. A :class:`GradientMethod` gives each parameter of the link an
:class:`UpdateRule`, and applies the rules on every update. The algorithms are in ``optimizers``.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

from minichainer._elsewhere import NamesOfOptimizers
from minichainer._trace import hook_name, timed
from minichainer.errors import NotSetUpError
from minichainer.link._tied import each_once, say_tied
from minichainer.link._unregistered import warn_of_unregistered
from minichainer.link.link import Link
from minichainer.optimizer.hooks import HookSet
from minichainer.optimizer.loss_scaling import LossScaling
from minichainer.optimizer.rule import UpdateRule, expect_like
from minichainer.serializer import Deserializer, SnapshotError


class Optimizer(LossScaling, NamesOfOptimizers):
    """Base class of all optimizers.

    :meth:`setup` sets the target; :meth:`update`, which a subclass defines, makes one step.

    Attributes:
        target: the link whose parameters are updated; None before :meth:`setup`.
        t: number of updates made.
        epoch: number of epochs begun by :meth:`new_epoch`.
        use_auto_new_epoch: whether the updater calls :meth:`new_epoch`.
    """

    target: Any = None
    t = 0
    epoch = 0
    use_auto_new_epoch = False
    _hooks: HookSet | None = None

    def setup(self, link: Link) -> Optimizer:
        """Sets the link whose parameters are updated, with counts of zero and no hooks.

        If a parameter has several paths, an update changes it once; if ``config.tied_parameters`` is 'each', once for
        each path, as in Chainer. The paths are logged.

        Args:
            link: the model.

        Returns:
            The optimizer itself.

        Raises:
            TypeError: the target is not a link.
        """
        if not isinstance(link, Link):
            raise TypeError(f'optimization target must be a link, got {_kind(link)}')
        warn_of_unregistered(link)
        say_tied(type(self).__name__, link)
        self.target = link
        self.t = 0
        self.epoch = 0
        self._hooks = HookSet()
        return self

    def update(self, lossfun: Callable[..., Any] | None = None, *args: Any, **kwds: Any) -> None:
        """Updates the parameters once; defined by subclasses.

        Args:
            lossfun: called with the other arguments, returns the loss as a Variable; without it the gradients
                are taken as they are.
            args: arguments of ``lossfun``.
            kwds: keyword arguments of ``lossfun``.
        """
        raise NotImplementedError(f'{type(self).__name__} does not define update')

    def new_epoch(self, auto: bool = False) -> None:
        """Counts a new epoch.

        Args:
            auto: whether an updater calls; :attr:`use_auto_new_epoch` must be true if it does, false otherwise.

        Raises:
            RuntimeError: both the updater and the user count epochs, or neither is set to.
        """
        if auto and not self.use_auto_new_epoch:
            raise RuntimeError(
                'new_epoch(auto=True) from an unregistered updater: an updater that counts '
                'epochs must first set '
                'optimizer.use_auto_new_epoch = True'
            )
        if self.use_auto_new_epoch and not auto:
            raise RuntimeError(
                'the updater already counts epochs: create the updater with auto_new_epoch=False, or do '
                'not call new_epoch yourself'
            )
        self.epoch += 1

    def _set_up_hooks(self) -> HookSet:
        if self._hooks is None:
            raise NotSetUpError(f'{type(self).__name__} is used before setup: call its setup(model) first')
        return self._hooks

    def add_hook(self, hook: Callable[..., None], name: str | None = None, timing: str = 'auto') -> None:
        """Calls a hook on every update.

        Args:
            hook: called with the optimizer; if it has a true ``call_for_each_param``, with the update rule and
                the parameter for each parameter instead.
            name: the name to remove it by; by default its ``name`` or ``__name__``.
            timing: 'pre' (after the gradients, before the update), 'post', or 'auto' for the hook's own
                ``timing`` ('pre' if it has none).

        Raises:
            NotSetUpError: :meth:`setup` has not been called.
            TypeError: the hook is not callable.
            ValueError: the timing is unknown, or there is no name.
            KeyError: the name is taken.
        """
        self._set_up_hooks().add(hook, name, timing)

    def remove_hook(self, name: str) -> None:
        """Removes the hook that was added under this name (KeyError if there is none).

        Args:
            name: the name of the hook.
        """
        self._set_up_hooks().remove(name)

    def call_hooks(self, timing: str = 'pre') -> None:
        """Calls the hooks of one timing, 'pre' or 'post', in the order they were added.

        Args:
            timing: 'pre' for those before the update, 'post' for those after it.
        """
        hooks = self._set_up_hooks().of(timing)
        if hooks:
            for hook in list(hooks.values()):
                self.call_hook(hook)

    def call_hook(self, hook: Callable[..., None]) -> None:
        """Calls one hook: for each parameter, or once for the optimizer.

        Args:
            hook: the hook.
        """
        if getattr(hook, 'call_for_each_param', False):
            params = each_once(self.target.params())
            together = getattr(type(hook), 'call_together', None)
            for param in params if together is None else together(hook, params):
                timed(hook_name(hook), hook, param.update_rule, param)
        else:
            timed(hook_name(hook), hook, self)

    def serialize(self, serializer: Any) -> None:
        """Saves or loads the counts :attr:`t` and :attr:`epoch` and the states of the update rules.

        The link saves the parameters itself. If entries are missing, the error names all of them, and nothing is
        changed.

        Args:
            serializer: the serializer that is written to or read from.

        Raises:
            NotSetUpError: :meth:`setup` has not been called.
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
        """Loads counts and states; restores all of them if anything does not fit."""
        rules = self._rules()
        counts = (self.t, self.epoch, self._loss_scale, self._loss_scaling_isnan_ever)
        before = [(rule, rule.t, rule.state, _copies(rule.state)) for _, _, rule in rules]
        problems: list[Exception] = []
        complete = False
        try:
            self._try_load(serializer, rules, problems)
            complete = not problems
        finally:
            if not complete:
                self.t, self.epoch, self._loss_scale, self._loss_scaling_isnan_ever = counts
                for rule, t, state, values in before:
                    rule.t, rule._state = t, _restored(state, values)
        serializer.refuse(f'{type(self).__name__} and its target, which are unchanged', problems)

    def _try_load(self, serializer: Deserializer, rules: list[Any], problems: list[Exception]) -> None:
        """Loads all entries that exist, and records those that are missing or do not fit."""
        for _, param, rule in rules:
            expect_like(serializer, param, len(rule._state_names()))
        loads: list[tuple[str, Any, Callable[[Any], None]]] = [('', None, self._load_counts)]
        loads += [(name, param, functools.partial(_load_rule, rule, param)) for name, param, rule in rules]
        for name, param, load in loads:
            try:
                load(serializer[name] if name else serializer)
            except (KeyError, ValueError) as error:
                problems.append(error)
            else:
                problems += [] if param is None else _misshapen(serializer.full_name(name), param)

    def _load_counts(self, serializer: Deserializer) -> None:
        self.t = int(serializer('t', self.t))
        self.epoch = int(serializer('epoch', self.epoch))
        self._serialize_loss_scale(serializer)


def _load_rule(rule: UpdateRule, param: Any, serializer: Deserializer) -> None:
    """Loads a rule, which was saved without states if its parameter was never updated or has no array yet."""
    try:
        rule.serialize(serializer)
    except KeyError:
        t = int(serializer('t', rule.t))
        if t and param.is_initialized:
            raise
        rule.t, rule._state = t, None


def _kind(value: Any) -> str:
    """The type of a target that is not a link, and what to write instead."""
    if isinstance(value, type):
        return f'the class {value.__name__}; write setup({value.__name__}(...))'
    return type(value).__name__


def _copies(state: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if state is None else {name: copy.copy(value) for name, value in state.items()}


def _restored(state: dict[str, Any] | None, values: dict[str, Any] | None) -> dict[str, Any] | None:
    """Restores the values of a state in its existing arrays."""
    if state is not None and values is not None:
        for name, value in values.items():
            if getattr(value, 'shape', None) is None:
                state[name] = value
            else:
                state[name][...] = value
    return state


def _misshapen(name: str, param: Any) -> list[SnapshotError]:
    """Names the declared states whose shape does not fit the parameter; others, of programs, may have any."""
    rule = param.update_rule
    if param._data is None or not rule.is_elementwise:
        return []
    return [
        SnapshotError(f'{name}/{key}: shape {value.shape} in the snapshot, the parameter has {param.shape}')
        for key, value in (rule.state or {}).items()
        if key in rule._declared_states and value.shape != param.shape
    ]
