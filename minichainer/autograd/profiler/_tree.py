"""Events from the rows of a recording: which lies inside which is found from the times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from minichainer._trace import Row
from minichainer.autograd.profiler.events import FunctionEvent
from minichainer.backends import cuda


def events_of(rows: Iterable[tuple[Any, ...]], origin: int, thread: int) -> list[FunctionEvent]:
    """The events of a recording, in the order in which they began, joined to trees.

    Args:
        rows: rows as :class:`minichainer._trace.Trace` makes them.
        origin: nanoseconds at which the profile began.
        thread: number of the thread.
    """
    read = [Row(*row) for row in rows]
    # Rows are appended when they end, so that of two rows of the same time the later one is outside.
    order = sorted(range(len(read)), key=lambda i: (read[i].begin, -read[i].end, -i))
    events = [_event(number, read[i], origin, thread) for number, i in enumerate(order)]
    nest(events)
    _sum_memory_of_blocks(events)
    _share_stacks(events)
    return events


def _event(number: int, row: Row, origin: int, thread: int) -> FunctionEvent:
    return FunctionEvent(
        number,
        row.name,
        thread,
        (row.begin - origin) / 1e3,
        (row.end - origin) / 1e3,
        phase=row.phase,
        sequence_nr=-1 if row.seq is None else row.seq,
        input_shapes=row.shapes or (),
        stack=row.stack or (),
        cpu_memory_usage=row.nbytes,
        cuda_memory_usage=row.cuda_nbytes,
        cuda_time=0.0 if row.cuda_events is None else _elapsed_us(*row.cuda_events),
        note=row.note,
    )


def _elapsed_us(start: Any, end: Any) -> float:
    """Microseconds between two CUDA events, after waiting for the second."""
    end.synchronize()
    milliseconds: float = cuda.cupy.cuda.get_elapsed_time(start, end)
    return milliseconds * 1e3


def nest(events: Sequence[FunctionEvent]) -> None:
    """Joins events of one thread to trees.

    Blocks that overlap without one containing the other, such as those of generators, become siblings.

    Args:
        events: in the order in which they began; of those that began together, the longest first.
    """
    outside: list[FunctionEvent] = []
    for event in events:
        while outside and outside[-1].time_range.end < event.time_range.end:
            outside.pop()
        if outside:
            outside[-1].append_cpu_child(event)
        outside.append(event)


def _sum_memory_of_blocks(events: Sequence[FunctionEvent]) -> None:
    """A labelled block returns nothing itself; what the ops inside made is counted."""
    for event in reversed(events):  # children before parents
        if event.phase == 'user':
            event.cpu_memory_usage = sum([child.cpu_memory_usage for child in event.cpu_children])
            event.cuda_memory_usage = sum([child.cuda_memory_usage for child in event.cpu_children])


def _share_stacks(events: Iterable[FunctionEvent]) -> None:
    """Gives backward steps the frames of their forward ops, which say more than those of the call of backward."""
    stacks = {e.sequence_nr: e.stack for e in events if e.phase == 'forward' and e.sequence_nr >= 0}
    for event in events:
        if event.phase == 'backward':
            event.stack = stacks.get(event.sequence_nr, event.stack)
