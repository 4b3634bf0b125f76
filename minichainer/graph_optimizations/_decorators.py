"""Decorators that change nothing."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def decorator(name: str, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The function to which a decorator is applied, wrapped; or the decorator, if it was called with settings."""
    if not arguments:
        return functools.partial(_wrapped, name)
    if len(arguments) == 1:
        return _wrapped(name, arguments[0])
    raise TypeError(f'{name}: expected one function, and settings by name; got {len(arguments)} arguments')


def _wrapped(name: str, func: Any) -> Callable[..., Any]:
    if not callable(func):
        raise TypeError(f'{name}: expected a function, got {type(func).__name__}')

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return wrapper
