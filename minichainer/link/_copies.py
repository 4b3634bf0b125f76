"""What one call of ``Link.copy('share')`` has copied: what a model has several times is copied once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from minichainer.link._tied import is_each

T = TypeVar('T')


class _Copies(threading.local):
    """The copies that a thread has made in the current call, by the ``id`` of the originals."""

    def __init__(self) -> None:
        self.made: dict[int, Any] = {}
        #: The child whose ``copy`` belongs to the current call; all other calls are calls of their own.
        self.next: Any = None


_copies = _Copies()


def in_one_call(link: Any, make: Callable[[], T]) -> T:
    """What ``make`` returns, within the current call if that copies this link, or else in a new one."""
    before = _copies.made
    made, _copies.next = before if _copies.next is link else {}, None
    try:
        _copies.made = made
        return make()
    finally:
        _copies.made = before


def copied_once(value: Any, make: Callable[[], Any]) -> Any:
    """The copy of a parameter or link, made if there is none.

    Where updates change tied parameters each time, every place gets a copy of its own, as in Chainer: then the
    updates of a copied model are Chainer's, too.
    """
    if is_each():
        return make()
    made = _copies.made
    if id(value) not in made:
        made[id(value)] = make()
    return made[id(value)]


def copied_child(link: Any) -> Any:
    """A copy of a child that shares arrays, by the child's own ``copy``, in the current call."""
    return copied_once(link, lambda: _copy_next(link))


def _copy_next(link: Any) -> Any:
    _copies.next = link
    try:
        return link.copy('share')
    finally:
        _copies.next = None
