"""Events as a file of Chrome's trace-event format, which Perfetto reads too."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

_CATEGORIES = {'forward': 'forward', 'backward': 'backward', 'user': 'record_function'}


def write_chrome_trace(events: Iterable[Any], path: Any) -> None:
    """Writes the events of a profile; documented in ``EventList.export_chrome_trace``."""
    events = list(events)
    if not all([hasattr(event, 'time_range') for event in events]):
        raise TypeError('export_chrome_trace: expected events of a profile, got averages, which have no times')
    trace = {'displayTimeUnit': 'ms', 'traceEvents': [*_names(events), *map(_complete, events), *_arrows(events)]}
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(trace, file)


def _names(events: list[Any]) -> list[dict[str, Any]]:
    """Metadata: what the process and its threads are called."""
    pid = os.getpid()
    name = {'name': 'process_name', 'ph': 'M', 'pid': pid, 'tid': 0, 'args': {'name': 'minichainer'}}
    return [name] + [
        {'name': 'thread_name', 'ph': 'M', 'pid': pid, 'tid': thread, 'args': {'name': f'thread {thread}'}}
        for thread in dict.fromkeys([event.thread for event in events])
    ]


def _place(event: Any) -> dict[str, Any]:
    return {'ts': event.time_range.start, 'pid': os.getpid(), 'tid': event.thread}


def _complete(event: Any) -> dict[str, Any]:
    """A complete event: a box with a beginning and a duration."""
    return {
        'name': event.name,
        'cat': _CATEGORIES[event.phase],
        'ph': 'X',
        'dur': round(event.time_range.elapsed_us(), 3),  # whole nanoseconds
        'args': _arguments(event),
        **_place(event),
    }


def _arguments(event: Any) -> dict[str, Any]:
    """What a viewer shows of a selected box."""
    found: dict[str, Any] = {'id': event.id}
    if event.sequence_nr >= 0:
        found['stashed seq' if event.phase == 'backward' else 'seq'] = event.sequence_nr
    optional = {
        'args': event.note, 'input shapes': event.input_shapes, 'stack': event.stack,
        'bytes': event.cpu_memory_usage, 'CUDA bytes': event.cuda_memory_usage, 'CUDA us': event.cuda_time_total,
    }  # fmt: skip
    return {**found, **{name: value for name, value in optional.items() if value}}


def _arrows(events: list[Any]) -> list[dict[str, Any]]:
    """Flow events from each forward op to the backward steps of its node; each arrow has an id of its own."""
    makers = {e.sequence_nr: e for e in events if e.phase == 'forward' and e.sequence_nr >= 0}
    arrows: list[dict[str, Any]] = []
    for number, event in enumerate(events):
        maker = makers.get(event.sequence_nr) if event.phase == 'backward' else None
        if maker is not None:
            flow = {'name': 'forward to backward', 'cat': 'graph', 'id': number}
            arrows.append({**flow, 'ph': 's', **_place(maker)})
            arrows.append({**flow, 'ph': 'f', 'bp': 'e', **_place(event)})
    return arrows
