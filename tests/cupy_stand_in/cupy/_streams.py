"""Streams and events. Work is done when it is asked for, so their order is not modelled; their calls are."""

from __future__ import annotations

import itertools
import time
from typing import Any

from . import _meter
from ._devices import current

_numbers = itertools.count(1)


class Event:
    """A point of a stream."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self._timed, self._at = not disable_timing, None
        self.ptr = next(_numbers)

    @property
    def done(self) -> bool:
        return True

    def record(self, stream: Any = None) -> None:
        self._at = time.perf_counter()

    def synchronize(self) -> None:
        _meter.synchronise('Event.synchronize')


class Stream:
    """A queue of work; the current one is a stack of ``with`` blocks for each device."""

    null: Stream

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: Any = None
    ) -> None:
        self.ptr = 0 if null else next(_numbers)
        self.device_id = -1 if null else current()
        self._before: list[Stream] = []

    def __enter__(self) -> Stream:
        self._before.append(get_current_stream())
        return self.use()

    def __exit__(self, *args: Any) -> None:
        self._before.pop().use()

    def use(self) -> Stream:
        if self.device_id not in (-1, current()):
            raise RuntimeError(f'the stream belongs to device {self.device_id}, the current one is {current()}')
        _current[current()] = self
        return self

    @property
    def done(self) -> bool:
        return True

    def synchronize(self) -> None:
        _meter.synchronise('Stream.synchronize')

    def record(self, event: Event | None = None) -> Event:
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        if not isinstance(event, Event):
            raise TypeError(f'expected cupy.cuda.Event, got {type(event)}')

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.ptr == self.ptr

    def __hash__(self) -> int:
        return hash(self.ptr)


Stream.null = Stream(null=True)
_current: dict[int, Stream] = {}


def get_current_stream(device_id: int | None = None) -> Stream:
    return _current.get(current() if device_id is None else device_id, Stream.null)


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Milliseconds between two recorded events."""
    if start_event._at is None or end_event._at is None:
        raise ValueError('both events must be recorded')
    return (end_event._at - start_event._at) * 1000
