"""Hooks that users add around updates."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any


class HookSet:
    """Hooks by name in the order of registration; hooks before and after the update are separate."""

    def __init__(self) -> None:
        self.pre: dict[str, Callable[..., None]] = {}
        self.post: dict[str, Callable[..., None]] = {}

    def add(self, hook: Callable[..., None], name: str | None, timing: str) -> None:
        if isinstance(hook, type) and any('__call__' in vars(cls) for cls in hook.__mro__):
            raise TypeError(f'a hook expected, got the class {hook.__name__}; write {hook.__name__}(...)')
        if not callable(hook):
            raise TypeError(f'hook function must be callable, got {type(hook).__name__}')
        if timing not in ('pre', 'post', 'auto'):
            raise ValueError(f"timing must be one of ('pre', 'post', 'auto'), got {timing!r}")
        when = _timing_of(hook) if timing == 'auto' else timing
        name = _hook_name(hook) if name is None else name
        if name in self.pre or name in self.post:
            raise KeyError(f'hook "{name}" already exists; use another name or remove it first')
        self.of(when)[name] = hook

    def remove(self, name: str) -> None:
        hooks = self.pre if name in self.pre else self.post
        if name not in hooks:
            known = ', '.join((*self.pre, *self.post)) or 'none'
            raise KeyError(f'no hook "{name}" to remove (registered: {known})')
        del hooks[name]

    def of(self, timing: str) -> dict[str, Callable[..., None]]:
        if timing not in ('pre', 'post'):
            raise ValueError(f"timing must be either 'pre' or 'post', got {timing!r}")
        return self.pre if timing == 'pre' else self.post


def _timing_of(hook: Any) -> str:
    timing = getattr(hook, 'timing', 'pre')
    if timing in ('pre', 'post'):
        return timing
    warnings.warn("Hook timing attribute not in ('pre', 'post'), defaulting timing to 'pre'.", stacklevel=4)
    return 'pre'


def _hook_name(hook: Any) -> str:
    """The default name of a hook."""
    name: str | None = getattr(hook, 'name', None) or getattr(hook, '__name__', None)
    if name is None:
        raise ValueError(
            'the name of the hook function is not specified: pass name=..., or give it a `name` attribute'
        )
    return name
