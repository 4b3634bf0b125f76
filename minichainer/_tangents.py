"""Forward mode: the level of a thread, in which ops compute tangents, and when a backward pass carries them.

A tangent is the directional derivative of an array. It is stored on the node (``node._tangent``), so that a Variable
made again for a saved array has it too: that is what gives the gradients of a backward pass tangents. While tangents
are computed there is no level (:func:`computing`), so they have none themselves.

A recorded tangent may depend on the result that it belongs to; that reference cycle lasts until the level ends.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from minichainer._checks import as_raw
from minichainer.configuration import config, put_counted, using_config

T = TypeVar('T')


class Level:
    """The tangents between entering and leaving forward mode.

    >>> from minichainer.autograd import forward_ad
    >>> with forward_ad.dual_level() as level:
    ...     level.by_double_backward
    set()
    """

    def __init__(self) -> None:
        #: The labels of the functions whose tangents needed two backward passes each.
        self.by_double_backward: set[str] = set()
        #: The nodes that have tangents, as weak references.
        self.places: list[weakref.ref[Any]] = []
        #: The number of these from which on they are looked through for nodes that were freed.
        self.limit = 1000

    def put(self, node: Any, tangent: Any) -> None:
        """Gives a node its tangent, an array or a Variable, until the level ends."""
        self.places.append(weakref.ref(node))
        if len(self.places) > self.limit:
            self.prune()
        node._tangent = tangent  # last, so that an exception before it leaves no tangent that the end does not find

    def prune(self) -> None:
        """Drops references to nodes that were freed; most are, long before a level ends."""
        self.places = [place for place in self.places if place() is not None]
        self.limit = 1000 + 2 * len(self.places)

    @property
    def is_empty(self) -> bool:
        """Whether there are no tangents yet."""
        return not self.places

    def end(self) -> None:
        """Takes away all tangents."""
        for place in self.places:
            node = place()
            if node is not None:
                node._tangent = None
        self.places = []


class _Thread(threading.local):
    """What a thread is doing."""

    entered: Level | None = None
    #: The level for which tangents are being computed.
    computing_for: Level | None = None
    #: Whether a backward pass runs on Variables only because these carry tangents.
    passes_silently = False


_thread = _Thread()


def current() -> Level | None:
    """The level of this thread, or None."""
    return _thread.entered


def enter(level: Level) -> Level:
    """Begins a level.

    Args:
        level: a new one.

    Returns:
        The same.

    Raises:
        RuntimeError: there is one.
    """
    if _thread.entered is not None or _thread.computing_for is not None:
        raise RuntimeError(
            'forward mode: there is a level already; levels cannot be nested, and exit_dual_level() ends one that an '
            'interrupt has left open'
        )
    put_counted(_thread.__dict__, 'entered', level)
    return level


def leave(level: Level | None = None) -> None:
    """Ends the level.

    Args:
        level: which one; None for the present one.

    Raises:
        RuntimeError: there is none, or another one.
    """
    thread = _thread
    present = thread.entered or thread.computing_for  # the second if an exception came where tangents are computed
    if present is None:
        raise RuntimeError('forward mode: there is no level to leave')
    if level is not None and level is not present:
        raise RuntimeError('forward mode: this level is not the one that was entered last')
    _end(present)


def abandon(level: Level) -> None:
    """Ends a level if it has not been left."""
    if level is _thread.entered or level is _thread.computing_for:
        _end(level)


def _end(level: Level) -> None:
    thread = _thread
    try:
        level.end()
    except BaseException:  # that of a signal; a later level must not find these tangents
        level.end()
        raise
    finally:
        thread.computing_for, thread.passes_silently = None, False
        put_counted(thread.__dict__, 'entered', None, -1)


class computing:
    """Context manager for the computation of tangents, which get no tangents themselves; for one block."""

    def __enter__(self) -> None:
        thread = _thread
        self._before = entered, computing_for, _ = thread.entered, thread.computing_for, thread.passes_silently
        thread.entered, thread.computing_for, thread.passes_silently = None, entered or computing_for, False

    def __exit__(self, *exception: Any) -> None:
        thread = _thread
        if thread.computing_for is not None:  # else the level has been left
            thread.entered, thread.computing_for, thread.passes_silently = self._before


def passes_silently() -> bool:
    """Whether a backward pass runs that is not recorded, on Variables with tangents."""
    return _thread.passes_silently


def note_double_backward(label: str) -> None:
    """Notes in the level that the tangents of a function are computed by two backward passes."""
    if _thread.computing_for is not None:
        _thread.computing_for.by_double_backward.add(label)


def tangents_of(edges: Sequence[Any]) -> list[Any] | None:
    """The tangents at some nodes; None if none has one."""
    found = [edge._tangent for edge in edges]
    return None if all([t is None for t in found]) else found


# --- backward passes under a level ---------------------------------------------------------------------------------
def carries() -> bool:
    """Whether backward passes carry tangents: there are some in this thread."""
    level = _thread.entered
    return level is not None and not level.is_empty


def upstream(gradient: Any, variables: bool) -> Any:
    """An upstream gradient for a pass: its array, except where a pass runs on Variables.

    Args:
        gradient: array, Variable or None.
        variables: the pass is differentiable.
    """
    return gradient if variables or carries() else as_raw(gradient)


def carrying(run_pass: Callable[..., T], arguments: dict[str, Any]) -> T:
    """Runs a backward pass on Variables, so that gradients get tangents, but without recording it.

    Args:
        run_pass: a function of :mod:`minichainer.backprop` with the argument ``variables``.
        arguments: its arguments by name.
    """
    silently, _thread.passes_silently = _thread.passes_silently, True
    try:
        with using_config('enable_backprop', False), using_config('constant_results', True):
            return run_pass(**{**arguments, 'variables': True})
    finally:
        _thread.passes_silently = silently


def records_pass() -> bool:
    """Whether the differentiable pass that is running is recorded."""
    return not _thread.passes_silently or config.enable_backprop
