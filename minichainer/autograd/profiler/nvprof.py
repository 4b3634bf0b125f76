"""Profiles that nvprof has written."""

from __future__ import annotations

import ast
import os
import re
import sqlite3
import struct
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from minichainer.autograd.profiler._tree import nest
from minichainer.autograd.profiler.event_list import EventList
from minichainer.autograd.profiler.events import FunctionEvent

_NAME = re.compile(
    r'(?P<name>.*?)(?:, (?P<stashed>stashed )?seq ?= ?(?P<seq>\d+))?(?:, sizes = (?P<sizes>\[.*\]))?', re.S
)


class _Range(NamedTuple):
    """A pair of markers; times in nanoseconds."""

    name: str
    start: int
    end: int
    thread: int


class _Launch(NamedTuple):
    """A kernel, and when its launch was called; times in nanoseconds."""

    start: int
    end: int
    thread: int
    kernel_time: int


def load_nvprof(path: Any) -> EventList:
    """Reads the ranges of :class:`emit_nvtx`, and the kernels launched in them, from a file of nvprof.

    Args:
        path: the SQLite file that ``nvprof -o`` wrote.

    Returns:
        EventList with one event per range, in the order in which they began. ``cuda_time_total`` is the time of
        the kernels that were launched inside.

    Raises:
        FileNotFoundError: there is no such file.
        sqlite3.DatabaseError: it is not a SQLite file, or has no tables of nvprof.

    >>> load_nvprof('absent.prof')
    Traceback (most recent call last):
    FileNotFoundError: load_nvprof: no file 'absent.prof'
    """
    if not os.path.isfile(path):
        raise FileNotFoundError(f'load_nvprof: no file {os.fspath(path)!r}')
    # Read only: opening must neither change the file nor make one.
    with closing(sqlite3.connect(f'{Path(path).resolve().as_uri()}?mode=ro', uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        ranges, launches = _ranges(connection), _launches(connection)
    origin = min([r.start for r in ranges], default=0)
    events = [_event(number, r, origin) for number, r in enumerate(ranges)]
    threads = {r.thread for r in ranges}
    for thread in threads:
        own = [event for event in events if event.thread == thread]
        nest(own)
        _add_kernels(own, [k for k in launches if k.thread == thread or len(threads) == 1], origin)
    return EventList(events, use_cuda=True)


def _ranges(connection: sqlite3.Connection) -> list[_Range]:
    """Pairs of markers: the first has a name, the second has the same id and none."""
    names = {row['_id_']: row['value'] for row in connection.execute('SELECT _id_, value FROM StringTable')}
    markers = list(connection.execute('SELECT * FROM CUPTI_ACTIVITY_KIND_MARKER ORDER BY timestamp, _id_'))
    ends = {marker['id']: marker['timestamp'] for marker in markers if not marker['name']}
    found = [
        _Range(names[marker['name']], marker['timestamp'], ends[marker['id']], _thread_of(marker))
        for marker in markers
        if marker['name'] and marker['id'] in ends
    ]
    return sorted(found, key=lambda r: (r.start, -r.end))


def _thread_of(marker: sqlite3.Row) -> int:
    """The thread of a marker: the second of the numbers that describe its object; 0 where they are absent."""
    described = marker['objectId'] if 'objectId' in marker.keys() else None  # noqa: SIM118  (a Row is not a dict)
    if isinstance(described, bytes) and len(described) >= 8:
        return int(struct.unpack_from('<II', described)[1])
    return 0


def _launches(connection: sqlite3.Connection) -> list[_Launch]:
    """The kernels and the calls that launched them; none if no kernel was recorded."""
    tables = {row['name'] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not {'CUPTI_ACTIVITY_KIND_RUNTIME', 'CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL'} <= tables:
        return []
    rows = connection.execute(
        'SELECT call.start, call.end, call.threadId AS thread, kernel.end - kernel.start AS kernel_time '
        'FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS kernel '
        'INNER JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS call ON call.correlationId = kernel.correlationId'
    )
    return [_Launch(r['start'], r['end'], r['thread'] & 0xFFFFFFFF, r['kernel_time']) for r in rows]


def _event(number: int, found: _Range, origin: int) -> FunctionEvent:
    read = _NAME.fullmatch(found.name)
    assert read is not None, found.name  # every text fits
    seq, sizes = read['seq'], read['sizes']
    backward, plain = read['stashed'] is not None or read['name'].endswith('Backward'), seq is None
    return FunctionEvent(
        number,
        read['name'],
        found.thread,
        (found.start - origin) / 1e3,
        (found.end - origin) / 1e3,
        phase='backward' if backward else 'user' if plain else 'forward',
        sequence_nr=-1 if seq is None else int(seq),
        input_shapes=_shapes(sizes),
    )


def _shapes(text: str | None) -> Sequence[Sequence[int]]:
    if text is None:
        return ()
    try:
        shapes: list[list[int]] = ast.literal_eval(text)
    except (ValueError, SyntaxError):  # part of somebody's label
        return ()
    return [shape for shape in shapes if isinstance(shape, list)]


def _add_kernels(events: Iterable[FunctionEvent], launches: Iterable[_Launch], origin: int) -> None:
    """Adds the time of each kernel to the range in which it was launched, and to those around that."""
    tops = [event for event in events if event.cpu_parent is None]
    for launch in launches:
        start, end = (launch.start - origin) / 1e3, (launch.end - origin) / 1e3
        around = _around(tops, start, end)
        while around is not None:
            around.cuda_time_total += launch.kernel_time / 1e3
            around = _around(around.cpu_children, start, end)


def _around(events: Sequence[FunctionEvent], start: float, end: float) -> FunctionEvent | None:
    """The one of the events, ordered by their beginnings, in which a time range lies."""
    place = bisect_right(events, start, key=lambda event: event.time_range.start) - 1
    return events[place] if place >= 0 and end <= events[place].time_range.end else None
