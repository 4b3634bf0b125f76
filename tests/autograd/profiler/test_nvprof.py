"""Files of nvprof, written here with the tables and columns that nvprof writes."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from minichainer.autograd.profiler import EventList, load_nvprof

TABLES = """
CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, flags INT, timestamp INT, id INT,
    objectKind INT, objectId BLOB, name INT, domain INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, cbid INT, start INT, end INT,
    processId INT, threadId INT, correlationId INT, returnValue INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, start INT, end INT,
    deviceId INT, correlationId INT, name INT);
"""
THREAD = 3_000_000_000  # nvprof writes the thread of calls as a signed number
#: Ranges: name, start, end, thread.
RANGES = [
    ('model', 1000, 9000, THREAD),
    ('Tanh, seq = 5', 2000, 4000, THREAD),
    ('MulBackward, stashed seq=5, sizes = [[2, 3], []]', 5000, 8000, THREAD),
    ('Add, seq = 6', 6000, 7000, THREAD),
    ('Exp, seq = 1', 1500, 8500, 7),
]
#: Kernels: start and end of the call, thread, time on the device.
KERNELS = [(2500, 2600, THREAD, 700), (6500, 6600, THREAD, 40), (9500, 9600, THREAD, 1), (2500, 2600, 7, 5)]


def write(path: Path, ranges: Sequence[Any] = RANGES, kernels: Sequence[Any] = KERNELS) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(TABLES)
        markers = []
        for number, (name, start, end, thread) in enumerate(ranges, 1):
            connection.execute('INSERT INTO StringTable VALUES (?, ?)', (number, name))
            place = struct.pack('<III', 99, thread, 0)
            markers += [(2, start, number, 2, place, number, 0), (4, end, number, 2, place, 0, 0)]
        markers.sort(key=lambda marker: marker[1])
        columns = 'flags, timestamp, id, objectKind, objectId, name, domain'
        connection.executemany(f'INSERT INTO CUPTI_ACTIVITY_KIND_MARKER ({columns}) VALUES (?,?,?,?,?,?,?)', markers)
        for number, (start, end, thread, duration) in enumerate(kernels, 1):
            signed = thread - (1 << 32) if thread >= 1 << 31 else thread
            connection.execute(
                'INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (cbid, start, end, processId, threadId, correlationId, '
                'returnValue) VALUES (211, ?, ?, 99, ?, ?, 0)',
                (start, end, signed, number),
            )
            connection.execute(
                'INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (start, end, deviceId, correlationId, name) '
                'VALUES (?, ?, 0, ?, 1)',
                (50_000, 50_000 + duration, number),
            )
        connection.commit()
    return path


def test_ranges_are_events(tmp_path: Path) -> None:
    events = load_nvprof(write(tmp_path / 'a.prof'))
    assert isinstance(events, EventList)
    assert [(e.name, e.label, e.phase) for e in events] == [
        ('model', '', 'user'),
        ('Exp', 'seq=1', 'forward'),
        ('Tanh', 'seq=5', 'forward'),
        ('MulBackward', 'stashed seq=5', 'backward'),
        ('Add', 'seq=6', 'forward'),
    ]
    assert [e.cpu_time_total for e in events] == [8, 7, 2, 3, 1]
    assert [e.time_range.start for e in events] == [0, 0.5, 1, 4, 5]
    assert events[3].input_shapes == [[2, 3], []]


def test_ranges_are_nested_within_their_thread(tmp_path: Path) -> None:
    events = load_nvprof(str(write(tmp_path / 'a.prof')))
    parents = [None if e.cpu_parent is None else e.cpu_parent.name for e in events]
    assert parents == [None, None, 'model', 'model', 'MulBackward']


def test_kernels_count_for_the_ranges_that_launched_them(tmp_path: Path) -> None:
    events = load_nvprof(write(tmp_path / 'a.prof'))
    assert [e.cuda_time_total for e in events] == pytest.approx([0.74, 0.005, 0.7, 0.04, 0.04])
    assert [e.self_cuda_time_total for e in events] == pytest.approx([0, 0.005, 0.7, 0, 0.04])
    assert 'Self CUDA time total: 0.745us' in events.table(sort_by='cuda_time_total')


def test_a_file_without_kernels_and_threads(tmp_path: Path) -> None:
    path = write(tmp_path / 'a.prof', RANGES[:4], [])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute('DROP TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL')
        connection.execute('ALTER TABLE CUPTI_ACTIVITY_KIND_MARKER DROP COLUMN objectId')
        connection.commit()
    events = load_nvprof(path)
    assert [e.cuda_time_total for e in events] == [0] * 4
    assert events[1].cpu_parent is events[0]


def test_a_range_that_never_ended_is_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / 'a.prof')
    with closing(sqlite3.connect(path)) as connection:
        connection.execute('DELETE FROM CUPTI_ACTIVITY_KIND_MARKER WHERE timestamp = 9000')
        connection.commit()
    assert [e.name for e in load_nvprof(path)] == ['Exp', 'Tanh', 'MulBackward', 'Add']


def test_no_ranges(tmp_path: Path) -> None:
    assert load_nvprof(write(tmp_path / 'a.prof', [], [])) == []


def test_labels_that_look_like_shapes(tmp_path: Path) -> None:
    (event,) = load_nvprof(write(tmp_path / 'a.prof', [('x, sizes = [oops', 0, 5, 1)], []))
    assert event.name == 'x, sizes = [oops'
    (event,) = load_nvprof(write(tmp_path / 'b.prof', [('x, sizes = [oops]', 0, 5, 1)], []))
    assert event.input_shapes == []


def test_files_that_are_not_nvprofs(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match='absent'):
        load_nvprof(tmp_path / 'absent.prof')
    assert list(tmp_path.iterdir()) == []
    (tmp_path / 'text.prof').write_text('this is a text' * 100, encoding='utf-8')
    with pytest.raises(sqlite3.DatabaseError):
        load_nvprof(tmp_path / 'text.prof')
    with closing(sqlite3.connect(tmp_path / 'other.prof')) as connection:
        connection.execute('CREATE TABLE t (a INT)')
    with pytest.raises(sqlite3.OperationalError, match='StringTable'):
        load_nvprof(tmp_path / 'other.prof')
