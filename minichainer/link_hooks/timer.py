"""Measuring the time of the forward computation of links."""

from __future__ import annotations

import sys
import time
from typing import Any, ClassVar, TextIO

import numpy

from minichainer.backends import cuda
from minichainer.link_hook import (
    LinkHook,
    _ForwardArguments,
    _ForwardPostprocessCallbackArgs,
    _ForwardPreprocessCallbackArgs,
)


class TimerHook(LinkHook):
    """Measures the time of the forward computation of links, with that of the links below them.

    Attributes:
        call_history: list of pairs of a link's class and the seconds that its computation took, in the order in which
            they ended.

    >>> import numpy as np, minichainer as chainer
    >>> hook = chainer.link_hooks.TimerHook()
    >>> with hook:
    ...     y = chainer.links.Linear(3, 2)(np.ones((4, 3), np.float32))
    >>> [(name, seconds > 0) for name, seconds in hook.call_history]
    [('Linear', True)]
    >>> hook.summary()['Linear']['occurrence']
    1
    """

    name = 'TimerHook'
    #: Units by name, in parts of a second.
    table: ClassVar[dict[str, int]] = {'sec': 1, 'ms': 10**3, 'us': 10**6, 'ns': 10**9}

    def __init__(self) -> None:
        self.call_history: list[tuple[str, float]] = []
        self._running: list[Any] = []
        self._total_time = 0.0

    def forward_preprocess(self, args: _ForwardPreprocessCallbackArgs) -> None:
        """Begins to measure."""
        self._running.append(_now(args.link))

    def forward_postprocess(self, args: _ForwardPostprocessCallbackArgs) -> None:
        """Notes the time."""
        self._ended(args)

    def forward_failed(self, args: _ForwardPreprocessCallbackArgs) -> None:
        """Notes the time of a computation that raised an exception."""
        self._ended(args)

    def _ended(self, args: _ForwardArguments) -> None:
        elapsed = _between(self._running.pop(), _now(args.link))
        self.call_history.append((type(args.link).__name__, elapsed))
        if not self._running:
            self._total_time += elapsed

    def total_time(self) -> float:
        """Seconds of all computations, without counting those of links below other links twice."""
        return self._total_time

    def summary(self) -> dict[str, dict[str, Any]]:
        """Sums by class of link.

        Returns:
            Dictionary of dictionaries, such as ``{'Linear': {'elapsed_time': 0.1, 'occurrence': 3}}``.
        """
        found: dict[str, dict[str, Any]] = {}
        for name, elapsed in self.call_history:
            record = found.setdefault(name, {'elapsed_time': 0, 'occurrence': 0})
            record['elapsed_time'] += elapsed
            record['occurrence'] += 1
        return found

    def print_report(self, unit: str = 'auto', file: TextIO | None = None) -> None:
        """Prints a table of the summary.

        Args:
            unit: ``'sec'``, ``'ms'``, ``'us'`` or ``'ns'``; ``'auto'`` chooses one for all rows,
                ``'auto_foreach'`` one for each.
            file: where it is printed; the standard output by default.

        Raises:
            KeyError: ``unit`` is something else.
        """
        if unit not in ('auto', 'auto_foreach') and unit not in self.table:
            known = ', '.join(map(repr, ('auto', 'auto_foreach', *self.table)))
            raise KeyError(f'TimerHook.print_report: unit must be one of {known}, got {unit!r}')
        rows = [('LinkName', 'ElapsedTime', 'Occurrence')]
        summary = self.summary()
        longest = max([record['elapsed_time'] for record in summary.values()], default=0)
        for name, record in summary.items():
            seconds = record['elapsed_time']
            chosen = _unit(longest) if unit == 'auto' else _unit(seconds) if unit == 'auto_foreach' else unit
            rows.append((name, f'{seconds * self.table[chosen]:.2f}{chosen}', str(record['occurrence'])))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            line = '  '.join([cell.rjust(width) for cell, width in zip(row, widths, strict=True)])
            print(line, file=sys.stdout if file is None else file)


def _unit(seconds: float) -> str:
    """The largest unit of which it is at least one."""
    return next((name for name, parts in TimerHook.table.items() if seconds * parts >= 1), 'ns')


def _now(link: Any) -> Any:
    """The time; an event on the GPU if the link is there."""
    if link.xp is numpy:
        return time.perf_counter()
    event = cuda.Event()
    event.record()
    return event


def _between(start: Any, stop: Any) -> float:
    """Seconds between two times."""
    if isinstance(start, float) and isinstance(stop, float):
        return stop - start
    stop.synchronize()
    return float(cuda.cupy.cuda.get_elapsed_time(start, stop)) / 1000
