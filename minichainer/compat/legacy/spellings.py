"""Arguments of the Trainer and its extensions that Chainer v1 and v2 took."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

from minichainer.compat.changes import Changes
from minichainer.compat.legacy.packages import extensions, training
from minichainer.device_resident import DeviceResident
from minichainer.link.link import Link
from minichainer.training import extension, trainer
from minichainer.training.extensions import evaluator
from minichainer.training.updaters.multiprocess_parallel_updater import MultiprocessParallelUpdater
from minichainer.training.updaters.standard_updater import StandardUpdater


def _with_trigger(original: Any, place: int) -> Any:
    """``snapshot`` and ``snapshot_object`` with ``trigger``, by name or at a place."""

    @functools.wraps(original)
    def make(*args: Any, **kwargs: Any) -> Any:
        trigger = kwargs.pop('trigger', args[place] if len(args) > place else None)
        made = original(*args[:place], **kwargs)
        if trigger is not None:
            made.trigger = trigger
        return made

    return make


def _extend(original: Any) -> Any:
    @functools.wraps(original)
    def extend(
        self: Any, extension: Any, name: Any = None, trigger: Any = None, priority: Any = None,
        invoke_before_training: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        """Adds an extension; see Trainer.extend."""
        if invoke_before_training is None:
            invoke_before_training = getattr(extension, 'invoke_before_training', None)
        if invoke_before_training is not None:
            kwargs.setdefault('call_before_training', bool(invoke_before_training))
        original(self, extension, name, trigger, priority, **kwargs)

    return extend


def _make_extension(original: Any) -> Any:
    @functools.wraps(original)
    def make_extension(*args: Any, invoke_before_training: bool = False, **kwargs: Any) -> Any:
        decorate = original(*args, **kwargs)

        def mark(function: Any) -> Any:
            made = decorate(function)
            made.invoke_before_training = invoke_before_training
            return made

        return mark

    return make_extension


def _parallel(original: Any) -> Any:
    @functools.wraps(original)
    def __init__(self: Any, *args: Any, device: Any = None, **kwargs: Any) -> None:
        if device is not None:
            kwargs.setdefault('devices', {'main': device})
        original(self, *args, **kwargs)

    return __init__


def _own_device(plain: Any) -> property:
    """``device`` of a link: its device, until the program gives an attribute of this name a value of its own."""

    def get(self: Any) -> Any:
        return vars(self).get('_own_device', plain.__get__(self))

    def assign(self: Any, value: Any) -> None:
        vars(self)['_own_device'] = value

    return property(get, assign, doc=plain.__doc__)


def install(changes: Changes) -> None:
    """What v3 and later refuse.

    Args:
        changes: that undo it.
    """
    for name, place in (('snapshot', 2), ('snapshot_object', 3)):
        changes.set(extensions, name, _with_trigger(getattr(extensions, name), place))
    changes.set(trainer.Trainer, 'extend', _extend(trainer.Trainer.extend))
    make_extension = _make_extension(extension.make_extension)
    for module in (extension, training):
        changes.set(module, 'make_extension', make_extension)
    device = property(lambda self: self._device, lambda self, value: vars(self).__setitem__('_device', value))
    changes.set(StandardUpdater, 'device', device)
    changes.set(Link, 'device', _own_device(vars(DeviceResident)['device']))
    changes.set(MultiprocessParallelUpdater, '__init__', _parallel(MultiprocessParallelUpdater.__init__))


def install_v1(changes: Changes) -> None:
    """v1's Evaluator leaves it to the model how it evaluates.

    Args:
        changes: that undo it.
    """
    changes.set(evaluator, 'using_config', lambda name, value: contextlib.nullcontext())
