"""The profiler's context manager, and labels for blocks of code."""

from __future__ import annotations

import contextlib
import warnings
from time import perf_counter_ns
from typing import Any

from minichainer import _trace
from minichainer.autograd.profiler._tree import events_of
from minichainer.autograd.profiler.event_list import EventList
from minichainer.autograd.profiler.events import FunctionEventAvg
from minichainer.backends import cuda


class profile:
    """Context manager that records the ops, backward steps and labelled blocks of this thread.

    Profiles may be nested: the outer one also gets the events of the inner one.

    Args:
        enabled: if False, nothing is recorded.
        use_cuda: also measure CUDA time, by events on the current stream.
        record_shapes: note the shapes of inputs; upstream gradients in backward.
        profile_memory: note the bytes of the arrays that ops make and return.
        with_stack: note the user's frames, for :meth:`export_stacks` and flame graphs.

    Raises:
        RuntimeError: the object is entered a second time.

    >>> with profile() as prof, record_function('addition'):
    ...     total = 1 + 1
    >>> prof.key_averages()[0].key
    'addition'
    """

    def __init__(
        self,
        enabled: bool = True,
        use_cuda: bool = False,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
    ) -> None:
        if enabled and use_cuda and not cuda.available:
            warnings.warn('profile: CUDA is not available, only CPU times are measured', stacklevel=2)
            use_cuda = False
        self.enabled = enabled
        self.use_cuda = use_cuda
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.entered = False
        self._trace = _trace.Trace(record_shapes, profile_memory, with_stack, use_cuda)
        self._events: EventList | None = None

    def __enter__(self) -> profile:
        if not self.enabled:
            return self
        if self.entered:
            raise RuntimeError('profile: cannot be entered twice, make a new object for each block')
        self.entered = True
        self._origin = perf_counter_ns()
        try:
            _trace.start(self._trace)
            return self
        except BaseException:  # that of a signal
            _trace.discard(self._trace)
            raise

    def __exit__(self, *_: Any) -> None:
        if self.enabled:
            try:
                _trace.stop(self._trace)
            except BaseException:  # that of a signal
                _trace.discard(self._trace)
                raise
            self._events = self._evaluated()

    def _evaluated(self) -> EventList:
        events = events_of(self._trace.rows, self._origin, self._trace.thread)
        self._trace.rows, self._trace.places = [], {}
        return EventList(events, self.use_cuda, self.profile_memory)

    @property
    def function_events(self) -> EventList:
        """The events in the order in which they began; empty before the end of the block."""
        return EventList((), self.use_cuda, self.profile_memory) if self._events is None else self._events

    def __str__(self) -> str:
        state = 'disabled' if not self.enabled else 'unfinished'
        return f'<{state} profile>' if self._events is None else str(self._events)

    __repr__ = __str__

    @property
    def self_cpu_time_total(self) -> float:
        """CPU time of all events in microseconds."""
        return self.function_events.self_cpu_time_total

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """The events as a text; see :meth:`EventList.table`, which lists further options.

        Args:
            sort_by: the column to sort by.
            row_limit: how many rows are shown; -1 for all.
            options: widths of columns, ``header``, ``top_level_events_only``.
        """
        return self.function_events.table(sort_by, row_limit, **options)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, *, group_by_input_shapes: bool = False
    ) -> EventList:
        """Sums and averages over the events of each name; see :meth:`EventList.key_averages`.

        Args:
            group_by_input_shape: keep events with different shapes of inputs apart.
            group_by_stack_n: keep events apart whose innermost so many user's frames differ.
            group_by_input_shapes: the same as ``group_by_input_shape``, which torch calls so in :class:`EventList`.
        """
        return self.function_events.key_averages(group_by_input_shape or group_by_input_shapes, group_by_stack_n)

    def total_average(self) -> FunctionEventAvg:
        """One average over all events."""
        return self.function_events.total_average()

    def export_chrome_trace(self, path: Any) -> None:
        """Writes a file for Perfetto and chrome://tracing; see :meth:`EventList.export_chrome_trace`.

        Args:
            path: the file.
        """
        self.function_events.export_chrome_trace(path)

    def export_stacks(self, path: Any, metric: str = 'self_cpu_time_total') -> None:
        """Writes the time of each stack of the user's frames; see :meth:`EventList.export_stacks`.

        Args:
            path: the file.
            metric: the time to write.

        Raises:
            AssertionError: the profile was made without ``with_stack=True``.
        """
        if not self.with_stack:
            raise AssertionError('export_stacks: the profile must be made with with_stack=True')
        self.function_events.export_stacks(path, metric)

    def flamegraph(self, path: Any, title: str = 'Profile') -> None:
        """Writes a flame graph as a web page; see :meth:`EventList.flamegraph`.

        Args:
            path: the file.
            title: the title of the page.
        """
        self.function_events.flamegraph(path, title)


class record_function(contextlib.ContextDecorator):
    """Context manager and decorator that labels a block, so that profiles show it as an event.

    Args:
        name: the label.
        args: a remark that traces show with it.

    >>> @record_function('square')
    ... def square(x):
    ...     return x * x
    >>> with profile() as prof:
    ...     nine = square(3)
    >>> prof.function_events[0].name
    'square'
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._blocks: list[Any] = []

    def _recreate_cm(self) -> record_function:
        return record_function(self.name, self.args)  # a function may run in several threads

    def __enter__(self) -> record_function:
        trace = _trace.current()
        block = None if trace is None else trace.block(self.name, self.args)
        if block is not None:
            block.__enter__()
        self._blocks.append(block)
        return self

    def __exit__(self, *exc: Any) -> None:
        block = self._blocks.pop()
        if block is not None:
            block.__exit__(*exc)
