"""The list of events of a profile, and what is made of it."""

from __future__ import annotations

from typing import Any

from minichainer.autograd.profiler._chrome import write_chrome_trace
from minichainer.autograd.profiler._flamegraph import write_flamegraph
from minichainer.autograd.profiler._table import Widths, as_table
from minichainer.autograd.profiler.events import FunctionEventAvg

#: What :meth:`EventList.export_stacks` can write.
STACK_METRICS = ('self_cpu_time_total', 'self_cuda_time_total')


class EventList(list):  # type: ignore[type-arg]
    """A list of events or averages, with tables and exports.

    Args:
        events: :class:`FunctionEvent` or :class:`FunctionEventAvg` objects.
        use_cuda: show CUDA times.
        profile_memory: show memory.

    >>> from minichainer.autograd.profiler import FunctionEvent
    >>> events = EventList([FunctionEvent(0, 'Tanh', 1, 0.0, 4.0), FunctionEvent(1, 'Tanh', 1, 4.0, 10.0)])
    >>> events.self_cpu_time_total, events.key_averages()[0].count
    (10.0, 2)
    """

    def __init__(self, events: Any = (), use_cuda: bool = False, profile_memory: bool = False) -> None:
        super().__init__(events)
        self.use_cuda = use_cuda
        self.profile_memory = profile_memory

    def __str__(self) -> str:
        return self.table()

    @property
    def supported_export_stacks_metrics(self) -> list[str]:
        """The values of ``metric`` of :meth:`export_stacks`."""
        return list(STACK_METRICS)

    @property
    def self_cpu_time_total(self) -> float:
        """CPU time of all events in microseconds."""
        return float(sum([event.self_cpu_time_total for event in self]))

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """The events as a text.

        Args:
            sort_by: the column to sort by, the highest first: ``cpu_time``, ``cuda_time``, ``cpu_time_total``,
                ``cuda_time_total``, ``self_cpu_time_total``, ``self_cuda_time_total``, ``count``,
                ``cpu_memory_usage``, ``self_cpu_memory_usage``, ``cuda_memory_usage`` or
                ``self_cuda_memory_usage``; or one of torch 2's names, in which ``device`` stands for ``cuda``; by
                default in the order of the list.
            row_limit: how many rows are shown; -1 for all.
            max_src_column_width: characters of source locations.
            max_name_column_width: characters of names.
            max_shapes_column_width: characters of shapes.
            header: a line above the table.
            top_level_events_only: leave out events inside others.

        Raises:
            ValueError: ``sort_by`` is none of these; it is also an AttributeError, as in torch.

        >>> from minichainer.autograd.profiler import FunctionEvent
        >>> print(EventList([FunctionEvent(0, 'Tanh', 1, 0.0, 4.0)]).table())
        ----  ------------  ------------  ------------  ------------  ------------  ------------
        Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    # of Calls
        ----  ------------  ------------  ------------  ------------  ------------  ------------
        Tanh       100.00%       4.000us       100.00%       4.000us       4.000us             1
        ----  ------------  ------------  ------------  ------------  ------------  ------------
        Self CPU time total: 4.000us
        <BLANKLINE>
        """
        widths = Widths(max_name_column_width, max_src_column_width, max_shapes_column_width)
        return as_table(
            self, sort_by, row_limit, widths, header, top_level_events_only, self.use_cuda, self.profile_memory
        )

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, *, group_by_input_shape: bool = False
    ) -> EventList:
        """Sums and averages over the events of each name.

        Args:
            group_by_input_shapes: keep events with different shapes of inputs apart.
            group_by_stack_n: keep events apart whose innermost so many user's frames differ.
            group_by_input_shape: the same as ``group_by_input_shapes``, which torch calls so in :class:`profile`.

        Returns:
            EventList of :class:`FunctionEventAvg`, in the order in which the names first occur.
        """
        by_shapes = group_by_input_shapes or group_by_input_shape
        averages: dict[Any, FunctionEventAvg] = {}
        for event in self:
            key = (
                event.key,
                str(event.input_shapes) if by_shapes else '',
                tuple(event.stack[:group_by_stack_n]),
            )
            averages.setdefault(key, FunctionEventAvg()).add(event)
        for average in averages.values():
            average.stack = average.stack[:group_by_stack_n]
            average.input_shapes = average.input_shapes if by_shapes else []
        return EventList(averages.values(), self.use_cuda, self.profile_memory)

    def total_average(self) -> FunctionEventAvg:
        """One average over all events, with the key ``'Total'``."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key, total.input_shapes, total.stack = 'Total', [], []
        return total

    def export_chrome_trace(self, path: Any) -> None:
        """Writes a file for https://ui.perfetto.dev and chrome://tracing; arrows lead from forward to backward.

        Args:
            path: the JSON file to write.
        """
        write_chrome_trace(self, path)

    def export_stacks(self, path: Any, metric: str = 'self_cpu_time_total') -> None:
        """Writes the time of each stack of the user's frames, one line each, for tools that draw flame graphs.

        Args:
            path: the text file to write: frames separated by semicolons, the outermost first, a space and whole
                microseconds.
            metric: ``'self_cpu_time_total'``, ``'self_cuda_time_total'`` or ``'self_device_time_total'``.

        Raises:
            ValueError: another metric.
        """
        if metric not in (*STACK_METRICS, 'self_device_time_total'):  # torch 2's name, which its list lacks too
            raise ValueError(f'export_stacks: metric should be one of {", ".join(STACK_METRICS)}, got {metric!r}')
        totals: dict[str, float] = {}
        for event in self:
            if event.stack:
                stack = ';'.join([frame.translate(_SEPARATORS) for frame in reversed(event.stack)])
                totals[stack] = totals.get(stack, 0.0) + getattr(event, metric)
        with open(path, 'w', encoding='utf-8') as file:
            file.writelines([f'{stack} {int(value)}\n' for stack, value in totals.items() if int(value) > 0])

    def flamegraph(self, path: Any, title: str = 'Profile') -> None:
        """Writes a flame graph as a web page that needs nothing else.

        Widths are total CPU times, by nesting; with stacks, the user's frames are shown around the ops.

        Args:
            path: the HTML file to write.
            title: the heading.
        """
        write_flamegraph(self, path, title)


#: The characters that separate frames and values in files of stacks.
_SEPARATORS = str.maketrans(dict.fromkeys(' ;\t\n\r', '_'))
