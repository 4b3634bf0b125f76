"""Attributes that are computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minichainer.configuration import config


class cached_property:
    """A read-only property whose value is computed at the first access; a decorator of methods.

    There is one value with a graph and one without: that of ``no_backprop_mode`` is not used where gradients are
    wanted.

    Args:
        func: the method.

    >>> from minichainer.utils.cache import cached_property
    >>> class Circle:
    ...     @cached_property
    ...     def area(self):
    ...         print('computed')
    ...         return 3.14
    >>> circle = Circle()
    >>> circle.area + circle.area
    computed
    6.28
    """

    def __init__(self, func: Callable[[Any], Any]) -> None:
        self.func = func
        self.__doc__ = func.__doc__
        self._name = func.__name__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        values = instance.__dict__.setdefault(self._name, {})
        mode = bool(config.enable_backprop)
        if mode not in values:
            values[mode] = self.func(instance)
        return values[mode]

    def __set__(self, instance: Any, value: Any) -> None:
        raise AttributeError(f'attribute {self._name!r} of {type(instance).__name__} is readonly')
