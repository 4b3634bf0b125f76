from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

#: Extensions that report new values run first,
PRIORITY_WRITER = 300
#: then those that change reported values,
PRIORITY_EDITOR = 200
#: then those that only read them.
PRIORITY_READER = 100


class Extension:
    """Base class of extensions, which a :class:`Trainer` calls between updates.

    A subclass defines :meth:`__call__`. Any callable that takes the trainer may also be an extension; the class adds
    defaults and methods for other stages of a run.

    Attributes:
        trigger: When to call it, unless :meth:`Trainer.extend` says otherwise: here at each iteration.
        priority: Order among the extensions of one iteration, largest first.
        name: Name under which the trainer holds it; set by :meth:`Trainer.extend`.
        initialized_when_finished: Whether :meth:`initialize` is called also where the trigger will not fire
            any more, in a run that was resumed: for an extension whose last call still shows elsewhere.

    .. admonition:: Example

        >>> from minichainer import training
        >>> class Hello(training.Extension):
        ...     trigger = 1, 'epoch'
        ...     def __call__(self, trainer):
        ...         print('epoch', trainer.updater.epoch)
        >>> Hello().default_name
        'Hello'

    """

    trigger: Any = (1, 'iteration')
    priority: int = PRIORITY_READER
    name: str | None = None
    initialized_when_finished = False

    if TYPE_CHECKING:  # subclasses give it as an attribute of the class
        default_name: str
    else:

        @property
        def default_name(self) -> str:
            """The default name of the extension in a trainer: the class name."""
            return type(self).__name__

    def __call__(self, trainer: Any) -> Any:
        """Does the work; called if the trigger fires, after the update of the iteration.

        Args:
            trainer: the trainer, with its ``updater``, ``observation`` and ``out``.
        """
        raise NotImplementedError(f'{type(self).__name__} must define __call__(trainer)')

    def initialize(self, trainer: Any) -> None:
        """Called once when the run starts, after a snapshot was loaded, before the first update.

        Args:
            trainer: the trainer, with its ``updater``, ``observation`` and ``out``.
        """

    def on_error(self, trainer: Any, exc: Exception, tb: Any) -> None:
        """Called with the exception that ended the run and its traceback, before :meth:`finalize`.

        Args:
            trainer: the trainer, with its ``updater``, ``observation`` and ``out``.
            exc: the exception.
            tb: its traceback.
        """

    def finalize(self) -> None:
        """Called once at the end of the run, also after an error."""

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the state; part of a snapshot of the trainer.

        Args:
            serializer: a :class:`~minichainer.Serializer` to save, or a :class:`~minichainer.Deserializer` to
                restore.
        """


def make_extension(
    trigger: Any = None,
    default_name: str | None = None,
    priority: int | None = None,
    finalizer: Callable[[], None] | None = None,
    initializer: Callable[[Any], None] | None = None,
    on_error: Callable[[Any, Exception, Any], None] | None = None,
    **kwargs: Any,
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Decorator that gives a function of the trainer the attributes of an :class:`Extension`.

    Args:
        trigger: When to call it; ``(1, 'iteration')`` when omitted.
        default_name (str): Name; the name of the function when omitted.
        priority (int): Order among extensions; ``PRIORITY_READER`` when omitted.
        finalizer: Function without arguments, called at the end of the run.
        initializer: Function of the trainer, called at its start.
        on_error: Function of the trainer, the exception and the traceback, called after an error.

    .. admonition:: Example

        >>> from minichainer import training
        >>> @training.make_extension(trigger=(1, 'epoch'))
        ... def hello(trainer):
        ...     print('epoch', trainer.updater.epoch)
        >>> hello.default_name, hello.priority
        ('hello', 100)

    """
    if 'invoke_before_training' in kwargs:
        raise ValueError(
            'make_extension: invoke_before_training is not supported anymore; pass initializer=, '
            'or call_before_training=True to Trainer.extend'
        )
    if kwargs:
        raise TypeError(f'make_extension: unexpected arguments {sorted(kwargs)}')

    def decorate(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        attributes = {
            'trigger': Extension.trigger if trigger is None else trigger,
            'default_name': function.__name__ if default_name is None else default_name,
            'priority': Extension.priority if priority is None else priority,
            'finalize': finalizer,
            'initialize': initializer,
            'on_error': on_error,
        }
        for name, value in attributes.items():
            setattr(function, name, value)
        return function

    return decorate
