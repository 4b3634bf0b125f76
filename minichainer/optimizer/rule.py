"""The rule that updates one parameter."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from minichainer.backend import get_device_from_array, using_device
from minichainer.optimizer.hooks import HookSet
from minichainer.optimizer.hyperparameters import Hyperparameter
from minichainer.serializer import Deserializer
from minichainer.serializers._entries import EntryDeserializer
from minichainer.variable import Parameter


class UpdateRule:
    """How one parameter is updated from its gradient, with the state (such as a momentum) this takes.

    A subclass writes :meth:`update_core`, or :meth:`update_core_cpu` and :meth:`update_core_gpu`, which
    change ``param.array`` in place, and :meth:`init_state` if it keeps state.

    Args:
        parent_hyperparam (Hyperparameter): the defaults, usually the optimizer's.

    Attributes:
        enabled (bool): no update happens while this is false.
        hyperparam (Hyperparameter): the values for this parameter.
        t (int): how many updates have been made.

    .. admonition:: Example

        >>> import numpy as np
        >>> import minichainer as chainer
        >>> class SignRule(chainer.UpdateRule):
        ...     def update_core(self, param):
        ...         param.array -= self.hyperparam.lr * np.sign(param.grad)
        >>> param = chainer.Parameter(np.zeros(2, np.float32))
        >>> param.update_rule = SignRule()
        >>> param.update_rule.hyperparam.lr = 0.5
        >>> param.grad = np.array([3, -4], np.float32)
        >>> param.update()
        >>> param.array
        array([-0.5,  0.5], dtype=float32)

    """

    is_elementwise = False

    def __init__(self, parent_hyperparam: Hyperparameter | None = None) -> None:
        self.enabled = True
        self.hyperparam = Hyperparameter(parent_hyperparam)
        self.t = 0
        self._state: Any = None
        self._hooks: HookSet | None = None
        self._use_fp32_update = False
        self._fp32_param: Parameter | None = None

    @property
    def state(self) -> dict[str, Any] | None:
        """Arrays kept from one update to the next, by name; None before the first update."""
        return self._state

    def add_hook(self, hook: Callable[..., None], name: str | None = None, timing: str = 'auto') -> None:
        """Call ``hook(rule, param)`` around each update of this parameter.

        Args:
            hook (callable): takes this rule and the parameter; it may change ``param.grad`` and
                ``param.array``.
            name (str): to remove it by; by default its ``name`` or ``__name__``.
            timing (str): 'pre', 'post', or 'auto' for the hook's own ``timing`` ('pre' if it has none).

        Raises:
            TypeError: the hook is not callable.
            ValueError: an unknown timing, or no name.
            KeyError: the name is taken.

        """
        if self._hooks is None:
            self._hooks = HookSet()
        self._hooks.add(hook, name, timing)

    def remove_hook(self, name: str) -> None:
        """Remove the hook that was added under this name (KeyError if there is none)."""
        (self._hooks or HookSet()).remove(name)

    def update(self, param: Parameter) -> None:
        """Update the parameter by its gradient, unless the rule is disabled.

        Args:
            param (Parameter): changed in place; its ``array`` stays the same object.

        """
        if not self.enabled:
            return
        self.t += 1
        if param.array is None or isinstance(param.array, np.ndarray):
            self._update(param)
        else:
            with using_device(param.device):
                self._update(param)

    def _update(self, param: Parameter) -> None:
        target = param
        if self._use_fp32_update and param.array is not None and param.dtype == np.float16:
            target = self._single_precision_twin(param)
        if target.array is not None:
            self._init_states(target)
            loss_scale = getattr(param, '_loss_scale', None)
            if loss_scale is not None and target.grad is not None:
                target.grad /= loss_scale
                target._loss_scale = None
        self._call_hooks('pre', target)
        self.update_core(target)
        self._call_hooks('post', target)
        if target is not param:
            param.array[...] = target.array
            target.grad = None

    def _single_precision_twin(self, param: Parameter) -> Parameter:
        """Return the float32 copy that float16 parameters are updated through, brought up to date."""
        twin = self._fp32_param
        if twin is not None:
            twin.to_device(param.device)
        if twin is None or twin.shape != param.shape:
            twin = self._fp32_param = Parameter(param.array.astype(np.float32), name=param.name)
        elif not (twin.array.astype(np.float16) == param.array).all():
            # Somebody wrote into the parameter since (a snapshot was loaded, say): that is the truth.
            twin.array[...] = param.array
        twin.grad = None if param.grad is None else param.grad.astype(np.float32)
        return twin

    def _call_hooks(self, timing: str, param: Parameter) -> None:
        if self._hooks is not None:
            for hook in list(self._hooks.of(timing).values()):
                hook(self, param)

    def update_core(self, param: Parameter) -> None:
        """Change ``param.array`` in place; by default through the method for the device it is on."""
        if param.array is None or isinstance(param.array, np.ndarray):
            self.update_core_cpu(param)
        else:
            self.update_core_gpu(param)

    def update_core_cpu(self, param: Parameter) -> None:
        """Change ``param.array``, a NumPy array, in place."""
        raise NotImplementedError(f'{type(self).__name__} defines neither update_core nor update_core_cpu')

    def update_core_gpu(self, param: Parameter) -> None:
        """Change ``param.array``, a CuPy array, in place."""
        raise NotImplementedError(f'{type(self).__name__} defines neither update_core nor update_core_gpu')

    def init_state(self, param: Parameter) -> None:
        """Fill :attr:`state` with arrays that suit the parameter; called before the first update."""

    def _init_states(self, param: Parameter) -> None:
        if self._state is None:
            self._state = {}
            self.init_state(param)
        on_cpu = isinstance(param.array, np.ndarray)
        for name, value in self._state.items():
            # The parameter may have moved, or the state may come from a file.
            if hasattr(value, '__cuda_array_interface__') or (isinstance(value, np.ndarray) and not on_cpu):
                self._state[name] = get_device_from_array(param.array).send(value)

    def serialize(self, serializer: Any) -> None:
        """Save or load the update count and the state.

        When loading, arrays of the state that exist already are filled in place; nothing changes if an entry
        is missing. What a lenient deserializer passes over stays as it is, or is made anew by the next
        update.

        Args:
            serializer (AbstractSerializer): what is written to or read from.

        """
        if isinstance(serializer, Deserializer):
            self._load(serializer)
            return
        serializer('t', self.t)
        for name in self._state or ():
            self._state[name] = serializer(name, self._state[name])

    def _load(self, serializer: Deserializer) -> None:
        t = serializer('t', self.t)
        loaded = {name: serializer(name, None) for name in self._state_names()}
        self.t = int(t)
        current = self._state or {}
        for name, value in loaded.items():
            held = current.get(name)
            if value is None:  # passed over by a lenient deserializer
                loaded[name] = held
            elif isinstance(held, np.ndarray) and held.shape == np.shape(value):
                held[...] = value
                loaded[name] = held
            else:
                loaded[name] = value.copy()  # a dict that is loaded from may hold another optimizer's state
        self._state = None if any(value is None for value in loaded.values()) else loaded

    def _state_names(self) -> tuple[str, ...]:
        if self._state:
            return tuple(self._state)
        # The names are what init_state makes, seen on a copy and a stand-in because the parameter may have no
        # array.
        probe = copy.copy(self)
        probe._state = {}
        stand_in = Parameter(np.zeros(1, np.float32))
        stand_in.grad = np.zeros(1, np.float32)
        probe.init_state(stand_in)
        return tuple(probe._state)

    def use_fp32_update(self, flag: bool = True) -> None:
        """Update a float16 parameter through a float32 copy of it (mixed precision), or stop doing so."""
        self._use_fp32_update = flag


def expect_like(serializer: Any, param: Any, count: int) -> None:
    """Tell a deserializer of files that arrays as large as a parameter will come, however well compressed."""
    if isinstance(serializer, EntryDeserializer) and param.array is not None:
        serializer.expect(count * param.array.size * max(param.dtype.itemsize, 4))


def serialize_single_precision(serializer: Any, link: Any) -> None:
    """Save or load the float32 copies that float16 parameters of a link are updated through.

    They are no part of an optimizer's snapshot, which has Chainer's entries. Where a snapshot lacks one, or
    has one that does not round to the parameter, it is made of the parameter.
    """
    for path, param in link.namedparams():
        rule = param.update_rule
        if not getattr(rule, '_use_fp32_update', False):
            continue
        if not isinstance(serializer, Deserializer):
            if rule._fp32_param is not None:
                serializer(path, rule._fp32_param.array)
            continue
        expect_like(serializer, param, 1)
        with contextlib.suppress(KeyError):
            array = serializer(path, None)
            rule._fp32_param = None if array is None else Parameter(array.astype(np.float32))
