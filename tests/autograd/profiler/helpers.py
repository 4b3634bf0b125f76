"""Profiles from rows that are written by hand."""

from __future__ import annotations

from typing import Any

from minichainer.autograd.profiler import EventList
from minichainer.autograd.profiler._tree import events_of

US = 1000
FORWARD_LINE = ('model.py(3): layer', 'train.py(10): step')
BACKWARD_LINE = ('train.py(12): step',)


def row(
    phase: str,
    name: str,
    begin: int,
    end: int,
    seq: int | None = None,
    shapes: Any = None,
    nbytes: int = 0,
    stack: Any = None,
) -> tuple[Any, ...]:
    """A row with times in microseconds."""
    return phase, name, begin * US, end * US, seq, shapes, nbytes, stack, None


#: A block with two ops, one of which calls another, and their backward steps; in the order in which they end.
STEP = [
    row('forward', 'Exp', 20, 25, 1, ((2, 3),), 48, FORWARD_LINE),
    row('forward', 'Softmax', 15, 30, 0, ((2, 3),), 48, FORWARD_LINE),
    row('forward', 'Exp', 32, 42, 2, ((4,),), 32, FORWARD_LINE),
    row('user', 'model', 10, 50, None, None, 0, ('train.py(10): step',)),
    row('backward', 'ExpBackward', 60, 64, 2, ((4,),), 32, BACKWARD_LINE),
    row('forward', 'Mul', 67, 70, 3, ((2, 3), (2, 3)), 48, BACKWARD_LINE),
    row('backward', 'SoftmaxBackward', 66, 80, 0, ((2, 3),), 48, BACKWARD_LINE),
]


def profile_of(rows: Any) -> EventList:
    """The events of rows, with memory."""
    return EventList(events_of(rows, 0, 1), profile_memory=True)
