"""What a profile consists of: one event per op, backward step or labelled block, and averages of events."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

#: torch's numbers for the kinds of events.
SCOPES = {'forward': 0, 'backward': 1, 'user': 7}


def format_time(microseconds: float) -> str:
    """A time with a fitting unit.

    Args:
        microseconds: the time.

    >>> format_time(1500.0)
    '1.500ms'
    """
    for unit, size in (('s', 1e6), ('ms', 1e3)):
        if abs(microseconds) >= size:
            return f'{microseconds / size:.3f}{unit}'
    return f'{microseconds:.3f}us'


def format_bytes(count: float) -> str:
    """A number of bytes with a fitting unit.

    Args:
        count: the number; negative for memory that was freed.

    >>> format_bytes(2048)
    '2.00 KB'
    """
    for unit, size in (('GB', 1 << 30), ('MB', 1 << 20), ('KB', 1 << 10)):
        if abs(count) >= size:
            return f'{count / size:.2f} {unit}'
    return f'{count:.0f} B'


class Interval(NamedTuple):
    """A time range in microseconds since the beginning of the profile.

    >>> Interval(2.0, 5.0).elapsed_us()
    3.0
    """

    start: float
    end: float

    def elapsed_us(self) -> float:
        """Its length in microseconds."""
        return self.end - self.start


def _renamed(name: str) -> Any:
    """A property that gives another attribute."""
    return property(operator.attrgetter(name), doc=f"``{name}`` by torch 2's name.")


class Times:
    """Times per call, and all times as texts, from the totals."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    cuda_time_total: float
    self_cuda_time_total: float

    @property
    def cpu_time(self) -> float:
        """CPU time per call in microseconds."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cuda_time(self) -> float:
        """CUDA time per call in microseconds."""
        return self.cuda_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        """``cpu_time`` with a unit."""
        return format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """``cpu_time_total`` with a unit."""
        return format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """``self_cpu_time_total`` with a unit."""
        return format_time(self.self_cpu_time_total)

    @property
    def cuda_time_str(self) -> str:
        """``cuda_time`` with a unit."""
        return format_time(self.cuda_time)

    @property
    def cuda_time_total_str(self) -> str:
        """``cuda_time_total`` with a unit."""
        return format_time(self.cuda_time_total)

    @property
    def self_cuda_time_total_str(self) -> str:
        """``self_cuda_time_total`` with a unit."""
        return format_time(self.self_cuda_time_total)

    # torch 2's names, which do not name the device.
    device_time = _renamed('cuda_time')
    device_time_total = _renamed('cuda_time_total')
    self_device_time_total = _renamed('self_cuda_time_total')
    device_memory_usage = _renamed('cuda_memory_usage')
    self_device_memory_usage = _renamed('self_cuda_memory_usage')
    device_time_str = _renamed('cuda_time_str')
    device_time_total_str = _renamed('cuda_time_total_str')
    self_device_time_total_str = _renamed('self_cuda_time_total_str')


class FunctionEvent(Times):
    """One computation of a profile. Times are in microseconds, memory is in bytes.

    Totals include the events inside (``cpu_children``), ``self_...`` exclude them. Memory is that of the arrays that
    the event made and returned, so ``self_cpu_memory_usage`` is negative where results of children were dropped.

    Args:
        id: its number in the profile.
        name: the class name of the node, with ``Backward`` for a backward step, or the label of a block.
        thread: number of the thread.
        start: its beginning, microseconds since the beginning of the profile.
        end: its end.
        phase: ``'forward'``, ``'backward'`` or ``'user'``.
        sequence_nr: number of the node that a forward op made, or that a backward step belongs to; -1 if unknown.
        input_shapes: shapes of the inputs, a list of lists.
        stack: the user's frames, the innermost first; a backward step has those of its forward op.
        cpu_memory_usage: bytes of its NumPy arrays.
        cuda_memory_usage: bytes of its CuPy arrays.
        cuda_time: CUDA time in microseconds.
        note: the ``args`` of a block.

    >>> event = FunctionEvent(0, 'Tanh', 1, 0.0, 4.0, sequence_nr=7)
    >>> event.key, event.cpu_time_total, event.label
    ('Tanh', 4.0, 'seq=7')
    """

    node_id = -1
    count = 1
    is_async = False
    is_remote = False
    is_legacy = False

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start: float,
        end: float,
        *,
        phase: str = 'forward',
        sequence_nr: int = -1,
        input_shapes: Sequence[Sequence[int]] = (),
        stack: Sequence[str] = (),
        cpu_memory_usage: int = 0,
        cuda_memory_usage: int = 0,
        cuda_time: float = 0.0,
        note: str | None = None,
    ) -> None:
        self.id = id
        self.name = name
        self.thread = thread
        self.time_range = Interval(start, end)
        self.phase = phase
        self.scope = SCOPES[phase]
        self.sequence_nr = sequence_nr
        self.input_shapes = [list(shape) for shape in input_shapes]
        self.stack = list(stack)
        self.cpu_memory_usage = cpu_memory_usage
        self.cuda_memory_usage = cuda_memory_usage
        self.cuda_time_total = cuda_time
        self.note = note
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None

    @property
    def key(self) -> str:
        """What averages are grouped by: the name."""
        return self.name

    @property
    def label(self) -> str:
        """``'seq=N'`` of a forward op, ``'stashed seq=N'`` of the backward step of the same node; else empty."""
        if self.sequence_nr < 0:
            return ''
        return f'{"stashed " if self.phase == "backward" else ""}seq={self.sequence_nr}'

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """CPU time in microseconds, children included."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """CPU time without children."""
        return self.cpu_time_total - sum([child.cpu_time_total for child in self.cpu_children])

    @property
    def self_cuda_time_total(self) -> float:  # type: ignore[override]
        """CUDA time without children."""
        return self.cuda_time_total - sum([child.cuda_time_total for child in self.cpu_children])

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes of NumPy arrays without those of children."""
        return self.cpu_memory_usage - sum([child.cpu_memory_usage for child in self.cpu_children])

    @property
    def self_cuda_memory_usage(self) -> int:
        """Bytes of CuPy arrays without those of children."""
        return self.cuda_memory_usage - sum([child.cuda_memory_usage for child in self.cpu_children])

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Makes ``child`` an event inside this one.

        Args:
            child: the other event.
        """
        self.cpu_children.append(child)
        child.cpu_parent = self

    def __repr__(self) -> str:
        label = f' {self.label}' if self.label else ''
        children = [child.id for child in self.cpu_children]
        return (
            f'<FunctionEvent id={self.id} name={self.name}{label} thread={self.thread} cpu_time={self.cpu_time_str} '
            f'cuda_time={self.cuda_time_str} start_us={self.time_range.start:.3f} end_us={self.time_range.end:.3f} '
            f'cpu_children={children} input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} '
            f'cuda_memory_usage={self.cuda_memory_usage}>'
        )


class FunctionEventAvg(Times):
    """Sums over the events of one key, with averages per call; made by :meth:`EventList.key_averages`.

    >>> average = FunctionEventAvg()
    >>> for end in (2.0, 4.0):
    ...     average += FunctionEvent(0, 'Tanh', 1, 0.0, end)
    >>> average.key, average.count, average.cpu_time
    ('Tanh', 2, 3.0)
    """

    SUMS = (
        'count', 'cpu_time_total', 'self_cpu_time_total', 'cuda_time_total', 'self_cuda_time_total',
        'cpu_memory_usage', 'self_cpu_memory_usage', 'cuda_memory_usage', 'self_cuda_memory_usage',
    )  # fmt: skip

    cpu_memory_usage: int
    self_cpu_memory_usage: int
    cuda_memory_usage: int
    self_cuda_memory_usage: int
    node_id = -1
    is_async = False
    is_remote = False
    is_legacy = False

    def __init__(self) -> None:
        self.key: str | None = None
        self.scope = SCOPES['forward']
        self.input_shapes: list[list[int]] = []
        self.stack: list[str] = []
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        for name in self.SUMS:
            setattr(self, name, 0)

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Adds an event, or another average, to the sums.

        Args:
            other: what is added; the first one gives key, shapes and stack.
        """
        if self.key is None:
            self.key, self.scope = other.key, other.scope
            self.input_shapes, self.stack = other.input_shapes, other.stack
            self.cpu_parent = other.cpu_parent
        self.cpu_children += other.cpu_children
        for name in self.SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    def __iadd__(self, other: Any) -> FunctionEventAvg:
        return self.add(other)

    def __repr__(self) -> str:
        return (
            f'<FunctionEventAvg key={self.key} count={self.count} self_cpu_time={self.self_cpu_time_total_str} '
            f'cpu_time={self.cpu_time_str} self_cuda_time={self.self_cuda_time_total_str} '
            f'cuda_time={self.cuda_time_str} input_shapes={self.input_shapes} '
            f'cpu_memory_usage={self.cpu_memory_usage} cuda_memory_usage={self.cuda_memory_usage}>'
        )
