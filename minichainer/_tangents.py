"""Forward mode: the level of a thread, in which ops compute tangents, and when a backward pass carries them.

A tangent is the directional derivative of an array. It stands at the node (``node._tangent``), so that a Variable
made again for a saved array has it too: that is what gives the gradients of a backward pass tangents. While tangents
are computed there is no level (:func:`computing`), so they have none themselves.

A recorded tangent may depend on the result that it stands at; that reference cycle lasts until the level ends.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from minichainer._checks import as_raw
from minichainer.configuration import config, count_nondefault, using_config

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
        node._tangent = tangent
        self.places.append(weakref.ref(node))
        if len(self.places) > self.limit:
            self.prune()

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


def enter() -> Level:
    """Begins a level.

    Raises:
        RuntimeError: there is one.
    """
    if _thread.entered is not None or _thread.computing_for is not None:
        raise RuntimeError('forward mode: there is a level already; levels cannot be nested')
    count_nondefault(1)
    level = _thread.entered = Level()
    return level


def leave(level: Level | None = None) -> None:
    """Ends the level.

    Args:
        level: which one; None for the present one.

    Raises:
        RuntimeError: there is none, or another one.
    """
    if _thread.entered is None:
        raise RuntimeError('forward mode: there is no level to leave')
    if level is not None and level is not _thread.entered:
        raise RuntimeError('forward mode: this level is not the one that was entered last')
    _thread.entered.end()
    _thread.entered = None
    count_nondefault(-1)


@contextlib.contextmanager
def computing() -> Iterator[None]:
    """Context manager for the computation of tangents, which get no tangents themselves."""
    thread = _thread
    before = thread.entered, thread.computing_for, thread.passes_silently
    thread.entered, thread.passes_silently = None, False
    if before[0] is not None:
        thread.computing_for = before[0]
    try:
        yield
    finally:
        thread.entered, thread.computing_for, thread.passes_silently = before


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
