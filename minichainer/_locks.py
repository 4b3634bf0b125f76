"""Locks that a forked process can take: in it, the thread that holds one in the parent does not exist."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

from minichainer._lifetimes import removing

#: What is called in a forked process, in order; keys are objects of no other use.
_renewals: dict[object, Callable[[], None]] = {}


def after_fork(call: Callable[[], None]) -> None:
    """Calls a function in each process that is forked from now on."""
    _renewals[object()] = call


def lock_of(owner: Any, name: str, make: Callable[[], Any] = threading.Lock) -> Any:
    """A new lock, in whose place a forked process gets another one.

    Args:
        owner: where it is stored: the ``globals()`` of a module, or an object.
        name: the name of the variable or attribute.
        make: makes a lock.

    >>> _lock = lock_of(globals(), '_lock')
    >>> with _lock:
    ...     pass
    """
    if isinstance(owner, dict):
        after_fork(lambda: owner.update({name: make()}))
        return make()
    key = object()
    alive = weakref.ref(owner, removing(_renewals, key))

    def renew() -> None:
        found = alive()
        if found is not None:
            setattr(found, name, make())

    _renewals[key] = renew
    return make()


def _renew() -> None:
    for call in tuple(_renewals.values()):
        call()


if hasattr(os, 'register_at_fork'):
    os.register_at_fork(after_in_child=_renew)
