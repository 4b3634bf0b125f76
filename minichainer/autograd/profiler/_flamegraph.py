"""Events as a flame graph: equal paths of nested events are joined, and a web page draws them."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from typing import Any

from minichainer.autograd.profiler._flame_page import PAGE

#: Labels of the rows below the first.
_ROOTS = {'forward': 'forward', 'backward': 'backward', 'user': 'record_function'}


class _Frames:
    """A tree of frames as a table; a frame's parent stands before it. The page reads the columns."""

    def __init__(self) -> None:
        self.parent = [-1]
        self.name = ['all']
        self.total = [0.0]
        self.own = [0.0]
        self.count = [0]
        self.kind = ['all']
        self._places: dict[tuple[int, str, str], int] = {}

    def child(self, parent: int, name: str, kind: str) -> int:
        """The number of a frame below ``parent``; makes it if there is none."""
        place = self._places.setdefault((parent, name, kind), len(self.parent))
        if place == len(self.parent):
            self.parent.append(parent)
            self.name.append(name)
            self.kind.append(kind)
            self.total.append(0.0)
            self.own.append(0.0)
            self.count.append(0)
        return place

    def below_root(self, event: Any) -> int:
        """The frame of the outermost row for a top-level event."""
        return self.child(0, _ROOTS[event.phase], event.phase)

    def columns(self) -> dict[str, list[Any]]:
        """The tree for the page."""
        return {
            'parent': self.parent, 'name': self.name, 'kind': self.kind, 'count': self.count,
            'total': [round(time, 3) for time in self.total], 'self': [round(time, 3) for time in self.own],
        }  # fmt: skip


def write_flamegraph(events: Iterable[Any], path: Any, title: str) -> None:
    """Writes the page; documented in ``EventList.flamegraph``."""
    data = json.dumps(frames_of(events)).replace('<', '\\u003c')  # no text can end the script
    page = PAGE.replace('__TITLE__', html.escape(title)).replace('__DATA__', data)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(page)


def frames_of(events: Iterable[Any]) -> dict[str, list[Any]]:
    """The joined frames of a profile, by column.

    Args:
        events: the events of a profile, parents before their children.
    """
    frames = _Frames()
    places: dict[int, int] = {}
    for event in events:
        outer = event.cpu_parent
        place = frames.below_root(event) if outer is None else places[id(outer)]
        # The ops of a backward step belong to the backward pass.
        kind = 'backward' if frames.kind[place].startswith('backward') else event.phase
        for frame in _frames_between(outer, event):
            place = frames.child(place, frame, f'{kind} line')
        place = places[id(event)] = frames.child(place, event.name, kind)
        frames.count[place] += 1
        frames.own[place] += max(event.self_cpu_time_total, 0.0)
    _add_totals(frames)
    return frames.columns()


def _frames_between(outer: Any, event: Any) -> list[str]:
    """The user's frames around an event that are not around ``outer``, the outermost first."""
    if outer is not None and outer.phase != 'user':
        return []
    around: list[str] = [] if outer is None else outer.stack[::-1]
    frames: list[str] = event.stack[::-1]
    common = 0
    while common < min(len(around), len(frames)) and around[common] == frames[common]:
        common += 1
    return frames[common:]


def _add_totals(frames: _Frames) -> None:
    """Sums up self times from the leaves to the root."""
    for place in range(len(frames.parent) - 1, -1, -1):
        frames.total[place] += frames.own[place]
        if place:
            frames.total[frames.parent[place]] += frames.total[place]
