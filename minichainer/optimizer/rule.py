"""The rule that updates one parameter."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from minichainer._inplace import wrote
from minichainer._trace import hook_name, timed
from minichainer.backend import get_array_module, get_device_from_array, using_device
from minichainer.optimizer.declarations import (
    DeclaredHyperparameter,
    DeclaredSignature,
    DeclaredState,
    add_args,
    bound,
    check_names,
    declared,
)
from minichainer.optimizer.hooks import HookSet
from minichainer.optimizer.hyperparameters import Hyperparameter
from minichainer.serializer import Deserializer
from minichainer.serializers._deserializer import EntryDeserializer
from minichainer.variable import Parameter


class UpdateRule:
    """How one parameter is updated from its gradient, with the state (such as a momentum) that this needs.

    A subclass defines :meth:`update_core`, or :meth:`update_core_cpu` and :meth:`update_core_gpu`, which change
    ``param.array`` in place. It declares its hyperparameters and states (see
    :func:`~minichainer.optimizer.hyperparameter`), or, as in Chainer, sets :attr:`hyperparam` in its ``__init__`` and
    defines :meth:`init_state`. A rule that is one formula should be a :class:`~minichainer.optimizer.FormulaRule`.

    Args:
        parent_hyperparam: the set in which values that are not given are looked up, usually the optimizer's; by
            default that of the declared values.
        values: the declared hyperparameters for this rule alone, in their order; None leaves the parent's value.
        named: the same by name.

    Attributes:
        enabled: no update happens while this is false.
        hyperparam: the values for this parameter.
        t: how many updates have been made.

    >>> import numpy as np
    >>> import minichainer as chainer
    >>> class SignRule(chainer.UpdateRule):
    ...     lr = chainer.optimizer.hyperparameter(0.5, 'size of a step')
    ...     def update_core(self, param):
    ...         param.array -= self.hyperparam.lr * np.sign(param.grad)
    >>> param = chainer.Parameter(np.zeros(2, np.float32))
    >>> param.update_rule = SignRule()
    >>> param.grad = np.array([3, -4], np.float32)
    >>> param.update()
    >>> param.array
    array([-0.5,  0.5], dtype=float32)
    """

    __signature__ = DeclaredSignature()

    is_elementwise = False
    enabled = True
    t = 0
    hyperparam: Hyperparameter
    _declared_states: ClassVar[dict[str, DeclaredState]] = {}
    _arguments: ClassVar[dict[str, None]] = {}
    _defaults: Hyperparameter | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        check_names(cls)
        cls._declared_states = declared(cls, DeclaredState)
        hyperparameters = declared(cls, DeclaredHyperparameter)
        if hyperparameters.keys() == cls._arguments.keys() and not hyperparameters.keys() & vars(cls).keys():
            return  # no new declarations: keep the base's signature and docstring
        cls._arguments = dict.fromkeys(hyperparameters)
        cls._defaults = Hyperparameter()
        for name, declaration in hyperparameters.items():
            setattr(cls._defaults, name, declaration.default)
        parent = {'parent_hyperparam': 'the set that is used for values that are not given'}
        add_args(cls, parent | {name: declaration.text for name, declaration in hyperparameters.items()})

    def __init__(self, parent_hyperparam: Hyperparameter | None = None, *values: Any, **named: Any) -> None:
        cls = type(self)
        self.enabled = True
        self.hyperparam = Hyperparameter(cls._defaults if parent_hyperparam is None else parent_hyperparam)
        for name, value in bound(cls, cls._arguments, values, named).items():
            if value is not None:
                setattr(self.hyperparam, name, value)
        self.hyperparam.close(cls)
        self.t = 0
        self._state: Any = None
        self._hooks: HookSet | None = None
        self._use_fp32_update = False
        self._fp32_param: Parameter | None = None

    @property
    def state(self) -> dict[str, Any] | None:
        """Arrays kept between updates, by name; None before the first update."""
        state: dict[str, Any] | None = self._state
        return state

    def add_hook(self, hook: Callable[..., None], name: str | None = None, timing: str = 'auto') -> None:
        """Calls ``hook(rule, param)`` around each update of this parameter.

        Args:
            hook: takes this rule and the parameter; it may change ``param.grad`` and ``param.array``.
            name: the name to remove it by; by default its ``name`` or ``__name__``.
            timing: 'pre', 'post', or 'auto' for the hook's own ``timing`` ('pre' if it has none).

        Raises:
            TypeError: the hook is not callable.
            ValueError: the timing is unknown, or there is no name.
            KeyError: the name is taken.
        """
        if self._hooks is None:
            self._hooks = HookSet()
        self._hooks.add(hook, name, timing)

    def remove_hook(self, name: str) -> None:
        """Removes the hook that was added under this name (KeyError if there is none).

        Args:
            name: the name of the hook.
        """
        (self._hooks or HookSet()).remove(name)

    def update(self, param: Parameter) -> None:
        """Updates the parameter with its gradient, unless the rule is disabled.

        Args:
            param: the parameter, changed in place; its ``array`` stays the same object.
        """
        if not self.enabled:
            return
        self.t += 1
        wrote(param.edge)
        if param._data is None or isinstance(param._data, np.ndarray):
            self._update(param)
        else:
            with using_device(param.device):
                self._update(param)

    def _update(self, param: Parameter) -> None:
        """Updates the parameter, with hooks, loss scale and float32 copy."""
        target = param
        if self._use_fp32_update and param._data is not None and param.dtype == np.float16:
            target = self._single_precision_copy(param)
        if target._data is not None:
            self._init_states(target)
            loss_scale = getattr(param, '_loss_scale', None)
            if loss_scale is not None and target.grad is not None:
                target.grad /= loss_scale
                target._loss_scale = None
        self._call_hooks('pre', target)
        self.update_core(target)
        self._call_hooks('post', target)
        if target is not param:
            array: Any = param._data
            array[...] = target._data
            target.grad = None

    def _float32_copy(self, param: Parameter) -> Parameter:
        """Returns the float32 copy through which a float16 parameter is updated, as the last update left it."""
        single = self._fp32_param
        if single is not None:
            single.to_device(param.device)
        if single is None or single.shape != param.shape:
            single = self._fp32_param = Parameter(param._data.astype(np.float32), name=param.name)
        return single

    def _single_precision_copy(self, param: Parameter) -> Parameter:
        """Returns the float32 copy, synchronized with the parameter and its gradient."""
        single = self._float32_copy(param)
        # Where the parameter was written to since the last update, for example by loading a snapshot, it takes
        # precedence.
        same = single._data.astype(np.float16) == param._data
        if not isinstance(same, np.ndarray):
            single._data[...] = get_array_module(same).where(same, single._data, param._data)  # does not wait
        elif not same.all():
            single._data[...] = param._data
        single.grad = None if param.grad is None else param.grad.astype(np.float32)
        return single

    def _call_hooks(self, timing: str, param: Parameter) -> None:
        if self._hooks is not None:
            for hook in list(self._hooks.of(timing).values()):
                timed(hook_name(hook), hook, self, param)

    def update_core(self, param: Parameter) -> None:
        """Changes ``param.array`` in place; by default through the method for its device.

        Args:
            param: the parameter; its ``grad`` is the gradient.
        """
        if param._data is None or isinstance(param._data, np.ndarray):
            self.update_core_cpu(param)
        else:
            self.update_core_gpu(param)

    def update_core_cpu(self, param: Parameter) -> None:
        """Changes ``param.array``, a NumPy array, in place.

        Args:
            param: the parameter; its ``grad`` is the gradient.
        """
        raise NotImplementedError(f'{type(self).__name__} defines neither update_core nor update_core_cpu')

    def update_core_gpu(self, param: Parameter) -> None:
        """Changes ``param.array``, a CuPy array, in place.

        Args:
            param: the parameter; its ``grad`` is the gradient.
        """
        raise NotImplementedError(f'{type(self).__name__} defines neither update_core nor update_core_gpu')

    def init_state(self, param: Parameter) -> None:
        """Fills :attr:`state` with the declared arrays; called before the first update.

        Args:
            param: the parameter; its ``grad`` is the gradient.
        """
        for name in self._kept_states(self.hyperparam):
            self._state[name] = self._declared_states[name].array_for(param._data)

    def _kept_states(self, hyperparam: Hyperparameter) -> list[str]:
        """Returns the names of the declared states that these hyperparameters require."""
        names = []  # not a comprehension, which is one more call per update before Python 3.12
        for name, state in self._declared_states.items():
            if state.when is None or getattr(hyperparam, state.when):
                names.append(name)
        return names

    def _init_states(self, param: Parameter) -> None:
        """Makes missing states, and moves existing ones to the parameter's device."""
        if self._state is None:
            self._state = {}
            self.init_state(param)
        on_cpu = isinstance(param._data, np.ndarray)
        for name, value in self._state.items():
            # The parameter may have been moved, or the state may come from a file.
            if hasattr(value, '__cuda_array_interface__') or (isinstance(value, np.ndarray) and not on_cpu):
                self._state[name] = get_device_from_array(param._data).send(value)

    def serialize(self, serializer: Any) -> None:
        """Saves or loads the update count and the state.

        When loading, existing arrays of the state are filled in place; nothing changes if an entry is missing.
        Entries skipped by a lenient deserializer stay unchanged, or are made at the next update.

        Args:
            serializer: the serializer that is written to or read from.
        """
        if isinstance(serializer, Deserializer):
            self._load(serializer)
            return
        serializer('t', self.t)
        for name in self._state or ():
            self._state[name] = serializer(name, self._state[name])

    def _load(self, serializer: Deserializer) -> None:
        """Loads the update count and the states, into existing arrays if possible."""
        t = int(serializer('t', self.t))
        try:
            loaded = {name: serializer(name, None) for name in self._state_names()}
        except KeyError:
            if self.enabled or self._state:
                raise
            loaded = dict.fromkeys(self._state_names())  # a disabled rule may never have made its state
        self.t = t
        current = {} if serializer.restores else self._state or {}
        for name, value in loaded.items():
            held = current.get(name)
            if value is None:  # skipped by a lenient deserializer
                loaded[name] = held
            elif isinstance(held, np.ndarray) and held.shape == np.shape(value):
                held[...] = value
                loaded[name] = held
            elif hasattr(value, 'copy'):  # the source may be a dict with another optimizer's arrays
                loaded[name] = value.copy()
        self._state = None if any(value is None for value in loaded.values()) else loaded

    def _state_names(self) -> tuple[str, ...]:
        """The names of the states, even before they exist."""
        if self._state:
            return tuple(self._state)
        # The names made by init_state, called with a stand-in, because the parameter may have no array. A copy, for
        # its other attributes; it shares the state with this rule, which a function of the caller's may fill.
        before, self._state = self._state, {}
        try:
            stand_in = Parameter(np.zeros(1, np.float32))
            stand_in.grad = np.zeros(1, np.float32)
            probe = copy.copy(self)
            probe.init_state(stand_in)
            return tuple(probe._state)
        finally:
            self._state = before

    def use_fp32_update(self, flag: bool = True) -> None:
        """Updates a float16 parameter through a float32 copy (mixed precision), or stops doing so.

        Args:
            flag: True to do so, False to stop.
        """
        self._use_fp32_update = flag


def expect_like(serializer: Any, param: Any, count: int) -> None:
    """Lets a deserializer of files expect arrays as large as a parameter, whatever their compressed size."""
    if isinstance(serializer, EntryDeserializer) and param._data is not None:
        serializer.expect(count * param._data.size * max(param.dtype.itemsize, 4))


def serialize_single_precision(serializer: Any, link: Any) -> None:
    """Saves or loads the float32 copies through which float16 parameters of a link are updated.

    They are not in an optimizer's snapshot, which has Chainer's entries. If a snapshot lacks a copy, or its copy does
    not round to the parameter, a new copy is made from the parameter.
    """
    for path, param in link.namedparams():
        rule = param.update_rule
        if not getattr(rule, '_use_fp32_update', False):
            continue
        if not isinstance(serializer, Deserializer):
            if rule._fp32_param is not None:
                serializer(path, rule._fp32_param._data)
            continue
        expect_like(serializer, param, 1)
        with contextlib.suppress(KeyError):
            array = serializer(path, None)
            rule._fp32_param = None if array is None else Parameter(array.astype(np.float32), name=param.name)
