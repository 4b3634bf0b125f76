"""Hooks around every function of a thread: profiling, printing, memory accounting."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from minichainer._names import namespace as _namespace
from minichainer.configuration import count_nondefault, put_counted, take_counted


class _ThreadHooks(threading.local):
    def __init__(self) -> None:
        self.hooks = _CountedHooks()


class _CountedHooks(dict):  # type: ignore[type-arg]
    """The hooks of one thread; subtracts its share of the count when the thread ends."""

    def __del__(self) -> None:
        if self and count_nondefault is not None:
            count_nondefault(-len(self))


_thread = _ThreadHooks()


def get_function_hooks() -> dict[str, FunctionHook]:
    """The function hooks of this thread, ``{name: hook}`` in the order they were added."""
    return _thread.hooks


def add_counted_hook(hooks: dict[str, Any], name: str, hook: Any, owner: Any) -> None:
    """Adds a hook, counts it, and calls its ``added``; undoes that if it raises an exception.

    Args:
        hooks: where it is added.
        name: its name there.
        hook: the hook.
        owner: the argument of ``added``.
    """
    try:
        put_counted(hooks, name, hook)
        hook.added(owner)
    except BaseException:
        discard_counted_hook(hooks, name, hook)
        raise


def delete_counted_hook(hooks: dict[str, Any], name: str, owner: Any) -> None:
    """Calls ``deleted`` of a hook, and removes it, even if that raises an exception.

    Args:
        hooks: where it was added.
        name: its name there.
        owner: the argument of ``deleted``.
    """
    hook = hooks[name]
    try:
        hook.deleted(owner)
        take_counted(hooks, name)
    except BaseException:
        discard_counted_hook(hooks, name, hook)
        raise


def discard_counted_hook(hooks: dict[str, Any], name: str, hook: Any) -> None:
    """Removes a hook if it is still there."""
    if hooks.get(name) is hook:
        take_counted(hooks, name)


def discard(hook: FunctionHook) -> None:
    """Removes a hook from this thread if an interrupt has left it; without a call of ``deleted``."""
    discard_counted_hook(_thread.hooks, hook.name, hook)


class FunctionHook:
    """Base class of hooks: its methods are called around the forward and backward of each function.

    Use it as a context manager to hook every function of the thread, or ``function.add_hook(hook)`` for one.
    The arguments of the four methods are the :class:`~minichainer.FunctionNode`, the tuple of its input arrays
    (None in backward where the function did not retain one) and, in backward, the gradients of its outputs.

    >>> import numpy as np, minichainer as chainer
    >>> class Names(chainer.FunctionHook):
    ...     def forward_preprocess(self, function, in_data):
    ...         print(function.label)
    >>> with Names():
    ...     y = chainer.Variable(np.ones(2, np.float32)) + 1
    _ + 1
    """

    name = 'FunctionHook'

    def __enter__(self) -> FunctionHook:
        hooks = get_function_hooks()
        if self.name in hooks:
            raise KeyError(f'hook {self.name} already exists: use another name')
        try:
            add_counted_hook(hooks, self.name, self, None)
            return self
        except BaseException:
            discard(self)
            raise

    def __exit__(self, *_: Any) -> None:
        try:
            delete_counted_hook(_thread.hooks, self.name, None)
        finally:
            discard(self)

    def added(self, function: Any) -> None:
        """Called when the hook is added; ``function`` is None for a hook of the thread.

        Args:
            function: the function that the hook is added to or removed from, or None.
        """

    def deleted(self, function: Any) -> None:
        """Called when the hook is removed; ``function`` is None for a hook of the thread.

        Args:
            function: the function that the hook is added to or removed from, or None.
        """

    def forward_preprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        """Called before the forward of a function.

        Args:
            function: the node of the function; its ``label`` is its name.
            in_data: the input arrays; None for those that are not kept.
        """

    def forward_postprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        """Called after the forward of a function.

        Args:
            function: the node of the function; its ``label`` is its name.
            in_data: the input arrays; None for those that are not kept.
        """

    def backward_preprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Called before the backward of a function.

        Args:
            function: the node of the function; its ``label`` is its name.
            in_data: the input arrays; None for those that are not kept.
            out_grad: the upstream gradients, arrays; None for outputs without.
        """

    def backward_postprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Called after the backward of a function.

        Args:
            function: the node of the function; its ``label`` is its name.
            in_data: the input arrays; None for those that are not kept.
            out_grad: the upstream gradients, arrays; None for outputs without.
        """


if not TYPE_CHECKING:
    __getattr__ = _namespace(__name__)[0]
