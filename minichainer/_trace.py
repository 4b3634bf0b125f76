"""Recordings of what a thread computes: one row per op, backward step or labelled block.

The recorder and the backward pass ask :func:`current` for the recording of their thread. If there is one, they run
each computation through :meth:`Trace.forward` or :meth:`Trace.backward`, which time it. ``autograd.profiler`` starts
recordings and evaluates the rows. Which row lies inside which is found there, from the times.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from time import perf_counter_ns
from typing import Any, NamedTuple, TypeVar

from minichainer import configuration
from minichainer._checks import as_raw
from minichainer._frames import PACKAGE
from minichainer.backends import cuda
from minichainer.configuration import count_nondefault, put_counted, take_counted

T = TypeVar('T')

#: Numbers of nodes, unique in the process, so that rows of several recordings can be joined.
numbers = itertools.count()
#: Files of code without a file of its own, which the package compiles.
_GENERATED = ('<pullback of ', '<frozen ')


class Row(NamedTuple):
    """One entry of a recording. The hot path appends plain tuples of the first five, ``Row(*row)`` reads them."""

    phase: str
    """``'forward'``, ``'backward'`` or ``'user'``."""
    name: str
    begin: int
    """Nanoseconds of :func:`time.perf_counter_ns`, like ``end``."""
    end: int
    seq: int | None
    """The number of the node: of the one that a forward op makes, or that a backward step belongs to."""
    shapes: tuple[tuple[int, ...], ...] | None = None
    """Shapes of the inputs; of the upstream gradients in backward."""
    nbytes: int = 0
    """Bytes of the NumPy arrays that it made and returned."""
    stack: tuple[str, ...] | None = None
    """``'file(line): function'`` of the user's frames, the innermost first."""
    cuda_events: tuple[Any, Any] | None = None
    cuda_nbytes: int = 0
    """Bytes of the CuPy arrays that it made and returned."""
    note: str | None = None
    """The ``args`` of a labelled block."""


class Trace:
    """One recording of one thread; :func:`start` makes it the current one.

    Args:
        record_shapes: note the shapes of inputs.
        profile_memory: note the bytes of the arrays that are made.
        with_stack: note the user's frames.
        use_cuda: record CUDA events around each computation.

    >>> trace = Trace()
    >>> start(trace)
    >>> with trace.block('two'):
    ...     y = 1 + 1
    >>> stop(trace)
    >>> trace.rows[-1][:2]
    ('user', 'two')
    """

    __slots__ = (
        'rows',
        'record_shapes',
        'profile_memory',
        'with_stack',
        'use_cuda',
        'is_detailed',
        'thread',
        'places',
    )

    def __init__(
        self,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        use_cuda: bool = False,
    ) -> None:
        self.rows: list[tuple[Any, ...]] = []
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.use_cuda = use_cuda
        self.is_detailed = record_shapes or profile_memory or with_stack or use_cuda
        self.thread = threading.get_native_id()
        self.places: dict[tuple[int, int], tuple[Any, str]] = {}

    def forward(self, node: Any, arrays: Iterable[Any], compute: Callable[[], T]) -> T:
        """Runs ``compute()``, the forward of a function, and appends a row; also numbers the node.

        Args:
            node: the function; its ``seq`` is set.
            arrays: its input arrays.
            compute: returns its output arrays.

        Returns:
            The result of ``compute``.
        """
        seq = node._seq
        if seq is None:
            seq = node._seq = next(numbers)
        if self.is_detailed:
            return self._in_detail('forward', node.__class__.__name__, seq, arrays, compute)
        begin = perf_counter_ns()
        try:
            return compute()
        finally:
            end = perf_counter_ns()
            self.rows.append(('forward', node.__class__.__name__, begin, end, seq))

    def backward(self, node: Any, gradient: Any, compute: Callable[[], T]) -> T:
        """Runs ``compute()``, the backward step of a function, and appends a row.

        Args:
            node: the function.
            gradient: the upstream gradient; for several outputs a list, with None for missing ones.
            compute: returns the gradients of its edges.

        Returns:
            The result of ``compute``.
        """
        if self.is_detailed:
            given = gradient if isinstance(gradient, (list, tuple)) else [gradient]
            return self._in_detail('backward', node.__class__.__name__ + 'Backward', node._seq, given, compute)
        begin = perf_counter_ns()
        try:
            return compute()
        finally:
            end = perf_counter_ns()
            self.rows.append(('backward', node.__class__.__name__ + 'Backward', begin, end, node._seq))

    def block(self, name: str, note: str | None = None) -> AbstractContextManager[None]:
        """A context manager that appends a row for its block.

        Args:
            name: the label.
            note: the user's remark on it.
        """
        return _Block(self, name, note)

    def _in_detail(
        self, phase: str, name: str, seq: int | None, inputs: Iterable[Any], compute: Callable[[], T]
    ) -> T:
        given = [as_raw(x) for x in inputs if x is not None]
        shapes = tuple([x.shape for x in given]) if self.record_shapes else None
        stack = user_frames(self.places) if self.with_stack else None
        made: Any = ()
        events = _cuda_events() if self.use_cuda else None
        begin = perf_counter_ns()
        try:
            result = made = compute()
            return result
        finally:
            end = perf_counter_ns()
            if events is not None:
                events[1].record()
            nbytes, cuda_nbytes = _made_bytes(made, given) if self.profile_memory else (0, 0)
            self.rows.append(Row(phase, name, begin, end, seq, shapes, nbytes, stack, events, cuda_nbytes))


