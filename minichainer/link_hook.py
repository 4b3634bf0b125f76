"""Hooks called before and after the forward computation of links."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from minichainer._names import namespace as _namespace
from minichainer._trace import timed
from minichainer.configuration import put_counted
from minichainer.function_node import FunctionNode

#: The number of hooks in ``with hook:`` blocks of all threads. A link reads it at each call, because looking at
#: thread-local state costs more than the rest of the call.
active = 0

_apply = FunctionNode.apply


class _ThreadHooks(threading.local):
    def __init__(self) -> None:
        self.hooks: dict[str, LinkHook] = {}


_thread = _ThreadHooks()


def get_link_hooks() -> dict[str, LinkHook]:
    """The hooks that are active in this thread through ``with hook:``, by name, in order."""
    return _thread.hooks


def _add(hook: LinkHook) -> None:
    """Adds a hook to this thread; an interrupt comes before or after the change of the two, see ``put_counted``."""
    global active
    hooks = _thread.hooks
    hooks[hook.name], active = hook, active + 1


def discard(hook: LinkHook) -> None:
    """Removes a hook from this thread if it is there, without a call of ``deleted``."""
    global active
    hooks = _thread.hooks
    if hooks.get(hook.name) is not hook:
        return
    if hook._follows_apply:
        put_counted(hook.__dict__, '_follows_apply', False, -1)
    del hooks[hook.name]
    active -= 1


class _ForwardArguments:
    """Information about a call for a hook; attributes only."""

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
    """Base class of link hooks.

    ``with hook:`` adds a hook to all links (in the current thread), :meth:`minichainer.Link.add_hook` adds it to one.
    The class attribute ``name`` identifies it.

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
    #: Whether :meth:`FunctionNode.apply` has been replaced: ops then have no short forms, which do not call it.
    _follows_apply = False

    def __enter__(self) -> LinkHook:
        hooks = _thread.hooks
        if self.name in hooks:
            raise KeyError(f'hook {self.name} already exists: use another name')
        try:
            _add(self)
            if FunctionNode.apply is not _apply:  # as Chainer's exporter of ONNX does, to see the inputs of functions
                put_counted(self.__dict__, '_follows_apply', True)
            self.added(None)
            return self
        except BaseException:
            discard(self)
            raise

    def __exit__(self, *_: Any) -> None:
        hook = _thread.hooks[self.name]
        try:
            hook.deleted(None)
            discard(hook)
        finally:
            discard(hook)

    def added(self, link: Any) -> None:
        """Called when the hook is added.

        Args:
            link: the link it was added to; None for ``with hook:``.
        """

    def deleted(self, link: Any) -> None:
        """Called when the hook is removed.

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

    def forward_failed(self, args: _ForwardPreprocessCallbackArgs) -> None:
        """Called in place of :meth:`forward_postprocess` if an exception was raised; not in Chainer.

        Args:
            args: as for :meth:`forward_preprocess`.
        """


def _call(hook: LinkHook, method: str, args: Any) -> None:
    """Calls a method of a hook; a recording of this thread gets a row, unless the hook does not define it."""
    call = getattr(hook, method)
    if getattr(call, '__func__', None) is not getattr(LinkHook, method):
        timed(f'{type(hook).__name__}.{method}', call, args)


def call_with_hooks(
    link: Any, hooks: list[LinkHook], args: tuple[Any, ...], kwargs: dict[str, Any], forward: Any = None
) -> Any:
    """Calls ``link.forward(*args, **kwargs)``, or another function, between the two methods of each hook."""
    forward = link.forward if forward is None else forward
    before = _ForwardPreprocessCallbackArgs(link, 'forward', args, kwargs)
    begun: list[LinkHook] = []
    try:
        for hook in hooks:
            _call(hook, 'forward_preprocess', before)
            begun.append(hook)
        out = forward(*args, **kwargs)
    except BaseException:
        for hook in reversed(begun):
            hook.forward_failed(before)
        raise
    after = _ForwardPostprocessCallbackArgs(link, 'forward', args, kwargs, out)
    for hook in hooks:
        _call(hook, 'forward_postprocess', after)
    return out


if not TYPE_CHECKING:
    __getattr__ = _namespace(__name__)[0]
