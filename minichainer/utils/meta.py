"""Methods that must not be overridden."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar, overload

Method = TypeVar('Method', bound=Callable[..., Any])


class _FinalChecker(type):
    """Metaclass that detects overridden final methods when a class is made."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **kwargs: Any) -> None:
        super().__init__(name, bases, namespace, **kwargs)
        check_overrides(cls)


def check_overrides(cls: type) -> None:
    """Acts on final methods that a new class overrides; to be called while the class is made.

    Args:
        cls: the class.

    Raises:
        TypeError: it overrides a method that is final; or what that method names as its ``action``.
    """
    for attribute in vars(cls):
        inherited = (getattr(base, attribute, None) for base in cls.__mro__[1:])
        action = next((a for a in (getattr(m, '_override_action', None) for m in inherited) if a), None)
        if action is None:
            continue
        if issubclass(action, Warning):
            warnings.warn(f"Overriding method '{attribute}' in {cls.__name__}", action, stacklevel=4)
        else:
            raise action(f"method '{attribute}' is final: {cls.__name__} must not override it")


def _as_tuple(types: Any) -> tuple[type, ...]:
    return types if isinstance(types, tuple) else (types,)


def enable_final(base: Any = (), meta_base: Any = ()) -> type:
    """A base class that enables :func:`final` in its subclasses.

    Args:
        base: a class, or a tuple of classes, that the result derives from.
        meta_base: metaclasses that descendants may have besides.

    >>> from minichainer import utils
    >>> class Base(utils.enable_final()):
    ...     @utils.final
    ...     def run(self):
    ...         pass
    >>> class Derived(Base):
    ...     def run(self):
    ...         pass
    Traceback (most recent call last):
        ...
    TypeError: method 'run' is final: Derived must not override it
    """
    bases = _as_tuple(base)
    metas = [m for m in (*_as_tuple(meta_base), *map(type, bases)) if m is not type]
    metaclass = type('_FinalMeta', (_FinalChecker, *dict.fromkeys(metas)), {})
    enabled: type = metaclass('FinalEnabled', bases, {})
    return enabled


@overload
def final(method: Method, /) -> Method: ...
@overload
def final(*, action: type[Exception]) -> Callable[[Method], Method]: ...
def final(*args: Any, **kwargs: Any) -> Any:
    """Decorator for a method that must not be overridden; its class derives from :func:`enable_final`.

    Args:
        args: the method, for use without parentheses.
        kwargs: ``action``, the exception to raise (TypeError by default) or the warning to issue when the
            method is overridden.
    """
    action = kwargs.pop('action', TypeError)
    if kwargs or len(args) > 1 or (args and not callable(args[0])):
        raise TypeError('final: use @final or @final(action=...)')

    def mark(method: Callable[..., Any]) -> Callable[..., Any]:
        method._override_action = action  # type: ignore[attr-defined]
        return method

    return mark(args[0]) if args else mark