class _Block:
    """The context manager of :meth:`Trace.block`."""

    def __init__(self, trace: Trace, name: str, note: str | None) -> None:
        self._trace, self._name, self._note = trace, name, note

    def __enter__(self) -> None:
        self._stack = user_frames(self._trace.places) if self._trace.with_stack else None
        self._events = _cuda_events() if self._trace.use_cuda else None
        self._begin = perf_counter_ns()

    def __exit__(self, *_: Any) -> None:
        end = perf_counter_ns()
        if self._events is not None:
            self._events[1].record()
        row = Row('user', self._name, self._begin, end, None, None, 0, self._stack, self._events, 0, self._note)
        self._trace.rows.append(row)


def next_number() -> int:
    """The number for the next node."""
    return next(numbers)


def _cuda_events() -> tuple[Any, Any]:
    """Two CUDA events on the current stream; the first is recorded."""
    events = cuda.Event(), cuda.Event()
    events[0].record()
    return events


def _made_bytes(made: Any, given: list[Any]) -> tuple[int, int]:
    """Bytes of the arrays among ``made`` that do not share the memory of ``given``: of NumPy's and of CuPy's."""
    known = {id(_owner(x)) for x in given}
    total = [0, 0]
    for y in map(as_raw, made if isinstance(made, (tuple, list)) else (made,)):
        if id(_owner(y)) not in known:
            known.add(id(_owner(y)))
            total[isinstance(y, cuda.ndarray)] += getattr(y, 'nbytes', 0)  # what is not an array is an error later
    return total[0], total[1]


def _owner(array: Any) -> Any:
    """What owns the memory of an array: itself, or what it is a view of."""
    while getattr(array, 'base', None) is not None:
        array = array.base
    return array


def user_frames(known: dict[tuple[int, int], tuple[Any, str]]) -> tuple[str, ...]:
    """``'file(line): function'`` of the calling frames outside the package, the innermost first.

    Args:
        known: texts of places in code, to which new ones are added: finding a line takes longer than all else here.
            They are keyed by identities, because code objects hash slowly, and keep the code objects alive.
    """
    found = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        place = id(frame.f_code), frame.f_lasti
        entry = known.get(place)
        if entry is None:
            entry = known[place] = frame.f_code, _text_of(frame)
        if entry[1]:
            found.append(entry[1])
        frame = frame.f_back
    return tuple(found)


def _text_of(frame: Any) -> str:
    """The text of a frame; empty if it is the package's own."""
    code = frame.f_code
    if code.co_filename.startswith((PACKAGE, *_GENERATED)):
        return ''
    return f'{code.co_filename}({frame.f_lineno}): {code.co_name}'


# --- which recording is current ------------------------------------------------------------------------------------
class _Running(list):  # type: ignore[type-arg]
    """The recordings of one thread, the innermost last; subtracts its share of the count when the thread ends."""

    def __del__(self) -> None:
        if self and count_nondefault is not None:
            count_nondefault(-len(self))


class _Thread(threading.local):
    def __init__(self) -> None:
        self.running: list[Trace] = _Running()


_thread = _Thread()


def current() -> Trace | None:
    """The innermost recording of this thread, or None."""
    running = _thread.running
    return running[-1] if running else None


def timed(name: str, call: Callable[..., T], *args: Any) -> T:
    """Calls a hook; a recording of this thread gets a row for it.

    Args:
        name: what the row is called.
        call: the hook.
        args: its arguments.
    """
    trace = current()
    if trace is None:
        return call(*args)
    with trace.block(name):
        return call(*args)


def hook_name(hook: Any) -> str:
    """What a hook is called in errors and recordings."""
    return f'hook {getattr(hook, "__qualname__", type(hook).__name__)}'


def alone() -> Trace | None:
    """The recording of this thread, if it notes times only and nothing else watches ops in any thread.

    Whoever gets it notes the times itself; so a subclass, whose methods do more, is never returned.
    """
    running = _thread.running
    if len(running) != configuration.nondefault or not running:
        return None
    trace = running[-1]
    return None if trace.is_detailed or type(trace) is not Trace else trace


def start(trace: Trace) -> None:
    """Makes ``trace`` the current recording; it also notes what the one around it asks for."""
    outer = current()
    if outer is not None:
        for option in ('record_shapes', 'profile_memory', 'with_stack', 'use_cuda', 'is_detailed'):
            setattr(trace, option, getattr(trace, option) or getattr(outer, option))
    running = _thread.running
    put_counted(running, slice(len(running), None), (trace,))


def stop(trace: Trace) -> None:
    """Ends a recording, and hands its rows to the one around it.

    Raises:
        RuntimeError: the recording is not running in this thread.
    """
    running = _thread.running
    if trace not in running:
        raise RuntimeError('profiler: a recording must end in the thread in which it started, and only once')
    try:
        place = running.index(trace)
        if place:
            running[place - 1].rows.extend(trace.rows)
    finally:
        discard(trace)


def discard(trace: Trace) -> None:
    """Ends a recording of this thread, if it runs."""
    running = _thread.running
    if trace in running:
        take_counted(running, running.index(trace))
