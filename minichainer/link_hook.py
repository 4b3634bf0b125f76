"""Hooks called before and after the forward computation of links."""

from __future__ import annotations

import threading
from typing import Any

#: How many hooks are in force by ``with hook:`` in any thread: what a link reads at each call, because
#: looking at thread-local state costs more than all the rest of the call.
active = 0

_lock = threading.Lock()


class _ThreadHooks(threading.local):
    def __init__(self) -> None:
        self.hooks: dict[str, LinkHook] = {}


_thread = _ThreadHooks()


def get_link_hooks() -> dict[str, LinkHook]:
    """The hooks that ``with hook:`` put in force in this thread, by name, the first one first."""
    return _thread.hooks


def _count(change: int) -> None:
    global active
    with _lock:
        active += change


class _ForwardArguments:
    """What a hook is told about a call; attributes only."""

    _fields: tuple[str, ...] = ('link', 'forward_name', 'args', 'kwargs')

    def __init__(self, link: Any, forward_name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.link = link
        self.forward_name = forward_name
        self.args = args
        self.kwargs = kwargs

    def __repr__(self) -> str:
        entries = ' '.join(f'{name}={getattr(self, name)}' for name in self._fields)
        return f'<{type(self).__module__}.{type(self).__qualname__} {entries}>'


class _ForwardPreprocessCallbackArgs(_ForwardArguments):
    """Arguments of :meth:`LinkHook.forward_preprocess`."""


class _ForwardPostprocessCallbackArgs(_ForwardArguments):
    """Arguments of :meth:`LinkHook.forward_postprocess`: also the result, ``out``."""

    _fields = (*_ForwardArguments._fields, 'out')

    def __init__(self, link: Any, forward_name: str, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> None:
        super().__init__(link, forward_name, args, kwargs)
        self.out = out


class LinkHook:
    """Base of the hooks on links.

    A hook is put on all links by ``with hook:`` (in the current thread), and on one by
    :meth:`minichainer.Link.add_hook`. Its name, by which it is found again, is the class attribute ``name``.

    >>> import numpy as np, minichainer as chainer
    >>> class Shapes(chainer.LinkHook):
    ...     name = 'Shapes'
    ...     def forward_postprocess(self, args):
    ...         print(type(args.link).__name__, args.out.shape)
    >>> link = chainer.links.Linear(3, 2)
    >>> with Shapes():
    ...     y = link(np.ones((4, 3), np.float32))
    Linear (4, 2)
    """

    name = 'LinkHook'

    def __enter__(self) -> LinkHook:
        hooks = _thread.hooks
        if self.name in hooks:
            raise KeyError(f'hook {self.name} already exists: give one of the two another name')
        hooks[self.name] = self
        _count(1)
        self.added(None)
        return self

    def __exit__(self, *_: Any) -> None:
        hook = _thread.hooks.pop(self.name)
        _count(-1)
        hook.deleted(None)

    def added(self, link: Any) -> None:
        """Called when the hook is put in force.

        Args:
            link: the link it was added to; None for ``with hook:``.
        """

    def deleted(self, link: Any) -> None:
        """Called when the hook is no longer in force.

        Args:
            link: the link it was removed from; None for ``with hook:``.
        """

    def forward_preprocess(self, args: _ForwardPreprocessCallbackArgs) -> None:
        """Called before the forward computation of a link.

        Args:
            args: ``args.link``, ``args.forward_name``, ``args.args`` and ``args.kwargs`` of the call.
        """

    def forward_postprocess(self, args: _ForwardPostprocessCallbackArgs) -> None:
        """Called after the forward computation of a link.

        Args:
            args: as for :meth:`forward_preprocess`, and the result ``args.out``.
        """


def call_with_hooks(link: Any, hooks: list[LinkHook], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``link.forward(*args, **kwargs)`` between the two calls of each hook."""
    before = _ForwardPreprocessCallbackArgs(link, 'forward', args, kwargs)
    for hook in hooks:
        hook.forward_preprocess(before)
    out = link.forward(*args, **kwargs)
    after = _ForwardPostprocessCallbackArgs(link, 'forward', args, kwargs, out)
    for hook in hooks:
        hook.forward_postprocess(after)
    return out
